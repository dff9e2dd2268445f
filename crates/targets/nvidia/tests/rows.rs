//! Conversions between what matrix instructions hold and what memory is stored from: lanes move rows for each other,
//! and the emulator's race checker must find nothing.

mod blocks;

use blocks::{Random, block, blocked, bytes, function, linear, pointers, run, run_with};
use std::fmt::Write as _;

/// Results of matrix instructions of one warp, of four, and operands of the former.
fn matrices(rows: usize, columns: usize, num_warps: usize) -> Vec<String> {
    let result = |warps: [usize; 2]| {
        format!(
            "#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = {warps:?}, instrShape = [16, 8]}}>"
        )
    };
    let mut list = vec![result([num_warps, 1]), result([1, num_warps])];
    list.extend((0..2).map(|index| {
        format!("#ttg.dot_op<{{opIdx = {index}, parent = {}, kWidth = 2}}>", result([num_warps, 1]))
    }));
    if rows >= 64 && num_warps.is_multiple_of(4) {
        list.push(format!(
            "#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [{num_warps}, 1], \
             instrShape = [16, {}, 16]}}>",
            columns.min(256)
        ));
    }
    list
}

/// The layout of stores of 16 bytes of rows, or of columns.
fn wide(rows: usize, columns: usize, num_warps: usize, by_columns: bool) -> String {
    let along = if by_columns { rows } else { columns };
    let lanes = (along / 8).clamp(1, 32);
    let (size, threads, order) = match by_columns {
        true => ([8, 1], [lanes, 32 / lanes], [0, 1]),
        false => ([1, 8], [32 / lanes, lanes], [1, 0]),
    };
    let warps = if by_columns { [1, num_warps] } else { [num_warps, 1] };
    format!(
        "#ttg.blocked<{{sizePerThread = {size:?}, threadsPerWarp = {threads:?}, warpsPerCTA = {warps:?}, order = {order:?}}}>"
    )
}

/// There and back again: a block of one layout, converted to each of the others in turn.
fn check(
    random: &mut Random,
    shape: [usize; 2],
    num_warps: usize,
    elem: &str,
    layouts: &[String],
    seen: Option<&mut String>,
) {
    let mut body = String::new();
    let first = &layouts[0];
    pointers(&mut body, "x", "%arg0", &shape, elem, first);
    pointers(&mut body, "y", "%arg1", &shape, elem, first);
    let ptr = block(&shape, &format!("!tt.ptr<{elem}>"), first);
    writeln!(body, "  %v0 = tt.load %x : {ptr}").unwrap();
    for (step, pair) in layouts.windows(2).enumerate() {
        let (from, to) = (block(&shape, elem, &pair[0]), block(&shape, elem, &pair[1]));
        writeln!(body, "  %v{} = ttg.convert_layout %v{step} : {from} -> {to}", step + 1).unwrap();
    }
    writeln!(body, "  tt.store %y, %v{} : {ptr}", layouts.len() - 1).unwrap();
    let input: Vec<u8> = (0..shape[0] * shape[1] * bytes(elem)).map(|_| random.next() as u8).collect();
    let text = function(&[elem, elem], &body);
    let buffers = [input.clone(), vec![0; input.len()]];
    let after = match seen {
        Some(assembly) => run_with(&text, num_warps as u32, &buffers, &mut |ptx| ptx.clone_into(assembly)),
        None => run(&text, num_warps as u32, &buffers),
    };
    assert_eq!(after[1], input, "{text}");
}

#[test]
fn what_products_hold_goes_to_rows_and_columns_and_back() {
    let mut random = Random(91);
    let (mut stores, mut loads, mut turned) = (0, 0, 0);
    for shape in [[16, 16], [64, 64], [128, 32], [32, 256], [64, 8], [128, 128]] {
        for num_warps in [1, 4, 8] {
            for matrix in matrices(shape[0], shape[1], num_warps) {
                let elem = *random.pick(&["f16", "bf16", "i16", "i8", "f32"]);
                let by_columns = random.below(2) == 1;
                let wide = wide(shape[0], shape[1], num_warps, by_columns);
                let layouts = [wide.clone(), matrix, wide];
                let mut assembly = String::new();
                check(&mut random, shape, num_warps, elem, &layouts, Some(&mut assembly));
                let count = |word: &str| assembly.matches(word).count();
                assert!(bytes(elem) == 2 || count("stmatrix") + count("ldmatrix") == 0, "{elem}");
                stores += count("stmatrix");
                loads += count("ldmatrix");
                turned += count(".trans.shared.b16 [");
            }
        }
    }
    assert!(stores > 50 && loads > 30 && turned > 10, "{stores} stores, {turned} turned, {loads} loads");
}

