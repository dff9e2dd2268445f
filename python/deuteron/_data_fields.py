"""Named tuples that are data classes as well."""


class DataFields:
    """``__dataclass_fields__`` of a named tuple, for `dataclasses.asdict`, `fields` and `replace`.

    They are made when somebody asks: whoever does has imported `dataclasses`, which takes milliseconds.
    """

    def __get__(self, instance, owner):
        from dataclasses import make_dataclass
        return make_dataclass(owner.__name__, owner._fields).__dataclass_fields__
