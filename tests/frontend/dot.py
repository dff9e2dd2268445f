# test kernel=dots signature="*fp16, *i8, *fp32"
# Matrix products: accumulators, result types, precision.
import triton
import triton.language as tl


@triton.jit
def dots(half_ptr, byte_ptr, out_ptr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(half_ptr + at)
    b = tl.load(byte_ptr + at)
    acc = tl.dot(a, a.T)
    acc = tl.dot(a, a, acc)
    narrow = tl.dot(a, a, out_dtype=tl.float16)
    whole = tl.dot(b, b)
    single = tl.dot(acc, acc, input_precision="tf32")
    tl.store(out_ptr + at, acc + narrow + whole + single)

# expect
# module {
#   tt.func public @dots(%half_ptr: !tt.ptr<f16>, %byte_ptr: !tt.ptr<i8>, %out_ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %0 = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
#     %cst = arith.constant dense<16> : tensor<16x1xi32>
#     %1 = arith.muli %0, %cst : tensor<16x1xi32>
#     %2 = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
#     %3 = tt.broadcast %1 : tensor<16x1xi32> -> tensor<16x16xi32>
#     %4 = tt.broadcast %2 : tensor<1x16xi32> -> tensor<16x16xi32>
#     %at = arith.addi %3, %4 : tensor<16x16xi32>
#     %5 = tt.splat %half_ptr : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
#     %6 = tt.addptr %5, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
#     %a = tt.load %6 : tensor<16x16x!tt.ptr<f16>>
#     %7 = tt.splat %byte_ptr : !tt.ptr<i8> -> tensor<16x16x!tt.ptr<i8>>
#     %8 = tt.addptr %7, %at : tensor<16x16x!tt.ptr<i8>>, tensor<16x16xi32>
#     %b = tt.load %8 : tensor<16x16x!tt.ptr<i8>>
#     %9 = tt.trans %a {order = array<i32: 1, 0>} : tensor<16x16xf16> -> tensor<16x16xf16>
#     %cst_0 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
#     %acc = tt.dot %a, %9, %cst_0 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
#     %acc_1 = tt.dot %a, %a, %acc : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
#     %cst_2 = arith.constant dense<0.000000e+00> : tensor<16x16xf16>
#     %narrow = tt.dot %a, %a, %cst_2 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf16>
#     %cst_3 = arith.constant dense<0> : tensor<16x16xi32>
#     %whole = tt.dot %b, %b, %cst_3 : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
#     %cst_4 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
#     %single = tt.dot %acc_1, %acc_1, %cst_4, inputPrecision = tf32 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
#     %10 = tt.splat %out_ptr : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
#     %11 = tt.addptr %10, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
#     %12 = arith.extf %narrow : tensor<16x16xf16> to tensor<16x16xf32>
#     %13 = arith.addf %acc_1, %12 : tensor<16x16xf32>
#     %14 = arith.sitofp %whole : tensor<16x16xi32> to tensor<16x16xf32>
#     %15 = arith.addf %13, %14 : tensor<16x16xf32>
#     %16 = arith.addf %15, %single : tensor<16x16xf32>
#     tt.store %11, %16 : tensor<16x16x!tt.ptr<f32>>
#     tt.return
#   }
# }
