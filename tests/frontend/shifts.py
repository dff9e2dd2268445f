# test kernel=kernel signature="*i32, *u32, *i8, *u64"
# A signed value is shifted arithmetically, whatever the type of the amount.
import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr, u_ptr, b_ptr, w_ptr):
    i, u, b, w = tl.load(i_ptr), tl.load(u_ptr), tl.load(b_ptr), tl.load(w_ptr)
    tl.store(i_ptr, i >> u)
    tl.store(i_ptr + 1, u >> i)
    tl.store(i_ptr + 2, b >> u)
    tl.store(i_ptr + 3, i >> w)
    tl.store(i_ptr + 4, i >> 3)
    tl.store(i_ptr + 5, u >> 3)
    tl.store(i_ptr + 6, 8 >> i)
    for j in range(0, 8, step=4):
        tl.store(i_ptr + j, j)

# expect
# module {
#   tt.func public @kernel(%i_ptr: !tt.ptr<i32>, %u_ptr: !tt.ptr<i32>, %b_ptr: !tt.ptr<i8>, %w_ptr: !tt.ptr<i64>) attributes {noinline = false} {
#     %i = tt.load %i_ptr : !tt.ptr<i32>
#     %u = tt.load %u_ptr : !tt.ptr<i32>
#     %b = tt.load %b_ptr : !tt.ptr<i8>
#     %w = tt.load %w_ptr : !tt.ptr<i64>
#     %0 = arith.shrsi %i, %u : i32
#     tt.store %i_ptr, %0 : !tt.ptr<i32>
#     %c1_i32 = arith.constant 1 : i32
#     %1 = tt.addptr %i_ptr, %c1_i32 : !tt.ptr<i32>, i32
#     %2 = arith.shrui %u, %i : i32
#     tt.store %1, %2 : !tt.ptr<i32>
#     %c2_i32 = arith.constant 2 : i32
#     %3 = tt.addptr %i_ptr, %c2_i32 : !tt.ptr<i32>, i32
#     %4 = arith.extsi %b : i8 to i32
#     %5 = arith.shrsi %4, %u : i32
#     tt.store %3, %5 : !tt.ptr<i32>
#     %c3_i32 = arith.constant 3 : i32
#     %6 = tt.addptr %i_ptr, %c3_i32 : !tt.ptr<i32>, i32
#     %7 = arith.extsi %i : i32 to i64
#     %8 = arith.shrsi %7, %w : i64
#     %9 = arith.trunci %8 : i64 to i32
#     tt.store %6, %9 : !tt.ptr<i32>
#     %c4_i32 = arith.constant 4 : i32
#     %10 = tt.addptr %i_ptr, %c4_i32 : !tt.ptr<i32>, i32
#     %c3_i32_0 = arith.constant 3 : i32
#     %11 = arith.shrsi %i, %c3_i32_0 : i32
#     tt.store %10, %11 : !tt.ptr<i32>
#     %c5_i32 = arith.constant 5 : i32
#     %12 = tt.addptr %i_ptr, %c5_i32 : !tt.ptr<i32>, i32
#     %c3_i32_1 = arith.constant 3 : i32
#     %13 = arith.shrui %u, %c3_i32_1 : i32
#     tt.store %12, %13 : !tt.ptr<i32>
#     %c6_i32 = arith.constant 6 : i32
#     %14 = tt.addptr %i_ptr, %c6_i32 : !tt.ptr<i32>, i32
#     %c8_i32 = arith.constant 8 : i32
#     %15 = arith.shrsi %c8_i32, %i : i32
#     tt.store %14, %15 : !tt.ptr<i32>
#     %c0_i32 = arith.constant 0 : i32
#     %c8_i32_2 = arith.constant 8 : i32
#     %c4_i32_3 = arith.constant 4 : i32
#     scf.for %j = %c0_i32 to %c8_i32_2 step %c4_i32_3  : i32 {
#       %16 = tt.addptr %i_ptr, %j : !tt.ptr<i32>, i32
#       tt.store %16, %j : !tt.ptr<i32>
#     }
#     tt.return
#   }
# }
