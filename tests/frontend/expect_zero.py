# test kernel=underflowed signature="*fp32, i32" debug
# Debug builds assert that the value is zero where the mask is true; the value stays.
import triton
import triton.language as tl


@triton.jit
def underflowed(ptr, n):
    offsets = tl.arange(0, 4)
    x = tl.expect_zero(tl.load(ptr + offsets), offsets >= n)
    tl.store(ptr + offsets, x)

# expect
# module {
#   tt.func public @underflowed(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %offsets = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %offsets : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %x = tt.load %1 : tensor<4x!tt.ptr<f32>>
#     %2 = tt.splat %n : i32 -> tensor<4xi32>
#     %3 = arith.cmpi sge, %offsets, %2 : tensor<4xi32>
#     %cst = arith.constant dense<0.000000e+00> : tensor<4xf32>
#     %4 = arith.cmpf oeq, %x, %cst : tensor<4xf32>
#     %cst_0 = arith.constant dense<true> : tensor<4xi1>
#     %5 = arith.xori %3, %cst_0 : tensor<4xi1>
#     %6 = arith.ori %4, %5 : tensor<4xi1>
#     tt.assert %6, "expect_zero expected x == 0 where mask is true" : tensor<4xi1>
#     %7 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %8 = tt.addptr %7, %offsets : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     tt.store %8, %x : tensor<4x!tt.ptr<f32>>
#     tt.return
#   }
# }
