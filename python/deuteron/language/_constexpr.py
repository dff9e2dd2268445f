"""Compile-time values: `constexpr` and the types that surround it."""

import operator

from .. import _core
from ._builtin import builtin_class


@builtin_class
class constexpr:
    """A value that is known while a kernel is compiled.

    As an annotation (``BLOCK: tl.constexpr``) it makes a parameter part of what is compiled: each value gives its own
    kernel. In Python it wraps a value, and arithmetic on it gives a constexpr again::

        BLOCK = tl.constexpr(128)
        HALF = BLOCK // 2          # constexpr[64]
    """

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((constexpr, self.value))

    def __index__(self):
        return operator.index(self.value)

    def __bool__(self):
        return bool(self.value)

    def __getitem__(self, *args):
        return self.value.__getitem__(*(_unwrap(arg) for arg in args))

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def logical_and(self, other):
        """``self and other``."""
        return constexpr(self.value and _unwrap(other))

    def logical_or(self, other):
        """``self or other``."""
        return constexpr(self.value or _unwrap(other))

    def __not__(self):
        return constexpr(not self.value)


@builtin_class
class constexpr_type:
    """The type of a constexpr: it differs from value to value."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"

    def mangle(self):
        """What stands for this type in a mangled function name."""
        return repr(self)


@builtin_class
class tuple_type:
    """The type of a tuple: the types of its values, and the names of its fields if they have any."""

    def __init__(self, types, fields=None):
        self.types = list(types)
        self.fields = fields

    @property
    def name(self):
        """Types, with the names of fields in front."""
        names = [f"{field}:" for field in self.fields] if self.fields is not None else [""] * len(self.types)
        return f"[{','.join(f'{name}{ty}' for name, ty in zip(names, self.types))}]"

    def __iter__(self):
        return iter(self.types)

    def __getitem__(self, index):
        return self.types[index]

    def __eq__(self, other):
        # A kernel whose body Python runs has the types of a tuple as a tuple.
        fields = getattr(other, "fields", getattr(other, "_fields", None))
        return isinstance(other, (tuple_type, tuple, list)) and self.types == list(other) and self.fields == fields

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def mangle(self):
        """What stands for this type in a mangled function name."""
        return "T" + "_".join(ty.mangle() for ty in self.types) + "T"


def _unwrap(value):
    return value.value if isinstance(value, constexpr) else value


def _unwrap_if_constexpr(value):
    """`value` without its constexpr; lists and tuples are unwrapped inside too."""
    if isinstance(value, (list, tuple)):
        items = [_unwrap_if_constexpr(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return _unwrap(value)


def _rewrapped(value):
    """A constexpr of what operators on values gave, unless that is known only when the kernel runs."""
    return value if isinstance(value, _core.KernelValue) else constexpr(value)


def _add_operators():
    """Arithmetic and comparison act on the values; the result is a constexpr."""
    binary = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor",
              "lt", "le", "gt", "ge", "eq", "ne")
    for name in binary:
        function = getattr(operator, name)
        special = name.rstrip("_")

        def forward(self, other, function=function):
            return _rewrapped(function(self.value, _unwrap(other)))

        def backward(self, other, function=function):
            return _rewrapped(function(_unwrap(other), self.value))

        setattr(constexpr, f"__{special}__", forward)
        if special not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(constexpr, f"__r{special}__", backward)
    for special in ("neg", "pos", "invert"):
        function = getattr(operator, special)

        def unary(self, function=function):
            return constexpr(function(self.value))

        setattr(constexpr, f"__{special}__", unary)


_add_operators()


@builtin_class
class const:
    """Annotation of a pointer parameter that the kernel only reads: ``x_ptr: tl.const``."""
