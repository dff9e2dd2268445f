"""Expressions of the programs of `valued.py` by functions of libdevice, inline PTX, and hints."""

import math

import numpy as np
from values import INTEGERS, TYPES, Expr, bits, fit, numpy_type, shifted, spread

WIDE = ("int32", "uint32", "int64", "uint64")


def each(function, dtype, *blocks):
    """A function of Python's numbers, element by element."""
    rows = zip(*(block.reshape(-1).tolist() for block in blocks))
    return np.array([function(*row) for row in rows], numpy_type(dtype)).reshape(blocks[0].shape)


def wrapped(number, dtype):
    """A whole number's lowest bits as an integer of a type."""
    number %= 1 << bits(dtype)
    return number - (1 << bits(dtype)) if dtype.startswith("i") and number >> (bits(dtype) - 1) else number


def directed(number, way, dtype="float32"):
    """An exact number, as fp64 or int, rounded: to nearest (`rn`), towards zero (`rz`), up (`ru`), down (`rd`)."""
    kind = numpy_type(dtype).type
    found = kind(number)
    if math.isnan(found) or math.isinf(found):
        return found
    exact = int(found) if isinstance(number, int) else float(found)
    down = way == "rd" or way == "rz" and number > 0
    up = way == "ru" or way == "rz" and number < 0
    if down and exact > number:
        return np.nextafter(found, kind(-np.inf))
    return np.nextafter(found, kind(np.inf)) if up and exact < number else found


