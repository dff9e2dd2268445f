"""Settings: ``knobs.<group>.<name>``, each with an environment variable.

The table of all of them is in the native module, which reads them itself; this module shows it to Python. A value that
is assigned here wins over the environment, and is written there as well for the processes that this one starts
(``knobs.propagate_env = False`` turns that off). ``del knobs.cache.dir``, or assigning `env`, goes back to the environment, and
``with knobs.cache.scope():`` puts everything back at its end.
"""

import importlib
import os
from collections import namedtuple
from contextlib import contextmanager

from . import _core
from ._data_fields import DataFields
from ._knob_fields import (Env, env, env_base, env_bool, env_class, env_int, env_opt_bool, env_opt_str, env_str,
                           env_str_callable_default)

__all__ = ["CompileTimes", "Env", "HookChain", "NvidiaTool", "base_knobs", "env", "env_base", "env_bool", "env_class",
           "env_int", "env_opt_bool", "env_opt_str", "env_str", "env_str_callable_default", "propagate_env",
           "refresh_knobs", "setenv", "toenv"]

#: Whether values that are assigned are written to the environment.
propagate_env = True

#: Settings that are read once; their values are not written to the environment.
_READ_ONCE = (("runtime", "debug"), ("compilation", "instrumentation_mode"))


def setenv(key, value):
    """Writes a variable of the environment, or removes it, unless `propagate_env` is off."""
    if not propagate_env:
        return
    if value is not None:
        os.environ[key] = value
    else:
        os.environ.pop(key, None)


def toenv(val):
    """A value as a variable has it, in a tuple; None for one that no variable has."""
    if val is None:
        return (None, )
    if isinstance(val, bool):
        return ("1" if val else "0", )
    return (str(val), ) if isinstance(val, (str, int, os.PathLike)) else None


class HookChain:
    """Functions that are called in turn: the last added is the first when `reversed`."""

    def __init__(self, reversed=False, changed=None):
        self.calls = []
        self.reversed = reversed
        self._changed = changed

    def __class_getitem__(cls, item):
        return cls

    def add(self, func):
        """Adds a function, once."""
        if func not in self.calls:
            self.calls.append(func)
            self._tell()

    def remove(self, func):
        """Removes a function."""
        if func in self.calls:
            self.calls.remove(func)
            self._tell()

    def _tell(self):
        if self._changed is not None:
            self._changed(self if self.calls else None)

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for call in self.calls if not self.reversed else self.calls[::-1]:
            call(*args, **kwargs)


class NvidiaTool(namedtuple("NvidiaTool", ("path", "version"))):
    """A program of the toolkit."""

    __slots__ = ()


class CompileTimes(namedtuple("CompileTimes", ("ir_initialization", "lowering_stages", "store_results"))):
    """How long a compile took, in microseconds."""

    __slots__ = ()
    __dataclass_fields__ = DataFields()

    @property
    def total_lowering(self):
        """Of all stages."""
        return sum(stage[1] for stage in self.lowering_stages)

    @property
    def total(self):
        """Of everything."""
        return self.ir_initialization + self.total_lowering + self.store_results


class _Row(namedtuple("_Row", ("group", "name", "kind", "default", "env", "doc", "standing"))):
    """A setting: `key` is its variable."""

    __slots__ = ()

    @property
    def key(self):
        return self.env[-1] if self.env else None

    def refuse(self, value):
        """Raises where a value asks for something that is not there."""
        if self.standing is not None and self.standing[0] and value not in (None, "", self.default):
            raise NotImplementedError(f"knobs.{self.group}.{self.name} is not supported: {self.standing[1]}")

    def shown(self, value):
        """The value as the attribute has it."""
        return NvidiaTool(*_core.knob_tool(self.group, self.name)) if self.kind == "tool" else value


class _Live:
    """The values that the native module reads."""

    def __init__(self, group):
        self.group = group

    def get(self, name):
        return _core.knob_get(self.group, name)

    def set(self, name, value):
        _core.knob_set(self.group, name, value)

    def reset(self, name):
        _core.knob_reset(self.group, name)

    def values(self):
        return _core.knob_overrides(self.group)


