# test kernel=undefined signature="*fp32, i32"
# A name that is undefined on one way may be set again behind; a dtype is called to convert.
import triton
import triton.language as tl


@triton.jit
def undefined(ptr, n):
    for i in range(n):
        x = i
    if n > 3:
        x = 1
    x = tl.float32(2)
    for i in range(n):
        x += i
    tl.store(ptr, x)

# expect
# module {
#   tt.func public @undefined(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     scf.for %i = %c0_i32 to %n step %c1_i32  : i32 {
#     }
#     %c3_i32 = arith.constant 3 : i32
#     %0 = arith.cmpi sgt, %n, %c3_i32 : i32
#     scf.if %0 {
#     }
#     %x = arith.constant 2.000000e+00 : f32
#     %c0_i32_0 = arith.constant 0 : i32
#     %c1_i32_1 = arith.constant 1 : i32
#     %x_2 = scf.for %i = %c0_i32_0 to %n step %c1_i32_1 iter_args(%x_3 = %x) -> (f32)  : i32 {
#       %1 = arith.sitofp %i : i32 to f32
#       %x_4 = arith.addf %x_3, %1 : f32
#       scf.yield %x_4 : f32
#     }
#     tt.store %ptr, %x_2 : !tt.ptr<f32>
#     tt.return
#   }
# }
