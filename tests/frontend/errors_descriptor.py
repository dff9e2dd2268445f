# test kernel=reduce signature="*fp32:16, *i8:16, *fp16:16"
# Reductions through descriptors take the types that the language gives them.
import triton
import triton.language as tl


@triton.jit
def reduce(ptr, bytes_ptr, half_ptr):
    floats = tl.make_tensor_descriptor(ptr, [64, 64], [64, 1], [8, 16])
    numbers = tl.make_tensor_descriptor(bytes_ptr, [64, 64], [64, 1], [8, 16])
    halves = tl.make_tensor_descriptor(half_ptr, [64, 64], [64, 1], [8, 16])
    x = floats.load([0, 0])
    floats.atomic_add([0, 0], x)
    floats.atomic_max([0, 0], x)  # error: Unsupported dtype fp32: `atomic_max` of a descriptor takes uint32, int32, uint64, int64, fp16, bf16
    numbers.atomic_add([0, 0], x.to(tl.int8))  # error: Unsupported dtype int8: `atomic_add` of a descriptor takes uint32
    numbers.atomic_xor([0, 0], x.to(tl.int8))  # error: Unsupported dtype int8: `atomic_xor` of a descriptor takes uint32
    halves.atomic_min([0, 0], x.to(tl.float16))
    halves.atomic_or([0, 0], x.to(tl.float16))  # error: Unsupported dtype fp16: `atomic_or` of a descriptor takes uint32
