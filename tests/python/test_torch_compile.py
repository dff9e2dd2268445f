"""``torch.compile`` on this machine: Inductor's kernels run on processors, its GPU kernels are compiled, and what it reads of kernels."""

import dataclasses
import os
import pickle
import textwrap
import threading

import pytest
import torch
from torch_compile_cases import CASES, check_case
from torch_compile_kernels import USER_KERNELS, add_kernel, check_user_kernel, marked_kernel, packing_kernel, scale_in_place_kernel, sum_kernel

import deuteron
from deuteron import compiler


@pytest.fixture(scope="module", autouse=True)
def on_the_cpu():
    """Inductor writes kernels for this compiler, compiles them here, and keeps nothing."""
    import torch._inductor.config as config

    with config.patch(cpu_backend="triton", compile_threads=1, force_disable_caches=True):
        yield
    torch._dynamo.reset()
    deuteron.runtime.driver.reset_active()


@pytest.mark.parametrize("case", [case for case in CASES if case.short], ids=lambda case: case.name)
def test_equals_eager(case):
    check_case(case, "cpu")


#: Settings of Inductor that make it write other kernels of the same functions.
SETTINGS = [
    {"triton.multi_kernel": 1},
    {"triton.persistent_reductions": False},
    {"split_reductions": False},
    {"triton.prefer_nd_tiling": True, "triton.max_tiles": 3},
    {"triton.tile_reductions": True, "triton.prefer_nd_tiling": True},
    {"combo_kernels": True},
]


