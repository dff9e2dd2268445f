# test kernel=total signature="*i64, *fp32, i32, i32"
# A hint on a pointer that a loop carries stands on the pointer before the loop and on the one that an iteration hands on.
import triton
import triton.language as tl


@triton.jit
def total(table_ptr, out_ptr, n, stride):
    x_ptrs = tl.load(table_ptr).to(tl.pointer_type(tl.float16)) + tl.arange(0, 4)[:, None] * stride + tl.arange(0, 8)[None, :]
    acc = tl.zeros([4, 8], dtype=tl.float32)
    for _ in range(n):
        while n > 3:
            tl.multiple_of(x_ptrs, [2, 16])
            acc += tl.load(x_ptrs)
            x_ptrs += stride
            n -= 1
    tl.store(out_ptr, tl.sum(tl.sum(acc, 1), 0))

# expect
# module {
#   tt.func public @total(%table_ptr: !tt.ptr<i64>, %out_ptr: !tt.ptr<f32>, %n: i32, %stride: i32) attributes {noinline = false} {
#     %0 = tt.load %table_ptr : !tt.ptr<i64>
#     %1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<f16>
#     %2 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %3 = tt.expand_dims %2 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
#     %4 = tt.splat %stride : i32 -> tensor<4x1xi32>
#     %5 = arith.muli %3, %4 : tensor<4x1xi32>
#     %6 = tt.splat %1 : !tt.ptr<f16> -> tensor<4x1x!tt.ptr<f16>>
#     %7 = tt.addptr %6, %5 : tensor<4x1x!tt.ptr<f16>>, tensor<4x1xi32>
#     %8 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %9 = tt.expand_dims %8 {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
#     %10 = tt.broadcast %7 : tensor<4x1x!tt.ptr<f16>> -> tensor<4x8x!tt.ptr<f16>>
#     %11 = tt.broadcast %9 : tensor<1x8xi32> -> tensor<4x8xi32>
#     %x_ptrs = tt.addptr %10, %11 {tt.divisibility = dense<[2, 16]> : tensor<2xi32>} : tensor<4x8x!tt.ptr<f16>>, tensor<4x8xi32>
#     %acc = arith.constant dense<0.000000e+00> : tensor<4x8xf32>
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %n_0:3 = scf.for %_ = %c0_i32 to %n step %c1_i32 iter_args(%n_1 = %n, %x_ptrs_2 = %x_ptrs, %acc_3 = %acc) -> (i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>)  : i32 {
#       %n_4:3 = scf.while (%n_5 = %n_1, %x_ptrs_6 = %x_ptrs_2, %acc_7 = %acc_3) : (i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>) -> (i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>) {
#         %c3_i32 = arith.constant 3 : i32
#         %14 = arith.cmpi sgt, %n_5, %c3_i32 : i32
#         scf.condition(%14) %n_5, %x_ptrs_6, %acc_7 : i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>
#       } do {
#       ^bb0(%n_5: i32, %x_ptrs_6: tensor<4x8x!tt.ptr<f16>>, %acc_7: tensor<4x8xf32>):
#         %14 = tt.load %x_ptrs_6 : tensor<4x8x!tt.ptr<f16>>
#         %15 = arith.extf %14 : tensor<4x8xf16> to tensor<4x8xf32>
#         %acc_8 = arith.addf %acc_7, %15 : tensor<4x8xf32>
#         %16 = tt.splat %stride : i32 -> tensor<4x8xi32>
#         %x_ptrs_9 = tt.addptr %x_ptrs_6, %16 {tt.divisibility = dense<[2, 16]> : tensor<2xi32>} : tensor<4x8x!tt.ptr<f16>>, tensor<4x8xi32>
#         %c1_i32_10 = arith.constant 1 : i32
#         %n_11 = arith.subi %n_5, %c1_i32_10 : i32
#         scf.yield %n_11, %x_ptrs_9, %acc_8 : i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>
#       }
#       scf.yield %n_4#0, %n_4#1, %n_4#2 : i32, tensor<4x8x!tt.ptr<f16>>, tensor<4x8xf32>
#     }
#     %12 = "tt.reduce"(%n_0#2) <{axis = 1 : i32}> ({
#     ^bb0(%arg4: f32, %arg5: f32):
#       %14 = arith.addf %arg4, %arg5 : f32
#       tt.reduce.return %14 : f32
#     }) : (tensor<4x8xf32>) -> tensor<4xf32>
#     %13 = "tt.reduce"(%12) <{axis = 0 : i32}> ({
#     ^bb0(%arg4: f32, %arg5: f32):
#       %14 = arith.addf %arg4, %arg5 : f32
#       tt.reduce.return %14 : f32
#     }) : (tensor<4xf32>) -> f32
#     tt.store %out_ptr, %13 : !tt.ptr<f32>
#     tt.return
#   }
# }
