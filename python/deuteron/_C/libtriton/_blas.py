"""Products by a vendor's library, which kernels are measured beside: asked of torch, which brings the library along, so they run on torch's
current stream and in its workspace.
"""


def _name(tensor):
    return str(tensor.dtype).rpartition(".")[2]


def _is_small(tensor):
    return _name(tensor).startswith("float8")


class Products:
    """Products by a library.

    Args:
        workspace: taken as the reference takes it; torch has its own.
    """

    #: The name of the library.
    library = None
    #: Types of operands.
    dtypes = ()
    #: Why it has no products of scaled blocks.
    unscaled = None

    def __init__(self, workspace):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError(f"there is no GPU that torch sees, and so no {self.library}")
        self._workspace = workspace

    @classmethod
    def check(cls, a, b, d):
        """Says what the operands of ``d = a @ b.T`` must be, where they are not."""
        names = {_name(tensor) for tensor in (a, b, d)}
        if len(names) != 1 or not names <= set(cls.dtypes):
            found = ", ".join(_name(tensor) for tensor in (a, b, d))
            raise RuntimeError(f"operands and result must have one type of {', '.join(cls.dtypes)}, and have {found}")
        if any(len(tensor.shape) != 2 for tensor in (a, b, d)):
            raise RuntimeError("operands and result must be matrices")
        (m, k), (n, other), size = tuple(a.shape), tuple(b.shape), tuple(d.shape)
        if k != other or size != (m, n):
            raise RuntimeError(f"a is {m} x {k}, b (transposed) {n} x {other} and the result {size[0]} x {size[1]}: "
                               f"a must be M x K, b N x K and the result M x N")
        if any(not tensor.is_cuda for tensor in (a, b, d)):
            raise RuntimeError(f"{cls.library} multiplies what is on a GPU, and an operand is not")

    def matmul(self, a, b, d):
        """``d = a @ b.T``, in place."""
        import torch

        self.check(a, b, d)
        if _is_small(a):
            one = torch.ones((), device=a.device)
            torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=d.dtype, use_fast_accum=True, out=d)
            return
        with _tf32():
            torch.matmul(a, b.T, out=d)

    def gemm(self, a, b, c, d, alpha, beta):
        """``d = alpha * a @ b.T + beta * c``, in place."""
        import torch

        self.check(a, b, d)
        if _is_small(a):
            raise RuntimeError(f"torch does not hand sums with 8-bit results to {self.library}: use `matmul`")
        if tuple(c.shape) != tuple(d.shape) or c.dtype != d.dtype:
            raise RuntimeError("what is added must have the type and the size of the result")
        with _tf32():
            torch.addmm(c, a, b.T, alpha=alpha, beta=beta, out=d)

    def __getattr__(self, name):
        if name.startswith("block_scaled_matmul"):
            raise AttributeError(f"`{name}` {self.unscaled}")
        raise AttributeError(f"`{type(self).__name__}` has no attribute {name!r}")


class _tf32:
    """Products of 32-bit numbers drop bits meanwhile, as the reference asks of the library."""

    def __enter__(self):
        import torch

        self._before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True

    def __exit__(self, *_):
        import torch

        torch.backends.cuda.matmul.allow_tf32 = self._before
