"""The body of a kernel as Python runs it.

It is the function itself but for what a kernel means otherwise than Python does: numbers that are assigned or chosen when the kernel runs become
run-time values, the counter of a loop is one, ``min`` and ``max`` compute by element, lists are tuples, ``and``, ``or``, ``not``, comparisons in a row
and ``assert`` take blocks. Lines and columns stay, so that debuggers and tracebacks show the source.
"""

import __future__

import ast
import builtins
import functools
import operator
import textwrap
import types
import warnings

from .. import _core
from . import _written

__all__ = ["KnownInteger", "body_of"]

KernelValue = _core.KernelValue

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

_BODIES = {}


def body_of(kernel):
    """The function that stands for a kernel, or for a function that kernels call, where Python runs it."""
    function = kernel.fn
    try:
        key = function, kernel._text_key, *kernel.extensions
    except (OSError, TypeError, ValueError):
        key = function, None
    body = _BODIES.get(key)
    if body is None:
        body = _BODIES[key] = _made(kernel, function, key[1] is not None)
    return body


def _made(kernel, function, has_text):
    if not has_text:
        warnings.warn(
            f"the text of {function.__qualname__} is not known: it runs as plain Python, where a number that is assigned keeps "
            "the type of a literal, and `range` counts in Python integers", stacklevel=2)
        return function
    tree, indent = _parsed(kernel)
    definition = tree.body[0]
    rewritten = _Rewriting(function, indent, kernel.extensions).visit(definition)
    rewritten.decorator_list = []
    if "any_shape" in kernel.extensions:
        _with_any_shape(rewritten)
    _without_annotations(rewritten)
    return _compiled(rewritten, function)


def _parsed(kernel):
    """The tree of the text of a function at the lines of its file, and by how much the text is indented there."""
    text = "".join(_written.lines_of(kernel))
    plain = textwrap.dedent(text)
    first = next((line for line in text.splitlines() if line.strip()), "")
    tree = ast.parse(plain)
    ast.increment_lineno(tree, _written.first_line_of(kernel) - 1)
    return tree, len(first) - len(first.lstrip())


def _with_any_shape(definition):
    """Operations are told that the function takes blocks of any shape."""
    entered = ast.With([ast.withitem(ast.Call(ast.Name("__any_shape__", ast.Load()), [], []))], definition.body)
    ast.copy_location(entered, definition.body[0])
    definition.body = [entered]


def _without_annotations(definition):
    """Annotations and defaults are not evaluated again: the function has them."""
    arguments = definition.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in filter(None, every):
        argument.annotation = None
    definition.returns = None
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)


def _compiled(definition, function):
    """The function of a definition, with the globals and the closure of the function that it was."""
    code = function.__code__
    free = dict(zip(code.co_freevars, function.__closure__ or ()))
    names = [*free, *_HELPERS]
    # Under a name of its own: within the factory the function's name is what it was, also where it calls itself.
    definition.name = "__body__"
    factory = ast.parse("def factory(): pass").body[0]
    factory.args.args = [ast.arg(name) for name in names]
    factory.body = [definition]
    tree = ast.Module([factory], [])
    ast.copy_location(factory, definition)
    ast.fix_missing_locations(tree)
    compiled = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    made = next(const for const in compiled.co_consts if isinstance(const, types.CodeType))
    made = next(const for const in made.co_consts if isinstance(const, types.CodeType) and const.co_name == definition.name)
    made = made.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    cells = tuple(free[name] if name in free else types.CellType(_HELPERS[name]) for name in made.co_freevars)
    body = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__, cells)
    body.__kwdefaults__ = function.__kwdefaults__
    body.__module__ = function.__module__
    return body


