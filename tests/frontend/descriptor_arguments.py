# test kernel=rows signature="tensordesc<fp16[8, 32]>:16, tensordesc<fp16[1, 32], padding=nan>, *i16, i32, tensordesc<u32[4, 8]>, tensordesc<i8[16]>"
# Tensor descriptors as arguments, with rows that are picked one by one.
import triton
import triton.language as tl


@triton.jit
def double(desc, at):
    return desc.load(at) * 2


@triton.jit
def rows(tiles, lines, rows_ptr, column, counts, bytes):
    tiles.store([0, column], double(tiles, [tiles.shape[0], 0]))
    picked = tl.load(rows_ptr + tl.arange(0, 8))
    block = lines.gather(picked, column)
    lines.scatter(block, picked.to(tl.int32), tiles.shape[1])
    counts.atomic_max([column, 0], counts.load([0, 0]))
    bytes.store([column], bytes.load([0]))
    tl.static_assert(lines.block_shape[0] == 1)

# expect
# module {
#   tt.func public @rows(%tiles: !tt.tensordesc<8x32xf16>, %tiles.shape.0: i32, %tiles.shape.1: i32 {tt.divisibility = 8 : i32}, %tiles.stride.0: i64, %tiles.stride.1: i64, %lines: !tt.tensordesc<1x32xf16> {tt.pads_nan = true}, %lines.shape.0: i32, %lines.shape.1: i32, %lines.stride.0: i64, %lines.stride.1: i64, %rows_ptr: !tt.ptr<i16>, %column: i32, %counts: !tt.tensordesc<4x8xui32>, %counts.shape.0: i32, %counts.shape.1: i32, %counts.stride.0: i64, %counts.stride.1: i64, %bytes: !tt.tensordesc<16xsi8>, %bytes.shape.0: i32, %bytes.stride.0: i64) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %0 = tt.descriptor_load %tiles[%tiles.shape.0, %c0_i32] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
#     %cst = arith.constant dense<2.000000e+00> : tensor<8x32xf16>
#     %1 = arith.mulf %0, %cst : tensor<8x32xf16>
#     %c0_i32_0 = arith.constant 0 : i32
#     tt.descriptor_store %tiles[%c0_i32_0, %column], %1 : !tt.tensordesc<8x32xf16>, tensor<8x32xf16>
#     %2 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
#     %3 = tt.splat %rows_ptr : !tt.ptr<i16> -> tensor<8x!tt.ptr<i16>>
#     %4 = tt.addptr %3, %2 : tensor<8x!tt.ptr<i16>>, tensor<8xi32>
#     %picked = tt.load %4 : tensor<8x!tt.ptr<i16>>
#     %block = tt.descriptor_gather %lines[%picked, %column] : (!tt.tensordesc<1x32xf16>, tensor<8xi16>, i32) -> tensor<8x32xf16>
#     %5 = arith.extsi %picked : tensor<8xi16> to tensor<8xi32>
#     tt.descriptor_scatter %lines[%5, %tiles.shape.1], %block : !tt.tensordesc<1x32xf16>, tensor<8xi32>, i32, tensor<8x32xf16>
#     %c0_i32_1 = arith.constant 0 : i32
#     %c0_i32_2 = arith.constant 0 : i32
#     %6 = tt.descriptor_load %counts[%c0_i32_1, %c0_i32_2] : !tt.tensordesc<4x8xui32> -> tensor<4x8xi32>
#     %c0_i32_3 = arith.constant 0 : i32
#     tt.descriptor_reduce max, %counts[%column, %c0_i32_3], %6 : !tt.tensordesc<4x8xui32>, tensor<4x8xi32>
#     %c0_i32_4 = arith.constant 0 : i32
#     %7 = tt.descriptor_load %bytes[%c0_i32_4] : !tt.tensordesc<16xsi8> -> tensor<16xi8>
#     tt.descriptor_store %bytes[%column], %7 : !tt.tensordesc<16xsi8>, tensor<16xi8>
#     tt.return
#   }
# }
