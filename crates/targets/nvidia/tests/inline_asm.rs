//! Inline assembly in the forms that kernels write it: blanks among constraints, several results, packed elements, text
//! with comments, instructions that only have an effect.

mod emulated;
mod support;

use emulated::Emulated;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::check_file;

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

#[test]
fn kernels_bring_instructions_along() {
    let spread = Spread { num_warps: 2, vector: 4, column_major: false, num_ctas: 1 };
    for way in [Way::Passes(1, 1), Way::Passes(4, 1), Way::Spread(spread)] {
        let outcome = check_file(FIXTURE, &mut Emulated::new(90, way));
        assert_eq!((outcome.calls, outcome.failures), (8, Vec::<String>::new()), "{way:?}");
    }
}
