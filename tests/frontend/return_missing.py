# test kernel=kernel signature="*i32, i32"
# Where a function ends without the `return` that it has elsewhere, its value is one that nobody may depend on.
import triton
import triton.language as tl


@triton.jit
def positive(n):
    if n > 0:
        return n


@triton.jit
def pair(n):
    if n > 0:
        tl.static_assert(True)
    elif n == 0:
        return n, 5


@triton.jit
def nothing(n):
    if n > 0:
        return


@triton.jit
def kernel(ptr, n):
    tl.store(ptr, positive(n))
    zero, _ = pair(n)
    tl.static_assert(pair(n)[1] == 5)
    tl.store(ptr, zero)
    tl.static_assert(nothing(n) is None)

# expect
# module {
#   tt.func public @kernel(%ptr: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %0 = arith.cmpi sgt, %n, %c0_i32 : i32
#     %1 = scf.if %0 -> (i32) {
#       scf.yield %n : i32
#     } else {
#       %6 = ub.poison : i32
#       scf.yield %6 : i32
#     }
#     tt.store %ptr, %1 : !tt.ptr<i32>
#     %c0_i32_0 = arith.constant 0 : i32
#     %2 = arith.cmpi sgt, %n, %c0_i32_0 : i32
#     %zero = scf.if %2 -> (i32) {
#       %6 = ub.poison : i32
#       scf.yield %6 : i32
#     } else {
#       %c0_i32_3 = arith.constant 0 : i32
#       %6 = arith.cmpi eq, %n, %c0_i32_3 : i32
#       %7 = scf.if %6 -> (i32) {
#         scf.yield %n : i32
#       } else {
#         %8 = ub.poison : i32
#         scf.yield %8 : i32
#       }
#       scf.yield %7 : i32
#     }
#     %c0_i32_1 = arith.constant 0 : i32
#     %3 = arith.cmpi sgt, %n, %c0_i32_1 : i32
#     %4 = scf.if %3 -> (i32) {
#       %6 = ub.poison : i32
#       scf.yield %6 : i32
#     } else {
#       %c0_i32_3 = arith.constant 0 : i32
#       %6 = arith.cmpi eq, %n, %c0_i32_3 : i32
#       %7 = scf.if %6 -> (i32) {
#         scf.yield %n : i32
#       } else {
#         %8 = ub.poison : i32
#         scf.yield %8 : i32
#       }
#       scf.yield %7 : i32
#     }
#     tt.store %ptr, %zero : !tt.ptr<i32>
#     %c0_i32_2 = arith.constant 0 : i32
#     %5 = arith.cmpi sgt, %n, %c0_i32_2 : i32
#     scf.if %5 {
#     } else {
#     }
#     tt.return
#   }
# }
