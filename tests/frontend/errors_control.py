# test kernel=control signature="*fp32, i32, 4"
# Types of names over loops and arms.
import triton
import triton.language as tl


@triton.jit
def returns(n):  # error: Return type mismatch: a run-time value of type int32 and a tensor of type <[4], int32>
    if n > 0:
        return n
    return tl.arange(0, 4)


@triton.jit
def pairs(n):  # error: Return type mismatch: a tuple of 2 elements with a run-time value of type fp32 at [1][0] and a tuple of 2 elements with a run-time value of type int64 at [1][0]
    if n > 0:
        return n, (n.to(tl.float32), n)
    return n, (n.to(tl.int64), n)


@triton.jit
def control(ptr, n, K: tl.constexpr):
    acc = 0
    for i in range(n):  # error: Loop-carried variable acc has initial type int32 but is re-assigned to <[4], fp32> in loop!
        acc += tl.zeros([4], tl.float32)
    nothing = None
    while n > 0:  # error: Loop carried variable nothing is not a triton value
        nothing = n
    for i in range(n):  # error: cannot reassign constexpr K in the loop
        K = i
    if n > 1:  # error: Mismatched type for x between then block (a run-time value of type int32) and else block (a run-time value of type fp32)
        x = 1
    else:
        x = 1.0
    y = 1
    if n > 1:  # error: initial value for `y` is a run-time value of type int32, but the then block redefines it as a run-time value of type fp32
        y = 2.0
    z = 1 if n > 2 else 1.0  # error: Ternary expression with dynamic condition has inconsistent types
    w = returns(n)
    v = pairs(n)[0]
    for i in range(0, n, 0):  # error: range() step must not be zero
        pass
    for i in range(0, 1.5):  # error: For loop bounds and step must all be ints, the upper bound is fp32
        pass
    for i in tl.static_range(n):  # error: used as tl.static_range end value is not a constexpr
        pass
    tl.store(ptr, x + y + z + w + acc)
