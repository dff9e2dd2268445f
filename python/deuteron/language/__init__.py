"""`tl`: the names that kernels use. Each is documentation here; the compiler gives it its meaning."""

# ruff: noqa: F401
from . import core, extra, math, random, semantic, standard
from .core import (
    _experimental_descriptor_load, _experimental_descriptor_store, _experimental_make_tensor_descriptor,
    _experimental_reinterpret_tensor_descriptor, _experimental_tensor_descriptor, abs, add, advance, aggregate_replace, arange, associative_scan, assume, atomic_add, atomic_and, atomic_cas, atomic_load,
    atomic_max, atomic_min, atomic_or, atomic_poll, atomic_store, atomic_xchg, atomic_xor, bfloat16,
    block_type, broadcast, broadcast_to, cast, cat, ceil, clamp, condition, const, CONSTEXPR_0, constexpr,
    constexpr_function, constexpr_type, cos, debug_barrier, device_assert, device_print, div_rn, dot, dot_scaled, dtype, erf, exp,
    exp2, expand_dims, expect_zero, extern_elementwise, fdiv, float16, float32, float64, float8e4b15, float8e4b8, float8e4nv,
    float8e5, float8e5b16, floor, fma, full, gather, histogram, inline_asm_elementwise, int1, int16, int32,
    int64, int8, join, load, load_tensor_descriptor, log, log2, make_block_ptr, make_tensor_descriptor,
    map_elementwise, max_constancy, max_contiguous, maximum, minimum, mul, multiple_of, num_programs, permute,
    nv_tma_desc_type, pi32_t, pointer_type, program_id, PropagateNan, range, reduce, reshape, rsqrt, sin, slice, split, sqrt,
    sqrt_rn, static_assert, static_print, static_range, store, store_tensor_descriptor, str_to_ty, sub,
    tanh, tensor, tensor_descriptor, to_tensor, trans, TRITON_MAX_TENSOR_NUMEL, tuple, tuple_type, uint16, uint32, uint64,
    uint8, umulhi, view, void, where,
)
from .standard import (
    argmax, argmin, argsort, bitonic_merge, cdiv, cumprod, cumsum, flip, interleave, max, min, ravel,
    reduce_or, sigmoid, softmax, sort, squeeze, sum, swizzle2d, topk, unsqueeze, xor_sum, zeros, zeros_like,
)
from .random import (
    pair_uniform_to_normal, philox, philox_impl, rand, rand4x, randint, randint4x, randn, randn4x,
    uint_to_uniform_float,
)

# Methods of blocks: every function below takes the block as its first argument.
_TENSOR_METHODS = (
    broadcast_to, trans, permute, split, view, reshape, expand_dims, cast, store, atomic_load, atomic_store,
    atomic_cas, atomic_xchg, atomic_add, atomic_max, atomic_min, atomic_and, atomic_or, atomic_poll, atomic_xor, exp,
    exp2, log, log2, cos, sin, sqrt, sqrt_rn, rsqrt, abs, erf, floor, ceil, reduce, associative_scan, gather,
    histogram, cdiv, sigmoid, softmax, ravel, max, argmax, min, argmin, sum, xor_sum, reduce_or, cumsum, cumprod,
    sort, argsort, flip, squeeze, unsqueeze, join, load, where, minimum, maximum, clamp, tanh,
)
for _method in _TENSOR_METHODS:
    setattr(tensor, _method.__name__, _method)
del _method


def __getattr__(name):
    if name == "target_info":
        import importlib

        return importlib.import_module(".target_info", __name__)
    raise AttributeError(f"tl has no `{name}`: it is neither a name of the language nor of this version of it")
