# test kernel=pick signature="*fp32, None, 'relu', 4"
# Arms that a constant rules out are not visited: what is wrong in them does not matter.
import triton
import triton.language as tl


@triton.jit
def pick(ptr, other, ACTIVATION: tl.constexpr, N: tl.constexpr):
    if other is not None:
        tl.store(other, undefined_name)
    if ACTIVATION == "relu":
        x = 1.0
    else:
        x = tl.no_such_function(ptr)
    if not N or isinstance(N, tl.constexpr):
        x = break_everything()
    total = N if 1 < N <= 4 else unknown
    for i in tl.static_range(2, 0, -1):
        total += i
    tl.static_assert(total == 7 or True, f"{N}")
    tl.static_print(f"N is {N!r}", ACTIVATION)
    tl.store(ptr + N // 3, x)

# expect
# module {
#   tt.func public @pick(%ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %x = arith.constant 1.000000e+00 : f32
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.addptr %ptr, %c1_i32 : !tt.ptr<f32>, i32
#     tt.store %0, %x : !tt.ptr<f32>
#     tt.return
#   }
# }
# printed: N is 4 relu
