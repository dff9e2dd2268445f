"""Statements of the programs of `valued.py` that change memory, or find it by block pointers and descriptors."""

import numpy as np
from expressions import Expressions
from values import FLOATS, INTEGERS, LENGTH, REGION, SCRATCH, Expr, bits, fit, numpy_type, shifted, spread, variable


class MemoryStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def atomic(self):
        """An atomic on elements of its own, whose result is used, or on shared ones, that all programs change."""
        dtype = self.one_of("int32", "uint32", "int64", "uint64", "float32", "float64", "float16")
        names = ["add"] if dtype.startswith("f") else ["add", "max", "min", "and", "or", "xor", "xchg"]
        name, shape = self.one_of(*names), self.shape(0, 3, 256)
        numel, mask = int(np.prod(shape)), self.mask(shape, 1) if self.chance(0.6) and shape else None
        value = self.to(self.small(shape, 1, 4), dtype) if dtype.startswith("f") else self.to(self.simple(shape, 1), dtype)
        start = self.room("scratch_" + dtype, numel)
        place = " + ".join(
            [f"(pid * {REGION} + {start})", *(f"{shifted(shape, dim)} * {int(np.prod(shape[dim + 1:]))}" for dim in range(len(shape)))])
        result = self.fresh()
        functions = {
            "add": np.add,
            "max": np.maximum,
            "min": np.minimum,
            "and": np.bitwise_and,
            "or": np.bitwise_or,
            "xor": np.bitwise_xor,
            "xchg": lambda x, y: y
        }

        def run(env):
            memory = env["scratch_" + dtype]
            at = np.arange(numel).reshape(shape) + start
            old, on = memory[at], mask.run(env) if mask else np.ones(shape, bool)
            memory[at] = np.where(on, fit(dtype, functions[name](old, value.run(env))), old)
            env[result] = np.where(on, old, numpy_type(dtype).type(0))

        words = self.one_of("", "", ', sem="relaxed"', ', sem="release"', ', scope="cta"')
        line = f"{result} = tl.atomic_{name}(scratch_{dtype}_ptr + ({place}), {value.text}{f', mask={mask.text}' if mask else ''}{words})"
        if mask:
            line = f"{result} = tl.where({mask.text}, {line.split(' = ', 1)[1]}, 0)"
        if self.chance(0.7):
            self.scope.append(variable(result, dtype, shape))
        return [line], run

    def collected(self):
        """An atomic many of whose elements go to one address."""
        dtype = self.one_of("int32", "uint32", "int64", "uint64", "float32", "float64")
        names = ["add"] if dtype.startswith("f") else ["add", "max", "min", "and", "or", "xor"]
        name, shape, size = self.one_of(*names), self.shape(1, 3, 512), self.one_of(1, 4, 16)
        mask = self.mask(shape, 1) if self.chance(0.5) else None
        value = self.to(self.small(shape, 1, 4), dtype) if dtype.startswith("f") else self.to(self.simple(shape, 1), dtype)
        at = self.integer(shape, 1, ("int32", "int64", "uint8"))
        start = self.room("scratch_" + dtype, size)
        functions = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}

        def run(env):
            memory, on = env["scratch_" + dtype], mask.run(env) if mask else np.ones(shape, bool)
            places = (at.run(env) & numpy_type(at.dtype).type(size - 1)).astype(np.int64) + start
            functions[name].at(memory, places[on], value.run(env)[on])

        place = f"scratch_{dtype}_ptr + (pid * {REGION} + {start}) + ({at.text} & {size - 1})"
        return [f"tl.atomic_{name}({place}, {value.text}{f', mask={mask.text}' if mask else ''})"], run

    def room(self, name, numel):
        start = self.used.get(name, 0)
        self.used[name] = start + -(-numel // 16) * 16
        return start

    def described(self):
        """A load by a descriptor, at places inside and outside of its tensor."""
        dtype, name = self.one_of("int8", "int32", "float16", "float32", "bfloat16", "int16", "float8e5", "uint8"), self.fresh()
        size = max(1, bits(dtype) // 8)
        rank = self.one_of(1, 2, 2, 3, 4)
        block = tuple([self.one_of(1, 2, 4, 8) for _ in range(rank - 1)] + [self.one_of(16 // size, 32 // size, 64 // size, 64)])
        shape = tuple(self.random.randrange(1, 9) for _ in range(rank - 1)) + (self.random.randrange(1, 40), )
        strides, stride = [1], -(-shape[-1] * size // 16) * 16 // size
        for dim in range(rank - 1, 0, -1):
            strides.insert(0, stride)
            stride *= shape[dim - 1]
        if stride > LENGTH:
            return self.assign()
        corner = [self.random.randrange(-4, 8) for _ in range(rank)]
        texts = [self.one_of(f"{at}", f"{at - 1} + tl.num_programs(2)" if len(self.grid) < 3 else f"{at}") for at in corner]

        def run(env):
            places = [spread(block, dim) + corner[dim] for dim in range(rank)]
            inside = np.all([(place >= 0) & (place < size) for place, size in zip(places, shape)], axis=0)
            at = sum(place * stride for place, stride in zip(places, strides))
            env[name] = np.where(inside, env["inputs"][dtype][np.where(inside, at, 0)], numpy_type(dtype).type(0))

        self.scope.append(variable(name, dtype, block))
        return [
            f"{name}_d = tl.make_tensor_descriptor({dtype}_ptr, {list(shape)}, {strides}, {list(block)})",
            f"{name} = {name}_d.load([{', '.join(texts)}])"
        ], run

    def own(self, name, start, shape, order=None):
        """The text and value of an index into a program's own part of memory, row-major in an order of the dimensions."""
        order = order or range(len(shape))
        steps, step = [0] * len(shape), 1
        for dim in reversed(order):
            steps[dim] = step
            step *= shape[dim]
        text = " + ".join([f"(pid * {REGION} + {start})", *(f"{shifted(shape, dim)} * {steps[dim]}" for dim in range(len(shape)))])
        return f"{name}_ptr + ({text})", sum((spread(shape, dim) * steps[dim] for dim in range(len(shape))), np.full(shape, start))

    def through(self):
        """Stored, and loaded in another order."""
        dtype, shape, result = self.one_of(*SCRATCH), self.shape(0, 3, 512), self.fresh()
        numel, value = int(np.prod(shape)), self.to(self.simple(shape, 2), dtype)
        mask = self.mask(shape, 1) if shape and self.chance(0.5) else None
        start = self.room("scratch_" + dtype, numel)
        other = self.random.sample(shape, len(shape))
        order = self.random.sample(range(len(shape)), len(shape))
        text, at = self.own("scratch_" + dtype, start, shape)
        again, from_at = self.own("scratch_" + dtype, start, tuple(other), order)

        def run(env):
            memory = env["scratch_" + dtype]
            memory[at] = np.where(mask.run(env), value.run(env), memory[at]) if mask else value.run(env)
            env[result] = memory[from_at].copy()

        self.scope.append(Expr(result, dtype, tuple(other), lambda env: env[result]))
        return [f"tl.store({text}, {value.text}{f', mask={mask.text}' if mask else ''})", f"{result} = tl.load({again})"], run

    def laid_out(self, rank):
        """Sizes of a tensor, its strides with its dimensions in any order, how many elements it spans, and the order, the fastest first."""
        sizes, order = [self.random.randrange(1, 20) for _ in range(rank)], self.random.sample(range(rank), rank)
        strides, stride = [0] * rank, 1
        for dim in order:
            strides[dim] = stride
            stride *= sizes[dim] + self.one_of(0, 0, 3)
        return sizes, strides, stride, order

    def advanced(self):
        """A block pointer that walks."""
        dtype, rank, result = self.one_of("int8", "int32", "float16", "float32", "int64", "uint8"), self.one_of(1, 2, 2, 3), self.fresh()
        block = tuple(self.one_of(1, 2, 4, 8, 16) for _ in range(rank))
        sizes, strides, stride, order = self.laid_out(rank)
        corner, step = [self.random.randrange(0, 6) for _ in range(rank)], [self.random.randrange(-1, 5) for _ in range(rank)]
        corner = [at + 4 if ahead < 0 else at for at, ahead in zip(corner, step)]
        count = self.random.randrange(1, 4)
        sums = "int64" if dtype in INTEGERS else "float64"
        if stride > LENGTH:
            return self.assign()

        def run(env):
            total = np.zeros(block, sums)
            for turn in range(count):
                places = [spread(block, dim) + corner[dim] + turn * step[dim] for dim in range(rank)]
                inside = np.all([(place >= 0) & (place < size) for place, size in zip(places, sizes)], axis=0)
                at = sum(place * stride for place, stride in zip(places, strides))
                values = fit(sums, np.where(inside, env["inputs"][dtype][np.where(inside, at, 0)], numpy_type(dtype).type(0)))
                total = total * total.dtype.type(2) + values
            env[result] = total

        def listed(numbers):
            return "(" + "".join(f"{number}, " for number in numbers) + ")"

        self.scope.append(variable(result, sums, block))
        return [
            f"{result}_b = tl.make_block_ptr({dtype}_ptr, {', '.join(map(listed, (sizes, strides, corner, block, order[::-1])))})",
            f"{result} = tl.zeros({block}, tl.{sums})", f"for k in tl.range({count}, num_stages={self.one_of(1, 2, 3)}):",
            f'    {result} = {result} * 2 + tl.load({result}_b, boundary_check={tuple(range(rank))}, padding_option="zero").to(tl.{sums})',
            f"    {result}_b = tl.advance({result}_b, {listed(step)})"
        ], run

    def kept(self):
        """A store of another type, with a mask."""
        dtype, shape = self.one_of(*INTEGERS, *FLOATS), self.shape(0, 4)
        numel = int(np.prod(shape))
        wide = {
            "int8": "int32",
            "int16": "int64",
            "uint8": "uint16",
            "float16": "float32",
            "bfloat16": "float32",
            "int32": "int8",
            "float32": "int8",
            "float64": "float16"
        }.get(dtype, dtype)
        one = self.to(self.simple(shape, 2), wide)
        if wide != dtype and dtype in FLOATS and wide in ("float32", "float64"):
            one = self.whole(one)
        mask, start = self.mask(shape, 1) if shape and self.chance(0.6) else None, self.room("out_" + dtype, numel)
        text, at = self.own("out_" + dtype, start, shape)
        words = self.one_of("", "", ', cache_modifier=".cs"', ', eviction_policy="evict_last"', ', cache_modifier=".wt"')

        def run(env):
            memory = env["out_" + dtype]
            memory[at] = np.where(mask.run(env), fit(dtype, one.run(env)), memory[at]) if mask else fit(dtype, one.run(env))

        return [f"tl.store({text}, {one.text}{f', mask={mask.text}' if mask else ''}{words})"], run

    def copied(self):
        """Stores and sums by descriptors, at places inside and outside of their tensor."""
        dtype = self.one_of("int32", "float32", "float16", "uint32", "int64")
        size = bits(dtype) // 8
        rows, columns = self.one_of(1, 2, 4, 8, 16, 32), self.one_of(16 // size, 32 // size, 64 // size)
        columns = max(columns, 2)
        height, width = self.random.randrange(1, 40), self.random.randrange(1, 5) * 16 // size
        start, one = self.room("scratch_" + dtype, height * width), self.to(
            self.small((rows, columns), 2, 4) if dtype.startswith("f") else self.simple((rows, columns), 2), dtype)
        ways = ["store", "store", "atomic_add"] + (["atomic_min", "atomic_max"] if dtype in ("int32", "uint32") else [])
        way, corner, name = self.one_of(*ways), [self.random.randrange(-2, 6), self.random.randrange(-2, 6)], self.fresh()
        if dtype == "int64" and way != "store":
            way = "store"
        functions = {"store": lambda x, y: y, "atomic_add": np.add, "atomic_min": np.minimum, "atomic_max": np.maximum}
        self.scope.append(variable(name, dtype, (rows, columns)))

        def run(env):
            memory = env["scratch_" + dtype]
            places = [spread((rows, columns), dim) + corner[dim] for dim in (0, 1)]
            inside = (places[0] >= 0) & (places[0] < height) & (places[1] >= 0) & (places[1] < width)
            at = (places[0] * width + places[1] + start)[inside]
            memory[at] = fit(dtype, functions[way](memory[at], one.run(env)[inside]))
            env[name] = np.zeros((rows, columns), memory.dtype)
            env[name][inside] = memory[at]

        return [
            f"{name}_p = scratch_{dtype}_ptr + (pid * {REGION} + {start})",
            f"{name}_d = tl.make_tensor_descriptor({name}_p, [{height}, {width}], [{width}, 1], [{rows}, {columns}])",
            f"{name}_d.{way}([{corner[0]}, {corner[1]}], {one.text})", f"{name} = {name}_d.load([{corner[0]}, {corner[1]}])"
        ], run

    def exchanged(self):
        """Compare and swap of elements of its own."""
        dtype, shape, result = self.one_of("int32", "int64", "uint32", "uint64"), self.shape(0, 2, 128), self.fresh()
        numel = int(np.prod(shape))
        one, two = self.to(self.simple(shape, 1), dtype), self.to(self.simple(shape, 1), dtype)
        start = self.room("scratch_" + dtype, numel)
        text, at = self.own("scratch_" + dtype, start, shape)

        def run(env):
            memory = env["scratch_" + dtype]
            old = memory[at].copy()
            memory[at] = np.where(old == one.run(env), two.run(env), old)
            env[result] = old

        self.scope.append(variable(result, dtype, shape))
        return [f"{result} = tl.atomic_cas({text}, {one.text}, {two.text})"], run
