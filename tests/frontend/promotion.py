# test kernel=promote signature="*fp16, *bf16, *i32, *u8, i64"
# Tensors widen each other, numbers do not widen tensors; division is done in fp32.
import triton
import triton.language as tl


@triton.jit
def promote(half_ptr, brain_ptr, int_ptr, byte_ptr, wide):
    half = tl.load(half_ptr)
    brain = tl.load(brain_ptr)
    number = tl.load(int_ptr)
    byte = tl.load(byte_ptr)
    tl.store(half_ptr + 1, half * 2.5 + 1)
    tl.store(half_ptr + 2, half + brain)
    tl.store(half_ptr + 3, half / 3)
    tl.store(brain_ptr + 1, brain * number)
    tl.store(int_ptr + 1, number + byte)
    tl.store(int_ptr + 2, number / 2)
    tl.store(int_ptr + 3, number + wide)
    tl.store(int_ptr + 4, number // -2 % 5)
    tl.store(byte_ptr + byte, byte >> 1)
    tl.store(byte_ptr + 1, (byte < 3) | (half != brain))

# expect
# module {
#   tt.func public @promote(%half_ptr: !tt.ptr<f16>, %brain_ptr: !tt.ptr<bf16>, %int_ptr: !tt.ptr<i32>, %byte_ptr: !tt.ptr<i8>, %wide: i64) attributes {noinline = false} {
#     %half = tt.load %half_ptr : !tt.ptr<f16>
#     %brain = tt.load %brain_ptr : !tt.ptr<bf16>
#     %number = tt.load %int_ptr : !tt.ptr<i32>
#     %byte = tt.load %byte_ptr : !tt.ptr<i8>
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.addptr %half_ptr, %c1_i32 : !tt.ptr<f16>, i32
#     %cst = arith.constant 2.500000e+00 : f16
#     %1 = arith.mulf %half, %cst : f16
#     %cst_0 = arith.constant 1.000000e+00 : f16
#     %2 = arith.addf %1, %cst_0 : f16
#     tt.store %0, %2 : !tt.ptr<f16>
#     %c2_i32 = arith.constant 2 : i32
#     %3 = tt.addptr %half_ptr, %c2_i32 : !tt.ptr<f16>, i32
#     %4 = tt.fp_to_fp %brain, rounding = rtne : bf16 -> f16
#     %5 = arith.addf %half, %4 : f16
#     tt.store %3, %5 : !tt.ptr<f16>
#     %c3_i32 = arith.constant 3 : i32
#     %6 = tt.addptr %half_ptr, %c3_i32 : !tt.ptr<f16>, i32
#     %7 = arith.extf %half : f16 to f32
#     %cst_1 = arith.constant 3.000000e+00 : f32
#     %8 = arith.divf %7, %cst_1 : f32
#     %9 = arith.truncf %8 : f32 to f16
#     tt.store %6, %9 : !tt.ptr<f16>
#     %c1_i32_2 = arith.constant 1 : i32
#     %10 = tt.addptr %brain_ptr, %c1_i32_2 : !tt.ptr<bf16>, i32
#     %11 = arith.extf %brain : bf16 to f32
#     %12 = arith.sitofp %number : i32 to f32
#     %13 = arith.mulf %11, %12 : f32
#     %14 = arith.truncf %13 : f32 to bf16
#     tt.store %10, %14 : !tt.ptr<bf16>
#     %c1_i32_3 = arith.constant 1 : i32
#     %15 = tt.addptr %int_ptr, %c1_i32_3 : !tt.ptr<i32>, i32
#     %16 = arith.extui %byte : i8 to i32
#     %17 = arith.addi %number, %16 : i32
#     tt.store %15, %17 : !tt.ptr<i32>
#     %c2_i32_4 = arith.constant 2 : i32
#     %18 = tt.addptr %int_ptr, %c2_i32_4 : !tt.ptr<i32>, i32
#     %19 = arith.sitofp %number : i32 to f32
#     %cst_5 = arith.constant 2.000000e+00 : f32
#     %20 = arith.divf %19, %cst_5 : f32
#     %21 = arith.fptosi %20 : f32 to i32
#     tt.store %18, %21 : !tt.ptr<i32>
#     %c3_i32_6 = arith.constant 3 : i32
#     %22 = tt.addptr %int_ptr, %c3_i32_6 : !tt.ptr<i32>, i32
#     %23 = arith.extsi %number : i32 to i64
#     %24 = arith.addi %23, %wide : i64
#     %25 = arith.trunci %24 : i64 to i32
#     tt.store %22, %25 : !tt.ptr<i32>
#     %c4_i32 = arith.constant 4 : i32
#     %26 = tt.addptr %int_ptr, %c4_i32 : !tt.ptr<i32>, i32
#     %c-2_i32 = arith.constant -2 : i32
#     %27 = arith.divsi %number, %c-2_i32 : i32
#     %c5_i32 = arith.constant 5 : i32
#     %28 = arith.remsi %27, %c5_i32 : i32
#     tt.store %26, %28 : !tt.ptr<i32>
#     %29 = arith.extui %byte : i8 to i64
#     %30 = tt.addptr %byte_ptr, %29 : !tt.ptr<i8>, i64
#     %c1_i8 = arith.constant 1 : i8
#     %31 = arith.shrui %byte, %c1_i8 : i8
#     tt.store %30, %31 : !tt.ptr<i8>
#     %c1_i32_7 = arith.constant 1 : i32
#     %32 = tt.addptr %byte_ptr, %c1_i32_7 : !tt.ptr<i8>, i32
#     %c3_i8 = arith.constant 3 : i8
#     %33 = arith.cmpi ult, %byte, %c3_i8 : i8
#     %34 = tt.fp_to_fp %brain, rounding = rtne : bf16 -> f16
#     %35 = arith.cmpf une, %half, %34 : f16
#     %36 = arith.ori %33, %35 : i1
#     %37 = arith.extui %36 : i1 to i8
#     tt.store %32, %37 : !tt.ptr<i8>
#     tt.return
#   }
# }
