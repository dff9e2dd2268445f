# test kernel=extern signature="*fp32, *i32"
# Functions of libdevice, instructions of the target, and a map with control flow for each element.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def step(x, y):
    if x > y:
        return x
    else:
        return y * 2


@triton.jit
def extern(ptr, int_ptr):
    i = tl.arange(0, 8)
    x = tl.load(ptr + i)
    x = libdevice.pow(x, 2.0) + libdevice.tanh(x)
    x = tl.map_elementwise(step, x, x + 1)
    tl.store(ptr + i, x, mask=libdevice.isnan(x) == 0)
    y = tl.inline_asm_elementwise("bswap $0", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(int_ptr + i, tl.multiple_of(y, 4))

# expect
# module {
#   tt.func public @extern(%ptr: !tt.ptr<f32>, %int_ptr: !tt.ptr<i32>) attributes {noinline = false} {
#     %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %x = tt.load %1 : tensor<8x!tt.ptr<f32>>
#     %cst = arith.constant dense<2.000000e+00> : tensor<8xf32>
#     %2 = tt.extern_elementwise %x, %cst {libname = "libdevice", libpath = "", pure = true, symbol = "pow"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %3 = tt.extern_elementwise %x {libname = "libdevice", libpath = "", pure = true, symbol = "tanh"} : (tensor<8xf32>) -> tensor<8xf32>
#     %x_0 = arith.addf %2, %3 : tensor<8xf32>
#     %cst_1 = arith.constant dense<1.000000e+00> : tensor<8xf32>
#     %4 = arith.addf %x_0, %cst_1 : tensor<8xf32>
#     %x_2 = "tt.map_elementwise"(%x_0, %4) <{pack = 1 : i32}> ({
#     ^bb0(%arg2: f32, %arg3: f32):
#       %12 = arith.cmpf ogt, %arg2, %arg3 : f32
#       %13 = scf.if %12 -> (f32) {
#         scf.yield %arg2 : f32
#       } else {
#         %cst_4 = arith.constant 2.000000e+00 : f32
#         %14 = arith.mulf %arg3, %cst_4 : f32
#         scf.yield %14 : f32
#       }
#       tt.map_elementwise.return %13 : f32
#     }) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
#     %5 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %6 = tt.addptr %5, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %7 = tt.extern_elementwise %x_2 {libname = "libdevice", libpath = "", pure = true, symbol = "isnan"} : (tensor<8xf32>) -> tensor<8xi1>
#     %8 = arith.extui %7 : tensor<8xi1> to tensor<8xi32>
#     %cst_3 = arith.constant dense<0> : tensor<8xi32>
#     %9 = arith.cmpi eq, %8, %cst_3 : tensor<8xi32>
#     tt.store %6, %x_2, %9 : tensor<8x!tt.ptr<f32>>
#     %y = tt.elementwise_inline_asm "bswap $0" {constraints = "=r,r", packed_element = 1 : i32, pure = true, tt.divisibility = dense<4> : tensor<1xi32>} %i : tensor<8xi32> -> tensor<8xi32>
#     %10 = tt.splat %int_ptr : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
#     %11 = tt.addptr %10, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
#     tt.store %11, %y : tensor<8x!tt.ptr<i32>>
#     tt.return
#   }
# }
