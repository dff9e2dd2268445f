# test kernel=truths signature="*fp32, i1"
# What Triton's Python asks by `if argument:` takes values of the program's, which are all true.
import triton
import triton.language as tl


@triton.jit
def truths(ptr, flag):
    i = tl.arange(0, 16)
    at = ptr + i[:, None] * 16 + i[None, :]
    x = tl.load(at)
    x = tl.dot(x, x, allow_tf32=flag)  # warning: 'allow_tf32' is a run-time value, which counts as true
    x = x + tl.sum(x, 1, keep_dims=flag)  # warning: 'keep_dims' is a run-time value
    x = tl.fdiv(x, x, ieee_rounding=flag)  # warning: 'ieee_rounding' is a run-time value
    for _ in tl.range(0, 4, flatten=flag):  # warning: 'flatten' is a run-time value
        x += x
    tl.store(at, x.to(tl.int32, bitcast=flag).to(tl.float32, bitcast=True))  # warning: 'bitcast' is a run-time value

# expect
# module {
#   tt.func public @truths(%ptr: !tt.ptr<f32>, %flag: i1) attributes {noinline = false} {
#     %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %0 = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
#     %cst = arith.constant dense<16> : tensor<16x1xi32>
#     %1 = arith.muli %0, %cst : tensor<16x1xi32>
#     %2 = tt.splat %ptr : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
#     %3 = tt.addptr %2, %1 : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
#     %4 = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
#     %5 = tt.broadcast %3 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
#     %6 = tt.broadcast %4 : tensor<1x16xi32> -> tensor<16x16xi32>
#     %at = tt.addptr %5, %6 : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
#     %x = tt.load %at : tensor<16x16x!tt.ptr<f32>>
#     %cst_0 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
#     %x_1 = tt.dot %x, %x, %cst_0, inputPrecision = tf32 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
#     %7 = "tt.reduce"(%x_1) <{axis = 1 : i32}> ({
#     ^bb0(%arg2: f32, %arg3: f32):
#       %12 = arith.addf %arg2, %arg3 : f32
#       tt.reduce.return %12 : f32
#     }) : (tensor<16x16xf32>) -> tensor<16xf32>
#     %8 = tt.expand_dims %7 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
#     %9 = tt.broadcast %8 : tensor<16x1xf32> -> tensor<16x16xf32>
#     %x_2 = arith.addf %x_1, %9 : tensor<16x16xf32>
#     %x_3 = tt.precise_divf %x_2, %x_2 : tensor<16x16xf32>
#     %c0_i32 = arith.constant 0 : i32
#     %c4_i32 = arith.constant 4 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %x_4 = scf.for %_ = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%x_5 = %x_3) -> (tensor<16x16xf32>)  : i32 {
#       %x_6 = arith.addf %x_5, %x_5 : tensor<16x16xf32>
#       scf.yield %x_6 : tensor<16x16xf32>
#     } {tt.flatten}
#     %10 = tt.bitcast %x_4 : tensor<16x16xf32> -> tensor<16x16xi32>
#     %11 = tt.bitcast %10 : tensor<16x16xi32> -> tensor<16x16xf32>
#     tt.store %at, %11 : tensor<16x16x!tt.ptr<f32>>
#     tt.return
#   }
# }
