"""``torch.compile`` on a GPU: kernels that Inductor writes, compiled and launched here, against eager mode."""

import copy
import inspect

import pytest
import torch
from torch_compile_cases import CASES, check, check_case
from torch_compile_kernels import USER_KERNELS, check_user_kernel

import deuteron

DEVICE = "cuda"


@pytest.fixture(autouse=True)
def plain_settings(monkeypatch):
    """Caches of each test's own, compiles in this process, fp32 products in fp32."""
    import torch._inductor.config as config
    from torch._inductor.utils import fresh_cache

    torch.set_float32_matmul_precision("highest")
    with config.patch(compile_threads=1), fresh_cache():
        yield
    torch._dynamo.reset()


@pytest.mark.parametrize("case", [case for case in CASES if DEVICE in case.devices], ids=lambda case: case.name)
def test_equals_eager(case):
    check_case(case, DEVICE)


@pytest.mark.parametrize("name", USER_KERNELS)
def test_kernels_of_users_in_compiled_functions(name):
    if name == "with_a_function_of_the_library" and not keeps_other_names():
        pytest.skip("NOT RUN: this torch copies a constexpr function and forgets the name that the kernel has for it")
    check_user_kernel(name, DEVICE)


def keeps_other_names():
    """Whether Inductor writes the name of a constexpr function that is not the one of its text: torch 2.11 does not, 2.15 does."""
    from torch._inductor.codegen import wrapper
    return "symbol_name != symbol.fn.__name__" in inspect.getsource(wrapper.user_defined_triton_kernel_transitive_closure_source_code)


def test_dropout_and_random_numbers():
    @torch.compile(fullgraph=True)
    def f(x):
        return torch.nn.functional.dropout(x, 0.25), torch.rand_like(x), torch.randn_like(x), torch.randint(0, 10, x.shape, device=x.device)

    x = torch.ones(300, 400, device=DEVICE)
    torch.manual_seed(7)
    dropped, even, normal, whole = f(x)
    torch.manual_seed(7)
    again = f(x)
    for one, other in zip((dropped, even, normal, whole), again):
        assert torch.equal(one, other), "the seed decides"
    assert abs((dropped == 0).float().mean().item() - 0.25) < 0.01
    assert dropped.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert 0 <= even.min() and even.max() < 1 and abs(even.mean().item() - 0.5) < 0.01
    assert abs(normal.mean().item()) < 0.02 and abs(normal.std().item() - 1) < 0.02
    assert whole.min() == 0 and whole.max() == 9
    assert not torch.equal(again[1], f(x)[1])


def test_the_static_launcher_takes_the_cubin():
    """Inductor launches the machine code itself where it finds it."""
    from torch._inductor.runtime import static_triton_launcher

    seen = []
    run = static_triton_launcher.StaticallyLaunchedCudaKernel.run

    def counted(self, *args):
        seen.append(self.name)
        return run(self, *args)

    static_triton_launcher.StaticallyLaunchedCudaKernel.run = counted
    try:
        x = torch.randn(100, 100, device=DEVICE)
        torch.testing.assert_close(torch.compile(lambda x: x.sin() + 1)(x), x.sin() + 1)
    finally:
        static_triton_launcher.StaticallyLaunchedCudaKernel.run = run
    assert any(name.startswith("triton_") for name in seen)


def test_without_the_static_launcher():
    import torch._inductor.config as config

    with config.patch(use_static_triton_launcher=False):
        x = torch.randn(65, 1003, device=DEVICE)
        torch.testing.assert_close(torch.compile(lambda x: x.softmax(-1))(x), x.softmax(-1))


WORKERS = """
import torch, torch._inductor.config as config
from torch._inductor.async_compile import AsyncCompile
config.compile_threads = 4
AsyncCompile.wait_pool_ready()
x = torch.randn(65, 129, device="cuda")
f = lambda x: (x.softmax(-1), x.sum(0).sin(), x.t().contiguous() * 2, x.cumsum(1))
for one, other in zip(torch.compile(f)(x), f(x)):
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
import triton
assert triton.__name__ == "deuteron"
print("workers: right")
"""


def test_compile_workers(python, tmp_path):
    (tmp_path / "program.py").write_text(WORKERS)
    done = python("-m", "deuteron", tmp_path / "program.py",
                  env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"})
    assert "workers: right" in done.stdout, done.stdout + done.stderr


def test_a_second_process_takes_the_kernels_from_the_cache(python, tmp_path):
    (tmp_path / "program.py").write_text(WORKERS)
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    for _ in range(2):
        done = python("-m", "deuteron", tmp_path / "program.py", env=env)
        assert "workers: right" in done.stdout, done.stdout + done.stderr


def test_a_training_step_with_an_optimizer():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).to(DEVICE)
    other = copy.deepcopy(model)
    x, y = torch.randn(40, 32, device=DEVICE), torch.randn(40, 8, device=DEVICE)

    def train(model, compiled):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)

        def step():
            optimizer.step()

        step = torch.compile(step) if compiled else step
        forward = torch.compile(model) if compiled else model
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(forward(x), y).backward()
            step()
        return [parameter.detach() for parameter in model.parameters()]

    check(train(model, True), train(other, False), {"rtol": 1e-3, "atol": 1e-4})


def test_a_profile_names_the_kernels():
    x = torch.randn(1000, device=DEVICE)
    f = torch.compile(lambda x: x.sin().cos())
    f(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        f(x)
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages()]
    assert any(name.startswith("triton_poi_fused") for name in names), names


PACKAGE = """
import sys, torch
import triton
assert triton.__name__ == "deuteron"

class Model(torch.nn.Module):
    def forward(self, x, y):
        return (x * 2 + y).softmax(-1) if sys.argv[1] == "kernels" else x @ y.t()

args = (torch.randn(33, 65, device="cuda"), torch.randn(33, 65, device="cuda"))
path = torch._inductor.aoti_compile_and_package(torch.export.export(Model(), args), package_path=sys.argv[2])
print("made", flush=True)
loaded = torch._inductor.aoti_load_package(path)
print("loaded", flush=True)
torch.testing.assert_close(loaded(*args), Model()(*args))
print("package: right")
"""


def test_a_package_of_aot_inductor(python, tmp_path):
    (tmp_path / "program.py").write_text(PACKAGE)

    def run(model):
        return python("-m", "deuteron", tmp_path / "program.py", model, tmp_path / f"{model}.pt2")

    done = run("kernels")
    assert "made" in done.stdout, done.stdout + done.stderr
    if done.returncode < 0 and "loaded" not in done.stdout:
        # A package of one product, which a library does, has no kernel of ours.
        without = run("library")
        if without.returncode < 0 and "made" in without.stdout and "loaded" not in without.stdout:
            pytest.skip(f"this torch ends with signal {-without.returncode} when it loads any package, one without kernels too")
    assert "package: right" in done.stdout, done.stdout + done.stderr


def test_every_import_is_redirected():
    import triton

    assert triton is deuteron
