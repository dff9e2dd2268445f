"""Kernels in the stage ``ttir`` for those who walk their operations, and the names of types there, by the names of the reference's ``ir``.

What is walked is a copy that does not change: ``kernel.asm["ttir"]`` shows the same as text. `torch.compile` finds out by it which
arguments of a kernel are written. `parse_mlir_module` reads such a text, also of the stage ``ttgir``, from a file.
"""

import re

__all__ = ["block", "builder", "context", "load_dialects", "module", "operation", "parse_mlir_module", "region", "type", "value"]


class context:
    """Stands for the owner of types and operations, which the native module has once for the process."""


def load_dialects(ctx):
    """Does nothing: all operations are known."""


class type:
    """A type as it is written in the stage ``ttir``: ``str(type)``."""

    def __init__(self, text):
        self._text = text

    def is_integer(self, width):
        """Whether it is the integer of so many bits."""
        return self._text == f"i{width}"

    def is_fp16(self):
        """Whether it is the float of 16 bits."""
        return self._text == "f16"

    def __eq__(self, other):
        return isinstance(other, type) and other._text == self._text

    def __hash__(self):
        return hash(self._text)

    def __str__(self):
        return self._text


class builder:
    """Names types (``get_int32_ty()``, …), as ``tl.int32.to_ir(builder)`` asks for them. It builds no operations: the front end does."""

    def __init__(self, context):
        self.context = context

    def get_ptr_ty(self, element, address_space="global"):
        """The address of such an element."""
        return type(f"!tt.ptr<{element}>" if address_space in ("global", 1) else f'!tt.ptr<{element}, "{address_space}">')

    def get_block_ty(self, element, shape):
        """A block of such elements."""
        return type(f"tensor<{''.join(f'{size}x' for size in shape)}{element}>")


def _name_elements():
    """``get_half_ty()`` and its fellows: one method an element type."""
    names = {"void": "none", "half": "f16", "bf16": "bf16", "float": "f32", "double": "f64", "fp8e5": "f8E5M2", "fp8e5b16": "f8E5M2FNUZ",
             "fp8e4nv": "f8E4M3FN", "fp8e4b8": "f8E4M3FNUZ", "fp8e4b15": "i8"}
    names.update((f"int{bits}", f"i{bits}") for bits in (1, 8, 16, 32, 64, 128))
    for name, text in names.items():
        def method(self, text=text):
            return type(text)

        method.__name__, method.__doc__ = f"get_{name}_ty", f"``{text}``."
        setattr(builder, method.__name__, method)


_name_elements()


class _Numbered:
    """Something that a number identifies."""

    def __init__(self, module, number):
        self._module = module
        self._number = number

    def id(self):
        """The number."""
        return self._number

    def __eq__(self, other):
        return other.__class__ is self.__class__ and (other._module, other._number) == (self._module, self._number)

    def __hash__(self):
        return hash((self.__class__, self._number))

    def __repr__(self):
        return f"{self.__class__.__name__}({self._number})"


class value(_Numbered):
    """The result of an operation or the argument of a block."""

    def get_type(self):
        """Its type as text."""
        return self._module._types[self._number]

    def get_shape(self):
        """The sizes of a block; None of anything else."""
        found = re.match(r"tensor<((?:\d+x)+)", self.get_type())
        return None if found is None else [int(size) for size in found.group(1)[:-1].split("x")]


class region(_Numbered):
    """Blocks that an operation owns."""

    def size(self):
        """How many blocks there are."""
        return len(self._module._regions[self._number])

    def get_block(self, index=0):
        """One of them."""
        return block(self._module, self._module._regions[self._number][index])


class block(_Numbered):
    """Arguments and operations."""

    def get_num_arguments(self):
        """How many arguments there are."""
        return len(self._module._blocks[self._number][0])

    def get_argument(self, index):
        """One of them."""
        return value(self._module, self._module._blocks[self._number][0][index])

    def get_parent(self):
        """The region."""
        return region(self._module, self._module._blocks[self._number][1])


