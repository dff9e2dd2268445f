"""Modules that other people's code and tests import beside the language: checks of IR text, microscaling formats, layouts, builds, profiles."""

import importlib
import json
import math
import os
import textwrap

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
import triton.profiler as proton
from triton import _checks, _internal_testing, knobs
from triton.profiler import viewer
from triton.runtime.jit import JITCallable, JITFunction, create_function_from_signature
from triton.tools import LinearLayout
from triton.tools.mxfp import MXFP4Tensor, MXScaleTensor


def holds(input, template):
    _checks.check(textwrap.dedent(input), textwrap.dedent(template))


@pytest.mark.parametrize("template", [
    "CHECK: a\nCHECK-NEXT: b 2\nCHECK: d", "CHECK-LABEL: a\nCHECK: b\nCHECK-LABEL: c\nCHECK-SAME: 3",
    "CHECK: [[V:[a-z]]] 1\nCHECK: d [[V]]", "CHECK: {{[bc]}} [[#N:]]\nCHECK-NEXT: c [[#N+1]]",
    "CHECK-DAG: c 3\nCHECK-DAG: b 2\nCHECK: d", "CHECK: a\nCHECK-NOT: z\nCHECK: d", "CHECK-COUNT-3: {{[0-9]}}",
    "CHECK: d a\nCHECK-EMPTY:\nCHECK-NEXT: e", "CHECK{LITERAL}: f{{.*}}", "// CHECK:   a   1",
])
def test_checks_that_hold(template):
    holds("a 1\nb  2\nc 3\nd a\n\ne\nf{{.*}}\n", template)


@pytest.mark.parametrize("template, said", [
    ("CHECK: z", "expected string not found in input"), ("CHECK: a\nCHECK-NEXT: c", "is not on the line after"),
    ("CHECK: a\nCHECK-NOT: b\nCHECK: c", "excluded string found"), ("CHECK: a\nCHECK-SAME: 2", "not on the same line"),
    ("CHECK: [[V]]", "undefined variable: V"), ("nothing", "no check strings found"), ("CHECK: {{(}}", "invalid regular"),
    ("CHECK: c\nCHECK: a", "expected string not found"), ("CHECK-LABEL: b\nCHECK: c\nCHECK-LABEL: c", "not found"),
    ("CHECK-COUNT-4: {{[0-9]}}", "not found"), ("CHECK: a\nCHECK-EMPTY:", "not empty"),
    ("CHECK-DAG: c 3\nCHECK-DAG: c 3", "not found"), ("CHECK: [[#0x1]]", "not supported"),
])
def test_checks_that_do_not_hold(template, said):
    with pytest.raises(_checks.CheckError, match=said):
        holds("a 1\nb 2\nc 3\n", template)


def test_elements_of_four_bits():
    values = torch.tensor([0.0, -0.0, 0.25, 0.75, 1.25, 2.5, 3.5, 5.0, 5.01, -7.0, math.inf, math.nan, 0.26, -1.74])
    expected = torch.tensor([0.0, -0.0, 0.0, 1.0, 1.0, 2.0, 4.0, 4.0, 6.0, -6.0, 6.0, 6.0, 0.5, -1.5])
    elements = MXFP4Tensor(data=values)
    assert torch.equal(elements.to(torch.float32), expected)
    assert elements.data[1] == 8
    for shape, dim in (((6, 5), 1), ((5, 3), 0), ((4, 2, 6), 1)):
        some = MXFP4Tensor(size=shape).random()
        packed = some.to_packed_tensor(dim)
        assert packed.shape[dim] == (shape[dim] + 1) // 2
        assert torch.equal(some.unpack_packed_tensor(packed, dim, shape), some.data)
        assert torch.equal(MXFP4Tensor(data=some.to(torch.float32)).to(torch.float32), some.to(torch.float32))


