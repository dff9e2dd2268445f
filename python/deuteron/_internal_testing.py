"""What tests of kernels share: names of dtypes, random arrays, what the target is, functions run in a process of their own.

The names are those that the reference's tests import. Needs NumPy, torch and pytest.
"""

import contextlib
import functools
import os

import numpy
import pytest
import torch

from . import knobs
from . import language as tl
from ._subprocess import ProcessResult, run_in_process, use_process_pool
from ._utils import type_canonicalisation_dict
from .runtime import driver
from .runtime.jit import TensorWrapper, reinterpret

__all__ = [
    "ProcessResult",
    "default_alloc_fn",
    "dtypes",
    "dtypes_with_bfloat16",
    "float_dtypes",
    "float_dtypes_with_bfloat16",
    "get_current_target",
    "get_hip_lds_size",
    "int_dtypes",
    "integral_dtypes",
    "is_ampere_or_newer",
    "is_blackwell",
    "is_blackwell_ultra",
    "is_compile_warmup",
    "is_cuda",
    "is_hip",
    "is_hip_cdna",
    "is_hip_cdna2",
    "is_hip_cdna3",
    "is_hip_cdna3_or_newer",
    "is_hip_cdna4",
    "is_hip_gfx1250",
    "is_hip_rdna",
    "is_hip_rdna3",
    "is_hip_rdna4",
    "is_hip_rdna4m",
    "is_hopper",
    "is_hopper_or_newer",
    "is_interpreter",
    "is_rubin",
    "is_sm12x",
    "is_xpu",
    "numpy_random",
    "random_float",
    "random_int",
    "requires_tma",
    "run_in_process",
    "skip_if_unsupported_cluster_size",
    "str_to_triton_dtype",
    "supports_clc",
    "supports_tma",
    "supports_ws",
    "tma_dtypes",
    "tma_skip_msg",
    "to_numpy",
    "to_triton",
    "torch_dtype_name",
    "torch_dtypes",
    "torch_float8_dtypes",
    "uint_dtypes",
    "unwrap_tensor",
    "use_process_pool",
]

int_dtypes = [f"int{bits}" for bits in (8, 16, 32, 64)]
uint_dtypes = [f"u{name}" for name in int_dtypes]
integral_dtypes = [*int_dtypes, *uint_dtypes]
float_dtypes = [f"float{bits}" for bits in (16, 32, 64)]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = [*integral_dtypes, *float_dtypes]
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
#: What tensor memory copies move: no element of 64 bits.
tma_dtypes = sorted(name for name in dtypes_with_bfloat16 if not name.endswith("64"))


def is_interpreter():
    """Whether the environment asks for the interpreter."""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def is_compile_warmup():
    """Whether tests run only to compile their kernels, which the reference's own runner can do; here they never do."""
    return False


def get_current_target():
    """The target that kernels run on; None under the interpreter and where there is no device."""
    return driver.active.get_current_target() if not is_interpreter() and driver.active.is_active() else None


def _backend():
    target = get_current_target()
    return None if target is None else target.backend


def _capability():
    """``(major, minor)`` of the device; ``(0, 0)`` where devices have none."""
    return divmod(get_current_target().arch, 10) if is_cuda() else (0, 0)


def _architecture():
    """The name of the device's architecture where it is named by a text, else an empty one."""
    return str(get_current_target().arch) if is_hip() else ""


def is_cuda():
    """Whether kernels run on a device with a compute capability, emulated or not."""
    return _backend() == "cuda"


def is_ampere_or_newer():
    """Whether the compute capability is 8.0 or more."""
    return _capability()[0] >= 8


def is_hopper_or_newer():
    """Whether the compute capability is 9.0 or more."""
    return _capability()[0] >= 9


def is_hopper():
    """Whether the compute capability is 9.x."""
    return _capability()[0] == 9


def is_blackwell():
    """Whether the compute capability is 10.x or 11.x."""
    return _capability()[0] in (10, 11)


def is_blackwell_ultra():
    """Whether the compute capability is 10.3."""
    return _capability() == (10, 3)


def is_rubin():
    """Whether the compute capability is 10.7."""
    return _capability() == (10, 7)


def is_sm12x():
    """Whether the compute capability is 12.x."""
    return _capability()[0] == 12


def is_hip():
    """Whether kernels run on a device whose architecture is named ``gfx…``."""
    return _backend() == "hip"


def is_xpu():
    """Whether kernels run on a target named ``xpu``."""
    return _backend() == "xpu"


def __getattr__(name):
    # Tests of Intel's back end ask for its devices one by one.
    if name.startswith("is_xpu_"):
        return is_xpu
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_hip_cdna2():
    """Whether the architecture is gfx90a."""
    return _architecture() == "gfx90a"


def is_hip_cdna3():
    """Whether the architecture is gfx942."""
    return _architecture() == "gfx942"


def is_hip_cdna4():
    """Whether the architecture is gfx950."""
    return _architecture() == "gfx950"


def is_hip_cdna3_or_newer():
    """Whether the architecture is gfx942 or gfx950."""
    return _architecture() in ("gfx942", "gfx950")


def is_hip_cdna():
    """Whether the architecture has matrix units with 64 lanes."""
    return _architecture() in ("gfx90a", "gfx942", "gfx950")


def is_hip_rdna3():
    """Whether the architecture is gfx110x or gfx115x."""
    return _architecture().startswith(("gfx110", "gfx115"))


def is_hip_rdna4m():
    """Whether the architecture is gfx117x."""
    return _architecture().startswith("gfx117")


def is_hip_rdna4():
    """Whether the architecture is gfx120x."""
    return _architecture().startswith("gfx120")


