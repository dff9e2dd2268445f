# test kernel=kernel signature="*u32, *fp32, u32"
# What was there has the sign of the new value, where that is an integer.
import triton
import triton.language as tl


@triton.jit
def kernel(flags, out, new):
    tl.store(out, tl.atomic_cas(flags, 0, 1).to(tl.float32))
    tl.store(out + 1, tl.atomic_cas(flags, 0, new).to(tl.float32))

# expect
# module {
#   tt.func public @kernel(%flags: !tt.ptr<i32>, %out: !tt.ptr<f32>, %new: i32) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.atomic_cas acq_rel, gpu, %flags, %c0_i32, %c1_i32 : (!tt.ptr<i32>, i32, i32) -> i32
#     %1 = arith.sitofp %0 : i32 to f32
#     tt.store %out, %1 : !tt.ptr<f32>
#     %c1_i32_0 = arith.constant 1 : i32
#     %2 = tt.addptr %out, %c1_i32_0 : !tt.ptr<f32>, i32
#     %c0_i32_1 = arith.constant 0 : i32
#     %3 = tt.atomic_cas acq_rel, gpu, %flags, %c0_i32_1, %new : (!tt.ptr<i32>, i32, i32) -> i32
#     %4 = arith.uitofp %3 : i32 to f32
#     tt.store %2, %4 : !tt.ptr<f32>
#     tt.return
#   }
# }
