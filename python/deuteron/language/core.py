"""The core of the language, by the reference's import path."""

# ruff: noqa: F401
from collections.abc import Iterable

from .. import _core
from ..runtime.jit import constexpr_function
from ._aggregate import _aggregate, aggregate_replace
from ._arith import (add, clamp, dot, dot_scaled, expect_zero, extern_elementwise, inline_asm_elementwise,
                     map_elementwise, maximum, minimum, mul, sub, where)
from ._builtin import builtin, builtin as extern, is_builtin
from ._constexpr import _unwrap_if_constexpr, const, constexpr, constexpr_type, tuple_type
from ._create import (arange, broadcast, broadcast_to, cast, cat, expand_dims, full, gather, histogram, join,
                      num_programs, permute, program_id, reshape, split, to_tensor, trans, view)
from ._dtypes import (base_type, bfloat16, block_type, dtype, float8e4b8, float8e4b15, float8e4nv, float8e5, float8e5b16, float16,
                      float32, float64, get_int_dtype, int1, int8, int16, int32, int64, nv_tma_desc_type, pi32_t, pointer_type,
                      str_to_ty, uint8, uint16, uint32, uint64, void)
from ._memory import (_experimental_descriptor_load, _experimental_descriptor_store,
                      _experimental_make_tensor_descriptor, _experimental_reinterpret_tensor_descriptor, advance, assume, atomic_add, atomic_and, atomic_cas, atomic_load, atomic_max, atomic_min,
                      atomic_or, atomic_poll, atomic_store, atomic_xchg, atomic_xor, debug_barrier, load,
                      load_tensor_descriptor, make_block_ptr, make_tensor_descriptor, max_constancy, max_contiguous,
                      multiple_of, store, store_tensor_descriptor)
from ._reduce import associative_scan, device_assert, device_print, reduce, static_assert, static_print
from ._tensor import PropagateNan, base_value, condition, range, slice, static_range, tensor, tensor_descriptor, tensor_descriptor_base, tuple
from .math import abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt, sqrt_rn, tanh, umulhi

TRITON_MAX_TENSOR_NUMEL = 1048576
# The name of older releases.
_experimental_tensor_descriptor = tensor_descriptor
CONSTEXPR_0 = constexpr(0)


def _unwrap_iterable(x):
    """The only item of `x` if it has one, and that is iterable; otherwise `x`."""
    x = _unwrap_if_constexpr(x)
    return x[0] if len(x) == 1 and isinstance(x[0], Iterable) else x


def _unwrap_shape(shape):
    """A list of the sizes that a shape has, as plain numbers."""
    return [_unwrap_if_constexpr(size) for size in _unwrap_if_constexpr(shape)]


def _tensor_member_fn(fn):
    """Makes a function of kernels, whose first parameter is a block, a method of blocks as well."""
    method = fn if isinstance(fn, _core.JITFunction) or is_builtin(fn) else builtin(fn)
    setattr(tensor, fn.__name__, method)
    return fn


def must_use_result(x, s=True):
    """Marks a function whose result means something only when it is used. Works with and without an argument."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x

