"""Settings: ``knobs.<group>.<name>``, each with an environment variable.

The table of all of them is in the native module, which reads them itself; this module shows it to Python. A value that
is assigned here wins over the environment, ``del knobs.cache.dir`` goes back to it, and
``with knobs.cache.scope():`` puts everything back at its end.
"""

from contextlib import contextmanager

from . import _core

#: Knobs that are Python objects; the native module is told only of those that it calls.
_PYTHON_KNOBS = {
    "build": ("impl",),
    "compilation": ("listener",),
    "autotuning": ("listener",),
    "cache": ("remote_manager_class",),
    "runtime": ("jit_cache_hook", "jit_post_compile_hook", "add_stages_inspection_hook"),
}


#: Knobs of the reference that hand parts of the compiler to Python, which are native here: setting one is an error.
_REFUSED = {
    "add_stages_inspection_hook": "passes are native and cannot be replaced from Python: look at kernel.asm, or set "
                                  "TRITON_KERNEL_DUMP=1 for every stage and TRITON_KERNEL_OVERRIDE=1 to replace one",
    "remote_manager_class": "the compiler keeps its own cache, which is safe on network file systems: set knobs.cache.dir "
                            "(TRITON_CACHE_DIR) to a folder that the machines share",
}


class HookChain:
    """Functions that are called in turn: the last added is the first when `reversed`."""

    def __init__(self, reversed=False, changed=None):
        self.calls = []
        self.reversed = reversed
        self._changed = changed

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


class base_knobs:
    """One group of settings."""

    def __init__(self, name, rows, objects):
        vars(self).update(_name=name, _rows=rows, _objects=dict.fromkeys(objects))

    def __getattr__(self, name):
        if name in self._rows:
            return _core.knob_get(self._name, name)
        if name in self._objects:
            return self._objects[name]
        raise AttributeError(f"there is no knob {self._name}.{name}; this group has "
                             f"{', '.join(sorted([*self._rows, *self._objects]))}")

    def __setattr__(self, name, value):
        if name in self._rows:
            _core.knob_set(self._name, name, value)
        elif isinstance(vars(self).get(name), HookChain):
            self._replace_hook(name, value)
        elif name in self._objects:
            if name in _REFUSED and value is not None:
                raise NotImplementedError(f"knobs.{self._name}.{name} is not supported: {_REFUSED[name]}")
            self._objects[name] = value
            if name in ("jit_cache_hook", "jit_post_compile_hook"):
                _core.set_hooks({name.removesuffix("_hook"): value})
        else:
            self.__getattr__(name)

    def _replace_hook(self, name, value):
        """``knobs.runtime.launch_enter_hook = function``: the chain then holds that function alone."""
        chain = vars(self)[name]
        if isinstance(value, HookChain):
            calls = list(value.calls)
        else:
            calls = [] if value is None else [value]
        for call in list(chain.calls):
            chain.remove(call)
        for call in calls:
            chain.add(call)

    def __delattr__(self, name):
        setattr(self, name, None)

    def __dir__(self):
        return sorted([*self._rows, *self._objects, "copy", "knobs", "reset", "scope"])

    @property
    def knobs(self):
        """All settings of this group and their values."""
        return {name: getattr(self, name) for name in self._rows}

    def copy(self):
        """The values of now; assign them back with ``setattr``."""
        return {**self.knobs, **self._objects}

    def reset(self):
        """Back to the environment and the defaults."""
        for name in (*self._rows, *self._objects):
            setattr(self, name, None)
        return self

    @contextmanager
    def scope(self):
        """Puts every setting of this group back at the end."""
        overrides = _core.knob_overrides(self._name)
        objects = dict(self._objects)
        try:
            yield
        finally:
            for name in self._rows:
                _core.knob_set(self._name, name, overrides.get(name))
            for name, value in objects.items():
                setattr(self, name, value)


def _groups():
    rows = {group: {} for group in _PYTHON_KNOBS}
    objects = {group: list(names) for group, names in _PYTHON_KNOBS.items()}
    for group, name, kind, default, env, doc in _core.knob_table():
        if kind == "object":
            objects.setdefault(group, []).append(name)
        else:
            rows.setdefault(group, {})[name] = (kind, default, env, doc)
    return {group: base_knobs(group, rows[group], objects.get(group, ())) for group in rows}


def _refuse_load_hook(chain):
    if chain is not None:
        chain.calls.clear()
        raise NotImplementedError("hooks on loading and unloading kernels are not supported; "
                                  "knobs.runtime.launch_enter_hook and launch_exit_hook are")


class _RuntimeHooks:
    """The hook chains of ``knobs.runtime``; the native launch path hears of them when they are not empty."""

    def __init__(self):
        self.launch_enter_hook = HookChain(changed=lambda chain: _core.set_hooks({"launch_enter": chain}))
        self.launch_exit_hook = HookChain(True, changed=lambda chain: _core.set_hooks({"launch_exit": chain}))
        for name in ("kernel_load_start_hook", "kernel_load_end_hook", "kernel_unload_hook"):
            setattr(self, name, HookChain(changed=_refuse_load_hook))


def refresh_knobs():
    """Reads again those variables that are read once only, such as ``TRITON_DEBUG``."""
    _core.refresh_knobs()


propagate_env = True
globals().update(_groups())
vars(globals()["runtime"]).update(vars(_RuntimeHooks()))
