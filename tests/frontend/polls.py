# test kernel=kernel signature="*i32, i64"
# Waiting for a flag is one operation.
import triton
import triton.language as tl


@triton.jit
def kernel(flag, timeout):
    tl.atomic_poll(flag, 1)
    tl.store(flag, tl.atomic_poll(flag, 2, sem="relaxed", scope="cta", timeout_ns=timeout).to(tl.int32))

# expect
# module {
#   tt.func public @kernel(%flag: !tt.ptr<i32>, %timeout: i64) attributes {noinline = false} {
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.atomic_poll acquire, gpu, %flag, %c1_i32 : !tt.ptr<i32>, i32 -> i1
#     %c2_i32 = arith.constant 2 : i32
#     %1 = tt.atomic_poll relaxed, cta, %flag, %c2_i32 timeout %timeout : !tt.ptr<i32>, i32 -> i1
#     %2 = arith.extui %1 : i1 to i32
#     tt.store %flag, %2 : !tt.ptr<i32>
#     tt.return
#   }
# }
