"""Type stubs of the language, made from the signatures and docstrings of the package."""

import inspect
import textwrap

import language_reference as reference

import deuteron.language as tl

HEAD = """# Made from the signatures of the package by tests/python/stubs.py; do not edit.
"""
LANGUAGE = HEAD + """import builtins
from collections.abc import Iterator
from enum import Enum
from typing import Any

from . import core as core, extra as extra, math as math, random as random, standard as standard
from . import semantic as semantic, target_info as target_info
from ._aggregate import aggregate_replace as aggregate_replace
from ._dtypes import (
"""

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift")
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
# What kernels may write of a block beside its methods.
TENSOR_MEMBERS = """    shape: builtins.tuple[Any, ...]
    dtype: dtype
    type: Any
    numel: constexpr
"""
# Operators and conversions that constexprs have beside arithmetic.
CONSTEXPR_MEMBERS = """    value: Any
    type: constexpr_type
    def __init__(self, value: Any) -> None: ...
    def __index__(self) -> builtins.int: ...
    def __bool__(self) -> builtins.bool: ...
    def __getitem__(self, *args: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def logical_and(self, other: Any) -> constexpr: ...
    def logical_or(self, other: Any) -> constexpr: ...
    def __not__(self) -> constexpr: ...
    def __hash__(self) -> builtins.int: ...
"""


def default_of(value):
    """A default as a stub has it."""
    if isinstance(value, tl.constexpr):
        return "..."
    if isinstance(value, tl.PropagateNan):
        return str(value)
    if isinstance(value, tl.dtype):
        return reference.shown(value).removeprefix("tl.")
    return repr(value)


def parameters_of(obj):
    """A signature between parentheses."""
    parts, is_keyword = [], False
    for parameter in inspect.signature(obj).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            parts.append("*")
        is_keyword |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        annotation = "" if parameter.name == "self" else ": Any"
        default = "" if parameter.default is parameter.empty else f" = {default_of(parameter.default)}"
        parts.append(f"{star}{parameter.name}{annotation}{default}")
    return ", ".join(parts)


def result_of(obj, otherwise="tensor"):
    """What a call returns."""
    result = inspect.signature(obj).return_annotation
    if result is inspect.Signature.empty:
        return otherwise
    return "None" if result is None else str(result).replace("tuple[", "builtins.tuple[")


def docstring(obj, indent="    "):
    """A docstring, indented."""
    text = inspect.cleandoc(obj.__doc__)
    quoted = f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'
    return textwrap.indent(quoted, indent, lambda line: line.strip())


def function(name, obj, otherwise="tensor"):
    """A function of a module."""
    return f"def {name}({parameters_of(obj)}) -> {result_of(obj, otherwise)}:\n{docstring(obj)}\n"


def method(name, obj):
    """A method; one that is a function of the language takes the object as its first parameter."""
    parameters = parameters_of(obj).split(", ", 1)
    rest = "".join(f", {part}" for part in parameters[1:])
    return f"    def {name}(self{rest}) -> {result_of(obj)}:\n{docstring(obj, ' ' * 8)}\n"


def operators(names, result, reflected=True):
    """Operators of a class. Python's own comparisons return a bool, which these do not."""
    lines = []
    for name in names:
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"    def __{name}__(self, other: Any) -> {result}: ...{ignored}\n")
        if reflected and name not in COMPARED:
            lines.append(f"    def __r{name}__(self, other: Any) -> {result}: ...\n")
    return "".join(lines)


def tensor_class():
    """Blocks: members, operators, methods."""
    text = f"class tensor:\n{docstring(tl.tensor)}\n{TENSOR_MEMBERS}"
    text += "    def __init__(self, handle: Any, type: Any) -> None: ...\n"
    text += "    @property\n    def T(self) -> tensor:\n" + docstring(tl.tensor.T.fget, " " * 8) + "\n"
    text += operators(BINARY, "tensor") + operators(COMPARED, "tensor")
    text += "".join(f"    def __{name}__(self) -> tensor: ...\n" for name in ("neg", "pos", "invert"))
    text += "    def __getitem__(self, index: Any) -> tensor: ...\n    def __index__(self) -> builtins.int: ...\n"
    text += "    def __bool__(self) -> builtins.bool: ...\n"
    return text + "".join(method(name, getattr(tl.tensor, name)) for name in dir(tl.tensor)
                          if name != "T" and not name.startswith("_"))


def constexpr_class():
    """Constants: arithmetic is what the class has at run time."""
    arithmetic = [name for name in (*BINARY, "pow") if hasattr(tl.constexpr, f"__{name}__")]
    text = f"class constexpr:\n{docstring(tl.constexpr)}\n{CONSTEXPR_MEMBERS}"
    text += operators(arithmetic, "constexpr") + operators(COMPARED, "constexpr")
    return text + "".join(f"    def __{name}__(self) -> constexpr: ...\n" for name in ("neg", "pos", "invert"))


def plain_class(cls, members):
    """A class with its initialiser and what is given."""
    return f"class {cls.__name__}:\n{docstring(cls)}\n    def __init__({parameters_of(cls.__init__)}) -> None: ...\n{members}"


RANGE = """    start: Any
    end: Any
    step: Any
"""
TUPLE = """    values: builtins.list[Any]
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __getattr__(self, name: builtins.str) -> Any: ...
    def __add__(self, other: Any) -> tuple: ...
    def __eq__(self, other: Any) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...
"""
DESCRIPTOR = """    shape: Any
    strides: Any
    block_shape: Any
    dtype: dtype
"""


