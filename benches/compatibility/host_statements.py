"""Statements of the programs of `valued.py` by tensor descriptors that the host makes and passes as arguments."""

import dataclasses

import numpy as np
from expressions import Expressions
from values import LENGTH, NARROW, REGION, bits, fit, numpy_type, spread, variable


@dataclasses.dataclass
class Descriptor:
    """A parameter: which memory it describes, from which element on."""
    name: str
    memory: str
    start: int
    shape: tuple
    strides: tuple
    block: tuple
    padding: str = "zero"

    def argument(self, buffer, make):
        return make(buffer[self.start:], list(self.shape), list(self.strides), list(self.block), self.padding)


def inside(places, shape):
    return np.all([(place >= 0) & (place < size) for place, size in zip(places, shape)], axis=0)


class HostStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def described_by_host(self):
        """Loads, some in a loop that walks along a dimension, at places inside and outside of a tensor."""
        dtype = self.one_of("int8", "uint8", "int16", "float16", "bfloat16", "int32", "float32", "float8e5", "int64", "float64")
        size, rank, name = bits(dtype) // 8, self.one_of(1, 2, 2, 3, 4, 5), self.fresh()
        few = [1, 2, 4, 8] + ([16, 32] if rank == 2 else [])
        block = tuple([self.one_of(*few) for _ in range(rank - 1)] + [self.one_of(16 // size, 32 // size, 64 // size)])
        shape = tuple(self.random.randrange(1, 9) for _ in range(rank - 1)) + (self.random.randrange(1, 40), )
        strides, stride = [1], -(-shape[-1] * size // 16) * 16 // size
        for dim in range(rank - 1, 0, -1):
            strides.insert(0, stride)
            stride *= shape[dim - 1] + self.one_of(0, 0, 1)
        start = self.random.randrange(4) * 16
        if stride + start > LENGTH or np.prod(block) > 1024:
            return self.assign()
        nan = self.chance(0.2) and dtype in ("float16", "bfloat16", "float32", "float64")
        descriptor = Descriptor(f"{name}_h", dtype, start, shape, tuple(strides), block, "nan" if nan else "zero")
        self.descriptors.append(descriptor)
        corner, texts = [self.random.randrange(-4, 8) for _ in range(rank)], []
        texts = [self.one_of(f"{at}", f"{at} + 0 * n", f"({at} + n) - n") for at in corner]
        count, axis = self.one_of(1, 1, 2, 3), self.random.randrange(rank)
        sums = "float64" if dtype.startswith(("f", "b")) else "int64"

        def block_at(env, turn):
            places = [spread(block, dim) + corner[dim] + (turn * block[dim] if dim == axis else 0) for dim in range(rank)]
            on = inside(places, shape)
            at = sum(place * stride for place, stride in zip(places, strides)) + start
            return np.where(on, env["inputs"][dtype][np.where(on, at, 0)], numpy_type(dtype).type(np.nan if nan else 0))

        if count == 1:
            self.scope.append(variable(name, dtype, block))
            return [f"{name} = {name}_h.load([{', '.join(texts)}])"], lambda env: env.update({name: block_at(env, 0)})

        def run(env):
            total = np.zeros(block, sums)
            for turn in range(count):
                total = total * total.dtype.type(2) + fit(sums, block_at(env, turn))
            env[name] = total

        texts[axis] += f" + {name}_k * {block[axis]}"
        self.scope.append(variable(name, sums, block))
        words = self.one_of("", ", num_stages=3", ", warp_specialize=True", ", loop_unroll_factor=2")
        convert = f".to(tl.float32).to(tl.{sums})" if dtype in NARROW else f".to(tl.{sums})"
        return [
            f"{name} = tl.zeros({block}, tl.{sums})", f"for {name}_k in tl.range({count}{words}):",
            f"    {name} = {name} * 2 + {name}_h.load([{', '.join(texts)}]){convert}"
        ], run

    def own_descriptor(self, dtype, height, width, block, name):
        """Of a part of each program's own memory: the first dimension is the program."""
        start = self.room("scratch_" + dtype, height * width)
        programs = int(np.prod(self.grid))
        descriptor = Descriptor(f"{name}_h", f"scratch_{dtype}", start, (programs, height, width), (REGION, width, 1), (1, *block))
        self.descriptors.append(descriptor)
        return start

    def copied_by_host(self):
        """Stores and sums by descriptors, at places inside and outside of their tensor."""
        dtype = self.one_of("int32", "float32", "float16", "uint32", "int64", "float64", "uint64")
        size = bits(dtype) // 8
        rows, columns = self.one_of(1, 2, 4, 8, 16, 32), max(2, self.one_of(16 // size, 32 // size, 64 // size))
        height, width, name = self.random.randrange(1, 40), self.random.randrange(1, 5) * 16 // size, self.fresh()
        ways = ["store", "store"] + (["atomic_add"] if dtype in ("int32", "uint32", "float32", "float16", "uint64") else [])
        ways += ["atomic_min", "atomic_max"] if dtype in ("int32", "uint32", "int64", "uint64") else []
        ways += ["atomic_and", "atomic_or", "atomic_xor"] if dtype in ("int32", "uint32", "int64", "uint64") else []
        way, corner = self.one_of(*ways), [self.random.randrange(-2, 6), self.random.randrange(-2, 6)]
        one = self.to(self.small((rows, columns), 2, 4) if dtype.startswith("f") else self.simple((rows, columns), 2), dtype)
        start = self.own_descriptor(dtype, height, width, (rows, columns), name)
        functions = {"store": lambda x, y: y, "atomic_add": np.add, "atomic_min": np.minimum, "atomic_max": np.maximum,
                     "atomic_and": np.bitwise_and, "atomic_or": np.bitwise_or, "atomic_xor": np.bitwise_xor}
        self.scope.append(variable(name, dtype, (rows, columns)))

        def run(env):
            memory = env["scratch_" + dtype]
            places = [spread((rows, columns), dim) + corner[dim] for dim in (0, 1)]
            on = inside(places, (height, width))
            at = (places[0] * width + places[1] + start)[on]
            memory[at] = fit(dtype, functions[way](memory[at], one.run(env)[on]))
            env[name] = np.zeros((rows, columns), memory.dtype)
            env[name][on] = memory[at]

        place = f"[pid, {corner[0]}, {corner[1]}]"
        return [f"{name}_h.{way}({place}, {one.text}[None, :, :])", f"{name} = tl.reshape({name}_h.load({place}), ({rows}, {columns}))"], run

    def picked_rows(self):
        """Rows that an index picks, gathered and scattered to others."""
        dtype = self.one_of("float16", "float32", "int32", "int8", "bfloat16", "int16")
        size, rows, name = bits(dtype) // 8, self.one_of(8, 16, 32, 64), self.fresh()
        columns = self.one_of(*[columns for columns in (8, 16, 32, 64) if columns * size >= 32])
        height, width = self.random.randrange(8, 60), -(-self.random.randrange(columns, 90) * size // 16) * 16 // size
        self.descriptors.append(Descriptor(f"{name}_h", dtype, 0, (height, width), (width, 1), (1, columns)))
        index, column = self.integer((rows, ), 1, ("int32", )), self.one_of(0, 16, 32, self.random.randrange(90))
        self.scope.append(variable(name, dtype, (rows, columns)))

        def run(env):
            at = (index.run(env) & np.int32(63))[:, None] + np.zeros((1, columns), np.int32)
            places = [at, np.arange(columns)[None, :] + column + 0 * at]
            on = inside(places, (height, width))
            env[name] = np.where(on, env["inputs"][dtype][np.where(on, places[0] * width + places[1], 0)], numpy_type(dtype).type(0))

        return [f"{name} = {name}_h.gather({index.text} & 63, {column})"], run

    def scattered_rows(self):
        """Rows of a block at places of their own."""
        dtype = self.one_of("float16", "float32", "int32")
        size, rows, name = bits(dtype) // 8, self.one_of(8, 16, 32), self.fresh()
        columns = self.one_of(*[columns for columns in (8, 16, 32) if columns * size >= 32])
        width, factor = columns * self.one_of(1, 2), self.one_of(1, 3, 5, 7)
        programs, start = int(np.prod(self.grid)), self.room("scratch_" + dtype, REGION // 4)
        # One tensor of all programs: the rows of each begin where its memory does.
        apart = REGION // width
        if REGION % width or start % width or start + 64 * width > REGION:
            return self.assign()
        self.descriptors.append(Descriptor(f"{name}_h", f"scratch_{dtype}", 0, (programs * apart, width), (width, 1), (1, columns)))
        one = self.to(self.small((rows, columns), 2, 4), dtype)
        first = start // width
        column = self.one_of(0, width - columns)

        def run(env):
            memory = env["scratch_" + dtype]
            at = start + ((np.arange(rows) * factor) % 64)[:, None] * width + np.arange(columns) + column
            memory[at] = one.run(env)

        index = f"pid * {apart} + {first} + tl.arange(0, {rows}) * {factor} % 64"
        return [f"{name}_h.scatter({one.text}, {index}, {column})"], run

    def product_by_host(self):
        """A loop of dots of blocks that descriptors load, whose sums a descriptor stores."""
        dtype = self.one_of("float16", "float16", "bfloat16", "int8", "float8e5", "float32")
        size, name = bits(dtype) // 8, self.fresh()
        m, n, k = self.one_of(16, 32, 64, 128), self.one_of(16, 32, 64, 128), self.one_of(32, 64)
        if dtype == "float32":
            k = 32
        depth, steps, turned = self.random.randrange(8, 150), self.random.randrange(1, 5), [self.chance(0.3), self.chance(0.4)]
        rows_on, columns_on = self.random.randrange(1, 2 * m), self.random.randrange(1, 2 * n)
        row, column = self.one_of(0, 0, 8, 16), self.one_of(0, 0, 16, 8)
        starts = [0, 16]

        def described(which, count, block):
            sizes = (depth, count) if turned[which] else (count, depth)
            blocks = (k, block) if turned[which] else (block, k)
            width = -(-sizes[1] * size // 16) * 16 // size
            self.descriptors.append(Descriptor(f"{name}_{'ab'[which]}", f"small_{dtype}", starts[which], sizes, (width, 1), blocks))
            return sizes, width

        layouts = [described(0, rows_on, m), described(1, columns_on, n)]
        if any(sizes[0] * width + 16 > LENGTH * 4 for sizes, width in layouts):
            del self.descriptors[-2:]
            return self.assign()
        out = "int32" if dtype == "int8" else "float32"
        options = "warp_specialize=True", "num_stages=3", "disallow_acc_multi_buffer=True", "flatten=True"
        words = "".join(f", {option}" for option in options if self.chance(0.5))
        late = self.chance(0.3)

        def operand(env, which, count, first, at):
            (sizes, width), data = layouts[which], env["inputs"]["small_" + dtype].astype(np.float64)
            outer, inner = np.arange(count)[:, None] + first, np.arange(k)[None, :] + at * k
            places = (inner + 0 * outer, outer + 0 * inner) if turned[which] else (outer + 0 * inner, inner + 0 * outer)
            on = inside(places, sizes)
            return np.where(on, data[np.where(on, places[0] * width + places[1] + starts[which], 0)], 0)

        def run(env):
            total = np.zeros((m, n))
            for at in range(steps):
                total = total + operand(env, 0, m, row, at) @ operand(env, 1, n, column, at).T
                total = np.maximum(total, -5) if late else total
            env[name] = fit(out, total)

        self.scope.append(variable(name, out, (m, n)))
        a = f"{name}_a.load([{name}_k, {row}]).T" if turned[0] else f"{name}_a.load([{row}, {name}_k])"
        b = f"{name}_b.load([{name}_k, {column}])" if turned[1] else f"{name}_b.load([{column}, {name}_k]).T"
        lines = [
            f"{name} = tl.zeros(({m}, {n}), tl.{out})", f"for {name}_k in tl.range(0, {steps * k}, {k}{words}):",
            f"    {name} = tl.dot({a}, {b}, {name})"
        ]
        if late:
            lines.append(f"    {name} = tl.maximum({name}, -5)")
        return lines, run
