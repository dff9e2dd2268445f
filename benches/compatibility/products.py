"""Random matrix products: tiles of 1 to 128 rows and columns, loaded and stored by pointers and by descriptors, one or several at once, against
NumPy.

``python benches/compatibility/products.py --seconds 600 --first 1 --folder /tmp/products`` goes from seed to seed on every engine, and leaves the
source of what is wrong in the folder; ``--seed 17`` runs one and prints it. Settings of the environment (``DEUTERON_PAIRS=1``,
``DEUTERON_WARP_SPECIALIZE=1``, ``DEUTERON_PERSISTENCE=1``, ``DEUTERON_ALIGNED_COPIES=1``) choose other ways to compile it. ``--engines gpu`` is the GPU of the machine.

Elements are small whole numbers, so that sums are exact in any order, and what stands between rows is not zero. What a target refuses for want
of memory, or as no descriptor describes it, is counted.
"""

import argparse
import dataclasses
import pathlib
import random
import time
import warnings

import numpy as np
import torch
from programs import load

import triton
from triton.tools.tensor_descriptor import TensorDescriptor

# The element type of the operands, and those that sums may be stored as.
TYPES = {"float16": ("float32", "float16"), "bfloat16": ("float32", "float16"), "float32": ("float32", "float16"), "int8": ("int32", ),
         "float8_e4m3fn": ("float32", "float16")}
# Words of errors that say what a target cannot do.
REFUSALS = ("out of resource", "must have at least", "lower than the minimum")


