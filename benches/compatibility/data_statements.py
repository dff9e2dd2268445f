"""Statements of the programs of `valued.py` with aggregates, named tuples and loops that carry several values."""

import numpy as np
from expressions import Expressions
from values import fit, variable


class DataStatements(Expressions):
    """Each answers lines and what they do to the variables."""

    def grouped(self):
        """An object of two blocks that a loop carries: an aggregate with methods, a named tuple or a plain one."""
        first, second, name = self.shape(0, 3), self.shape(0, 3), self.fresh()
        dtypes = [self.one_of("int32", "int64", "uint16", "float32") for _ in "12"]
        one, two = [self.to(self.simple(shape, 1), dtype) for shape, dtype in zip((first, second), dtypes)]
        step, count = self.to(self.simple(first, 1), dtypes[0]), self.one_of("n", "2", "3")
        results, kind = [self.fresh(), self.fresh()], self.one_of("aggregate", "named", "plain")
        title, test = self.fresh("Pair"), self.condition((), 1) if self.chance(0.5) else None

        def run(env):
            x, y = one.run(env), two.run(env)
            for at in range(env["n"] if count == "n" else int(count)):
                if test is None or test.run(env):
                    x = self.calculated("+", dtypes[0], x, step.run(env))
                y = self.calculated("+", dtypes[1], y, y)
            env[results[0]], env[results[1]] = x, y

        self.scope += [variable(result, dtype, shape) for result, dtype, shape in zip(results, dtypes, (first, second))]
        if kind == "aggregate":
            self.helpers.append(f"@triton.aggregate\nclass {title}:\n    one: tl.tensor\n    two: tl.tensor\n    factor: tl.constexpr = 2\n\n"
                                "    @triton.jit\n    def more(self, step):\n        return self.one + step\n\n"
                                "    @triton.jit\n    def doubled(self):\n"
                                f"        return {title}(self.one, (self.two + self.two).to(self.two.dtype))")
            more = f"tl.aggregate_replace({name}, one={name}.more({step.text}).to(tl.{dtypes[0]}))"
            make, last = f"{title}({one.text}, {two.text})", f"{name} = {name}.doubled()"
            again = f"{name} = {more}"
        elif kind == "named":
            self.helpers.append(f"class {title}(typing.NamedTuple):\n    one: typing.Any\n    two: typing.Any")
            make = f"{title}({one.text}, two={two.text})"
            again = f"{name} = {title}(one=({name}.one + {step.text}).to(tl.{dtypes[0]}), two={name}.two)"
            last = f"{name} = {title}({name}.one, ({name}.two + {name}.two).to(tl.{dtypes[1]}))"
        else:
            make = f"({one.text}, {two.text})"
            again = f"{name} = (({name}[0] + {step.text}).to(tl.{dtypes[0]}), {name}[1])"
            last = f"{name} = ({name}[0], ({name}[1] + {name}[1]).to(tl.{dtypes[1]}))"
        body = [f"    if {test.text}:", f"        {again}"] if test else [f"    {again}"]
        fields = f"{name}[0], {name}[1]" if kind == "plain" else f"{name}.one, {name}.two"
        return [f"{name} = {make}", f"for {name}_k in range({count}):", *body, f"    {last}", f"{', '.join(results)} = {fields}"], run

    def carried(self):
        """A `while` that carries values of different shapes, around a loop that changes them."""
        shape, dtype, names = self.shape(0, 3), self.one_of("int32", "int64", "uint32"), [self.fresh() for _ in "123"]
        one, step = self.to(self.simple(shape, 1), dtype), self.to(self.simple(shape, 1), dtype)
        most, other = self.random.randrange(0, 5), self.shape(0, 2, 128)
        two, inner = self.to(self.simple(other, 1), dtype), self.one_of("", ", num_stages=2", ", disable_licm=True", ", loop_unroll_factor=4")

        def run(env):
            x, y, at = one.run(env), two.run(env), np.int32(0)
            while at < most:
                for k in range(2):
                    x = self.calculated("+", dtype, x, self.calculated("*", dtype, step.run(env), np.full(shape, k + 1, x.dtype)))
                    y = self.calculated("^", dtype, self.calculated("*", dtype, y, np.full(other, 3, y.dtype)), y)
                at = np.int32(at + 1)
            env.update(zip(names, (x, y, at)))

        self.scope += [variable(names[0], dtype, shape), variable(names[1], dtype, other), variable(names[2], "int32", ())]
        x, y, at = names
        return [
            f"{x} = {one.text}", f"{y} = {two.text}", f"{at} = n * 0", f"while {at} < {most}:", f"    for {x}_k in tl.range(2{inner}):",
            f"        {x} += {step.text} * ({x}_k + 1).to(tl.{dtype})", f"        {y} = ({y} * 3) ^ {y}", f"    {at} += 1"
        ], run

    def assumed(self):
        """Sums in turns that are counted when compiling, behind what `tl.assume` says of the launch."""
        shape, name, bound = self.shape(1, 2), self.fresh(), self.one_of(17, 64, 1000)
        one, turns = self.integer(shape, 1, ("int32", "int64")), self.one_of(1, 2, 3)
        self.scope.append(variable(name, one.dtype, shape))

        def run(env):
            total = np.zeros(shape, one.run(env).dtype)
            for at in range(turns):
                total = fit(one.dtype, total * total.dtype.type(2) + one.run(env) + total.dtype.type(at))
            env[name] = total

        return [
            f"tl.assume(n < {bound})", "tl.assume(n >= 0)", f"{name} = tl.zeros({shape}, tl.{one.dtype})",
            f"for {name}_k in tl.static_range({turns}):", f"    {name} = {name} * 2 + {one.text} + {name}_k"
        ], run
