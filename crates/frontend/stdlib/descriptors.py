"""Tensor descriptors that lie in memory, as those of Triton 3.2 do: address, then sizes, as integers of 64 bits."""


@jit
def _experimental_reinterpret_tensor_descriptor(desc, block_shape, dtype):
    """The descriptor at an address. One that is no address is given back."""
    if isinstance(desc, tl.tensor_descriptor):
        return desc
    words = desc.to(tl.pointer_type(tl.int64))
    base = tl.load(words).to(tl.pointer_type(dtype))
    if len(block_shape) == 1:
        return tl.make_tensor_descriptor(base, [tl.load(words + 1).to(tl.int32)], [1], block_shape)
    tl.static_assert(len(block_shape) == 2, "a descriptor in memory has one dimension or two")
    columns = tl.load(words + 2)
    return tl.make_tensor_descriptor(base, [tl.load(words + 1).to(tl.int32), columns.to(tl.int32)], [columns, 1], block_shape)


@jit
def _described(desc, offsets, shape, dtype):
    """Addresses and mask of a block. Lanes read it: a bulk copy would need a map that is written anew for each block."""
    words = desc.to(tl.pointer_type(tl.int64))
    base = tl.multiple_of(tl.load(words).to(tl.pointer_type(dtype)), 16)
    last = tl.load(words + len(shape))
    columns = offsets[len(shape) - 1] + tl.arange(0, shape[len(shape) - 1])
    if len(shape) == 1:
        return base + columns, (columns >= 0) & (columns < last)
    tl.static_assert(len(shape) == 2, "a descriptor in memory has one dimension or two")
    last = tl.multiple_of(last, 128 // dtype.primitive_bitwidth)
    rows = offsets[0] + tl.arange(0, shape[0])
    held = (rows >= 0) & (rows < tl.load(words + 1))
    return base + rows[:, None] * last + columns[None, :], held[:, None] & ((columns >= 0) & (columns < last))[None, :]


@jit
def _experimental_descriptor_load(desc, offsets, shape=None, dtype=None):
    """Reads a block; its shape and type are those of the descriptor, where it is no address."""
    if isinstance(desc, tl.tensor_descriptor):
        return tl.load_tensor_descriptor(desc, offsets)
    pointers, mask = _described(desc, offsets, shape, dtype)
    return tl.load(pointers, mask=mask, other=0)


@jit
def _experimental_descriptor_store(desc, value, offsets):
    """Writes a block."""
    if isinstance(desc, tl.tensor_descriptor):
        tl.store_tensor_descriptor(desc, offsets, value)
    else:
        pointers, mask = _described(desc, offsets, value.shape, value.dtype)
        tl.store(pointers, value, mask=mask)


# module tl.extra.cuda


@jit
def experimental_device_tensormap_create1d(desc_ptr, global_address, load_size, global_size, element_ty):
    """Writes a descriptor of one dimension. The size of blocks and the type are given by who loads."""
    words = desc_ptr.to(tl.pointer_type(tl.int64))
    tl.store(words, global_address.to(tl.int64))
    tl.store(words + 1, global_size[0])


@jit
def experimental_device_tensormap_create2d(desc_ptr, global_address, load_size, global_size, element_ty):
    """Writes a descriptor of two dimensions. The size of blocks and the type are given by who loads."""
    tl.extra.cuda.experimental_device_tensormap_create1d(desc_ptr, global_address, load_size, global_size, element_ty)
    tl.store(desc_ptr.to(tl.pointer_type(tl.int64)) + 2, global_size[1])


@jit
def experimental_tensormap_fenceproxy_acquire(desc_ptr):
    """Nothing: descriptors in memory are read as any memory is."""
