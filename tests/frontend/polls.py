# test kernel=kernel signature="*i32, i64"
# Waiting for a flag is a loop of atomic loads.
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
#     %c0_i64 = arith.constant 0 : i64
#     %0:2 = scf.while (%arg2 = %c1_i32, %arg3 = %c0_i64) : (i32, i64) -> (i32, i64) {
#       %true = arith.constant true
#       %5 = tt.atomic_load acquire, gpu, %flag, %true : (!tt.ptr<i32>, i1) -> i32
#       %6 = arith.cmpi ne, %5, %c1_i32 : i32
#       scf.condition(%6) %5, %arg3 : i32, i64
#     } do {
#     ^bb0(%arg2: i32, %arg3: i64):
#       scf.yield %arg2, %arg3 : i32, i64
#     }
#     %1 = arith.cmpi eq, %0#0, %c1_i32 : i32
#     %c2_i32 = arith.constant 2 : i32
#     %c0_i64_0 = arith.constant 0 : i64
#     %2:2 = scf.while (%arg2 = %c2_i32, %arg3 = %c0_i64_0) : (i32, i64) -> (i32, i64) {
#       %true = arith.constant true
#       %5 = tt.atomic_load relaxed, cta, %flag, %true : (!tt.ptr<i32>, i1) -> i32
#       %6 = arith.cmpi ne, %5, %c2_i32 : i32
#       %7 = arith.cmpi slt, %arg3, %timeout : i64
#       %8 = arith.andi %6, %7 : i1
#       scf.condition(%8) %5, %arg3 : i32, i64
#     } do {
#     ^bb0(%arg2: i32, %arg3: i64):
#       %c100_i64 = arith.constant 100 : i64
#       %5 = arith.addi %arg3, %c100_i64 : i64
#       scf.yield %arg2, %5 : i32, i64
#     }
#     %3 = arith.cmpi eq, %2#0, %c2_i32 : i32
#     %4 = arith.extui %3 : i1 to i32
#     tt.store %flag, %4 : !tt.ptr<i32>
#     tt.return
#   }
# }
