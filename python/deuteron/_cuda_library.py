"""Operators that a program registers with torch for "CUDA", under ``--cuda-as-cpu``: the CPU runs them.

What it registers for the CPU beside that is left out: kernels are what is meant. Operators of torch itself stay as they are, as results are
compared with them, and so do those that were registered before.
"""

import types

_KEY = "CUDA"


def replaced(torch, in_mode):
    """Functions of torch's libraries of operators, with where they are. `in_mode` makes a function run as the rest of the program does."""
    library = torch.library.Library
    start, register = library.__init__, library.impl
    kept = torch.library.fallthrough_kernel
    #: The places that a registration for "CUDA" has taken: namespace, name, key.
    taken = set()

    def is_of_torch(fn):
        # What torch makes for `torch.library.custom_op` calls what the program wrote.
        return fn.__module__.startswith("torch.") and fn.__module__ != "torch._library.custom_ops"

    def mapped(key):
        return key.removesuffix(_KEY) + "CPU" if key.endswith(_KEY) else key

    def __init__(self, ns, kind, dispatch_key=""):
        self._meant_for = dispatch_key
        start(self, ns, kind, dispatch_key if ns == "aten" else mapped(dispatch_key))

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        if self.ns != "aten":
            meant = dispatch_key or getattr(self, "_meant_for", self.dispatch_key)
            dispatch_key = mapped(meant)
            name = op_name if isinstance(op_name, str) else op_name._name
            place = self.ns, name.split("::")[-1], dispatch_key
            if dispatch_key != meant:
                taken.add(place)
            elif place in taken:
                return
            if isinstance(fn, types.FunctionType) and fn is not kept and not is_of_torch(fn):
                fn = in_mode(fn)
        register(self, op_name, fn, dispatch_key, with_keyset=with_keyset, allow_override=allow_override)

    return (library, "__init__", __init__), (library, "impl", impl)
