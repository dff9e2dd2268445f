# test kernel=total signature="*fp32:16, *fp32, i32, 64"
# Only what changes in a loop is carried; options of `tl.range` are attributes.
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    unchanged = tl.arange(0, BLOCK)
    for start in tl.range(0, n, BLOCK, num_stages=3, flatten=True):
        offsets = start + unchanged
        if BLOCK > 1000:
            unchanged = offsets
        acc += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr, tl.sum(acc, 0))

# expect
# module {
#   tt.func public @total(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out_ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %acc = arith.constant dense<0.000000e+00> : tensor<64xf32>
#     %unchanged = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
#     %c0_i32 = arith.constant 0 : i32
#     %c64_i32 = arith.constant 64 : i32
#     %acc_0 = scf.for %start = %c0_i32 to %n step %c64_i32 iter_args(%acc_1 = %acc) -> (tensor<64xf32>)  : i32 {
#       %1 = tt.splat %start : i32 -> tensor<64xi32>
#       %offsets = arith.addi %1, %unchanged : tensor<64xi32>
#       %2 = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
#       %3 = tt.addptr %2, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
#       %4 = tt.splat %n : i32 -> tensor<64xi32>
#       %5 = arith.cmpi slt, %offsets, %4 : tensor<64xi32>
#       %cst = arith.constant dense<0.000000e+00> : tensor<64xf32>
#       %6 = tt.load %3, %5, %cst : tensor<64x!tt.ptr<f32>>
#       %acc_2 = arith.addf %acc_1, %6 : tensor<64xf32>
#       scf.yield %acc_2 : tensor<64xf32>
#     } {tt.flatten, tt.num_stages = 3 : i32}
#     %0 = "tt.reduce"(%acc_0) <{axis = 0 : i32}> ({
#     ^bb0(%arg3: f32, %arg4: f32):
#       %1 = arith.addf %arg3, %arg4 : f32
#       tt.reduce.return %1 : f32
#     }) : (tensor<64xf32>) -> f32
#     tt.store %out_ptr, %0 : !tt.ptr<f32>
#     tt.return
#   }
# }
