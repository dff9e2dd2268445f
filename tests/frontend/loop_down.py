# test kernel=down signature="*i32, i32"
# A negative step counts upwards and is reversed.
import triton
import triton.language as tl


@triton.jit
def down(out_ptr, n):
    last = 0
    for i in range(n, 0, -2):
        last = i
        tl.store(out_ptr + i, last)
    tl.store(out_ptr, last)

# expect
# module {
#   tt.func public @down(%out_ptr: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
#     %last = arith.constant 0 : i32
#     %c0_i32 = arith.constant 0 : i32
#     %c2_i32 = arith.constant 2 : i32
#     %last_0 = scf.for %i = %c0_i32 to %n step %c2_i32 iter_args(%last_1 = %last) -> (i32)  : i32 {
#       %0 = arith.subi %n, %i : i32
#       %last_2 = arith.addi %0, %c0_i32 : i32
#       %1 = tt.addptr %out_ptr, %last_2 : !tt.ptr<i32>, i32
#       tt.store %1, %last_2 : !tt.ptr<i32>
#       scf.yield %last_2 : i32
#     }
#     tt.store %out_ptr, %last_0 : !tt.ptr<i32>
#     tt.return
#   }
# }