def test_scales_of_eight_bits():
    values = torch.tensor([1.0, 3.9, 2.0**-127, 2.0**127, 0.0, -1.0, math.inf, math.nan])
    scales = MXScaleTensor(data=values)
    assert scales.data.tolist() == [127, 128, 0, 254, 255, 255, 255, 255]
    assert scales.to(torch.float32)[:4].tolist() == [1.0, 2.0, 2.0**-127, 2.0**127] and scales.to(torch.float32)[4:].isnan().all()
    drawn = MXScaleTensor(size=(1000, )).random(low=0.5, high=8).to(torch.float32)
    assert set(drawn.tolist()) == {0.5, 1.0, 2.0, 4.0, 8.0}


def test_layouts_are_inverted_and_composed():
    generator = np.random.default_rng(0)
    for _ in range(50):
        bases = [("a", generator.integers(0, [4, 8], (4, 2)).tolist()), ("b", generator.integers(0, [4, 8], (4, 2)).tolist())]
        layout = LinearLayout.from_bases(bases, ["x", "y"], [4, 8], require_surjective=False)
        if not layout.is_surjective():
            with pytest.raises(ValueError, match="surjective"):
                LinearLayout.from_bases(bases, ["x", "y"], [4, 8])
            continue
        back = layout.pseudoinvert()
        for x in range(4):
            for y in range(8):
                assert layout.apply(back.apply({"x": x, "y": y})) == {"x": x, "y": y}
        other = LinearLayout.from_bases([("c", generator.integers(0, [4, 8], (3, 2)).tolist())], ["x", "y"], [4, 8], False)
        solved = other.invert_and_compose(layout)
        for c in range(8):
            assert layout.apply(solved.apply({"c": c})) == other.apply({"c": c})
    both = LinearLayout.identity_1d(4, "register", "x") * LinearLayout.identity_1d(2, "lane", "x")
    assert both.out_dims == [("x", 8)] and both.get_distributed_view(False).startswith("[T0:0, T0:1")


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


def work_of(grid, metadata, arguments):
    return {"name": f"add_{arguments['n']}", "flops32": arguments["n"], "bytes": 8 * arguments["n"]}


@triton.jit(launch_metadata=work_of)
def add_one_counted(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


def names_and_counts(literal):
    return {literal["frame"]["name"]: (literal["metrics"].get("count"), [names_and_counts(child) for child in literal["children"]])}


def test_profiles_have_a_frame_for_each_kernel_in_its_scope(tmp_path, capsys):
    x = torch.zeros(1000)
    session = proton.start(str(tmp_path / "p"), hook="triton")
    for _ in range(2):
        with proton.scope("outer", {"items": 5.0}):
            add_one_counted[(4, )](x, 1000, BLOCK=256)
            with proton.scope("other work"):
                x.add_(1)
    proton.deactivate(session)
    add_one[(4, )](x, 1000, BLOCK=256)
    proton.activate(session)
    add_one[(4, )](x, 1000, BLOCK=256)
    literal = proton.data.get(session)[0]
    assert names_and_counts(literal) == {"ROOT": (0, [
        {"outer": (None, [{"add_1000": (2, [])}, {"other work": (2, [])}])}, {"add_one": (1, [])}])}
    outer = literal["children"][0]
    assert outer["metrics"] == {"items": 10.0} and outer["children"][0]["metrics"]["flops32"] == 2000
    assert all(child["metrics"]["time (ns)"] > 0 for child in outer["children"])
    proton.finalize()
    assert not knobs.runtime.launch_enter_hook and not knobs.runtime.launch_exit_hook
    file = str(tmp_path / "p.hatchet")
    assert len(json.load(open(file))) == 2
    tree, metrics = viewer.parse(["time/us", "avg_time/us", "gbyte/s", "time/%"], file)
    viewer.print_tree(tree, metrics)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in printed] == ["ROOT", "outer", "add_1000", "work", "add_one"]
    assert float(printed[0].split()[3]) == 100.0
    tree, _ = viewer.parse(["time/us"], file, include=".*outer.*")
    assert [child.name for child in tree.root.children] == ["outer"]
    with pytest.raises(RuntimeError, match="Metric cycles is not found"):
        viewer.parse(["cycles"], file)


