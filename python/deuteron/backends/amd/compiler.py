"""The compiler for AMD GPUs under the names of the reference."""

from ..compiler import Backend, BaseBackend, GPUTarget, Language, Options

__all__ = ["BaseBackend", "GPUTarget", "HIPBackend", "HIPOptions", "Language", "get_min_dot_size"]

HIPOptions = Options


def get_min_dot_size(target):
    """A function of the types of a dot's operands: the smallest sizes (m, n, k) that a dot may have. Any are computed."""
    return lambda lhs_type, rhs_type: (1, 1, 1)


#: Bytes of an array that offsets of 32 bits reach.
_REACH = 2**31 - 1


class HIPBackend(Backend):
    """Compiles for AMD GPUs."""

    backend_name = "hip"
    binary_ext = "hsaco"

    @staticmethod
    def is_within_2gb(arg):
        """Whether offsets of 32 bits reach all of a tensor's memory."""
        storage = getattr(arg, "untyped_storage", None)
        return storage is not None and storage().size() <= _REACH

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        """The marks of a tensor: ``"S"`` where offsets of 32 bits reach all of its memory."""
        from ... import knobs

        near = knobs.amd.use_buffer_ops and HIPBackend.is_within_2gb(arg)
        return Backend.get_tensor_specialization(arg, **kwargs) + ("S" if near else "")

    @staticmethod
    def get_arg_specialization(arg, ty, **kwargs):
        """The marks of an argument of type ``"int"`` or ``"tensor"``."""
        if ty == "tensor":
            return HIPBackend.get_tensor_specialization(arg, **kwargs)
        return Backend.get_arg_specialization(arg, ty, **kwargs)

    @staticmethod
    def parse_attr(desc):
        """The attributes that marks stand for."""
        return Backend.parse_attr(desc) + ([["tt.pointer_range", 32]] if "S" in desc else [])