def is_hip_rdna():
    """Whether lanes go together by 32 on an architecture named ``gfx…``."""
    return is_hip_rdna3() or is_hip_rdna4m() or is_hip_rdna4()


def is_hip_gfx1250():
    """Whether the architecture is gfx1250."""
    return _architecture().startswith("gfx1250")


def get_hip_lds_size():
    """Bytes of memory that a thread block shares on an architecture named ``gfx…``."""
    return (160 if is_hip_cdna4() else 64) * 1024


def supports_tma(byval_only=False):
    """Whether tensor descriptors are to be tested: everywhere but on GPUs before Hopper. `byval_only` makes no difference."""
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    """Whether programs may be split among warps: as `supports_tma`."""
    return is_interpreter() or is_hopper_or_newer()


def supports_clc():
    """Whether running programs can take over those that have not begun."""
    return _capability()[0] >= 10


def tma_skip_msg(byval_only=False):
    """Why tests of tensor descriptors are left out."""
    return "tensor descriptors are copied by hardware from compute capability 9.0 on"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


@functools.cache
def _supports_cluster_size(device, num_ctas):
    return _capability()[0] >= 9 and num_ctas <= 8


def skip_if_unsupported_cluster_size(num_ctas):
    """Leaves the running test out where so many thread blocks cannot form a cluster."""
    if is_cuda() and num_ctas > 1 and not _supports_cluster_size(driver.active.get_current_device(), num_ctas):
        pytest.skip(f"the device has no clusters of {num_ctas} thread blocks")


def random_int(low, high, *, warmup_value=None, **kwargs):
    """A random integer from `low` on and below `high`; `kwargs` are those of ``torch.randint``."""
    return int(torch.randint(low, high, (), **kwargs))


def random_float(*, warmup_value=0.5, **kwargs):
    """A random number of [0, 1); `kwargs` are those of ``torch.rand``."""
    return float(torch.rand((), **kwargs))


def _random_integers(generator, shape, name, low, high):
    limits = numpy.iinfo(name)
    low = limits.min if low is None else max(low, limits.min)
    high = limits.max if high is None else min(high, limits.max)
    values = generator.randint(low, high, shape, dtype=name)
    # Tests divide by these.
    return numpy.where(values == 0, numpy.ones_like(values), values)


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """A random array of NumPy that stands for one of `dtype_str`.

    Integers are drawn from `low` on and below `high` and are never 0; floats are normally distributed. A bfloat16 is a float32 whose lower half
    is zero, a float8 is an int8 whose bits are those of a small positive number.

    Args:
        rs: a ``numpy.random.RandomState``; without one, every call draws the same values.
    """
    generator = numpy.random.RandomState(17) if rs is None else rs
    shape = (shape, ) if isinstance(shape, int) else shape
    if dtype_str in integral_dtypes:
        return _random_integers(generator, shape, dtype_str, low, high)
    if "float8" in dtype_str:
        return generator.randint(20, 40, shape, dtype=numpy.int8)
    if dtype_str not in (*float_dtypes_with_bfloat16, "bool", "int1", "bool_"):
        raise RuntimeError(f"Unknown dtype {dtype_str}")
    values = generator.normal(size=shape)
    if dtype_str in float_dtypes:
        return values.astype(dtype_str)
    if dtype_str == "bfloat16":
        return (values.astype(numpy.float32).view(numpy.uint32) >> 16 << 16).view(numpy.float32)
    return values > 0


def to_triton(x, device, dst_type=None):
    """A tensor of torch on `device`, wrapped where torch has not its type.

    Args:
        x: an array as `numpy_random` makes them.
        dst_type: what it stands for, if that is not its own type: ``"bfloat16"`` for float32, a float8 for int8.
    """
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.view(name[1:]), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type is not None and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.to(torch.bfloat16) if (name, dst_type) == ("float32", "bfloat16") else tensor


def to_numpy(x):
    """An array of NumPy with the values of a tensor or of a wrapped one; a bfloat16 becomes a float32."""
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"Not a triton-compatible tensor: {x}")
    return (x.float() if x.dtype == torch.bfloat16 else x).cpu().numpy()


def unwrap_tensor(t):
    """The tensor of torch below a wrapper, or the tensor itself."""
    return t.base if isinstance(t, TensorWrapper) else t


def str_to_triton_dtype(x):
    """A dtype of the language by any of its names."""
    return tl.core.str_to_ty(type_canonicalisation_dict[x])


def torch_dtype_name(dtype):
    """The name of a dtype of torch or of the language: ``"float32"``, ``"int64"``."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return str(dtype).removeprefix("torch.")
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def default_alloc_fn(size, align, _):
    """An allocator for `triton.set_allocator`: tensors of torch on the device in use."""
    return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())


def _fresh_knobs_impl(skipped_attr=None):
    """Two functions: the first brings all settings to their defaults and returns the module, the second puts them back.
    Which device is emulated stays: it is the device of the tests.

    Args:
        skipped_attr: names of groups that stay as they are.
    """
    groups = {name: group for name, group in vars(knobs).items()
              if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())}
    ending = contextlib.ExitStack()

    def begin():
        ending.callback(setattr, knobs, "propagate_env", knobs.propagate_env)
        for group in groups.values():
            ending.enter_context(group.scope())
        knobs.propagate_env = False
        for group in groups.values():
            group.reset()
            for row in group.knob_descriptors.values():
                for variable in getattr(row, "env", None) or (row.key, ):
                    if variable != "DEUTERON_EMULATE":
                        os.environ.pop(variable, None)
        knobs.propagate_env = True
        return knobs

    def end():
        ending.close()
        knobs.refresh_knobs()

    return begin, end
