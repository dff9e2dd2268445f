# test kernel=warnings signature="*fp32, i32"
# Deprecations do not stop a compile.
import triton
import triton.language as tl


@triton.jit
def warnings(ptr, n):
    i = tl.arange(0, 4)
    both = i > 1 and i < 3  # warning: Logical operators 'and' and 'or' are deprecated for non-scalar tensors
    x = tl.where(i, 1.0, 2.0)  # warning: tl.where with a non-boolean condition is deprecated
    y = n << 40  # warning: Value 40 exceeds the maximum bitwidth (32) for type 'int32'
    tl.store(ptr + i, x + y, mask=both)

# expect
# module {
#   tt.func public @warnings(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %cst = arith.constant dense<1> : tensor<4xi32>
#     %0 = arith.cmpi sgt, %i, %cst : tensor<4xi32>
#     %cst_0 = arith.constant dense<3> : tensor<4xi32>
#     %1 = arith.cmpi slt, %i, %cst_0 : tensor<4xi32>
#     %both = arith.andi %0, %1 : tensor<4xi1>
#     %cst_1 = arith.constant dense<0> : tensor<4xi32>
#     %2 = arith.cmpi ne, %i, %cst_1 : tensor<4xi32>
#     %cst_2 = arith.constant dense<1.000000e+00> : tensor<4xf32>
#     %cst_3 = arith.constant dense<2.000000e+00> : tensor<4xf32>
#     %x = arith.select %2, %cst_2, %cst_3 : tensor<4xi1>, tensor<4xf32>
#     %c40_i32 = arith.constant 40 : i32
#     %y = arith.shli %n, %c40_i32 : i32
#     %3 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %4 = tt.addptr %3, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %5 = arith.sitofp %y : i32 to f32
#     %6 = tt.splat %5 : f32 -> tensor<4xf32>
#     %7 = arith.addf %x, %6 : tensor<4xf32>
#     tt.store %4, %7, %both : tensor<4x!tt.ptr<f32>>
#     tt.return
#   }
# }
