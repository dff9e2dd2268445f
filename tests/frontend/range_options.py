# test kernel=counted signature="*fp32, i32"
# Options of tl.range mean nothing on Python's range.
import triton
import triton.language as tl


@triton.jit
def counted(ptr, n):
    for i in range(n, flatten=True, num_stages=2):
        tl.store(ptr + i, 1.0)

# expect
# module {
#   tt.func public @counted(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     scf.for %i = %c0_i32 to %n step %c1_i32  : i32 {
#       %0 = tt.addptr %ptr, %i : !tt.ptr<f32>, i32
#       %cst = arith.constant 1.000000e+00 : f32
#       tt.store %0, %cst : !tt.ptr<f32>
#     }
#     tt.return
#   }
# }
