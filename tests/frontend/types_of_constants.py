# test kernel=kernel signature="*fp32, 3"
# Constants have a type that is as special as their value, tuples one of the types in them.
import triton
import triton.language as tl


@triton.jit
def kernel(ptr, N: tl.constexpr):
    tl.static_assert(N.type == tl.constexpr_type(3))
    tl.static_assert(N.type != tl.constexpr_type(4))
    tl.static_assert((5, 6, 7).type == (5, 6, 7).type)
    tl.static_assert((5, 6, 7).type != (5, 6, 8).type)
    tl.static_assert((ptr, N, "a", None).type == (ptr, 3, "a", None).type)
    tl.static_assert((ptr, N, "a", None).type != (ptr, 3, "b", None).type)
    tl.static_assert((ptr, tl.float32).type[1] == tl.constexpr_type(tl.float32))
    mixed = (tl.load(ptr), N)
    tl.static_assert(mixed.type == (tl.load(ptr + 1), mixed[1]).type)
    tl.static_assert(mixed.type[0] == tl.float32 and mixed.type[1] == tl.int32)
    tl.static_print(N.type, ptr.type, f"{N.type}")

# expect
# module {
#   tt.func public @kernel(%ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %0 = tt.load %ptr : !tt.ptr<f32>
#     %c1_i32 = arith.constant 1 : i32
#     %1 = tt.addptr %ptr, %c1_i32 : !tt.ptr<f32>, i32
#     %2 = tt.load %1 : !tt.ptr<f32>
#     tt.return
#   }
# }
# printed: constexpr_type[3] pointer<fp32> constexpr_type[3]
