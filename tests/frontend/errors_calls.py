# test kernel=calls signature="*fp32, i32, 4"
# Calls; an error in a function names the calls that led there.
import triton
import triton.language as tl


def host(x):
    return x


@triton.jit
def inner(x, scale: tl.constexpr):
    return x * scale + missing  # error: missing is not defined


@triton.jit
def middle(x):
    return inner(x, 2)


@triton.jit
def endless(x):
    return endless(x)  # error: calls are nested more than 64 deep


@triton.jit
def calls(ptr, n, K: tl.constexpr):
    a = middle(n)
    b = endless(n)
    c = inner(n)  # error: inner() missing required argument: 'scale'
    e = inner(n, 2, 3)  # error: inner() takes 2 positional arguments but 3 were given
    f = inner(n, 2, scale=3)  # error: inner() got multiple values for argument 'scale'
    g = inner(n, size=3)  # error: inner() got an unexpected keyword argument 'size'
    h = tl.load(ptr, maks=n > 1)  # error: load() got an unexpected keyword argument 'maks'
    i = tl.load()  # error: load() missing required argument: 'pointer'
    j = host(n)  # error: `host` (a value that is not known without running Python) cannot be called in a kernel
    k = K(n)  # error: 'int' object is not callable: constexpr[4]
    m = n.shape.nothing  # error: 'tuple' object has no attribute 'nothing'
    tl.static_assert(K == 5, f"K is {K}")  # error: K is 4
    tl.static_assert(n == 5)  # error: Assertion condition could not be determined at compile-time
    tl.store(ptr, a)