def rounded(number, way):
    """A number as a whole one."""
    return {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[way](number)


class LibraryExpressions:
    """What `Expressions` has besides."""

    def library(self, shape, depth):
        ways = [self.counted_bits, self.means, self.rounded_sums, self.whole_numbers, self.parts_of_floats, self.to_integers, self.to_floats]
        return self.one_of(*ways)(shape, depth)

    def tame(self, shape, depth):
        """Multiples of 1/64 of ten bits, as fp32."""
        one = self.small(shape, depth, 64) if self.chance(0.3) else self.small16(shape, depth)
        return Expr(f"({one.text}.to(tl.float32) * 0.015625)", "float32", shape, lambda env: one.run(env).astype(np.float32) * np.float32(1 / 64))

    def small16(self, shape, depth):
        one = self.integer(shape, depth, ("int16", "int32", "int64"))
        return Expr(f"(({one.text} & 1023) - 512)", one.dtype, shape, lambda env:
                    (one.run(env) & numpy_type(one.dtype).type(1023)) - numpy_type(one.dtype).type(512))

    def called(self, name, dtype, arguments, value):
        texts = ", ".join(argument.text for argument in arguments)
        return Expr(f"libdevice.{name}({texts})", dtype, arguments[0].shape, lambda env: value(*(argument.run(env) for argument in arguments)))

    def counted_bits(self, shape, depth):
        name, dtype = self.one_of("brev", "clz", "popc", "ffs"), self.one_of("int32", "int64")
        size, one = bits(dtype), self.to(self.simple(shape, depth), dtype)

        def value(x):
            x %= 1 << size
            return {
                "brev": lambda: wrapped(int(f"{x:0{size}b}"[::-1], 2), dtype),
                "clz": lambda: size - x.bit_length(),
                "popc": x.bit_count,
                "ffs": lambda: (x & -x).bit_length()
            }[name]()

        out = dtype if name == "brev" else "int32"
        return self.called(name, out, [one], lambda x: each(value, out, x))

    def means(self, shape, depth):
        """Sums and products of integers, in part."""
        name = self.one_of("hadd", "rhadd", "mulhi", "sad", "byte_perm", "mul24")
        dtype = "int32" if name in ("byte_perm", "mul24") else self.one_of(*WIDE) if name == "mulhi" else self.one_of("int32", "uint32")
        one, two = [self.to(self.simple(shape, depth), dtype) for _ in "12"]
        if name == "sad":
            three = self.to(self.simple(shape, depth), "uint32")
            return self.called(name, dtype, [one, two, three], lambda x, y, z: each(lambda x, y, z: wrapped(abs(x - y) + z, dtype), dtype, x, y, z))
        if name == "byte_perm":
            selector = self.random.randrange(1 << 16) & 0x7777
            three = Expr(f"tl.full({shape}, {selector}, tl.int32)", "int32", shape, lambda env: np.full(shape, selector, np.int32))

            def picked(x, y, z):
                whole = (x % 2**32) | (y % 2**32) << 32
                return wrapped(sum((whole >> 8 * ((z >> 4 * at) & 7) & 255) << 8 * at for at in range(4)), dtype)

            return self.called(name, dtype, [one, two, three], lambda x, y, z: each(picked, dtype, x, y, z))
        functions = {
            "hadd": lambda x, y: (x + y) >> 1,
            "rhadd": lambda x, y: (x + y + 1) >> 1,
            "mulhi": lambda x, y: x * y >> bits(dtype),
            "mul24": lambda x, y: wrapped(wrapped(x << 8, "int32") * wrapped(y << 8, "int32") >> 16, "int32")
        }
        return self.called(name, dtype, [one, two], lambda x, y: each(functions[name], dtype, x, y))

    def rounded_sums(self, shape, depth):
        """Of numbers of few bits, so that fp64 has them exactly, or near enough to be rounded right."""
        way, name = self.one_of("rn", "rz", "ru", "rd"), self.one_of("add", "sub", "mul", "div", "fma", "sqrt", "rcp")
        one, two, three = [self.tame(shape, depth) for _ in "123"]
        tiny = Expr(f"({two.text} * 1.52587890625e-05)", "float32", shape, lambda env: two.run(env) * np.float32(2.0**-16))
        odd = Expr(f"({one.text} * {one.text} + 0.125)", "float32", shape, lambda env: one.run(env) * one.run(env) + np.float32(0.125))
        functions = {
            "add": ([odd, tiny], lambda x, y: x + y),
            "sub": ([odd, tiny], lambda x, y: x - y),
            "mul": ([odd, two], lambda x, y: x * y),
            "div": ([one, two], lambda x, y: x / y),
            "fma": ([one, two, Expr(f"({three.text} * 1.52587890625e-05)", "float32", shape, lambda env: three.run(env) * np.float32(2.0**-16))],
                    lambda x, y, z: x * y + z),
            "sqrt": ([odd], np.sqrt),
            "rcp": ([one], lambda x: 1 / x)
        }
        arguments, function = functions[name]

        def value(*blocks):
            exact = np.asarray(function(*(block.astype(np.float64) for block in blocks)))
            return each(lambda x: directed(x, way), "float32", exact) + np.float32(0)

        found = self.called(f"{name}_{way}", "float32", arguments, value)
        return Expr(f"({found.text} + 0)", found.dtype, shape, found.value)

    def real(self, shape, depth):
        """Floats that are no NaN, and not always whole; no zero has a sign."""
        dtype = self.one_of("float32", "float32", "float64")
        one = self.cleaned(self.to(self.whole(self.simple(shape, depth)), dtype))
        return Expr(f"({one.text} + 0)", dtype, shape, lambda env: one.run(env) + numpy_type(dtype).type(0))

    def whole_numbers(self, shape, depth):
        name, one = self.one_of("rint", "nearbyint", "trunc", "round", "floor", "ceil", "llrint", "llround"), self.real(shape, depth)

        def away(x):
            return np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.sign(x), 0).astype(x.dtype)

        functions = {"rint": np.rint, "nearbyint": np.rint, "trunc": np.trunc, "round": away, "floor": np.floor, "ceil": np.ceil, "llrint": np.rint,
                     "llround": away}
        out = "int64" if name.startswith("ll") else one.dtype
        found = self.called(name, out, [one], lambda x: fit(out, functions[name](x)) + numpy_type(out).type(0))
        return Expr(f"({found.text} + 0)", out, shape, found.value)

    def parts_of_floats(self, shape, depth):
        name = self.one_of("signbit", "isnan", "isinf", "copysign", "fdim", "fmod", "remainder", "nextafter", "ldexp", "scalbn", "ilogb", "logb",
                           "saturatef", "finitef", "float_as_int", "fma")
        if name in ("isnan", "isinf", "finitef"):
            one = self.to(self.simple(shape, depth), "float32")
            function = {"isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite}[name]
            return self.called(name, "int1", [one], function)
        one = self.real(shape, depth)
        two = self.to(self.real(shape, depth), one.dtype)
        if name in ("ldexp", "scalbn"):
            two = self.small(shape, depth, 32)
            two = self.to(two, "int32")
            return self.called(name, one.dtype, [one, two], np.ldexp)
        if name in ("saturatef", "float_as_int"):
            one = self.to(one, "float32")
            function = (lambda x: np.clip(x, np.float32(0), np.float32(1))) if name == "saturatef" else lambda x: x.view(np.int32)
            return self.called(name, "float32" if name == "saturatef" else "int32", [one], function)
        if name in ("ilogb", "logb"):
            one = Expr(f"(tl.abs({one.text}) + 0.25)", one.dtype, shape, lambda env, one=one: np.abs(one.run(env)) + numpy_type(one.dtype).type(0.25))
            out = "int32" if name == "ilogb" else one.dtype
            return self.called(name, out, [one], lambda x: fit(out, np.frexp(x)[1] - 1))
        if name == "signbit":
            return self.called(name, "int32", [one], lambda x: np.signbit(x).astype(np.int32))
        if name == "fma":
            blocks = [self.tame(shape, depth) for _ in "123"]
            return self.called(name, "float32", blocks, lambda x, y, z: x * y + z)

        def remainder(x, y):
            return math.remainder(x, y) if y else math.nan

        functions = {
            "copysign": np.copysign,
            "fdim": lambda x, y: np.where(x > y, x - y, numpy_type(one.dtype).type(0)),
            "fmod": np.fmod,
            "remainder": lambda x, y: each(remainder, one.dtype, x, y),
            "nextafter": np.nextafter
        }
        found = self.called(name, one.dtype, [one, two], functions[name])
        return Expr(f"({found.text} + 0)", one.dtype, shape, lambda env: found.run(env) + numpy_type(one.dtype).type(0))

    def to_integers(self, shape, depth):
        one, way, name = self.real(shape, depth), self.one_of("rn", "rz", "ru", "rd"), self.one_of("int", "uint", "ll", "ull")
        # Also what has no sign is of a type with one, as in the reference.
        out = "int32" if name.endswith("int") else "int64"
        if name.startswith("u"):
            one = Expr(f"tl.abs({one.text})", one.dtype, shape, lambda env, one=one: np.abs(one.run(env)))
        kind = "float" if one.dtype == "float32" else "double"
        return self.called(f"{kind}2{name}_{way}", out, [one], lambda x: each(lambda x: rounded(x, way), out, x))

    def to_floats(self, shape, depth):
        """Integers that fp32 may not have, and fp64 to fp32."""
        way, source = self.one_of("rn", "rz", "ru", "rd"), self.one_of(*WIDE, "float64")
        one = self.to(self.simple(shape, depth), source)
        if source == "float64":
            one = self.to(self.tame(shape, depth), source)
            one = Expr(f"({one.text} * 1.000000001)", source, shape, lambda env, one=one: one.run(env) * 1.000000001)
        name = {"int32": "int", "uint32": "uint", "int64": "ll", "uint64": "ull", "float64": "double"}[source]
        found = self.called(f"{name}2float_{way}", "float32", [one], lambda x: each(lambda x: directed(x, way), "float32", x) + np.float32(0))
        return Expr(f"({found.text} + 0)", "float32", shape, found.value)

    def assembled(self, shape, depth):
        """Inline PTX of single elements."""
        functions = {
            "max.s32": (2, "int32", max),
            "min.u32": (2, "uint32", min),
            "xor.b32": (2, "uint32", lambda x, y: x ^ y),
            "add.s32": (2, "int32", lambda x, y: wrapped(x + y, "int32")),
            "sub.s64": (2, "int64", lambda x, y: wrapped(x - y, "int64")),
            "mul.lo.s32": (2, "int32", lambda x, y: wrapped(x * y, "int32")),
            "mul.hi.u32": (2, "uint32", lambda x, y: x * y >> 32),
            "mad.lo.s32": (3, "int32", lambda x, y, z: wrapped(x * y + z, "int32")),
        }
        name = self.one_of(*functions)
        count, dtype, function = functions[name]
        arguments = [self.to(self.simple(shape, depth), dtype) for _ in range(count)]
        letter = "l" if bits(dtype) == 64 else "r"
        text = f"{name} {', '.join(f'${at}' for at in range(count + 1))};"
        words = f'"{text}", "={letter}{f",{letter}" * count}", [{", ".join(argument.text for argument in arguments)}]'
        return Expr(f"tl.inline_asm_elementwise({words}, dtype=tl.{dtype}, is_pure={self.chance(0.8)}, pack=1)", dtype, shape,
                    lambda env: each(function, dtype, *(argument.run(env) for argument in arguments)))

    def packed(self, shape, depth):
        """Inline PTX that turns runs of two or four elements of a register round, and adds or selects in registers."""
        pack = self.one_of(2, 4)
        if shape[-1] % pack != 0:
            return self.assembled(shape, depth)
        dtype = self.one_of("uint8", "int8") if pack == 4 else self.one_of("uint16", "int16")
        one, way = self.to(self.simple(shape, depth), dtype), self.one_of("turn", "xor", "both")
        runs = shape[:-1] + (shape[-1] // pack, pack)
        turn, words = "0x0123" if pack == 4 else "0x1032", f"is_pure=True, pack={pack}"
        if way == "turn":
            text = f'"prmt.b32 $0, $1, 0, {turn};", "=r,r", [{one.text}]'
            return Expr(f"tl.inline_asm_elementwise({text}, dtype=tl.{dtype}, {words})", dtype, shape,
                        lambda env: np.flip(one.run(env).reshape(runs), -1).reshape(shape))
        two = self.to(self.simple(shape, depth), dtype)
        if way == "xor":
            text = f'"xor.b32 $0, $1, $2;", "=r,r,r", [{one.text}, {two.text}]'
            return Expr(f"tl.inline_asm_elementwise({text}, dtype=tl.{dtype}, {words})", dtype, shape,
                        lambda env: one.run(env) ^ two.run(env))
        at = self.random.randrange(2)
        text = f'"{{ prmt.b32 $0, $2, 0, {turn}; prmt.b32 $1, $3, 0, {turn}; }}", "=r,=r,r,r", [{one.text}, {two.text}]'
        return Expr(f"tl.inline_asm_elementwise({text}, dtype=(tl.{dtype}, tl.{dtype}), {words})[{at}]", dtype, shape,
                    lambda env: np.flip((one, two)[at].run(env).reshape(runs), -1).reshape(shape))

    def hinted(self, shape, depth):
        """A load with hints that are true."""
        dtype, width = self.one_of(*TYPES), shape[-1]
        factor, number = self.one_of(1, 4, 16), self.random.randrange(8)
        step = width if sum(shape) * width > 2000 else 4 * width
        rest = [f"{shifted(shape, dim)} * {step}" for dim in range(len(shape) - 1)]
        wide = self.chance(0.4)
        row = f"tl.multiple_of((n * {factor} + {number * 16}){'.to(tl.int64)' if wide else ''}, {factor})"
        column = f"tl.max_contiguous({shifted(shape, len(shape) - 1)}, {width})" if len(shape) == 1 else shifted(shape, len(shape) - 1)
        if len(shape) == 1 and not self.extended and self.chance(0.5):
            column = f"tl.multiple_of({column}, {width})"
        mask, bound = self.chance(0.6), self.one_of(0, 4, 8, 13, 32)
        last = shifted(shape, len(shape) - 1)
        words = f", mask=tl.broadcast_to({last} < tl.multiple_of({bound} + n * {factor}, {math.gcd(bound, factor) or factor}), {shape}), other=1"

        def value(env):
            place = spread(shape, len(shape) - 1) + env["n"] * factor + number * 16
            place = sum((spread(shape, dim) * step for dim in range(len(shape) - 1)), place)
            found = env["inputs"][dtype][place]
            return np.where(spread(shape, len(shape) - 1) < bound + env["n"] * factor, found, fit(dtype, 1)) if mask else found

        return Expr(f"tl.load({dtype}_ptr + ({' + '.join([row, *rest, column])}){words if mask else ''})", dtype, shape, value)

    def tests(self, shape, depth):
        """Counts and unions along an axis, and over all of a block."""
        whole, axis = self.wider(shape)
        if shape == () and self.chance(0.5):
            whole, axis = self.shape(1, 3, 512), None
        one, name = self.integer(whole, depth), self.one_of("reduce_or", "any", "sum64", "float")
        if name == "any":
            test = self.compared(whole, depth)
            return Expr(f"tl.reduce_or({test.text}.to(tl.int32), {axis})", "int32", shape, lambda env: np.any(test.run(env), axis).astype(np.int32))
        if name == "reduce_or":
            return Expr(f"tl.reduce_or({one.text}, {axis})", one.dtype, shape, lambda env: np.bitwise_or.reduce(one.run(env), axis))
        if name == "sum64":
            return Expr(f"tl.sum({one.text}, {axis}, dtype=tl.int64)", "int64", shape,
                        lambda env: np.sum(fit("int64", one.run(env)), axis, dtype=np.int64))
        dtype, most = self.one_of("float16", "bfloat16", "float64"), self.one_of("max", "min")
        small = self.to(self.small(whole, depth, 32), dtype)
        out = "float64" if dtype == "float64" else "float32"
        return Expr(f"tl.{most}({small.text}, {axis})", out, shape, lambda env: fit(out, getattr(np, most)(small.run(env), axis)))

    def ordered(self, shape, depth):
        """Floats in order, along any dimension that the language allows, and where they came from."""
        if shape[-1] < 2 or np.prod(shape) > 2048:
            return self.leaf(shape)
        dtype = self.one_of("float16", "float32", "float64", "bfloat16")
        one = self.to(self.small(shape, depth, self.one_of(4, 32)), dtype)
        down, name = self.chance(0.5), self.one_of("sort", "argsort", "pairs")

        def places(env):
            values = one.run(env)
            return np.argsort(-values if down else values, -1, kind="stable")

        if name == "argsort":
            return Expr(f"tl.argsort({one.text}, descending={down})", "int32", shape, lambda env: places(env).astype(np.int32))
        if name == "pairs":
            return Expr(f"tl.sort({one.text}, descending={down}, return_indices=True)[1]", "int32", shape, lambda env: places(env).astype(np.int32))
        return Expr(f"tl.sort({one.text}, {len(shape) - 1}, {down})", dtype, shape, lambda env: np.take_along_axis(one.run(env), places(env), -1))

    def mixed(self, shape, depth):
        """Small functions of the language: quotients rounded up, numbers of tiles in groups, halves of random bits."""
        name = self.one_of("cdiv", "swizzle", "word", "rest")
        one, two = [self.to(self.integer(shape, depth, INTEGERS), "int32") for _ in "12"]
        if name == "cdiv":
            return Expr(f"tl.cdiv({one.text} & 1023, ({two.text} & 15) + 1)", "int32", shape,
                        lambda env: -(-(one.run(env) & np.int32(1023)) // ((two.run(env) & np.int32(15)) + np.int32(1))))
        if name == "swizzle":
            at, rows, columns, group = self.random.randrange(2), self.one_of(3, 4, 6), self.one_of(2, 4, 5), self.one_of(1, 2, 4)

            def value(env):
                i, j = one.run(env) & np.int32(1), two.run(env) & np.int32(1)
                flat = i * columns + j
                first = flat // (group * columns) * group
                size = np.minimum(rows - first, group)
                flat = flat % (group * columns)
                return (first + flat % size if at == 0 else flat // size).astype(np.int32)

            return Expr(f"tl.swizzle2d({one.text} & 1, {two.text} & 1, {rows}, {columns}, {group})[{at}]", "int32", shape, value)
        if name == "word":
            high, low = [f"{part.text}.to(tl.uint32, bitcast=True)" for part in (one, two)]
            return Expr(f"(({high}.to(tl.uint64) << 32) | {low})", "uint64", shape,
                        lambda env: fit("uint64", fit("uint32", one.run(env))) << np.uint64(32) | fit("uint32", two.run(env)))
        a, b = [self.tame(shape, depth) for _ in "12"]
        return Expr(f"(({a.text} % {b.text}) + 0)", "float32", shape, lambda env:
                    (np.mod if self.extended else np.fmod)(a.run(env), b.run(env)) + np.float32(0))
