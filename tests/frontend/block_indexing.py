# test kernel=halves signature="*fp32, i32"
# A half is split off; an element is gathered, or replaced by a selection.
import triton
import triton.language as tl


@triton.jit(extensions=["block_indexing"])
def halves(ptr, n):
    x = tl.load(ptr + tl.arange(0, 8))
    x[n] = 1.0
    tl.store(ptr + tl.arange(0, 4), x[4:])
    tl.store(ptr, x[n])

# expect
# module {
#   tt.func public @halves(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %1 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
#     %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
#     %x = tt.load %2 : tensor<8x!tt.ptr<f32>>
#     %3 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %4 = tt.splat %n : i32 -> tensor<8xi32>
#     %5 = arith.cmpi eq, %3, %4 : tensor<8xi32>
#     %cst = arith.constant dense<1.000000e+00> : tensor<8xf32>
#     %x_0 = arith.select %5, %cst, %x : tensor<8xi1>, tensor<8xf32>
#     %6 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %7 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %8 = tt.addptr %7, %6 : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %9 = tt.reshape %x_0 : tensor<8xf32> -> tensor<2x4x1xf32>
#     %10 = tt.reshape %9 : tensor<2x4x1xf32> -> tensor<1x2x4x1xf32>
#     %11 = tt.trans %10 {order = array<i32: 0, 2, 3, 1>} : tensor<1x2x4x1xf32> -> tensor<1x4x1x2xf32>
#     %out_lhs, %out_rhs = tt.split %11 : tensor<1x4x1x2xf32> -> tensor<1x4x1xf32>
#     %12 = tt.reshape %out_rhs : tensor<1x4x1xf32> -> tensor<4x1xf32>
#     %13 = tt.reshape %12 : tensor<4x1xf32> -> tensor<4xf32>
#     tt.store %8, %13 : tensor<4x!tt.ptr<f32>>
#     %14 = tt.splat %n : i32 -> tensor<1xi32>
#     %15 = tt.gather %x_0[%14] {axis = 0 : i32} : (tensor<8xf32>, tensor<1xi32>) -> tensor<1xf32>
#     %16 = tt.unsplat %15 : tensor<1xf32>
#     tt.store %ptr, %16 : !tt.ptr<f32>
#     tt.return
#   }
# }
