"""`@triton.aggregate`: classes whose objects are values of kernels, with named fields that never change."""

import types
import typing

from .. import _core
from ._builtin import show
from ._constexpr import constexpr
from ._tensor import tuple as tl_tuple

_MISSING = object()

#: What the compiler gives for a field that has a run-time value.
_RUN_TIME = object()


def _annotations(cls):
    """The fields that a class itself declares, with their types."""
    # Imported here, since importing the package is not to import it.
    import inspect

    own = inspect.get_annotations(cls)
    if not any(isinstance(kind, str) for kind in own.values()):
        return own
    hints = typing.get_type_hints(cls)
    return {name: hints[name] for name in own}


def _resolve_fields(cls):
    """Fields and defaults, those of the oldest base first."""
    fields, defaults = {}, {}
    for base in reversed(cls.__mro__[1:]):
        if base is object:
            continue
        if "__aggregate_fields__" not in base.__dict__:
            raise TypeError(f"Aggregates can only inherit from other aggregates, but got non-aggregate base: {base}")
        fields.update(base.__aggregate_types__)
        defaults.update(base.__aggregate_defaults__)
    for name, kind in _annotations(cls).items():
        fields[name] = kind
        value = cls.__dict__.get(name, _MISSING)
        if value is not _MISSING and (not callable(value) or isinstance(value, constexpr)):
            defaults[name] = value
    return fields, defaults


def _wrapped(value):
    """A Python value as a field holds it: numbers and strings as constexprs, tuples element by element."""
    if isinstance(value, (tuple, list)):
        items = [_wrapped(item) for item in value]
        return tl_tuple(type(value)(*items) if hasattr(value, "_fields") else items)
    if isinstance(value, (constexpr, _core.KernelValue, RunTimeField)) or hasattr(type(value), "__aggregate_fields__"):
        return value
    return constexpr(value)


def _generated_init(cls, fields, defaults):
    """An `__init__` that takes the fields in their order."""
    names = tuple(fields)

    def __init__(self, *args, **kwargs):
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__}.__init__() takes {len(names) + 1} positional arguments but "
                            f"{len(args) + 1} were given")
        for index, name in enumerate(names):
            if index < len(args):
                if name in kwargs:
                    raise TypeError(f"{cls.__name__}.__init__() got multiple values for argument '{name}'")
                value = args[index]
            elif name in kwargs:
                value = kwargs.pop(name)
            elif name in defaults:
                value = defaults[name]
            else:
                raise TypeError(f"{cls.__name__}.__init__() missing required argument: '{name}'")
            setattr(self, name, _wrapped(value))
        if kwargs:
            raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")

    return __init__


def _assigned(cls):
    """`__setattr__`: fields alone, and only while an object is made."""

    def __setattr__(self, name, value):
        if name not in cls.__aggregate_fields__:
            raise AttributeError(f"{cls.__name__} has no attribute '{name}'")
        if self.__dict__.get("_complete", False):
            raise AttributeError(f"cannot assign to field '{name}' on immutable aggregate {cls.__name__}; "
                                 "use aggregate_replace() to construct a modified copy")
        self.__dict__[name] = value

    return __setattr__


def _completed(cls, init):
    """`__init__` that leaves an object which has all its fields and keeps them."""

    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        for name in cls.__aggregate_fields__:
            if name not in self.__dict__:
                raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
        self.__dict__["_complete"] = True

    return __init__


def _readable(cls):
    """Keeps the plain methods of a class as functions that the compiler can read."""
    from ..runtime import JITFunction

    for name, member in list(cls.__dict__.items()):
        member = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if isinstance(member, types.FunctionType) and name != "__init__":
            setattr(cls, f"__deuteron_method_{name}", JITFunction(member))
    init = cls.__dict__.get("__init__")
    if init is None:
        cls.__deuteron_init__ = None
    else:
        # A constexpr function holds the plain one.
        cls.__deuteron_init__ = init if isinstance(init, JITFunction) else JITFunction(getattr(init, "fn", init))


class RunTimeField:
    """What a constexpr function finds in a field whose value is known when the kernel runs: nothing that it can compute with."""

    def __init__(self, owner, name):
        self._text = f"{owner}.{name} is a run-time value, which a constexpr function cannot read"

    def _refuse(self, *_):
        raise TypeError(self._text)

    __getattr__ = __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = __eq__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = _refuse
    __hash__ = object.__hash__


def _aggregate(cls):
    """Makes the objects of a class values that kernels may hold.

    The class annotates its fields (`tl.tensor`, `tl.constexpr`, `tl.tuple`, another aggregate, …), which may have defaults
    and are inherited. Objects are made by calling the class, in kernels and outside, with the fields in their order or by its own
    `__init__`. Methods may be `@triton.jit`, `@triton.constexpr_function` or plain; `self` never changes.
    """
    fields, defaults = _resolve_fields(cls)
    _readable(cls)
    init = cls.__dict__.get("__init__") or _generated_init(cls, fields, defaults)
    cls.__aggregate_fields__ = tuple(fields)
    cls.__aggregate_types__ = fields
    cls.__aggregate_defaults__ = dict(defaults)
    cls.__deuteron_aggregate__ = cls.__triton_aggregate__ = cls.__triton_builtin__ = True
    cls.__init__ = _completed(cls, init)
    cls.__setattr__ = _assigned(cls)
    cls.__deuteron_run_time__ = _RUN_TIME
    cls.__deuteron_make__ = staticmethod(lambda *values: _made(cls, dict(zip(fields, values))))
    return cls


def _made(cls, values):
    made = object.__new__(cls)
    for name, value in values.items():
        made.__dict__[name] = RunTimeField(cls.__name__, name) if value is _RUN_TIME else _wrapped(value)
    made.__dict__["_complete"] = True
    return made


class _Replace:
    """A copy of an aggregate with some of its fields changed; in kernels and outside."""

    def __init__(self):
        self.__name__ = self.__deuteron_builtin__ = "aggregate_replace"
        self.__triton_builtin__ = True

    def __call__(self, instance, **changes):
        cls = type(instance)
        if not getattr(cls, "__triton_aggregate__", False):
            raise TypeError(f"aggregate_replace() expects an aggregate instance, got {cls.__name__}")
        for name in changes:
            if name not in cls.__aggregate_fields__:
                raise TypeError(f"aggregate_replace(): {cls.__name__} has no field '{name}'")
        values = {name: instance.__dict__[name] for name in cls.__aggregate_fields__}
        values.update((name, _wrapped(value)) for name, value in changes.items())
        return _made(cls, values)


aggregate_replace = show(_Replace())
