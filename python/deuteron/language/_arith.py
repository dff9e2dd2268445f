"""Element-wise arithmetic, selection and products of blocks: signatures and documentation."""

from ._builtin import builtin
from ._dtypes import float32
from ._tensor import PropagateNan


@builtin
def add(x, y, sanitize_overflow=True):
    """``x + y``, element by element.

    Args:
        x, y: blocks or scalars that broadcast; a pointer plus an integer moves by elements.
        sanitize_overflow: under ``debug=True``, fail when an integer result does not fit.
    """


@builtin
def sub(x, y, sanitize_overflow=True):
    """``x - y``, element by element; `sanitize_overflow` as in `add`."""


@builtin
def mul(x, y, sanitize_overflow=True):
    """``x * y``, element by element; `sanitize_overflow` as in `add`."""


@builtin
def minimum(x, y, propagate_nan=PropagateNan.NONE):
    """The smaller of both, element by element.

    Args:
        propagate_nan: ``NONE``: of a number and a NaN the number is the result; ``ALL``: the NaN is.
    """


@builtin
def maximum(x, y, propagate_nan=PropagateNan.NONE):
    """The larger of both, element by element; `propagate_nan` as in `minimum`."""


@builtin
def clamp(x, min, max, propagate_nan=PropagateNan.NONE):
    """`x` kept between `min` and `max`, element by element; undefined where ``min > max``.

    Args:
        x, min, max: floats.
        propagate_nan: ``ALL``: a NaN in `x` stays one; ``NONE``: it becomes one of the bounds.
    """


@builtin
def where(condition, x, y):
    """`x` where `condition` holds, else `y`, element by element.

    Args:
        condition: int1 (other types compare with 0; deprecated).
        x, y: of a common type; both are computed in any case, so loads that must not happen need their own mask.
    """


@builtin
def expect_zero(x, mask):
    """`x`, which is expected to be 0 where `mask` is true, as values that have underflowed are. Debug builds assert it."""


@builtin
def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None):
    """The matrix product of two blocks.

    Args:
        input: ``[…, M, K]`` of int8, uint8, an fp8 type, fp16, bf16, fp32 or fp64.
        other: ``[…, K, N]`` of the same type (two fp8 types may differ). Leading dimensions must be equal.
        acc: is added, of the result's type and shape.
        input_precision: how fp32 operands are rounded: ``"tf32"``, ``"tf32x3"``, ``"ieee"``, ``"bf16x3"`` or
            ``"bf16x6"``, as far as the target has them.
        allow_tf32: deprecated; `input_precision` says more.
        max_num_imprecise_acc: how many fp8 products may be added in less than fp32.
        out_dtype: the result's type: fp32 by default, int32 for integers.

    The order of additions along K is not specified.

    Errors:
        Inner dimensions that differ, a K below 16 (8 for fp32 on some targets), operand types that differ.
    """


@builtin
def dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True,
               rhs_k_pack=True, out_dtype=float32):
    """The matrix product of two blocks in a microscaling format.

    Args:
        lhs, rhs: ``[M, K]`` and ``[K, N]``; two ``"e2m1"`` values share a byte, along K unless `lhs_k_pack` or
            `rhs_k_pack` is false.
        lhs_scale, rhs_scale: e8m0 exponents as uint8, or floats of 8 or 16 bits, one for each 32 (or 16) elements along
            K; None for no scale.
        lhs_format, rhs_format: ``"e2m1"``, ``"e4m3"``, ``"e5m2"``, ``"bf16"`` or ``"fp16"``.
        acc: is added.
        fast_math: leave NaN scales unchecked.
        out_dtype: the result's type.
    """


@builtin
def inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack) -> "Any":
    """Runs assembly of the target on each `pack` elements.

    Args:
        asm: the text; ``$0``, ``$1``, … are results, then arguments.
        constraints: in LLVM's spelling, results first (``"=r,r"``).
        args: blocks that broadcast.
        dtype: the result's element type, or a tuple of them for several results.
        is_pure: whether it may be dropped, merged or moved.
        pack: how many elements one copy of the text handles, neighbours along the last dimension; those of fewer than
            32 bits share registers, the first in the lowest bits.
    """


@builtin
def extern_elementwise(lib_name, lib_path, args, arg_type_symbol_dict, is_pure) -> "Any":
    """Calls a function of libdevice by its symbol, as CUDA's library (``__nv_expf``) or ROCm's (``__ocml_exp_f32``) has it.

    `libdevice.exp` and its kin say the same without symbols.

    Args:
        lib_name: the name of the library; it is not linked.
        lib_path: where it is; it is not read.
        args: blocks that broadcast.
        arg_type_symbol_dict: for each tuple of operand types the symbol and the result's type, written in the call.
        is_pure: whether the call may be dropped, merged or moved.
    """


@builtin
def map_elementwise(scalar_fn, *args, pack=1) -> "Any":
    """Calls a @jit function on the scalars of each element; control flow inside may differ from element to element.

    Args:
        scalar_fn: takes ``pack`` scalars of each argument in turn and returns as many results.
        args: blocks that broadcast.
        pack: elements per call.

    The result is a tuple of blocks where `scalar_fn` returns a tuple, also one of a single block.
    """
