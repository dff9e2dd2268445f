"""What programs that write kernels read and set of a function: what its names mean, and where its text is said to stand.

Such a program takes the text of a kernel, changes it, makes a function of it and gives that the place of the first one. What is set is kept
and answered; errors and line tables name the file and the line of the definition that were set last. Put into ``JITFunction`` by `add_to`.
"""

import re

from .. import _core

_LINES = _core.JITFunction.raw_src
_FIRST_LINE = _core.JITFunction.starting_line_number


def lines_of(function):
    """The text of a function, whatever its place is said to be."""
    return _LINES.__get__(function)


def first_line_of(function):
    """The line of the file on which that text begins."""
    return _FIRST_LINE.__get__(function)


def get_capture_scope(self):
    """The values of names in the function: its globals, and what it captured over them."""
    function = self.fn
    captured = {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())}
    return {**function.__globals__, **captured}


def _definition(function):
    """The first line of the definition behind the decorators, counted from 0, and its text."""
    found = (item for item in enumerate(lines_of(function)) if re.match(r"\s*def\b", item[1]))
    return next(found, (0, ""))


def _kept(name, usual):
    """A property with a usual value, which stands until another one is set."""
    own = "_said_" + name

    def get(self):
        return self.__dict__[own] if own in self.__dict__ else usual(self)

    def keep(self, value):
        self.__dict__[own] = value
        if name in ("file_name", "def_file_line_number"):
            self._place_text(self.file_name, self.def_file_line_number)

    return property(get, keep, doc=usual.__doc__)


def _def_line(self):
    """The line of the file where the definition begins."""
    return self.starting_line_number + _definition(self)[0]


def _def_column(self):
    """The column where it begins, counted from 1."""
    line = _definition(self)[1]
    return len(line) - len(line.lstrip()) + 1


def _file_name(self):
    """The file."""
    return self.fn.__code__.co_filename


def add_to(cls):
    """Gives the class these attributes, its ``__init__`` a signature that can be asked for, and subclasses parameters of their own."""
    cls.get_capture_scope = get_capture_scope
    places = {"raw_src": lines_of, "starting_line_number": first_line_of, "file_name": _file_name, "def_file_line_number": _def_line,
              "def_file_col_number": _def_column}
    for name, usual in places.items():
        setattr(cls, name, _kept(name, usual))
    plain = cls.__init__

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None, repr=None,
                 launch_metadata=None, interpret=None, extensions=None):
        plain(self)

    __init__.__doc__ = plain.__doc__
    cls.__init__ = __init__
    make, known = cls.__new__, __init__.__code__.co_varnames

    def of_subclass(kind, *args, **named):
        # A subclass hands on to ``__init__`` what is meant for this class, which is made before that.
        return make(kind, *args[:1], **{name: value for name, value in named.items() if name in known})

    def __init_subclass__(kind, **named):
        super(cls, kind).__init_subclass__(**named)
        if "__init__" in vars(kind) and "__new__" not in vars(kind):
            kind.__new__ = of_subclass

    cls.__init_subclass__ = classmethod(__init_subclass__)
