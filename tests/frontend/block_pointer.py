# test kernel=tile signature="*fp16, *fp16, i32, i32, i32"
# test kernel=moved signature="*fp32, *fp32, i32"
# test kernel=either signature="*fp32, *fp32, i32"
# Block pointers become pointers and masks; only what moves is carried by a loop.
import triton
import triton.language as tl


@triton.jit
def tile(src, dst, M, N, stride):
    rows = tl.program_id(0) * 16
    a = tl.make_block_ptr(src, (M, N), (stride, 1), (rows, 0), (16, 8), (1, 0))
    b = tl.make_block_ptr(base=dst, shape=(M, N), strides=(stride, 1), offsets=(rows, 0), block_shape=(16, 8), order=(1, 0))
    x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
    tl.static_print(a.type.element_ty, b.dtype.element_ty.element_ty, a.type.is_ptr(), hasattr(tl, "make_block_ptr"))
    tl.store(b, x.to(b.type.element_ty), boundary_check=(0, ))


@triton.jit
def moved(src, dst, n):
    p = tl.make_block_ptr(src, (n, ), (1, ), (0, ), (32, ), (0, ))
    acc = tl.zeros([32], tl.float32)
    for i in range(0, n, 32):
        acc += tl.load(p, boundary_check=(0, ))
        p = tl.advance(p, (32, ))
    tl.store(dst + tl.arange(0, 32), acc)


@triton.jit
def either(src, dst, n):
    p = tl.make_block_ptr(src, (n, ), (1, ), (0, ), (32, ), (0, ))
    if n > 5:
        p = tl.make_block_ptr(dst, (n, ), (1, ), (1, ), (32, ), (0, ))
    q = [p, p.advance([4])]
    tl.store(q[1], 1.0, boundary_check=[0])

