# test kernel=calls signature="*fp32, i32, 3"
# Functions that ask for calls: one for each kind of arguments; with a descriptor or in a reduction they are walked in place.
import triton
import triton.language as tl


@triton.jit(noinline=True)
def both(x, pair, scale: tl.constexpr = 2):
    total = pair[0] * scale
    for i in range(x):
        total += i
    return (total, pair[1]), scale


@triton.jit(noinline=True)
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit(noinline=True)
def nothing(x):
    tl.device_assert(x > 0, "positive")


@triton.jit(noinline=True)
def first(descriptor):
    return descriptor.load([0])


@triton.jit
def calls(ptr, n, K: tl.constexpr):
    pair, scale = both(n, (n, 1))
    pair, scale = both(pair[0], pair)
    other, five = both(n, pair, 5)
    block = tl.arange(0, 4) + n
    most = tl.reduce(block, 0, larger)
    more = larger(block, most)
    nothing(n)
    descriptor = tl.make_tensor_descriptor(ptr, [16], [1], [4])
    tl.store(ptr + more, other[0] + other[1] + scale + five + first(descriptor))

# expect
# module {
#   tt.func public @calls(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %0 = tt.call @both__0(%n, %n) : (i32, i32) -> i32
#     %c1_i32 = arith.constant 1 : i32
#     %1:2 = tt.call @both__1(%0, %0, %c1_i32) : (i32, i32, i32) -> (i32, i32)
#     %scale = arith.constant 2 : i32
#     %2:2 = tt.call @both__2(%n, %1#0, %1#1) : (i32, i32, i32) -> (i32, i32)
#     %five = arith.constant 5 : i32
#     %3 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %4 = tt.splat %n : i32 -> tensor<4xi32>
#     %block = arith.addi %3, %4 : tensor<4xi32>
#     %most = "tt.reduce"(%block) <{axis = 0 : i32}> ({
#     ^bb0(%arg2: i32, %arg3: i32):
#       %15 = arith.cmpi sgt, %arg2, %arg3 : i32
#       %16 = arith.select %15, %arg2, %arg3 : i32
#       tt.reduce.return %16 : i32
#     }) : (tensor<4xi32>) -> i32
#     %more = tt.call @larger__3(%block, %most) : (tensor<4xi32>, i32) -> tensor<4xi32>
#     tt.call @nothing__4(%n) : (i32) -> ()
#     %c16_i32 = arith.constant 16 : i32
#     %c1_i64 = arith.constant 1 : i64
#     %5 = tt.make_tensor_descriptor %ptr, [%c16_i32], [%c1_i64] : <f32>, <4xf32>
#     %6 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %7 = tt.addptr %6, %more : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %8 = arith.addi %2#0, %2#1 : i32
#     %9 = arith.addi %8, %scale : i32
#     %10 = arith.addi %9, %five : i32
#     %c0_i32 = arith.constant 0 : i32
#     %11 = tt.descriptor_load %5[%c0_i32] : !tt.tensordesc<4xf32> -> tensor<4xf32>
#     %12 = arith.sitofp %10 : i32 to f32
#     %13 = tt.splat %12 : f32 -> tensor<4xf32>
#     %14 = arith.addf %13, %11 : tensor<4xf32>
#     tt.store %7, %14 : tensor<4x!tt.ptr<f32>>
#     tt.return
#   }
#   tt.func private @both__0(%x: i32, %pair: i32) -> i32 attributes {noinline = true} {
#     %c2_i32 = arith.constant 2 : i32
#     %total = arith.muli %pair, %c2_i32 : i32
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %total_0 = scf.for %i = %c0_i32 to %x step %c1_i32 iter_args(%total_1 = %total) -> (i32)  : i32 {
#       %total_2 = arith.addi %total_1, %i : i32
#       scf.yield %total_2 : i32
#     }
#     tt.return %total_0 : i32
#   }
#   tt.func private @both__1(%x: i32, %pair: i32, %pair_0: i32) -> (i32, i32) attributes {noinline = true} {
#     %c2_i32 = arith.constant 2 : i32
#     %total = arith.muli %pair, %c2_i32 : i32
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %total_1 = scf.for %i = %c0_i32 to %x step %c1_i32 iter_args(%total_2 = %total) -> (i32)  : i32 {
#       %total_3 = arith.addi %total_2, %i : i32
#       scf.yield %total_3 : i32
#     }
#     tt.return %total_1, %pair_0 : i32, i32
#   }
#   tt.func private @both__2(%x: i32, %pair: i32, %pair_0: i32) -> (i32, i32) attributes {noinline = true} {
#     %c5_i32 = arith.constant 5 : i32
#     %total = arith.muli %pair, %c5_i32 : i32
#     %c0_i32 = arith.constant 0 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %total_1 = scf.for %i = %c0_i32 to %x step %c1_i32 iter_args(%total_2 = %total) -> (i32)  : i32 {
#       %total_3 = arith.addi %total_2, %i : i32
#       scf.yield %total_3 : i32
#     }
#     tt.return %total_1, %pair_0 : i32, i32
#   }
#   tt.func private @larger__3(%a: tensor<4xi32>, %b: i32) -> tensor<4xi32> attributes {noinline = true} {
#     %0 = tt.splat %b : i32 -> tensor<4xi32>
#     %1 = arith.cmpi sgt, %a, %0 : tensor<4xi32>
#     %2 = tt.splat %b : i32 -> tensor<4xi32>
#     %3 = arith.select %1, %a, %2 : tensor<4xi1>, tensor<4xi32>
#     tt.return %3 : tensor<4xi32>
#   }
#   tt.func private @nothing__4(%x: i32) attributes {noinline = true} {
#     %c0_i32 = arith.constant 0 : i32
#     %0 = arith.cmpi sgt, %x, %c0_i32 : i32
#     tt.return
#   }
# }