@dataclasses.dataclass
class Matrix:
    """How a matrix lies in memory, and how a kernel accesses it: by pointers, or a descriptor of the host or the kernel; what is stored may be
    added."""
    rows: int
    columns: int
    block: tuple
    dtype: str
    turned: bool
    access: str
    # Elements in front of the first one and between rows, which then begin anywhere; none where they begin at multiples of 16 bytes.
    loose: tuple = None
    # Elements behind each matrix of several; none where all products have the same one.
    behind: int = None

    @property
    def outer(self):
        """Names or sizes in the order in which they lie in memory."""
        return slice(None, None, -1 if self.turned else 1)

    def memory(self, values, between):
        """Several matrices in rows, with what lies between the rows."""
        dtype = getattr(torch, self.dtype)
        rows, columns = (self.rows, self.columns)[self.outer]
        before, apart = self.loose or (0, -columns % (16 // dtype.itemsize))
        pitch = columns + apart
        step = rows * pitch + (self.behind or 0)
        whole = torch.full((before + len(values) * step, ), between).to(dtype)
        stack = whole.as_strided((len(values), rows, pitch), (step, pitch, 1), before)
        stack[:, :, :columns] = (values.mT if self.turned else values).to(dtype)
        return stack

    def argument(self, stack):
        if self.access != "host":
            return stack
        return TensorDescriptor(stack[0], list((self.rows, self.columns)[self.outer]), [stack.stride(1), 1], list(self.block[self.outer]))


class Product:
    """A kernel and its arguments."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        one_of = self.random.choice
        self.dtype = one_of(["float16", *TYPES])
        narrow = self.dtype in ("int8", "float8_e4m3fn")
        m, n, k = one_of([1, 2, 4, 8, 16, 32, 64, 128]), one_of([1, 2, 4, 8, 16, 32, 64, 128]), one_of([32, 64, 128] if narrow else [16, 32, 64, 128])
        if m * n * k > 64 * 128 * 64:
            k = 32
        self.block = (m, n, k)
        self.sizes = (one_of([m, 2 * m, 2 * m - 1, m + 3, 1]), one_of([n, 2 * n, n + 5, 7]), one_of([k, 3 * k, 2 * k + 8, 4 * k - 8, 8, 5 * k]))
        rows, columns, depth = self.sizes
        self.a = self.matrix(rows, depth, (m, k), self.dtype, 0.3)
        self.b = self.matrix(depth, columns, (k, n), self.dtype, 0.5)
        self.c = self.matrix(rows, columns, (m, n), one_of(TYPES[self.dtype]), 0.2)
        self.batches = one_of([0, 0, 2, 3])
        if self.batches:
            for matrix in (self.a, self.b, self.c):
                matrix.access, matrix.behind = "pointers", one_of([0, 0, 8, 64, 1])
            for matrix in (self.a, self.b):
                matrix.behind = one_of([matrix.behind, matrix.behind, matrix.behind, None])
            # The number of a matrix is one of two numbers, or one.
            self.heads = one_of([1, 2, self.batches])
        self.adds = self.c.access != "pointers" and self.random.random() < 0.3
        self.warps, self.stages, self.loops = one_of([1, 2, 4, 4, 8]), one_of([1, 2, 3, 4]), self.random.random() < 0.3
        words = [("warp_specialize=True", 0.25), ("loop_unroll_factor=2", 0.2), ("disallow_acc_multi_buffer=True", 0.1)]
        self.words = "".join(f", {word}" for word, share in words if self.random.random() < share)
        self.flat = self.random.random() < 0.5
        # How programs lie: in a row, or with rows or columns along the first axis.
        self.grid = "row" if self.loops else one_of(["row", "row", "plane", "turned"])
        self.body = one_of(["once", "once", "added", "two", "branches"])

    def matrix(self, rows, columns, block, dtype, turned):
        found = Matrix(rows, columns, block, dtype, self.random.random() < turned, self.random.choice(["pointers", "pointers", "host", "kernel"]))
        if block[found.outer][1] * getattr(torch, dtype).itemsize < 16:
            found.access = "pointers"
        if found.access == "pointers" and self.random.random() < 0.5:
            found.loose = self.random.choice([0, 0, 1, 5, 8]), self.random.choice([0, 1, 2, 3, 4])
        return found

    def source(self):
        lines = ["import triton", "import triton.language as tl", "", "", "@triton.jit",
                 "def kernel(a, b, c, M, N, K, za, sa, zb, sb, zc, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):"]
        depth = 1

        def write(*texts):
            lines.extend("    " * depth + text for text in texts)

        names = {"a": (self.a, ("M", "K"), ("BM", "BK")), "b": (self.b, ("K", "N"), ("BK", "BN")), "c": (self.c, ("M", "N"), ("BM", "BN"))}
        for name, (matrix, sizes, block) in names.items():
            if matrix.access == "kernel":
                sizes, block = sizes[matrix.outer], block[matrix.outer]
                write(f"{name} = tl.make_tensor_descriptor({name}, [{', '.join(sizes)}], [s{name}, 1], [{', '.join(block)}])")
        if self.batches and self.heads > 1:
            write(f"batch, head = tl.program_id(2) // {self.heads}, tl.program_id(2) % {self.heads}")
            write(*(f"{name} += batch * {self.heads} * z{name} + head * z{name}" for name in "abc"))
        elif self.batches:
            write("batch = tl.program_id(2).to(tl.int64)", *(f"{name} += batch * z{name}" for name in "abc"))
        write("columns = tl.cdiv(N, BN)")
        if self.loops:
            write(f"for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten={self.flat}):")
            depth += 1
        elif self.grid == "row":
            write("tile = tl.program_id(0)")
        row, column = {"row": ("tile // columns", "tile % columns"), "plane": ("tl.program_id(0)", "tl.program_id(1)"),
                       "turned": ("tl.program_id(1)", "tl.program_id(0)")}[self.grid]
        write(f"i, j = {row} * BM, {column} * BN", "rows, cols = i + tl.arange(0, BM), j + tl.arange(0, BN)")
        sums = "tl.int32" if self.dtype == "int8" else "tl.float32"
        write(f"total = tl.zeros((BM, BN), {sums})", f"other = tl.zeros((BM, BN), {sums})")
        write(f"for k in tl.range(0, K, BK, num_stages={self.stages}{self.words}):")
        depth += 1
        write("at = k + tl.arange(0, BK)", f"x = {self.load('a', self.a, ('rows', 'at'), ('i', 'k'), ('M', 'K'))}",
              f"y = {self.load('b', self.b, ('at', 'cols'), ('k', 'j'), ('K', 'N'))}")
        write(*{
            "once": ["total = tl.dot(x, y, total)"],
            "added": ["total += tl.dot(x, y)"],
            "two": ["total = tl.dot(x, y, total)", "other = tl.dot(x, y, other)"],
            "branches": ["if k % (2 * BK) == 0:", "    total = tl.dot(x, y, total)", "else:", "    total = tl.dot(x, y, total) + 1"],
        }[self.body])
        depth -= 1
        write(f"z = (total + other).to(tl.{self.c.dtype})")
        if self.c.access == "pointers":
            place = "cols[None, :] * sc + rows[:, None]" if self.c.turned else "rows[:, None] * sc + cols[None, :]"
            write(f"tl.store(c + {place}, z, mask=(rows[:, None] < M) & (cols[None, :] < N))")
        else:
            write(f"c.{'atomic_add' if self.adds else 'store'}({'[j, i], z.T' if self.c.turned else '[i, j], z'})")
        return "\n".join(lines) + "\n"

    def load(self, name, matrix, places, corner, sizes):
        if matrix.access != "pointers":
            return f"{name}.load([{corner[1]}, {corner[0]}]).T" if matrix.turned else f"{name}.load([{corner[0]}, {corner[1]}])"
        row, column = f"{places[0]}[:, None]", f"{places[1]}[None, :]"
        offset = f"{column} * s{name} + {row}" if matrix.turned else f"{row} * s{name} + {column}"
        return f"tl.load({name} + {offset}, mask=({row} < {sizes[0]}) & ({column} < {sizes[1]}), other=0)"

    def run(self, kernel, seed, device):
        """Launches it; raises `AssertionError` where the result, or what stands between its rows, is not as it should be."""
        rng = np.random.default_rng(seed)
        (m, n, k), (block_m, block_n, block_k) = self.sizes, self.block
        count = self.batches or 1
        several = [1 if self.batches and matrix.behind is None else count for matrix in (self.a, self.b)]
        a, b = (torch.from_numpy(rng.integers(-2, 3, shape).astype(np.float32)) for shape in ((several[0], m, k), (several[1], k, n)))
        memories = [self.a.memory(a, 3.0), self.b.memory(b, 3.0), self.c.memory(torch.full((count, m, n), 5.0), 5.0)]
        memories = [memory.to(device) for memory in memories]
        arguments = [matrix.argument(memory) for matrix, memory in zip((self.a, self.b, self.c), memories)]
        tiles = triton.cdiv(m, block_m), triton.cdiv(n, block_n)
        number = tiles[0] * tiles[1]
        plane = {"row": (min(2, number) if self.loops else number, 1), "plane": tiles, "turned": tiles[::-1]}[self.grid]
        grid = (*plane, count)
        strides = [stride for memory in memories for stride in (memory.stride(0) if len(memory) == count else 0, memory.stride(1))]
        kernel[grid](*arguments, m, n, k, *strides, block_m, block_n, block_k, num_warps=self.warps)
        expected = (a.double() @ b.double()) * (2 if self.body == "two" else 1)
        expected += triton.cdiv(k, block_k) // 2 if self.body == "branches" else 0
        expected += 5 if self.adds else 0
        found = memories[2].double().cpu()
        inside, between = found[..., :(m if self.c.turned else n)], found[..., (m if self.c.turned else n):]
        wrong = (inside != (expected.mT if self.c.turned else expected)).sum().item()
        assert wrong == 0, f"{wrong} of {inside.numel()} elements are wrong"
        assert (between == 5).all(), "what stands between rows was written"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--engines", default="cpu,cuda:80,cuda:90,hip:gfx942")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", UserWarning)  # Why warps have no roles.
    end, seed, right, refused, failures = time.monotonic() + arguments.seconds, arguments.first, 0, 0, 0
    if arguments.seed is not None:
        seed, end = arguments.seed, 0
    while True:
        product = Product(seed)
        text = product.source()
        if arguments.seed is not None:
            print(text)
        kernel, is_wrong = load(text, arguments.folder, f"p{seed}"), False
        for engine in arguments.engines.split(","):
            try:
                with triton.knobs.runtime.scope():
                    if engine not in ("cpu", "gpu"):
                        triton.knobs.runtime.emulate = engine
                    product.run(kernel, seed, "cuda" if engine == "gpu" else "cpu")
                right += 1
            except Exception as error:
                if any(word in str(error) for word in REFUSALS):
                    refused += 1
                    continue
                failures, is_wrong = failures + 1, True
                print(f"seed {seed}, {engine}: {type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}", flush=True)
        if not is_wrong:
            (arguments.folder / f"p{seed}.py").unlink()
        seed += 1
        if time.monotonic() > end:
            break
    print(f"{right} are right, {refused} refused, {failures} wrong, up to seed {seed - 1}")
    raise SystemExit(failures != 0)


if __name__ == "__main__":
    main()
