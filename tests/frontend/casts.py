# test kernel=casts signature="*fp32, *i1, *fp8e4nv, *fp16"
# Every kind of conversion.
import triton
import triton.language as tl


@triton.jit
def casts(ptr, flag_ptr, small_ptr, half_ptr):
    x = tl.load(ptr)
    flag = tl.load(flag_ptr)
    tl.store(ptr + 1, x.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True))
    tl.store(ptr + 2, x.to(tl.int8))
    tl.store(ptr + 3, x.to(tl.uint16))
    tl.store(ptr + 4, x.to(tl.int1))
    tl.store(ptr + 5, flag)
    tl.store(flag_ptr + 1, x)
    tl.store(small_ptr, x.to(tl.float8e4nv))
    tl.store(half_ptr, tl.load(small_ptr + 1).to(tl.float16))
    tl.store(half_ptr + 1, x.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(half_ptr + 2, tl.load(half_ptr).to(tl.bfloat16))
    tl.store(ptr.to(tl.int64).to(tl.pointer_type(tl.float32)), tl.cast(3, tl.float64))

# expect
# module {
#   tt.func public @casts(%ptr: !tt.ptr<f32>, %flag_ptr: !tt.ptr<i1>, %small_ptr: !tt.ptr<f8E4M3FN>, %half_ptr: !tt.ptr<f16>) attributes {noinline = false} {
#     %x = tt.load %ptr : !tt.ptr<f32>
#     %0 = tt.bitcast %flag_ptr : !tt.ptr<i1> -> !tt.ptr<i8>
#     %1 = tt.load %0 : !tt.ptr<i8>
#     %c0_i8 = arith.constant 0 : i8
#     %flag = arith.cmpi ne, %1, %c0_i8 : i8
#     %c1_i32 = arith.constant 1 : i32
#     %2 = tt.addptr %ptr, %c1_i32 : !tt.ptr<f32>, i32
#     %3 = tt.bitcast %x : f32 -> i32
#     %4 = tt.bitcast %3 : i32 -> f32
#     tt.store %2, %4 : !tt.ptr<f32>
#     %c2_i32 = arith.constant 2 : i32
#     %5 = tt.addptr %ptr, %c2_i32 : !tt.ptr<f32>, i32
#     %6 = arith.fptosi %x : f32 to i8
#     %7 = arith.sitofp %6 : i8 to f32
#     tt.store %5, %7 : !tt.ptr<f32>
#     %c3_i32 = arith.constant 3 : i32
#     %8 = tt.addptr %ptr, %c3_i32 : !tt.ptr<f32>, i32
#     %9 = arith.fptoui %x : f32 to i16
#     %10 = arith.uitofp %9 : i16 to f32
#     tt.store %8, %10 : !tt.ptr<f32>
#     %c4_i32 = arith.constant 4 : i32
#     %11 = tt.addptr %ptr, %c4_i32 : !tt.ptr<f32>, i32
#     %cst = arith.constant 0.000000e+00 : f32
#     %12 = arith.cmpf une, %x, %cst : f32
#     %13 = arith.uitofp %12 : i1 to f32
#     tt.store %11, %13 : !tt.ptr<f32>
#     %c5_i32 = arith.constant 5 : i32
#     %14 = tt.addptr %ptr, %c5_i32 : !tt.ptr<f32>, i32
#     %15 = arith.uitofp %flag : i1 to f32
#     tt.store %14, %15 : !tt.ptr<f32>
#     %c1_i32_0 = arith.constant 1 : i32
#     %16 = tt.addptr %flag_ptr, %c1_i32_0 : !tt.ptr<i1>, i32
#     %cst_1 = arith.constant 0.000000e+00 : f32
#     %17 = arith.cmpf une, %x, %cst_1 : f32
#     %18 = tt.bitcast %16 : !tt.ptr<i1> -> !tt.ptr<i8>
#     %19 = arith.extui %17 : i1 to i8
#     tt.store %18, %19 : !tt.ptr<i8>
#     %20 = tt.fp_to_fp %x, rounding = rtne : f32 -> f8E4M3FN
#     tt.store %small_ptr, %20 : !tt.ptr<f8E4M3FN>
#     %c1_i32_2 = arith.constant 1 : i32
#     %21 = tt.addptr %small_ptr, %c1_i32_2 : !tt.ptr<f8E4M3FN>, i32
#     %22 = tt.load %21 : !tt.ptr<f8E4M3FN>
#     %23 = tt.fp_to_fp %22 : f8E4M3FN -> f16
#     tt.store %half_ptr, %23 : !tt.ptr<f16>
#     %c1_i32_3 = arith.constant 1 : i32
#     %24 = tt.addptr %half_ptr, %c1_i32_3 : !tt.ptr<f16>, i32
#     %25 = tt.fp_to_fp %x, rounding = rtz : f32 -> f16
#     tt.store %24, %25 : !tt.ptr<f16>
#     %c2_i32_4 = arith.constant 2 : i32
#     %26 = tt.addptr %half_ptr, %c2_i32_4 : !tt.ptr<f16>, i32
#     %27 = tt.load %half_ptr : !tt.ptr<f16>
#     %28 = tt.fp_to_fp %27, rounding = rtne : f16 -> bf16
#     %29 = tt.fp_to_fp %28, rounding = rtne : bf16 -> f16
#     tt.store %26, %29 : !tt.ptr<f16>
#     %30 = tt.ptr_to_int %ptr : !tt.ptr<f32> -> i64
#     %31 = tt.int_to_ptr %30 : i64 -> !tt.ptr<f32>
#     %cst_5 = arith.constant 3.000000e+00 : f32
#     tt.store %31, %cst_5 : !tt.ptr<f32>
#     tt.return
#   }
# }