# expect
# module {
#   tt.func public @tile(%src: !tt.ptr<f16>, %dst: !tt.ptr<f16>, %M: i32, %N: i32, %stride: i32) attributes {noinline = false} {
#     %0 = tt.get_program_id x : i32
#     %c16_i32 = arith.constant 16 : i32
#     %rows = arith.muli %0, %c16_i32 : i32
#     %1 = arith.extsi %stride : i32 to i64
#     %2 = arith.extsi %stride : i32 to i64
#     %3 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %4 = tt.splat %rows : i32 -> tensor<16xi32>
#     %5 = arith.addi %4, %3 : tensor<16xi32>
#     %cst = arith.constant dense<0> : tensor<16xi32>
#     %6 = arith.cmpi sge, %5, %cst : tensor<16xi32>
#     %7 = tt.splat %M : i32 -> tensor<16xi32>
#     %8 = arith.cmpi slt, %5, %7 : tensor<16xi32>
#     %9 = arith.andi %6, %8 : tensor<16xi1>
#     %10 = tt.expand_dims %9 {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
#     %11 = tt.broadcast %10 : tensor<16x1xi1> -> tensor<16x8xi1>
#     %12 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %cst_0 = arith.constant dense<0> : tensor<8xi32>
#     %13 = arith.addi %cst_0, %12 : tensor<8xi32>
#     %cst_1 = arith.constant dense<0> : tensor<8xi32>
#     %14 = arith.cmpi sge, %13, %cst_1 : tensor<8xi32>
#     %15 = tt.splat %N : i32 -> tensor<8xi32>
#     %16 = arith.cmpi slt, %13, %15 : tensor<8xi32>
#     %17 = arith.andi %14, %16 : tensor<8xi1>
#     %18 = tt.expand_dims %17 {axis = 0 : i32} : tensor<8xi1> -> tensor<1x8xi1>
#     %19 = tt.broadcast %18 : tensor<1x8xi1> -> tensor<16x8xi1>
#     %20 = arith.andi %11, %19 : tensor<16x8xi1>
#     %21 = arith.extsi %rows : i32 to i64
#     %22 = arith.muli %21, %1 : i64
#     %23 = tt.addptr %src, %22 : !tt.ptr<f16>, i64
#     %24 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %25 = arith.extsi %24 : tensor<16xi32> to tensor<16xi64>
#     %26 = tt.splat %1 : i64 -> tensor<16xi64>
#     %27 = arith.muli %25, %26 : tensor<16xi64>
#     %28 = tt.expand_dims %27 {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
#     %c0_i64 = arith.constant 0 : i64
#     %29 = tt.addptr %23, %c0_i64 : !tt.ptr<f16>, i64
#     %30 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %31 = arith.extsi %30 : tensor<8xi32> to tensor<8xi64>
#     %cst_2 = arith.constant dense<1> : tensor<8xi64>
#     %32 = arith.muli %31, %cst_2 : tensor<8xi64>
#     %33 = tt.expand_dims %32 {axis = 0 : i32} : tensor<8xi64> -> tensor<1x8xi64>
#     %34 = tt.broadcast %28 : tensor<16x1xi64> -> tensor<16x8xi64>
#     %35 = tt.broadcast %33 : tensor<1x8xi64> -> tensor<16x8xi64>
#     %36 = arith.addi %34, %35 : tensor<16x8xi64>
#     %37 = tt.splat %29 : !tt.ptr<f16> -> tensor<16x8x!tt.ptr<f16>>
#     %38 = tt.addptr %37, %36 : tensor<16x8x!tt.ptr<f16>>, tensor<16x8xi64>
#     %cst_3 = arith.constant dense<0.000000e+00> : tensor<16x8xf16>
#     %x = tt.load %38, %20, %cst_3 : tensor<16x8x!tt.ptr<f16>>
#     %39 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %40 = tt.splat %rows : i32 -> tensor<16xi32>
#     %41 = arith.addi %40, %39 : tensor<16xi32>
#     %cst_4 = arith.constant dense<0> : tensor<16xi32>
#     %42 = arith.cmpi sge, %41, %cst_4 : tensor<16xi32>
#     %43 = tt.splat %M : i32 -> tensor<16xi32>
#     %44 = arith.cmpi slt, %41, %43 : tensor<16xi32>
#     %45 = arith.andi %42, %44 : tensor<16xi1>
#     %46 = tt.expand_dims %45 {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
#     %47 = tt.broadcast %46 : tensor<16x1xi1> -> tensor<16x8xi1>
#     %48 = arith.extsi %rows : i32 to i64
#     %49 = arith.muli %48, %2 : i64
#     %50 = tt.addptr %dst, %49 : !tt.ptr<f16>, i64
#     %51 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %52 = arith.extsi %51 : tensor<16xi32> to tensor<16xi64>
#     %53 = tt.splat %2 : i64 -> tensor<16xi64>
#     %54 = arith.muli %52, %53 : tensor<16xi64>
#     %55 = tt.expand_dims %54 {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
#     %c0_i64_5 = arith.constant 0 : i64
#     %56 = tt.addptr %50, %c0_i64_5 : !tt.ptr<f16>, i64
#     %57 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %58 = arith.extsi %57 : tensor<8xi32> to tensor<8xi64>
#     %cst_6 = arith.constant dense<1> : tensor<8xi64>
#     %59 = arith.muli %58, %cst_6 : tensor<8xi64>
#     %60 = tt.expand_dims %59 {axis = 0 : i32} : tensor<8xi64> -> tensor<1x8xi64>
#     %61 = tt.broadcast %55 : tensor<16x1xi64> -> tensor<16x8xi64>
#     %62 = tt.broadcast %60 : tensor<1x8xi64> -> tensor<16x8xi64>
#     %63 = arith.addi %61, %62 : tensor<16x8xi64>
#     %64 = tt.splat %56 : !tt.ptr<f16> -> tensor<16x8x!tt.ptr<f16>>
#     %65 = tt.addptr %64, %63 : tensor<16x8x!tt.ptr<f16>>, tensor<16x8xi64>
#     tt.store %65, %x, %47 : tensor<16x8x!tt.ptr<f16>>
#     tt.return
#   }
# }
# printed: <[16, 8], fp16> fp16 True True
# module {
#   tt.func public @moved(%src: !tt.ptr<f32>, %dst: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %c1_i64 = arith.constant 1 : i64
#     %c0_i32 = arith.constant 0 : i32
#     %acc = arith.constant dense<0.000000e+00> : tensor<32xf32>
#     %c0_i32_0 = arith.constant 0 : i32
#     %c32_i32 = arith.constant 32 : i32
#     %0:2 = scf.for %i = %c0_i32_0 to %n step %c32_i32 iter_args(%arg4 = %c0_i32, %acc_1 = %acc) -> (i32, tensor<32xf32>)  : i32 {
#       %4 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#       %5 = tt.splat %arg4 : i32 -> tensor<32xi32>
#       %6 = arith.addi %5, %4 : tensor<32xi32>
#       %cst = arith.constant dense<0> : tensor<32xi32>
#       %7 = arith.cmpi sge, %6, %cst : tensor<32xi32>
#       %8 = tt.splat %n : i32 -> tensor<32xi32>
#       %9 = arith.cmpi slt, %6, %8 : tensor<32xi32>
#       %10 = arith.andi %7, %9 : tensor<32xi1>
#       %11 = arith.extsi %arg4 : i32 to i64
#       %12 = arith.muli %11, %c1_i64 : i64
#       %13 = tt.addptr %src, %12 : !tt.ptr<f32>, i64
#       %14 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#       %15 = arith.extsi %14 : tensor<32xi32> to tensor<32xi64>
#       %16 = tt.splat %c1_i64 : i64 -> tensor<32xi64>
#       %17 = arith.muli %15, %16 : tensor<32xi64>
#       %18 = tt.splat %13 : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
#       %19 = tt.addptr %18, %17 : tensor<32x!tt.ptr<f32>>, tensor<32xi64>
#       %20 = tt.load %19, %10 : tensor<32x!tt.ptr<f32>>
#       %acc_2 = arith.addf %acc_1, %20 : tensor<32xf32>
#       %c32_i32_3 = arith.constant 32 : i32
#       %21 = arith.addi %arg4, %c32_i32_3 : i32
#       scf.yield %21, %acc_2 : i32, tensor<32xf32>
#     }
#     %1 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#     %2 = tt.splat %dst : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
#     %3 = tt.addptr %2, %1 : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
#     tt.store %3, %0#1 : tensor<32x!tt.ptr<f32>>
#     tt.return
#   }
# }
# module {
#   tt.func public @either(%src: !tt.ptr<f32>, %dst: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %c5_i32 = arith.constant 5 : i32
#     %0 = arith.cmpi sgt, %n, %c5_i32 : i32
#     %1:2 = scf.if %0 -> (!tt.ptr<f32>, i32) {
#       %c1_i32 = arith.constant 1 : i32
#       scf.yield %dst, %c1_i32 : !tt.ptr<f32>, i32
#     } else {
#       scf.yield %src, %c0_i32 : !tt.ptr<f32>, i32
#     }
#     %c1_i64 = arith.constant 1 : i64
#     %c4_i32 = arith.constant 4 : i32
#     %2 = arith.addi %1#1, %c4_i32 : i32
#     %3 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#     %4 = tt.splat %2 : i32 -> tensor<32xi32>
#     %5 = arith.addi %4, %3 : tensor<32xi32>
#     %cst = arith.constant dense<0> : tensor<32xi32>
#     %6 = arith.cmpi sge, %5, %cst : tensor<32xi32>
#     %7 = tt.splat %n : i32 -> tensor<32xi32>
#     %8 = arith.cmpi slt, %5, %7 : tensor<32xi32>
#     %9 = arith.andi %6, %8 : tensor<32xi1>
#     %10 = arith.extsi %2 : i32 to i64
#     %11 = arith.muli %10, %c1_i64 : i64
#     %12 = tt.addptr %1#0, %11 : !tt.ptr<f32>, i64
#     %13 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
#     %14 = arith.extsi %13 : tensor<32xi32> to tensor<32xi64>
#     %cst_0 = arith.constant dense<1> : tensor<32xi64>
#     %15 = arith.muli %14, %cst_0 : tensor<32xi64>
#     %16 = tt.splat %12 : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
#     %17 = tt.addptr %16, %15 : tensor<32x!tt.ptr<f32>>, tensor<32xi64>
#     %cst_1 = arith.constant dense<1.000000e+00> : tensor<32xf32>
#     tt.store %17, %cst_1, %9 : tensor<32x!tt.ptr<f32>>
#     tt.return
#   }
# }