#[test]
fn results_of_four_warps_are_stored_by_rows() {
    let mut random = Random(5);
    for (num_warps, shape) in [(4, [64, 128]), (8, [128, 256])] {
        let matrix = matrices(shape[0], shape[1], num_warps).pop().expect("the last is of four warps");
        let wide = wide(shape[0], shape[1], num_warps, false);
        let mut assembly = String::new();
        check(&mut random, shape, num_warps, "f16", &[wide.clone(), matrix, wide], Some(&mut assembly));
        // A lane holds 64 or 128 elements; eight go in one instruction, on the way there and on the way back.
        let each = shape[0] * shape[1] / (32 * num_warps) / 8;
        let by_rows =
            ["stmatrix.sync.aligned.m8n8.x4.shared.b16 [", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {"];
        let count: usize = by_rows.iter().map(|word| assembly.matches(word).count()).sum();
        assert_eq!(count, 2 * each);
        assert!(assembly.contains(by_rows[0]));
    }
}

#[test]
fn results_are_put_into_shared_memory_by_rows() {
    let mut random = Random(23);
    let tiled = |transposed: bool| {
        format!(
            "#ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = {transposed}, elementBitWidth = 16}}>"
        )
    };
    let swizzled = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>".to_owned();
    for (num_warps, shape) in [(4, [64, 64]), (4, [64, 128]), (8, [128, 256]), (8, [128, 64])] {
        for (memory, turned) in [(tiled(false), false), (tiled(true), true), (swizzled.clone(), false)] {
            let [rows, columns] = shape;
            let wide = wide(rows, columns, num_warps, false);
            let matrix = matrices(rows, columns, num_warps).pop().expect("the last is of four warps");
            let mut body = String::new();
            pointers(&mut body, "x", "%arg0", &shape, "f16", &matrix);
            pointers(&mut body, "y", "%arg1", &shape, "f16", &wide);
            let [from, to] = [&matrix, &wide].map(|layout| block(&shape, "!tt.ptr<f16>", layout));
            let (wide, matrix) = (block(&shape, "f16", &wide), block(&shape, "f16", &matrix));
            let memory = format!("!ttg.memdesc<{rows}x{columns}xf16, {memory}, #ttg.shared_memory>");
            writeln!(body, "  %v = tt.load %x : {from}").unwrap();
            writeln!(body, "  %m = ttg.local_alloc %v : ({matrix}) -> {memory}").unwrap();
            writeln!(body, "  %w = ttg.local_load %m : {memory} -> {wide}").unwrap();
            writeln!(body, "  tt.store %y, %w : {to}").unwrap();
            let input: Vec<u8> = (0..rows * columns * 2).map(|_| random.next() as u8).collect();
            let text = function(&["f16", "f16"], &body);
            let buffers = [input.clone(), vec![0; input.len()]];
            let mut assembly = String::new();
            let after = run_with(&text, num_warps as u32, &buffers, &mut |ptx| ptx.clone_into(&mut assembly));
            assert_eq!(after[1], input, "{text}");
            let trans = if turned { ".trans" } else { "" };
            let store = format!("stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [");
            assert_eq!(assembly.matches(&store).count(), rows * columns / (32 * num_warps) / 8, "{assembly}");
        }
    }
}

#[test]
fn any_layout_goes_to_what_products_hold() {
    let mut random = Random(17);
    for round in 0..40 {
        let shape = *random.pick(&[[32, 64], [64, 64], [128, 16]]);
        let num_warps = *random.pick(&[1, 2, 4, 8]);
        let elem = *random.pick(&["f16", "bf16"]);
        let matrix = random.pick(&matrices(shape[0], shape[1], num_warps)).clone();
        let other = match round % 4 {
            3 => blocked(&shape, num_warps as u32),
            kind => linear(&mut random, &shape, num_warps as u32, kind == 0),
        };
        let wide = wide(shape[0], shape[1], num_warps, round % 3 == 0);
        check(
            &mut random,
            shape,
            num_warps,
            elem,
            &[wide.clone(), matrix.clone(), other, matrix, wide],
            None,
        );
    }
}
