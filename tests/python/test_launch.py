"""Grids, keywords, options, specialisation, warm-ups and what a compiled kernel tells."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def mark(out_ptr, width, height):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    size = tl.num_programs(0) * 1000000 + tl.num_programs(1) * 1000 + tl.num_programs(2)
    tl.store(out_ptr + x + width * (y + height * z), size)


@pytest.mark.parametrize("grid, shape", [
    (5, (5, 1, 1)), ((5, ), (5, 1, 1)), ([3, 2], (3, 2, 1)), ((2, 3, 4), (2, 3, 4)), ((np.int64(3), ), (3, 1, 1)),
    (lambda meta: (meta["width"], meta["height"]), (4, 3, 1)), (lambda meta: 7, (7, 1, 1)),
    ((3, 2, 4, 1, 1), (3, 2, 4))])
def test_grids(grid, shape):
    width, height, depth = shape
    out = np.zeros((depth, height, width), np.int32)
    mark[grid](out, width, height)
    assert (out == width * 1000000 + height * 1000 + depth).all()


@pytest.mark.parametrize("grid", [(0, ), (4, 0), (0, 0, 0)])
def test_an_empty_grid_runs_nothing(grid):
    out = np.zeros(16, np.int32)
    mark[grid](out, 4, 1)
    assert not out.any()


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (1, 1, 1, 0), ("a", ), (1.5, ), None, (-1, ), (2**40, )], ids=repr)
def test_what_is_no_grid_is_refused(grid):
    out = np.zeros(16, np.int32)
    with pytest.raises((TypeError, ValueError, OverflowError, triton.TritonError)):
        mark[grid](out, 4, 1)
    assert not out.any()


@triton.jit
def fill(out_ptr, n, value, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, value, mask=offsets < n)


def test_a_grid_sees_all_parameters():
    seen = {}
    out = np.zeros(100, np.int32)

    def grid(meta):
        seen.update(meta)
        return (triton.cdiv(meta["n"], meta["BLOCK"]), )

    fill[grid](out, 100, value=3, num_warps=2)
    assert (out == 3).all() and seen["BLOCK"] == 64 and seen["n"] == 100 and seen["out_ptr"] is out


def test_keywords_in_any_order():
    out = np.zeros(10, np.int32)
    fill[(1, )](value=4, n=10, BLOCK=16, out_ptr=out)
    assert (out == 4).all()


@pytest.mark.parametrize("options", [{}, {"num_warps": 1}, {"num_warps": 8, "num_stages": 1}, {"num_ctas": 1},
                                     {"enable_fp_fusion": False}, {"debug": True}])
def test_options_are_accepted_everywhere(options):
    out = np.zeros(10, np.int32)
    kernel = fill[(1, )](out, 10, 5, **options)
    assert (out == 5).all()
    for name, value in options.items():
        assert getattr(kernel.metadata, name) == value


#: Options of CUDAOptions and HIPOptions of Triton 3.2 to 3.9, with values of another kind than the usual one.
OF_ALL_RELEASES = {
    "allow_flush_denorm": True, "allowed_dot_input_precisions": ("ieee", ), "backend_name": "cuda", "clc": False,
    "cluster_dims": (1, 1, 1), "default_dot_input_precision": "tf32", "deprecated_fp8_dot_operand_dtypes": (),
    "deprecated_fp8_dtypes": (), "enable_reflect_ftz": True, "extern_libs": None, "instruction_sched_variant": "none",
    "instrumentation_mode": "", "kpack": 2, "launch_cooperative_grid": True, "launch_pdl": True, "llvm_fn_attrs": "",
    "matrix_instr_nonkdim": 16, "max_num_imprecise_acc_default": 0, "maxnreg": 64, "min_shared_mem": None,
    "num_buffers_warp_spec": 3, "num_consumer_groups": 2, "ptx_options": "", "ptx_version": 86, "reg_dec_producer": 40,
    "reg_inc_consumer": 232, "sanitize_overflow": False, "sched4reg": False, "schedule_hint": "none",
    "supported_fp8_dtypes": ("fp8e5", ), "waves_per_eu": 2, "wgp_cu_mode": "wgp",
}


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sm_90", "gfx942"], indirect=True)
def test_options_of_every_release_are_accepted_on_every_target(engine):
    backend = triton.compiler.make_backend(triton.runtime.driver.active.get_current_target())
    known = backend.parse_options({"waves_per_eu": 2})
    assert known.waves_per_eu == 2 and not OF_ALL_RELEASES.keys() - known.keys()
    for name, value in OF_ALL_RELEASES.items():
        out = np.zeros(10, np.int32)
        fill[(1, )](out, 10, 5, **{name: value})
        assert (out == 5).all(), name


def test_wrong_keywords_are_named():
    out = np.zeros(10, np.int32)
    with pytest.raises(KeyError, match="num_wraps"):
        fill[(1, )](out, 10, 5, num_wraps=4)
    with pytest.raises(TypeError, match="value"):
        fill[(1, )](out, 10)
    with pytest.raises(TypeError):
        fill[(1, )](out, 10, 5, 64, 1)
    with pytest.raises(TypeError, match="n"):
        fill[(1, )](out, 10, 5, n=3)
    with pytest.raises((ValueError, triton.TritonError), match="num_warps"):
        fill[(1, )](out, 10, 5, num_warps=3)


def test_a_kernel_is_no_function():
    with pytest.raises(RuntimeError, match="grid"):
        fill(np.zeros(4, np.int32), 4, 1)


def variants(kernel, *calls):
    """How many different kernels a series of launches compiles."""
    return len({kernel[(1, )](*args).hash for args in calls})


@triton.jit
def plain(out_ptr, n):
    tl.store(out_ptr, n)


@triton.jit(do_not_specialize=["n"])
def unspecialised(out_ptr, n):
    tl.store(out_ptr, n)


@triton.jit(do_not_specialize_on_alignment=["n"])
def unaligned(out_ptr, n):
    tl.store(out_ptr, n)


def test_specialisation():
    memory = np.zeros(64, np.int64)
    start = (-memory.ctypes.data % 16) // 8
    aligned, odd = memory[start:], memory[start + 1:]
    # 1 is a constant, multiples of 16 are told apart, everything else is one kernel; so are addresses.
    assert variants(plain, (aligned, 1), (aligned, 16), (aligned, 32), (aligned, 5), (aligned, 7)) == 3
    assert variants(plain, (aligned, 5), (odd, 5)) == 2
    assert variants(plain, (aligned, 5), (aligned, 2**40 + 1)) == 2
    assert variants(unspecialised, (aligned, 1), (aligned, 16), (aligned, 5)) == 1
    assert variants(unaligned, (aligned, 1), (aligned, 16), (aligned, 5)) == 2
    assert variants(plain, (aligned, 5), (aligned.astype(np.int32), 5)) == 2


def test_constexprs_are_compiled_in():
    @triton.jit
    def constant(out_ptr, VALUE: tl.constexpr, NAME: tl.constexpr):
        if NAME == "double":
            tl.store(out_ptr, VALUE * 2)
        else:
            tl.store(out_ptr, VALUE)

    out = np.zeros(1, np.int32)
    hashes = set()
    for value, name, expected in ((3, "double", 6), (3, "single", 3), (4, "double", 8)):
        hashes.add(constant[(1, )](out, value, name).hash)
        assert out[0] == expected
    assert len(hashes) == 3


def test_a_warm_up_does_not_run():
    out = np.zeros(10, np.int32)
    kernel = fill.warmup(out, 10, 9, grid=(1, ))
    assert not out.any()
    kernel[(1, )](out, 10, 9, 64)
    assert (out == 9).all()


def test_a_warm_up_takes_types(rng):
    import torch

    for dtype in (tl.float32, torch.float32, triton.MockTensor(torch.float32)):
        kernel = fill.warmup(dtype, 10, 9.0, grid=(1, ), BLOCK=32)
        out = np.zeros(10, np.float32)
        kernel[(1, )](out, 10, 9.0, 32)
        assert (out == 9).all()


def test_what_a_compiled_kernel_tells():
    out = np.zeros(10, np.float32)
    kernel = fill[(1, )](out, 10, 5.0)
    assert "tt.store" in kernel.asm["ttir"] and "define" in kernel.asm["llir"]
    assert kernel.asm["ttgir"] == "" and "ttgir" not in kernel.asm
    assert "fill" in kernel.asm["asm"] and "fill" in kernel.metadata.name
    assert kernel.metadata.num_warps == 4 and kernel.metadata.target.backend == "cpu"
    assert kernel.n_regs >= 1 and kernel.n_spills >= 0 and kernel.metadata.shared >= 0
    assert len(kernel.hash) >= 32 and kernel.hash == fill[(1, )](out, 10, 5.0).hash
    with pytest.raises(KeyError, match="ttir"):
        kernel.asm["no such stage"]


def test_ahead_of_time_compiles():
    from deuteron.backends.compiler import GPUTarget
    from deuteron.compiler import ASTSource

    source = ASTSource(fill, {"out_ptr": "*fp32", "n": "i32", "value": "fp32", "BLOCK": "constexpr"}, {"BLOCK": 32})
    target = triton.runtime.driver.active.get_current_target()
    kernel = triton.compile(source, target=GPUTarget(*target))
    out = np.zeros(40, np.float32)
    kernel[(2, )](out, 40, 2.5, 32)
    assert (out == 2.5).all()
    with pytest.raises((RuntimeError, triton.TritonError, ValueError), match="no_such_backend"):
        triton.compile(source, target=GPUTarget("no_such_backend", 1, 1))


def test_pre_run_hooks_see_the_arguments():
    seen = []

    @triton.jit
    def watched(out_ptr, n):
        tl.store(out_ptr, n)

    watched.add_pre_run_hook(lambda *args, **kwargs: seen.append((args[1:], kwargs)))
    out = np.zeros(1, np.int32)
    watched[(1, )](out, 5)
    assert len(seen) == 1 and seen[0][0] == (5, )


def test_a_kernel_is_documented_and_inspectable():
    @triton.jit
    def documented(a_ptr, N: tl.constexpr):
        """What it does."""
        tl.store(a_ptr, N)

    assert documented.__doc__ == "What it does." and documented.__name__ == "documented"
    assert documented.arg_names == ["a_ptr", "N"] and documented.fn.__name__ == "documented"
    assert isinstance(documented, triton.JITFunction) and isinstance(documented, triton.KernelInterface)
    assert "def documented" in documented.src


def test_kernels_pickle_by_name():
    import pickle

    assert pickle.loads(pickle.dumps(fill)) is fill


def test_the_driver_answers():
    import torch

    driver = triton.runtime.driver.active
    assert driver.get_active_torch_device() == torch.device("cpu")
    target = driver.get_current_target()
    assert target.backend == "cpu" and target.warp_size in (0, 1)
    properties = driver.utils.get_device_properties(driver.get_current_device())
    for name in ("multiprocessor_count", "max_shared_mem", "max_num_regs", "warpSize"):
        assert properties[name] > 0
    assert driver.get_current_stream(0) == 0
    driver.get_device_interface().synchronize()


def test_the_driver_can_be_replaced():
    class Mock:
        """What test suites of libraries put in place of a device."""

    mock = Mock()
    triton.runtime.driver.set_active(mock)
    try:
        assert triton.runtime.driver.active is mock
    finally:
        triton.runtime.driver.reset_active()
    assert triton.runtime.driver.active.get_current_target().backend == "cpu"


@triton.jit
def wait_for_all(arrived, seen, programs):
    tl.atomic_add(arrived, 1)
    count = tl.atomic_add(arrived, 0)
    while count < programs:
        count = tl.atomic_add(arrived, 0)
    tl.store(seen + tl.program_id(0), count)


@pytest.mark.parametrize("is_cooperative", [False, True])
@pytest.mark.parametrize("programs", [1, 2, 37, 400])
def test_programs_wait_for_each_other(programs, is_cooperative):
    arrived, seen = np.zeros(1, np.int32), np.zeros(programs, np.int32)
    wait_for_all[(programs, )](arrived, seen, programs, launch_cooperative_grid=is_cooperative)
    assert (seen == programs).all()


@triton.jit
def hand_on(flags, out, programs):
    # Each program waits for the one behind it, so that the last is the first to end.
    program = tl.program_id(0)
    while (program + 1 < programs) & (tl.load(flags + program + 1, volatile=True) == 0):
        pass
    tl.store(out + program, tl.atomic_xchg(flags + program, 1))


def test_the_first_program_waits_for_the_last():
    programs = 100
    flags, out = np.zeros(programs + 1, np.int32), np.full(programs, -1, np.int32)
    for _ in range(3):
        flags[:], out[:] = 0, -1
        hand_on[(programs, )](flags, out, programs)
        assert (out == 0).all() and (flags[:programs] == 1).all()
