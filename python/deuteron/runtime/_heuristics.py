"""`@heuristics`: meta-parameters that are computed from the arguments."""

from .jit import KernelInterface


class Heuristics(KernelInterface):
    """A kernel some of whose meta-parameters are computed from its arguments."""

    def __init__(self, fn, arg_names, values):
        self.fn = fn
        self.arg_names = arg_names
        self.values = values
        self.__name__ = getattr(fn, "__name__", None)
        self.__doc__ = getattr(fn, "__doc__", None) or type(self).__doc__

    def run(self, *args, **kwargs):
        """Computes the values and launches."""
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, heuristic in self.values.items():
            kwargs[name] = arguments[name] = heuristic(dict(arguments))
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    """Computes meta-parameters: ``@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})``.

    Args:
        values: from a name to a function of all arguments by name.
    """

    def decorator(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorator
