//! Matrix instructions: fragments against the formulas of the ISA manuals, and a matmul as machine code.

use amd::machine::MACHINES;
use layout::{Dim, LinearLayout};
use target::CompileOptions;
use ttgir::{Encoding, FragmentKind, Fragments, MatrixRow, Tiles};

/// Where an element of an operand or of the result is: lane and item.
type Place = (usize, usize);

/// Element `(i, k)` of a; b is the same with its column. From the chapters on matrix instructions: gfx11 holds all of k
/// in every lane, others a part.
fn factor(lanes: usize, version: u32, side: usize, depth: usize, [i, k]: [usize; 2]) -> Vec<Place> {
    if lanes == 32 && version == 1 {
        return vec![(i, k), (i + 16, k)];
    }
    let each = depth / (lanes / side);
    vec![(i + side * (k / each), k % each)]
}

/// Element `(i, j)` of the result.
fn sum(lanes: usize, version: u32, row: &MatrixRow, [i, j]: [usize; 2]) -> Place {
    let (m, n) = (row.m as usize, row.n[0] as usize);
    match (lanes, version) {
        (32, 1) => (j + 16 * (i % 2), i / 2),
        (32, _) => (j + 16 * (i / 8), i % 8),
        _ => {
            // H, B_I, M_I and G of the manual, for one block.
            let h = if row.c.bits() == 64 { 1 } else { 4 };
            let b_i = 64usize.div_ceil(n * m / h);
            let m_i = 64 / b_i / n;
            (j + n * (i / h % m_i), i % h + h * (i / (h * m_i)))
        }
    }
}

fn place(layout: &LinearLayout, lane: usize, register: usize) -> [usize; 2] {
    let at = layout.apply(&[(Dim::LANE, lane as u32), (Dim::REGISTER, register as u32)]);
    [at[0].1 as usize, at[1].1 as usize]
}

/// Random small whole numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % 9 - 4
    }
}

fn encoding(row: &MatrixRow, lanes: u32, version: u32, transposed: bool) -> Encoding {
    let tiles = if lanes == 64 {
        Tiles::Counts { per_warp: Vec::new(), warps: vec![1, 1] }
    } else {
        Tiles::Bases { register: Vec::new(), warp: Vec::new() }
    };
    Encoding::Fragments(Fragments {
        lanes,
        version,
        instr_shape: if transposed { vec![row.n[0], row.m, row.k] } else { vec![row.m, row.n[0], row.k] },
        transposed,
        interleaved: Vec::new(),
        tiles,
        element_bits: row.c.bits(),
        cga: Vec::new(),
    })
}

/// What the instruction makes of fragments, by the manual.
fn instruction(row: &MatrixRow, lanes: usize, version: u32, a: &[Vec<i64>], b: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let (m, n, k) = (row.m as usize, row.n[0] as usize, row.k as usize);
    let mut sums = vec![vec![0; m * n / lanes]; lanes];
    if row.is_narrow() {
        // 16 instructions of 16 blocks of 4 x 4, all blocks with the rows of one: lane `i + 4 b` has row i of block b,
        // lane j column j, and of the sums that column.
        let each = k / 16;
        for (lane, items) in sums.iter_mut().enumerate() {
            for (i, sum) in items.iter_mut().enumerate() {
                let of = |block: usize, item: usize| a[i + 4 * block][item] * b[lane][block * each + item];
                *sum = (0..k).map(|at| of(at / each, at % each)).sum();
            }
        }
        return sums;
    }
    for i in 0..m {
        for j in 0..n {
            let of = |list: &[Vec<i64>], side, at| {
                let (lane, item) = factor(lanes, version, side, k, at)[0];
                list[lane][item]
            };
            let (lane, item) = sum(lanes, version, row, [i, j]);
            sums[lane][item] = (0..k).map(|k| of(a, m, [i, k]) * of(b, n, [j, k])).sum();
        }
    }
    sums
}

