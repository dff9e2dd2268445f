# test kernel=kernel signature="*fp32, *u8"
# fp8e4b15 is held in eight bits and converted by way of fp16.
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, byte_ptr):
    x = tl.load(x_ptr).to(tl.float8e4b15)
    tl.store(byte_ptr, x.to(tl.uint8, bitcast=True))
    tl.store(x_ptr, tl.load(byte_ptr).to(tl.float8e4b15, bitcast=True).to(tl.float32))
    tl.static_print(tl.full([4], 1.0, tl.float8e4b15).dtype)

# expect
# module {
#   tt.func public @kernel(%x_ptr: !tt.ptr<f32>, %byte_ptr: !tt.ptr<i8>) attributes {noinline = false} {
#     %0 = tt.load %x_ptr : !tt.ptr<f32>
#     %1 = arith.truncf %0 : f32 to f16
#     %2 = tt.bitcast %1 : f16 -> i16
#     %c32767_i16 = arith.constant 32767 : i16
#     %3 = arith.andi %2, %c32767_i16 : i16
#     %c16128_i16 = arith.constant 16128 : i16
#     %4 = arith.minui %3, %c16128_i16 : i16
#     %c1_i16 = arith.constant 1 : i16
#     %5 = arith.shli %4, %c1_i16 : i16
#     %c128_i16 = arith.constant 128 : i16
#     %6 = arith.addi %5, %c128_i16 : i16
#     %c8_i16 = arith.constant 8 : i16
#     %7 = arith.shrui %6, %c8_i16 : i16
#     %c8_i16_0 = arith.constant 8 : i16
#     %8 = arith.shrui %2, %c8_i16_0 : i16
#     %c128_i16_1 = arith.constant 128 : i16
#     %9 = arith.andi %8, %c128_i16_1 : i16
#     %10 = arith.ori %7, %9 : i16
#     %x = arith.trunci %10 : i16 to i8
#     tt.store %byte_ptr, %x : !tt.ptr<i8>
#     %11 = tt.load %byte_ptr : !tt.ptr<i8>
#     %12 = arith.extui %11 : i8 to i16
#     %c128_i16_2 = arith.constant 128 : i16
#     %13 = arith.andi %12, %c128_i16_2 : i16
#     %c8_i16_3 = arith.constant 8 : i16
#     %14 = arith.shli %13, %c8_i16_3 : i16
#     %c127_i16 = arith.constant 127 : i16
#     %15 = arith.andi %12, %c127_i16 : i16
#     %c7_i16 = arith.constant 7 : i16
#     %16 = arith.shli %15, %c7_i16 : i16
#     %17 = arith.ori %14, %16 : i16
#     %18 = tt.bitcast %17 : i16 -> f16
#     %19 = arith.extf %18 : f16 to f32
#     tt.store %x_ptr, %19 : !tt.ptr<f32>
#     tt.return
#   }
# }
# printed: fp8e4b15
