"""Random kernels as Python source: what the interpreter runs as Python and what is compiled for each target must agree bit for bit.

``python benches/compatibility/programs.py --seconds 3600 --first 1 --folder /tmp/programs`` goes from seed to seed, and leaves the source of
what differs in the folder, made smaller by leaving out statements. ``--seed 17`` runs one and prints it; ``--engines cpu,cuda:90`` says which
engines are compared with the interpreter; ``gpu`` is the GPU of the machine.

Programs mix dtypes, scalars and blocks of one and two dimensions in loops, conditions and functions of their own. Nothing in them is
undefined: divisors are positive, shifts are below eight, floats are clamped before they become integers. Left out are sums of floats, dots
that something is added to (they start from it, and round in an order of their own), functions that are not rounded exactly, and the sign of
a zero that is the maximum of a block.
"""

import argparse
import importlib.util
import pathlib
import random
import sys
import time
import traceback

import numpy as np

import triton

BLOCK, SIDE, PROGRAMS, SLOT, SLOTS = 32, 16, 2, 256, 256
HEAD = f"""import triton
import triton.language as tl

BLOCK, SIDE = tl.constexpr({BLOCK}), tl.constexpr({SIDE})
"""
# Inputs: their name, numpy's dtype, and whether they are integers. bf16 is made of fp32 in the kernel.
INPUTS = {"a": "int32", "b": "int8", "c": "uint8", "d": "int64", "e": "uint16", "f": "float32", "g": "float16", "h": "float32", "u": "uint32"}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


class Value:
    """A variable: integer, float or bool (`i`, `f`, `b`), scalar, block or matrix (`s`, `v`, `m`)."""

    def __init__(self, name, kind, shape):
        self.name, self.kind, self.shape = name, kind, shape