class _Rewriting(ast.NodeTransformer):
    """Puts calls of the functions below where a kernel is more than Python."""

    def __init__(self, function, indent, extensions):
        self.function = function
        self.indent = indent
        self.operators = {op: name for extension in extensions for op, name in _EXTENDED.get(extension, {}).items()}
        self.extensions = extensions
        #: Names that are annotated as constants and have no value yet.
        self.constexprs = set()

    def visit(self, node):
        node = super().visit(node)
        if isinstance(node, ast.AST) and self.indent:
            for name in ("col_offset", "end_col_offset"):
                if not getattr(node, "_deuteron_moved", False) and hasattr(node, name):
                    setattr(node, name, getattr(node, name) + self.indent)
            node._deuteron_moved = True
        return node

    def call(self, name, args, like):
        made = ast.Call(ast.Name(name, ast.Load()), args, [])
        ast.copy_location(made, like)
        ast.copy_location(made.func, like)
        made._deuteron_moved = made.func._deuteron_moved = True
        return made

    def assigned(self, value, kept=False):
        if isinstance(kept, tuple):
            flags = ast.copy_location(ast.Constant(kept), value)
            return self.call("__assigned_in_part__", [value, flags], value)
        return self.call("__assigned__", [value], value)

    def kept(self, target):
        """Whether a target stands for a constant: its name was annotated so and has no value yet. Of targets in a row, which do, if
        any."""
        if isinstance(target, ast.Name):
            pending = target.id in self.constexprs
            self.constexprs.discard(target.id)
            return pending
        if not isinstance(target, (ast.Tuple, ast.List)):
            return False
        flags = tuple(map(self.kept, target.elts))
        return flags if any(flags) else False

    def found(self, node):
        """The object that a dotted name of a module or of the closure is; None where that is not known before running."""
        if isinstance(node, ast.Attribute):
            inner = self.found(node.value)
            return None if inner is None else getattr(inner, node.attr, None)
        if not isinstance(node, ast.Name):
            return None
        code = self.function.__code__
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            return None
        if node.id in code.co_freevars:
            cell = self.function.__closure__[code.co_freevars.index(node.id)]
            try:
                return cell.cell_contents
            except ValueError:
                return None
        found = self.function.__globals__.get(node.id)
        return getattr(builtins, node.id, None) if found is None else found

    def is_of_the_language(self, value):
        """Whether a compiled kernel could compute an expression: every function that it calls is known to one, or is given constants."""
        return all(self.is_known(node) for node in ast.walk(value) if isinstance(node, ast.Call))

    def is_known(self, call):
        function = self.found(call.func)
        return _is_callable_in_kernels(function) or callable(function) and self.is_of_constants(call, function)

    def is_of_constants(self, call, function):
        """Whether a compiled kernel calls a function of Python's, as all that it is given is known. Clocks are given nothing."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        names = {node.id for value in given for node in ast.walk(value) if isinstance(node, ast.Name)}
        code, kinds = self.function.__code__, self.function.__annotations__
        constants = {name for name, kind in kinds.items() if "constexpr" in str(getattr(kind, "__name__", kind))}
        return names.isdisjoint({*code.co_varnames, *code.co_cellvars} - constants) and bool(given or isinstance(function, types.FunctionType))

    def is_part(self, node):
        """Whether elements of a block are assigned, by its name."""
        return "block_indexing" in self.extensions and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)

    def with_part(self, target, value, like):
        """`x = a block with a part of x replaced`, for `x[…] = value`."""
        read, written = (ast.copy_location(ast.Name(target.value.id, ctx()), target) for ctx in (ast.Load, ast.Store))
        read._deuteron_moved = written._deuteron_moved = True
        return ast.copy_location(ast.Assign([written], self.call("__set_index__", [read, target.slice, value], like)), like)

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if "block_indexing" not in self.extensions or not isinstance(node.ctx, ast.Load):
            return node
        return self.call("__index__", [node.value, _as_value(node.slice)], node)

    def visit_Assign(self, node):
        if len(node.targets) == 1 and self.is_part(node.targets[0]):
            self.generic_visit(node)
            node.targets[0].slice = _as_value(node.targets[0].slice)
            return self.with_part(node.targets[0], node.value, node)
        kept = self.kept(node.targets[0]) if len(node.targets) == 1 else False
        computed = kept is not True and self.is_of_the_language(node.value)
        names = all(isinstance(target, (ast.Name, ast.Tuple, ast.List)) for target in node.targets)
        self.generic_visit(node)
        if computed and names:
            node.value = self.assigned(node.value, kept)
        return node

    def visit_AugAssign(self, node):
        if self.is_part(node.target):
            read = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
            value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return self.visit(ast.copy_location(ast.Assign([node.target], value), node))
        computed = isinstance(node.target, ast.Name) and self.is_of_the_language(node.value)
        self.generic_visit(node)
        if not computed:
            return node
        name = node.target.id
        extended = self.operators.get(type(node.op))
        read = ast.copy_location(ast.Name(name, ast.Load()), node)
        written = ast.copy_location(ast.Name(name, ast.Store()), node)
        read._deuteron_moved = written._deuteron_moved = True
        if extended:
            value = self.call(extended, [read, node.value], node)
            return ast.copy_location(ast.Assign([written], self.call("__assigned__", [value], node)), node)
        again = ast.copy_location(ast.Assign([written], self.call("__assigned__", [read], node)), node)
        return [node, again]

    def visit_AnnAssign(self, node):
        is_constexpr = "constexpr" in ast.unparse(node.annotation)
        computed = node.value is not None and not is_constexpr and self.is_of_the_language(node.value)
        if is_constexpr and node.value is None and isinstance(node.target, ast.Name):
            self.constexprs.add(node.target.id)
        self.generic_visit(node)
        if computed:
            node.value = self.assigned(node.value)
        return node

    def visit_If(self, node):
        node.test = self.visit(node.test)
        before = set(self.constexprs)
        node.body = self.block(node.body)
        after, self.constexprs = self.constexprs, before
        node.orelse = self.block(node.orelse)
        self.constexprs &= after
        return node

    def block(self, statements):
        """A block of statements, of which one may become several."""
        block = []
        for statement in statements:
            visited = self.visit(statement)
            block.extend(visited if isinstance(visited, list) else [visited])
        return block

    def visit_For(self, node):
        counts = isinstance(node.iter, ast.Call) and self.found(node.iter.func) is builtins.range
        self.generic_visit(node)
        if counts:
            node.iter.func = self.call("__range__", [], node.iter).func
        return node

    def visit_Call(self, node):
        found = self.found(node.func)
        name = "__min__" if found is builtins.min else "__max__" if found is builtins.max else None
        self.generic_visit(node)
        if name:
            node.func = self.call(name, [], node).func
        if "half_math" in self.extensions and len(node.args) == 1 and not node.keywords:
            return self.call("__half_math__", [node.func, *node.args], node)
        if "half_math" in self.extensions and found is None and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords):
            name = ast.copy_location(ast.Constant(node.func.attr), node)
            return self.call("__half_method__", [node.func.value, name], node)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in ("value", "type") or not isinstance(node.ctx, ast.Load):
            return node
        return self.call("__constexpr_" + node.attr + "__", [node.value], node)

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
            return node
        first, *rest = node.values
        name = "__all__" if isinstance(node.op, ast.And) else "__any__"
        return self.call(name, [first, *(self.later(part) for part in rest)], node)

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
            return node
        return self.call("__chosen__", [node.test, self.later(node.body), self.later(node.orelse)], node)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = self.operators.get(type(node.op))
        return self.call(name, [node.left, node.right], node) if name else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            name = "__equal__" if isinstance(node.ops[0], ast.Eq) else "__unequal__"
            return self.call(name, [node.left, node.comparators[0]], node)
        unsafe = any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(node))
        if len(node.ops) == 1 or unsafe or not all(type(op) in _COMPARISONS for op in node.ops):
            return node
        ops = [ast.copy_location(ast.Constant(_COMPARISONS[type(op)]), node) for op in node.ops]
        comparators = [self.later(part) for part in node.comparators]
        ops = ast.copy_location(ast.Tuple(ops, ast.Load()), node)
        return self.call("__compared__", [ops, node.left, *comparators], node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self.call("__not__", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Assert(self, node):
        self.generic_visit(node)
        node.test = self.call("__holds__", [node.test], node.test)
        return node

    def later(self, node):
        empty = ast.arguments([], [], None, [], [], None, [])
        return ast.copy_location(ast.Lambda(empty, node), node)


def _as_value(node):
    """An index as an expression that may stand outside of brackets."""
    if isinstance(node, ast.Slice):
        bounds = [bound or ast.copy_location(ast.Constant(None), node) for bound in (node.lower, node.upper, node.step)]
        made = ast.Call(ast.copy_location(ast.Name("__slice__", ast.Load()), node), bounds, [])
    elif isinstance(node, ast.Tuple):
        made = ast.Tuple([_as_value(element) for element in node.elts], ast.Load())
    else:
        return node
    return ast.copy_location(made, node)


def _is_callable_in_kernels(function):
    if function is None:
        return False
    if isinstance(function, _core.JITFunction) or function in _PYTHON:
        return True
    marks = ("__deuteron_builtin__", "__deuteron_constexpr_function__", "__deuteron_dtype__")
    return any(hasattr(function, mark) for mark in marks)


_PYTHON = (abs, len, int, float, bool, min, max, sum, tuple)
_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def _extremum(name):
    plain = getattr(builtins, name)

    def computed(*args, **kwargs):
        items = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if not kwargs and any(isinstance(item, KernelValue) for item in items):
            return _core.eager_call(f"python.{name}", tuple(items))
        return plain(*args, **kwargs)

    return computed


def _operator(name, plain):

    def computed(a, b):
        if isinstance(a, KernelValue) or isinstance(b, KernelValue):
            return _core.eager_call(f"python.{name}", (a, b))
        return plain(a, b)

    return computed


def _index(value, index):
    return _core.eager_call("python._index", (value, index)) if isinstance(value, KernelValue) else value[index]


def _set_index(block, index, value):
    return _core.eager_call("python._set_index", (block, index, value))


def _half_math(function, argument):
    if isinstance(argument, KernelValue) and hasattr(function, "__deuteron_builtin__"):
        return _core.eager_call("python._half_math", (function, argument))
    return function(argument)


def _half_method(receiver, name):
    from .. import language

    return _half_math(getattr(language, name), receiver) if isinstance(receiver, KernelValue) else getattr(receiver, name)()


class _AnyShape:
    """While a function with this extension runs."""

    def __enter__(self):
        self.before = _core.eager_extensions(["any_shape"])

    def __exit__(self, *_error):
        _core.eager_extensions(self.before)


#: What operators become where an extension is on.
_EXTENDED = {
    "floor_division": {ast.FloorDiv: "__floordiv__", ast.Mod: "__mod__"},
    "pointer_difference": {ast.Sub: "__sub__"},
}


def counted(*bounds, step=None, **_options):
    """``range`` in a kernel: the counter is a run-time integer of the type that the bounds have together. Options of ``tl.range`` mean nothing."""
    if step is not None:
        bounds = (0, *bounds, step) if len(bounds) == 1 else (*bounds, step)
    plain = builtins.range(*map(operator.index, bounds))
    if not plain:
        return
    total = _core.eager_assigned(bounds[0])
    for bound in bounds[1:]:
        total = total + _core.eager_assigned(bound)
    for number in plain:
        yield total.with_number(number)


def _is_block(value):
    return isinstance(value, KernelValue) and value.is_block


def _combines(value, method):
    """Whether `and` and `or` call a method: of blocks, and of aggregates that define it."""
    return _is_block(value) or (hasattr(type(value), "__triton_aggregate__") and hasattr(type(value), method))


def _combined(value, part, method):
    other = part()
    if _is_block(value) or isinstance(other, KernelValue) or hasattr(type(other), "__triton_aggregate__"):
        return getattr(value, method)(other)
    # A constant decides alone, or does not matter.
    return other if bool(other) == (method == "logical_or") else value


def _all(value, *rest):
    for part in rest:
        value = _combined(value, part, "logical_and") if _combines(value, "logical_and") else value and part()
    return value


def _any(value, *rest):
    for part in rest:
        value = _combined(value, part, "logical_or") if _combines(value, "logical_or") else value or part()
    return value


def _constexpr_value(value):
    return value if type(value) in _NUMBERS else value.value


def _constexpr_type(value):
    from ..language import constexpr_type

    if value is None or type(value) in (*_NUMBERS, str):
        return constexpr_type(value)
    if isinstance(value, (tuple, list)) and not hasattr(value, "type"):
        return tuple(map(_constexpr_type, value))
    return value.type


class KnownInteger(int):
    """An argument that a compiled kernel knows, as it is 1: a number, which has what a run-time value has besides."""

    __deuteron_builtin__ = "known_integer"

    def __getattr__(self, name):
        return getattr(_core.eager_assigned(int(self)), name)


def _known(name):
    """An operator of integers whose result is known like its operands."""
    plain = getattr(int, name)

    @functools.wraps(plain)
    def operator(self, *others):
        result = plain(self, *others)
        return KnownInteger(result) if type(result) is int else result

    return operator


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(KnownInteger, f"__{_name}__", _known(f"__{_name}__"))
    setattr(KnownInteger, f"__r{_name}__", _known(f"__r{_name}__"))
for _name in ("__neg__", "__pos__", "__invert__", "__abs__"):
    setattr(KnownInteger, _name, _known(_name))


_NUMBERS = (int, float, bool, KnownInteger)


def _listed(left, right):
    """Both as tuples, where one is a list: to a kernel they are the same, so that `x.shape == [8]`."""
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return tuple(left), tuple(right)
    return left, right


def _equal(left, right):
    left, right = _listed(left, right)
    return left == right


def _unequal(left, right):
    left, right = _listed(left, right)
    return left != right


_ROW = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": _equal, "ne": _unequal}


def _compared(names, left, *rest):
    result = None
    for name, part in zip(names, rest):
        right = part()
        holds = _ROW[name](left, right)
        result = holds if result is None else result.logical_and(holds) if _is_block(result) else result and holds
        if not _is_block(result) and not result:
            return result
        left = right
    return result


def _assigned_in_part(values, kept):
    """The values of targets in a row, of which some are constants."""
    values = tuple(values)
    if len(values) != len(kept):
        return values
    return tuple(_assigned_where(value, constant) for value, constant in zip(values, kept))


def _assigned_where(value, constant):
    if isinstance(constant, tuple):
        return _assigned_in_part(value, constant)
    return value if constant else _core.eager_assigned(value)


def _chosen(test, one, other):
    value = one() if test else other()
    return _core.eager_assigned(value) if isinstance(test, KernelValue) and type(value) in _NUMBERS else value


def _not(value):
    if hasattr(type(value), "__triton_aggregate__") and hasattr(type(value), "__not__"):
        return value.__not__()
    return value.logical_not() if isinstance(value, KernelValue) else not value


def _holds(value):
    return all(value.tolist()) if _is_block(value) else value


_HELPERS = {
    "__assigned__": _core.eager_assigned,
    "__assigned_in_part__": _assigned_in_part,
    "__range__": counted,
    "__min__": _extremum("min"),
    "__max__": _extremum("max"),
    "__all__": _all,
    "__any__": _any,
    "__compared__": _compared,
    "__constexpr_value__": _constexpr_value,
    "__constexpr_type__": _constexpr_type,
    "__equal__": _equal,
    "__unequal__": _unequal,
    "__chosen__": _chosen,
    "__not__": _not,
    "__floordiv__": _operator("_floordiv", operator.floordiv),
    "__mod__": _operator("_mod", operator.mod),
    "__sub__": _operator("_sub", operator.sub),
    "__holds__": _holds,
    "__index__": _index,
    "__set_index__": _set_index,
    "__any_shape__": _AnyShape,
    "__half_math__": _half_math,
    "__half_method__": _half_method,
    "__slice__": slice,
}
