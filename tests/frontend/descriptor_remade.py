# test kernel=branches signature="*fp32, *fp32, i32, i32"
# test kernel=loops signature="*fp32, *fp32, i32, i32"
# A descriptor that a branch or a loop makes anew.
import triton
import triton.language as tl


@triton.jit
def branches(a, b, n, which):
    d = tl.make_tensor_descriptor(a, [n], [1], [16])
    if which > 0:
        d = tl.make_tensor_descriptor(b, [n], [1], [16])
    d.store([0], d.load([16]))


@triton.jit
def loops(a, b, n, k):
    d = tl._experimental_make_tensor_descriptor(a, [n], [1], [16])
    for i in range(k):
        x = d.load([0])
        d = tl.make_tensor_descriptor(b + i * 16, [n], [1], [16])
        d.store([0], x)
    tl.store_tensor_descriptor(d, [0], d.load([0]))

# expect
# module {
#   tt.func public @branches(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %n: i32, %which: i32) attributes {noinline = false} {
#     %c1_i64 = arith.constant 1 : i64
#     %0 = tt.make_tensor_descriptor %a, [%n], [%c1_i64] : <f32>, <16xf32>
#     %c0_i32 = arith.constant 0 : i32
#     %1 = arith.cmpi sgt, %which, %c0_i32 : i32
#     %2 = scf.if %1 -> (!tt.ptr<f32>) {
#       %c1_i64_2 = arith.constant 1 : i64
#       %5 = tt.make_tensor_descriptor %b, [%n], [%c1_i64_2] : <f32>, <16xf32>
#       scf.yield %b : !tt.ptr<f32>
#     } else {
#       scf.yield %a : !tt.ptr<f32>
#     }
#     %c1_i64_0 = arith.constant 1 : i64
#     %3 = tt.make_tensor_descriptor %2, [%n], [%c1_i64_0] : <f32>, <16xf32>
#     %c16_i32 = arith.constant 16 : i32
#     %4 = tt.descriptor_load %3[%c16_i32] : !tt.tensordesc<16xf32> -> tensor<16xf32>
#     %c0_i32_1 = arith.constant 0 : i32
#     tt.descriptor_store %3[%c0_i32_1], %4 : !tt.tensordesc<16xf32>, tensor<16xf32>
#     tt.return
#   }
# }
# module {
#   tt.func public @loops(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %n: i32, %k: i32) attributes {noinline = false} {
#     %c1_i64 = arith.constant 1 : i64
#     %0 = tt.make_tensor_descriptor %a, [%n], [%c1_i64] : <f32>, <16xf32>
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %1:2 = scf.for %i = %c0_i32 to %k step %c1_i32 iter_args(%arg5 = %a, %arg6 = %n) -> (!tt.ptr<f32>, i32)  : i32 {
#       %4 = tt.make_tensor_descriptor %arg5, [%arg6], [%c1_i64] : <f32>, <16xf32>
#       %c0_i32_2 = arith.constant 0 : i32
#       %x = tt.descriptor_load %4[%c0_i32_2] : !tt.tensordesc<16xf32> -> tensor<16xf32>
#       %c16_i32 = arith.constant 16 : i32
#       %5 = arith.muli %i, %c16_i32 : i32
#       %6 = tt.addptr %b, %5 : !tt.ptr<f32>, i32
#       %c1_i64_3 = arith.constant 1 : i64
#       %7 = tt.make_tensor_descriptor %6, [%n], [%c1_i64_3] : <f32>, <16xf32>
#       %c0_i32_4 = arith.constant 0 : i32
#       tt.descriptor_store %7[%c0_i32_4], %x : !tt.tensordesc<16xf32>, tensor<16xf32>
#       scf.yield %6, %n : !tt.ptr<f32>, i32
#     }
#     %2 = tt.make_tensor_descriptor %1#0, [%1#1], [%c1_i64] : <f32>, <16xf32>
#     %c0_i32_0 = arith.constant 0 : i32
#     %3 = tt.descriptor_load %2[%c0_i32_0] : !tt.tensordesc<16xf32> -> tensor<16xf32>
#     %c0_i32_1 = arith.constant 0 : i32
#     tt.descriptor_store %2[%c0_i32_1], %3 : !tt.tensordesc<16xf32>, tensor<16xf32>
#     tt.return
#   }
# }
