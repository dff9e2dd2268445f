"""The modules of the gluon language: their names are there, and using one says that it is missing."""

import importlib
import sys
import types
from importlib.machinery import ModuleSpec

__all__ = ["REASON", "Missing", "register"]

REASON = ("kernels that give layouts, barriers and copies themselves (triton.experimental.gluon) are not supported: write it with "
          "triton.language, whose layouts the compiler chooses")

#: By module, what it has beside the names of ``triton.language``.
_NAMES = {
    "amd": "",
    "amd.cdna5": "PaddedSharedLayout PartitionedSharedLayout SwizzledSharedLayout TensorDescriptor",
    "amd.gfx1250": "TensorDescriptor",
    "language": (
        "AutoLayout BlockedLayout CachePolicy CoalescedLayout DistributedLinearLayout DotOperandLayout "
        "NVMMADistributedLayout NVMMASharedLayout PaddedSharedLayout SharedLinearLayout SliceLayout "
        "SwizzledSharedLayout allocate_shared_memory bank_conflicts barrier base_type base_value convert_layout "
        "distributed_type dot_fma fp4_to_fp full_like inline_asm num_ctas num_warps set_auto_layout "
        "shared_memory_descriptor shared_memory_descriptor_type to_linear_layout warp_specialize"
    ),
    "language._layouts": (
        "AutoLayout BlockedLayout CoalescedLayout DistributedLayout DistributedLinearLayout DotOperandLayout "
        "NVMMADistributedLayout NVMMASharedLayout PaddedSharedLayout SharedLayout SharedLinearLayout SliceLayout "
        "SwizzledSharedLayout bases_per_dim warps_per_cta"
    ),
    "language.amd": "AMDMFMALayout AMDWMMALayout warp_pipeline_stage",
    "language.amd._layouts": "AMDMFMALayout AMDWMMALayout DistributedLayout",
    "language.amd.cdna3": (
        "AMDMFMALayout buffer_atomic_add buffer_atomic_and buffer_atomic_max buffer_atomic_min buffer_atomic_or "
        "buffer_atomic_xchg buffer_atomic_xor buffer_load buffer_store get_scaled_upcast_fp4_scale_layout mfma "
        "scaled_upcast"
    ),
    "language.amd.cdna4": (
        "AMDMFMALayout DotOperandLayout buffer_atomic_add buffer_atomic_and buffer_atomic_max buffer_atomic_min "
        "buffer_atomic_or buffer_atomic_xchg buffer_atomic_xor buffer_load buffer_store "
        "compute_efficient_padded_shared_layout get_mfma_scale_layout get_scaled_upcast_fp4_scale_layout "
        "load_shared_fp4_repacked mfma mfma_scaled scaled_downcast scaled_upcast"
    ),
    "language.amd.cdna4.async_copy": "DistributedLayout buffer_load_to_shared commit_group global_load_to_shared load_shared_relaxed wait_group",
    "language.amd.cdna5": (
        "AMDWMMALayout PartitionedSharedLayout buffer_load buffer_store get_scaled_upcast_fp4_scale_layout "
        "get_wmma_scale_layout load_shared_fp4_repacked make_partitioned_dot_layouts scaled_downcast scaled_upcast wmma "
        "wmma_scaled"
    ),
    "language.amd.cdna5._layouts": "PaddedSharedLayout PartitionedSharedLayout SharedLayout make_partitioned_dot_layouts",
    "language.amd.cdna5.async_copy": "DistributedLayout commit_group global_to_shared mbarrier_arrive shared_to_global wait_group",
    "language.amd.cdna5.cluster": "arrive wait",
    "language.amd.cdna5.mbarrier": "MBarrierLayout SwizzledSharedLayout arrive init wait",
    "language.amd.cdna5.tdm": (
        "PaddedSharedLayout PartitionedSharedLayout SwizzledSharedLayout async_gather async_load async_load_fused "
        "async_scatter async_store async_wait make_tensor_descriptor prefetch tensor_descriptor tensor_descriptor_type "
        "update_tensor_descriptor"
    ),
    "language.amd.gfx1250": (
        "PartitionedSharedLayout buffer_load buffer_store get_scaled_upcast_fp4_scale_layout get_wmma_scale_layout "
        "load_shared_fp4_repacked make_partitioned_dot_layouts scaled_downcast scaled_upcast wmma wmma_scaled"
    ),
    "language.amd.hint": "sched_barrier",
    "language.amd.rdna3": "wmma",
    "language.amd.rdna4": "wmma",
    "language.amd.slice": "",
    "language.amd.warp_pipeline": "warp_pipeline_stage",
    "language.extra": "",
    "language.fpsan": "embed unembed",
    "language.nvidia": "",
    "language.nvidia.ampere": "CachePolicy DotOperandLayout FractionalEvictionPolicy NVMMADistributedLayout mma_v2",
    "language.nvidia.ampere.async_copy": "async_copy_global_to_shared async_load commit_group mbarrier_arrive wait_group",
    "language.nvidia.ampere.mbarrier": "MBarrierLayout SwizzledSharedLayout allocate_mbarrier arrive init invalidate wait",
    "language.nvidia.blackwell": (
        "CachePolicy FractionalEvictionPolicy TensorMemoryLayout TensorMemoryScalesLayout add2 allocate_tensor_memory "
        "async_store fence_async_shared fma2 max2 min2 mma_v2 mul2 sub2 tcgen05_commit tcgen05_copy tcgen05_mma "
        "tcgen05_mma_barrier_count tcgen05_mma_scaled tensor_memory_descriptor tensor_memory_descriptor_type"
    ),
    "language.nvidia.blackwell.clc": "clc_result clc_result_type load_result shared_memory_descriptor try_cancel",
    "language.nvidia.blackwell.tma": (
        "async_atomic_add async_atomic_and async_atomic_max async_atomic_min async_atomic_or async_atomic_xor "
        "async_copy_global_to_shared async_copy_shared_to_global async_gather async_load async_load_im2col "
        "async_scatter async_store make_tensor_descriptor store_wait tensor_descriptor tensor_descriptor_type"
    ),
    "language.nvidia.hopper": (
        "CachePolicy FractionalEvictionPolicy async_store fence_async_shared mma_v2 warpgroup_mma "
        "warpgroup_mma_accumulator warpgroup_mma_accumulator_type warpgroup_mma_init warpgroup_mma_wait"
    ),
    "language.nvidia.hopper.cluster": "barrier",
    "language.nvidia.hopper.mbarrier": "MBarrierLayout allocate_mbarrier arrive expect init invalidate wait",
    "language.nvidia.hopper.tma": (
        "CachePolicy NVMMASharedLayout async_atomic_add async_atomic_and async_atomic_max async_atomic_min "
        "async_atomic_or async_atomic_xor async_copy_global_to_shared async_copy_global_to_shared_im2col "
        "async_copy_shared_to_global async_load async_load_im2col async_store make_tensor_descriptor store_wait "
        "tensor_descriptor tensor_descriptor_im2col tensor_descriptor_im2col_type tensor_descriptor_type"
    ),
    "language.nvidia.rubin": (
        "CachePolicy FractionalEvictionPolicy TensorMemoryLayout TensorMemoryScalesLayout add2 add4 "
        "allocate_tensor_memory async_store fence_async_shared fma2 fma4 max2 min2 mma_v2 mul2 mul4 sub2 sub4 "
        "tcgen05_commit tcgen05_copy tcgen05_mma tcgen05_mma_barrier_count tcgen05_mma_scaled tensor_memory_descriptor "
        "tensor_memory_descriptor_type"
    ),
    "language.nvidia.rubin.mbarrier": "MBarrierLayout allocate_mbarrier arrive expect init invalidate wait",
    "nvidia": "",
    "nvidia.blackwell": "TensorDescriptor",
    "nvidia.hopper": "NVMMASharedLayout TensorDescriptor TensorDescriptorIm2Col",
}


