"""Statements of the programs of `valued.py`: assignments, control flow, calls; and whole programs."""

import numpy as np
from data_statements import DataStatements
from extended import ExtendedStatements
from fold_statements import FoldStatements
from host_statements import HostStatements
from loop_statements import LoopStatements
from memory_statements import MemoryStatements
from packed_statements import PackedStatements
from tile_statements import TileStatements
from values import REGION, TYPES, shifted, variable


class Writer(LoopStatements, MemoryStatements, HostStatements, DataStatements, TileStatements, FoldStatements, PackedStatements, ExtendedStatements):
    """Writes one kernel."""

    def assign(self):
        one, name = self.expr(self.shape(), self.one_of(1, 2, 2, 3)), self.fresh()
        self.scope.append(variable(name, one.dtype, one.shape))
        return [f"{name} = {one.text}"], lambda env: env.update({name: one.run(env)})

    def changed(self):
        known = [value for value in self.scope if value.text.startswith("x")]
        if not known:
            return self.assign()
        old = self.one_of(*known)
        one = self.to(self.expr(old.shape, 2), old.dtype)
        name = old.text
        return [f"{name} = {one.text}"], lambda env: env.update({name: one.run(env)})

    def inner(self, most):
        known = len(self.scope)
        lines, runs = [], []
        for _ in range(self.random.randint(1, most)):
            ways = [self.assign, self.changed, self.changed] * 3 + ([self.through, self.atomic, self.kept, self.swapped] if not self.inside else [])
            more, run = self.one_of(*ways)()
            lines += more
            runs.append(run)
        del self.scope[known:]

        def run(env):
            for each in runs:
                each(env)

        return ["    " + line for line in lines], run

    def branch(self):
        test = self.condition((), 2)
        lines, run = self.inner(3)
        others, other = self.inner(2) if self.chance(0.6) else ([], lambda env: None)
        return [f"if {test.text}:", *lines, *(["else:", *others] if others else [])], lambda env: run(env) if test.run(env) else other(env)

    def loop(self):
        index = self.fresh("i")
        words = self.one_of("", ", num_stages=3", ", loop_unroll_factor=2", ", flatten=True", ", disallow_acc_multi_buffer=True",
                            ", warp_specialize=True")
        first, last, step = self.one_of(("0", "n", "1"), ("0", "3", "1"), ("5", "0", "-2"), ("n", "0", "-1"), ("1", "n", "2"), ("-3", "n", "3"),
                                        ("0", "n", "1000000000"), ("n", "2 * n", "n + 1"), ("0", "n - 5", "1"))
        static = self.chance(0.15)
        if static:
            first, last, step = "0", "2", "1"
        head = f"tl.static_range({last})" if static else f"{'tl.' if words else ''}range({first}, {last}, {step}{words})"
        known = len(self.scope)
        if not static:
            self.scope.append(variable(index, "int32", ()))
        lines, run = self.inner(3)
        if self.chance(0.25):
            more, other = self.one_of(self.branch, self.loop)()
            lines, first_run = lines + ["    " + line for line in more], run

            def run(env):
                first_run(env)
                other(env)

        del self.scope[known:]

        def whole(env):
            for at in range(*(eval(text, {"n": env["n"]}) for text in (first, last, step))):
                env[index] = np.int32(at)
                run(env)

        return [f"for {index} in {head}:", *lines], whole

    def repeat(self):
        index, most = self.fresh("i"), self.random.randrange(1, 4)
        test = self.condition((), 1)
        lines, run = self.inner(2)

        def whole(env):
            at = 0
            while at < most and test.run(env):
                run(env)
                at += 1

        return [f"{index} = 0", f"while ({index} < {most}) & {test.text}:", *lines, f"    {index} += 1"], whole

    def call(self):
        """A call of a function that takes some variables, one by one or as a tuple."""
        arguments = self.random.sample(self.scope, min(len(self.scope), self.random.randint(1, 3)))
        if not arguments:
            return self.assign()
        name, packed, constant = self.fresh("function"), self.chance(0.3), self.random.randrange(3)
        parameters = [variable(f"x{at}p", value.dtype, value.shape) for at, value in enumerate(arguments)]
        values, inside = self.function(name, parameters, packed)
        results = [variable(self.fresh(), value.dtype, value.shape) for value in values]

        def run(env):
            own = {"inputs": env["inputs"], "pid": env["pid"], "n": env["n"] + (constant == 1)}
            own.update({parameter.text: value.run(env) for parameter, value in zip(parameters, arguments)})
            env.update({result.text: value for result, value in zip(results, inside(own))})

        given = ", ".join(value.text for value in arguments)
        given = f"({given}, )" if packed else given
        text = f"{name}({given}, n, {constant}, {', '.join(self.pointers())}{self.one_of('', ', spare=3', ', 3')})"
        self.scope += results
        return [f"{', '.join(result.text for result in results)} = {text}"], run

    def function(self, name, parameters, packed):
        """Writes a function, which may call others and may return early; answers what it returns, and a function from its variables to that."""
        outer, inside = self.scope, self.inside
        self.scope, self.inside = list(parameters), ("function", )
        ways = [self.assign, self.changed, self.branch, self.loop] + ([self.call] if not inside else [])
        parts = [self.one_of(*ways)() for _ in range(self.random.randint(1, 3))]
        values = [self.one_of(*self.scope) for _ in range(self.random.randint(1, 2))]
        test, early = self.condition((), 1) if self.chance(0.4) else None, None
        if test:
            early = [self.to(self.expr(value.shape, 1), value.dtype) for value in values]
        self.scope, self.inside = outer, inside
        body = ["if FLAG == 1:", "    n = n + 1", *(line for lines, _ in parts for line in lines)]
        if packed:
            names = ", ".join(parameter.text for parameter in parameters)
            body.insert(0, f"{names} = {'pack' if len(parameters) > 1 else 'pack[0]'}")
        if test:
            body += [f"if {test.text}:", f"    return {', '.join(value.text for value in early)}"]
        body += [f"return {', '.join(value.text for value in values)}"]
        taken = "pack" if packed else ", ".join(parameter.text for parameter in parameters)
        mark = "@triton.jit(noinline=True)" if not self.extended and self.chance(0.15) else "@triton.jit"
        head = f"def {name}({taken}, n, FLAG: tl.constexpr, {', '.join(self.pointers())}, spare=7):"
        self.helpers.append("\n".join([mark, head, *("    " + line for line in body)]))

        def run(own):
            for _, each in parts:
                each(own)
            return [value.run(own) for value in (early if test and test.run(own) else values)]

        return values, run

    def pointers(self):
        return [f"{dtype}_ptr" for dtype in TYPES]

    def store(self, value):
        numel, dtype, shape = int(np.prod(value.shape)), value.dtype, value.shape
        start = self.room("out_" + dtype, numel)
        place = " + ".join(
            [f"(pid * {REGION} + {start})", *(f"{shifted(shape, dim)} * {int(np.prod(shape[dim + 1:]))}" for dim in range(len(shape)))])

        def run(env):
            env["out_" + dtype][start:start + numel] = value.run(env).reshape(-1)

        return [f"tl.store(out_{dtype}_ptr + ({place}), {value.text})"], run

    def program(self):
        ways = [self.assign] * 8 + [self.changed] * 2 + [
            self.branch, self.loop, self.loop, self.repeat, self.walked, self.product, self.atomic, self.collected, self.described, self.call,
            self.call, self.through, self.through, self.advanced, self.swapped, self.halved, self.attention, self.scaled, self.kept, self.copied,
            self.exchanged, self.described_by_host, self.copied_by_host, self.picked_rows, self.scattered_rows, self.product_by_host, self.grouped,
            self.carried, self.assumed
        ]
        ways += [
            self.tiled, self.tiled, self.batches, self.nibbles, self.nibbles, self.stored_blocks, self.narrow_rows, self.folded, self.rolled,
            self.counted, self.ranked, self.pointed, self.mixed_widths, self.shared_words, self.shared_words, self.stacked, self.counted_places,
            self.counted_places
        ] * self.new
        ways += [self.left, self.left, self.replaced, self.replaced] if self.extended else []
        statements = [self.one_of(*ways)() for _ in range(self.random.randint(3, 8))]
        stores = [self.store(value) for value in self.scope if self.used.get("out_" + value.dtype, 0) + np.prod(value.shape) <= REGION]
        if self.new and self.chance(0.2):
            stores.insert(self.random.randrange(len(stores) + 1), self.returned())
        return statements, stores
