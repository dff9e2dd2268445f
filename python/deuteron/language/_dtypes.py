"""Element types, pointer types and block types as Python objects: names and widths, no rules of promotion."""

from enum import Enum

from .. import _core
from ._builtin import show

# name -> (bits of a value, mantissa bits of a float, exponent bias of a float)
_FLOATS = {
    "fp8e4b15": (8, 3, 15),
    "fp8e4nv": (8, 3, 7),
    "fp8e4b8": (8, 3, 8),
    "fp8e5": (8, 2, 15),
    "fp8e5b16": (8, 2, 16),
    "fp16": (16, 10, 15),
    "bf16": (16, 7, 127),
    "fp32": (32, 23, 127),
    "fp64": (64, 52, 1023),
}


class _KernelType(type):
    """Classes of which the types of blocks in interpreted kernels are instances."""

    def __instancecheck__(cls, instance):
        if isinstance(instance, _core.KernelValue):
            return instance.kernel_class == "block_type" and cls.__name__ in ("base_type", "dtype", "block_type")
        return type.__instancecheck__(cls, instance)


@show
class base_type(metaclass=_KernelType):
    """The type of anything that a kernel computes with."""


@show
class dtype(base_type):
    """The type of one element.

    Attributes:
        name: ``"fp32"``, ``"int64"``, ``"bf16"``, ….
        primitive_bitwidth: bits of a value (1 for ``int1``; in memory that takes a byte).
        itemsize: bytes of a value in memory.
    """

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(Enum):
        """Whether an integer type has negative values."""

        SIGNED = 0
        UNSIGNED = 1

    class KIND(Enum):
        """The order in which kinds promote: bool, then integers, then floats."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = getattr(name, "value", name)
        known = (*self.SINT_TYPES, *self.UINT_TYPES, *self.FP_TYPES, *self.OTHER_TYPES)
        if name not in known:
            raise ValueError(f"{name!r} is no dtype; there are {', '.join(known)}")
        self.name = name
        self.primitive_bitwidth = 0
        if name in _FLOATS:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name != "void":
            self.primitive_bitwidth = int(name.lstrip("uint"))
            self.int_bitwidth = self.primitive_bitwidth
            self.int_signedness = (self.SIGNEDNESS.SIGNED if name in self.SINT_TYPES else self.SIGNEDNESS.UNSIGNED)
        self.itemsize = (self.primitive_bitwidth + 7) // 8

    @property
    def __deuteron_dtype__(self):
        return self._in_signatures

    def is_fp8(self):
        """Whether this is one of the five 8-bit floats."""
        return self.name.startswith("fp8")

    def is_floating(self):
        """Whether this is a float of any width."""
        return self.name in self.FP_TYPES

    def is_standard_floating(self):
        """Whether this is fp16, bf16, fp32 or fp64."""
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self):
        """Whether this is int8, int16, int32 or int64."""
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self):
        """Whether this is int1 or an unsigned integer."""
        return self.name in self.UINT_TYPES

    def is_int(self):
        """Whether this is an integer, int1 included."""
        return self.name in self.SINT_TYPES + self.UINT_TYPES

    def is_bool(self):
        """Whether this is int1."""
        return self.name == "int1"

    def kind(self):
        """Its rank in promotions: bool < int < float."""
        if self.is_bool():
            return self.KIND.BOOLEAN
        if self.is_int():
            return self.KIND.INTEGRAL
        if self.is_floating():
            return self.KIND.FLOATING
        raise TypeError(f"{self} has no kind")

    def get_int_max_value(self):
        """The largest value of an integer type."""
        return 2**(self.int_bitwidth - 1) - 1 if self.is_int_signed() else 2**self.int_bitwidth - 1

    def get_int_min_value(self):
        """The smallest value of an integer type."""
        return -2**(self.int_bitwidth - 1) if self.is_int_signed() else 0

    @staticmethod
    def is_dtype(type_str):
        """Whether a name is that of a dtype."""
        return type_str in (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES, *dtype.OTHER_TYPES)

    def is_void(self):
        """Whether this is the type of nothing."""
        return self.name == "void"

    @staticmethod
    def is_block():
        """Whether this is a block."""
        return False

    @staticmethod
    def is_ptr():
        """Whether this is a pointer."""
        return False

    @staticmethod
    def is_const():
        """Whether this is a pointer that may not be stored through."""
        return False

    @property
    def scalar(self):
        """The type of one element: itself."""
        return self

    @property
    def _in_signatures(self):
        """The short spelling of signatures: ``i32``, ``u8``, ``fp16``."""
        if self.name.startswith("uint"):
            return "u" + self.name[4:]
        return "i" + self.name[3:] if self.name.startswith("int") else self.name

    def codegen_name(self):
        """The name that this type has in the language: ``"float32"``, ``"bfloat16"``, ``"int64"``, ``"float8e5"``."""
        return self.name.replace("fp", "float", 1).replace("bf", "bfloat", 1)

    @property
    def cache_key_part(self):
        """What stands for this type in a cache key."""
        return self.name

    def to_ir(self, builder):
        """What a builder of programs calls this type, as ``_C.libtriton.ir.builder`` does: integers have no sign there."""
        name = self.name.removeprefix("u")
        known = {"fp16": "half", "fp32": "float", "fp64": "double"}
        return getattr(builder, f"get_{known.get(name, name)}_ty")()

    def mangle(self):
        """What stands for this type in a mangled function name."""
        if self.is_int():
            return ("i" if self.is_int_signed() else "u") + str(self.int_bitwidth)
        return {"void": "V"}.get(self.name, self.name)

    def with_element_ty(self, element_ty):
        """The same shape with another element type."""
        return element_ty

    def __call__(self, value):
        """A value of a kernel as this type."""
        return _core.eager_call("cast", (value, self))

    def __eq__(self, other):
        other = getattr(other, "value", other)
        return type(other) is dtype and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"triton.language.{self.codegen_name()}"


def _add_width_predicates():
    """`is_fp32()` and its fellows: one predicate a dtype."""
    for name in (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES):
        def predicate(self, name=name):
            return self.name == name

        predicate.__doc__ = f"Whether this is {name}."
        predicate.__name__ = f"is_{name}"
        setattr(dtype, predicate.__name__, predicate)


_add_width_predicates()


@show
class pointer_type(dtype):
    """The type of an address of `element_ty` values; ``const=True`` forbids stores through it."""

    def __init__(self, element_ty, address_space="global", const=False):
        element_ty = getattr(element_ty, "value", element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    @property
    def _in_signatures(self):
        """The short spelling of signatures: ``*fp32``, ``*kfp32`` when const."""
        return ("*k" if self.const else "*") + self.element_ty._in_signatures

    @staticmethod
    def is_ptr():
        """Whether this is a pointer."""
        return True

    def is_const(self):
        """Whether stores through it are forbidden."""
        return self.const

    def mangle(self):
        """What stands for this type in a mangled function name."""
        return f"P{self.element_ty.mangle()}"

    def to_ir(self, builder):
        """What a builder of programs calls this type."""
        return builder.get_ptr_ty(self.element_ty.to_ir(builder), "constant" if self.const else self.address_space)

    def __eq__(self, other):
        other = getattr(other, "value", other)
        return (isinstance(other, pointer_type) and self.element_ty == other.element_ty
                and self.address_space == other.address_space and self.const == other.const)

    def __hash__(self):
        return hash((self.element_ty, self.address_space, self.const))

    def __repr__(self):
        return f"triton.language.pointer_type({self.element_ty!r})"


@show
class nv_tma_desc_type(pointer_type):
    """The type of an argument that describes a tensor without its type, as ``tools.experimental_descriptor`` makes it."""

    def __init__(self, const=True, address_space=0):
        super().__init__(uint8, const=const)
        self.address_space = address_space
        self.name = "nv_tma_desc_type"


@show
class block_type(dtype):
    """The type of a block: an element type and a shape, every dimension a power of two."""

    def __init__(self, element_ty, shape):
        shape = [getattr(size, "value", size) for size in shape]
        if not shape:
            raise TypeError("0d block_type is forbidden")
        self.element_ty = element_ty
        self.shape = tuple(shape)
        self.numel = 1
        for size in shape:
            self.numel *= size
        self.name = f"<{self.shape}, {element_ty}>"
        self.primitive_bitwidth = element_ty.primitive_bitwidth
        self.itemsize = element_ty.itemsize

    @property
    def _in_signatures(self):
        """The spelling of an element's type, with the shape."""
        return f"{self.element_ty._in_signatures}{list(self.shape)}"

    @staticmethod
    def is_block():
        """Whether this is a block."""
        return True

    def get_block_shapes(self):
        """The shape as a tuple."""
        return self.shape

    def with_element_ty(self, element_ty):
        """The same shape with another element type."""
        return block_type(element_ty, self.shape)

    @property
    def scalar(self):
        """The type of one element."""
        return self.element_ty

    def to_ir(self, builder):
        """What a builder of programs calls this type."""
        return builder.get_block_ty(self.element_ty.to_ir(builder), self.shape)

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def mangle(self):
        """What stands for this type in a mangled function name."""
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __eq__(self, other):
        return isinstance(other, block_type) and self.element_ty == other.element_ty and self.shape == other.shape

    def __hash__(self):
        return hash((self.element_ty, self.shape))

    def __repr__(self):
        return f"triton.language.block_type({self.element_ty!r}, {list(self.shape)})"


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

#: By the short spelling of signatures.
BY_CODEGEN_NAME = {
    ty._in_signatures: ty
    for ty in (int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8e5, float8e5b16, float8e4nv,
               float8e4b8, float8e4b15, float16, bfloat16, float32, float64)
}


@show
def get_int_dtype(bitwidth, signed):
    """The integer type of so many bits."""
    # Inductor copies the text of functions that kernels call, with the types that they name and nothing else.
    if bitwidth == 1:
        return int1
    for candidate in (int8, int16, int32, int64) if signed else (uint8, uint16, uint32, uint64):
        if candidate.primitive_bitwidth == bitwidth:
            return candidate
    raise ValueError(f"there is no {'signed' if signed else 'unsigned'} integer of {bitwidth} bits")


@show
def str_to_ty(name, c=None):
    """The type that a signature string such as ``"*fp32"``, ``"i32"`` or ``"*ki8"`` names."""
    if name.startswith("*"):
        const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2 if const else 1:]), const=const)
    if name in BY_CODEGEN_NAME:
        return BY_CODEGEN_NAME[name]
    if name in ("u1", "B"):
        return int1
    return dtype(name)