#[test]
fn products_by_layouts_are_products_by_the_manuals() {
    let mut numbers = Numbers(7);
    for (arch, machine) in MACHINES {
        let lanes = machine.warp_size as usize;
        for row in machine.matrix.iter().chain(machine.scaled_matrix) {
            let FragmentKind::Runs { version, k_base } = row.fragments else { panic!("{row}") };
            let (m, n, k) = (row.m as usize, row.n[0] as usize, row.k as usize);
            for transposed in [false, true] {
                let result = encoding(row, lanes as u32, version, transposed);
                let dot =
                    |op_idx| Encoding::DotOp { op_idx, parent: Box::new(result.clone()), k_width: k_base };
                let (m, n) = if transposed { (n, m) } else { (m, n) };
                let left = dot(0).to_linear(&[m as i64, k as i64]);
                let right = dot(1).to_linear(&[k as i64, n as i64]);
                let out = result.to_linear(&[m as i64, n as i64]);
                let mut matrix = |count: usize| (0..count).map(|_| numbers.next()).collect::<Vec<_>>();
                let (a, b) = (matrix(m * k), matrix(k * n));
                let fill = |layout: &LinearLayout, list: &[i64], width: usize| -> Vec<Vec<i64>> {
                    let of = |lane, register| {
                        let [row, column] = place(layout, lane, register);
                        list[row * width + column]
                    };
                    let items = layout.along(Dim::REGISTER).len();
                    assert!(items == k_base as usize || row.is_narrow() && items == k);
                    (0..lanes).map(|lane| (0..items).map(|item| of(lane, item)).collect()).collect()
                };
                let (x, y) = (fill(&left, &a, k), fill(&right, &b, n));
                let (x, y) = if transposed { (y, x) } else { (x, y) };
                let sums = instruction(row, lanes, version, &x, &y);
                for (lane, items) in sums.iter().enumerate() {
                    for (item, &found) in items.iter().enumerate() {
                        let [i, j] = place(&out, lane, item);
                        let expected: i64 = (0..k).map(|k_| a[i * k + k_] * b[k_ * n + j]).sum();
                        assert_eq!(found, expected, "{arch}, {row}, transposed: {transposed}");
                    }
                }
            }
        }
    }
}

fn matmul() -> ir::Module {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/amd/matmul.ttir");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut module =
        ir::text::parse(&text, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
    ir::verify(&module).expect("it is right");
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ()).expect("it runs");
    module
}

/// The instructions of the loop with the most matrix instructions.
fn main_loop(assembly: &str, matrix: &str) -> Vec<String> {
    let lines: Vec<&str> = assembly.lines().map(str::trim).collect();
    let mut best: Vec<String> = Vec::new();
    let count = |list: &[String]| list.iter().filter(|line| line.starts_with(matrix)).count();
    for (end, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("s_cbranch")) {
        let label = line.split_whitespace().nth(1).expect("a label");
        let Some(start) = lines[..end].iter().rposition(|line| line.starts_with(&format!("{label}:"))) else {
            continue;
        };
        let body: Vec<String> = lines[start..end].iter().map(|line| (*line).to_owned()).collect();
        if count(&body) > count(&best) {
            best = body;
        }
    }
    best
}

#[test]
fn a_matmul_moves_16_bytes_at_a_time() {
    // Without an LLVM that makes code for these GPUs there is nothing to be tested.
    if amd::target().tools().iter().any(|tool| tool.found.is_err()) {
        return;
    }
    for (arch, matrix) in
        [("gfx90a", "v_mfma"), ("gfx942", "v_mfma"), ("gfx1100", "v_wmma"), ("gfx1200", "v_wmma")]
    {
        let options = CompileOptions { num_warps: 4, num_stages: 2, ..CompileOptions::default() };
        let target = amd::target().for_arch(arch).expect("known").expect("there are several");
        let artifact = target.compile(matmul(), &options, &mut ());
        let artifact = artifact.unwrap_or_else(|error| panic!("{arch}: {error}"));
        let stage = target.derive_stage(&artifact, &options, "amdgcn").expect("assembly");
        let text = String::from_utf8_lossy(&stage.bytes).into_owned();
        let body = main_loop(&text, matrix);
        let count = |start: &str| body.iter().filter(|line| line.starts_with(start)).count();
        assert!(count(matrix) > 0, "{arch}");
        assert_eq!(count("ds_read"), count("ds_read_b128"), "{arch}");
        assert_eq!(count("ds_write"), count("ds_write_b128"), "{arch}");
        assert_eq!(count("ds_load"), count("ds_load_b128"), "{arch}");
        assert_eq!(count("ds_store"), count("ds_store_b128"), "{arch}");
    }
}