class Writer:
    """Writes one kernel."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values, self.helpers, self.count, self.outputs = [], [], 0, 0

    def fresh(self, prefix="x"):
        self.count += 1
        return f"{prefix}{self.count}"

    def one_of(self, *choices):
        return self.random.choice(choices)

    def pick(self, kind, shapes):
        found = [value for value in self.values if value.kind == kind and value.shape in shapes]
        # Later variables have longer histories.
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))].name if found else None

    def below(self, shape):
        """Shapes that broadcast to `shape` without an index."""
        return {"s": ("s", ), "v": ("s", "v"), "m": ("s", "m")}[shape]

    def leaf(self, kind, shape):
        name = self.pick(kind, self.below(shape))
        if name is not None and self.random.random() < 0.85:
            return name
        number = self.random.randrange(-9, 10)
        # An unsigned operand and a negative literal are refused, also where a kernel never comes, which the interpreter does not see.
        text = {"i": str(abs(number)), "f": str(number / 4), "b": f"({self.leaf('i', shape)} < {abs(number)})"}[kind]
        return f"({text})" if kind == "f" else text

    def tensor(self, kind, shape):
        """A variable of that very shape, so that methods and reductions have what they need."""
        name = self.pick(kind, (shape, ))
        if name is not None:
            return name
        zero = {"s": "tl.program_id(0)", "v": "tl.arange(0, BLOCK)", "m": "tl.full((SIDE, SIDE), 3, tl.int32)"}[shape]
        return {"i": zero, "f": f"{zero}.to(tl.float32)", "b": f"({zero} > 1)"}[kind]

    def expr(self, kind, shape, depth):
        if depth <= 0 or self.random.random() < 0.1:
            return self.leaf(kind, shape)
        return getattr(self, "expr_" + kind)(shape, depth - 1)

    def expr_b(self, shape, depth):
        return self.one_of(self.compared, self.combined, self.chained)(shape, depth)

    def window(self, shape):
        """Where an index lies between bounds that the program gets, one of which may be missing."""
        index = {"v": "tl.arange(0, BLOCK)", "m": self.one_of("tl.arange(0, SIDE)[None, :]", "tl.arange(0, SIDE)[:, None]")}[shape]
        size = {"v": "BLOCK", "m": "SIDE"}[shape]
        first, last = [f"({index} {sign} {self.tensor('i', 's')}.to(tl.int32) % {size})" for sign in (self.one_of(">", ">="), self.one_of("<", "<="))]
        return self.one_of(first, first, last, f"({first} & {last})")

    def compared(self, shape, depth):
        if shape == "v" and self.random.random() < 0.15:
            return self.window(shape)
        kind = self.one_of("i", "f")
        sign = self.one_of("<", "<=", ">", ">=", "==", "!=")
        return f"({self.tensor(kind, shape)} {sign} {self.expr(kind, shape, depth)})"

    def combined(self, shape, depth):
        left, right = self.compared(shape, depth), self.compared(shape, depth)
        if shape == "s" and self.random.random() < 0.6:
            return self.one_of(f"({left} and {right})", f"({left} or {right})", f"(not {left})")
        return self.one_of(f"({left} & {right})", f"({left} | {right})", f"({left} ^ {right})", f"(not {left})" if shape == "s" else f"(~{left})")

    def chained(self, shape, depth):
        if shape != "s":
            return self.compared(shape, depth)
        return f"({self.leaf('i', shape)} < {self.tensor('i', shape)} <= {self.leaf('i', shape)})"

    def expr_i(self, shape, depth):
        first, x = self.tensor("i", shape), self.expr("i", shape, depth)
        y = self.expr("i", shape, depth)
        ways = [
            f"({first} {self.one_of('+', '-', '*', '&', '|', '^')} {x})",
            f"({x} {self.one_of('+', '-', '*', '&', '|', '^')} {first})",
            f"({first} {self.one_of('//', '%')} (({first} & 7) + 1))",
            f"({first} {self.one_of('<<', '>>')} {self.random.randrange(8)})",
            f"(-{first})",
            f"(~{first})",
            f"{first}.to(tl.{self.one_of(*INTEGERS)})",
            f"tl.where({self.expr('b', shape, depth)}, {x}, {y})",
            f"tl.{self.one_of('minimum', 'maximum')}({first}, {x})",
            f"tl.abs({first})",
            f"tl.clamp({self.clean(shape)}, -99.0, 99.0).to(tl.{self.one_of('int8', 'int32', 'int64')})",
            f"{self.tensor('b', shape)}.to(tl.int32)",
            f"tl.umulhi({first}.to(tl.uint32), {first}.to(tl.uint32))",
        ]
        if shape == "v":
            ways += [
                f"tl.cumsum({first}.to(tl.int32), 0{self.one_of('', ', reverse=True')})",
                f"tl.sort({first}.to(tl.int32))",
                f"tl.flip({first})",
                f"tl.gather({first}, tl.abs({first}.to(tl.int32) % BLOCK) % BLOCK, 0)",
                f"tl.histogram(({first} & 31).to(tl.int32), BLOCK)",
                f"tl.sum({self.tensor('i', 'm')}.to(tl.int32), {self.one_of('0', '1')})[:, None].broadcast_to(SIDE, 2).reshape(BLOCK)",
                f"tl.interleave({first}, {first}).reshape(2, BLOCK).{self.one_of('sum', 'max', 'min')}(0).to(tl.int64)",
            ]
        if shape == "s":
            block = self.tensor("i", "v")
            ways += [
                f"tl.{self.one_of('sum', 'max', 'min', 'xor_sum')}({block}{self.one_of('', ', 0', ', axis=0')})",
                f"tl.{self.one_of('argmax', 'argmin')}({block}, 0)",
                f"tl.sum({self.tensor('b', 'v')}.to(tl.int32))",
                f"tl.{self.one_of('sum', 'max', 'min')}(tl.where({self.window('v')}, {block}, {self.one_of('0', '1', '99')}))",
                f"({x} if {self.compared('s', depth)} else {x} + 1)",
            ]
        if shape == "m":
            row = f"{self.tensor('i', 'v')}.reshape(SIDE, 2).{self.one_of('max', 'min')}(1)"
            ways += [
                f"{row}[:, None] + {row}[None, :]",
                f"tl.trans({first})",
                f"{first}.T",
                f"tl.cumsum({first}.to(tl.int32), {self.one_of('0', '1')})",
                f"tl.join({row}, {row}).reshape(SIDE, 2).max(1)[:, None] + {first}",
                f"tl.expand_dims({row}, 0).broadcast_to(SIDE, SIDE)",
                f"tl.where({self.window('m')}, {first}, {self.one_of('0', '7')}).{self.one_of('sum', 'max', 'min')}(1)[:, None] + {first}",
            ]
        return self.random.choice(ways)

    def clean(self, shape):
        """A float that is a number."""
        name = self.tensor("f", shape)
        return f"tl.where({name} == {name}, {name}, 0.0).to(tl.float32)"

    def expr_f(self, shape, depth):
        first, x = self.tensor("f", shape), self.expr("f", shape, depth)
        y = self.expr("f", shape, depth)
        ways = [
            f"({first} {self.one_of('+', '-', '*')} {x})",
            f"({x} {self.one_of('+', '-', '*')} {first})",
            f"({first} {self.one_of('+', '*')} {self.leaf('i', shape)})",
            f"(-{first})",
            f"tl.abs({first})",
            f"tl.where({self.expr('b', shape, depth)}, {x}, {y})",
            f"{first}.to(tl.{self.one_of(*FLOATS)})",
            f"{self.tensor('i', shape)}.to(tl.{self.one_of('float32', 'float64')})",
            f"tl.floor({first}.to(tl.float32))",
            f"tl.ceil({first}.to(tl.float32))",
            f"tl.div_rn({first}.to(tl.float32), 3.0)",
            f"tl.sqrt_rn(tl.abs({first}.to(tl.float32)))",
            f"tl.fma({first}.to(tl.float32), {first}.to(tl.float32), {first}.to(tl.float32))",
            f"tl.{self.one_of('minimum', 'maximum')}({self.clean(shape)}, {self.leaf('i', shape)})",
        ]
        if shape == "s":
            cut = f"tl.where({self.window('v')}, {self.clean('v')}, {self.one_of('0.0', '-1.5', '99.0')})"
            ways += [f"tl.{self.one_of('max', 'min')}({self.clean('v')})", f"tl.{self.one_of('max', 'min')}({cut})", f"({first} if {self.compared('s', depth)} else {first} * 2)"]
        if shape == "v":
            ways += [f"tl.flip({first})", f"tl.sort({self.clean('v')})", f"tl.cumsum({first}.to(tl.float32) * 0 + 1, 0)"]
        if shape == "m":
            ways += [
                f"tl.trans({first})",
                f"(({self.tensor('f', 'v')}.reshape(SIDE, 2).max(1) + 0.0)[None, :] * {first})",
                f"tl.maximum(tl.dot(({self.tensor('i', 'm')} & 3).to(tl.float16), ({self.tensor('i', 'm')} & 3).to(tl.float16).T), 0.0)",
                f"tl.dot(({self.tensor('i', 'm')} & 7).to(tl.int8), ({self.tensor('i', 'm')} & 7).to(tl.int8)).to(tl.float32)",
            ]
        return self.random.choice(ways)

    # --- statements: lists of lines ---

    def assign(self):
        kind, shape = self.one_of("i", "i", "f", "f", "b"), self.one_of("s", "v", "v", "m")
        text = self.expr(kind, shape, 3)
        name = self.fresh()
        # What is bound has the shape that it is known by.
        widened = {"s": text, "v": f"tl.broadcast_to({text}, (BLOCK, ))", "m": f"tl.broadcast_to({text}, (SIDE, SIDE))"}[shape]
        if shape == "s":
            widened = {"i": f"{text} + tl.program_id(0) * 0", "f": f"{text} + tl.program_id(0) * 0.0", "b": f"{text} | (tl.program_id(0) < 0)"}[kind]
        self.values.append(Value(name, kind, shape))
        return [f"{name} = {widened}"]

    def changed(self):
        """An assignment to what there is, of the same dtype."""
        value = self.random.choice([value for value in self.values if value.name.startswith("x")] or [None])
        if value is None:
            return self.assign()
        name = value.name
        if value.kind == "b":
            return [f"{name} = {name} ^ {self.compared(value.shape, 1)}"]
        operand = self.expr(value.kind, value.shape, 2)
        if value.kind == "f" and value.shape == "s" and self.random.random() < 0.3:
            return [f"{name} *= 2"]
        return [f"{name} = ({name} {self.one_of('+', '-', '*')} {operand}).to({name}.dtype)"]

    def inner(self, most):
        """Statements in a block of their own; what they bind ends with it."""
        known = len(self.values)
        lines = [line for _ in range(self.random.randint(1, most)) for line in self.one_of(self.assign, self.changed, self.changed)()]
        del self.values[known:]
        return ["    " + line for line in lines]

    def condition(self):
        lines = [f"if {self.expr('b', 's', 2)}:", *self.inner(3)]
        if self.random.random() < 0.3:
            lines += [f"elif {self.expr('b', 's', 1)}:", *self.inner(2)]
        if self.random.random() < 0.6:
            lines += ["else:", *self.inner(3)]
        return lines

    def both(self):
        """A variable that both branches bind."""
        name, kind = self.fresh(), self.one_of("i", "f")
        dtype = self.one_of(*(INTEGERS if kind == "i" else FLOATS))
        test = self.expr("b", "s", 2)
        branches = [f"    {name} = {self.tensor(kind, 'v')}.to(tl.{dtype})" for _ in "12"]
        self.values.append(Value(name, kind, "v"))
        return [f"if {test}:", branches[0], "else:", branches[1]]

    def loop(self):
        index = self.fresh("i")
        bound = self.one_of("n", "3", f"tl.abs({self.tensor('i', 's')}.to(tl.int32) % 4) % 4")
        head = self.one_of(f"range({bound})", f"range(1, {bound}, 2)", "tl.static_range(2)", f"range({bound}, 0, -1)", f"tl.range(0, {bound}, num_stages=2)")
        known = len(self.values)
        if "static" not in head:
            self.values.append(Value(index, "i", "s"))
        body = self.inner(3)
        if self.random.random() < 0.3:
            body += ["    " + line for line in self.condition()]
        del self.values[known:]
        return [f"for {index} in {head}:", *body]

    def repeat(self):
        index = self.fresh("i")
        further = self.one_of("", f" and {self.compared('s', 1)}")
        return [f"{index} = 0", f"while {index} < {self.random.randrange(1, 4)}{further}:", *self.inner(2), f"    {index} += 1"]

    def call(self):
        """A function of two blocks or scalars, with a default and a constant, that may return early."""
        name, kind = self.fresh("helper"), self.one_of("i", "f")
        sign, limit = self.one_of("+", "-", "*"), self.random.randrange(-5, 6)
        early = self.random.random() < 0.5
        lines = ["@triton.jit", f"def {name}(p, q, FLAG: tl.constexpr, r={self.random.randrange(4)}):"]
        if early:
            dtype = self.one_of(*(INTEGERS if kind == "i" else FLOATS))
            lines += [f"    if p > {limit}:", f"        return (q {sign} r).to(tl.{dtype})", f"    return (p * q).to(tl.{dtype})"]
        else:
            lines += ["    if FLAG:", f"        p = p {sign} q", "    else:", f"        q = q {sign} p", "    return p, q + r"]
        self.helpers.append("\n".join(lines))
        shape = "s" if early else self.one_of("s", "v", "m")
        flag = self.one_of("True", "False", "FLAG")
        arguments = f"{self.tensor(kind, shape)}, {self.tensor(kind, shape)}, {flag}{self.one_of('', ', r=2', ', 1')}"
        first = self.fresh()
        self.values.append(Value(first, kind, shape))
        if early:
            return [f"{first} = {name}({arguments})"]
        second = self.fresh()
        self.values.append(Value(second, kind, shape))
        return [f"{first}, {second} = {name}({arguments})"]

    def swapped(self):
        pairs = [(one.name, two.name) for one in self.values for two in self.values if one.name < two.name and one.name.startswith("x")
                 and (one.kind, one.shape) == (two.kind, two.shape)]
        return ["{0}, {1} = {1}, {0}".format(*self.random.choice(pairs))] if pairs else self.assign()

    def store(self, value):
        number = self.outputs
        self.outputs += 1
        inside = {"s": "0", "v": "tl.arange(0, BLOCK)", "m": "tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]"}[value.shape]
        at = f"(tl.program_id(0) * {SLOTS} + {number}) * {SLOT} + {inside}"
        if value.kind == "f":
            return f"tl.store(floats + {at}, {value.name}.to(tl.float64))"
        return f"tl.store(integers + {at}, {value.name}.to(tl.int64))"

    def program(self):
        """Statements, each with the variables that it binds, and stores of all that is alive at the end."""
        body = ["at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "mask = at < count"]
        for name in INPUTS:
            body.append(f"{name} = tl.load({name}_ptr + at, mask=mask, other={self.one_of('0', '1', '3')})")
            self.values.append(Value(name, "f" if name in "fgh" else "i", "v"))
        body.append("h = h.to(tl.bfloat16)")
        self.values += [Value("n", "i", "s"), Value("scale", "f", "s"), Value("mask", "b", "v")]
        self.random.shuffle(self.values)
        ways = [self.assign] * 8 + [self.changed] * 3 + [self.condition, self.both, self.loop, self.loop, self.repeat, self.call, self.swapped]
        statements = [self.random.choice(ways)() for _ in range(self.random.randint(4, 12))]
        stores = [self.store(value) for value in self.values if value.name not in INPUTS and value.name != "n"]
        return body, statements, stores

    def numbers(self):
        """The parameters that are numbers, annotated or not."""
        whole = "", ": int", ": tl.int64", ": \"i64\"", ": tl.int32"
        real = "", ": float", ": tl.float64", ": \"fp32\""
        return f"count{self.one_of(*whole)}, n{self.one_of(*whole)}, scale{self.one_of(*real)}"


def source_of(parts):
    """The text of a kernel."""
    numbers, helpers, body, statements, stores = parts
    names = ", ".join(f"{name}_ptr" for name in INPUTS)
    lines = body + [line for statement in statements for line in statement] + stores
    text = "\n\n\n".join(helpers) + "\n\n\n" if helpers else ""
    return f"{HEAD}\n\n{text}@triton.jit\ndef kernel({names}, integers, floats, {numbers}, FLAG: tl.constexpr):\n" + "".join(
        f"    {line}\n" for line in lines)


def inputs_of(seed):
    """Arguments; the memory behind `count` elements is there and is not to be read. An `n` of 1 may be a constant."""
    rng = np.random.default_rng(seed)
    arrays = []
    for name, dtype in INPUTS.items():
        if dtype.startswith("float"):
            values = (rng.standard_normal(BLOCK * PROGRAMS) * rng.choice([1, 8, 1000])).astype(dtype)
            values[rng.integers(0, values.size, 3)] = rng.choice([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-6], 3)
        else:
            info = np.iinfo(dtype)
            wide, near = rng.integers(info.min, info.max, BLOCK * PROGRAMS, endpoint=True, dtype=dtype), rng.integers(0, 20, BLOCK * PROGRAMS)
            values = np.where(rng.random(wide.size) < 0.5, wide, near.astype(dtype)).astype(dtype)
        arrays.append(values)
    return arrays, int(rng.integers(BLOCK, BLOCK * PROGRAMS)), int(rng.choice([0, 1, 2, 3, 4])), float(rng.integers(-8, 9) / 4), bool(rng.integers(0, 2))


class Differs(Exception):
    """An engine does not give what the interpreter gives."""


def load(text, folder, name):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def run_on(engine, kernel, seed):
    arrays, count, n, scale, flag = inputs_of(seed)
    integers, floats = np.full(SLOT * SLOTS * PROGRAMS, -77, np.int64), np.full(SLOT * SLOTS * PROGRAMS, -77.0)
    with triton.knobs.runtime.scope():
        if engine == "interpreter":
            triton.knobs.runtime.interpret = True
        elif engine not in ("cpu", "gpu"):
            triton.knobs.runtime.emulate = engine
        buffers = [*arrays, integers, floats]
        if engine == "gpu":
            import torch

            buffers = [torch.from_numpy(array).cuda() for array in buffers]
        kernel[(PROGRAMS, )](*buffers, count, n, scale, flag, enable_fp_fusion=False)
    return [buffer.cpu().numpy() for buffer in buffers[-2:]] if engine == "gpu" else (integers, floats)


def message(error):
    """The last line of an error, without places."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''} … {lines[-1][:160] if lines else ''}"


