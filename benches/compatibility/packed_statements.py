"""Statements of the programs of `valued.py` whose blocks say the same for several neighbours, or count: words that hold several codes, slices of
stacks of matrices, reductions with the places of what they combine."""

import numpy as np
from expressions import Expressions
from loop_statements import own
from values import LENGTH, bits, fit, reduced, shifted, spread, variable


class PackedStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def shared_words(self):
        """Dots of codes, several of which are in a word that their rows or columns share."""
        name, dtype = self.fresh(), self.one_of("float16", "float16", "bfloat16", "float32")
        source, along = self.one_of("int32", "int32", "uint32", "int16", "uint8", "int64"), self.one_of("sums", "columns")
        width = self.one_of(*[width for width in (1, 2, 4, 8) if width < bits(source)])
        per, steps = bits(source) // width, self.random.randrange(1, 4)
        m, n, k = self.one_of(16, 32, 64), self.one_of(16, 32, 64, 128), self.one_of(32, 64, 128)
        base = self.one_of(0, 0, 0, per, 3 * per, 1, per - 1)
        limit, bound = self.one_of(None, None, steps * k - 3, steps * k // per * per - per), self.one_of(None, None, n - 3, n // 2)
        other, moves = self.random.randrange(-2, 3) % 2**(width - 1), base % per == 0 and k % per == 0 and limit is None and self.chance(0.5)
        pitch = n if along == "sums" else (n + base) // per + 1
        if max((steps * k + base) // per + 1 if along == "sums" else steps * k, 1) * pitch > LENGTH or m * steps * k > 4 * LENGTH:
            return self.assign()
        self.scope.append(variable(name, "float32", (m, n)))

        def run(env):
            words, data = env["inputs"][source].astype(object), env["inputs"]["small_" + dtype].astype(np.float64)
            inner, cols = np.arange(steps * k)[:, None], np.arange(n)[None, :]
            counted = inner + base if along == "sums" else cols + base
            place = counted // per * pitch + cols if along == "sums" else inner * pitch + counted // per
            on = np.ones((steps * k, n), bool)
            if limit is not None:
                on &= inner < limit
            if bound is not None:
                on &= cols < bound
            found = np.where(on, words[np.where(on, place, 0)], other)
            codes = (found >> (counted % per * width).astype(object)) & (2**width - 1)
            a = np.where(np.arange(steps * k) < (steps * k if limit is None else limit), data[np.arange(m)[:, None] * (steps * k) + np.arange(steps * k)], 0)
            env[name] = fit("float32", a @ codes.astype(np.float64))

        counted = f"(inner{f' + {base}' if base else ''})" if along == "sums" else f"(cols{f' + {base}' if base else ''})"
        shift = per.bit_length() - 1
        word = self.one_of(f"{counted} // {per}", f"{counted} // {per}", f"{counted} >> {shift}")
        word, side = (word, "[:, None]") if along == "sums" else (word, "[None, :]")
        first = "at" if moves else "inner"
        address = f"({word.replace('inner', first)}){side} * {pitch} + cols[None, :]" if along == "sums" else \
            f"{first}[:, None] * {pitch} + ({word}){side}"
        masks = ([f"(inner[:, None] < {limit})"] if limit is not None else []) + ([f"(cols[None, :] < {bound})"] if bound is not None else [])
        mask = f", mask={' & '.join(masks)}, other={other}" if masks else ""
        inside = f", mask=inner[None, :] < {limit}, other=0.0" if limit is not None else ""
        ahead = k // per * pitch if along == "sums" else k * pitch
        head = [f"rows, cols, at = tl.arange(0, {m}), tl.arange(0, {n}), tl.arange(0, {k})", f"total = tl.zeros(({m}, {n}), tl.float32)"]
        if moves:
            head.append(f"place = {source}_ptr + {address}")
        load = f"tl.load(place{mask})" if moves else f"tl.load({source}_ptr + {address}{mask})"
        lines = [
            *head, f"for k in tl.range(0, {steps}{self.loop_words()}):", f"    inner = at + k * {k}",
            f"    a = tl.load(small_{dtype}_ptr + rows[:, None] * {steps * k} + inner[None, :]{inside})", f"    word = {load}",
            f"    code = (word >> ({counted} % {per} * {width}).to(tl.{source}){side}) & {2**width - 1}", f"    total = tl.dot(a, code.to(tl.{dtype}), total)",
            *([f"    place += {ahead}"] if moves else []), f"{name} = total"
        ]
        return own(lines, name, "rows cols at total place inner a word code k"), run

    def stacked(self):
        """Dots of slices of a stack of matrices, with the dimensions of size 1 anywhere, which a reshape takes away or moves."""
        name, dtype = self.fresh(), self.one_of("float16", "float16", "bfloat16", "int8", "float32")
        m, n, k, steps = self.one_of(16, 64), self.one_of(16, 32, 64), self.one_of(32, 64), self.random.randrange(1, 4)
        units = [self.one_of(1, 2, 3) for _ in range(self.one_of(1, 1, 2))]
        at = self.random.randrange(2)  # In front of the rows or behind them.
        out = "int32" if dtype == "int8" else "float32"
        sizes = [*units, n, steps * k] if at == 0 else [n, *units, steps * k]
        if np.prod(sizes) > 3 * LENGTH or m * steps * k > 4 * LENGTH:
            return self.assign()
        strides = [int(np.prod(sizes[dim + 1:])) for dim in range(len(sizes))]
        block = [*(1 for _ in units), n, k] if at == 0 else [n, *(1 for _ in units), k]
        slices = [self.random.randrange(size) for size in units]
        shapes = [(n, k), (n, k), (1, n, k), (n, 1, k)]
        ways = [self.one_of(*shapes) for _ in range(self.one_of(1, 1, 2))]
        self.scope.append(variable(name, out, (m, n)))

        def run(env):
            data = env["inputs"]["small_" + dtype].astype(np.float64)
            stack = data[:int(np.prod(sizes))].reshape(sizes)
            matrix = stack[tuple(slices)] if at == 0 else stack[(slice(None), *slices)]
            a = data[np.arange(m)[:, None] * (steps * k) + np.arange(steps * k)]
            env[name] = fit(out, a @ matrix.T)

        places = [*map(str, slices), "0", f"step * {k}"] if at == 0 else ["0", *map(str, slices), f"step * {k}"]
        load = f"stack.load([{', '.join(places)}])" + "".join(f".reshape({way})" for way in ways)
        if ways[-1] != (n, k):
            load += f".reshape({(n, k)})"
        left = f"tl.load(small_{dtype}_ptr + tl.arange(0, {m})[:, None] * {steps * k} + tl.arange(0, {k})[None, :] + step * {k})"
        return own([
            f"stack = tl.make_tensor_descriptor(small_{dtype}_ptr, {sizes}, {strides}, {block})", f"total = tl.zeros(({m}, {n}), tl.{out})",
            f"for step in tl.range(0, {steps}{self.loop_words()}):", f"    total = tl.dot({left}, {load}.T, total)", f"{name} = total"
        ], name, "stack total step"), run

    def counted_places(self):
        """Reductions whose region compares the places of what it combines."""
        whole, name = self.shape(1, 3, 1024), self.fresh()
        axis = self.random.randrange(len(whole))
        left, start = whole[:axis] + whole[axis + 1:], self.one_of(0, 0, 0, 1, 5, -1, -whole[axis])
        dtype, few = self.one_of("int32", "int8", "uint16", "int64"), self.one_of(1, 3, 127)
        one = self.to(self.simple(whole, 1), dtype)
        text, wide = self.one_of("i < j", "j > i", "i <= j", "j >= i", "i > j", "j < i", "i >= j", "j <= i"), self.chance(0.3)
        last, way, other = text in ("i > j", "j < i", "i >= j", "j <= i"), self.one_of(">", "<", None), self.chance(0.4)
        unsigned = self.chance(0.2)
        results = [f"{name}_v", f"{name}_i", *([f"{name}_s"] if other else [])]

        def key(numbers):
            return numbers.astype(np.uint32) if unsigned else numbers

        def combine(x, y):
            later = key(x[1]) < key(y[1])
            take = later == (not last)
            if way:
                take = ((x[0] > y[0]) if way == ">" else (x[0] < y[0])) | ((x[0] == y[0]) & take)
            found = [np.where(take, x[0], y[0]), np.where(take, x[1], y[1])]
            return found + [x[2] + y[2]] if other else found

        def run(env):
            values = one.run(env) & np.int64(few).astype(dtype)
            arrays = [values, (spread(whole, axis) + start).astype(np.int32)] + ([values] if other else [])
            env.update(zip(results, map(np.asarray, reduced(arrays, axis, combine))))

        for letter in "ij":
            if unsigned:
                text = text.replace(letter, f"{letter}.to(tl.uint32)")
            elif wide:
                text = text.replace(letter, f"{letter}.to(tl.int64)")
        first = f"(a {way} b) | ((a == b) & ({text}))" if way else text
        parameters, sums = ("a, i, s, b, j, t", ", (s + t).to(s.dtype)") if other else ("a, i, b, j", "")
        self.helpers.append(f"@triton.jit\ndef {name}_f({parameters}):\n    first = {first}\n"
                            f"    return tl.where(first, a, b), tl.where(first, i, j){sums}")
        dtypes = [dtype, "int32", *([dtype] if other else [])]
        self.scope += [variable(result, kind, left) for result, kind in zip(results, dtypes)]
        places = shifted(whole, axis).replace("arange(0, ", f"arange({start}, ").replace(f" {whole[axis]})", f" {whole[axis] + start})", 1)
        return [
            f"{name}_x = ({one.text} & {few}).to(tl.{dtype})", f"{name}_p = tl.broadcast_to({places}, {whole})",
            f"{', '.join(results)} = tl.reduce(({name}_x, {name}_p{f', {name}_x' if other else ''}), {axis}, {name}_f)"
        ], run
