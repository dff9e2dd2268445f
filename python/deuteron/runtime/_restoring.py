"""Putting arguments back that timed launches have changed."""


def zero(array):
    """Sets all elements to zero."""
    if hasattr(array, "zero_"):
        array.zero_()
    elif hasattr(array, "base") and not hasattr(array, "__setitem__"):
        zero(array.base)
    else:
        array[...] = 0


def clone(array):
    """A copy with memory of its own."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def copy_into(array, value):
    """Gives all elements the values of another array."""
    if hasattr(array, "copy_"):
        array.copy_(value)
    else:
        array[...] = value


class Restorer:
    """What the arguments named in `reset_to_zero` and `restore_value` held, and how they get it back.

    Values are copied once, before the first launch of a tuning; after every launch, and whatever ends the tuning (an error, an
    interrupt), they are copied back.
    """

    def __init__(self, reset_to_zero, restore_value):
        self.reset_to_zero = reset_to_zero
        self.restore_value = restore_value
        self.saved = {}

    def save(self, arguments):
        """Copies what `restore_value` names."""
        self.saved = {name: clone(arguments[name]) for name in self.restore_value if arguments.get(name) is not None}

    def zero(self, arguments):
        """Sets what `reset_to_zero` names to zero."""
        for name in self.reset_to_zero:
            if arguments.get(name) is not None:
                zero(arguments[name])

    def restore(self, arguments):
        """Copies the values back."""
        for name, value in self.saved.items():
            copy_into(arguments[name], value)

    def leave(self, arguments):
        """Brings everything into the state in which a program expects it, and lets go of the copies."""
        try:
            self.zero(arguments)
        finally:
            self.restore(arguments)
            self.saved = {}
