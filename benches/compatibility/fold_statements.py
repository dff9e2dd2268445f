"""Statements of the programs of `valued.py` that go through blocks: reductions and scans of several values that loops carry, atomics in loops,
orders of orders, addresses in memory."""

import numpy as np
from expressions import Expressions
from values import INTEGERS, REGION, TYPES, affine, best, bits, fit, numpy_type, reduced, scanned, shifted, three, variable


class Left(Exception):
    """The kernel has returned."""


class FoldStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def folded(self):
        """Reductions of several values in a loop, whose results the next turn takes."""
        whole, name = self.shape(2, 3, 512), self.fresh()
        axis = self.random.randrange(len(whole))
        left = whole[:axis] + whole[axis + 1:]
        dtype, other = self.one_of("int32", "int64", "uint32", "int16"), self.one_of("int32", "int64")
        one, two = self.to(self.simple(whole, 1), dtype), self.to(self.simple(whole, 1), other)
        count, results = self.one_of("n", "1", "3"), [f"{name}_a", f"{name}_b"]
        text, inner = self.one_of(("best", best), ("pairs", None))

        def run(env):
            x, y, a, b = one.run(env), two.run(env), np.zeros(left, dtype), np.zeros(left, other)
            for k in range(env["n"] if count == "n" else int(count)):
                v = fit(dtype, x + np.expand_dims(a, axis))
                if inner:
                    p, q = reduced([v, y], axis, best)
                else:
                    p, q = np.add.reduce(v, axis, dtype=v.dtype), np.bitwise_xor.reduce(y, axis)
                a, b = fit(dtype, a * v.dtype.type(3) + p), fit(other, b + q)
            env[results[0]], env[results[1]] = np.asarray(a), np.asarray(b)

        if not inner:
            self.helpers.append(f"@triton.jit\ndef {name}_f(a, b, c, d):\n    return a + c, b ^ d")
            text = f"{name}_f"
        self.scope += [variable(results[0], dtype, left), variable(results[1], other, left)]
        return [
            f"{results[0]}, {results[1]} = tl.zeros({left}, tl.{dtype}), tl.zeros({left}, tl.{other})",
            f"{name}_x, {name}_y = {one.text}, {two.text}", f"for {name}_k in tl.range({count}, num_stages={self.one_of(1, 2, 3)}):",
            f"    {name}_p, {name}_q = tl.reduce(({name}_x + tl.expand_dims({results[0]}, {axis}), {name}_y), {axis}, {text})",
            f"    {results[0]} = ({results[0]} * 3 + {name}_p).to(tl.{dtype})", f"    {results[1]} = ({results[1]} + {name}_q).to(tl.{other})"
        ], run

    def rolled(self):
        """A scan in a loop, each turn of what the last one left, along changing axes and ways."""
        shape, name = self.shape(1, 3, 512), self.fresh()
        axis, reverse, second = self.random.randrange(len(shape)), self.chance(0.5), self.chance(0.5)
        dtype = self.one_of("int32", "int64", "uint32", "uint64")
        parts = [self.to(self.simple(shape, 1), dtype) for _ in "123"]
        text, function, many = self.one_of(("affine", affine, 2), ("best", best, 2), ("three", three, 3))
        count, results = self.one_of("n", "1", "2"), [f"{name}_{letter}" for letter in "abc"][:many]

        def run(env):
            found = [part.run(env) for part in parts[:many]]
            for _ in range(env["n"] if count == "n" else int(count)):
                found = scanned(found, axis, reverse, function)
                if second:
                    found = scanned(found, len(shape) - 1 - axis, not reverse, function)
                found = [*found[1:], found[0]]
            env.update(zip(results, found))

        self.scope += [variable(result, dtype, shape) for result in results]
        names = ", ".join(results)
        lines = [f"{names} = {', '.join(part.text for part in parts[:many])}", f"for {name}_k in range({count}):",
                 f"    {names} = tl.associative_scan(({names}), {axis}, {text}, reverse={reverse})"]
        if second:
            lines.append(f"    {names} = tl.associative_scan(({names}), {len(shape) - 1 - axis}, {text}, reverse={not reverse})")
        return [*lines, f"    {names} = {', '.join([*results[1:], results[0]])}"], run

    def counted(self):
        """Atomics in a loop, whose results make the next operand, under masks of what was loaded."""
        dtype, shape, name = self.one_of("int32", "uint32", "int64", "uint64"), self.shape(0, 2, 128), self.fresh()
        kind, numel, turns = self.one_of("add", "max", "min", "and", "or", "xor", "xchg"), int(np.prod(shape)), self.one_of(1, 2, 3)
        value, (place, at) = self.to(self.simple(shape, 1), dtype), self.place(shape)
        start, masked, inner = self.room("scratch_" + dtype, numel), self.chance(0.6) and shape, self.chance(0.4)
        test = self.condition((), 1) if inner else None
        functions = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                     "xchg": lambda x, y: y}
        text, own = self.own("scratch_" + dtype, start, shape)

        def run(env):
            memory, v = env["scratch_" + dtype], value.run(env)
            on = env["inputs"]["int8"][at(env)] > 3 if masked else np.ones(shape, bool)
            for k in range(turns):
                if test is not None and not test.run(env):
                    continue
                old = memory[own]
                memory[own] = np.where(on, fit(dtype, functions[kind](old, v)), old)
                v = fit(dtype, np.where(on, old, v) + v.dtype.type(k))
            env[name] = np.asarray(v)

        self.scope.append(variable(name, dtype, shape))
        call = f"tl.atomic_{kind}({text}, {name}{f', mask={name}_on' if masked else ''})"
        body = [f"{name}_old = {call}", f"{name} = ({f'tl.where({name}_on, {name}_old, {name})' if masked else f'{name}_old'} + {name}_k).to(tl.{dtype})"]
        body = [f"if {test.text}:", *("    " + line for line in body)] if test else body
        head = [f"{name}_on = tl.load(int8_ptr + ({place})) > 3"] if masked else []
        return [*head, f"{name} = {value.text}", f"for {name}_k in range({turns}):", *("    " + line for line in body)], run

    def ranked(self):
        """The greatest of rows, where they came from, what a table has there, and how often."""
        rows, columns, name = self.one_of(1, 2, 4, 8), self.one_of(8, 16, 32, 64), self.fresh()
        few = self.one_of(*[few for few in (2, 4, 8) if few < columns])
        dtype, other = self.one_of("int32", "int16", "uint8", "int64", "uint32"), self.one_of("float32", "int32", "int8", "float16")
        one, two = self.to(self.simple((rows, columns), 1), dtype), self.to(self.simple((rows, columns), 1), other)
        names, down = [f"{name}_{part}" for part in ("top", "at", "far", "count")], self.chance(0.5)
        high = "int32" if bits(dtype) < 32 else dtype

        def run(env):
            values, table = one.run(env), two.run(env)
            env[names[0]] = fit(high, np.flip(np.sort(values, -1), -1)[:, :few])
            keys = values.astype(object)
            places = np.array([sorted(range(columns), key=lambda j: (-row[j] if down else row[j], j)) for row in keys], np.int32)
            env[names[1]] = places
            env[names[2]] = np.take_along_axis(table, places, 1)
            env[names[3]] = np.bincount((values.reshape(-1) & values.dtype.type(15)).astype(np.int64), minlength=16).astype(np.int32)

        self.scope += [variable(names[0], high, (rows, few)), variable(names[1], "int32", (rows, columns)),
                       variable(names[2], other, (rows, columns)), variable(names[3], "int32", (16, ))]
        return [
            f"{name} = {one.text}", f"{names[0]} = tl.topk({name}, {few})", f"{names[1]} = tl.argsort({name}, descending={down})",
            f"{names[2]} = tl.gather({two.text}, {names[1]}, 1)", f"{names[3]} = tl.histogram(tl.ravel({name} & 15).to(tl.int32), 16)"
        ], run

    def pointed(self):
        """Loads through addresses that are in memory."""
        dtype, shape, name = self.one_of(*TYPES), self.shape(0, 2, 256), self.fresh()
        (text, at), masked = self.place(shape), self.chance(0.5) and shape
        start, bound = self.room("scratch_uint64", max(1, int(np.prod(shape)))), self.random.randrange(0, 20)
        many = self.chance(0.5)
        place, own = self.own("scratch_uint64", start, shape if many else ())
        if masked:
            dim = self.random.randrange(len(shape))
            mask = f", mask=tl.broadcast_to({shifted(shape, dim)} < {bound}, {shape}), other=1"

        def run(env):
            found = env["inputs"][dtype][at(env)]
            if masked:
                on = np.broadcast_to((np.arange(shape[dim]) < bound).reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape)
                found = np.where(on, found, fit(dtype, 1))
            env[name] = np.asarray(found)
            env["scratch_uint64"][own] = 3

        self.scope.append(variable(name, dtype, shape))
        kind, extra = f"tl.pointer_type(tl.{dtype})", mask if masked else ""
        if many:
            address, load = f"({dtype}_ptr + ({text}))", f"tl.load(tl.load({place}).to({kind}){extra})"
        else:
            address, load = f"{dtype}_ptr", f"tl.load(tl.load({place}).to({kind}) + ({text}){extra})"
        back = f"tl.store({place}, tl.full({shape if many else ()}, 3, tl.uint64))"
        return [f"tl.store({place}, {address}.to(tl.uint64))", "tl.debug_barrier()", f"{name} = {load}", "tl.debug_barrier()", back], run

    def returned(self):
        """The kernel returns."""
        test = self.condition((), 2)

        def run(env):
            if test.run(env):
                raise Left

        return [f"if {test.text}:", "    return"], run

    def mixed_widths(self):
        """A loop that carries integers of all widths, each made of another."""
        shape, name, count = self.shape(0, 3, 512), self.fresh(), self.one_of("n", "2", "4")
        dtypes = [self.one_of("int8", "uint8"), self.one_of("int16", "uint16"), self.one_of("int32", "uint32"), self.one_of("int64", "uint64")]
        parts, results = [self.to(self.simple(shape, 1), dtype) for dtype in dtypes], [f"{name}_{letter}" for letter in "abcd"]
        shift = self.random.randrange(8)

        def run(env):
            a, b, c, d = [part.run(env) for part in parts]
            for k in range(env["n"] if count == "n" else int(count)):
                a, b, c, d = (fit(dtypes[0], fit("int64", d) >> np.int64(shift)), fit(dtypes[1], fit("int64", a) * np.int64(3) + fit("int64", b)),
                              fit(dtypes[2], fit("int64", b) ^ fit("int64", c)), fit(dtypes[3], fit("int64", c) - fit("int64", d)))
            env.update(zip(results, map(np.asarray, (a, b, c, d))))

        self.scope += [variable(result, dtype, shape) for result, dtype in zip(results, dtypes)]
        a, b, c, d = (f"{result}.to(tl.int64)" for result in results)
        names = ", ".join(results)
        new = [f"({d} >> {shift}).to(tl.{dtypes[0]})", f"({a} * 3 + {b}).to(tl.{dtypes[1]})", f"({b} ^ {c}).to(tl.{dtypes[2]})",
               f"({c} - {d}).to(tl.{dtypes[3]})"]
        return [f"{names} = {', '.join(part.text for part in parts)}", f"for {name}_k in range({count}):", f"    {names} = {', '.join(new)}"], run
