# test kernel=add signature="*fp32:16, *fp32:16, *fp32, i32, 128"
# Loads and stores under a mask; a stride that is known divisible is marked.
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask=mask, other=1), mask)

# expect
# module {
#   tt.func public @add(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out_ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %0 = tt.get_program_id x : i32
#     %c128_i32 = arith.constant 128 : i32
#     %1 = arith.muli %0, %c128_i32 : i32
#     %2 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
#     %3 = tt.splat %1 : i32 -> tensor<128xi32>
#     %offsets = arith.addi %3, %2 : tensor<128xi32>
#     %4 = tt.splat %n : i32 -> tensor<128xi32>
#     %mask = arith.cmpi slt, %offsets, %4 : tensor<128xi32>
#     %5 = tt.splat %out_ptr : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
#     %6 = tt.addptr %5, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
#     %7 = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
#     %8 = tt.addptr %7, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
#     %9 = tt.load %8, %mask : tensor<128x!tt.ptr<f32>>
#     %10 = tt.splat %y_ptr : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
#     %11 = tt.addptr %10, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
#     %cst = arith.constant dense<1.000000e+00> : tensor<128xf32>
#     %12 = tt.load %11, %mask, %cst : tensor<128x!tt.ptr<f32>>
#     %13 = arith.addf %9, %12 : tensor<128xf32>
#     tt.store %6, %13, %mask : tensor<128x!tt.ptr<f32>>
#     tt.return
#   }
# }