@pytest.mark.parametrize("config", SETTINGS, ids=lambda config: "+".join(config))
def test_settings_of_inductor_change_no_result(config):
    reductions = next(case for case in CASES if case.name == "reductions")
    check_case(dataclasses.replace(reductions, config=config), "cpu")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_rounded_as_in_eager_mode_where_that_is_asked_for(dtype):
    def function(x, y):
        return x * y + x, (x - y) * y, x / (y.abs() + 1) - x

    args = torch.randn(130, 257).to(dtype), torch.randn(130, 257).to(dtype)
    torch._dynamo.reset()
    with torch._inductor.config.patch(emulate_precision_casts=True):
        found = torch.compile(function)(*args)
    for one, other in zip(found, function(*args), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("name", USER_KERNELS)
def test_kernels_of_users_in_compiled_functions(name):
    check_user_kernel(name, "cpu")


def written(kernel, **arguments):
    """The arguments that torch takes for written."""
    from torch._higher_order_ops import triton_kernel_wrap

    if hasattr(triton_kernel_wrap, "identify_mutated_tensors"):
        # torch 2.11.
        return set(triton_kernel_wrap.identify_mutated_tensors(kernel, arguments, {}))
    accesses = triton_kernel_wrap.identify_accessed_tensors(kernel, arguments, {})
    return {write.name for write in accesses.read_writes.writes}


def test_torch_finds_out_what_a_kernel_writes():
    x = torch.ones(64)
    assert written(add_kernel, x_ptr=x, y_ptr=x, out_ptr=x, n=64, BLOCK=32) == {"out_ptr"}
    assert written(scale_in_place_kernel, x_ptr=x, unused_ptr=x, n=64, factor=2.0, BLOCK=32) == {"x_ptr"}
    assert written(sum_kernel, x_ptr=x, out_ptr=x, n=64, stride=1, BLOCK=32, FLAG=True) == {"out_ptr"}


def test_torch_finds_out_what_a_kernel_for_a_gpu_writes(python):
    """Torch asks with tensors of the host, whatever the kernel is for."""
    code = """
        from test_torch_compile import test_torch_finds_out_what_a_kernel_writes, torch
        from triton._C.libtriton import native_specialize_impl
        from triton.backends.compiler import BaseBackend
        assert native_specialize_impl(BaseBackend, torch.empty(2), False, True, True) == ("*fp32", "D")
        test_torch_finds_out_what_a_kernel_writes()
    """
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    found = python("-m", "deuteron", "-c", textwrap.dedent(code), env={"DEUTERON_TARGET": "cuda:90", "PYTHONPATH": path})
    assert "Encountered an exception" not in found.stderr


def test_helpers_that_inductor_calls():
    x, out, flags = torch.randn(64), torch.empty(64), torch.empty(64, dtype=torch.int32)
    packing_kernel[(1, )](x, out, flags, 64)
    assert torch.equal(out, x) and torch.equal(flags, torch.arange(64, dtype=torch.int32) % 3)
    marked_kernel[(1, )](x, out, 50, 60, MASKED=True)
    assert torch.equal(out, torch.where(torch.arange(64) < 50, x, 5.0))
    marked_kernel[(1, )](x, out, 50, 60, MASKED=False)
    assert torch.equal(out, x)


def source(**options):
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    return compiler.ASTSource(add_kernel, signature, {"BLOCK": 64}, {(0, ): [["tt.divisibility", 16]]}, **options)


def test_operations_can_be_walked():
    from triton._C.libtriton import ir

    target = deuteron.runtime.driver.active.get_current_target()
    backend = compiler.make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    module = source().make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    assert module.verify() and "tt.store" in str(module)
    ops = []
    module.walk(ops.append)
    names = [op.get_name() for op in ops]
    assert names[-2:] == ["tt.func", "builtin.module"] and names.count("tt.load") == 2
    function = ops[-2]
    assert function.get_str_attr("sym_name") == "add_kernel" and function.get_num_regions() == 1
    entry = function.get_region(0).get_block()
    assert [entry.get_argument(i).get_type() for i in range(entry.get_num_arguments())] == ["!tt.ptr<f32>"] * 3 + ["i32"]
    builder = ir.builder(context)
    tl = deuteron.language
    types = [tl.pointer_type(tl.float32).to_ir(builder)] * 3 + [tl.int32.to_ir(builder)]
    assert [entry.get_argument(i).get_type() for i in range(4)] == list(map(str, types)) and types[0] == types[1] != types[3]
    store = ops[names.index("tt.store")]
    assert store.get_block().id() == entry.id() and store.get_block().get_parent().id() == function.get_region(0).id()
    add = next(op for op in ops if op.get_num_results() and op.get_result(0) == store.get_operand(1))
    assert add.get_name() == "arith.addf"
    assert add.get_result(0).get_shape() == [64] and entry.get_argument(0).get_shape() is None
    constants = [op for op in ops if op.get_name() == "arith.constant"]
    assert [op.get_constant_value() for op in constants] == [64] and add.get_constant_value() is None
    assert constants[0].get_result(0).get_shape() is None


def test_a_kernel_crosses_processes_as_torch_pickles_it():
    from torch._inductor.runtime.triton_heuristics import TritonCompileResult

    kernel = deuteron.compile(source())
    state = {**kernel.__dict__, "metadata": TritonCompileResult._serialize_metadata(kernel.metadata), "packed_metadata": kernel.packed_metadata,
             "module": None, "function": None, "run": None}
    add_kernel.fn, function = None, add_kernel.fn
    try:
        state = pickle.loads(pickle.dumps(state))
    finally:
        add_kernel.fn = function
    loaded = compiler.CompiledKernel.__new__(compiler.CompiledKernel)
    loaded.__dict__.update(state)
    assert isinstance(loaded, compiler.CompiledKernel) and isinstance(kernel, compiler.CompiledKernel)
    assert loaded.hash == kernel.hash and loaded.src.fn.arg_names == add_kernel.arg_names
    assert loaded.src.fn.fn is None and [param.is_constexpr for param in loaded.src.fn.params] == [False] * 4 + [True]
    loaded._init_handles()
    x, y, out = torch.randn(100), torch.randn(100), torch.empty(100)
    loaded.run(2, 1, 1, 0, loaded.function, loaded.packed_metadata, None, None, None, x, y, out, 100, 64)
    torch.testing.assert_close(out, x + y)


def test_a_function_is_pickled_without_its_python_function():
    function, names = add_kernel.fn, add_kernel.arg_names
    add_kernel.fn = None
    try:
        assert add_kernel.fn is None
        detached = pickle.loads(pickle.dumps(add_kernel))
    finally:
        add_kernel.fn = function
    assert detached.fn is None and detached.arg_names == names and detached.src == add_kernel.src
    assert detached.cache_key == add_kernel.cache_key
    assert detached.repr(None) == add_kernel.repr(None) == "add_kernel"
    with pytest.raises(AttributeError, match="cannot be replaced"):
        add_kernel.fn = threading.Thread


def test_backends_have_the_names_that_torch_asks_for():
    from torch.utils._triton import has_triton_package, triton_hash_with_backend
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget

    assert has_triton_package() and len(triton_hash_with_backend()) == 64
    assert "cpu" in backends and "nvidia" in backends and backends.get("cpu").driver.is_active()
    options = compiler.make_backend(GPUTarget("cuda", 90, 32)).parse_options({"num_warps": 8, "no_such_option": 1})
    assert options.num_warps == vars(options)["num_warps"] == 8 and "fp8e4nv" in options.supported_fp8_dtypes
    assert backends["cpu"].driver().get_current_target().backend == "cpu"


@pytest.mark.parametrize("name", ["cuda:90", "hip:gfx942", "cpu"])
def test_compiles_take_all_that_a_backend_says_of_options_and_leave_out_other_names(name):
    from triton.backends.compiler import GPUTarget

    targets = {"cuda:90": GPUTarget("cuda", 90, 32), "hip:gfx942": GPUTarget("hip", "gfx942", 64),
               "cpu": deuteron.runtime.driver.active.get_current_target()}
    target = targets[name]
    options = vars(compiler.make_backend(target).parse_options({"num_warps": 2, "num_stages": 1}))
    assert "backend_name" in options and "allowed_dot_input_precisions" in options
    kernel = compiler.compile(source(), target=target, options=options)
    assert (kernel.metadata.num_warps, kernel.metadata.num_stages) == (2, 1)
    plain = compiler.compile(source(), target=target, options={"num_warps": 2, "num_stages": 1})
    assert kernel.hash == plain.hash
    more = {"generate_native_code": True, "num_consumer_groups": 2, "no_such_option": 1, **kernel.metadata._asdict()}
    assert compiler.compile(source(), target=target, options=more).metadata.num_warps == 2
    with pytest.raises(KeyError, match="Keyword argument no_such_option was specified but unrecognised"):
        add_kernel.warmup(torch.float32, torch.float32, torch.float32, 64, BLOCK=64, grid=(1, ), no_such_option=1)


def test_hooks_see_launches_of_compiled_functions():
    from deuteron import knobs

    seen = []

    def hook(facts):
        seen.append(facts.get()["name"])

    knobs.runtime.launch_enter_hook.add(hook)
    try:
        torch._dynamo.reset()
        x = torch.randn(40)
        torch.testing.assert_close(torch.compile(lambda x: x.cos() + 3)(x), x.cos() + 3)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert any(name.startswith("triton_poi_fused") for name in seen)


PROGRAM = textwrap.dedent("""\
    import torch, torch._inductor.config as config
    from torch._inductor.async_compile import AsyncCompile
    config.cpu_backend, config.compile_threads, config.worker_start_method = "triton", 2, "{method}"
    if __name__ == "__main__":
        AsyncCompile.wait_pool_ready()
        x = torch.randn(65, 129)
        f = lambda x: (x.softmax(-1), x.sum(0).sin())
        for one, other in zip(torch.compile(f)(x), f(x)):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        from torch._dynamo.utils import counters
        print("right")
    """)


@pytest.mark.parametrize("method", ["subprocess", "fork"])
def test_compile_workers_use_this_compiler(python, tmp_path, method):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(method=method))
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TRITON_CACHE_DIR": ""}
    done = python("-m", "deuteron", program, env=env)
    assert done.stdout == "right\n", done.stderr


