"""What a launch makes of its arguments, for code that wants to know it without a launch."""

import functools

from .. import _core

__all__ = ["KernelParam", "create_function_from_signature", "native_specialize_impl"]


class KernelParam:
    """A parameter of a kernel, as ``kernel.params`` describes it.

    Args:
        num: its position.
        param: an ``inspect.Parameter``.
        do_not_specialize, do_not_specialize_on_alignment: whether values, or multiples of 16, are left out of the specialization.
    """

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num = num
        self._param = param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @functools.cached_property
    def name(self):
        return self._param.name

    @functools.cached_property
    def annotation(self):
        """Its annotation as a text; empty where there is none."""
        annotation = self._param.annotation
        if annotation is self._param.empty:
            return ""
        return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))

    @functools.cached_property
    def annotation_type(self):
        """The type that its annotation says, by its short name; empty where it says none."""
        from .._utils import type_canonicalisation_dict

        text = self.annotation.removeprefix("tl.")
        return "" if text.startswith(("*", "const")) else type_canonicalisation_dict.get(text, "")

    @functools.cached_property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @functools.cached_property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))

    @property
    def default(self):
        return self._param.default

    @property
    def has_default(self):
        return self._param.default is not self._param.empty


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    """``(type, key)`` of one argument, as the launch path sees it; tuples have a tuple of each."""
    if isinstance(arg, tuple):
        pairs = [native_specialize_impl(backend, item, False, True, True) for item in arg]
        make = type(arg)._make if hasattr(arg, "_fields") else tuple
        return make(kind for kind, _ in pairs), make(key for _, key in pairs)
    kind, key = _core.specialize(arg, is_const, specialize_value, align)
    if kind == "constexpr" or isinstance(arg, (bool, float)):
        return kind, key
    if kind.startswith("tensordesc") or not specialize_value:
        return kind, None
    if backend is None:
        return kind, key or ""
    mark = backend.get_tensor_specialization if kind.startswith("*") else backend.get_int_specialization
    return kind, mark(arg, align=align)


def _specialized(param, value, backend):
    if param.is_constexpr:
        return "constexpr", value
    kind, key = native_specialize_impl(backend, value, param.is_const, not param.do_not_specialize,
                                       not param.do_not_specialize_on_alignment)
    if not param.annotation_type:
        return kind, key
    fixed = param.annotation_type
    return fixed, None if fixed == "u1" or fixed.startswith(("fp", "bf")) else key


def create_function_from_signature(sig, kparams, backend):
    """A function that takes the arguments of a launch and returns them by name, what each is specialised to, and what is left over
    as options.

    Args:
        sig: the ``inspect.Signature`` of a kernel.
        kparams: its parameters, ``kernel.params``.
    """

    def bind(*args, **kwargs):
        options = {name: value for name, value in kwargs.items() if name not in sig.parameters}
        bound = sig.bind(*args, **{name: value for name, value in kwargs.items() if name in sig.parameters})
        bound.apply_defaults()
        found = [_specialized(param, bound.arguments[param.name], backend) for param in kparams]
        return dict(bound.arguments), found, options

    return bind
