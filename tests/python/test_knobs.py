"""Settings: environment, assignment, scopes."""

import os

import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs


def hooked(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, VALUE)


def test_values_come_from_the_environment_and_from_assignment(monkeypatch):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    assert knobs.autotuning.print is True
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "0")
    assert knobs.autotuning.print is False
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        assert knobs.autotuning.print is True
        monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "0")
        assert knobs.autotuning.print is True, "what is assigned wins"
        del knobs.autotuning.print
        assert knobs.autotuning.print is False
        knobs.autotuning.print = True
    assert knobs.autotuning.print is False


def test_a_folder_is_a_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "one"))
    assert knobs.cache.dir == str(tmp_path / "one")
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "two")
        assert knobs.cache.dir == str(tmp_path / "two")
    assert knobs.cache.dir == str(tmp_path / "one")


def test_unknown_settings_are_refused():
    with pytest.raises(AttributeError, match="no knob cache.directory"):
        knobs.cache.directory
    with pytest.raises(AttributeError, match="no knob cache.directory"):
        knobs.cache.directory = "x"


def test_hook_chains_call_in_order():
    calls = []
    chain = knobs.HookChain(reversed=True)
    chain.add(lambda value: calls.append(("first", value)))
    chain.add(lambda value: calls.append(("second", value)))
    chain(7)
    assert calls == [("second", 7), ("first", 7)]


def test_groups_list_their_settings():
    assert "dir" in knobs.cache.knobs and "dir" in dir(knobs.cache)
    assert knobs.compilation.always_compile is False
    assert set(dir(knobs.runtime)) >= {"interpret", "jit_cache_hook", "scope"}
    assert knobs.cache.knob_descriptors["dir"].key == "TRITON_CACHE_DIR"


def test_a_value_is_written_to_the_environment_and_taken_back(monkeypatch, tmp_path):
    monkeypatch.delenv("TRITON_DUMP_DIR", raising=False)
    monkeypatch.delenv("AMDGCN_USE_BUFFER_OPS", raising=False)
    with knobs.cache.scope(), knobs.compilation.scope():
        knobs.cache.dump_dir = tmp_path
        knobs.compilation.always_compile = True
        assert (os.environ["TRITON_DUMP_DIR"], os.environ["TRITON_ALWAYS_COMPILE"]) == (str(tmp_path), "1")
        knobs.compilation.always_compile = False
        assert os.environ["TRITON_ALWAYS_COMPILE"] == "0"
        del knobs.cache.dump_dir
        assert knobs.cache.dump_dir == str(tmp_path), "the environment has it"
        knobs.cache.dump_dir = None
        assert "TRITON_DUMP_DIR" not in os.environ
        monkeypatch.setattr(knobs, "propagate_env", False)
        knobs.cache.dump_dir = "/elsewhere"
        assert "TRITON_DUMP_DIR" not in os.environ and knobs.cache.dump_dir == "/elsewhere"
        knobs.cache.dump_dir = knobs.env
        assert knobs.cache.dump_dir != "/elsewhere"
    assert "TRITON_DUMP_DIR" not in os.environ and "TRITON_ALWAYS_COMPILE" not in os.environ


