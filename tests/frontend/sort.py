# test kernel=order signature="*i32"
# A bitonic network, unrolled.
import triton
import triton.language as tl


@triton.jit
def order(ptr):
    i = tl.arange(0, 4)
    tl.store(ptr + i, tl.sort(tl.load(ptr + i), descending=True))

# expect
# module {
#   tt.func public @order(%ptr: !tt.ptr<i32>) attributes {noinline = false} {
#     %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %0 = tt.splat %ptr : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
#     %1 = tt.addptr %0, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
#     %2 = tt.splat %ptr : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
#     %3 = tt.addptr %2, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
#     %4 = tt.load %3 : tensor<4x!tt.ptr<i32>>
#     %cube = tt.reshape %4 : tensor<4xi32> -> tensor<2x2xi32>
#     %5 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
#     %descending = tt.reshape %5 : tensor<2xi32> -> tensor<2x1xi32>
#     %6 = "tt.reduce"(%cube) <{axis = 1 : i32}> ({
#     ^bb0(%arg1: i32, %arg2: i32):
#       %35 = arith.xori %arg1, %arg2 : i32
#       tt.reduce.return %35 : i32
#     }) : (tensor<2x2xi32>) -> tensor<2xi32>
#     %7 = tt.expand_dims %6 {axis = 1 : i32} : tensor<2xi32> -> tensor<2x1xi32>
#     %8 = tt.broadcast %7 : tensor<2x1xi32> -> tensor<2x2xi32>
#     %partner = arith.xori %cube, %8 : tensor<2x2xi32>
#     %9 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
#     %right = tt.reshape %9 : tensor<2xi32> -> tensor<1x2xi32>
#     %10 = arith.cmpi sgt, %cube, %partner : tensor<2x2xi32>
#     %11 = tt.broadcast %descending : tensor<2x1xi32> -> tensor<2x2xi32>
#     %12 = tt.broadcast %right : tensor<1x2xi32> -> tensor<2x2xi32>
#     %13 = arith.xori %11, %12 : tensor<2x2xi32>
#     %cst = arith.constant dense<0> : tensor<2x2xi32>
#     %14 = arith.cmpi ne, %13, %cst : tensor<2x2xi32>
#     %15 = arith.cmpi ne, %10, %14 : tensor<2x2xi1>
#     %x = arith.select %15, %partner, %cube : tensor<2x2xi1>, tensor<2x2xi32>
#     %16 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
#     ^bb0(%arg1: i32, %arg2: i32):
#       %35 = arith.xori %arg1, %arg2 : i32
#       tt.reduce.return %35 : i32
#     }) : (tensor<2x2xi32>) -> tensor<2xi32>
#     %17 = tt.expand_dims %16 {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>
#     %18 = tt.broadcast %17 : tensor<1x2xi32> -> tensor<2x2xi32>
#     %partner_0 = arith.xori %x, %18 : tensor<2x2xi32>
#     %19 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
#     %right_1 = tt.reshape %19 : tensor<2xi32> -> tensor<2x1xi32>
#     %20 = arith.cmpi sgt, %x, %partner_0 : tensor<2x2xi32>
#     %cst_2 = arith.constant dense<1> : tensor<2x1xi32>
#     %21 = arith.xori %cst_2, %right_1 : tensor<2x1xi32>
#     %cst_3 = arith.constant dense<0> : tensor<2x1xi32>
#     %22 = arith.cmpi ne, %21, %cst_3 : tensor<2x1xi32>
#     %23 = tt.broadcast %22 : tensor<2x1xi1> -> tensor<2x2xi1>
#     %24 = arith.cmpi ne, %20, %23 : tensor<2x2xi1>
#     %x_4 = arith.select %24, %partner_0, %x : tensor<2x2xi1>, tensor<2x2xi32>
#     %25 = "tt.reduce"(%x_4) <{axis = 1 : i32}> ({
#     ^bb0(%arg1: i32, %arg2: i32):
#       %35 = arith.xori %arg1, %arg2 : i32
#       tt.reduce.return %35 : i32
#     }) : (tensor<2x2xi32>) -> tensor<2xi32>
#     %26 = tt.expand_dims %25 {axis = 1 : i32} : tensor<2xi32> -> tensor<2x1xi32>
#     %27 = tt.broadcast %26 : tensor<2x1xi32> -> tensor<2x2xi32>
#     %partner_5 = arith.xori %x_4, %27 : tensor<2x2xi32>
#     %28 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
#     %right_6 = tt.reshape %28 : tensor<2xi32> -> tensor<1x2xi32>
#     %29 = arith.cmpi sgt, %x_4, %partner_5 : tensor<2x2xi32>
#     %cst_7 = arith.constant dense<1> : tensor<1x2xi32>
#     %30 = arith.xori %cst_7, %right_6 : tensor<1x2xi32>
#     %cst_8 = arith.constant dense<0> : tensor<1x2xi32>
#     %31 = arith.cmpi ne, %30, %cst_8 : tensor<1x2xi32>
#     %32 = tt.broadcast %31 : tensor<1x2xi1> -> tensor<2x2xi1>
#     %33 = arith.cmpi ne, %29, %32 : tensor<2x2xi1>
#     %x_9 = arith.select %33, %partner_5, %x_4 : tensor<2x2xi1>, tensor<2x2xi32>
#     %34 = tt.reshape %x_9 : tensor<2x2xi32> -> tensor<4xi32>
#     tt.store %1, %34 : tensor<4x!tt.ptr<i32>>
#     tt.return
#   }
# }