def classes():
    """The classes of the language that stubs declare themselves."""
    hints = [p for p in inspect.signature(tl.range).parameters if p not in ("arg1", "arg2", "step")]
    members = RANGE + "".join(f"    {name}: Any\n" for name in hints) + "    def __iter__(self) -> Iterator[tensor]: ...\n"
    descriptor = DESCRIPTOR + "".join(method(name, getattr(tl.tensor_descriptor, name))
                                      for name in dir(tl.tensor_descriptor) if not name.startswith("_"))
    nan = f"class PropagateNan(Enum):\n{docstring(tl.PropagateNan)}\n    NONE = 0\n    ALL = 0xFFFF\n"
    texts = [
        nan, constexpr_class(), plain_class(tl.constexpr_type, "    value: Any\n    def mangle(self) -> builtins.str: ...\n"),
        plain_class(tl.tuple_type, "    types: builtins.list[Any]\n    fields: Any\n    name: builtins.str\n"
                    "    def __iter__(self) -> Iterator[Any]: ...\n    def __getitem__(self, index: int) -> Any: ...\n"
                    "    def mangle(self) -> builtins.str: ...\n"),
        f'class const:\n{docstring(tl.const)}\n', tensor_class(), plain_class(tl.tuple, TUPLE),
        plain_class(tl.slice, "    start: Any\n    stop: Any\n    step: Any\n"), plain_class(tl.range, members),
        plain_class(tl.static_range, RANGE + "    def __iter__(self) -> Iterator[builtins.int]: ...\n"),
        plain_class(tl.condition, "    condition: Any\n    disable_licm: builtins.bool\n    def __bool__(self) -> builtins.bool: ...\n"),
        plain_class(tl.tensor_descriptor, descriptor),
    ]
    return "\n".join(texts)


def is_function(obj):
    """Whether something is a function of the language."""
    return inspect.isfunction(obj) and hasattr(obj, "__deuteron_builtin__")


def language_stub():
    """`deuteron/language/__init__.pyi`."""
    from deuteron.language import _dtypes

    # Names that are none, such as `@py_builtins`, are those of pytest, which rewrites the modules of its plugins.
    dtypes = [name for name in vars(tl) if getattr(_dtypes, name, None) is getattr(tl, name)
              and name.isidentifier() and not name.startswith("_")]
    text = LANGUAGE + "".join(f"    {name} as {name},\n" for name in sorted(dtypes)) + ")\n\n"
    text += "TRITON_MAX_TENSOR_NUMEL: builtins.int\nCONSTEXPR_0: constexpr\n\n" + classes() + "\n"
    text += "_experimental_tensor_descriptor = tensor_descriptor\n\n"
    functions = {name: obj for name, obj in sorted(vars(tl).items()) if is_function(obj) and name != "aggregate_replace"}
    return text + "\n".join(function(name, obj) for name, obj in functions.items())


def module_stub(module):
    """A module of names that stand in `tl`, and of its own."""
    own, shared = [], []
    for name, obj in sorted(vars(module).items()):
        if getattr(tl, name, None) is obj and not inspect.ismodule(obj) and not name.startswith("__") \
                and (hasattr(obj, "__deuteron_builtin__") or inspect.isclass(obj) or isinstance(obj, (tl.dtype, tl.constexpr))):
            shared.append(f"from . import {name} as {name}\n")
        elif is_function(obj):
            own.append(function(name, obj))
    imports = "from typing import Any\n\nfrom . import tensor\n" if own else ""
    return HEAD + imports + "".join(shared) + ("\n" if own else "") + "\n".join(own)


CORE = """
from typing import Any

from ._aggregate import _aggregate as _aggregate
from ._builtin import builtin as builtin, is_builtin as is_builtin
from ._constexpr import _unwrap_if_constexpr as _unwrap_if_constexpr
from ._dtypes import get_int_dtype as get_int_dtype, str_to_ty as str_to_ty
from ._tensor import tensor_descriptor_base as tensor_descriptor_base

TRITON_MAX_TENSOR_NUMEL: int

def must_use_result(x: Any, s: Any = True) -> Any:
    \"\"\"Marks a function whose result means something only when it is used. Works with and without an argument.\"\"\"
"""


def listed_stub(module, imports, otherwise="tensor"):
    """A module of functions that it lists itself."""
    functions = [function(name, getattr(module, name), otherwise) for name in module.__all__
                 if is_function(getattr(module, name))]
    names = "".join(f'    "{name}",\n' for name in module.__all__)
    return HEAD + imports + f"\n__all__ = [\n{names}]\n\n" + "\n".join(functions)


def stubs():
    """Every stub: path below the package to its text."""
    extra = "from typing import Any\n\nfrom {0} import tensor\n"
    target = "from typing import Any\n\nfrom ... import constexpr, tensor\nfrom . import libdevice as libdevice\n"
    return {
        "language/__init__.pyi": language_stub(),
        "language/core.pyi": module_stub(tl.core) + CORE,
        "language/math.pyi": module_stub(tl.math),
        "language/standard.pyi": module_stub(tl.standard),
        "language/random.pyi": module_stub(tl.random) + "\nfrom . import constexpr\n\nN_ROUNDS_DEFAULT: constexpr\n",
        "language/extra/libdevice.pyi": listed_stub(tl.extra.libdevice, extra.format("..")),
        "language/extra/cuda/__init__.pyi": listed_stub(tl.extra.cuda, target),
        "language/extra/hip/__init__.pyi": listed_stub(tl.extra.hip, target),
    }
