"""Settings that other packages declare: fields of a subclass of `knobs.base_knobs`, each with a variable of the environment."""

import os

__all__ = ["Env", "env", "env_base", "env_bool", "env_class", "env_int", "env_opt_bool", "env_opt_str", "env_str",
           "env_str_callable_default"]


class Env:
    """The type of `env`."""


#: What to assign for a setting to be read from the environment again.
env = Env()

_TRUE = ("1", "true", "yes", "on", "y")


class env_base:
    """A setting: what was assigned, else what its variable says, else its default.

    Args:
        key: the variable.
        default: the value where the variable is not set.
    """

    def __init__(self, key, default=None):
        self.key = key
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def parse(self, text):
        """The value that a text of the environment stands for."""
        return text

    def get(self):
        """The value of the environment, or the default."""
        text = os.environ.get(self.key)
        return self.default if text is None else self.parse(text)

    def __get__(self, group, owner=None):
        if group is None:
            return self
        own = vars(group).get("_own", {})
        return own[self.name] if self.name in own else self.get()

    def __set__(self, group, value):
        own = vars(group).setdefault("_own", {})
        if isinstance(value, Env):
            own.pop(self.name, None)
            return
        own[self.name] = self.transform(value)
        from .knobs import setenv, toenv

        text = toenv(value)
        if text is not None:
            setenv(self.key, text[0])

    def __delete__(self, group):
        vars(group).get("_own", {}).pop(self.name, None)

    def transform(self, val):
        """What is kept of an assigned value."""
        return val


class env_str(env_base):
    """A text."""


class env_opt_str(env_base):
    """A text, or None."""

    def __init__(self, key):
        super().__init__(key)


class env_str_callable_default(env_base):
    """A text whose default is computed when it is wanted."""

    def get(self):
        return os.environ.get(self.key) or self.default()


class env_bool(env_base):
    """Whether something is so."""

    def __init__(self, key, default=False):
        super().__init__(key, default)

    def parse(self, text):
        return text.strip().lower() in _TRUE


class env_opt_bool(env_bool):
    """Whether something is so, or None."""

    def __init__(self, key):
        super().__init__(key, None)


class env_int(env_base):
    """A whole number."""

    def __init__(self, key, default=0):
        super().__init__(key, default)

    def parse(self, text):
        try:
            return int(text)
        except ValueError:
            raise RuntimeError(f"Unable to use {self.key}={text}: expected int") from None


class env_class(env_base):
    """A class, which the variable names as ``module:Class``; or None.

    Args:
        type: the name of the class that it should inherit from, for readers.
    """

    def __init__(self, key, type):
        super().__init__(key)
        self.type = type

    def parse(self, text):
        from .knobs import _class_named

        return _class_named(text)
