"""How a launch binds its arguments and what it compiles for, for code that asks a kernel for its parts. `add_to` puts it into
``JITFunction``."""

from .._utils import find_paths_if, get_iterable_path


def create_binder(self):
    """An empty cache of kernels, one for `compute_cache_key`, the target in use, its backend, and what
    `create_function_from_signature` makes for it."""
    from ..compiler import make_backend
    from ._signature import create_function_from_signature
    from .driver import driver

    target = driver.active.get_current_target()
    backend = make_backend(target)
    return {}, {}, target, backend, create_function_from_signature(self.signature, self.params, backend)


def _pack_args(self, backend, kwargs, bound_args, specialization, options):
    """Options, the signature, constants and attributes of a compile, the last two by paths.

    Args:
        backend: of the target.
        kwargs: all keywords of the launch.
        bound_args, specialization, options: what a function of `create_function_from_signature` returns.

    Raises:
        KeyError: a keyword is neither a parameter nor an option.
    """
    options = backend.parse_options(kwargs)
    names = [param.name for param in self.params]
    for name in kwargs:
        if name not in options.__dict__ and name not in names:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    kinds = [kind for kind, _ in specialization]
    values = list(bound_args.values())
    paths = find_paths_if(kinds, lambda _, kind: kind == "constexpr")
    constants = {path: get_iterable_path(values, path) for path in paths}
    marks = ["" if kind == "constexpr" else mark for kind, mark in specialization]
    paths = find_paths_if(marks, lambda _, mark: isinstance(mark, str))
    attrs = {path: backend.parse_attr(get_iterable_path(marks, path)) for path in paths}
    return options, dict(zip(names, kinds)), constants, attrs


def add_to(cls):
    """Gives the class these methods."""
    cls.create_binder = create_binder
    cls._pack_args = _pack_args
