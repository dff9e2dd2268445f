"""What is left of a kernel's function when it is pickled without its Python function, as torch's compile workers do."""

#: What is read of a function in the process that loads the kernel.
_KEPT = ("arg_names", "constexprs", "params", "src", "cache_key", "__name__", "__qualname__", "__module__", "debug", "noinline",
         "do_not_specialize", "do_not_specialize_on_alignment", "starting_line_number", "repr")


class DetachedFunction:
    """The facts about a @jit function, without the function: ``fn`` is None. It can be neither compiled nor launched."""

    fn = None
    __globals__ = None
    used_global_vals = None
    launch_metadata = None
    _hash_lock = None

    def __init__(self, facts):
        vars(self).update(facts)

    def is_gluon(self):
        """Whether the kernel gives layouts itself; none does here."""
        return False

    def __reduce__(self):
        return (DetachedFunction, (vars(self), ))

    def __repr__(self):
        return f"DetachedFunction({self.__module__}:{self.__qualname__})"


def reduce(function):
    """How pickle keeps a @jit function whose Python function was taken away."""
    return DetachedFunction, ({name: getattr(function, name) for name in _KEPT}, )