def test_frames_of_python_functions(tmp_path):
    session = proton.start(str(tmp_path / "p"), context="python")

    def launching():
        add_one[(4, )](torch.zeros(1000), 1000, BLOCK=256)

    launching()
    names, frame = [], proton.data.get(session)[0]
    while frame["children"]:
        frame = frame["children"][0]
        names.append(frame["frame"]["name"])
    proton.finalize()
    assert names[-1] == "add_one" and names[-2].endswith("@launching") and "@test_frames" in names[-3]


def test_what_profiles_do_not_have_is_refused():
    for given in ({"data": "trace"}, {"backend": "instrumentation"}, {"mode": "pcsampling"}, {"hook": "other"}):
        with pytest.raises(NotImplementedError):
            proton.start("p", **given)
    with pytest.raises(ValueError, match="there is no session"):
        proton.deactivate(12345)


def test_a_module_in_c_is_built_once():
    from triton.runtime.build import compile_module_from_src

    source = """
    #include <Python.h>
    static PyObject *seven(PyObject *self, PyObject *args) { return PyLong_FromLong(7); }
    static PyMethodDef methods[] = {{"seven", seven, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sevens", NULL, -1, methods};
    PyMODINIT_FUNC PyInit_sevens(void) { return PyModule_Create(&definition); }
    """
    built = compile_module_from_src(source, "sevens")
    assert built.seven() == 7 and compile_module_from_src(source, "sevens").__file__ == built.__file__


def test_kernels_with_layouts_of_their_own_are_refused_when_they_are_used():
    from triton._C.libtriton import gluon_ir
    from triton._C.libtriton.gluon_ir import make_cga_layout
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language import extra
    from triton.experimental.gluon.language.nvidia.hopper import mbarrier
    from triton.language.extra import libdevice

    @gluon.jit
    def kernel(x, N: gl.constexpr):
        pass

    assert kernel.arg_names == ["x", "N"] and triton.autotune([], key=["x"])(kernel).fn is kernel
    assert kernel.is_gluon() and gl.constexpr is tl.constexpr and not hasattr(gl, "no_such_name")
    assert extra.libdevice is libdevice and not hasattr(extra, "no_such_name")
    assert "GluonOpBuilder" in dir(gluon_ir) and not hasattr(gluon_ir, "no_such_name")
    for use in (lambda: kernel[(1, )](1, N=2), lambda: gl.BlockedLayout([1], [32], [4], [0]), lambda: mbarrier.init(1),
                lambda: make_cga_layout([1], [1], [0])):
        with pytest.raises(NotImplementedError, match="not supported"):
            use()


def test_modules_of_gluon_that_share_modules():
    import triton.experimental.gluon.language.amd.gfx1250.tdm as tdm
    from triton.experimental.gluon.language.amd import cdna5, gfx1250
    from triton.experimental.gluon.language.nvidia import ampere, blackwell, hopper, rubin
    from triton.experimental.gluon.language.nvidia.blackwell import async_copy, mbarrier

    assert gfx1250.async_copy is cdna5.async_copy and gfx1250.tdm is tdm is cdna5.tdm
    assert mbarrier is hopper.mbarrier and async_copy is hopper.async_copy is ampere.async_copy
    assert rubin.tma is blackwell.tma and rubin.clc is blackwell.clc and rubin.mbarrier is not hopper.mbarrier


def test_arguments_are_bound_as_by_a_launch():
    bind = create_function_from_signature(add_one.signature, add_one.params, None)
    bound, found, options = bind(torch.zeros(16), 32, BLOCK=64, num_warps=8)
    assert bound["n"] == 32 and options == {"num_warps": 8}
    assert found == [("*fp32", "D"), ("i32", "D"), ("constexpr", 64)]
    assert isinstance(add_one, JITCallable) and issubclass(JITFunction, JITCallable) and not isinstance(3, JITCallable)


