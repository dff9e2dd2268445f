"""Descriptors as older releases have them: in memory, or made by the host without a type.

A descriptor in memory is a record of 128 bytes. Behind its first eight bytes stand, 64 bits each, the address of the
tensor, its rows and its columns; a tensor of one dimension has its size for rows. One that a launch makes is an
argument of the same three numbers.
"""


@jit
def _described(desc, block: tl.constexpr, dtype: tl.constexpr):
    """The descriptor of these blocks."""
    if isinstance(desc, tl.tensor_descriptor):
        return desc
    tl.static_assert(block is not None and dtype is not None, "such a descriptor has no block shape and no dtype of its own: give both")
    rank: tl.constexpr = len(block)
    tl.static_assert(rank == 1 or rank == 2, "such a descriptor is of one dimension or two")
    if isinstance(desc, tl.tuple):
        tl.static_assert(len(desc) == 3, "no descriptor was written where the argument's `tma_desc_cpu_ptr()` says one is: write it by "
                         "`triton.runtime.driver.active.utils.fill_2d_tma_descriptor` or `fill_1d_tma_descriptor`")
        base, rows, columns = desc[0], desc[1], desc[2]
    else:
        tl.static_assert(desc.dtype.is_ptr() or desc.dtype.is_int64() or desc.dtype.is_uint64(),
                         "a descriptor is a pointer to the 128 bytes of one, or their address as an integer of 64 bits")
        words = desc.to(tl.pointer_type(tl.int64), bitcast=True)
        base, rows, columns = tl.load(words + 1), tl.load(words + 2).to(tl.int32), tl.load(words + 3).to(tl.int32)
    base = tl.multiple_of(base.to(tl.pointer_type(dtype), bitcast=True), 16)
    if rank == 1:
        return _made(desc, base, [rows], [1], block)
    else:
        columns = tl.multiple_of(columns, 128 // dtype.primitive_bitwidth)
        return _made(desc, base, [rows, columns], [columns, 1], block)


@jit
def _made(desc, base, shape, strides, block: tl.constexpr):
    if isinstance(desc, tl.tuple):
        return tl.make_tensor_descriptor(base, shape, strides, block)
    else:
        return tl._written_descriptor(desc, base, shape, strides, block)


@jit
def _experimental_reinterpret_tensor_descriptor(desc, block_shape, dtype):
    """The descriptor of blocks of this shape and type that is at an address; a descriptor is itself."""
    return _described(desc, block_shape, dtype)


@jit
def _experimental_descriptor_load(desc, offsets, shape=None, dtype=None):
    """The block that begins at `offsets`."""
    return _described(desc, shape, dtype).load(offsets)


@jit
def _experimental_descriptor_store(desc, value, offsets, store_reduce=""):
    """Writes a block, or combines it with what is there."""
    described = _described(desc, value.shape, value.dtype)
    reduce: tl.constexpr = store_reduce
    if reduce == "" or reduce is None:
        described.store(offsets, value)
    elif reduce == "add":
        described.atomic_add(offsets, value)
    elif reduce == "min":
        described.atomic_min(offsets, value)
    elif reduce == "max":
        described.atomic_max(offsets, value)
    elif reduce == "and":
        described.atomic_and(offsets, value)
    elif reduce == "or":
        described.atomic_or(offsets, value)
    else:
        tl.static_assert(reduce == "xor", "store_reduce may be add, min, max, and, or, xor")
        described.atomic_xor(offsets, value)


# module tl.extra.cuda


@jit
def experimental_device_tensormap_create1d(desc_ptr, global_address, load_size, global_size, element_ty):
    """Writes the descriptor of a row to memory."""
    tl._write_descriptor(desc_ptr, global_address, [global_size])


@jit
def experimental_device_tensormap_create2d(desc_ptr, global_address, load_size, global_size, element_ty):
    """Writes the descriptor of a matrix whose rows lie side by side to memory."""
    tl.static_assert(len(load_size) == 2 and len(global_size) == 2, "load_size and global_size have two numbers each")
    tl._write_descriptor(desc_ptr, global_address, global_size)


@jit
def experimental_tensormap_fenceproxy_acquire(desc_ptr):
    """From here on the descriptor in memory is what was written there."""
    tl.debug_barrier()
