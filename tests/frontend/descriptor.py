# test kernel=copy signature="*fp32:16, *fp32:16, i32, i32"
# Tensor descriptors.
import triton
import triton.language as tl


@triton.jit
def copy(src_ptr, dst_ptr, rows, cols):
    src = tl.make_tensor_descriptor(src_ptr, [rows, cols], [cols, 1], [8, 16])
    dst = tl.make_tensor_descriptor(dst_ptr, [rows, cols], [cols, 1], [8, 16])
    x = src.load([0, 16])
    dst.store([8, 0], x * 2)
    tl.store_tensor_descriptor(dst, [0, 0], tl.load_tensor_descriptor(src, [0, rows]))
    tl.store(dst_ptr, src.shape[0])

# expect
# module {
#   tt.func public @copy(%src_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %dst_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %rows: i32, %cols: i32) attributes {noinline = false} {
#     %0 = arith.extsi %cols : i32 to i64
#     %c1_i64 = arith.constant 1 : i64
#     %1 = tt.make_tensor_descriptor %src_ptr, [%rows, %cols], [%0, %c1_i64] : <f32>, <8x16xf32>
#     %2 = arith.extsi %cols : i32 to i64
#     %c1_i64_0 = arith.constant 1 : i64
#     %3 = tt.make_tensor_descriptor %dst_ptr, [%rows, %cols], [%2, %c1_i64_0] : <f32>, <8x16xf32>
#     %c0_i32 = arith.constant 0 : i32
#     %c16_i32 = arith.constant 16 : i32
#     %x = tt.descriptor_load %1[%c0_i32, %c16_i32] : !tt.tensordesc<8x16xf32> -> tensor<8x16xf32>
#     %cst = arith.constant dense<2.000000e+00> : tensor<8x16xf32>
#     %4 = arith.mulf %x, %cst : tensor<8x16xf32>
#     %c8_i32 = arith.constant 8 : i32
#     %c0_i32_1 = arith.constant 0 : i32
#     tt.descriptor_store %3[%c8_i32, %c0_i32_1], %4 : !tt.tensordesc<8x16xf32>, tensor<8x16xf32>
#     %c0_i32_2 = arith.constant 0 : i32
#     %5 = tt.descriptor_load %1[%c0_i32_2, %rows] : !tt.tensordesc<8x16xf32> -> tensor<8x16xf32>
#     %c0_i32_3 = arith.constant 0 : i32
#     %c0_i32_4 = arith.constant 0 : i32
#     tt.descriptor_store %3[%c0_i32_3, %c0_i32_4], %5 : !tt.tensordesc<8x16xf32>, tensor<8x16xf32>
#     %6 = arith.sitofp %rows : i32 to f32
#     tt.store %dst_ptr, %6 : !tt.ptr<f32>
#     tt.return
#   }
# }
