# test kernel=unsupported signature="*fp32, i32"
# Python that the language does not have.
import triton
import triton.language as tl


@triton.jit
def unsupported(ptr, n):
    def nested():  # error: nested function definitions are not allowed
        pass
    f = lambda x: x  # error: unsupported AST node type: Lambda
    d = {1: 2}  # error: unsupported AST node type: Dict
    a = b = n  # error: simultaneous multiple assignment is not supported
    import math  # error: unsupported AST node type: ImportFrom
    x = tl.zeros([4], tl.float32)
    x[0] = 1.0  # error: __setitem__ is not supported in triton
    x.y = 1  # error: Attribute assignment is not supported in triton
    for i in range(n):
        if i > 3:
            break  # error: unsupported AST node type: Break
    for i in range(n):  # error: Cannot have `return` statements inside `while` or `for` statements
        tl.store(ptr, i)
        return
    for i in (1, 2):  # error: Only `range` and `static_range` iterators are currently supported
        pass
    if x > 0:  # error: Boolean value of Tensor with more than one value is ambiguous
        pass
    if "text":  # error: `if` conditionals can only accept values of type {bool, int, NoneType}, not objects of type str
        pass
    try:  # error: unsupported AST node type: Try
        pass
    except ValueError:
        pass
    first, *rest = (1, 2, 3)  # error: starred assignment targets are not supported
    s = f"{n}"  # error: Cannot evaluate f-string containing non-constexpr conversion values
    while n > 0:  # error: unsupported AST node type: While with else
        n -= 1
    else:
        pass
    print = len(3)  # error: object of type 'int' has no len(): constexpr[3]
