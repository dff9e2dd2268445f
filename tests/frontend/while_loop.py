# test kernel=spin signature="*i32, *i32, i32"
# A `while` carries what its test and its body change; a lock spins without carrying anything.
import triton
import triton.language as tl


@triton.jit
def spin(lock_ptr, out_ptr, n):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = 0
    value = n
    while value > 1 and count < 10:
        value = value // 2
        count += 1
    tl.store(out_ptr, count)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)

# expect
# module {
#   tt.func public @spin(%lock_ptr: !tt.ptr<i32>, %out_ptr: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
#     scf.while : () -> () {
#       %c0_i32_1 = arith.constant 0 : i32
#       %c1_i32 = arith.constant 1 : i32
#       %1 = tt.atomic_cas acq_rel, gpu, %lock_ptr, %c0_i32_1, %c1_i32 : (!tt.ptr<i32>, i32, i32) -> i32
#       %c1_i32_2 = arith.constant 1 : i32
#       %2 = arith.cmpi eq, %1, %c1_i32_2 : i32
#       scf.condition(%2)
#     } do {
#       scf.yield
#     }
#     %count = arith.constant 0 : i32
#     %count_0:2 = scf.while (%count_1 = %count, %value = %n) : (i32, i32) -> (i32, i32) {
#       %c1_i32 = arith.constant 1 : i32
#       %1 = arith.cmpi sgt, %value, %c1_i32 : i32
#       %c10_i32 = arith.constant 10 : i32
#       %2 = arith.cmpi slt, %count_1, %c10_i32 : i32
#       %3 = arith.andi %1, %2 : i1
#       scf.condition(%3) %count_1, %value : i32, i32
#     } do {
#     ^bb0(%count_1: i32, %value: i32):
#       %c2_i32 = arith.constant 2 : i32
#       %value_2 = arith.divsi %value, %c2_i32 : i32
#       %c1_i32 = arith.constant 1 : i32
#       %count_3 = arith.addi %count_1, %c1_i32 : i32
#       scf.yield %count_3, %value_2 : i32, i32
#     }
#     tt.store %out_ptr, %count_0#0 : !tt.ptr<i32>
#     ttg.barrier local
#     %c0_i32 = arith.constant 0 : i32
#     %true = arith.constant true
#     %0 = tt.atomic_rmw exch, acq_rel, gpu, %lock_ptr, %c0_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
#     tt.return
#   }
# }
