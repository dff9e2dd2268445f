# test kernel=shapes signature="*fp32, *i32"
# Moving elements between shapes.
import triton
import triton.language as tl


@triton.jit
def shapes(ptr, index_ptr):
    a = tl.arange(0, 8)
    grid = a[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(ptr + grid)
    even, odd = tl.split(x.reshape(8, 2, 2))
    both = tl.interleave(even, odd)
    t = tl.trans(both) + x.T + tl.permute(both, (1, 0))
    y = tl.cat(t, t, dim=1).sum(axis=0, keep_dims=True)
    tl.store(ptr + tl.arange(0, 16), tl.ravel(y))
    z = tl.flip(tl.broadcast_to(a[None, :], (2, 8)), 1)
    z = tl.gather(z, tl.zeros_like(z), 1)
    one, two = tl.split(tl.join(tl.sum(z), 5))
    tl.store(index_ptr, one + two)
    tl.store(index_ptr + z, tl.expand_dims(z, -1).squeeze(-1))

# expect
# module {
#   tt.func public @shapes(%ptr: !tt.ptr<f32>, %index_ptr: !tt.ptr<i32>) attributes {noinline = false} {
#     %a = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %0 = tt.expand_dims %a {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
#     %cst = arith.constant dense<4> : tensor<8x1xi32>
#     %1 = arith.muli %0, %cst : tensor<8x1xi32>
#     %2 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %3 = tt.expand_dims %2 {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
#     %4 = tt.broadcast %1 : tensor<8x1xi32> -> tensor<8x4xi32>
#     %5 = tt.broadcast %3 : tensor<1x4xi32> -> tensor<8x4xi32>
#     %grid = arith.addi %4, %5 : tensor<8x4xi32>
#     %6 = tt.splat %ptr : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
#     %7 = tt.addptr %6, %grid : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
#     %x = tt.load %7 : tensor<8x4x!tt.ptr<f32>>
#     %8 = tt.reshape %x : tensor<8x4xf32> -> tensor<8x2x2xf32>
#     %even, %odd = tt.split %8 : tensor<8x2x2xf32> -> tensor<8x2xf32>
#     %pairs = tt.join %even, %odd : tensor<8x2xf32> -> tensor<8x2x2xf32>
#     %both = tt.reshape %pairs : tensor<8x2x2xf32> -> tensor<8x4xf32>
#     %9 = tt.trans %both {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
#     %10 = tt.trans %x {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
#     %11 = arith.addf %9, %10 : tensor<4x8xf32>
#     %12 = tt.trans %both {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
#     %t = arith.addf %11, %12 : tensor<4x8xf32>
#     %13 = tt.join %t, %t : tensor<4x8xf32> -> tensor<4x8x2xf32>
#     %14 = tt.trans %13 {order = array<i32: 0, 2, 1>} : tensor<4x8x2xf32> -> tensor<4x2x8xf32>
#     %15 = tt.reshape %14 : tensor<4x2x8xf32> -> tensor<4x16xf32>
#     %16 = "tt.reduce"(%15) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: f32, %arg3: f32):
#       %43 = arith.addf %arg2, %arg3 : f32
#       tt.reduce.return %43 : f32
#     }) : (tensor<4x16xf32>) -> tensor<16xf32>
#     %y = tt.expand_dims %16 {axis = 0 : i32} : tensor<16xf32> -> tensor<1x16xf32>
#     %17 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %18 = tt.splat %ptr : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
#     %19 = tt.addptr %18, %17 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
#     %20 = tt.reshape %y : tensor<1x16xf32> -> tensor<16xf32>
#     tt.store %19, %20 : tensor<16x!tt.ptr<f32>>
#     %21 = tt.expand_dims %a {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
#     %22 = tt.broadcast %21 : tensor<1x8xi32> -> tensor<2x8xi32>
#     %y_0 = tt.reshape %22 : tensor<2x8xi32> -> tensor<2x2x2x2xi32>
#     %23 = "tt.reduce"(%y_0) <{axis = 1 : i32}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %43 = arith.xori %arg2, %arg3 : i32
#       tt.reduce.return %43 : i32
#     }) : (tensor<2x2x2x2xi32>) -> tensor<2x2x2xi32>
#     %24 = tt.expand_dims %23 {axis = 1 : i32} : tensor<2x2x2xi32> -> tensor<2x1x2x2xi32>
#     %25 = tt.broadcast %24 : tensor<2x1x2x2xi32> -> tensor<2x2x2x2xi32>
#     %y_1 = arith.xori %y_0, %25 : tensor<2x2x2x2xi32>
#     %26 = "tt.reduce"(%y_1) <{axis = 2 : i32}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %43 = arith.xori %arg2, %arg3 : i32
#       tt.reduce.return %43 : i32
#     }) : (tensor<2x2x2x2xi32>) -> tensor<2x2x2xi32>
#     %27 = tt.expand_dims %26 {axis = 2 : i32} : tensor<2x2x2xi32> -> tensor<2x2x1x2xi32>
#     %28 = tt.broadcast %27 : tensor<2x2x1x2xi32> -> tensor<2x2x2x2xi32>
#     %y_2 = arith.xori %y_1, %28 : tensor<2x2x2x2xi32>
#     %29 = "tt.reduce"(%y_2) <{axis = 3 : i32}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %43 = arith.xori %arg2, %arg3 : i32
#       tt.reduce.return %43 : i32
#     }) : (tensor<2x2x2x2xi32>) -> tensor<2x2x2xi32>
#     %30 = tt.expand_dims %29 {axis = 3 : i32} : tensor<2x2x2xi32> -> tensor<2x2x2x1xi32>
#     %31 = tt.broadcast %30 : tensor<2x2x2x1xi32> -> tensor<2x2x2x2xi32>
#     %y_3 = arith.xori %y_2, %31 : tensor<2x2x2x2xi32>
#     %z = tt.reshape %y_3 : tensor<2x2x2x2xi32> -> tensor<2x8xi32>
#     %cst_4 = arith.constant dense<0> : tensor<2x8xi32>
#     %z_5 = tt.gather %z[%cst_4] {axis = 1 : i32} : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi32>
#     %32 = tt.reshape %z_5 allow_reorder : tensor<2x8xi32> -> tensor<16xi32>
#     %33 = "tt.reduce"(%32) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %43 = arith.addi %arg2, %arg3 : i32
#       tt.reduce.return %43 : i32
#     }) : (tensor<16xi32>) -> i32
#     %34 = tt.splat %33 : i32 -> tensor<1xi32>
#     %cst_6 = arith.constant dense<5> : tensor<1xi32>
#     %35 = tt.join %34, %cst_6 : tensor<1xi32> -> tensor<1x2xi32>
#     %36 = tt.reshape %35 : tensor<1x2xi32> -> tensor<2xi32>
#     %37 = tt.expand_dims %36 {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>
#     %out_lhs, %out_rhs = tt.split %37 : tensor<1x2xi32> -> tensor<1xi32>
#     %one = tt.unsplat %out_lhs : tensor<1xi32>
#     %two = tt.unsplat %out_rhs : tensor<1xi32>
#     %38 = arith.addi %one, %two : i32
#     tt.store %index_ptr, %38 : !tt.ptr<i32>
#     %39 = tt.splat %index_ptr : !tt.ptr<i32> -> tensor<2x8x!tt.ptr<i32>>
#     %40 = tt.addptr %39, %z_5 : tensor<2x8x!tt.ptr<i32>>, tensor<2x8xi32>
#     %41 = tt.expand_dims %z_5 {axis = 2 : i32} : tensor<2x8xi32> -> tensor<2x8x1xi32>
#     %42 = tt.reshape %41 : tensor<2x8x1xi32> -> tensor<2x8xi32>
#     tt.store %40, %42 : tensor<2x8x!tt.ptr<i32>>
#     tt.return
#   }
# }
