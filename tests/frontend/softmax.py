# test kernel=softmax signature="*fp32:16, *fp32:16, i32, i32, 64"
# Library functions are inlined, their functions of elements become regions.
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + cols, x / tl.sum(x, axis=0), mask=cols < n)

# expect
# module {
#   tt.func public @softmax(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %stride: i32, %n: i32) attributes {noinline = false} {
#     %row = tt.get_program_id x : i32
#     %cols = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
#     %0 = arith.muli %row, %stride : i32
#     %1 = tt.addptr %x_ptr, %0 : !tt.ptr<f32>, i32
#     %2 = tt.splat %1 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
#     %3 = tt.addptr %2, %cols : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
#     %4 = tt.splat %n : i32 -> tensor<64xi32>
#     %5 = arith.cmpi slt, %cols, %4 : tensor<64xi32>
#     %cst = arith.constant dense<0xFF800000> : tensor<64xf32>
#     %x = tt.load %3, %5, %cst : tensor<64x!tt.ptr<f32>>
#     %6 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
#     ^bb0(%arg4: f32, %arg5: f32):
#       %18 = arith.maxnumf %arg4, %arg5 : f32
#       tt.reduce.return %18 : f32
#     }) : (tensor<64xf32>) -> f32
#     %7 = tt.splat %6 : f32 -> tensor<64xf32>
#     %8 = arith.subf %x, %7 : tensor<64xf32>
#     %x_0 = math.exp %8 : tensor<64xf32>
#     %9 = arith.muli %row, %stride : i32
#     %10 = tt.addptr %out_ptr, %9 : !tt.ptr<f32>, i32
#     %11 = tt.splat %10 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
#     %12 = tt.addptr %11, %cols : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
#     %13 = "tt.reduce"(%x_0) <{axis = 0 : i32}> ({
#     ^bb0(%arg4: f32, %arg5: f32):
#       %18 = arith.addf %arg4, %arg5 : f32
#       tt.reduce.return %18 : f32
#     }) : (tensor<64xf32>) -> f32
#     %14 = tt.splat %13 : f32 -> tensor<64xf32>
#     %15 = arith.divf %x_0, %14 : tensor<64xf32>
#     %16 = tt.splat %n : i32 -> tensor<64xi32>
#     %17 = arith.cmpi slt, %cols, %16 : tensor<64xi32>
#     tt.store %12, %15, %17 : tensor<64x!tt.ptr<f32>>
#     tt.return
#   }
# }
