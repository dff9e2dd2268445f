# test kernel=exponential signature="*fp16"
# Functions of halves are computed in single precision.
import triton
import triton.language as tl


@triton.jit(extensions=["half_math"])
def exponential(ptr):
    tl.store(ptr, tl.exp(tl.load(ptr)))

# expect
# module {
#   tt.func public @exponential(%ptr: !tt.ptr<f16>) attributes {noinline = false} {
#     %0 = tt.load %ptr : !tt.ptr<f16>
#     %1 = arith.extf %0 : f16 to f32
#     %2 = math.exp %1 : f32
#     %3 = arith.truncf %2 : f32 to f16
#     tt.store %ptr, %3 : !tt.ptr<f16>
#     tt.return
#   }
# }
