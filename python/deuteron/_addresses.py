"""Memory whose address a program has asked for: kernels may find the address in memory, where engines that check accesses do not see whose it is."""

#: Memory whose address a program has asked for, by the number of the storage: that storage, its first byte and its size.
_asked = {}
_room = 256


def note(tensor):
    """A program asks for an address: it may put it into memory, where engines that check accesses do not see whose it is."""
    global _room
    from torch.multiprocessing.reductions import StorageWeakRef

    storage = tensor.untyped_storage()
    _asked[storage._cdata] = (StorageWeakRef(storage), storage.data_ptr(), storage.nbytes())
    if len(_asked) > _room:
        addressed()
        _room = 2 * len(_asked) + 256


def addressed():
    """First byte and size of each storage that lives and whose address the program has asked for."""
    for number in [number for number, (storage, _, _) in _asked.items() if storage.expired()]:
        del _asked[number]
    return [(address, size) for _, address, size in _asked.values()]