#: Modules that a module has of another one, by the module that has them. Releases before 3.9 had those of `amd.gfx1250` as its own.
_SHARED = {
    "language.amd.gfx1250": ("language.amd.cdna5", "async_copy cluster mbarrier tdm"),
    "language.nvidia.hopper": ("language.nvidia.ampere", "async_copy"),
    "language.nvidia.blackwell": ("language.nvidia.hopper", "async_copy cluster mbarrier"),
    "language.nvidia.rubin": ("language.nvidia.blackwell", "async_copy clc cluster tma"),
}

# The modules of the language that a module has the names of.
_LANGUAGE = {"language": "...language", "language.extra": "...language.extra"}


class Missing:
    """A name of the gluon language. It can be imported and stand in an annotation; calling it raises."""

    def __init__(self, name):
        self.__name__ = name
        self.__qualname__ = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.__name__} is not there: {REASON}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__name__}.{name}")

    def __repr__(self):
        return f"<missing {self.__name__}>"


class _Module(types.ModuleType):
    """A module all of whose names are missing, but for those that it has of ``triton.language``."""

    def __getattr__(self, name):
        if name in self._names:
            return Missing(f"{self.__name__.partition('.')[2]}.{name}")
        if self._language is not None:
            language = importlib.import_module(self._language, __package__)
            if hasattr(language, name):
                return getattr(language, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self):
        return sorted([*vars(self), *self._names])


def register(package):
    """Makes the modules below `package` importable."""
    for path, names in _NAMES.items():
        name = f"{package}.{path}"
        module = _Module(name, f"Names of the gluon language; {REASON}.")
        module._names = frozenset(names.split())
        module._language = _LANGUAGE.get(path)
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        parent, _, last = name.rpartition(".")
        sys.modules[name] = module
        setattr(sys.modules[parent], last, module)
    for path, (owner, names) in _SHARED.items():
        for last in names.split():
            module = getattr(sys.modules[f"{package}.{owner}"], last)
            sys.modules[f"{package}.{path}.{last}"] = module
            setattr(sys.modules[f"{package}.{path}"], last, module)