def test_settings_of_other_packages(monkeypatch):
    class other_knobs(knobs.base_knobs):
        text = knobs.env_str("OTHER_TEXT", "usual")
        flag = knobs.env_opt_bool("OTHER_FLAG")
        number = knobs.env_int("OTHER_NUMBER", 3)

    group = other_knobs()
    assert group.knobs == {"text": "usual", "flag": None, "number": 3}
    monkeypatch.setenv("OTHER_FLAG", "off")
    with group.scope():
        group.number = 4
        assert group.copy().knobs == {"text": "usual", "flag": False, "number": 4}
    assert group.knobs == {"text": "usual", "flag": False, "number": 3}
    with pytest.raises(AttributeError, match="there is no knob other_knobs.missing"):
        group.missing = 1


def test_fresh_settings_are_put_back(monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("DEUTERON_EMULATE", "cuda:90")
    begin, end = _internal_testing._fresh_knobs_impl()
    before = knobs.cache.dir
    assert not begin().compilation.always_compile and knobs.cache.dir != before
    assert knobs.runtime.emulate == "cuda:90"
    knobs.cache.dir = "/tmp/elsewhere"
    end()
    assert knobs.compilation.always_compile and knobs.cache.dir == before


def test_what_the_newest_tests_ask():
    assert not _internal_testing.is_compile_warmup() and not _internal_testing.is_xpu_bmg()
    with pytest.raises(AttributeError, match="is_something"):
        _internal_testing.is_something


def raising(text):
    print(text)
    raise ValueError(text)


def test_a_function_in_a_process_of_its_own():
    result = _internal_testing.run_in_process(raising, ("told", ))
    assert isinstance(result.exc, ValueError) and str(result.exc) == "told"
    assert _internal_testing.run_in_process(importlib.import_module, ("triton.language", )).exc is None


def print_process(variable="NONE"):
    os.write(2, f"{os.getpid()} {os.environ.get(variable)}".encode())
    os.environ["DEUTERON_TEST_LEFT"] = "left"


def test_a_process_for_many_functions():
    with _internal_testing.use_process_pool(__name__):
        first = _internal_testing.run_in_process(print_process, ("TOLD", ), env={"TOLD": "told"})
        second = _internal_testing.run_in_process(print_process, ("DEUTERON_TEST_LEFT", ))
        assert isinstance(_internal_testing.run_in_process(raising, ("told", )).exc, ValueError)
        third = _internal_testing.run_in_process(print_process)
    alone = _internal_testing.run_in_process(print_process)
    (one, told), (two, left) = first.driver_stderr_output.split(), second.driver_stderr_output.split()
    assert one == two and told == "told" and left == "None"
    assert len({one, third.driver_stderr_output.split()[0], alone.driver_stderr_output.split()[0]}) == 3


def test_random_arrays():
    assert _internal_testing.numpy_random((64, ), "int8").all() and _internal_testing.numpy_random(4, "bool").dtype == bool
    half = _internal_testing.numpy_random((64, ), "bfloat16")
    assert half.dtype == np.float32 and not (half.view(np.uint32) & 0xFFFF).any()
    wrapped = _internal_testing.to_triton(_internal_testing.numpy_random((8, ), "uint16"), "cpu")
    assert wrapped.dtype == tl.uint16 and _internal_testing.to_numpy(wrapped).dtype == np.uint16


def test_tuners_that_measure_in_their_own_way():
    measured = []

    class Tuner(triton.runtime.Autotuner):

        def _bench(self, *args, config, **meta):
            times = super()._bench(*args, config=config, **meta)
            measured.append((config.kwargs["BLOCK"], len(times)))
            return [float(config.kwargs["BLOCK"])] * 3

    configs = [triton.Config({"BLOCK": block}) for block in (512, 128, 256)]
    tuner = Tuner(add_one, add_one.arg_names, configs, ["n"], None, ["x"], do_bench=lambda fn, quantiles: fn() or [1.0, 1.0, 1.0])
    x = torch.zeros(1000)
    tuner[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](x, 1000)
    assert x.eq(1).all() and tuner.best_config.kwargs == {"BLOCK": 128}
    assert sorted(measured) == [(128, 3), (256, 3), (512, 3)]
    assert tuner._bench(x, 1000, config=configs[0], grid=(2, )) and x.eq(1).all()


def test_tuners_of_what_is_no_kernel():
    launched = []

    class Launcher:

        def __init__(self):
            self.fn = lambda: None

        def run(self, **options):
            launched.append(options["SIZE"])

    def bench(launch, quantiles):
        launch()
        return [float(launched[-1])] * 3

    configs = [triton.Config({"SIZE": size}) for size in (3, 1, 2)]
    tuner = triton.runtime.Autotuner(Launcher(), [], configs, [], None, None, do_bench=bench)
    tuner.run()
    assert tuner.best_config.kwargs == {"SIZE": 1} and launched[-1] == 1 and set(launched) == {1, 2, 3}


@pytest.mark.parametrize("interpret", [False, True])
def test_kernels_that_exec_makes_have_their_text(interpret):
    def made(operator):
        text = textwrap.dedent(f"""
            @triton.jit(interpret={interpret})
            def kernel(x, B: tl.constexpr):
                offsets = tl.arange(0, B)
                tl.store(x + offsets, tl.load(x + offsets) {operator} 3)
        """)
        other = "def kernel(): pass"  # noqa: F841
        found = {}
        exec(text, globals(), found)
        return found["kernel"]

    x = torch.ones(4)
    plus, times = made("+"), made("*")
    plus[(1, )](x, B=4)
    times[(1, )](x, B=4)
    assert x.eq(12).all() and "+ 3" in plus.src and "* 3" in times.src
    exec("@triton.jit\ndef lost(x):\n    pass".upper().lower(), globals(), found := {})
    with pytest.raises(ValueError, match="the source text of `lost` cannot be found"):
        found["lost"][(1, )](x)


def test_kernels_that_subclass_native_ones_run_their_own_run():
    seen = []

    class Counted(JITFunction):

        def run(self, *args, grid, warmup, **kwargs):
            seen.append((grid, warmup))
            return super().run(*args, grid=grid, warmup=warmup, **kwargs)

    kernel = Counted(add_one.fn)
    x = torch.zeros(300)
    kernel[(2, )](x, 300, BLOCK=256)
    assert x.eq(1).all() and seen == [((2, ), False)]
    kernel.warmup(x, 300, BLOCK=256, grid=(1, ))
    assert isinstance(kernel, JITFunction) and kernel.__name__ == "add_one"

    @triton.jit
    def caller(x):
        tl.store(x, 3.0)

    assert isinstance(Counted(caller.fn), JITCallable)


def test_subclasses_of_kernels_have_parameters_of_their_own():

    class Described(JITFunction):

        def __init__(self, function, *, outputs, version=None):
            super().__init__(function, version=version)
            self.outputs = outputs

    kernel = Described(add_one.fn, outputs=["x"], version=3)
    x = torch.zeros(300)
    kernel[(2, )](x, 300, BLOCK=256)
    assert x.eq(1).all() and kernel.outputs == ["x"] and kernel.version == 3
    with pytest.raises(TypeError, match="outputs"):
        JITFunction(add_one.fn, outputs=["x"])


def test_names_of_compiled_kernels_may_be_of_constants_and_types():
    def named(specialization):
        ones = [name for name, value in specialization.constants.items() if value == 1]
        return f"kernel_{specialization.signature['n']}_{'_'.join(ones)}"

    @triton.jit(repr=named)
    def kernel(x, n, one, BLOCK: tl.constexpr):
        tl.store(x, n)

    assert kernel.warmup(torch.zeros(1), 2**40, 1, BLOCK=4, grid=(1, )).name == "kernel_i64_one"
