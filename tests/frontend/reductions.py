# test kernel=reductions signature="*fp16, *i8"
# Library reductions and scans, with a tuple and with a function of the kernel's own.
import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def reductions(ptr, byte_ptr):
    i = tl.arange(0, 16)
    x = tl.load(ptr + i)
    b = tl.load(byte_ptr + i)
    tl.store(ptr, tl.max(x, 0))
    tl.store(ptr + 1, tl.argmin(x, 0, tie_break_left=False))
    tl.store(ptr + i, tl.cumsum(b, 0, reverse=True))
    tl.store(ptr + 2, tl.reduce(x, 0, multiply))
    value, index = tl.max(b, 0, return_indices=True)
    tl.store(byte_ptr + index, value)
    tl.store(byte_ptr + tl.arange(0, 4), tl.histogram(b.to(tl.int32), 4))

# expect
# module {
#   tt.func public @reductions(%ptr: !tt.ptr<f16>, %byte_ptr: !tt.ptr<i8>) attributes {noinline = false} {
#     %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f16> -> tensor<16x!tt.ptr<f16>>
#     %1 = tt.addptr %0, %i : tensor<16x!tt.ptr<f16>>, tensor<16xi32>
#     %x = tt.load %1 : tensor<16x!tt.ptr<f16>>
#     %2 = tt.splat %byte_ptr : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
#     %3 = tt.addptr %2, %i : tensor<16x!tt.ptr<i8>>, tensor<16xi32>
#     %b = tt.load %3 : tensor<16x!tt.ptr<i8>>
#     %4 = arith.extf %x : tensor<16xf16> to tensor<16xf32>
#     %5 = "tt.reduce"(%4) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: f32, %arg3: f32):
#       %23 = arith.maxnumf %arg2, %arg3 : f32
#       tt.reduce.return %23 : f32
#     }) : (tensor<16xf32>) -> f32
#     %6 = arith.truncf %5 : f32 to f16
#     tt.store %ptr, %6 : !tt.ptr<f16>
#     %c1_i32 = arith.constant 1 : i32
#     %7 = tt.addptr %ptr, %c1_i32 : !tt.ptr<f16>, i32
#     %index = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %_:2 = "tt.reduce"(%x, %index) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: f16, %arg3: i32, %arg4: f16, %arg5: i32):
#       %first = arith.cmpf olt, %arg2, %arg4 : f16
#       %23 = arith.select %first, %arg2, %arg4 : f16
#       %24 = arith.select %first, %arg3, %arg5 : i32
#       tt.reduce.return %23, %24 : f16, i32
#     }) : (tensor<16xf16>, tensor<16xi32>) -> (f16, i32)
#     %8 = arith.sitofp %_#1 : i32 to f16
#     tt.store %7, %8 : !tt.ptr<f16>
#     %9 = tt.splat %ptr : !tt.ptr<f16> -> tensor<16x!tt.ptr<f16>>
#     %10 = tt.addptr %9, %i : tensor<16x!tt.ptr<f16>>, tensor<16xi32>
#     %11 = arith.extsi %b : tensor<16xi8> to tensor<16xi32>
#     %12 = "tt.scan"(%11) <{axis = 0 : i32, reverse = true}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %23 = arith.addi %arg2, %arg3 : i32
#       tt.scan.return %23 : i32
#     }) : (tensor<16xi32>) -> tensor<16xi32>
#     %13 = arith.sitofp %12 : tensor<16xi32> to tensor<16xf16>
#     tt.store %10, %13 : tensor<16x!tt.ptr<f16>>
#     %c2_i32 = arith.constant 2 : i32
#     %14 = tt.addptr %ptr, %c2_i32 : !tt.ptr<f16>, i32
#     %15 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: f16, %arg3: f16):
#       %23 = arith.mulf %arg2, %arg3 : f16
#       tt.reduce.return %23 : f16
#     }) : (tensor<16xf16>) -> f16
#     tt.store %14, %15 : !tt.ptr<f16>
#     %index_0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %value:2 = "tt.reduce"(%b, %index_0) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: i8, %arg3: i32, %arg4: i8, %arg5: i32):
#       %23 = arith.cmpi sgt, %arg2, %arg4 : i8
#       %24 = arith.cmpi eq, %arg2, %arg4 : i8
#       %25 = arith.cmpi slt, %arg3, %arg5 : i32
#       %26 = arith.andi %24, %25 : i1
#       %first = arith.ori %23, %26 : i1
#       %27 = arith.select %first, %arg2, %arg4 : i8
#       %28 = arith.select %first, %arg3, %arg5 : i32
#       tt.reduce.return %27, %28 : i8, i32
#     }) : (tensor<16xi8>, tensor<16xi32>) -> (i8, i32)
#     %16 = tt.addptr %byte_ptr, %value#1 : !tt.ptr<i8>, i32
#     tt.store %16, %value#0 : !tt.ptr<i8>
#     %17 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %18 = tt.splat %byte_ptr : !tt.ptr<i8> -> tensor<4x!tt.ptr<i8>>
#     %19 = tt.addptr %18, %17 : tensor<4x!tt.ptr<i8>>, tensor<4xi32>
#     %20 = arith.extsi %b : tensor<16xi8> to tensor<16xi32>
#     %21 = tt.histogram %20 : tensor<16xi32> -> tensor<4xi32>
#     %22 = arith.trunci %21 : tensor<4xi32> to tensor<4xi8>
#     tt.store %19, %22 : tensor<4x!tt.ptr<i8>>
#     tt.return
#   }
# }
