# test kernel=behind signature="*i32, i32"
# The target of a loop is read behind it; a scalar may be indexed with `:` and `None`.
import triton
import triton.language as tl


@triton.jit
def behind(out_ptr, n):
    for i in range(1, n, 3):
        tl.store(out_ptr, i)
    tl.store(out_ptr + i, 1)
    j = n
    for j in range(n, 0, -2):
        tl.store(out_ptr, j)
    tl.store(out_ptr + j, 2)
    # Nothing reads this one outside of its loops, so that no last value is computed, and an enclosing loop does not carry it.
    k = 0
    for _ in range(n):
        for k in range(2):
            tl.store(out_ptr, k)
    few = n < 3
    tl.store(out_ptr + tl.arange(0, 4)[:, None], 5, mask=few[:, None])

# expect
# module {
#   tt.func public @behind(%out_ptr: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
#     %c1_i32 = arith.constant 1 : i32
#     %c3_i32 = arith.constant 3 : i32
#     scf.for %i = %c1_i32 to %n step %c3_i32  : i32 {
#       tt.store %out_ptr, %i : !tt.ptr<i32>
#     }
#     %c1_i32_0 = arith.constant 1 : i32
#     %0 = arith.subi %n, %c1_i32 : i32
#     %1 = arith.subi %0, %c1_i32_0 : i32
#     %2 = arith.divsi %1, %c3_i32 : i32
#     %3 = arith.muli %2, %c3_i32 : i32
#     %4 = arith.addi %c1_i32, %3 : i32
#     %5 = tt.addptr %out_ptr, %4 : !tt.ptr<i32>, i32
#     %c1_i32_1 = arith.constant 1 : i32
#     tt.store %5, %c1_i32_1 : !tt.ptr<i32>
#     %c0_i32 = arith.constant 0 : i32
#     %c2_i32 = arith.constant 2 : i32
#     scf.for %j = %c0_i32 to %n step %c2_i32  : i32 {
#       %21 = arith.subi %n, %j : i32
#       %22 = arith.addi %21, %c0_i32 : i32
#       tt.store %out_ptr, %22 : !tt.ptr<i32>
#     }
#     %c1_i32_2 = arith.constant 1 : i32
#     %6 = arith.subi %n, %c0_i32 : i32
#     %7 = arith.subi %6, %c1_i32_2 : i32
#     %8 = arith.divsi %7, %c2_i32 : i32
#     %9 = arith.muli %8, %c2_i32 : i32
#     %10 = arith.subi %n, %9 : i32
#     %11 = arith.cmpi slt, %c0_i32, %n : i32
#     %12 = arith.select %11, %10, %n : i32
#     %13 = tt.addptr %out_ptr, %12 : !tt.ptr<i32>, i32
#     %c2_i32_3 = arith.constant 2 : i32
#     tt.store %13, %c2_i32_3 : !tt.ptr<i32>
#     %c0_i32_4 = arith.constant 0 : i32
#     %c1_i32_5 = arith.constant 1 : i32
#     scf.for %_ = %c0_i32_4 to %n step %c1_i32_5  : i32 {
#       %c0_i32_7 = arith.constant 0 : i32
#       %c2_i32_8 = arith.constant 2 : i32
#       %c1_i32_9 = arith.constant 1 : i32
#       scf.for %k = %c0_i32_7 to %c2_i32_8 step %c1_i32_9  : i32 {
#         tt.store %out_ptr, %k : !tt.ptr<i32>
#       }
#     }
#     %c3_i32_6 = arith.constant 3 : i32
#     %few = arith.cmpi slt, %n, %c3_i32_6 : i32
#     %14 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %15 = tt.expand_dims %14 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
#     %16 = tt.splat %out_ptr : !tt.ptr<i32> -> tensor<4x1x!tt.ptr<i32>>
#     %17 = tt.addptr %16, %15 : tensor<4x1x!tt.ptr<i32>>, tensor<4x1xi32>
#     %18 = tt.splat %few : i1 -> tensor<1xi1>
#     %cst = arith.constant dense<5> : tensor<4x1xi32>
#     %19 = tt.expand_dims %18 {axis = 0 : i32} : tensor<1xi1> -> tensor<1x1xi1>
#     %20 = tt.broadcast %19 : tensor<1x1xi1> -> tensor<4x1xi1>
#     tt.store %17, %cst, %20 : tensor<4x1x!tt.ptr<i32>>
#     tt.return
#   }
# }
