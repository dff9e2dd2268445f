"""Expressions of the programs of `valued.py`."""

import random

import numpy as np
from extended import ExtendedExpressions
from library_expressions import LibraryExpressions
from values import (
    FLOATS,
    INTEGERS,
    LENGTH,
    NARROW,
    TYPES,
    Expr,
    affine,
    best,
    bits,
    fit,
    numpy_type,
    promoted,
    reduced,
    scanned,
    shifted,
    spread,
    three,
)


class Expressions(LibraryExpressions, ExtendedExpressions):
    """Each answers an `Expr` of the shape that is asked for, of the type that comes, from variables in scope."""

    def __init__(self, seed, extended=False, large=False):
        self.random, self.extended, self.most = random.Random(seed), extended, 8192 if large else 1024
        self.sizes = (1, 2, 2, 4, 4, 8, 16, 32, 64)
        if extended:
            self.sizes = (1, 2, 3, 5, 6, 7, 8, 12, 16, 20, 24, 33, 48)
        if large:
            self.sizes = (*self.sizes, 16, 32, 64, 64, 128, 128, 256)
        self.new = 3  # How often the statements of tiles and folds are drawn.
        self.count, self.scope, self.helpers, self.used, self.inside, self.descriptors = 0, [], [], {}, (), []
        self.grid = self.one_of((1, ), (2, ), (1, 2), (2, 1, 2), (1, 1, 3))
        self.warps, self.ctas = self.one_of(1, 2, 4, 4, 8, 16), self.one_of(1, 1, 1, 1, 1, 2)
        self.stages = self.one_of(1, 2, 3, 3, 4)

    def fresh(self, prefix="x"):
        self.count += 1
        return f"{prefix}{self.count}"

    def one_of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def shape(self, least=0, most=5, numel=None):
        numel = numel or self.most
        rank = self.one_of(*[rank for rank in (0, 1, 1, 2, 2, 2, 3, 3, 4, 5) if least <= rank <= most])
        while True:
            shape = tuple(self.one_of(*self.sizes) for _ in range(rank))
            if np.prod(shape) <= numel:
                return shape

    def leaf(self, shape):
        known = [value for value in self.scope if value.shape == shape]
        if known and self.chance(0.8):
            return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]
        return self.one_of(self.loaded, self.loaded, self.number, self.index)(shape, 0)

    def number(self, shape, depth):
        dtype = self.one_of(*INTEGERS, *FLOATS)
        number = self.random.randrange(0, 100) if dtype.startswith("u") else self.random.randrange(-100, 100)
        number = number / 4 if dtype in FLOATS else number
        return Expr(f"tl.full({shape}, {number}, tl.{dtype})", dtype, shape, lambda env: fit(dtype, np.full(shape, number)))

    def index(self, shape, depth):
        if shape == ():
            axis = self.random.randrange(3)
            if self.chance(0.3):
                return Expr(f"tl.num_programs({axis})", "int32", (), lambda env: np.int32((*self.grid, 1, 1)[axis]))
            return Expr(f"tl.program_id({axis})", "int32", (), lambda env: np.int32(env["pid"][axis]))
        dim = self.random.randrange(len(shape))
        return Expr(f"tl.broadcast_to({shifted(shape, dim)}, {shape})", "int32", shape, lambda env: spread(shape, dim).astype(np.int32))

    def place(self, shape):
        """An index into an input: dims in any order, packed, with gaps, backwards or on top of each other."""
        order, stride, texts, offset = list(range(len(shape))), 1, [], self.random.randrange(17)
        self.random.shuffle(order) if self.chance(0.5) else order.reverse()
        strides = [0] * len(shape)
        for dim in order:
            stride *= self.one_of(1, 1, 1, 1, 2, 3) if stride * shape[dim] < 512 else 1
            strides[dim] = self.one_of(stride, stride, stride, stride, -stride, 0, 1)
            stride *= shape[dim]
        if stride > LENGTH // 2:
            strides = [int(np.prod(shape[dim + 1:])) for dim in range(len(shape))]
        offset += sum(-step * (size - 1) for step, size in zip(strides, shape) if step < 0)
        texts = [f"{shifted(shape, dim)} * {strides[dim]}" for dim in range(len(shape)) if strides[dim] != 0 or shape[dim] > 1]
        first = self.one_of(f"{offset}", f"{offset}", f"({offset} + tl.program_id(0) * 16)", f"({offset} + n)")

        def value(env):
            total = np.full(shape, offset + (env["pid"][0] * 16 if "program" in first else env["n"] if "n" in first else 0))
            return sum((spread(shape, dim) * strides[dim] for dim in range(len(shape))), total)

        text = " + ".join([first, *texts] if self.chance(0.5) else [*texts, first])
        if len(shape) > 0 and not all(strides[dim] != 0 or shape[dim] > 1 for dim in range(len(shape))):
            text = f"tl.broadcast_to({text}, {shape})"
        return text, value

    def loaded(self, shape, depth):
        dtype = self.one_of(*TYPES)
        text, place = self.place(shape)
        words = self.one_of("", "", "", ', cache_modifier=".cg"', ', eviction_policy="evict_first"', ', cache_modifier=".ca"', ", volatile=True")
        if self.chance(0.6) or dtype in NARROW:
            return Expr(f"tl.load({dtype}_ptr + ({text}){words})", dtype, shape, lambda env: env["inputs"][dtype][place(env)])
        mask, number = self.mask(shape, depth), self.random.randrange(2 if dtype == "int1" else 9)
        other = Expr(f"{number}", dtype, (), lambda env: fit(dtype, number))
        if depth > 0 and self.chance(0.3):
            other = self.to(self.simple(self.one_of(shape, ()), depth - 1), dtype)
        return Expr(f"tl.load({dtype}_ptr + ({text}), mask={mask.text}, other={other.text}{words})", dtype, shape,
                    lambda env: np.where(mask.run(env), env["inputs"][dtype][place(env)], other.run(env)))

    def mask(self, shape, depth):
        if shape == () or self.chance(0.3):
            return self.compared(shape, depth)
        dim, limit, turned = self.random.randrange(len(shape)), self.random.randrange(-1, 20), self.chance(0.3)
        other = self.random.randrange(4)
        text = f"({shifted(shape, dim)} < {limit} + n)" if not turned else f"({shifted(shape, dim)} >= {other} - n)"
        bound = self.random.randrange(1, 12)
        if len(shape) > 1 and self.chance(0.4):
            text, second = f"({text} & ({shifted(shape, (dim + 1) % len(shape))} < {bound}))", (dim + 1) % len(shape)
        else:
            text, second = f"tl.broadcast_to({text}, {shape})", None

        def value(env):
            found = spread(shape, dim) >= other - env["n"] if turned else spread(shape, dim) < limit + env["n"]
            return found if second is None else found & (spread(shape, second) < bound)

        return Expr(f"tl.broadcast_to({text}, {shape})" if second is not None and len(shape) > 2 else text, "int1", shape, value)

    def expr(self, shape, depth):
        if depth <= 0 or self.chance(0.1):
            return self.leaf(shape)
        ways = [self.binary] * 4 + [
            self.unary, self.compared, self.selected, self.cast, self.cast, self.divided, self.moved, self.extreme, self.picked
        ]
        ways += [self.loaded, self.indirect, self.chosen, self.exact, self.library, self.assembled, self.tests, self.mixed]
        if shape == ():
            ways += [self.reduced] * 3
        else:
            ways += [
                self.reduced, self.reduced, self.turned, self.turned, self.widened, self.scan, self.scan, self.sorted, self.gathered, self.joined,
                self.parted, self.flipped, self.mapped, self.random_bits, self.tuple_reduced, self.placed,
                self.packed, self.hinted, self.ordered
            ]
        if len(shape) == 1:
            ways += [self.histogram]
        if self.extended and shape != ():
            ways += [self.sliced, self.sliced, self.element]
        if len(shape) in (2, 3) and all(size >= 16 for size in shape[-2:]):
            ways += [self.dot] * 6
        return self.one_of(*ways)(shape, depth - 1)

    def integer(self, shape, depth, types=INTEGERS):
        found = self.expr(shape, depth)
        return found if found.dtype in types else self.to(found, self.one_of(*types))

    def simple(self, shape, depth):
        """What can be calculated with."""
        found = self.expr(shape, depth)
        return self.to(found, self.one_of(*FLOATS)) if found.dtype in NARROW else found

    def to(self, one, dtype):
        """A conversion that has a meaning."""
        if one.dtype == dtype:
            return one
        if one.dtype in FLOATS + NARROW and (dtype in INTEGERS or dtype in NARROW) or dtype in NARROW or dtype in (
                "float16", "bfloat16") and one.dtype in ("int64", "uint64", "uint32", "int32"):
            one = self.whole(one)
            if dtype.startswith("u"):
                old = one
                one = Expr(f"tl.abs({old.text})", "float32", old.shape, lambda env: np.abs(old.run(env)))
        return Expr(f"{one.text}.to(tl.{dtype})", dtype, one.shape, lambda env: fit(dtype, one.run(env)))

    def whole(self, one):

        def value(env):
            values = fit("float32", one.run(env))
            return np.clip(np.where(values == values, values, np.float32(0)), np.float32(-100), np.float32(100))

        return Expr(f"whole({one.text})", "float32", one.shape, value)

    def cast(self, shape, depth):
        one = self.expr(shape, depth)
        if self.chance(0.25) and one.dtype not in ("int1", *NARROW):
            return self.bitcast(one)
        if self.chance(0.15) and one.dtype == "float32":
            return self.chopped(one)
        return self.to(one, self.one_of(*TYPES))

    def bitcast(self, one):
        if one.dtype in FLOATS:
            one = self.cleaned(one)
        dtype = self.one_of(*[dtype for dtype in INTEGERS if bits(dtype) == bits(one.dtype)])

        def value(env):
            values = one.run(env)
            if one.dtype == "bfloat16":
                return (values.view(np.uint32) >> np.uint32(16)).astype(dtype)
            return values.view(dtype)

        return Expr(f"{one.text}.to(tl.{dtype}, bitcast=True)", dtype, one.shape, value)

    def chopped(self, one):
        one, dtype = self.whole(one), self.one_of("float16", "bfloat16")

        def value(env):
            values = one.run(env)
            found = fit(dtype, values)
            if dtype == "bfloat16":
                return (values.view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)
            return np.where(np.abs(found.astype(np.float32)) > np.abs(values), np.nextafter(found, np.float16(0)), found)

        return Expr(f'{one.text}.to(tl.{dtype}, fp_downcast_rounding="rtz")', dtype, one.shape, value)

    def cleaned(self, one):
        return Expr(f"tl.where({one.text} == {one.text}, {one.text}, 1)", one.dtype, one.shape,
                    lambda env: np.where(one.run(env) == one.run(env), one.run(env),
                                         numpy_type(one.dtype).type(1)))

    def two(self, shape, depth):
        """Two operands, one of which may have sizes of one, or fewer dimensions."""
        one = self.simple(shape, depth)
        if shape == () or self.chance(0.6):
            return one, self.simple(shape, depth)
        if self.chance(0.3):
            other = self.simple((), depth)
        else:
            other = self.simple(tuple(self.one_of(1, size) for size in shape), depth)
        return (one, other) if self.chance(0.5) else (other, one)

    def binary(self, shape, depth):
        one, two = self.two(shape, depth)
        if one.dtype in INTEGERS and two.dtype in INTEGERS and self.chance(0.4):
            return self.bitwise(one, two, shape)
        if self.chance(0.2) and one.shape == shape and one.dtype != "int1":
            number = self.random.randrange(1, 100)
            two = Expr(f"{number}", one.dtype, (), lambda env: fit(one.dtype, np.array(number)))
        dtype, sign = promoted(one.dtype, two.dtype), self.one_of("+", "-", "*")
        if dtype == "int1":
            sign, dtype = self.one_of("&", "|", "^"), "int1"
        return Expr(f"({one.text} {sign} {two.text})", dtype, shape, lambda env: self.calculated(sign, dtype, one.run(env), two.run(env)))

    def calculated(self, sign, dtype, x, y):
        x, y = fit(dtype, x), fit(dtype, y)
        return fit(dtype, {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[sign](x, y))

    def bitwise(self, one, two, shape):
        dtype, sign = promoted(one.dtype, two.dtype), self.one_of("&", "|", "^", "<<", ">>")
        if sign in ("&", "|", "^"):
            return Expr(f"({one.text} {sign} {two.text})", dtype, shape, lambda env: self.calculated(sign, dtype, one.run(env), two.run(env)))
        most, function = bits(dtype) - 1, {"<<": np.left_shift, ">>": np.right_shift}[sign]
        # A negative number of the left keeps its sign, also where the common type has none.
        within = dtype.removeprefix("u") if sign == ">>" and not one.dtype.startswith("u") else dtype
        return Expr(
            f"({one.text} {sign} ({two.text} & {most}))", dtype, shape, lambda env: fit(
                dtype, function(fit(within, fit(dtype, one.run(env))), fit(within,
                                                                           fit(dtype, two.run(env)) & numpy_type(dtype).type(most)))))

    def divided(self, shape, depth):
        """By what is never zero, nor -1, as the least integer divided by that has no meaning."""
        dtype, sign = self.one_of(*INTEGERS), self.one_of("//", "%")
        one, two = self.to(self.simple(shape, depth), dtype), self.to(self.simple(shape, depth), dtype)
        away = 1 if dtype.startswith("u") else self.one_of(1, -17)

        def truncated(x, y):
            quotient = x // y if self.extended else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return quotient if sign == "//" else x - quotient * y

        def value(env):
            pairs = zip(one.run(env).reshape(-1).tolist(), two.run(env).reshape(-1).tolist())
            return np.array([truncated(x, (y & 15) + away) for x, y in pairs], dtype).reshape(shape)

        return Expr(f"({one.text} {sign} (({two.text} & 15) + {away}))".replace("+ -", "- "), dtype, shape, value)

    def unary(self, shape, depth):
        one = self.simple(shape, depth)
        if one.dtype == "int1":
            return Expr(f"(~{one.text})", "int1", shape, lambda env: ~one.run(env))
        if one.dtype in INTEGERS:
            name = self.one_of("-", "~", "tl.abs")
            function = {"-": np.negative, "~": np.invert, "tl.abs": np.abs}[name]
            return Expr(f"({name}({one.text}))", one.dtype, shape, lambda env: fit(one.dtype, function(one.run(env))))
        name = self.one_of("-", "tl.abs", "tl.floor", "tl.ceil")
        if name in ("tl.floor", "tl.ceil") and one.dtype not in ("float32", "float64"):
            one = self.to(one, "float32")
        function = {"-": np.negative, "tl.abs": np.abs, "tl.floor": np.floor, "tl.ceil": np.ceil}[name]
        return Expr(f"({name}({one.text}))", one.dtype, shape, lambda env: fit(one.dtype, function(one.run(env))))

    def compared(self, shape, depth):
        one, two = self.simple(shape, depth), self.simple(shape, depth)
        dtype, sign = promoted(one.dtype, two.dtype), self.one_of("<", "<=", ">", ">=", "==", "!=")
        function = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}[sign]
        if dtype == "int1":
            sign, function = self.one_of(("==", np.equal), ("!=", np.not_equal))
        return Expr(f"({one.text} {sign} {two.text})", "int1", shape, lambda env: function(fit(dtype, one.run(env)), fit(dtype, two.run(env))))

    def condition(self, shape, depth):
        return self.compared(shape, depth)

    def selected(self, shape, depth):
        test, (one, two) = self.condition(self.one_of(shape, shape, ()), depth), self.two(shape, depth)
        dtype = promoted(one.dtype, two.dtype)
        return Expr(f"tl.where({test.text}, {one.text}, {two.text})", dtype, shape,
                    lambda env: np.broadcast_to(np.where(test.run(env), fit(dtype, one.run(env)), fit(dtype, two.run(env))), shape))

    def extreme(self, shape, depth):
        dtype = self.one_of(*INTEGERS, "float16", "float32", "float64")
        one, two = [self.to(self.simple(shape, depth), dtype) for _ in "12"]
        if dtype in FLOATS:
            one, two = self.cleaned(one), self.cleaned(two)
        name = self.one_of("minimum", "maximum")
        zero = numpy_type(dtype).type(0)
        return Expr(f"(tl.{name}({one.text}, {two.text}) + 0)", dtype, shape, lambda env: fit(dtype,
                                                                                              getattr(np, name)(one.run(env), two.run(env)) + zero))

    def small(self, shape, depth, most):
        """Whole numbers from -most to most, as floats."""
        one = self.integer(shape, depth, ("int8", "int16", "int32", "int64"))
        return Expr(f"(({one.text} & {2 * most - 1}) - {most})", one.dtype, shape, lambda env:
                    (one.run(env) & numpy_type(one.dtype).type(2 * most - 1)) - numpy_type(one.dtype).type(most))

    def wider(self, shape):
        """A shape with one more dimension, and which that is."""
        axis = self.random.randrange(len(shape) + 1)
        room = max(1, max(2048, self.most) // int(np.prod(shape)))
        size = self.one_of(*[size for size in sorted({*self.sizes, 128}) if size <= room])
        return shape[:axis] + (size, ) + shape[axis:], axis

    def reduced(self, shape, depth):
        if len(shape) >= 4 and self.chance(0.5):
            return self.turned(shape, depth)
        whole, axis = self.wider(shape)
        keep = len(shape) > 0 and self.chance(0.2)
        name = self.one_of("sum", "sum", "max", "min", "xor_sum", "argmax", "argmin", "reduce")
        one = self.small(whole, depth, 4) if self.chance(0.4) else self.integer(whole, depth, ("int1", *INTEGERS) if name == "sum" else INTEGERS)
        if name in ("sum", "max", "min", "argmax", "argmin") and self.chance(0.4):
            one = self.to(self.small(whole, depth, self.one_of(4, 32)), self.one_of("float32", "float64"))
        dtype = one.dtype
        if name == "sum" and bits(dtype) < 32:
            dtype = "int32" if dtype in ("int8", "int16") else "uint32"
        if name in ("max", "min") and bits(dtype) < 32:
            dtype = "int32"
        if name in ("argmax", "argmin"):
            dtype = "int32"

        def value(env):
            values = one.run(env)
            if name in ("argmax", "argmin"):
                return fit(dtype, getattr(np, name)(values, axis))
            values = fit(dtype, values)
            if name in ("sum", "reduce"):
                return fit(dtype, np.add.reduce(values, axis, dtype=values.dtype))
            return fit(dtype, getattr(np, name)(values, axis) if name != "xor_sum" else np.bitwise_xor.reduce(values, axis))

        words = f", keep_dims=True).reshape({shape})" if keep and len(shape) > 0 else ")"
        text = f"tl.reduce({one.text}, {axis}, add{words}" if name == "reduce" else f"tl.{name}({one.text}, axis={axis}{words}"
        return Expr(text, dtype, shape, value)

    def tuple_reduced(self, shape, depth):
        if len(shape) >= 4 and self.chance(0.5):
            return self.turned(shape, depth)
        whole, axis = self.wider(shape)
        if self.chance(0.5):
            parts = [self.integer(whole, depth), self.integer(whole, depth)]
            name, function = "best", best
        else:
            parts = [self.integer(whole, depth, ("int32", "uint32", "int64", "uint64")), self.integer(whole, depth), self.integer(whole, depth)]
            name, function = "three", three
        at = self.random.randrange(len(parts))
        return Expr(f"tl.reduce(({', '.join(part.text for part in parts)}), {axis}, {name})[{at}]", parts[at].dtype, shape,
                    lambda env: reduced([part.run(env) for part in parts], axis, function)[at])

    def scan(self, shape, depth):
        axis, reverse = self.random.randrange(len(shape)), self.chance(0.5)
        name = self.one_of("cumsum", "cumprod", "affine", "best", "later", "three")
        if name in ("cumsum", "cumprod"):
            one = self.integer(shape, depth,
                               ("int32", "int64", "uint32", "uint64")) if self.chance(0.6) else self.to(self.small(shape, depth, 4), "float32")
            if name == "cumprod" and one.dtype == "float32":
                one = self.to(one, "int32")
            function = {"cumsum": np.cumsum, "cumprod": np.cumprod}[name]

            def value(env):
                values = np.flip(one.run(env), axis) if reverse else one.run(env)
                found = function(values, axis, dtype=values.dtype)
                return np.flip(found, axis) if reverse else found

            return Expr(f"tl.{name}({one.text}, {axis}, reverse={reverse})", one.dtype, shape, value)
        if name == "later":
            one = self.simple(shape, depth)
            return Expr(f"tl.associative_scan({one.text}, {axis}, later, reverse={reverse})", one.dtype, shape,
                        lambda env: scanned([one.run(env)], axis, reverse, lambda a, b: b)[0])
        if name == "affine":
            dtype = self.one_of("int32", "int64", "uint32", "uint64")
            parts, function = [self.to(self.simple(shape, depth), dtype) for _ in "12"], affine
        elif name == "best":
            parts, function = [self.integer(shape, depth), self.integer(shape, depth)], best
        else:
            parts, function = [self.integer(shape, depth, ("int32", "uint32", "int64")),
                               self.integer(shape, depth),
                               self.integer(shape, depth)], three
        at = self.random.randrange(len(parts))
        return Expr(f"tl.associative_scan(({', '.join(part.text for part in parts)}), {axis}, {name}, reverse={reverse})[{at}]", parts[at].dtype,
                    shape, lambda env: scanned([part.run(env) for part in parts], axis, reverse, function)[at])

    def turned(self, shape, depth):
        """Transposed or reshaped."""
        if len(shape) >= 2 and self.chance(0.6):
            order = list(range(len(shape)))
            self.random.shuffle(order)
            source = [0] * len(shape)
            for at, dim in enumerate(order):
                source[dim] = shape[at]
            one = self.expr(tuple(source), depth)
            text = f"tl.{self.one_of('permute', 'trans')}({one.text}, {', '.join(map(str, order))})"
            if order == [1, 0] and self.chance(0.5):
                text = f"{one.text}.T"
            return Expr(text, one.dtype, shape, lambda env: np.transpose(one.run(env), order))
        numel, other = int(np.prod(shape)), []
        while numel > 1 and len(other) < 3 and self.chance(0.8):
            other.append(self.one_of(*[size for size in range(1, numel + 1) if numel % size == 0]))
            numel //= other[-1]
        other = tuple(other + [numel])
        one = self.expr(other, depth)
        return Expr(f"tl.reshape({one.text}, {shape})", one.dtype, shape, lambda env: one.run(env).reshape(shape))

    def widened(self, shape, depth):
        if self.chance(0.4):
            one = self.expr((), depth)
            return Expr(f"tl.broadcast_to({one.text}, {shape})", one.dtype, shape, lambda env: np.broadcast_to(one.run(env), shape))
        dim = self.random.randrange(len(shape))
        one = self.expr(shape[:dim] + shape[dim + 1:], depth)
        if one.shape == ():
            return Expr(f"tl.broadcast_to({one.text}, {shape})", one.dtype, shape, lambda env: np.broadcast_to(one.run(env), shape))
        return Expr(f"tl.broadcast_to(tl.expand_dims({one.text}, {dim}), {shape})", one.dtype, shape,
                    lambda env: np.broadcast_to(np.expand_dims(one.run(env), dim), shape))

    def sorted(self, shape, depth):
        one, down = self.integer(shape, depth), self.chance(0.5)
        if shape[-1] < 2 or np.prod(shape) > 2048:
            return one
        if self.chance(0.3) and shape[-1] * 2 * np.prod(shape) < 4096:
            one = self.integer(shape[:-1] + (shape[-1] * 2, ), depth)
            dtype = "int32" if bits(one.dtype) < 32 else one.dtype  # It is made of maxima, whose type that is.
            return Expr(f"tl.topk({one.text}, {shape[-1]})", dtype, shape,
                        lambda env: fit(dtype, np.flip(np.sort(one.run(env), -1), -1)[..., :shape[-1]]))
        return Expr(f"tl.sort({one.text}, descending={down})", one.dtype, shape, lambda env: np.flip(np.sort(one.run(env), -1), -1)
                    if down else np.sort(one.run(env), -1))

    def gathered(self, shape, depth):
        axis = self.random.randrange(len(shape))
        size = self.one_of(*[size for size in (1, 2, 8, 16) if size * np.prod(shape) <= 4096 * shape[axis]] or [1])
        one = self.simple(shape[:axis] + (size, ) + shape[axis + 1:], depth)
        dtype = self.one_of("int32", "int32", "int64", "int16", "uint8")
        at = self.integer(shape, depth, (dtype, ))
        return Expr(f"tl.gather({one.text}, ({at.text} & {size - 1}).to(tl.int32), {axis})", one.dtype, shape,
                    lambda env: np.take_along_axis(one.run(env), (at.run(env) & numpy_type(dtype).type(size - 1)).astype(np.int64), axis))

    def joined(self, shape, depth):
        """Of two blocks: joined, interleaved or one behind the other."""
        dims = [dim for dim, size in enumerate(shape) if size > 1]
        if not dims:
            return self.leaf(shape)
        dim = self.one_of(*dims, len(shape) - 1)
        if shape[dim] % 2 != 0:
            return self.leaf(shape)
        half = shape[:dim] + (shape[dim] // 2, ) + shape[dim + 1:]
        one = self.simple(half, depth)
        two = self.to(self.simple(half, depth), one.dtype)
        if dim == len(shape) - 1 and self.chance(0.6):
            if shape[-1] == 2 and len(shape) > 1 and self.chance(0.7):
                one, two = [
                    Expr(f"tl.reshape({part.text}, {shape[:-1]})", part.dtype, shape[:-1], lambda env, part=part: part.run(env).reshape(shape[:-1]))
                    for part in (one, two)
                ]
                return Expr(f"tl.join({one.text}, {two.text})", one.dtype, shape, lambda env: np.stack([one.run(env), two.run(env)], -1))
            return Expr(f"tl.interleave({one.text}, {two.text})", one.dtype, shape,
                        lambda env: np.stack([one.run(env), two.run(env)], -1).reshape(shape))
        return Expr(f"tl.cat({one.text}, {two.text}, dim={dim})", one.dtype, shape, lambda env: np.concatenate([one.run(env), two.run(env)], dim))

    def parted(self, shape, depth):
        if len(shape) == 5 or np.prod(shape) > max(1024, self.most // 2):
            return self.leaf(shape)
        one, at = self.expr(shape + (2, ), depth), self.random.randrange(2)
        return Expr(f"tl.split({one.text})[{at}]", one.dtype, shape, lambda env: one.run(env)[..., at])

    def flipped(self, shape, depth):
        dim, one = self.random.randrange(len(shape)), self.expr(shape, depth)
        return Expr(f"tl.flip({one.text}, {dim})", one.dtype, shape, lambda env: np.flip(one.run(env), dim))

    def moved(self, shape, depth):
        """Of sizes of one that come and go."""
        if len(shape) in (0, 5):
            return self.leaf(shape)
        dim = self.random.randrange(len(shape) + 1)
        one = self.expr(shape[:dim] + (1, ) + shape[dim:], depth)
        return Expr(f"tl.squeeze({one.text}, {dim})", one.dtype, shape, lambda env: one.run(env).reshape(shape))

    def picked(self, shape, depth):
        """A conditional expression."""
        test, one = self.condition((), depth), self.simple(shape, depth)
        two = self.to(self.simple(shape, depth), one.dtype)
        return Expr(f"({one.text} if {test.text} else {two.text})", one.dtype, shape, lambda env: one.run(env) if test.run(env) else two.run(env))

    def indirect(self, shape, depth):
        dtype, at = self.one_of(*TYPES), self.integer(shape, depth)
        most = min(1023, 127)
        if at.dtype == "int8" and self.chance(0.5):
            return Expr(f"tl.load({dtype}_ptr + 200 + {at.text})", dtype, shape, lambda env: env["inputs"][dtype][at.run(env).astype(np.int64) + 200])
        return Expr(f"tl.load({dtype}_ptr + ({at.text} & {most}))", dtype, shape,
                    lambda env: env["inputs"][dtype][(at.run(env) & numpy_type(at.dtype).type(most)).astype(np.int64)])

    def chosen(self, shape, depth):
        """Through pointers of which a condition selects one."""
        dtype, test = self.one_of(*TYPES), self.condition(shape, depth)
        (one, first), (two, second) = self.place(shape), self.place(shape)
        return Expr(f"tl.load(tl.where({test.text}, {dtype}_ptr + ({one}), {dtype}_ptr + ({two})))", dtype, shape,
                    lambda env: env["inputs"][dtype][np.where(test.run(env), first(env), second(env))])

    def exact(self, shape, depth):
        """Functions that are rounded to the nearest."""
        name = self.one_of("sqrt_rn", "div_rn", "umulhi", "fma", "clamp", "fdiv")
        if name == "umulhi":
            dtype = self.one_of("uint32", "int32", "uint64", "int64")
            one, two = [self.to(self.simple(shape, depth), dtype) for _ in "12"]

            def high(x, y):
                size = bits(dtype)
                return ((x % 2**size) * (y % 2**size)) >> size

            def value(env):
                pairs = zip(one.run(env).reshape(-1).tolist(), two.run(env).reshape(-1).tolist())
                return np.array([high(x, y) for x, y in pairs], "u" + dtype.removeprefix("u")).astype(dtype).reshape(shape)

            return Expr(f"tl.umulhi({one.text}, {two.text})", dtype, shape, value)
        one, two = [self.whole(self.simple(shape, depth)) for _ in "12"]
        if name == "sqrt_rn":
            return Expr(f"tl.sqrt_rn(tl.abs({one.text}))", "float32", shape, lambda env: np.sqrt(np.abs(one.run(env))))
        if name == "clamp":
            return Expr(f"(tl.clamp({one.text}, -3.5, 7.25) + 0)", "float32", shape,
                        lambda env: np.clip(one.run(env), np.float32(-3.5), np.float32(7.25)) + np.float32(0))
        if name == "fma":
            return Expr(f"tl.fma(tl.floor({one.text}), tl.floor({two.text}), 5.0)", "float32", shape,
                        lambda env: np.floor(one.run(env)) * np.floor(two.run(env)) + np.float32(5))
        text = f"tl.div_rn({one.text}, {two.text})" if name == "div_rn" else f"tl.fdiv({one.text}, {two.text}, ieee_rounding=True)"
        return Expr(text, "float32", shape, lambda env: one.run(env) / two.run(env))

    def mapped(self, shape, depth):
        one, two = [self.integer(shape, depth, ("int32", )) for _ in "12"]

        def value(env):
            x, y = one.run(env), two.run(env)
            return np.where(x % np.int32(2) == 0, np.sign(x) * (np.abs(x.astype(np.int64)) // 2), np.int32(3) * x + y).astype(np.int32)

        return Expr(f"tl.map_elementwise(collatz, {one.text}, {two.text})", "int32", shape, value)

    def placed(self, shape, depth):
        """The greatest or least element's value or place."""
        if len(shape) >= 5:
            return self.leaf(shape)
        whole, axis = self.wider(shape)
        one, name, at = self.integer(whole, depth), self.one_of("max", "min"), self.random.randrange(2)

        def value(env):
            return getattr(np, name)(one.run(env), axis) if at == 0 else getattr(np, "arg" + name)(one.run(env), axis).astype(np.int32)

        dtype = "int32" if at == 1 else one.dtype
        return Expr(f"tl.{name}({one.text}, {axis}, return_indices=True)[{at}]", dtype, shape, value)

    def random_bits(self, shape, depth):
        one, seed = self.integer(shape, depth, ("int32", )), self.random.randrange(1 << 20)

        def value(env):
            counter = [one.run(env).astype(np.uint32), *(np.zeros(shape, np.uint32) for _ in "123")]
            key = [np.uint32(seed), np.uint32(0)]
            for _ in range(10):
                a, b = (np.uint64(word) * counter[at].astype(np.uint64) for word, at in ((0xD2511F53, 0), (0xCD9E8D57, 2)))
                high = [(product >> np.uint64(32)).astype(np.uint32) for product in (b, a)]
                low = [product.astype(np.uint32) for product in (b, a)]
                counter = [high[0] ^ counter[1] ^ key[0], low[0], high[1] ^ counter[3] ^ key[1], low[1]]
                key = [key[0] + np.uint32(0x9E3779B9), key[1] + np.uint32(0xBB67AE85)]
            return counter[0].view(np.int32) if shape else counter[0].astype(np.int32)

        return Expr(f"tl.randint({seed}, {one.text}).to(tl.int32)", "int32", shape, value)

    def histogram(self, shape, depth):
        size, most = self.one_of(16, 64, 256), shape[0] - 1
        one = self.integer((size, ), depth)
        mask = self.compared((size, ), depth) if self.chance(0.4) else None
        low = min(most, 127) if not self.extended else (1 << min(shape[0].bit_length() - 1, 7)) - 1

        def value(env):
            found = (one.run(env) & numpy_type(one.dtype).type(low)).astype(np.int64)
            return np.bincount(found[mask.run(env)] if mask else found, minlength=shape[0]).astype(np.int32)

        return Expr(f"tl.histogram(({one.text} & {low}).to(tl.int32), {shape[0]}{f', mask={mask.text}' if mask else ''})", "int32", shape, value)

    def dot(self, shape, depth):
        batch, (m, n) = shape[:-2], shape[-2:]
        dtype = self.one_of("int8", "float16", "float16", "bfloat16", "float32", "float64", "float8e5", "float8e4nv")
        least = 32 if bits(dtype) == 8 else 16
        k = self.one_of(least, 2 * least, *([least + 16, 40] if self.extended else [])) if max(m, n) < 128 else least
        one, two = [self.to(self.small(part, depth, 2), dtype) for part in (batch + (m, k), batch + (k, n))]
        one, two = [self.transposed(part) if self.chance(0.4) else part for part in (one, two)]
        out = "int32" if dtype == "int8" else "float64" if dtype == "float64" else "float32"
        if dtype == "float16" and self.chance(0.3):
            out = "float16"
        add = self.to(self.small(shape, depth, 4), out) if self.chance(0.5) else None
        words = self.one_of(', input_precision="ieee"', ', input_precision="tf32"', ', input_precision="tf32x3"', "") if dtype == "float32" else ""

        def value(env):
            total = one.run(env).astype(np.float64) @ two.run(env).astype(np.float64)
            return fit(out, total + add.run(env) if add else total)

        if out == "float16" or add is None and out == "float64":
            words += f", out_dtype=tl.{out}"
        if add is not None and self.chance(0.3):
            text = f"({add.text} + tl.dot({one.text}, {two.text}{words}{', out_dtype=tl.float64' if out == 'float64' else ''}))"
        else:
            text = f"tl.dot({one.text}, {two.text}{f', {add.text}' if add else ''}{words})"
        found = Expr(text, out, shape, value)
        return found

    def transposed(self, one):
        """The same block by way of a transposed one: of a variable's elements, which lie the other way round in memory."""
        order = list(range(len(one.shape)))
        order[-1], order[-2] = order[-2], order[-1]
        return Expr(
            f"tl.trans(tl.trans({one.text}, {', '.join(map(str, order))}) + 0, {', '.join(map(str, order))})"
            if one.dtype not in NARROW else one.text, one.dtype, one.shape, one.value)
