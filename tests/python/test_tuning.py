"""Tuning as a whole: what is kept on disk, what happens to user data, threads, interrupts, searches."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import _core

CONFIGS = [triton.Config({"BLOCK": block}) for block in (32, 64, 128, 256)]


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]), )


@triton.jit
def add_one(x_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 64, "blocks are large")
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def impossible(x_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 0, "no block is small enough")


def tuned(kernel=add_one, configs=CONFIGS, **options):
    """The kernel, tuned over `configs` with little time."""
    options = {"do_bench": quick, **options}
    return triton.autotune(configs, key=["n"], **options)(kernel)


def quick(launch, quantiles):
    """Runs once; larger blocks are faster."""
    launch()
    quick.calls += 1
    return [1.0 / quick.calls] * 3


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache folder and a count of its own for each test."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    quick.calls = 0


def test_configurations_that_cannot_run_are_listed(capsys):
    with triton.knobs.autotuning.scope():
        triton.knobs.autotuning.print = True
        kernel = tuned(restore_value=["x_ptr"])
        x = np.zeros(100, np.float32)
        kernel[grid](x, 100)
    assert (x == 1).all() and quick.calls == 3
    assert list(kernel.failed_configs) == [CONFIGS[0]]
    assert "blocks are large" in kernel.failed_configs[CONFIGS[0]]
    assert kernel.configs_timings[CONFIGS[0]] == [float("inf")] * 3
    printed = capsys.readouterr().out
    assert "Triton autotuning for function add_one" in printed and "best config selected" in printed
    assert "configurations that cannot run:\n  BLOCK: 32, " in printed


def test_nothing_runs():
    kernel = tuned(impossible)
    with pytest.raises(triton.runtime.errors.AutotunerError, match="none of the 4 configurations") as caught:
        kernel[grid](np.zeros(4, np.float32), 4)
    assert str(caught.value).count("no block is small enough") == 4 or str(caught.value).count("BLOCK: ") == 4
    assert isinstance(caught.value.__cause__, triton.CompilationError)


def test_errors_of_the_program_are_not_reasons():
    def broken(launch, quantiles):
        raise ZeroDivisionError("in the benchmark")

    x = np.full(10, 5.0, np.float32)
    with pytest.raises(ZeroDivisionError):
        tuned(do_bench=broken, restore_value=["x_ptr"])[grid](x, 10)
    assert (x == 5).all()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("declared", ["restore_value", "reset_to_zero"])
def test_data_is_put_back_whatever_ends_a_tuning(arrays, stop, declared):
    def interrupted(launch, quantiles):
        launch()
        launch()
        if quick.calls == 2:
            raise stop()
        quick.calls += 1
        return [1.0] * 3

    held = 0.0 if declared == "reset_to_zero" else 7.0
    x = arrays.make(np.full(100, held, np.float32))
    kernel = tuned(do_bench=interrupted, **{declared: ["x_ptr"]})
    with pytest.raises(stop):
        kernel[grid](x, 100)
    assert (arrays.numpy(x) == held).all()
    kernel = tuned(do_bench=quick, **{declared: ["x_ptr"]})
    kernel[grid](x, 100)
    assert (arrays.numpy(x) == held + 1).all()


def test_a_signal_in_the_standard_measurement_restores_data():
    x = np.full(1000, 3.0, np.float32)
    launches = []

    def hook(arguments):
        launches.append(1)
        if len(launches) == 4:
            signal.raise_signal(signal.SIGINT)

    configs = [triton.Config({"BLOCK": block}, pre_hook=hook) for block in (64, 128)]
    with pytest.raises(KeyboardInterrupt):
        tuned(configs=configs, do_bench=None, restore_value=["x_ptr"])[grid](x, 1000)
    assert (x == 3).all()


def test_hooks_come_in_pairs_and_hear_of_errors():
    events = []

    def failing(launch, quantiles):
        launch()
        if len(events) > 4:
            raise ValueError("enough")
        return [1.0] * 3

    kernel = tuned(do_bench=failing, pre_hook=lambda arguments, reset_only=False: events.append("pre"),
                   post_hook=lambda arguments, exception: events.append("post"))
    with pytest.raises(ValueError):
        kernel[grid](np.zeros(10, np.float32), 10)
    assert events == ["pre", "post"] * (len(events) // 2)
    seen = []
    user = triton.autotune(CONFIGS[:2], key=["n"], do_bench=quick, post_hook=lambda arguments, exception: seen.append(exception),
                           pre_hook=lambda arguments, reset_only=False: None)(add_one)
    user[grid](np.zeros(10, np.float32), 10)
    assert len(seen) == 2 and seen[1] is None, "one runs, the other one does not compile"
    assert isinstance(seen[0], triton.CompilationError)


def test_none_among_restored_arguments_is_left_alone():
    @triton.jit
    def kernel(x_ptr, other_ptr, n, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)

    x = np.zeros(8, np.float32)
    wrapped = triton.autotune(CONFIGS, key=["n"], do_bench=quick, restore_value=["other_ptr", "x_ptr"])(kernel)
    wrapped[(1, )](x, None, 8)
    assert (x == 1).all()
    with pytest.raises(ValueError, match="restore_value contains names that are not kernel arguments: y_ptr"):
        triton.autotune(CONFIGS, key=["n"], restore_value=["y_ptr"])(kernel)
    with pytest.warns(UserWarning, match="key contains names that are not kernel arguments: m"):
        triton.autotune(CONFIGS, key=["n", "m"])(kernel)


def test_one_thread_tunes_and_the_others_wait():
    kernel = tuned(restore_value=["x_ptr"])
    arrays = [np.zeros(100, np.float32) for _ in range(6)]
    threads = [threading.Thread(target=kernel[grid], args=(array, 100)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert quick.calls == 3 and all((array == 1).all() for array in arrays)
    others = [threading.Thread(target=kernel[grid], args=(np.zeros(n, np.float32), n)) for n in (5, 6, 7)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert quick.calls == 12 and len(kernel.cache) == 4


def test_listeners_hear_of_tunings():
    heard = []
    with triton.knobs.autotuning.scope():
        triton.knobs.autotuning.listener = lambda **facts: heard.append(facts)
        for _ in range(2):
            tuned(cache_results=True)[grid](np.zeros(10, np.float32), 10)
    assert [facts["cache_hit"] for facts in heard] == [False, True]
    assert heard[0]["duration"] > 0 and heard[1]["duration"] is None
    assert heard[0]["best_config"] == heard[1]["best_config"] and heard[0]["fn"] is add_one
    assert heard[0]["configs_timings"] == heard[1]["configs_timings"]


def test_results_of_own_benchmarks_are_kept_only_when_asked(monkeypatch):
    for _ in range(2):
        tuned()[grid](np.zeros(10, np.float32), 10)
    assert quick.calls == 6
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    for _ in range(2):
        tuned()[grid](np.zeros(10, np.float32), 10)
    assert quick.calls == 9
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "0")
    tuned()[grid](np.zeros(10, np.float32), 10)
    assert quick.calls == 12


def test_a_configuration_more_is_the_only_one_measured():
    tuned(cache_results=True, configs=CONFIGS[1:3])[grid](np.zeros(10, np.float32), 10)
    assert quick.calls == 2
    tuned(cache_results=True)[grid](np.zeros(10, np.float32), 10)
    assert quick.calls == 3


def test_searches():
    configs = [triton.Config({"BLOCK": 64 << size}, num_warps=1 << warps) for size in range(5) for warps in range(4)]
    for search in ("random", "local"):
        quick.calls = 0
        kernel = tuned(configs=configs, search=search, budget=7, seed=3)
        kernel[grid](np.zeros(10, np.float32), 10)
        assert quick.calls == 7 and len(kernel.configs_timings) == 7 and kernel.best_config in configs
    with pytest.raises(ValueError, match='"exhaustive", "random", "local"'):
        tuned(configs=configs, search="lucky")[grid](np.zeros(10, np.float32), 10)
    for budget in (0, -1, True, 2.5):
        with pytest.raises(ValueError, match="budget is .*at least 1"):
            tuned(configs=configs, search="random", budget=budget)


def test_deprecated_arguments_warn_and_work():
    with pytest.warns(DeprecationWarning, match="do_bench"):
        kernel = tuned(do_bench=None, warmup=1, rep=1, restore_value=["x_ptr"])
    x = np.zeros(100, np.float32)
    kernel[grid](x, 100)
    assert (x == 1).all() and kernel.best_config in CONFIGS[1:]


def test_graphs_that_a_device_does_not_record_are_not_measured():
    with pytest.warns(DeprecationWarning, match="do_bench"):
        kernel = tuned(do_bench=None, rep=1, use_cuda_graph=True, restore_value=["x_ptr"])
    x = np.zeros(100, np.float32)
    kernel[grid](x, 100)
    assert (x == 1).all() and kernel.best_config in CONFIGS[1:]


def test_pruning_keeps_one():
    rules = {"perf_model": lambda BLOCK, **kwargs: -BLOCK, "top_k": 0.1}
    kernel = tuned(prune_configs_by=rules)
    kernel[grid](np.zeros(10, np.float32), 10)
    assert kernel.best_config is CONFIGS[3] and quick.calls == 0
    with pytest.raises(TypeError, match="top_k"):
        tuned(prune_configs_by={**rules, "top_k": "all"})[grid](np.zeros(10, np.float32), 10)


@pytest.mark.parametrize("top_k, error", [(0, ValueError), (-1, ValueError), (-0.5, ValueError), (True, TypeError),
                                          (1.5, TypeError), (float("nan"), TypeError), (None, TypeError)])
def test_how_many_pruning_leaves_is_checked_where_it_is_said(top_k, error):
    rules = {"perf_model": lambda BLOCK, **kwargs: -BLOCK, "top_k": top_k}
    with pytest.raises(error, match="Error while pruning configs, top_k "):
        tuned(prune_configs_by=rules)
    # Without a model it means nothing, and is not looked at.
    kernel = tuned(prune_configs_by={"top_k": top_k})
    kernel.perf_model = rules["perf_model"]
    with pytest.raises(error, match="top_k"):
        kernel[grid](np.zeros(10, np.float32), 10)


def test_names_that_a_kernel_does_not_have_are_told_with_their_configuration():
    configs = [CONFIGS[1], triton.Config({"BLOCK": 64, "BLOK": 32}, num_warps=2)]
    kernel = tuned(configs=configs)
    told = "Keyword argument BLOK was specified but unrecognised.*`BLOCK: 64, BLOK: 32, num_warps: 2.*`add_one`.*x_ptr, n, BLOCK"
    x = np.zeros(10, np.float32)
    for launch in (lambda: kernel[grid](x, 10), lambda: kernel.warmup(x, 10, grid=(1, ))):
        with pytest.raises(KeyError, match=told):
            launch()
    assert quick.calls == 0 and not x.any()
    with pytest.raises(KeyError, match="BLOK was specified but unrecognised"):
        tuned(configs=configs[1:])[grid](x, 10)
    # What is missing is told with the configuration as well; options of other targets do no harm.
    with pytest.raises(TypeError, match="BLOCK") as caught:
        tuned(configs=[CONFIGS[1], triton.Config({})])[(1, )](x, 10)
    assert any("with the configuration num_warps: 4" in note for note in caught.value.__notes__)
    kernel = tuned(configs=[*CONFIGS[1:3], triton.Config({"BLOCK": 64, "waves_per_eu": 2})])
    kernel[grid](x, 10)
    assert quick.calls == 3


def test_a_result_belongs_to_what_is_in_a_file(tmp_path):
    text = add_one.warmup(np.zeros(1, np.float32), 10, BLOCK=64, grid=(1, )).asm["ttir"]
    path = tmp_path / "mine.ttir"
    path.write_text(text)
    configs = [CONFIGS[1], triton.Config({"BLOCK": 64}, ir_override=str(path))]

    def calls(configs=configs, **given):
        quick.calls = 0
        kernel = tuned(configs=configs, cache_results=True)
        kernel[grid](np.zeros(10, np.float32), 10, **given)
        return quick.calls

    assert [calls(), calls()] == [2, 0]
    path.write_text(text + "\n// another one\n")
    assert [calls(), calls()] == [1, 0], "one configuration is another one now"
    path.write_text(text)
    assert calls() == 0, "as it was"
    # The same where the launch names the file.
    assert [calls(CONFIGS[1:], ir_override=str(path)), calls(CONFIGS[1:], ir_override=str(path))] == [3, 0]
    path.write_text(text + "\n// a third one\n")
    assert calls(CONFIGS[1:], ir_override=str(path)) == 3
    path.unlink()
    with pytest.raises(ValueError, match="cannot read .*mine.ttir"):
        calls()


def test_a_result_belongs_to_the_settings_that_change_code(tmp_path, monkeypatch):
    def calls():
        quick.calls = 0
        tuned(configs=CONFIGS[1:3], cache_results=True)[grid](np.zeros(10, np.float32), 10)
        return quick.calls

    assert [calls(), calls()] == [2, 0]
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    assert [calls(), calls()] == [2, 0]
    monkeypatch.delenv("DISABLE_LLVM_OPT")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    assert [calls(), calls()] == [2, 0]
    monkeypatch.delenv("TRITON_DEFAULT_FP_FUSION")
    # So do stages that a person gives.
    monkeypatch.setenv("TRITON_KERNEL_OVERRIDE", "1")
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(tmp_path / "override"))
    assert calls() == 0, "there are none"
    folder = tmp_path / "override" / "of_this_kernel"
    folder.mkdir(parents=True)
    (folder / "add_one.ttir").write_text("// 1")
    assert [calls(), calls()] == [2, 0]
    (folder / "add_one.ttir").write_text("// 2")
    (folder / "another.ttir").write_text("// 1")
    assert calls() == 2
    (folder / "another.ttir").write_text("// 2")
    assert calls() == 0
    monkeypatch.delenv("TRITON_KERNEL_OVERRIDE")
    assert calls() == 0


def test_the_source_of_a_kernel_is_all_that_it_refers_to():
    def make(body, value, name="helper"):
        space = {"triton": triton, "tl": tl, "SCALE": tl.constexpr(value)}
        text = (f"@triton.jit\ndef {name}(x):\n    return x {body}\n\n"
                f"@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, {name}(tl.load(x_ptr)) * SCALE)\n")
        path = make.folder / f"kernels_{make.count}.py"
        make.count += 1
        path.write_text(text)
        exec(compile(text, str(path), "exec"), space)
        return _core.source_hash(space["kernel"])

    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        make.folder, make.count = pathlib.Path(folder), 0
        base = make("+ 1", 2)
        assert base == make("+ 1", 2), "the path does not count"
        assert len({base, make("+ 2", 2), make("+ 1", 3), make("+ 1", 2, "other")}) == 4


SCRIPT = """
import os, signal, sys
import numpy as np
import deuteron as triton
import deuteron.language as tl

