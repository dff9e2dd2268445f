"""Targets as Python names them."""

from abc import ABCMeta, abstractmethod
from collections import namedtuple
from enum import Enum

from .._data_fields import DataFields


class GPUTarget(namedtuple("GPUTarget", ("backend", "arch", "warp_size"))):
    """What kernels are compiled for.

    Attributes:
        backend: ``"cpu"``, ``"cuda"``, ….
        arch: the architecture, a name or a number.
        warp_size: lanes that go together; 1 on a CPU.
    """

    __slots__ = ()
    __dataclass_fields__ = DataFields()


class Language(Enum):
    """What a kernel was written in."""

    TRITON = 0
    GLUON = 1


class BaseBackend(metaclass=ABCMeta):
    """A compiler for one kind of target. Deuteron's are native; `Backend` shows them through this interface."""

    def __init__(self, target):
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target):
        """Whether it compiles for `target`."""

    @abstractmethod
    def hash(self):
        """What changes whenever its code or its tools do."""

    @abstractmethod
    def parse_options(self, options):
        """Options as the compiler will see them, defaults filled in."""

    @staticmethod
    def parse_attr(desc):
        """The attributes that a mark of `get_arg_specialization` stands for."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        """The mark of an integer: ``"D"`` for a multiple of 16."""
        return "D" if kwargs.get("align", True) and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        """The mark of a tensor: ``"D"`` for an address that is a multiple of 16."""
        return "D" if kwargs.get("align", True) and arg.data_ptr() % 16 == 0 else ""

    @staticmethod
    def get_arg_specialization(arg, ty, **kwargs):
        """The mark of an argument of type ``"int"`` or ``"tensor"``."""
        if ty == "int":
            return BaseBackend.get_int_specialization(arg, **kwargs)
        return BaseBackend.get_tensor_specialization(arg, **kwargs) if ty == "tensor" else None


class Options(dict):
    """The options of a compile; each is an attribute too."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self

    def hash(self):
        """A digest of all of them."""
        import hashlib

        return hashlib.sha256(repr(sorted(self.items(), key=lambda item: item[0])).encode()).hexdigest()

    def __reduce__(self):
        return (Options, (dict(self), ))


class Backend(BaseBackend):
    """A native target."""

    #: The targets of one class; None for all of this build.
    backend_name = None

    @classmethod
    def supports_target(cls, target):
        """Whether this build compiles for `target`."""
        if cls.backend_name is not None:
            return target.backend == cls.backend_name
        from .. import _core

        return target.backend in _core.backends()

    def hash(self):
        """What changes whenever the compiler or the target's facts do."""
        from .. import _core

        return f"{_core.compiler_key()}-{self.target}"

    def parse_options(self, options):
        """Options with their defaults. Names that are no options are left out, as in the reference: whoever calls this hands over all
        keywords of a launch."""
        from .. import _core

        known = _core.default_options(self.target)
        given = {name: value for name, value in options.items() if name in known and value is not None}
        return Options(_core.default_options(self.target, given) if given else known)

    def get_target_name(self, options):
        """The target with the architecture of the options, as ``"cuda:90"``."""
        return f"{self.target.backend}:{getattr(options, 'arch', None) or self.target.arch}"

    @staticmethod
    def pack_metadata(metadata):
        """What a launcher is handed of the metadata: warps, blocks of a cluster, bytes of shared memory."""
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_codegen_implementation(self, options):
        """Functions that the front end would ask about the target; the native one asks the target itself."""
        return {}

    def get_module_map(self):
        """Modules that stand in for others in kernels: none, as names of every target are in every module."""
        return {}

    def load_dialects(self, context):
        """Does nothing: all operations are known."""
