"""What kernels of the gluon language are built with. Its names can be imported, as public code does beside its ordinary kernels; calling one
raises `NotImplementedError`.
"""

from ...experimental.gluon._missing import Missing

_NAMES = frozenset((
    "GluonOpBuilder", "MAX", "MIN", "TMEM_LOAD_REDUCE_MODIFIER", "WarpSpecializeOp", "compute_amd_efficient_padded_shared_layout",
    "compute_tmem_reg_layout", "get_amd_mfma_scale_layout", "get_amd_wmma_scale_layout", "get_layout_view", "make_cga_layout",
))


def __getattr__(name):
    if name in _NAMES:
        return Missing(f"_C.libtriton.gluon_ir.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(_NAMES)