@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 1.0, mask=offsets < n)

calls = 0

def bench(launch, quantiles):
    global calls
    launch()
    calls += 1
    if calls == int(os.environ.get("KILL_AT", "0")):
        os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
    return [float(calls)] * 3

configs = [triton.Config({"BLOCK": 16 << size}) for size in range(6)]
own = {"do_bench": bench, "cache_results": True} if os.environ.get("OWN", "1") == "1" else {}
kernel = triton.autotune(configs, key=["n"], **own)(fill)
x = np.zeros(100, np.float32)
kernel[lambda meta: (triton.cdiv(100, meta["BLOCK"]), )](x, 100)
assert (x == 1).all()
assert "torch" not in sys.modules, "its import takes longer than this tuning"
print("calls", calls, "tuned", kernel.bench_time is not None)
"""


@pytest.fixture
def script(tmp_path):
    """Runs the script above in a process of its own, with this cache."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))

    def run(**env):
        return subprocess.run([sys.executable, str(path)], env={**os.environ, **env}, capture_output=True, text=True,
                              timeout=300)

    return run


def test_results_persist_across_processes_by_default(script):
    outputs = [script(OWN="0").stdout.strip() for _ in range(2)]
    assert outputs == ["calls 0 tuned True", "calls 0 tuned False"]
    assert script(OWN="0", TRITON_CACHE_AUTOTUNING="0").stdout.strip() == "calls 0 tuned True"


