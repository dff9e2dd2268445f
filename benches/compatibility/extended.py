"""What the programs of `valued.py` have with `--extended`: slices and elements of blocks, and exits of loops."""

import numpy as np
from values import Expr, variable

EXTENSIONS = ["any_shape", "block_indexing", "loop_exits", "floor_division"]


def places_of(text, size):
    """What a slice selects."""
    first, last, step = (int(part) if part else None for part in text.split(":"))
    return range(size)[slice(first, last, step)]


class ExtendedExpressions:
    """What `Expressions` has besides."""

    def slice_of(self, count):
        """A size, and the text of a slice of that many of as many elements."""
        step = self.one_of(1, 1, 1, 2, -1, -2, 3)
        first, more = self.random.randrange(3), self.random.randrange(4)
        size = first + (count - 1) * abs(step) + 1 + more
        if step > 0:
            last = first + (count - 1) * step + 1
            texts = [f"{first}:{last}:{step}", f"{first - size}:{last}:{step}", f"{first}:{last - size if last < size else ''}:{step}"]
        else:
            first = size - 1 - more
            last = first + count * step
            texts = [f"{first}:{last if last >= 0 else ''}:{step}", f"{first - size}:{last if last >= 0 else ''}:{step}"]
        text = self.one_of(*[text for text in texts if len(places_of(text, size)) == count])
        return size, text.removesuffix(":1") if self.chance(0.5) else text

    def sliced(self, shape, depth):
        """Some of the elements along each of some dimensions."""
        parts = [self.slice_of(size) if self.chance(0.5) else (size, ":") for size in shape]
        whole = tuple(size for size, _ in parts)
        if np.prod(whole) > 4096:
            return self.leaf(shape)
        one = self.simple(whole, depth)
        index = tuple(slice(*(int(part) if part else None for part in text.split(":"))) for _, text in parts)
        return Expr(f"{one.text}[{', '.join(text for _, text in parts)}]", one.dtype, shape, lambda env: one.run(env)[index])

    def element(self, shape, depth):
        """What is left of a block where one place along a dimension is taken, known or not."""
        if len(shape) >= 4:
            return self.leaf(shape)
        axis, size = self.random.randrange(len(shape) + 1), self.one_of(1, 2, 3, 8, 20)
        if np.prod(shape) * size > 4096:
            return self.leaf(shape)
        one = self.simple(shape[:axis] + (size, ) + shape[axis:], depth)
        known = self.random.randrange(-size, size)
        text, place = self.one_of((f"{known}", lambda env: known), (f"n % {size}", lambda env: env["n"] % size))
        words = ", ".join([*(":" for _ in range(axis)), text, *(":" for _ in shape[axis:])])
        return Expr(f"{one.text}[{words}]", one.dtype, shape, lambda env: np.take(one.run(env), place(env), axis))


class ExtendedStatements:
    """Each answers lines and what they do to the variables."""

    def left(self):
        """A loop that is left, or goes on early, under conditions."""
        shape, dtype, name = self.shape(0, 3), self.one_of("int32", "int64", "uint16", "float32"), self.fresh()
        one, step = self.to(self.simple(shape, 1), dtype), self.to(self.simple(shape, 1), dtype)
        most, first, second = self.random.randrange(1, 9), self.one_of("break", "continue"), self.one_of("break", "continue")
        test, at, inner = self.condition((), 1), self.random.randrange(6), self.chance(0.5)
        self.scope.append(variable(name, dtype, shape))

        def add(env, times):
            for _ in range(times):
                env[name] = self.calculated("+", dtype, env[name], step.run(env))

        def run(env):
            env[name] = one.run(env)
            for k in range(most):
                if k >= at and test.run(env):
                    if first == "break":
                        break
                    continue
                add(env, 1)
                if inner:
                    for j in range(3):
                        if j == at - k:
                            if second == "break":
                                break
                            continue
                        add(env, 2)
                add(env, 1)

        more = f"{name} = ({name} + {step.text}).to(tl.{dtype})"
        lines = [f"{name} = {one.text}", f"for {name}_k in range({most}):", f"    if ({name}_k >= {at}) & {test.text}:", f"        {first}"]
        lines += [f"    {more}"]
        if inner:
            lines += [f"    for {name}_j in range(3):", f"        if {name}_j == {at} - {name}_k:", f"            {second}", *2 * [f"        {more}"]]
        return [*lines, f"    {more}"], run

    def replaced(self):
        """Elements of a block that are assigned to."""
        dims = [dim for dim in range(self.random.randint(1, 3))]
        counts = [self.one_of(1, 2, 3, 5, 8) for _ in dims]
        parts = [self.slice_of(count) for count in counts]
        shape = tuple(size for size, _ in parts)
        if np.prod(shape) > 2048:
            return self.assign()
        name, dtype = self.fresh(), self.one_of("int32", "int64", "uint8", "float32", "float16")
        one, two = self.to(self.simple(shape, 2), dtype), self.to(self.simple(tuple(counts), 2), dtype)
        index = tuple(slice(*(int(part) if part else None for part in text.split(":"))) for _, text in parts)
        self.scope.append(variable(name, dtype, shape))

        def run(env):
            env[name] = np.array(one.run(env))
            env[name][index] = two.run(env)

        return [f"{name} = {one.text}", f"{name}[{', '.join(text for _, text in parts)}] = {two.text}"], run
