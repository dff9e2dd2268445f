# test kernel=asks signature="*i32, 12, 'relu6'"
# Numbers and strings that are known when compiling have Python's methods.
import triton
import triton.language as tl


@triton.jit
def asks(ptr, N: tl.constexpr, MODE: tl.constexpr):
    for shift in tl.static_range(0, triton.next_power_of_2(N).bit_length() - 3):
        tl.store(ptr + shift, N.bit_length() + (-5).bit_count())
    if MODE.startswith("relu") and not MODE.upper().endswith(("7", "U")):
        tl.store(ptr, MODE.removeprefix("relu").isdigit())
    tl.static_assert((N / 2).is_integer() and N.real == 12)
    tl.static_assert(MODE[0] == "r" and MODE[-1] == "6" and MODE[1:4] == "elu" and MODE[::-2] == "6lr")
    tl.store(ptr, len("a,b,c".split(",")))

# expect
# module {
#   tt.func public @asks(%ptr: !tt.ptr<i32>) attributes {noinline = false} {
#     %c0_i32 = arith.constant 0 : i32
#     %0 = tt.addptr %ptr, %c0_i32 : !tt.ptr<i32>, i32
#     %c6_i32 = arith.constant 6 : i32
#     tt.store %0, %c6_i32 : !tt.ptr<i32>
#     %c1_i32 = arith.constant 1 : i32
#     %1 = tt.addptr %ptr, %c1_i32 : !tt.ptr<i32>, i32
#     %c6_i32_0 = arith.constant 6 : i32
#     tt.store %1, %c6_i32_0 : !tt.ptr<i32>
#     %c1_i32_1 = arith.constant 1 : i32
#     tt.store %ptr, %c1_i32_1 : !tt.ptr<i32>
#     %c3_i32 = arith.constant 3 : i32
#     tt.store %ptr, %c3_i32 : !tt.ptr<i32>
#     tt.return
#   }
# }