@pytest.mark.parametrize("ending", ["SIGKILL", "SIGINT"])
def test_what_was_finished_is_kept_when_a_process_is_killed(script, ending):
    killed = script(KILL_AT="4", SIGNAL=ending)
    assert killed.returncode != 0
    again = script()
    assert again.stdout.strip() == "calls 3 tuned True", again.stderr
    assert script().stdout.strip() == "calls 0 tuned False"


def test_a_process_killed_at_any_time_leaves_a_usable_cache(script, tmp_path, rng):
    """Also in the middle of a write: what is half written does not count."""
    processes = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], env=os.environ.copy(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=float(rng.uniform(0.05, 0.9)))
        except subprocess.TimeoutExpired:
            process.kill()
        processes.append(process)
    for process in processes:
        process.wait()
    for folder in (tmp_path / "cache").rglob("*"):
        if folder.is_dir() and len(folder.name) == 2:
            (folder / ".tmp-half").write_bytes(b"DEUTERO1 half of it")
    assert script().returncode == 0
    assert script().stdout.strip() == "calls 0 tuned False"


def test_damaged_results_are_measured_again(script, tmp_path):
    assert script().stdout.strip() == "calls 6 tuned True"
    records = list((tmp_path / "cache").rglob("*.tuning"))
    assert len(records) == 1
    records[0].write_bytes(records[0].read_bytes()[:-9])
    assert script().stdout.strip() == "calls 6 tuned True"


