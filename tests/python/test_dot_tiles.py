"""Loops whose dots are not all that they do: right operands kept from program to program."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def weigh(x_ptr, y_ptr, out_ptr, lengths_ptr, rows, SIZE: tl.constexpr, STEP: tl.constexpr, TURNED: tl.constexpr,
          HEADS_FIRST: tl.constexpr, WRITES: tl.constexpr, KIND: tl.constexpr):
    """Per head and block of rows: `max(x @ y[step], 0)` summed over as many steps as the program is told."""
    block, head = tl.program_id(1 if HEADS_FIRST else 0), tl.program_id(0 if HEADS_FIRST else 1)
    r, s = tl.arange(0, SIZE), tl.arange(0, STEP)
    at = head * rows * SIZE
    x = tl.load(x_ptr + (block * SIZE + r)[:, None] * SIZE + r[None, :])
    sums = tl.zeros((SIZE, STEP), tl.float32)
    end = tl.load(lengths_ptr + head * 4 + block)
    for start in range(0, end, STEP):
        if TURNED:
            places = at + (start + s)[None, :] * SIZE + r[:, None]
        else:
            places = at + r[:, None] * rows + (start + s)[None, :]
        y = tl.load(y_ptr + places, mask=(start + s)[None, :] < rows, other=0)
        if WRITES:
            tl.store(y_ptr + places, (y + 1).to(y.dtype), mask=(start + s)[None, :] < rows)
        sums += tl.maximum(tl.dot(x, y, out_dtype=KIND, input_precision="ieee").to(tl.float32), 0)
    where = ((head * 4 + block) * SIZE + r)[:, None] * STEP + s[None, :]
    tl.store(out_ptr + where, sums)


def expected(x, y, lengths, step, turned, writes):
    """The same in binary64, program by program."""
    size = x.shape[1]
    heads = lengths.shape[0]
    out = np.zeros((heads, 4, size, step))
    y = y.astype(np.float64).copy()
    for head in range(heads):
        for block in range(4):
            own = y[head].T if turned else y[head]
            for start in range(0, lengths[head, block], step):
                part = np.zeros((size, step))
                stop = min(start + step, own.shape[1])
                part[:, :stop - start] = own[:, start:stop]
                if writes:
                    own[:, start:stop] += 1
                out[head, block] += np.maximum(x[block * size:(block + 1) * size].astype(np.float64) @ part, 0)
    return out


KINDS = {"float32": tl.float32, "bfloat16": tl.float32, "float16": tl.float32, "int8": tl.int32}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("heads_first, writes", [(False, False), (True, False), (False, True)])
def test_programs_share_the_tiles_of_their_head_alone(dtype, turned, heads_first, writes):
    """Programs of one head follow each other or not, run through more or fewer steps, and may write what they read."""
    size, step, heads, rows = 32, 64, 3, 300
    random = np.random.default_rng(size)
    x = torch.from_numpy(random.integers(-4, 5, (4 * size, size)).astype(np.float32)).to(getattr(torch, dtype))
    shape = (heads, rows, size) if turned else (heads, size, rows)
    y = torch.from_numpy(random.integers(-4, 5, shape).astype(np.float32)).to(getattr(torch, dtype))
    lengths = np.array([[64, 300, 1, 257], [300, 300, 300, 300], [0, 65, 128, 300]], np.int32)
    if writes:
        # One program a head: nobody reads what another one writes.
        lengths[:, 1:] = 0
    grid = (heads, 4) if heads_first else (4, heads)
    for _ in range(2):
        out = torch.full((heads, 4, size, step), -1.0)
        want = expected(x.float().numpy(), y.float().numpy(), lengths, step, turned, writes)
        weigh[grid](x, y, out, torch.from_numpy(lengths), rows, SIZE=size, STEP=step, TURNED=turned,
                    HEADS_FIRST=heads_first, WRITES=writes, KIND=KINDS[dtype])
        assert np.array_equal(out.numpy(), want)
        # The next launch must see what has changed.
        y += 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("turned", [False, True])
def test_more_steps_than_are_kept(dtype, turned):
    size, step, rows = 64, 64, 66000
    random = np.random.default_rng(3)
    x = torch.from_numpy(random.integers(-2, 3, (4 * size, size)).astype(np.float32)).to(getattr(torch, dtype))
    shape = (1, rows, size) if turned else (1, size, rows)
    y = torch.from_numpy(random.integers(-2, 3, shape).astype(np.float32)).to(getattr(torch, dtype))
    lengths = np.array([[66000, 65999, 70, 66000]], np.int32)
    out = torch.full((1, 4, size, step), -1.0)
    weigh[(4, 1)](x, y, out, torch.from_numpy(lengths), rows, SIZE=size, STEP=step, TURNED=turned, HEADS_FIRST=False,
                  WRITES=False, KIND=tl.float32)
    assert np.array_equal(out.numpy(), expected(x.float().numpy(), y.float().numpy(), lengths, step, turned, False))
