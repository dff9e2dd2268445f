"""The families of the language's names: a page of `docs/ops/` each, with the names in the order of the page."""

from typing import NamedTuple


class Family(NamedTuple):
    """One page."""

    page: str
    title: str
    intro: str
    names: str


FAMILIES = [
    Family("programs", "Programs and loops", """A launch runs a grid of programs, each the same kernel with another `program_id`. Loops are
written with Python's `range`, or with `tl.range` where hints are to be given; `while` and `if` work on run-time values too.""",
           "program_id num_programs range static_range condition"),
    Family("creation", "Making blocks", """A block is a value with a shape of powers of two. Most blocks begin as `tl.arange`, a load or a constant.""",
           "arange full zeros zeros_like to_tensor"),
    Family("dtypes", "Types and conversions", """Element types are `tl.int1`, `int8` to `int64`, `uint8` to `uint64`, `float8e4nv`, `float8e4b8`, `float8e4b15`,
`float8e5`, `float8e5b16`, `float16`, `bfloat16`, `float32` and `float64`. Operands of different types are promoted as in the reference: a
constant takes the type of the block beside it where it fits, of two floats the wider one wins (fp16 and
bf16 give fp32), of two integers the wider one, and at
the same width the unsigned one.""",
           "cast to constexpr dtype get_int_dtype pointer_type block_type tuple"),
    Family("shapes", "Shapes", """`x[:, None]` inserts a dimension, and operators broadcast; what else changes shapes is here.""",
           "broadcast broadcast_to expand_dims unsqueeze squeeze reshape view ravel permute trans join split interleave cat gather flip item swizzle2d"),
    Family("memory", "Loads and stores", """A block of pointers is a pointer plus a block of offsets, counted in elements. A mask says which of them are touched.""",
           "load store"),
    Family("descriptors", "Tensor descriptors", """A descriptor knows a whole tensor: its base, sizes, strides, and the shape of the blocks that are moved. Loads and stores by
descriptors need no masks.""",
           "make_tensor_descriptor tensor_descriptor load_tensor_descriptor store_tensor_descriptor descriptor.load descriptor.store "
           "descriptor.gather descriptor.scatter descriptor.atomic_add descriptor.atomic_min descriptor.atomic_max "
           "descriptor.atomic_and descriptor.atomic_or descriptor.atomic_xor"),
    Family("block_pointers", "Block pointers", """The older way to walk over a tensor in blocks. New kernels should use [descriptors](descriptors.md).""",
           "make_block_ptr advance"),
    Family("atomics", "Atomic operations", """Each changes elements in memory that other programs may change at the same time, and returns what was there before.""",
           "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas atomic_load atomic_store atomic_poll"),
    Family("elementwise", "Elementwise functions", """Operators (`+`, `*`, `<`, `&`, …) and the functions below work element by element and broadcast. Those
of one float are also in `tl.math`; many more are in [libdevice](libdevice.md).""",
           "where maximum minimum clamp abs exp exp2 log log2 sin cos tanh erf sqrt sqrt_rn rsqrt floor ceil fma fdiv div_rn umulhi cdiv sigmoid "
           "softmax add sub mul logical_and logical_or"),
    Family("dot", "Matrix products", """On GPUs these become matrix instructions, on the CPU register-tiled loops.""", "dot dot_scaled"),
    Family("reductions", "Reductions, scans, sorts", """Reductions take an `axis` away, scans keep it. The order in which elements are combined is not specified.""",
           "sum max min argmax argmin xor_sum reduce_or reduce cumsum cumprod associative_scan sort argsort topk bitonic_merge histogram"),
    Family("random_numbers", "Random numbers", """Philox, a generator without state: a seed and an offset give a number, the same on every target and for any order of programs.""",
           "rand randn randint rand4x randn4x randint4x philox philox_impl uint_to_uniform_float pair_uniform_to_normal"),
    Family("hints", "Hints", """A hint is a promise to the compiler that makes accesses wider or removes checks. A wrong one gives wrong results; the interpreter
checks them.""",
           "multiple_of max_contiguous max_constancy assume expect_zero"),
    Family("debugging", "Printing and assertions", """More ways to look into a kernel are in [Debugging](../debugging.md).""",
           "static_print static_assert device_print device_assert debug_barrier"),
    Family("inline", "User-defined elementwise code", "Code of one's own for each element: a function in the language, or assembly of the target.",
           "map_elementwise inline_asm_elementwise extern_elementwise"),
    Family("targets", "What only some targets have", """Questions about the target are answered while a kernel is compiled, so `if` leaves only the branch that is meant.
Using a name of another kind of target is a compile error.""",
           "target_info.current_target target_info.is_cuda target_info.cuda_capability_geq target_info.is_hip target_info.is_hip_cdna3 "
           "target_info.is_hip_cdna4 target_info.is_hip_gfx1250 extra.cuda.globaltimer extra.cuda.smid extra.cuda.num_threads extra.cuda.num_warps "
           "extra.cuda.gdc_wait extra.cuda.gdc_launch_dependents extra.cuda.convert_custom_float8_sm70 extra.cuda.convert_custom_float8_sm80 "
           "extra.cuda.experimental_device_tensormap_create1d extra.cuda.experimental_device_tensormap_create2d "
           "extra.cuda.experimental_tensormap_fenceproxy_acquire "
           "extra.hip.memrealtime extra.hip.smid extra.hip.num_threads extra.hip.num_warps"),
]

# Dialects of the IRs: a page of `docs/ops/ir/` each.
DIALECTS = {
    "tt": "Blocks, memory and programs: what the language's own operations become.",
    "arith": "Arithmetic, comparison and conversion of integers and floats, element by element.",
    "math": "Elementary functions, element by element.",
    "scf": "Loops, conditions and what ends their regions.",
    "ttg": "What layouts add: conversions between layouts, shared memory, asynchronous copies.",
    "ttng": "What only some GPUs have: barriers in memory, bulk copies, matrix instructions of warp groups.",
    "amdg": "What only AMD GPUs have: buffer accesses, barriers of some warps.",
    "rocdl": "Scheduling and lane numbers on AMD GPUs.",
    "builtin": "The module.",
    "llvm": "Operations of LLVM's dialect that files of the reference contain.",
    "ub": "Values without meaning.",
}
