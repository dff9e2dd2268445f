# test kernel=products signature="*u8, *i8, *fp32"
# Products of scaled operands: packed bytes, halves, scales on one side. Scales are bits: they may be signed.
import triton
import triton.language as tl


@triton.jit
def products(byte_ptr, scale_ptr, out_ptr):
    i = tl.arange(0, 16)
    k = tl.arange(0, 32)
    bytes = tl.load(byte_ptr + i[:, None] * 32 + k[None, :])
    scale = tl.load(scale_ptr + i[:, None] * 2 + tl.arange(0, 2)[None, :])
    acc = tl.dot_scaled(bytes, scale, "e2m1", bytes.T, scale, "e2m1")
    halves = bytes.to(tl.bfloat16)
    acc = tl.dot_scaled(bytes, None, "e4m3", halves.T, None, "bf16", acc, fast_math=True)
    tl.store(out_ptr + i[:, None] * 16 + i[None, :], acc)

# expect
# module {
#   tt.func public @products(%byte_ptr: !tt.ptr<i8>, %scale_ptr: !tt.ptr<i8>, %out_ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %k = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#     %0 = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
#     %cst = arith.constant dense<32> : tensor<16x1xi32>
#     %1 = arith.muli %0, %cst : tensor<16x1xi32>
#     %2 = tt.splat %byte_ptr : !tt.ptr<i8> -> tensor<16x1x!tt.ptr<i8>>
#     %3 = tt.addptr %2, %1 : tensor<16x1x!tt.ptr<i8>>, tensor<16x1xi32>
#     %4 = tt.expand_dims %k {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
#     %5 = tt.broadcast %3 : tensor<16x1x!tt.ptr<i8>> -> tensor<16x32x!tt.ptr<i8>>
#     %6 = tt.broadcast %4 : tensor<1x32xi32> -> tensor<16x32xi32>
#     %7 = tt.addptr %5, %6 : tensor<16x32x!tt.ptr<i8>>, tensor<16x32xi32>
#     %bytes = tt.load %7 : tensor<16x32x!tt.ptr<i8>>
#     %8 = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
#     %cst_0 = arith.constant dense<2> : tensor<16x1xi32>
#     %9 = arith.muli %8, %cst_0 : tensor<16x1xi32>
#     %10 = tt.splat %scale_ptr : !tt.ptr<i8> -> tensor<16x1x!tt.ptr<i8>>
#     %11 = tt.addptr %10, %9 : tensor<16x1x!tt.ptr<i8>>, tensor<16x1xi32>
#     %12 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
#     %13 = tt.expand_dims %12 {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>
#     %14 = tt.broadcast %11 : tensor<16x1x!tt.ptr<i8>> -> tensor<16x2x!tt.ptr<i8>>
#     %15 = tt.broadcast %13 : tensor<1x2xi32> -> tensor<16x2xi32>
#     %16 = tt.addptr %14, %15 : tensor<16x2x!tt.ptr<i8>>, tensor<16x2xi32>
#     %scale = tt.load %16 : tensor<16x2x!tt.ptr<i8>>
#     %17 = tt.trans %bytes {order = array<i32: 1, 0>} : tensor<16x32xi8> -> tensor<32x16xi8>
#     %cst_1 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
#     %acc = tt.dot_scaled %bytes scale %scale, %17 scale %scale, %cst_1 lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<16x32xi8>, tensor<16x2xi8> * tensor<32x16xi8>, tensor<16x2xi8> -> tensor<16x16xf32>
#     %halves = arith.uitofp %bytes : tensor<16x32xi8> to tensor<16x32xbf16>
#     %18 = tt.trans %halves {order = array<i32: 1, 0>} : tensor<16x32xbf16> -> tensor<32x16xbf16>
#     %acc_2 = tt.dot_scaled %bytes, %18, %acc lhs = e4m3 rhs = bf16 {fastMath = true} : tensor<16x32xi8> * tensor<32x16xbf16> -> tensor<16x16xf32>
#     %19 = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
#     %cst_3 = arith.constant dense<16> : tensor<16x1xi32>
#     %20 = arith.muli %19, %cst_3 : tensor<16x1xi32>
#     %21 = tt.splat %out_ptr : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
#     %22 = tt.addptr %21, %20 : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
#     %23 = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
#     %24 = tt.broadcast %22 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
#     %25 = tt.broadcast %23 : tensor<1x16xi32> -> tensor<16x16xi32>
#     %26 = tt.addptr %24, %25 : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
#     tt.store %26, %acc_2 : tensor<16x16x!tt.ptr<f32>>
#     tt.return
#   }
# }
