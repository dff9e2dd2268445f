# test kernel=kernel signature="*i32, i64"
# Waiting for a flag, or for a block of them, is one operation.
import triton
import triton.language as tl


@triton.jit
def kernel(flag, timeout):
    tl.atomic_poll(flag, 1)
    tl.store(flag, tl.atomic_poll(flag, 2, sem="relaxed", scope="cta", timeout_ns=timeout).to(tl.int32))
    flags = flag + tl.arange(0, 8)
    tl.store(flags, tl.atomic_poll(flags, 3, timeout_ns=timeout).to(tl.int32))

# expect
# module {
#   tt.func public @kernel(%flag: !tt.ptr<i32>, %timeout: i64) attributes {noinline = false} {
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.atomic_poll acquire, gpu, %flag, %c1_i32 : !tt.ptr<i32>, i32 -> i1
#     %c2_i32 = arith.constant 2 : i32
#     %1 = tt.atomic_poll relaxed, cta, %flag, %c2_i32 timeout %timeout : !tt.ptr<i32>, i32 -> i1
#     %2 = arith.extui %1 : i1 to i32
#     tt.store %flag, %2 : !tt.ptr<i32>
#     %3 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %4 = tt.splat %flag : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
#     %flags = tt.addptr %4, %3 : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
#     %cst = arith.constant dense<3> : tensor<8xi32>
#     %5 = tt.atomic_poll acquire, gpu, %flags, %cst timeout %timeout : tensor<8x!tt.ptr<i32>>, tensor<8xi32> -> tensor<8xi1>
#     %6 = arith.extui %5 : tensor<8xi1> to tensor<8xi32>
#     tt.store %flags, %6 : tensor<8x!tt.ptr<i32>>
#     tt.return
#   }
# }