def test_a_copy_is_read_by_nobody(monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    with knobs.language.scope():
        knobs.language.fp32_default = "ieee"
        copy = knobs.language.copy()
        copy.fp32_default = "tf32"
        assert (knobs.language.fp32_default, copy.fp32_default) == ("ieee", "tf32")
        assert copy.reset().fp32_default is None and copy.knobs["default_fp_fusion"] is True
        assert isinstance(copy, knobs.language_knobs) and isinstance(copy, knobs.base_knobs)
        assert knobs.language.reset().fp32_default is None


def test_what_is_read_once_is_read_again(monkeypatch):
    with knobs.runtime.scope():
        knobs.runtime.debug = True
        assert "TRITON_DEBUG" not in os.environ
        monkeypatch.setenv("TRITON_DEBUG", "0")
        assert knobs.runtime.debug is True
        knobs.refresh_knobs()
        assert knobs.runtime.debug is False


def test_settings_of_vendors(monkeypatch, capfd, tmp_path):
    assert knobs.amd.use_buffer_ops is True and knobs.amd.use_block_pingpong is None
    monkeypatch.setenv("TRITON_HIP_USE_BLOCK_PINGPONG", "0")
    assert knobs.amd.use_block_pingpong is False
    with knobs.amd.scope():
        knobs.amd.use_coexec_scheduler = True
        assert knobs.amd.use_coexec_scheduler is True and os.environ["TRITON_HIP_USE_COEXEC_SCHEDULER"] == "1"
        knobs.amd.use_coexec_scheduler = False
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and "knobs.amd.use_coexec_scheduler is not obeyed" in said[0] and "gfx1250 alone" in said[0]
    with pytest.raises(NotImplementedError, match="amd.swap_mir is not supported.*TRITON_KERNEL_OVERRIDE"):
        knobs.amd.swap_mir = "/x"
    with pytest.raises(NotImplementedError, match="compilation.enable_asan is not supported.*TRITON_INTERPRET"):
        knobs.compilation.enable_asan = True
    knobs.compilation.instrumentation_mode = ""
    with pytest.raises(NotImplementedError, match="instrumentation_mode"):
        knobs.compilation.instrumentation_mode = "consan"
    assert knobs.proton.profile_buffer_size == 64 << 20 and knobs.redis.port == 6379
    assert knobs.language.fp_fusion_enabled(None) is True and knobs.language.fp_fusion_enabled(False) is False
    assert knobs.cache.get_triton_dir("dump").endswith(os.path.join(".triton", "dump"))


def fake_tool(path, release):
    path.write_text(f"#!/bin/sh\necho 'tools, release {release}, V{release}.1'\n")
    path.chmod(0o755)
    return str(path)


def test_programs_are_found_and_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_PTXAS_PATH", fake_tool(tmp_path / "mine", "12.9"))
    assert (knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version) == (str(tmp_path / "mine"), "12.9")
    assert knobs.nvidia.ptxas_blackwell == knobs.nvidia.ptxas, "the same where nobody names another one"
    with knobs.nvidia.scope():
        knobs.nvidia.nvdisasm = fake_tool(tmp_path / "disasm", "13.1")
        assert knobs.nvidia.nvdisasm.version == "13.1"
        knobs.nvidia.ptxas = str(tmp_path / "missing")
        with pytest.raises(RuntimeError, match="Cannot find ptxas"):
            knobs.nvidia.ptxas
    assert knobs.nvidia.ptxas.version == "12.9"


STORE = """
import numpy as np, triton, triton.language as tl
@triton.jit
def stored(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, VALUE)
for value in (1, 2):
    out = np.zeros(1, np.int32)
    stored[(1, )](out, value)
    assert out[0] == value
"""


@pytest.mark.parametrize("variable, value, words", [
    ("USE_IR_LOC", "ttgir", "--html"),
    ("TRITON_ENABLE_LLVM_DEBUG", "1", "LLVM_IR_ENABLE_DUMP"),
    ("MLIR_ENABLE_DIAGNOSTICS", "remarks", "deuteron inspect"),
    ("TRITON_REMOTE_CACHE_BACKEND", "a:B", "TRITON_CACHE_DIR"),
])
def test_a_variable_that_is_not_obeyed_is_said_once(python, tmp_path, variable, value, words):
    (tmp_path / "script.py").write_text(STORE)
    said = python("-m", "deuteron", tmp_path / "script.py", env={variable: value}).stderr.splitlines()
    assert len(said) == 1 and said[0].startswith(f"deuteron: {variable}={value} is not obeyed: ") and words in said[0]


@pytest.mark.parametrize("variable, value, target, words", [
    ("TRITON_ENABLE_ASAN", "1", "cpu", "TRITON_INTERPRET=1"),
    ("TRITON_INSTRUMENTATION_MODE", "consan", "cpu", "DEUTERON_EMULATE"),
    ("TRITON_PLUGIN_PATHS", "/x.so", "cpu", "TRITON_KERNEL_OVERRIDE"),
    ("DISABLE_MMA_V3", "1", "cuda:90", "TRITON_OVERRIDE_ARCH=sm80"),
])
def test_a_variable_that_changes_results_is_an_error(python, tmp_path, variable, value, target, words):
    (tmp_path / "script.py").write_text(STORE)
    chosen = "DEUTERON_TARGET" if target == "cpu" else "DEUTERON_EMULATE"
    failed = python("-m", "deuteron", tmp_path / "script.py", env={variable: value, chosen: target}, check=False)
    last = failed.stderr.strip().splitlines()[-1]
    assert failed.returncode == 1 and last.startswith(f"ValueError: {variable}={value} is not obeyed: ") and words in last


def test_variables_that_are_so_anyway_say_nothing(python, tmp_path):
    (tmp_path / "script.py").write_text(STORE)
    env = {"TRITON_FRONT_END_DEBUGGING": "1", "MLIR_DISABLE_MULTITHREADING": "1", "CC": "gcc", "AMDGCN_USE_BUFFER_OPS": "1",
           "TRITON_ENABLE_ASAN": "0", "TRITON_ENABLE_PYTHON_STACKTRACE": "1", "DISABLE_MMA_V5": "1"}
    assert python("-m", "deuteron", tmp_path / "script.py", env=env).stderr == ""


@pytest.mark.parametrize("group, name, way_out", [("runtime", "add_stages_inspection_hook", "kernel.asm"),
                                                  ("cache", "remote_manager_class", "knobs.cache.dir")])
def test_hooks_that_would_never_be_called_are_refused(group, name, way_out):
    settings = getattr(knobs, group)
    with pytest.raises(NotImplementedError, match=f"{name} is not supported.*{way_out}"):
        setattr(settings, name, lambda *args: None)
    assert getattr(settings, name) is None
    setattr(settings, name, None)


def test_the_cache_manager_of_libraries_can_be_chosen():
    from deuteron.runtime import cache

    with knobs.cache.scope():
        knobs.cache.manager_class = "deuteron.runtime.cache:CacheManager"
        assert type(cache.get_cache_manager("ab")) is cache.CacheManager
    assert type(cache.get_cache_manager("ab")) is cache.FileCacheManager


@pytest.mark.parametrize("where", ["knobs", "class"])
def test_hooks_around_a_compile_are_called(where, monkeypatch):
    import numpy as np

    told = []
    kernel = triton.jit(hooked)

    def before(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
        told.append(("before", fn.name.rsplit(".", 1)[-1], is_manual_warmup))
        return "stop" if compile["constants"].get((1, )) == 13 else None

    def after(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
        told.append(("after", fn.name.rsplit(".", 1)[-1], is_manual_warmup))

    with knobs.runtime.scope(), monkeypatch.context() as patched:
        if where == "knobs":
            knobs.runtime.jit_cache_hook, knobs.runtime.jit_post_compile_hook = before, after
        else:
            # As programs for Triton 3.2 do.
            patched.setattr(triton.JITFunction, "cache_hook", before)
            patched.setattr(triton.JITFunction, "compiled_hook", after)
        out = np.zeros(1, np.int32)
        kernel[(1, )](out, 12)
        kernel[(1, )](out, 12)
        assert kernel[(1, )](out, 13) is None and out[0] == 12
        kernel.warmup(out, 14, grid=(1, ))
    assert told == [("before", "hooked", False), ("after", "hooked", False), ("before", "hooked", False),
                    ("before", "hooked", True), ("after", "hooked", True)]
    kernel[(1, )](out, 15)
    assert len(told) == 5 and out[0] == 15


def test_what_a_hook_puts_into_a_kernel_counts():
    # As tritonparse does when a kernel has been compiled: its launches are described by a function of its own.
    import numpy as np

    kernel, told, out = triton.jit(hooked), [], np.zeros(1, np.int32)

    def after(*, fn, **_):
        assert isinstance(fn, triton.runtime.jit.JitFunctionInfo)
        fn.jit_function.launch_metadata = lambda grid, metadata, arguments: {"told": (grid, metadata.name, arguments["VALUE"])}

    with knobs.runtime.scope():
        knobs.runtime.jit_post_compile_hook = after
        knobs.runtime.launch_enter_hook = lambda metadata: told.append(metadata.get().get("told"))
        kernel.repr = lambda specialization: f"kernel_{specialization.constants['VALUE']}"
        kernel[(1, )](out, 12)
        kernel.debug = True
        assert kernel.debug and kernel.warmup(out, 13, grid=(1, )).metadata.debug
        kernel.launch_metadata = None
        kernel[(1, )](out, 13)
    assert told == [((1, 1, 1), "kernel_12", 12), None]


def test_the_version_of_an_assembler_is_its_own_text(monkeypatch):
    from deuteron.backends.nvidia.compiler import get_ptxas_version

    monkeypatch.setenv("TRITON_MOCK_PTX_VERSION", "13.0")
    get_ptxas_version.cache_clear()
    assert get_ptxas_version() == "13.0"
    get_ptxas_version.cache_clear()


def test_a_listener_is_told_times_and_files(tmp_path):
    import dataclasses
    import json

    heard = []
    with knobs.compilation.scope(), knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        knobs.compilation.listener = lambda **facts: heard.append(facts)
        source = triton.compiler.ASTSource(triton.jit(hooked), {"out_ptr": "*i32", "VALUE": "constexpr"}, {"VALUE": 21})
        kernel = triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32))
        again = kernel.metadata_group
    times, files = heard[0]["times"], heard[0]["metadata_group"]
    assert again == files
    assert isinstance(times, knobs.CompileTimes) and times.total >= times.total_lowering >= 0
    assert dataclasses.asdict(times)["lowering_stages"] == times.lowering_stages
    for stage in ("ttir", "ttgir", "ptx"):
        with open(files[f"hooked.{stage}"]) as file:
            assert file.read() == kernel.asm[stage]
    with open(files["hooked.json"]) as file:
        facts = json.load(file)
    assert facts["target"] == dataclasses.asdict(kernel.metadata.target) == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert facts["hash"] == kernel.hash


@pytest.mark.parametrize("value, backend", [("nvidia", "cuda"), ("amd", "hip"), ("cuda:90", "cuda"), ("cpu", "cpu")])
def test_back_ends_are_chosen_by_either_name(python, monkeypatch, value, backend):
    for variable in ("DEUTERON_TARGET", "DEUTERON_EMULATE"):
        monkeypatch.delenv(variable, raising=False)
    text = "import deuteron; print(deuteron.runtime.driver.active.get_current_target().backend)"
    assert python("-c", text, env={"TRITON_DEFAULT_BACKEND": value}).stdout.strip() == backend


def test_a_back_end_that_is_none_is_refused(python):
    text = "import deuteron; deuteron.runtime.driver.active.get_current_target()"
    failed = python("-c", text, env={"TRITON_DEFAULT_BACKEND": "abacus", "DEUTERON_TARGET": "cpu"}, check=False)
    assert failed.returncode == 1 and "Unknown backend device 'abacus'" in failed.stderr