def test_machine_code_lies_where_torch_looks_for_it(python, tmp_path):
    """Torch reads ``TRITON_CACHE_DIR`` alone, also where another variable says where kernels are kept."""
    code = """
        import os
        from test_torch_compile import add_kernel
        from torch._inductor.runtime import runtime_utils, triton_heuristics
        from triton import compile
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        kernel = compile(ASTSource(add_kernel, signature, {"BLOCK": 64}), target=GPUTarget("cuda", 90, 32))
        folder = runtime_utils.triton_hash_to_path_key(kernel.hash)
        path = os.path.join(runtime_utils.triton_cache_dir(0), folder, "add_kernel.cubin")
        assert open(path, "rb").read() == kernel.asm["cubin"]
    """
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    env = {"DEUTERON_CACHE_DIR": str(tmp_path / "own"), "TRITON_CACHE_DIR": str(tmp_path / "torch"), "PYTHONPATH": path}
    python("-m", "deuteron", "-c", textwrap.dedent(code), env=env)


ARTIFACTS = textwrap.dedent("""\
    import sys, torch, torch._inductor.config as config
    from torch_compile_kernels import add_kernel
    config.cpu_backend, config.compile_threads = "triton", 1
    if sys.argv[1] == "load":
        import triton
        triton.knobs.compilation.listener = lambda cache_hit, **_: cache_hit or print("compiled")
        torch.compiler.load_cache_artifacts(open("artifacts", "rb").read())

    def f(x, y):
        z = torch.empty_like(x)
        add_kernel[(4, )](x, y, z, x.numel(), BLOCK=32)
        return z.softmax(-1), x.sum(0).sin()

    x = torch.randn(3, 33)
    for found, expected in zip(torch.compile(f)(x, x), ((x + x).softmax(-1), x.sum(0).sin())):
        torch.testing.assert_close(found, expected)
    if sys.argv[1] == "save":
        open("artifacts", "wb").write(torch.compiler.save_cache_artifacts()[0])
    print("right")
    """)


