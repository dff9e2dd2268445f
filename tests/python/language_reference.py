"""What the language's names are, for pages and stubs: signatures from the table of the front end, words from the docstrings."""

import ast
import inspect
from dataclasses import dataclass

import deuteron.language as tl
from deuteron import _core

# Parameters of which the signature in Python says more than the table: there, None stands for what is written here.
SAID_BY_PYTHON = {
    ("tl.load", "boundary_check"): "()",
    ("tl.store", "boundary_check"): "()",
    ("tl.dot_scaled", "out_dtype"): "tl.float32",
    ("tl.pointer_type", "address_space"): "'global'",
}
# Parameters that a method has by its object.
RECEIVERS = ("self", )


@dataclass
class Parameter:
    """One parameter as it is written."""

    name: str
    default: str | None
    star: str = ""
    keyword_only: bool = False


def rows():
    """The table of the front end: path to parameters, whether it is a method of blocks, types of variants."""
    return {path: rest for path, *rest in _core.language_table()}


def find(path):
    """The Python object of a path of the table."""
    if path.startswith("descriptor."):
        return getattr(tl.tensor_descriptor, path.removeprefix("descriptor."))
    if path.startswith("libdevice."):
        return getattr(tl.extra.libdevice, path.removeprefix("libdevice."))
    found = tl
    for name in path.removeprefix("tl.").split("."):
        # A few are methods alone, or stand in `tl.core` as in the reference.
        found = next(getattr(place, name) for place in (found, tl.core, tl.tensor) if hasattr(place, name))
    return found


def declared(params):
    """Parameters as the table writes them: ``input, *shape, can_reorder=False``."""
    arguments = ast.parse(f"def f({params}): pass").body[0].args
    positional = arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    listed = [Parameter(p.arg, d) for p, d in zip(positional, defaults)]
    if arguments.vararg:
        listed.append(Parameter(arguments.vararg.arg, None, "*"))
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        listed.append(Parameter(parameter.arg, default and ast.unparse(default), keyword_only=True))
    return listed


def shown(value):
    """A default as people write it."""
    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, tl.PropagateNan):
        return f"tl.{value}"
    if isinstance(value, tl.dtype):
        return next(f"tl.{name}" for name in dir(tl) if getattr(tl, name) is value)
    return repr(value)


def documented(obj):
    """Parameters as the signature in Python has them, and what comes back (None where nothing is said)."""
    signature = inspect.signature(obj)
    listed = []
    for parameter in signature.parameters.values():
        if parameter.name in ("_semantic", *RECEIVERS):
            continue
        default = None if parameter.default is parameter.empty else shown(parameter.default)
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        listed.append(Parameter(parameter.name, default, star, parameter.kind is parameter.KEYWORD_ONLY))
    result = signature.return_annotation
    return listed, None if result is signature.empty else "None" if result is None else str(result)


def text_of(parameters):
    """Parameters between parentheses."""
    parts = []
    for index, parameter in enumerate(parameters):
        if parameter.keyword_only and not any(p.star or p.keyword_only for p in parameters[:index]):
            parts.append("*")
        default = "" if parameter.default is None else f"={parameter.default}"
        parts.append(f"{parameter.star}{parameter.name}{default}")
    return ", ".join(parts)


# Methods that are no functions of the language: what the table calls their first parameter is the object.
METHODS_ALONE = ("tl.to", "tl.item", "tl.logical_and", "tl.logical_or")


def package_parameters(path, obj):
    """Parameters in Python, with defaults as the table has them."""
    listed = documented(obj)[0]
    for parameter in listed:
        if parameter.default is not None and SAID_BY_PYTHON.get((path, parameter.name)) == parameter.default:
            parameter.default = "None"
    return listed


def table_parameters(path, params):
    """Parameters in the table, without the object of a method."""
    listed = declared(params)
    if path.startswith("descriptor.") or path in METHODS_ALONE:
        listed = listed[1:]
    return [Parameter("other", None)] if path.startswith("tl.logical_") else listed


def differences_of(path, params, is_method):
    """What the package says of a name, where it is not what the compiler does."""
    try:
        obj = find(path)
    except StopIteration:
        return [f"{path} is not in the package"]
    table, package = table_parameters(path, params), package_parameters(path, obj)
    found = []
    if table != package:
        found.append(f"{path}: the compiler takes ({text_of(table)}), the package says ({text_of(package)})")
    if is_method and not hasattr(tl.tensor, path.removeprefix("tl.")):
        found.append(f"{path} is a method of blocks in the compiler, not in the package")
    return found


def differences():
    """Where the table and the package do not say the same."""
    table = {path: rest for path, rest in rows().items() if not path.startswith(("python.", "triton."))}
    found = [line for path, (params, is_method, _) in table.items() for line in differences_of(path, params, is_method)]
    methods = {path.removeprefix("tl.") for path, (_, is_method, _) in table.items() if is_method}
    public = {name for name in dir(tl.tensor) if not name.startswith("_")}
    return found + [f"tensor.{name} is not in the compiler" for name in sorted(public - methods - {"T"})]
