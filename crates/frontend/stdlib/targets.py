"""Questions about the target, answered when compiling, and what only one kind of target has."""


# module tl.target_info


@jit
def is_cuda():
    """Whether the target is a `cuda` device."""
    return tl.target_info.current_target().backend == "cuda"


@jit
def cuda_capability_geq(major, minor=0):
    """Whether the target is a `cuda` device of at least that compute capability."""
    return tl.target_info.is_cuda() and tl.target_info.current_target().arch >= major * 10 + minor


@jit
def is_hip():
    """Whether the target is a `hip` device."""
    return tl.target_info.current_target().backend == "hip"


@jit
def is_hip_cdna3():
    """Whether the target is a `hip` device of the architecture `gfx942`."""
    return tl._architecture_begins_with("gfx942")


@jit
def is_hip_cdna4():
    """Whether the target is a `hip` device of the architecture `gfx950`."""
    return tl._architecture_begins_with("gfx950")


@jit
def is_hip_gfx1250():
    """Whether the target is a `hip` device of the architecture `gfx1250`."""
    return tl._architecture_begins_with("gfx1250")


# module tl.extra.cuda


@jit
def globaltimer():
    """A clock of the device in nanoseconds."""
    tl._only_on("cuda")
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@jit
def smid():
    """The number of the multiprocessor that runs the program."""
    tl._only_on("cuda")
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)


@jit
def gdc_wait():
    """Waits for the launch before this one. Where launches never overlap, there is nothing to wait for."""
    if tl.target_info.is_cuda():
        tl._grid_dependency_wait()


@jit
def gdc_launch_dependents():
    """Lets the launch after this one begin. Where launches never overlap, nothing happens."""
    if tl.target_info.is_cuda():
        tl._grid_dependency_launch_dependents()


# module tl.extra.hip


@jit
def memrealtime():
    """A clock of the device that runs at 100 MHz."""
    tl._only_on("hip")
    if tl._architecture_begins_with("gfx9"):
        asm: tl.constexpr = "s_memrealtime $0\ns_waitcnt vmcnt(0)"
    elif tl._architecture_begins_with("gfx11"):
        asm: tl.constexpr = "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)"
    else:
        asm: tl.constexpr = "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_wait_kmcnt 0"
    return tl.inline_asm_elementwise(asm, "=r", [], dtype=tl.int64, is_pure=False, pack=1)


@jit
def smid():
    """The number of the compute unit that runs the program."""
    tl._only_on("hip")
    if tl._architecture_begins_with("gfx9"):
        # On CDNA compute unit, array and engine.
        asm: tl.constexpr = "s_getreg_b32 $0, hwreg(4, 8, 8)"
    else:
        # On RDNA the pair of compute units within its array.
        asm: tl.constexpr = "s_getreg_b32 $0, hwreg(23, 10, 4)"
    return tl.inline_asm_elementwise(asm, "=r", [], dtype=tl.int32, is_pure=True, pack=1)


# module tl.extra.cuda, tl.extra.hip


@jit
def num_warps():
    """Warps of a program."""
    return tl._num_warps()


@jit
def num_threads():
    """Threads of a program."""
    return tl._num_warps() * tl.target_info.current_target().warp_size