def test_kernels_travel_with_the_artifacts_of_torch(python, tmp_path):
    """A machine that is handed what torch keeps compiles nothing."""
    program = tmp_path / "program.py"
    program.write_text(ARTIFACTS)
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    for verb in ("save", "load"):
        env = {"PYTHONPATH": path, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / verb), "TRITON_CACHE_DIR": str(tmp_path / verb / "kernels"),
               "DEUTERON_CACHE_DIR": str(tmp_path / verb / "own")}
        done = python("-m", "deuteron", program, verb, env=env, cwd=tmp_path)
        assert done.stdout == "right\n", done.stderr


def test_output_code_is_logged(python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch, torch._inductor.config as config\nconfig.cpu_backend = 'triton'\nx = torch.randn(9)\n"
                       "torch.compile(lambda x: x.sin() + 1)(x)\n")
    env = {"TORCH_LOGS": "output_code", "TORCH_COMPILE_DEBUG": "1", "TORCH_COMPILE_DEBUG_DIR": str(tmp_path),
           "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = python("-m", "deuteron", program, env=env, cwd=tmp_path)
    assert "@triton.jit" in done.stderr and "def triton_poi_fused_add_sin" in done.stderr
    assert list(tmp_path.rglob("output_code.py")), "the folder of the debug run has the code"


PACKAGE = textwrap.dedent("""\
    import sys, torch, torch._inductor.config as config
    from torch_compile_kernels import add_kernel, sum_kernel
    config.force_disable_caches, config.compile_threads, config.triton.autotune_at_compile_time = True, 1, True

    class Model(torch.nn.Module):
        def forward(self, x, y):
            z, sums = torch.empty_like(x), torch.zeros(x.shape[0])
            add_kernel[((x.numel() + 31) // 32, )](x, y, z, x.numel(), BLOCK=32)
            sum_kernel[(x.shape[0], )](z, sums, x.shape[1], x.shape[1], BLOCK=64, FLAG=True)
            return z.sin(), sums

    rows = torch.export.Dim("rows", min=2, max=100)
    inputs = lambda rows: (torch.randn(rows, 33), torch.randn(rows, 33))
    exported = torch.export.export(Model(), inputs(7), dynamic_shapes=({0: rows}, {0: rows}), strict=True)
    path = torch._inductor.aoti_compile_and_package(exported, package_path=sys.argv[1])
    loaded = torch._inductor.aoti_load_package(path)
    for rows in (7, 2, 61):
        x = inputs(rows)
        for found, expected in zip(loaded(*x), Model()(*x), strict=True):
            torch.testing.assert_close(found, expected)
    print("right")
    """)


def test_packages_hold_kernels_of_users(python, tmp_path):
    from torch._inductor import codecache

    if not hasattr(codecache, "CpuTritonKernelCache"):
        pytest.skip("this torch packs no kernels for the CPU")
    program = tmp_path / "program.py"
    program.write_text(PACKAGE)
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    done = python("-m", "deuteron", program, tmp_path / "model.pt2", env={"PYTHONPATH": path}, check=False)
    assert done.stdout == "right\n", done.stderr
