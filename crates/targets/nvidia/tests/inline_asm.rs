//! Inline assembly in the forms that kernels write it: blanks among constraints, several results, packed elements, text
//! with comments, instructions that only have an effect.

mod emulated;
mod support;

use emulated::Emulated;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Argument, Engine, Interpreter, Ran, check_file};

const FIXTURE: &str = r#"
// run: @blanks([1, 2, 3, 4], 10) == [11, 12, 13, 14]
tt.func @blanks(%x: tensor<4xi32>, %n: i32) -> tensor<4xi32> {
  %ns = tt.splat %n : i32 -> tensor<4xi32>
  %r = tt.elementwise_inline_asm "add.s32 $0, $1, $2;" {constraints = " =r, r ,\t r ", packed_element = 1 : i32, pure = true} %x, %ns : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  tt.return %r : tensor<4xi32>
}

// run: @several([1, 2, 3, 4], [5, 6, 7, 8]) == [6, 8, 10, 12] and [-4, -4, -4, -4]
tt.func @several(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r:2 = tt.elementwise_inline_asm "{\n add.s32 $0, $2, $3; // the sum\n sub.s32 $1, $2, $3;\n}" {constraints = "=&r,=&r,r,r", packed_element = 1 : i32, pure = true} %x, %y : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>, tensor<4xi32>
  tt.return %r#0, %r#1 : tensor<4xi32>, tensor<4xi32>
}

// run: @widths([1, -2, 3, -4]) == [1, -2, 3, -4] and [1.0, -2.0, 3.0, -4.0]
tt.func @widths(%x: tensor<4xi32>) -> (tensor<4xi64>, tensor<4xf32>) {
  %r:2 = tt.elementwise_inline_asm "cvt.s64.s32 $0, $2; cvt.rn.f32.s32 $1, $2;" {constraints = "=l,=f,r", packed_element = 1 : i32, pure = true} %x : tensor<4xi32> -> tensor<4xi64>, tensor<4xf32>
  tt.return %r#0, %r#1 : tensor<4xi64>, tensor<4xf32>
}

// run: @bytes([1, 2, 3, 4, 5, 6, 7, 8]) == [0, 3, 2, 5, 4, 7, 6, 9]
tt.func @bytes(%x: tensor<8xi8>) -> tensor<8xi8> {
  %r = tt.elementwise_inline_asm "xor.b32 $0, $1, 0x01010101;" {constraints = "=r,r", packed_element = 4 : i32, pure = true} %x : tensor<8xi8> -> tensor<8xi8>
  tt.return %r : tensor<8xi8>
}

// run: @halves([1.0, -2.0, 3.0, 0.5]) == [2.0, -4.0, 6.0, 1.0]
tt.func @halves(%x: tensor<4xf16>) -> tensor<4xf16> {
  %r = tt.elementwise_inline_asm "add.f16x2 $0, $1, $1;" {constraints = "=r,r", packed_element = 2 : i32, pure = true} %x : tensor<4xf16> -> tensor<4xf16>
  tt.return %r : tensor<4xf16>
}

// run: @half([1.0, -2.0, 3.0, 0.5]) == [2.0, -4.0, 6.0, 1.0]
tt.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %r = tt.elementwise_inline_asm "add.f16 $0, $1, $1;" {constraints = "=h,h", packed_element = 1 : i32, pure = true} %x : tensor<4xf16> -> tensor<4xf16>
  tt.return %r : tensor<4xf16>
}