def test_processes_that_tune_at_once_lose_nothing(tmp_path):
    path = tmp_path / "many.py"
    path.write_text(SCRIPT.replace('{"BLOCK": 16 << size}) for size in range(6)',
                                   '{"BLOCK": 128}, num_stages=100 * int(sys.argv[1]) + size) for size in range(1, 21)'))
    processes = [subprocess.Popen([sys.executable, str(path), str(own)], stdout=subprocess.PIPE, text=True) for own in range(4)]
    assert [process.communicate(timeout=300)[0].strip() for process in processes] == ["calls 20 tuned True"] * 4
    again = [subprocess.run([sys.executable, str(path), str(own)], capture_output=True, text=True) for own in range(4)]
    assert [finished.stdout.strip() for finished in again] == ["calls 0 tuned False"] * 4


def test_results_that_cannot_be_written_are_told_once(script, tmp_path):
    starter = tmp_path / "starter.py"
    starter.write_text("import resource, runpy, sys\n"
                       "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
                       f"runpy.run_path({str(tmp_path / 'script.py')!r})\n")
    # The kernels are there, and only what is measured cannot be kept.
    assert script(TRITON_CACHE_AUTOTUNING="0", OWN="0").returncode == 0
    for _ in range(2):
        full = subprocess.run([sys.executable, str(starter)], capture_output=True, text=True)
        assert full.stdout.strip() == "calls 6 tuned True" and full.stderr.count("cannot write to the cache") == 1, full.stderr
        assert "tuned again in the next process" in full.stderr and len(full.stderr.splitlines()) == 1
    assert script().stdout.strip() == "calls 6 tuned True"