class operation:
    """One operation."""

    def __init__(self, module, row):
        self._module = module
        self._name, self._operands, self._results, self._regions, self._block, self._attrs = row

    def get_name(self):
        """``"tt.load"``, …."""
        return self._name

    def get_num_operands(self):
        """How many values it takes."""
        return len(self._operands)

    def get_operand(self, index):
        """One of them."""
        return value(self._module, self._operands[index])

    def get_num_results(self):
        """How many values it makes."""
        return len(self._results)

    def get_result(self, index):
        """One of them."""
        return value(self._module, self._results[index])

    def get_num_regions(self):
        """How many regions it owns."""
        return len(self._regions)

    def get_region(self, index):
        """One of them."""
        return region(self._module, self._regions[index])

    def get_block(self):
        """The block that it stands in; None for the module."""
        return None if self._block is None else block(self._module, self._block)

    def _attr(self, name, kind):
        found = self._attrs.get(name)
        return found if isinstance(found, kind) else None

    def get_str_attr(self, name):
        """An attribute that is a text; None where there is none."""
        return self._attr(name, str)

    def get_flat_symbol_ref_attr(self, name):
        """The name of the function that an attribute refers to; None where there is none."""
        found = self._attr(name, str)
        return None if found is None else found.removeprefix("@")

    def get_bool_attr(self, name):
        """An attribute that is true or false; None where there is none."""
        found = self._attr(name, (bool, int))
        return None if found is None else bool(found)

    def get_int_attr(self, name):
        """An attribute that is a number; None where there is none."""
        return self._attr(name, int)

    def get_constant_value(self):
        """The integer that a constant is, or that all its elements are, with its highest bit as the sign; None of any other."""
        if self._name != "arith.constant":
            return None
        found = self._attrs.get("value")
        return self._attrs.get(("value", )) if found is None else -found if isinstance(found, bool) else self._attr("value", int)

    def __repr__(self):
        return f"operation({self._name})"


class module:
    """A kernel and the functions that it calls."""

    def __init__(self, ttir):
        self._text = ttir.text
        self._ttir = ttir
        operations, self._blocks, self._regions, self._types = ttir.contents()
        self._operations = [operation(self, row) for row in operations]

    def verify(self):
        """Whether it is valid. The front end hands out no other."""
        return True

    def walk(self, fn):
        """Calls a function with every operation: those of its regions before an operation itself."""
        for op in self._operations:
            fn(op)

    def get_operation(self):
        """The operation that holds all others."""
        return self._operations[-1]

    def get_int_attr(self, name):
        """An attribute of the module that is a number (``"ttg.num-warps"``); None where there is none."""
        return self.get_operation().get_int_attr(name)

    def has_function(self, name):
        """Whether a function has this name."""
        return name in self._functions()

    def get_function(self, name):
        """The function of this name."""
        try:
            return self._functions()[name]
        except KeyError:
            raise RuntimeError(f"there is no function {name} in this module; there are {', '.join(self._functions())}") from None

    def get_entry_func_name(self):
        """The name of the kernel: of the function that others may call."""
        public = [name for name, op in self._functions().items() if op.get_str_attr("sym_visibility") in (None, "public")]
        if not public:
            raise RuntimeError("there is no public function in this module")
        return public[0]

    def get_function_signature(self, function):
        """The types of a function's parameters, as signatures have them: ``"*f32"``, ``"i32"``, …."""
        from ...compiler.compiler import _parameter_type

        entry = function.get_region(0).get_block()
        return [_parameter_type(entry.get_argument(index).get_type()) for index in range(entry.get_num_arguments())]

    def _functions(self):
        return {op.get_str_attr("sym_name"): op for op in self._operations if op.get_name() == "tt.func"}

    def str(self):
        """The text."""
        return self._text

    def str_nodebug(self):
        """The text without places in the source."""
        return self._ttir.plain_text

    def __str__(self):
        return self._text


def parse_mlir_module(path, context):
    """The module that a file holds as text: of the stage ``ttir`` or ``ttgir``.

    Args:
        path: of the file.
        context: a `context`.

    Raises:
        CompilationError: with the place in the file and what is wrong there.
    """
    from ... import _core

    with open(path) as file:
        parsed = module(_core.parse_module(file.read(), str(path)))
    parsed.context = context
    return parsed