class _Apart(_Live):
    """Values of a copy, which nobody else reads."""

    def __init__(self, group, values):
        super().__init__(group)
        self._values = dict(values)

    def get(self, name):
        return self._values[name] if name in self._values else _core.knob_get(self.group, name, True)

    def set(self, name, value):
        self._values[name] = value

    def reset(self, name):
        self._values.pop(name, None)

    def values(self):
        return dict(self._values)


def _class_named(text):
    """The class that ``module:Class`` names."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


class base_knobs:
    """One group of settings. Other packages make groups of their own: subclasses with fields such as `env_bool`."""

    def __init__(self, rows=(), store=None, objects=None):
        named = {row.name: row for row in rows if row.kind != "object"}
        kept = {row.name: row for row in rows if row.kind == "object"}
        vars(self).update(_rows=named, _kept=kept, _store=store, _objects=objects or dict.fromkeys(kept))

    @classmethod
    def _fields(cls):
        """Settings that a subclass declares as fields."""
        return {name: value for owner in reversed(cls.__mro__) for name, value in vars(owner).items()
                if isinstance(value, env_base)}

    def __getattr__(self, name):
        if name in self._rows:
            value = self._rows[name].shown(self._store.get(name))
            if name.endswith("_class") and isinstance(value, str):
                return vars(self).get("_classes", {}).get(value) or _class_named(value)
            return value
        if name in self._objects:
            return self._objects[name]
        group = type(self).__name__ if self._store is None else self._store.group
        raise AttributeError(f"there is no knob {group}.{name}; this group has "
                             f"{', '.join(sorted([*self._rows, *self._objects, *self._fields()]))}")

    def __setattr__(self, name, value):
        if name in self._fields():
            object.__setattr__(self, name, value)
        elif name in self._rows:
            self._set(self._rows[name], value)
        elif isinstance(self._objects.get(name), HookChain):
            self._replace_hook(name, value)
        elif name in self._objects:
            if value is not None:
                self._kept[name].refuse(value)
            self._objects[name] = value
            if name in ("jit_cache_hook", "jit_post_compile_hook") and type(self._store) is _Live:
                _core.set_hooks({name.removesuffix("_hook"): value})
        else:
            self.__getattr__(name)

    def _set(self, row, value):
        if isinstance(value, Env):
            return self._store.reset(row.name)
        if isinstance(value, type):
            named = f"{value.__module__}:{value.__qualname__}"
            vars(self).setdefault("_classes", {})[named] = value
            value = named
        row.refuse(value)
        self._store.set(row.name, value)
        if value and row.kind == "path":
            # The processes that this one starts may be elsewhere.
            value = self._store.get(row.name)
        text = toenv(value)
        if text is not None and (row.group, row.name) not in _READ_ONCE:
            for variable in row.env:
                setenv(variable, text[0])

    def _replace_hook(self, name, value):
        """``knobs.runtime.launch_enter_hook = function``: the chain then holds that function alone."""
        chain = self._objects[name]
        if isinstance(value, HookChain):
            calls = list(value.calls)
        else:
            calls = [] if value is None else [value]
        vars(self).setdefault("_replaced", {}).setdefault(name, list(chain.calls))
        for call in list(chain.calls):
            chain.remove(call)
        for call in calls:
            chain.add(call)

    def __delattr__(self, name):
        setattr(self, name, env if name in self._rows or name in self._fields() else None)

    def __dir__(self):
        return sorted([*self._rows, *self._objects, *(name for name in dir(type(self)) if not name.startswith("_"))])

    @property
    def knob_descriptors(self):
        """The settings of this group that have a variable: `key` is its name."""
        return {**self._rows, **self._fields()}

    @property
    def knobs(self):
        """All settings of this group and their values."""
        return {name: self._store.get(name) if row.kind == "tool" else getattr(self, name)
                for name, row in self._rows.items()} | {name: getattr(self, name) for name in self._fields()}

    def copy(self):
        """A group with the values of now, which may be changed and which no compile reads."""
        if self._store is None:
            group = type(self)()
            vars(group)["_own"] = dict(vars(self).get("_own", {}))
            return group
        return type(self)([*self._rows.values(), *self._kept.values()], _Apart(self._store.group, self._store.values()),
                          dict(self._objects))

    def reset(self):
        """Back to the environment and the defaults; hooks and listeners stay."""
        for name in [*self._rows, *self._fields()]:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self):
        """Puts every setting of this group, and its variables, back at the end."""
        variables = {key: os.environ.get(key) for row in self._rows.values() for key in row.env}
        variables |= {field.key: os.environ.get(field.key) for field in self._fields().values()}
        values = {} if self._store is None else self._store.values()
        own = dict(vars(self).get("_own", {}))
        objects = dict(self._objects)
        before, self.__dict__["_replaced"] = vars(self).get("_replaced"), {}
        try:
            yield
        finally:
            for key, value in variables.items():
                if value is not None:
                    os.environ[key] = value
                else:
                    os.environ.pop(key, None)
            for name in self._rows:
                if name in values:
                    self._store.set(name, values[name])
                else:
                    self._store.reset(name)
            vars(self)["_own"] = own
            replaced, self.__dict__["_replaced"] = self.__dict__["_replaced"], before if before is not None else {}
            for name, value in objects.items():
                if not isinstance(value, HookChain):
                    setattr(self, name, value)
                elif name in replaced:
                    value.calls[:] = replaced[name]
                    value._tell()


class cache_knobs(base_knobs):
    """The cache of compiled kernels."""

    def get_triton_dir(self, dirname):
        """A folder below ``.triton`` in `home_dir`."""
        return os.path.join(self.home_dir, ".triton", dirname)


class build_knobs(base_knobs):
    """The native build step, which no compile has."""

    @property
    def backend_dirs(self):
        """The folders that are set."""
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class language_knobs(base_knobs):
    """What programs mean that do not say."""

    def fp_fusion_enabled(self, requested):
        """Whether mul + add becomes fma where a launch asks for `requested`."""
        return not self.force_disable_fp_fusion and (self.default_fp_fusion if requested is None else requested)


def _refuse_load_hook(row):

    def changed(chain):
        if chain is not None:
            chain.calls.clear()
            row.refuse(chain)

    return changed


def _chain(row):
    """The hook chain of a row; the native launch path hears of those that it calls."""
    if row.standing is not None:
        return HookChain(row.name.endswith("end_hook"), changed=_refuse_load_hook(row))
    name = row.name.removesuffix("_hook")
    return HookChain(name.endswith(("exit", "end")), changed=lambda chain: _core.set_hooks({name: chain}))


#: Hooks that are chains of functions.
_CHAINS = ("launch_enter_hook", "launch_exit_hook", "kernel_load_start_hook", "kernel_load_end_hook",
           "kernel_unload_hook")


def _groups():
    rows = {}
    for row in _core.knob_table():
        rows.setdefault(row[0], []).append(_Row(*row[:4], tuple(row[4]), *row[5:]))
    groups = {}
    for group, members in rows.items():
        name = f"{group}_knobs"
        kind = globals().get(name) or type(name, (base_knobs, ), {"__module__": __name__})
        objects = {row.name: _chain(row) if row.name in _CHAINS else None for row in members if row.kind == "object"}
        groups[name] = kind
        groups[group] = kind(members, _Live(group), objects)
    return groups


def refresh_knobs():
    """Reads again those variables that are read once only: ``TRITON_DEBUG`` and ``TRITON_INSTRUMENTATION_MODE``.

    What code has set of them is forgotten.
    """
    for group, name in _READ_ONCE:
        _core.knob_reset(group, name)
    _core.refresh_knobs()


globals().update(_groups())
