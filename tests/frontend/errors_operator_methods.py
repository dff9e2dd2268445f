# test kernel=kernel signature="*i32"
# Methods of operators take as many arguments as operators have operands.
import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr):
    i = tl.load(i_ptr)
    tl.store(i_ptr, i.__add__())  # error: __add__() takes one argument, 0 given
    tl.store(i_ptr, i.__neg__(i))  # error: __neg__() takes no arguments, 1 given
    tl.store(i_ptr, i.__pow__(2))  # error: 'tensor' object has no attribute '__pow__'
