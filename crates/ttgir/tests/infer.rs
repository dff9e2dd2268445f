//! The rules of encodings against the meaning of the operations: where an element lives after an operation is where it
//! lived before. The encodings are those of `tests/ttgir/layouts.txt`, with their shapes.

use layout::{Dim, LinearLayout};
use ttgir::encoding::distinct_registers;
use ttgir::{Encoding, infer};

/// Every encoding of a tensor in the file of facts, with its shape.
fn cases() -> Vec<(Encoding, Vec<i64>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ttgir/layouts.txt");
    let text = std::fs::read_to_string(path).expect("the facts are there");
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    lines
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let attr = ir::text::parse_attr(fields.next()?, ttgir::registry()).expect("an encoding");
            let shape = fields.next()?.split('x').map(|size| size.parse().expect("a size")).collect();
            Some((Encoding::from_attr(&attr)?, shape))
        })
        .collect()
}

/// The places of all powers of two, after a change of each place.
fn changed(layout: &LinearLayout, change: impl Fn(&mut Vec<u32>)) -> Vec<Vec<Vec<u32>>> {
    [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK]
        .map(|dim| {
            let bases = layout.bases(dim);
            let place = |basis: &[(Dim, u32)]| {
                let mut place: Vec<u32> = basis.iter().map(|part| part.1).collect();
                change(&mut place);
                place
            };
            bases.iter().map(|basis| place(basis)).collect()
        })
        .to_vec()
}

#[test]
fn a_dimension_is_taken_out_and_put_back() {
    for (encoding, shape) in cases() {
        for axis in 0..=shape.len() {
            let wider = infer::expand_dims(&encoding, axis, &shape).expect("every axis up to the rank");
            let mut whole = shape.clone();
            whole.insert(axis, 1);
            let found = changed(&distinct_registers(&wider.to_linear(&whole)), |_| {});
            let expected =
                changed(&distinct_registers(&encoding.to_linear(&shape)), |place| place.insert(axis, 0));
            assert_eq!(found, expected, "{encoding:?} {shape:?} {axis}");
            assert_eq!(infer::expand_dims(&infer::reduce(&wider, axis), axis, &shape), Ok(wider));
        }
    }
}

#[test]
fn dimensions_are_permuted_and_back() {
    for (encoding, shape) in cases() {
        let rank = shape.len() as i64;
        let orders = [(0..rank).rev().collect::<Vec<_>>(), (0..rank).map(|dim| (dim + 1) % rank).collect()];
        for order in orders {
            let turned = infer::trans(&encoding, &order, &shape).expect("a permutation");
            let picked = |list: &[i64]| order.iter().map(|&from| list[from as usize]).collect::<Vec<_>>();
            let found = changed(&turned.to_linear(&picked(&shape)), |_| {});
            let expected = changed(&encoding.to_linear(&shape), |place| {
                *place = order.iter().map(|&from| place[from as usize]).collect();
            });
            assert_eq!(found, expected, "{encoding:?} {shape:?} {order:?}");
            let back = infer::trans_back(&turned, &order, &picked(&shape)).expect("a permutation");
            assert!(ttgir::same_layout(&back, &encoding, &shape), "{encoding:?} {shape:?} {order:?}");
        }
        assert!(infer::trans(&encoding, &[rank], &shape).is_err());
    }
}

#[test]
fn elements_keep_their_number_in_another_shape() {
    for (encoding, shape) in cases() {
        let count: i64 = shape.iter().product();
        for to in [vec![count], vec![count / 2, 2], vec![2, 1, count / 2]] {
            if to.contains(&0) {
                continue;
            }
            let flat = infer::reshape(&encoding, &shape, &to).expect("as many elements");
            let number = |shape: &[i64], place: &[(Dim, u32)]| {
                place.iter().zip(shape).fold(0, |number, (part, size)| number * size + i64::from(part.1))
            };
            let (before, after) = (encoding.to_linear(&shape), flat.to_linear(&to));
            for bit in 0..before.ins().total_bits() {
                let place = |layout: &LinearLayout| layout.outs().unpack(layout.apply_word(1 << bit));
                assert_eq!(number(&shape, &place(&before)), number(&to, &place(&after)));
            }
        }
        assert!(infer::reshape(&encoding, &shape, &[2 * count]).is_err());
    }
}

#[test]
fn halves_are_joined_and_split() {
    for (encoding, shape) in cases() {
        let joined = infer::join(&encoding, &shape).expect("any block joins");
        let mut pairs = shape.clone();
        pairs.push(2);
        let layout = joined.to_linear(&pairs);
        assert!(layout.is_surjective(), "{encoding:?} {shape:?}");
        let split = infer::split(&joined, &pairs).expect("the halves are in one lane");
        assert!(ttgir::same_layout(&split, &encoding, &shape), "{encoding:?} {shape:?}");
    }
}
