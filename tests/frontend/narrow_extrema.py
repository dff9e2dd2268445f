# test kernel=kernel signature="*bf16, *bf16, *fp32"
# Minimum and maximum of bf16 are fp32, and bf16 again where only that fits.
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 16)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.static_print(tl.maximum(x, y).dtype, tl.minimum(x, 1.0).dtype, tl.clamp(x, 0.0, y).dtype, tl.cumsum(x).dtype,
                    tl.cumprod(x).dtype, tl.cumsum(x, dtype=tl.bfloat16).dtype, tl.sum(x).dtype)
    tl.static_print(tl.reduce(x, 0, larger).dtype)
    best = x
    for i in range(4):
        best = tl.maximum(best, tl.load(y_ptr + i * 16 + at))
    tl.store(x_ptr + at, best)

# expect
# module {
#   tt.func public @kernel(%x_ptr: !tt.ptr<bf16>, %y_ptr: !tt.ptr<bf16>, %out_ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %at = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %0 = tt.splat %x_ptr : !tt.ptr<bf16> -> tensor<16x!tt.ptr<bf16>>
#     %1 = tt.addptr %0, %at : tensor<16x!tt.ptr<bf16>>, tensor<16xi32>
#     %x = tt.load %1 : tensor<16x!tt.ptr<bf16>>
#     %2 = tt.splat %y_ptr : !tt.ptr<bf16> -> tensor<16x!tt.ptr<bf16>>
#     %3 = tt.addptr %2, %at : tensor<16x!tt.ptr<bf16>>, tensor<16xi32>
#     %y = tt.load %3 : tensor<16x!tt.ptr<bf16>>
#     %4 = arith.extf %x : tensor<16xbf16> to tensor<16xf32>
#     %5 = arith.extf %y : tensor<16xbf16> to tensor<16xf32>
#     %6 = arith.maxnumf %4, %5 : tensor<16xf32>
#     %7 = arith.extf %x : tensor<16xbf16> to tensor<16xf32>
#     %cst = arith.constant dense<1.000000e+00> : tensor<16xf32>
#     %8 = arith.minnumf %7, %cst : tensor<16xf32>
#     %9 = arith.extf %x : tensor<16xbf16> to tensor<16xf32>
#     %10 = arith.extf %y : tensor<16xbf16> to tensor<16xf32>
#     %cst_0 = arith.constant dense<0.000000e+00> : tensor<16xf32>
#     %11 = tt.clampf %9, %cst_0, %10, propagateNan = none : tensor<16xf32>
#     %12 = arith.extf %x : tensor<16xbf16> to tensor<16xf32>
#     %13 = "tt.scan"(%12) <{axis = 0 : i32, reverse = false}> ({
#     ^bb0(%arg3: f32, %arg4: f32):
#       %21 = arith.addf %arg3, %arg4 : f32
#       tt.scan.return %21 : f32
#     }) : (tensor<16xf32>) -> tensor<16xf32>
#     %14 = arith.extf %x : tensor<16xbf16> to tensor<16xf32>
#     %15 = "tt.scan"(%14) <{axis = 0 : i32, reverse = false}> ({
#     ^bb0(%arg3: f32, %arg4: f32):
#       %21 = arith.mulf %arg3, %arg4 : f32
#       tt.scan.return %21 : f32
#     }) : (tensor<16xf32>) -> tensor<16xf32>
#     %16 = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
#     ^bb0(%arg3: bf16, %arg4: bf16):
#       %21 = arith.addf %arg3, %arg4 : bf16
#       tt.scan.return %21 : bf16
#     }) : (tensor<16xbf16>) -> tensor<16xbf16>
#     %17 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
#     ^bb0(%arg3: bf16, %arg4: bf16):
#       %21 = arith.addf %arg3, %arg4 : bf16
#       tt.reduce.return %21 : bf16
#     }) : (tensor<16xbf16>) -> bf16
#     %18 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
#     ^bb0(%arg3: bf16, %arg4: bf16):
#       %21 = arith.extf %arg3 : bf16 to f32
#       %22 = arith.extf %arg4 : bf16 to f32
#       %23 = arith.maxnumf %21, %22 : f32
#       %24 = arith.truncf %23 : f32 to bf16
#       tt.reduce.return %24 : bf16
#     }) : (tensor<16xbf16>) -> bf16
#     %c0_i32 = arith.constant 0 : i32
#     %c4_i32 = arith.constant 4 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %best = scf.for %i = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%best_1 = %x) -> (tensor<16xbf16>)  : i32 {
#       %c16_i32 = arith.constant 16 : i32
#       %21 = arith.muli %i, %c16_i32 : i32
#       %22 = tt.addptr %y_ptr, %21 : !tt.ptr<bf16>, i32
#       %23 = tt.splat %22 : !tt.ptr<bf16> -> tensor<16x!tt.ptr<bf16>>
#       %24 = tt.addptr %23, %at : tensor<16x!tt.ptr<bf16>>, tensor<16xi32>
#       %25 = tt.load %24 : tensor<16x!tt.ptr<bf16>>
#       %26 = arith.extf %best_1 : tensor<16xbf16> to tensor<16xf32>
#       %27 = arith.extf %25 : tensor<16xbf16> to tensor<16xf32>
#       %best_2 = arith.maxnumf %26, %27 : tensor<16xf32>
#       %28 = arith.truncf %best_2 : tensor<16xf32> to tensor<16xbf16>
#       scf.yield %28 : tensor<16xbf16>
#     }
#     %19 = tt.splat %x_ptr : !tt.ptr<bf16> -> tensor<16x!tt.ptr<bf16>>
#     %20 = tt.addptr %19, %at : tensor<16x!tt.ptr<bf16>>, tensor<16xi32>
#     tt.store %20, %best : tensor<16x!tt.ptr<bf16>>
#     tt.return
#   }
# }
# printed: fp32 fp32 fp32 fp32 fp32 bf16 bf16
# printed: bf16
