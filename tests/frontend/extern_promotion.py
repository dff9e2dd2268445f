# test kernel=promoted signature="*fp32, *fp16, *i64, *bf16"
# Operands of a function of libdevice that has no variant for their types are converted to their common type.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def promoted(ptr, half_ptr, int_ptr, brain_ptr):
    i = tl.arange(0, 8)
    x, half = tl.load(ptr + i), tl.load(half_ptr + i)
    x = libdevice.pow(x, half) + libdevice.pow(2.0, tl.load(int_ptr + i))
    x += libdevice.atan2(tl.load(brain_ptr + i), i) + libdevice.fma(half, half, 1.0)
    tl.store(ptr + i, x)

# expect
# module {
#   tt.func public @promoted(%ptr: !tt.ptr<f32>, %half_ptr: !tt.ptr<f16>, %int_ptr: !tt.ptr<i64>, %brain_ptr: !tt.ptr<bf16>) attributes {noinline = false} {
#     %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %x = tt.load %1 : tensor<8x!tt.ptr<f32>>
#     %2 = tt.splat %half_ptr : !tt.ptr<f16> -> tensor<8x!tt.ptr<f16>>
#     %3 = tt.addptr %2, %i : tensor<8x!tt.ptr<f16>>, tensor<8xi32>
#     %half = tt.load %3 : tensor<8x!tt.ptr<f16>>
#     %4 = arith.extf %half : tensor<8xf16> to tensor<8xf32>
#     %5 = tt.extern_elementwise %x, %4 {libname = "libdevice", libpath = "", pure = true, symbol = "pow"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %6 = tt.splat %int_ptr : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>>
#     %7 = tt.addptr %6, %i : tensor<8x!tt.ptr<i64>>, tensor<8xi32>
#     %8 = tt.load %7 : tensor<8x!tt.ptr<i64>>
#     %9 = arith.sitofp %8 : tensor<8xi64> to tensor<8xf32>
#     %cst = arith.constant dense<2.000000e+00> : tensor<8xf32>
#     %10 = tt.extern_elementwise %cst, %9 {libname = "libdevice", libpath = "", pure = true, symbol = "pow"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %x_0 = arith.addf %5, %10 : tensor<8xf32>
#     %11 = tt.splat %brain_ptr : !tt.ptr<bf16> -> tensor<8x!tt.ptr<bf16>>
#     %12 = tt.addptr %11, %i : tensor<8x!tt.ptr<bf16>>, tensor<8xi32>
#     %13 = tt.load %12 : tensor<8x!tt.ptr<bf16>>
#     %14 = arith.extf %13 : tensor<8xbf16> to tensor<8xf32>
#     %15 = arith.sitofp %i : tensor<8xi32> to tensor<8xf32>
#     %16 = tt.extern_elementwise %14, %15 {libname = "libdevice", libpath = "", pure = true, symbol = "atan2"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %17 = arith.extf %half : tensor<8xf16> to tensor<8xf32>
#     %18 = arith.extf %half : tensor<8xf16> to tensor<8xf32>
#     %cst_1 = arith.constant dense<1.000000e+00> : tensor<8xf32>
#     %19 = tt.extern_elementwise %17, %18, %cst_1 {libname = "libdevice", libpath = "", pure = true, symbol = "fma"} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %20 = arith.addf %16, %19 : tensor<8xf32>
#     %x_2 = arith.addf %x_0, %20 : tensor<8xf32>
#     %21 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %22 = tt.addptr %21, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     tt.store %22, %x_2 : tensor<8x!tt.ptr<f32>>
#     tt.return
#   }
# }
