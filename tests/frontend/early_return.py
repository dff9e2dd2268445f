# test kernel=early signature="*fp32, i32, i32"
# What follows a return under a run-time condition moves into the arm that goes on.
import triton
import triton.language as tl


@triton.jit
def pick(a, b):
    if a > b:
        return a
    if b == 7:
        return 7
    return b


@triton.jit
def early(ptr, a, b):
    if a > 10:
        return
    x = pick(a, b)
    if b > 10:
        tl.store(ptr, 0.0)
        return
    tl.store(ptr + x, 1.0)

# expect
# module {
#   tt.func public @early(%ptr: !tt.ptr<f32>, %a: i32, %b: i32) attributes {noinline = false} {
#     %c10_i32 = arith.constant 10 : i32
#     %0 = arith.cmpi sgt, %a, %c10_i32 : i32
#     scf.if %0 {
#     } else {
#       %1 = arith.cmpi sgt, %a, %b : i32
#       %x = scf.if %1 -> (i32) {
#         scf.yield %a : i32
#       } else {
#         %c7_i32 = arith.constant 7 : i32
#         %3 = arith.cmpi eq, %b, %c7_i32 : i32
#         %4 = scf.if %3 -> (i32) {
#           %c7_i32_1 = arith.constant 7 : i32
#           scf.yield %c7_i32_1 : i32
#         } else {
#           scf.yield %b : i32
#         }
#         scf.yield %4 : i32
#       }
#       %c10_i32_0 = arith.constant 10 : i32
#       %2 = arith.cmpi sgt, %b, %c10_i32_0 : i32
#       scf.if %2 {
#         %cst = arith.constant 0.000000e+00 : f32
#         tt.store %ptr, %cst : !tt.ptr<f32>
#       } else {
#         %3 = tt.addptr %ptr, %x : !tt.ptr<f32>, i32
#         %cst = arith.constant 1.000000e+00 : f32
#         tt.store %3, %cst : !tt.ptr<f32>
#       }
#     }
#     tt.return
#   }
# }