// run: @unpacked([1, 2, 3, 255]) == [2.0, 4.0, 6.0, 510.0]
tt.func @unpacked(%x: tensor<4xi8>) -> tensor<4xf32> {
  %r = tt.elementwise_inline_asm "{ .reg .b32 t<4>;\n bfe.u32 t0, $4, 0, 8; bfe.u32 t1, $4, 8, 8; bfe.u32 t2, $4, 16, 8; bfe.u32 t3, $4, 24, 8;\n cvt.rn.f32.u32 $0, t0; cvt.rn.f32.u32 $1, t1; cvt.rn.f32.u32 $2, t2; cvt.rn.f32.u32 $3, t3;\n add.f32 $0, $0, $0; add.f32 $1, $1, $1; add.f32 $2, $2, $2; add.f32 $3, $3, $3; }" {constraints = "=f,=f,=f,=f,r", packed_element = 4 : i32, pure = true} %x : tensor<4xi8> -> tensor<4xf32>
  tt.return %r : tensor<4xf32>
}

// Four-bit numbers, two a byte, as fp16, by the bits of 1024 plus the number.
// run: @nibbles([33, 67, 101, -121]) == [1.0, 3.0, 5.0, 7.0] and [2.0, 4.0, 6.0, 8.0]
tt.func @nibbles(%x: tensor<4xi8>) -> (tensor<4xf16>, tensor<4xf16>) {
  %r:2 = tt.elementwise_inline_asm "{ .reg .b32 r<4>, magic;\n mov.b32 magic, 0x64006400;\n prmt.b32 r0, $4, 0, 0x4140; prmt.b32 r1, $4, 0, 0x4342;\n lop3.b32 $0, r0, 0x000f000f, magic, 0xEA; lop3.b32 $1, r1, 0x000f000f, magic, 0xea;\n shr.u32 r2, r0, 4; shr.u32 r3, r1, 4;\n lop3.b32 $2, r2, 0x000f000f, magic, 0xea; lop3.b32 $3, r3, 0x000f000f, magic, 0xea;\n sub.f16x2 $0, $0, magic; sub.f16x2 $1, $1, magic; sub.f16x2 $2, $2, magic; sub.f16x2 $3, $3, magic; }" {constraints = "=&r,=&r,=&r,=&r,r", packed_element = 4 : i32, pure = true} %x : tensor<4xi8> -> tensor<4xf16>, tensor<4xf16>
  tt.return %r#0, %r#1 : tensor<4xf16>, tensor<4xf16>
}

// Bytes of fp8 with five bits of exponent are the upper halves of fp16.
// run: @bytes_as_halves([60, -68, 64, 0]) == [1.0, -1.0, 2.0, 0.0]
tt.func @bytes_as_halves(%x: tensor<4xi8>) -> tensor<4xbf16> {
  %r = tt.elementwise_inline_asm "{ .reg .b32 a, b; .reg .b16 l, h; .reg .f32 f, g;\n prmt.b32 a, 0, $2, 0x5040; prmt.b32 b, 0, $2, 0x7060;\n mov.b32 {l, h}, a; cvt.f32.f16 f, l; cvt.f32.f16 g, h; cvt.rn.bf16x2.f32 $0, g, f;\n mov.b32 {l, h}, b; cvt.f32.f16 f, l; cvt.f32.f16 g, h; cvt.rn.bf16x2.f32 $1, g, f; }" {constraints = "=r,=r,r", packed_element = 4 : i32, pure = true} %x : tensor<4xi8> -> tensor<4xbf16>
  tt.return %r : tensor<4xbf16>
}

