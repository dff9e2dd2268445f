# test kernel=calls signature="*fp32, i32, 3"
# Defaults, keywords, stars, tuples, comprehensions, walrus, functions as arguments.
import triton
import triton.language as tl

SCALE = tl.constexpr(2)


@triton.constexpr_function
def double(x):
    return 2 * x


@triton.jit
def helper(x, scale: tl.constexpr = SCALE, *rest, offset=1):
    """Adds everything."""
    total = x * scale + offset
    for i in tl.static_range(len(rest)):
        total += rest[i]
    return total, scale


@triton.jit
def apply(f, x):
    y, _ = f(x, 1, *(2, 3), offset=double(4))
    return y


@triton.jit
def calls(ptr, n, K: tl.constexpr):
    a, scale = helper(n)
    pair = (a, n)
    values = [v + i for v, i in (pair, (n, K))] if K == 2 else [v * 2 for v in pair]
    b = apply(helper, (c := n + K))
    tl.store(ptr + b, sum_of(values[0], *values[1:]) + c + scale)


@triton.jit
def sum_of(a, b):
    assert a > 0, "positive"
    return a + b

# expect
# module {
#   tt.func public @calls(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %c2_i32 = arith.constant 2 : i32
#     %0 = arith.muli %n, %c2_i32 : i32
#     %c1_i32 = arith.constant 1 : i32
#     %total = arith.addi %0, %c1_i32 : i32
#     %scale = arith.constant 2 : i32
#     %c2_i32_0 = arith.constant 2 : i32
#     %1 = arith.muli %total, %c2_i32_0 : i32
#     %c2_i32_1 = arith.constant 2 : i32
#     %2 = arith.muli %n, %c2_i32_1 : i32
#     %c3_i32 = arith.constant 3 : i32
#     %c = arith.addi %n, %c3_i32 : i32
#     %c1_i32_2 = arith.constant 1 : i32
#     %3 = arith.muli %c, %c1_i32_2 : i32
#     %c8_i32 = arith.constant 8 : i32
#     %total_3 = arith.addi %3, %c8_i32 : i32
#     %c2_i32_4 = arith.constant 2 : i32
#     %total_5 = arith.addi %total_3, %c2_i32_4 : i32
#     %c3_i32_6 = arith.constant 3 : i32
#     %total_7 = arith.addi %total_5, %c3_i32_6 : i32
#     %4 = tt.addptr %ptr, %total_7 : !tt.ptr<f32>, i32
#     %c0_i32 = arith.constant 0 : i32
#     %5 = arith.cmpi sgt, %1, %c0_i32 : i32
#     %6 = arith.addi %1, %2 : i32
#     %7 = arith.addi %6, %c : i32
#     %8 = arith.addi %7, %scale : i32
#     %9 = arith.sitofp %8 : i32 to f32
#     tt.store %4, %9 : !tt.ptr<f32>
#     tt.return
#   }
# }
