"""What is stored into part of a matrix, by descriptors and by addresses, for tests of every engine: nothing beside that part is written."""

import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor

SIDE = 64
#: Columns of the part: behind its rows there are 2 to 14 bytes up to a multiple of 16, or none.
COLUMNS = [(torch.float16, 7), (torch.float16, 61), (torch.float16, 72), (torch.float32, 130), (torch.float32, 67), (torch.int32, 3)]
WAYS = ["passed", "made", "added", "by addresses"]


@triton.jit
def products(a_ptr, b_ptr, out, M, N, K, row: tl.constexpr, WAY: tl.constexpr, SIDE: tl.constexpr):
    if WAY == "made" or WAY == "added":
        out = tl.make_tensor_descriptor(out, [M, N], [row, 1], [SIDE, SIDE])
    columns = tl.cdiv(N, SIDE)
    i, j = tl.program_id(0) // columns * SIDE, tl.program_id(0) % columns * SIDE
    rows, cols, at = i + tl.arange(0, SIDE), j + tl.arange(0, SIDE), tl.arange(0, SIDE)
    total = tl.zeros((SIDE, SIDE), tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32)
    for k in tl.range(0, K, SIDE):
        a = tl.load(a_ptr + rows[:, None] * K + (k + at)[None, :], mask=rows[:, None] < M, other=0)
        b = tl.load(b_ptr + (k + at)[:, None] * row + cols[None, :], mask=cols[None, :] < N, other=0)
        total = tl.dot(a, b, total)
    if WAY == "by addresses":
        tl.store(out + rows[:, None] * row + cols[None, :], total.to(out.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
    elif WAY == "added":
        out.atomic_add([i, j], total.to(out.dtype))
    else:
        out.store([i, j], total.to(out.dtype))


def check_row_ends(device, rng, dtype, columns, way):
    """Stores the product of two matrices into the left part of a matrix, and looks at all of it; returns the compiled kernel."""
    row, rows, depth = -(-columns // 16) * 16 + 32, 100, 2 * SIDE
    operand = torch.int8 if dtype == torch.int32 else torch.float16
    a, b = (torch.from_numpy(rng.integers(-2, 3, shape)).to(device, operand) for shape in ((rows, depth), (depth, row)))
    whole = torch.full((rows, row), 5, dtype=dtype, device=device)
    expected = whole.cpu().clone()
    product = (a.cpu().double() @ b.cpu().double())[:, :columns].to(dtype)
    expected[:, :columns] = product + 5 if way == "added" else product
    out = TensorDescriptor(whole, [rows, columns], [row, 1], [SIDE, SIDE]) if way == "passed" else whole
    tiles = triton.cdiv(rows, SIDE) * triton.cdiv(columns, SIDE)
    kernel = triton.jit(products.fn)[(tiles, )](a, b, out, rows, columns, depth, row, way, SIDE)
    assert torch.equal(whole.cpu(), expected)
    return kernel
