# test kernel=scan signature="*i32, i32"
# What follows a `break` or `continue` goes under the `else` of its condition, and flags end the loop.
import triton
import triton.language as tl


@triton.jit(extensions=["loop_exits"])
def scan(ptr, n):
    total = 0
    for i in range(n):
        x = tl.load(ptr + i)
        if x == 0:
            continue
        if x < 0:
            break
        total += x
    tl.store(ptr, total)

# expect
# module {
#   tt.func public @scan(%ptr: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
#     %total = arith.constant 0 : i32
#     %stop$75 = arith.constant false
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %total_0:3 = scf.while (%total_1 = %total, %stop$75_2 = %stop$75, %count$75 = %c0_i32) : (i32, i1, i32) -> (i32, i1, i32) {
#       %0 = arith.cmpi slt, %count$75, %n : i32
#       %true = arith.constant true
#       %1 = arith.xori %stop$75_2, %true : i1
#       %2 = arith.andi %1, %0 : i1
#       scf.condition(%2) %total_1, %stop$75_2, %count$75 : i32, i1, i32
#     } do {
#     ^bb0(%total_1: i32, %stop$75_2: i1, %count$75: i32):
#       %skip$75 = arith.constant false
#       %0 = tt.addptr %ptr, %count$75 : !tt.ptr<i32>, i32
#       %x = tt.load %0 : !tt.ptr<i32>
#       %c0_i32_3 = arith.constant 0 : i32
#       %1 = arith.cmpi eq, %x, %c0_i32_3 : i32
#       %2:3 = scf.if %1 -> (i32, i1, i1) {
#         %skip$75_4 = arith.constant true
#         scf.yield %total_1, %stop$75_2, %skip$75_4 : i32, i1, i1
#       } else {
#         %c0_i32_4 = arith.constant 0 : i32
#         %4 = arith.cmpi slt, %x, %c0_i32_4 : i32
#         %5:3 = scf.if %4 -> (i32, i1, i1) {
#           %stop$75_5 = arith.constant true
#           %skip$75_6 = arith.constant true
#           scf.yield %total_1, %stop$75_5, %skip$75_6 : i32, i1, i1
#         } else {
#           %total_5 = arith.addi %total_1, %x : i32
#           scf.yield %total_5, %stop$75_2, %skip$75 : i32, i1, i1
#         }
#         scf.yield %5#0, %5#1, %5#2 : i32, i1, i1
#       }
#       %3 = arith.addi %count$75, %c1_i32 : i32
#       scf.yield %2#0, %2#1, %3 : i32, i1, i32
#     }
#     tt.store %ptr, %total_0#0 : !tt.ptr<i32>
#     tt.return
#   }
# }
