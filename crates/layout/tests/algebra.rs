//! The laws of the algebra, on random layouts.

use layout::{Dim, LayoutError, LinearLayout, text};
use proptest::prelude::*;

/// A random layout from `register`, `lane` (so many bits each) onto `dim0`, `dim1`.
fn layouts(registers: u32, lanes: u32, rows: u32, cols: u32) -> impl Strategy<Value = LinearLayout> {
    let count = (registers + lanes) as usize;
    proptest::collection::vec((0..1u32 << rows, 0..1u32 << cols), count).prop_map(move |bases| {
        let bases: Vec<[(Dim, u32); 2]> =
            bases.iter().map(|&(row, col)| [(Dim::block(0), row), (Dim::block(1), col)]).collect();
        let (first, second) = bases.split_at(registers as usize);
        let first: Vec<&[(Dim, u32)]> = first.iter().map(|basis| &basis[..]).collect();
        let second: Vec<&[(Dim, u32)]> = second.iter().map(|basis| &basis[..]).collect();
        let outs = [(Dim::block(0), rows), (Dim::block(1), cols)];
        LinearLayout::new(&[(Dim::REGISTER, &first), (Dim::LANE, &second)], &outs)
            .expect("bases fit the outputs")
    })
}

proptest! {
    #[test]
    fn a_layout_is_linear(layout in layouts(3, 4, 3, 4), a in 0u64..128, b in 0u64..128) {
        prop_assert_eq!(layout.apply_word(a ^ b), layout.apply_word(a) ^ layout.apply_word(b));
    }

    #[test]
    fn an_inverse_undoes(layout in layouts(3, 4, 3, 4)) {
        match layout.invert() {
            Ok(inverse) => {
                for word in 0..128 {
                    prop_assert_eq!(inverse.apply_word(layout.apply_word(word)), word);
                    prop_assert_eq!(layout.apply_word(inverse.apply_word(word)), word);
                }
            }
            Err(error) => {
                prop_assert_eq!(error, LayoutError::NotInjective);
                let mut seen: Vec<u64> = (0..128).map(|word| layout.apply_word(word)).collect();
                seen.sort_unstable();
                seen.dedup();
                prop_assert!(seen.len() < 128);
            }
        }
    }

    #[test]
    fn a_right_inverse_finds_a_holder(layout in layouts(4, 5, 3, 3)) {
        let reached: std::collections::BTreeSet<u64> = (0..512).map(|word| layout.apply_word(word)).collect();
        match layout.right_inverse() {
            Ok(inverse) => {
                for out in 0..64 {
                    prop_assert_eq!(layout.apply_word(inverse.apply_word(out)), out);
                }
            }
            Err(_) => prop_assert!(reached.len() < 64),
        }
        prop_assert_eq!(layout.is_surjective(), reached.len() == 64);
    }

    #[test]
    fn the_kernel_is_what_goes_to_zero(layout in layouts(4, 4, 2, 3)) {
        let kernel = layout.kernel();
        for &word in &kernel {
            prop_assert!(word != 0);
            prop_assert_eq!(layout.apply_word(word), 0);
        }
        let zeros = (0..256u64).filter(|&word| layout.apply_word(word) == 0).count();
        prop_assert_eq!(zeros, 1 << kernel.len());
    }

    #[test]
    fn a_product_is_both_side_by_side(a in layouts(2, 1, 1, 2), b in layouts(1, 2, 2, 1), r in 0u32..8, l in 0u32..8) {
        let product = a.product(&b).expect("few bits");
        let found = product.apply(&[(Dim::REGISTER, r), (Dim::LANE, l)]);
        let low = a.apply(&[(Dim::REGISTER, r & 3), (Dim::LANE, l & 1)]);
        let high = b.apply(&[(Dim::REGISTER, r >> 2), (Dim::LANE, l >> 1)]);
        prop_assert_eq!(found[0].1, low[0].1 | high[0].1 << 1);
        prop_assert_eq!(found[1].1, low[1].1 | high[1].1 << 2);
    }
}

#[test]
fn composition_needs_matching_dimensions() {
    let a = LinearLayout::identity(3, Dim::REGISTER, Dim::block(0));
    let b = LinearLayout::identity(4, Dim::block(0), Dim::OFFSET);
    assert!(matches!(a.then(&b), Err(LayoutError::Mismatch { .. })));
    let c = LinearLayout::identity(3, Dim::block(0), Dim::OFFSET);
    assert_eq!(a.then(&c), Ok(LinearLayout::identity(3, Dim::REGISTER, Dim::OFFSET)));
}

#[test]
fn a_picture_names_the_holder_of_each_element() {
    // Two registers along a row, four lanes: two along a row, two down.
    let layout = LinearLayout::identity(1, Dim::REGISTER, Dim::block(1))
        .product(&LinearLayout::identity(1, Dim::LANE, Dim::block(1)))
        .and_then(|part| part.product(&LinearLayout::identity(1, Dim::LANE, Dim::block(0))))
        .expect("few bits")
        .reorder_outs(&[Dim::block(0), Dim::block(1)]);
    assert_eq!(text(&layout), "0:0 0:1 1:0 1:1\n2:0 2:1 3:0 3:1\n");
    assert_eq!(layout.contiguous(Dim::REGISTER, Dim::block(1)), 2);
}

#[test]
fn a_basis_outside_the_output_is_refused() {
    let bases: [&[(Dim, u32)]; 1] = [&[(Dim::block(0), 8)]];
    let found = LinearLayout::new(&[(Dim::LANE, &bases)], &[(Dim::block(0), 3)]);
    assert_eq!(found, Err(LayoutError::OutsideOutput { dim: Dim::block(0), basis: 8 }));
}

#[test]
fn pictures_go_both_ways() {
    let halves = LinearLayout::identity(1, Dim::REGISTER, Dim::block(0))
        .product(&LinearLayout::identity(1, Dim::LANE, Dim::block(1)))
        .and_then(|part| part.product(&LinearLayout::zeros(1, Dim::WARP, Dim::block(1))))
        .expect("few bits");
    assert_eq!(text(&halves), "w0 0:0* w0 1:0*\nw0 0:1* w0 1:1*\n");
    assert_eq!(
        layout::lanes_text(&halves),
        "         r0    r1\nw0 l0 (0,0) (1,0)\nw0 l1 (0,1) (1,1)\nw1 l0 (0,0) (1,0)\nw1 l1 (0,1) (1,1)\n"
    );
    let memory = layout::Memory { element_bytes: 4, banks: 2, bank_bytes: 4 };
    let flat = LinearLayout::identity(2, Dim::OFFSET, Dim::block(0));
    assert_eq!(layout::shared_text(&flat, memory), "0:0 1:1 2:0 3:1\n");
    assert_eq!(layout::banks_text(&flat, memory), " 0: (0) (1)\n 2: (2) (3)\n");
}

#[test]
fn a_block_of_three_dimensions_is_several_matrices() {
    let layout = LinearLayout::identity(3, Dim::LANE, Dim::block(2))
        .rename_outs(&[(Dim::block(2), 1), (Dim::block(1), 1), (Dim::block(0), 1)])
        .expect("as many bits")
        .reorder_outs(&[Dim::block(0), Dim::block(1), Dim::block(2)]);
    assert_eq!(text(&layout), "dim0 = 0\n0:0 1:0\n2:0 3:0\ndim0 = 1\n4:0 5:0\n6:0 7:0\n");
    assert_eq!(layout::svg(&layout, "<").matches("<rect").count(), 9);
}