def test_progress_is_shown_on_a_terminal_and_silent_elsewhere(script, tmp_path):
    assert script().stderr == ""
    import pty

    main, other = pty.openpty()
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], stdout=subprocess.DEVNULL, stderr=other,
                               env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "other")})
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait() == 0
    assert b"tuning fill: configuration 6 of 6, best so far" in shown, shown


def test_compiles_run_at_the_same_time():
    """As many as there are processors: each of these jobs waits for the other."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("NOT RUN: there is one processor here")
    together = threading.Barrier(2)
    compiling = _core.Compiling([lambda: together.wait(60)] * 2)
    assert sorted(compiling.next()[0] for _ in range(2)) == [0, 1]
    assert compiling.next() is None
    failing = _core.Compiling([lambda: 1 / 0])
    number, error = failing.next()
    assert number == 0 and isinstance(error, ZeroDivisionError)
    failing.close()


def test_every_configuration_is_compiled_before_it_is_timed():
    """The kernels that the threads compiled are those that are launched: nothing is compiled twice."""
    @triton.jit
    def fresh_kernel(x_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, 3.0, mask=offsets < n)

    compiled = []
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.listener = lambda **facts: compiled.append(threading.get_ident())
        tuned(fresh_kernel, configs=CONFIGS[1:])[grid](np.zeros(10, np.float32), 10)
    assert len(compiled) == 3 and threading.get_ident() not in compiled


def test_a_start_from_kept_results_imports_nothing_that_measures(python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import numpy as np
import deuteron as triton
import deuteron.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"], cache_results=True)
@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, at < n) * 2, at < n)


x = np.ones(1000, dtype=np.float32)
double_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](x, 1000)
print("deuteron.testing" in sys.modules, x.min() > 1)
""")
    env = {"DEUTERON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_INTERPRET": "0"}
    first, second = (python(program, env=env).stdout.split() for _ in range(2))
    assert first[1] == second[1] == "True"
    assert second[0] == "False"
