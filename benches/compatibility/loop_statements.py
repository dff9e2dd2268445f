"""Loops of the programs of `valued.py` of which more is known than that they repeat statements: pointers that move, dots, attention."""

import re

import numpy as np
from expressions import Expressions
from values import INTEGERS, bits, fit, shifted, spread, variable


def own(lines, prefix, names):
    """The same lines with names that no other statement has."""
    pattern = re.compile(rf"\b({'|'.join(names.split())})\b(?!=)")
    return [pattern.sub(lambda found: f"{prefix}_{found[0]}", line) for line in lines]


class LoopStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def walked(self):
        """Pointers that move in a loop."""
        dtype, shape, name = self.one_of("int32", "int8", "float16", "float32", "int64", "bfloat16", "uint16"), self.shape(1, 3, 512), self.fresh()
        text, place = self.place(shape)
        steps, ahead, stages = self.one_of("n", "3", "4"), self.one_of(1, 16, 64, 7), self.one_of(1, 2, 3, 4)
        dim, limit, number = self.random.randrange(len(shape)), self.random.randrange(1, 20), self.random.randrange(3)
        sums = "int64" if dtype in INTEGERS else "float64"
        mask = f"tl.broadcast_to({shifted(shape, dim)} < {limit} - k, {shape})"
        self.scope.append(variable(name, sums, shape))

        def run(env):
            total = np.zeros(shape, sums)
            for k in range(env["n"] if steps == "n" else int(steps)):
                total = total + np.where(spread(shape, dim) < limit - k, env["inputs"][dtype][place(env) + k * ahead], fit(dtype,
                                                                                                                           number)).astype(sums)
            env[name] = total

        return [
            f"{name} = tl.zeros({shape}, tl.{sums})", f"{name}_at = {dtype}_ptr + ({text})", f"for k in tl.range(0, {steps}, num_stages={stages}):",
            f"    {name} += tl.load({name}_at, mask={mask}, other={number})", f"    {name}_at += {ahead}"
        ], run

    def product(self):
        """A loop of dots along moving or computed pointers, with masks, and what kernels do to operands and sums on the way."""
        one_of, name = self.one_of, self.fresh()
        m, n, k, steps = one_of(16, 16, 32, 64, 128), one_of(8, 16, 32, 64, 128), one_of(16, 32, 64), self.random.randrange(1, 5)
        dtype = one_of("int8", "float16", "float16", "bfloat16", "float32", "float8e5", "float64")
        k = max(k, 32 if bits(dtype) == 8 else 16)
        out = {"int8": "int32", "float64": "float64"}.get(dtype, "float32")
        source = one_of("int8", dtype) if dtype in ("float16", "bfloat16", "float64") else dtype
        source = "float32" if source == "float64" else source
        turned, moves, limit, rows_on, zero = [self.chance(0.4), self.chance(0.3)
                                               ], self.chance(0.5), self.random.randrange(1, 150), self.random.randrange(1, 130), one_of(0, 0, 1)
        changes = [word for word in ("plus", "scale", "sum", "skip", "half", "chain", "late", "outer") if self.chance(0.2)]
        if "chain" in changes:
            n = max(n, 32)
        other, places = self.fresh(), [37, 29]

        def operand(env, at, rows, data):
            """Rows of one of the operands, and its columns along the sums."""
            side, count = rows
            inner = np.arange(k) + at * k
            index = np.arange(count)[:, None]
            place = inner * 140 + index if turned[side] else index * places[side] + inner
            on = (inner < limit) & (index < rows_on) if side == 0 else inner[None, :] + index * 0 < limit
            return np.where(on, data[place + 3 * side], zero)

        def run(env):
            data = env["inputs"]["small_" + source].astype(np.float64)
            total, sums = np.zeros((m, n)), np.zeros(m)
            for turn in range(2 if "outer" in changes else 1):
                for at in range(steps):
                    x, y = operand(env, at, (0, m), data), operand(env, at, (1, n), data)
                    x = x + 1 if "plus" in changes else x
                    x = x * (np.arange(m)[:, None] % 2 + 1) if "scale" in changes else x
                    sums += x.sum(1)
                    if "skip" in changes and at % 2 == 1:
                        total += 1
                    else:
                        total = (np.where(np.arange(n) < 5, 0, total) if "half" in changes else total) + x @ y.T
                if "late" in changes:
                    total = np.maximum(total, -3)
            if "chain" in changes:
                total = np.clip(total, -2, 2) @ data[np.arange(n)[:, None] * 16 + np.arange(16)]
            env[name], env[other] = fit(out, total), fit(out, sums)

        wide = 16 if "chain" in changes else n
        self.scope += [variable(name, out, (m, wide)), variable(other, out, (m, ))]
        ptr, number = f"small_{source}_ptr", f"{zero}" if source == "int8" else f"{zero}.0"

        def loaded(side, along):
            rows, columns = ("[:, None]", "[None, :]") if side == 0 else ("[None, :]", "[:, None]")
            index = f"{('rows', 'cols')[side]}{rows}"
            place = f"{along}{columns} * 140 + {index}" if turned[side] else f"{index} * {places[side]} + {along}{columns}"
            return f"{ptr} + {3 * side} + {place}", 140 * k if turned[side] else k

        along = "at" if moves else "(at + k)"
        (a, step_a), (b, step_b) = loaded(0, along), loaded(1, along)
        words = one_of("", ", warp_specialize=True", ", loop_unroll_factor=2", ", disallow_acc_multi_buffer=True", ", flatten=True")
        head = [
            f"rows, cols, at = tl.arange(0, {m}), tl.arange(0, {n}), tl.arange(0, {k})", f"{name}_t = tl.zeros(({m}, {n}), tl.{out})",
            f"{other} = tl.zeros(({m}, ), tl.{out})"
        ]
        body = [f"left_at, right_at = {a}, {b}"] if moves else []
        body += [f"for k in tl.range(0, {steps * k}, {k}, num_stages={one_of(1, 2, 3, 4)}{words}):"]
        inner = [] if moves else [f"left_at, right_at = {a}, {b}"]
        inner += [
            f"left = tl.load(left_at, mask=(at[None, :] + k < {limit}) & (rows[:, None] < {rows_on}), other={number})",
            f"right = tl.load(right_at, mask=(at[:, None] + k < {limit}), other={number})"
        ]
        if moves:
            inner += [f"left_at += {step_a}", f"right_at += {step_b}"]
        if source != dtype:
            inner += [f"left, right = left.to(tl.{dtype}), right.to(tl.{dtype})"]
        middle = "int32" if dtype == "int8" else "float64" if dtype == "float64" else "float32"
        if "plus" in changes:
            inner += [f"left = (left.to(tl.{middle}) + 1).to(tl.{dtype})"]
        if "scale" in changes:
            inner += [f"left = (left.to(tl.{middle}) * (rows % 2 + 1)[:, None].to(tl.{middle})).to(tl.{dtype})"]
        inner += [f"{other} += tl.sum(left.to(tl.{out}), 1)"] if "sum" in changes else []
        more = ", out_dtype=tl.float64" if out == "float64" else ""
        dot = one_of(f"{name}_t = tl.dot(left, right, {name}_t)", f"{name}_t += tl.dot(left, right{more})")
        nothing = "0" if out == "int32" else "0.0"
        dots = [f"{name}_t = tl.where(cols[None, :] < 5, {nothing}, {name}_t)", dot] if "half" in changes else [dot]
        if "skip" in changes:
            inner += [f"if k % {2 * k} == {k}:", f"    {name}_t += 1", "else:", *("    " + line for line in dots)]
        else:
            inner += dots
        body += ["    " + line for line in inner]
        if "late" in changes:
            body += [f"{name}_t = tl.maximum({name}_t, -3)"]
        if "outer" in changes:
            body = [f"for turn in tl.range(0, 2{one_of('', ', flatten=True')}):", *("    " + line for line in body)]
        tail = [f"{name} = {name}_t"]
        if "chain" in changes:
            low, high = ("-2", "2") if out == "int32" else ("-2.0", "2.0")
            last = f"tl.load({ptr} + cols[:, None] * 16 + tl.arange(0, 16)[None, :]).to(tl.{dtype})"
            tail = [f"{name} = tl.dot(tl.minimum(tl.maximum({name}_t, {low}), {high}).to(tl.{dtype}), {last}{more})"]
        if "sum" not in changes:
            old = run

            def run(env):
                old(env)
                env[other] = np.zeros_like(env[other])

        return own(head + body + tail, name, "rows cols at left right left_at right_at turn k"), run

    def swapped(self):
        """A loop that carries blocks which change places."""
        shape, dtype = self.shape(0, 3), self.one_of("int32", "int64", "uint8", "float32")
        one, two = [self.to(self.simple(shape, 2), dtype) for _ in "12"]
        a, b = self.fresh(), self.fresh()
        self.scope += [variable(name, dtype, shape) for name in (a, b)]
        step, count = self.to(self.simple(shape, 1), dtype), self.one_of("n", "3", "2")

        def run(env):
            env[a], env[b] = one.run(env), two.run(env)
            for _ in range(env["n"] if count == "n" else int(count)):
                env[a], env[b] = env[b], self.calculated("+", dtype, env[a], step.run(env))

        return [f"{a} = {one.text}", f"{b} = {two.text}", f"for k in range({count}):", f"    {a}, {b} = {b}, {a} + {step.text}"], run

    def halved(self):
        """A loop that goes on until the data say so."""
        shape, name = self.shape(1, 3), self.fresh()
        one, most = self.integer(shape, 2, ("int32", "int64", "uint32", "uint64", "int16")), self.one_of(0, 7, 1000)
        count = self.fresh()

        def run(env):
            values, turns = np.abs(one.run(env)) if one.dtype.startswith("i") else one.run(env), 0
            while int(values.max()) > most:
                values, turns = fit(one.dtype, values // values.dtype.type(2)), turns + 1
            env[name], env[count] = values, np.int32(turns)

        self.scope += [variable(name, one.dtype, shape), variable(count, "int32", ())]
        return [
            f"{name} = tl.abs({one.text})", f"{count} = tl.cast(0, tl.int32)", f"while tl.max(tl.ravel({name}), 0) > {most}:",
            f"    {name} = {name} // 2", f"    {count} += 1"
        ], run

    def attention(self):
        """Two dots in a loop with what stands between them in attention, of whole numbers."""
        m, n, d, name = self.one_of(16, 32, 64, 128), self.one_of(16, 32, 64), self.one_of(16, 32, 64), self.fresh()
        dtype, stages = self.one_of("float16", "bfloat16"), self.one_of(1, 2, 3)
        steps, limit = self.random.randrange(1, 4), self.random.randrange(1, 150)
        ptr, causal, keys = f"small_{dtype}_ptr", self.chance(0.5), self.chance(0.5)
        sums = self.fresh()

        def run(env):
            data = env["inputs"]["small_" + dtype].astype(np.float64)
            rows, dims = np.arange(m), np.arange(d)
            q, total, best, count = data[rows[:, None] * d + dims], np.zeros((m, d)), np.full(m, -500.0), np.zeros(m)
            for at in range(steps):
                columns = np.arange(n) + at * n
                on = columns[:, None] < limit
                k, v = np.where(on, data[columns[:, None] * d + dims + 5], 0), np.where(on, data[columns[:, None] * d + dims + 64], 0)
                s = q @ k.T
                if causal:
                    s = np.where(rows[:, None] >= columns, s, -500.0)
                more = np.maximum(best, s.max(1))
                scale = np.where(more > best, 0.5, 1.0)
                p = np.where(s > more[:, None] - 4, 1.0, 0.0)
                count, total, best = count * scale + p.sum(1), total * scale[:, None] + p @ v, more
            env[name], env[sums] = fit("float32", total), fit("float32", count + best)

        self.scope += [variable(name, "float32", (m, d)), variable(sums, "float32", (m, ))]
        load_k = f"tl.load({ptr} + cols[None, :] * {d} + dims[:, None] + 5, mask=cols[None, :] < {limit}, other=0.0)"
        if not keys:
            load_k = f"tl.load({ptr} + cols[:, None] * {d} + dims[None, :] + 5, mask=cols[:, None] < {limit}, other=0.0).T"
        lines = [
            f"rows, dims = tl.arange(0, {m}), tl.arange(0, {d})", f"q = tl.load({ptr} + rows[:, None] * {d} + dims[None, :])",
            f"{name}, {name}_count = tl.zeros(({m}, {d}), tl.float32), tl.zeros(({m}, ), tl.float32)",
            f"{name}_best = tl.full(({m}, ), -500.0, tl.float32)",
            f"for k in tl.range(0, {steps * n}, {n}, num_stages={stages}{self.one_of('', ', warp_specialize=True')}):",
            f"    cols = k + tl.arange(0, {n})", f"    s = tl.dot(q, {load_k})"
        ]
        if causal:
            lines.append("    s = tl.where(rows[:, None] >= cols[None, :], s, -500.0)")
        lines += [
            f"    more = tl.maximum({name}_best, tl.max(s, 1))", f"    scale = tl.where(more > {name}_best, 0.5, 1.0)",
            "    p = tl.where(s > more[:, None] - 4, 1.0, 0.0)", f"    {name}_count = {name}_count * scale + tl.sum(p, 1)",
            f"    v = tl.load({ptr} + cols[:, None] * {d} + dims[None, :] + 64, mask=cols[:, None] < {limit}, other=0.0)",
            self.one_of(f"    {name} = tl.dot(p.to(v.dtype), v, {name} * scale[:, None])",
                        f"    {name} = {name} * scale[:, None] + tl.dot(p.to(v.dtype), v)"), f"    {name}_best = more",
            f"{sums} = {name}_count + {name}_best"
        ]
        return own(lines, name, "rows dims cols q s p v k more scale"), run

    def scaled(self):
        """A product of numbers with scales."""
        m, n, k, name = self.one_of(16, 32, 64, 128), self.one_of(16, 32, 64), self.one_of(64, 128), self.fresh()
        formats = [self.one_of("e2m1", "e4m3", "e5m2", "bf16", "fp16") for _ in "12"]
        if formats[0] in ("bf16", "fp16") and formats[1] in ("bf16", "fp16"):
            formats[1] = formats[0]
        turned = self.chance(0.4)
        base = self.random.randrange(200)

        def part(format, rows):
            width = k // 2 if format == "e2m1" else k
            source = {
                "e2m1": "uint8_ptr",
                "e4m3": "small_float8e5_ptr",
                "e5m2": "small_float8e5_ptr",
                "bf16": "small_bfloat16_ptr",
                "fp16": "small_float16_ptr"
            }[format]
            text = f"tl.load({source} + tl.arange(0, {rows})[:, None] * {width} + tl.arange(0, {width})[None, :] + {base})"
            if format == "e4m3":
                text = f"{text}.to(tl.float32).to(tl.float8e4nv)"
            has = format not in ("bf16", "fp16") or self.chance(0.3)
            places = f"tl.arange(0, {rows})[:, None] * {k // 32} + tl.arange(0, {k // 32})[None, :]"
            scale = f"(tl.load(uint8_ptr + {places} + 7) % 4 + 126)" if has else "None"

            def value(env):
                at = np.arange(rows)[:, None] * width + np.arange(width) + base
                if format == "e2m1":
                    codes = env["inputs"]["uint8"][at]
                    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
                    values = np.stack([table[codes & 15], table[codes >> 4]], -1).reshape(rows, k)
                else:
                    values = env["inputs"][source.removesuffix("_ptr")][at].astype(np.float64)
                if has:
                    places = np.arange(rows)[:, None] * (k // 32) + np.arange(k // 32) + 7
                    exponents = (env["inputs"]["uint8"][places] % 4).astype(np.float64) - 1
                    values = values * np.repeat(2.0**exponents, 32, 1)
                return values

            return text, scale, value

        (a, a_scale, left), (b, b_scale, right) = part(formats[0], m), part(formats[1], n)
        self.scope.append(variable(name, "float32", (m, n)))

        def run(env):
            env[name] = fit("float32", left(env) @ right(env).T)

        b = f"tl.trans({b})" if not turned else f"{b}.T"
        return [f'{name} = tl.dot_scaled({a}, {a_scale}, "{formats[0]}", {b}, {b_scale}, "{formats[1]}")'], run