def check(text, folder, name, seed, engines):
    """Raises where an engine differs; answers an error that all have in common."""
    kernel = load(text, folder, name)
    results = {}
    for engine in ["interpreter", *engines]:
        try:
            results[engine] = run_on(engine, load(text, folder, name) if engine == "interpreter" else kernel, seed)
        except Exception as error:
            results[engine] = error
    errors = {engine: result for engine, result in results.items() if isinstance(result, Exception)}
    if len(errors) == len(results):
        return message(errors["interpreter"])
    if errors:
        raise Differs("; ".join(f"{engine} refuses: {message(error)}" for engine, error in errors.items()))
    wanted = results["interpreter"]
    for engine in engines:
        for what, one, two in zip(("integers", "floats"), wanted, results[engine]):
            wrong = np.nonzero(~((one == two) & (np.signbit(one) == np.signbit(two)) | (one != one) & (two != two)))[0]
            if wrong.size:
                at = int(wrong[0])
                raise Differs(f"{engine}: {what} of output {at // SLOT % SLOTS}, element {at % SLOT}, program {at // SLOT // SLOTS}: "
                              f"{two[at]!r}, interpreted {one[at]!r} ({wrong.size} elements)")
    return None


def smaller(parts, fails):
    """Leaves out statements, lines and stores while it still fails alike."""
    *head, statements, stores = parts
    for group in (stores, statements):
        at = 0
        while at < len(group):
            kept = group[:at] + group[at + 1:]
            trial = (*head, kept, stores) if group is statements else (*head, statements, kept)
            if fails(trial):
                if group is statements:
                    statements = kept
                else:
                    stores = kept
                group = kept
            else:
                at += 1
    return *head, statements, stores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--engines", default="cpu,cuda:90,hip:gfx942")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    engines = arguments.engines.split(",")
    end, seed, ran, refused, failures = time.monotonic() + arguments.seconds, arguments.first, 0, {}, 0
    if arguments.seed is not None:
        seed, end = arguments.seed, 0
    while True:
        writer = Writer(seed)
        body, statements, stores = writer.program()
        parts = (writer.numbers(), writer.helpers, body, statements, stores)
        text = source_of(parts)
        if arguments.seed is not None:
            print(text)
        try:
            error = check(text, arguments.folder, f"p{seed}", seed, engines)
            ran += error is None
            if error is not None:
                refused.setdefault(error, []).append(seed)
            (arguments.folder / f"p{seed}.py").unlink()
        except Differs as found:
            failures += 1
            # The same engine in the same manner.
            manner, tries = str(found).split(":")[0], iter(range(10**6))

            def fails(trial):
                # A name of its own, as Python keeps the lines of files by their names.
                name = f"s{seed}_{next(tries)}"
                try:
                    check(source_of(trial), arguments.folder, name, seed, engines)
                except Differs as other:
                    return str(other).split(":")[0] == manner
                except Exception:
                    return False
                finally:
                    (arguments.folder / f"{name}.py").unlink()
                return False

            parts = smaller(parts, fails)
            (arguments.folder / f"s{seed}.py").write_text(source_of(parts))
            print(f"seed {seed}: {found}", flush=True)
        except Exception:
            print(f"seed {seed}: the generator itself\n{traceback.format_exc()}", flush=True)
        seed += 1
        if time.monotonic() > end:
            break
    print(f"{ran} programs agree, {failures} differ, {sum(map(len, refused.values()))} refused by all")
    for error, seeds in sorted(refused.items(), key=lambda item: -len(item[1]))[:20]:
        print(f"  {len(seeds)} ({seeds[0]}): {error}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
