# test kernel=kernel signature="*fp32, i32, 8"
# A parameter that is annotated as constexpr takes run-time values and blocks as well.
import math

import triton
import triton.language as tl


@triton.jit
def scaled(x, scale: tl.constexpr, BLOCK: tl.constexpr):
    if scale is not None:
        x = x * scale
    return x + tl.full([BLOCK], math.pi, tl.float32)


@triton.jit
def kernel(ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(ptr + at)
    tl.store(ptr + at, scaled(x, tl.constexpr(n), BLOCK) + scaled(x, at, BLOCK) + scaled(x, None, BLOCK))
    dtype: tl.constexpr = ptr.dtype.element_ty
    tl.static_print(dtype.value, dtype.is_int64(), dtype.is_fp32(), tl.core.get_int_dtype(16, signed=False))
    tl.static_print(math.sqrt(16), math.log2(BLOCK), math.ceil(2.5), math.inf)

# expect
# module {
#   tt.func public @kernel(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %at = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %x = tt.load %1 : tensor<8x!tt.ptr<f32>>
#     %2 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %3 = tt.addptr %2, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %4 = arith.sitofp %n : i32 to f32
#     %5 = tt.splat %4 : f32 -> tensor<8xf32>
#     %x_0 = arith.mulf %x, %5 : tensor<8xf32>
#     %cst = arith.constant dense<3.14159274> : tensor<8xf32>
#     %6 = arith.addf %x_0, %cst : tensor<8xf32>
#     %7 = arith.sitofp %at : tensor<8xi32> to tensor<8xf32>
#     %x_1 = arith.mulf %x, %7 : tensor<8xf32>
#     %cst_2 = arith.constant dense<3.14159274> : tensor<8xf32>
#     %8 = arith.addf %x_1, %cst_2 : tensor<8xf32>
#     %9 = arith.addf %6, %8 : tensor<8xf32>
#     %cst_3 = arith.constant dense<3.14159274> : tensor<8xf32>
#     %10 = arith.addf %x, %cst_3 : tensor<8xf32>
#     %11 = arith.addf %9, %10 : tensor<8xf32>
#     tt.store %3, %11 : tensor<8x!tt.ptr<f32>>
#     tt.return
#   }
# }
# printed: fp32 False True uint16
# printed: 4.0 3.0 3 inf
