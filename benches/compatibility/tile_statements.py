"""Statements of the programs of `valued.py` as kernels of tiles have them: tiles round dots, sums that a condition starts again, batches, codes of
four bits, block pointers that store."""

import numpy as np
from expressions import Expressions
from host_statements import inside
from loop_statements import own
from values import LENGTH, REGION, bits, fit, numpy_type, spread, variable


def listed(numbers):
    return "(" + "".join(f"{number}, " for number in numbers) + ")"


class TileStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def loop_words(self):
        words = ("flatten=True", "warp_specialize=True", "disallow_acc_multi_buffer=True", "loop_unroll_factor=2")
        return f", num_stages={self.one_of(1, 2, 3, 4)}" + "".join(f", {word}" for word in words if self.chance(0.25))

    def tiled(self):
        """Tiles, one after the other, each with a loop of dots, whose sums go to memory."""
        name, dtype = self.fresh(), self.one_of("float16", "bfloat16", "int8", "float8e5", "float32")
        m, n, k = self.one_of(16, 32, 64, 128), self.one_of(16, 32, 64), self.one_of(32, 64)
        tiles, steps, stores = self.random.randrange(1, 5), self.random.randrange(1, 4), self.one_of("pointers", "descriptor", "block")
        out = "int32" if dtype == "int8" else "float32"
        if self.used.get("scratch_" + out, 0) + tiles * m * n > REGION:
            return self.assign()
        start, size = self.room("scratch_" + out, tiles * m * n), bits(dtype) // 8
        flat, described, late = self.chance(0.4), self.chance(0.5), self.chance(0.3)
        depth, width = steps * k, -(-steps * k * size // 16) * 16 // size
        limit = depth - self.one_of(0, 0, 3, 8)
        if (tiles * m + n) * width + 16 > 4 * LENGTH:
            return self.assign()

        def run(env):
            data, memory = env["inputs"]["small_" + dtype].astype(np.float64), env["scratch_" + out]
            inner = np.arange(depth)
            for tile in range(tiles):
                a = np.where(inner < limit, data[(np.arange(m) + tile * m)[:, None] * width + inner], 0)
                b = np.where(inner < limit, data[np.arange(n)[:, None] * width + inner + 16], 0)
                total = a @ b.T + (tile if late else 0)
                memory[start + tile * m * n:start + (tile + 1) * m * n] = fit(out, total).reshape(-1)

        ptr, zero = f"small_{dtype}_ptr", "0" if dtype == "int8" else "0.0"
        head = [f"rows, cols, at = tl.arange(0, {m}), tl.arange(0, {n}), tl.arange(0, {k})",
                f"base = scratch_{out}_ptr + (pid * {REGION} + {start})"]
        if described:
            head += [f"left = tl.make_tensor_descriptor({ptr}, [{tiles * m}, {limit}], [{width}, 1], [{m}, {k}])",
                     f"right = tl.make_tensor_descriptor({ptr} + 16, [{n}, {limit}], [{width}, 1], [{n}, {k}])"]
            a, b = "left.load([tile * {m}, step * {k}])", "right.load([0, step * {k}]).T"
        else:
            a = f"tl.load({ptr} + (rows[:, None] + tile * {{m}}) * {width} + at[None, :] + step * {{k}}, " \
                f"mask=at[None, :] + step * {{k}} < {limit}, other={zero})"
            b = f"tl.load({ptr} + 16 + cols[None, :] * {width} + at[:, None] + step * {{k}}, mask=at[:, None] + step * {{k}} < {limit}, other={zero})"
        a, b = a.replace("{m}", str(m)).replace("{k}", str(k)), b.replace("{m}", str(m)).replace("{k}", str(k))
        store = {"pointers": f"tl.store(base + tile * {m * n} + rows[:, None] * {n} + cols[None, :], total)",
                 "descriptor": f"sums.store([tile * {m}, 0], total)",
                 "block": f"tl.store(tl.make_block_ptr(base, ({tiles * m}, {n}), ({n}, 1), (tile * {m}, 0), ({m}, {n}), (1, 0)), total, "
                          f"boundary_check={self.one_of('(0, 1)', '(0, )', '()')})"}[stores]
        if stores == "descriptor":
            head.append(f"sums = tl.make_tensor_descriptor(base, [{tiles * m}, {n}], [{n}, 1], [{m}, {n}])")
        more = ["total += tile"] if late and out == "int32" else ["total += tile.to(tl.float32)"] if late else []
        dot = self.one_of(f"tl.dot({a}, {b}, total)", f"tl.dot({a}, {b}, acc=total)", f"total + tl.dot({a}, {b})")
        if flat:
            lines = [f"total = tl.zeros(({m}, {n}), tl.{out})", f"for both in tl.range(0, {tiles * steps}{self.loop_words()}):",
                     f"    tile, step = both // {steps}, both % {steps}", f"    total = {dot}", f"    if step == {steps - 1}:",
                     *("        " + line for line in [*more, store, f"total = tl.zeros(({m}, {n}), tl.{out})"])]
        else:
            lines = [f"for tile in tl.range(0, {tiles}{self.loop_words()}):", f"    total = tl.zeros(({m}, {n}), tl.{out})",
                     f"    for step in tl.range(0, {steps}, num_stages={self.one_of(1, 2, 3)}):", f"        total = {dot}",
                     *("    " + line for line in [*more, store])]
        return own([*head, *lines], name, "rows cols at base left right sums total tile step both"), run

    def batches(self):
        """Dots of three dimensions in a loop, of blocks that descriptors load."""
        name, dtype = self.fresh(), self.one_of("float16", "bfloat16", "int8", "float32")
        batch, m, n, k = self.one_of(1, 2, 4), self.one_of(16, 32), self.one_of(16, 32), self.one_of(32, 64)
        steps, size, out = self.random.randrange(1, 4), bits(dtype) // 8, "int32" if dtype == "int8" else "float32"
        depth = steps * k - self.one_of(0, 0, 5)
        width = -(-depth * size // 16) * 16 // size
        turned = self.chance(0.4)
        tall = -(-(n - self.one_of(0, 0, 3)) * size // 16) * 16 // size
        if batch * max(m, n) * max(width, steps * k) > 2 * LENGTH:
            return self.assign()
        self.scope.append(variable(name, out, (batch, m, n)))

        def run(env):
            data, total = env["inputs"]["small_" + dtype].astype(np.float64), np.zeros((batch, m, n))
            count, inner = np.arange(batch)[:, None, None], np.arange(steps * k)[None, None, :]
            a = np.where(inner < depth, data[np.where(inner < depth, (count * m + np.arange(m)[:, None]) * width + inner, 0)], 0)
            if turned:
                y, x = np.arange(steps * k)[None, :, None], np.arange(n)[None, None, :]
                on = (y < depth) & (x < tall)
                b = np.where(on, data[np.where(on, (count * depth + y) * tall + x + 16, 0)], 0)
            else:
                b = np.where(inner < depth, data[np.where(inner < depth, (count * n + np.arange(n)[:, None]) * width + inner + 16, 0)], 0)
                b = np.swapaxes(b, 1, 2)
            env[name] = fit(out, total + a @ b)

        ptr = f"small_{dtype}_ptr"
        right = f"[{batch}, {depth}, {tall}], [{depth * tall}, {tall}, 1], [{batch}, {k}, {n}]" if turned else \
            f"[{batch}, {n}, {depth}], [{n * width}, {width}, 1], [{batch}, {n}, {k}]"
        load = f"{name}_r.load([0, {name}_k, 0])" if turned else f"tl.permute({name}_r.load([0, 0, {name}_k]), 0, 2, 1)"
        return [
            f"{name}_l = tl.make_tensor_descriptor({ptr}, [{batch}, {m}, {depth}], [{m * width}, {width}, 1], [{batch}, {m}, {k}])",
            f"{name}_r = tl.make_tensor_descriptor({ptr} + 16, {right})", f"{name} = tl.zeros(({batch}, {m}, {n}), tl.{out})",
            f"for {name}_k in tl.range(0, {steps * k}, {k}, num_stages={self.one_of(1, 2, 3)}):",
            f"    {name} = tl.dot({name}_l.load([0, 0, {name}_k]), {load}, {name})"
        ], run

    def nibbles(self):
        """Dots of codes of four bits, two in a byte, with a zero point and a scale for each group of rows."""
        name, dtype = self.fresh(), self.one_of("float16", "bfloat16", "float32", "int8")
        m, n, k, steps = self.one_of(16, 32, 64), self.one_of(16, 32, 64), self.one_of(32, 64), self.random.randrange(1, 4)
        along, signed, way = self.one_of("sums", "columns"), self.chance(0.5), self.one_of("interleave", "join")
        zero, out = self.random.randrange(9), "int32" if dtype == "int8" else "float32"
        group = self.one_of(None, 16, 32) if dtype != "int8" else None
        self.scope.append(variable(name, out, (m, n)))
        ptr, source = f"small_{dtype}_ptr", "int8" if signed else "uint8"
        shape = (k // 2, n) if along == "sums" else (k, n // 2)

        def run(env):
            data, codes, total = env["inputs"]["small_" + dtype].astype(np.float64), env["inputs"][source], np.zeros((m, n))
            for at in range(steps):
                byte = codes[(np.arange(shape[0]) + at * shape[0])[:, None] * shape[1] + np.arange(shape[1])].astype(np.int64)
                low, high = (byte << 60) >> 60 if signed else byte & 15, byte >> 4
                if along == "sums":
                    b = np.stack([low, high], 1).reshape(k, n)
                else:
                    b = np.stack([low, high], -1).reshape(k, n)
                b = (b - zero).astype(np.float64)
                if group:
                    b = b * (2.0**((np.arange(k) + at * k) // group % 3))[:, None]
                a = data[np.arange(m)[:, None] * (steps * k) + np.arange(k) + at * k]
                total = total + a @ b
            env[name] = fit(out, total)

        inner = "half" if along == "sums" else "at"
        right = "cols" if along == "sums" else "pairs"
        lines = [
            f"rows, cols, at = tl.arange(0, {m}), tl.arange(0, {n}), tl.arange(0, {k})", f"half, pairs = tl.arange(0, {k // 2}), tl.arange(0, {n // 2})",
            f"{name} = tl.zeros(({m}, {n}), tl.{out})", f"for k in tl.range(0, {steps}{self.loop_words()}):",
            f"    a = tl.load({ptr} + rows[:, None] * {steps * k} + at[None, :] + k * {k})",
            f"    byte = tl.load({source}_ptr + ({inner}[:, None] + k * {shape[0]}) * {shape[1]} + {right}[None, :])"
        ]
        lines.append("    low, high = (byte << 4).to(tl.int8) >> 4, byte >> 4" if signed else "    low, high = byte & 15, byte >> 4")
        both = "low, high" if along == "columns" else "low.T, high.T"
        lines.append(f"    b = tl.interleave({both})" if way == "interleave" else
                     f"    b = tl.reshape(tl.join({both}), {(k, n) if along == 'columns' else (n, k)})")
        if along == "sums":
            lines.append("    b = b.T")
        lines.append(f"    b = (b.to(tl.int8) - {zero}).to(tl.{dtype})")
        if group:
            lines.append(f"    b = (b * tl.exp2(((at + k * {k}) // {group} % 3).to(tl.float32))[:, None]).to(tl.{dtype})")
        words = self.one_of("", ", max_num_imprecise_acc=32" if dtype == "int8" else "", f", out_dtype=tl.{out}")
        lines.append(f"    {name} = tl.dot(a, b, acc={name}{words})")
        return own(lines, name, "rows cols at half pairs k a b byte low high"), run

    def stored_blocks(self):
        """A block pointer that walks and stores, also partly outside, and adds what was there."""
        dtype, rank, name = self.one_of("int32", "float32", "float16", "int64", "uint32"), self.one_of(1, 2, 2, 3), self.fresh()
        block = tuple(self.one_of(1, 2, 4, 8, 16) for _ in range(rank))
        sizes, strides, stride, order = self.laid_out(rank)
        corner, step = [self.random.randrange(-3, 6) for _ in range(rank)], [self.random.randrange(-1, 5) for _ in range(rank)]
        count, adds = self.random.randrange(1, 4), self.chance(0.5)
        if self.used.get("scratch_" + dtype, 0) + stride > REGION // 2:
            return self.assign()
        start = self.room("scratch_" + dtype, stride)
        one = self.to(self.small(block, 1, 4) if dtype.startswith("f") else self.simple(block, 1), dtype)

        def run(env):
            memory, values = env["scratch_" + dtype], one.run(env)
            for turn in range(count):
                places = [spread(block, dim) + corner[dim] + turn * step[dim] for dim in range(rank)]
                on = inside(places, sizes)
                at = (sum(place * stride for place, stride in zip(places, strides)) + start)[on]
                memory[at] = fit(dtype, memory[at] + values[on] if adds else values[on])

        check, words = f"boundary_check={tuple(range(rank))}", self.one_of("", ', eviction_policy="evict_first"', ', cache_modifier=".cs"')
        value = f"tl.load({name}_b, {check}) + {one.text}" if adds else one.text
        return [
            f"{name}_b = tl.make_block_ptr(scratch_{dtype}_ptr + (pid * {REGION} + {start}), "
            f"{', '.join(map(listed, (sizes, strides, corner, block, order[::-1])))})",
            f"for {name}_k in tl.range({count}, num_stages={self.one_of(1, 2, 3)}):", f"    tl.store({name}_b, ({value}).to(tl.{dtype}), {check}{words})",
            f"    {name}_b = {name}_b.advance({listed(step)})" if self.chance(0.5) else f"    {name}_b = tl.advance({name}_b, {listed(step)})"
        ], run

    def narrow_rows(self):
        """Rows of numbers of eight bits that an index picks by a descriptor of the kernel, in a loop."""
        dtype, name = self.one_of("float8e5", "float8e4nv", "uint8", "int8"), self.fresh()
        rows, columns, count = self.one_of(8, 16, 32), self.one_of(32, 64), self.one_of(1, 2, 3)
        height, width = self.random.randrange(8, 60), -(-self.random.randrange(columns, 200) // 16) * 16
        index, column = self.integer((rows, ), 1, ("int32", )), self.one_of(0, 16, 32)
        sums = "float32" if dtype.startswith("f") else "int32"
        self.scope.append(variable(name, sums, (rows, columns)))

        def run(env):
            total, source = np.zeros((rows, columns), sums), env["inputs"][dtype]
            for turn in range(count):
                at = ((index.run(env) & np.int32(31)) + np.int32(turn))[:, None] + np.zeros((1, columns), np.int32)
                places = [at, np.arange(columns)[None, :] + column + 0 * at]
                on = inside(places, (height, width))
                values = np.where(on, source[np.where(on, places[0] * width + places[1], 0)], numpy_type(dtype).type(0))
                total = np.where(total > values.astype(sums), total, values.astype(sums))
            env[name] = total + numpy_type(sums).type(0)

        return [
            f"{name}_d = tl.make_tensor_descriptor({dtype}_ptr, [{height}, {width}], [{width}, 1], [1, {columns}])",
            f"{name}_i = {index.text} & 31", f"{name} = tl.zeros(({rows}, {columns}), tl.{sums})", f"for {name}_k in range({count}):",
            f"    {name}_v = {name}_d.gather({name}_i + {name}_k, {column}).to(tl.{sums})", f"    {name} = tl.where({name} > {name}_v, {name}, {name}_v)",
            f"{name} = {name} + 0"
        ], run
