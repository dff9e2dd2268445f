"""Random matrix products: tiles of 1 to 128 rows and columns, loaded and stored by pointers and by descriptors, against NumPy.

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

    @property
    def outer(self):
        """Names or sizes in the order in which they lie in memory."""
        return slice(None, None, -1 if self.turned else 1)

    def memory(self, values, between):
        """The values in rows."""
        dtype = getattr(torch, self.dtype)
        rows, columns = (self.rows, self.columns)[self.outer]
        before, apart = self.loose or (0, -columns % (16 // dtype.itemsize))
        whole = torch.full((before + rows * (columns + apart), ), between).to(dtype)[before:].view(rows, columns + apart)
        whole[:, :columns] = (values.T if self.turned else values).to(dtype)
        return whole

    def argument(self, whole):
        if self.access != "host":
            return whole
        return TensorDescriptor(whole, list((self.rows, self.columns)[self.outer]), [whole.stride(0), 1], list(self.block[self.outer]))


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
        self.adds = self.c.access != "pointers" and self.random.random() < 0.3
        self.warps, self.stages, self.loops = one_of([1, 2, 4, 4, 8]), one_of([1, 2, 3, 4]), self.random.random() < 0.3
        words = [("warp_specialize=True", 0.25), ("loop_unroll_factor=2", 0.2), ("disallow_acc_multi_buffer=True", 0.1)]
        self.words = "".join(f", {word}" for word, share in words if self.random.random() < share)
        self.flat = self.random.random() < 0.5
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
                 "def kernel(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):"]
        depth = 1

        def write(*texts):
            lines.extend("    " * depth + text for text in texts)

        names = {"a": (self.a, ("M", "K"), ("BM", "BK")), "b": (self.b, ("K", "N"), ("BK", "BN")), "c": (self.c, ("M", "N"), ("BM", "BN"))}
        for name, (matrix, sizes, block) in names.items():
            if matrix.access == "kernel":
                sizes, block = sizes[matrix.outer], block[matrix.outer]
                write(f"{name} = tl.make_tensor_descriptor({name}, [{', '.join(sizes)}], [s{name}, 1], [{', '.join(block)}])")
        write("columns = tl.cdiv(N, BN)")
        if self.loops:
            write(f"for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten={self.flat}):")
            depth += 1
        else:
            write("tile = tl.program_id(0)")
        write("i, j = tile // columns * BM, tile % columns * BN", "rows, cols = i + tl.arange(0, BM), j + tl.arange(0, BN)")
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
        a, b = (torch.from_numpy(rng.integers(-2, 3, shape).astype(np.float32)) for shape in ((m, k), (k, n)))
        memories = [self.a.memory(a, 3.0), self.b.memory(b, 3.0), self.c.memory(torch.full((m, n), 5.0), 5.0)]
        memories = [memory.to(device) for memory in memories]
        arguments = [matrix.argument(memory) for matrix, memory in zip((self.a, self.b, self.c), memories)]
        tiles = triton.cdiv(m, block_m) * triton.cdiv(n, block_n)
        grid = (min(2, tiles) if self.loops else tiles, )
        kernel[grid](*arguments, m, n, k, *(memory.stride(0) for memory in memories), block_m, block_n, block_k, num_warps=self.warps)
        expected = (a.double() @ b.double()) * (2 if self.body == "two" else 1)
        expected += triton.cdiv(k, block_k) // 2 if self.body == "branches" else 0
        expected += 5 if self.adds else 0
        found = memories[2].double().cpu()
        inside, between = found[:, :(m if self.c.turned else n)], found[:, (m if self.c.turned else n):]
        wrong = (inside != (expected.T if self.c.turned else expected)).sum().item()
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