// To fp8 of either kind and back; what is too large becomes the greatest.
// run: @eights([1.0, -2.5, 500.0, 0.1]) == [1.0, -2.5, 448.0, 0.1015625] and [1.0, -2.5, 512.0, 0.09375]
tt.func @eights(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = tt.elementwise_inline_asm "{ .reg .b16 t, l, h; .reg .b32 w;\n cvt.rn.satfinite.e4m3x2.f32 t, $2, 0f00000000; cvt.rn.f16x2.e4m3x2 w, t; mov.b32 {l, h}, w; cvt.f32.f16 $0, h;\n cvt.rn.satfinite.e5m2x2.f32 t, 0f00000000, $2; cvt.rn.f16x2.e5m2x2 w, t; mov.b32 {l, h}, w; cvt.f32.f16 $1, l; }" {constraints = "=&f,=&f,f", packed_element = 1 : i32, pure = true} %x : tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
  tt.return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// Predicates, shifts past the width, bytes that repeat a sign, wide products, casts toward zero.
// run: @scalars([40, -7], [nan, 3e9]) == [16, 8] and [0, -1] and [0, 2147483647] and [1600, 49] and [-24, 81]
tt.func @scalars(%x: tensor<2xi32>, %f: tensor<2xf32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi32>) {
  %r:5 = tt.elementwise_inline_asm "{ .reg .pred p; .reg .b32 t;\n setp.gt.s32 p, $5, 0; selp.b32 $0, 16, 8, p;\n shl.b32 $1, 1, $5; @!p shr.s32 $1, $5, 99;\n cvt.rzi.s32.f32 $2, $6; mul.wide.s32 $3, $5, $5;\n mad.lo.s32 t, $5, 25, 0; prmt.b32 $4, t, 0, 0x8880; }" {constraints = "=&r,=&r,=&r,=&l,=&r,r,f", packed_element = 1 : i32, pure = true} %x, %f : tensor<2xi32>, tensor<2xf32> -> tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi32>
  tt.return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi32>
}

// run: @effects(7) == 7
tt.func @effects(%x: i32) -> i32 {
  %a = tt.elementwise_inline_asm "griddepcontrol.wait; // dummy $0" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
  %b = tt.elementwise_inline_asm "griddepcontrol.launch_dependents; // dummy $0" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
  %t = tt.elementwise_inline_asm "mov.u64 $0, %globaltimer;" {constraints = "=l", packed_element = 1 : i32, pure = false} -> i64
  %s = tt.elementwise_inline_asm "mov.u32 $0, %smid;" {constraints = "=r", packed_element = 1 : i32, pure = true} -> i32
  %z = arith.subi %s, %s : i32
  %r = arith.addi %x, %z : i32
  tt.return %r : i32
}
"#;

/// What sm_100a has and GPUs before it have not.
const NARROW: &str = r#"
// To four and six bits and back: halves between two go to the even one, what is too large and NaN become the greatest.
// run: @fours([0.25, 0.75, -1.75, 2.5, 5.0, -100.0, 0.1, nan]) == [0.0, 1.0, -2.0, 2.0, 4.0, -6.0, 0.0, 6.0]
tt.func @fours(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = tt.elementwise_inline_asm "{ .reg .b8 c; .reg .b32 w; .reg .b16 l, h;\n cvt.rn.satfinite.e2m1x2.f32 c, 0f00000000, $1; cvt.rn.f16x2.e2m1x2 w, c; mov.b32 {l, h}, w; cvt.f32.f16 $0, l; }" {constraints = "=f,f", packed_element = 1 : i32, pure = true} %x : tensor<8xf32> -> tensor<8xf32>
  tt.return %r : tensor<8xf32>
}

// run: @sixes([0.03, 2.5625, -100.0, nan]) == [0.0, 2.5, -7.5, 7.5] and [0.0, 2.5, -28.0, 28.0]
// run: @sixes([0.25, -1.75, 5.0, 0.1]) == [0.25, -1.75, 5.0, 0.125] and [0.25, -1.75, 5.0, 0.125]
tt.func @sixes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = tt.elementwise_inline_asm "{ .reg .b32 w; .reg .b16 c, l, h;\n cvt.rn.satfinite.e2m3x2.f32 c, $2, 0f00000000; cvt.rn.f16x2.e2m3x2 w, c; mov.b32 {l, h}, w; cvt.f32.f16 $0, h;\n cvt.rn.satfinite.e3m2x2.f32 c, 0f00000000, $2; cvt.rn.f16x2.e3m2x2 w, c; mov.b32 {l, h}, w; cvt.f32.f16 $1, l; }" {constraints = "=&f,=&f,f", packed_element = 1 : i32, pure = true} %x : tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
  tt.return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// Powers of two above and below, whose signs are dropped.
// run: @powers([1.0, 1.5, -3.0, inf]) == [127, 128, 129, 255] and [127, 127, 128, 254] and [1.0, 2.0, 4.0, nan]
// run: @powers([nan, 6e-39, 2.5, 2.0]) == [255, 1, 129, 128] and [255, 0, 128, 128] and [nan, 1.1754944e-38, 4.0, 2.0]
tt.func @powers(%x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xf32>) {
  %r:3 = tt.elementwise_inline_asm "{ .reg .b16 t, l, h; .reg .b32 w;\n cvt.rz.satfinite.ue8m0x2.f32 t, 0.0, $3; cvt.u32.u16 $1, t;\n cvt.rp.ue8m0x2.f32 t, 0.0, $3; cvt.u32.u16 $0, t; cvt.rn.bf16x2.ue8m0x2 w, t; shl.b32 $2, w, 16; }" {constraints = "=&r,=&r,=&r,f", packed_element = 1 : i32, pure = true} %x : tensor<4xf32> -> tensor<4xi32>, tensor<4xi32>, tensor<4xf32>
  tt.return %r#0, %r#1, %r#2 : tensor<4xi32>, tensor<4xi32>, tensor<4xf32>
}

// Bytes in registers of 32 bits, and two numbers that share one.
// run: @wide_registers([1.0, -0.5], [2, 49]) == [34, 34] and [15360, 1040201728]
// run: @wide_registers([1.0, -0.5], [-128, 119]) == [34, 34] and [-2147483648, 1174423040]
tt.func @wide_registers(%x: tensor<2xf32>, %y: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi32>) {
  %r:2 = tt.elementwise_inline_asm "{ .reg .b8 c; .reg .f16x2 w;\n cvt.rn.satfinite.e2m1x2.f32 c, 1.0, 1.0; mov.b32 $0, {c, c, c, c};\n cvt.u8.u32 c, $3; cvt.rn.f16x2.e2m1x2 w, c; mov.b32 $1, w; }" {constraints = "=&r,=&r,f,r", packed_element = 1 : i32, pure = true} %x, %y : tensor<2xf32>, tensor<2xi8> -> tensor<2xi8>, tensor<2xi32>
  tt.return %r#0, %r#1 : tensor<2xi8>, tensor<2xi32>
}
"#;

#[test]
fn kernels_bring_instructions_along() {
    let spread = Spread { num_warps: 2, vector: 4, column_major: false, num_ctas: 1 };
    for way in [Way::Passes(1, 1), Way::Passes(4, 1), Way::Spread(spread)] {
        let outcome = check_file(FIXTURE, &mut Emulated::new(90, way));
        assert_eq!((outcome.calls, outcome.failures), (12, Vec::<String>::new()), "{way:?}");
    }
}

#[test]
fn narrow_floats_are_converted() {
    let outcome = check_file(NARROW, &mut Emulated::new(100, Way::Passes(1, 1)));
    assert_eq!((outcome.calls, outcome.failures), (7, Vec::<String>::new()));
    let outcome = check_file(NARROW, &mut Elsewhere);
    assert_eq!((outcome.calls, outcome.failures), (7, Vec::<String>::new()));
}

/// The interpreter, behind what is put in place of assembly elsewhere than on NVIDIA GPUs.
struct Elsewhere;

impl Engine for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut module = module.clone();
        nvidia::portable::operations_for_assembly(&mut module);
        ir::verify(&module).map_err(|errors| format!("{errors:?}"))?;
        Interpreter.run(&module, kernel, grid, args)
    }
}

#[test]
fn straight_code_means_the_same_elsewhere() {
    let (computing, _) = FIXTURE.split_once("// run: @effects").expect("the last function");
    let outcome = check_file(computing, &mut Elsewhere);
    assert_eq!((outcome.calls, outcome.failures), (11, Vec::<String>::new()));
}
