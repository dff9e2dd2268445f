"""Kernels of the reference's tutorials 06 (attention), 08 (grouped matmul) and 09 (persistent matmul), unchanged, under both compilers.

``python benches/gpu/tutorials.py R/python/tutorials`` with a checkout of the reference in ``R``. Definitions of the files are executed,
their benchmarks are not. Results are compared with torch before they are timed; candidates are launched in turns.
``--also DEUTERON_WARP_SPECIALIZE=1`` adds a candidate: Deuteron again, whose kernels are compiled with that variable set.
"""

import argparse
import ast
import contextlib
import math
import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

import kernels  # noqa: E402
import measure  # noqa: E402


def definitions(tree):
    """A module up to its first statement that runs something."""
    kept = []
    for node in tree.body:
        if isinstance(node, (ast.For, ast.While)) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)):
            break
        if not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)):
            kept.append(node)
    return ast.Module(kept, [])


@contextlib.contextmanager
def variable(setting):
    """Sets an environment variable, ``NAME=VALUE``, for a while; an empty text sets nothing."""
    name, _, value = setting.partition("=")
    before = os.environ.get(name)
    if setting:
        os.environ[name] = value
    try:
        yield
    finally:
        if setting and before is None:
            del os.environ[name]
        elif setting:
            os.environ[name] = before


class Files:
    """The tutorials of a folder, each loaded once for a candidate: a compiler, or ``NAME=VALUE`` of the environment."""

    def __init__(self, folder, also=()):
        self.folder, self.loaded, packages = folder, {}, kernels.compilers()
        self.packages = {**packages, **{setting: packages["deuteron"] for setting in also}}

    def each(self, start):
        """From compiler to the module of the file whose name begins so; a module that cannot be loaded is said."""
        path = next(self.folder.glob(f"{start}-*.py"))
        found = {}
        for candidate, package in self.packages.items():
            try:
                key = (candidate, start)
                if key not in self.loaded:
                    name = f"tutorial_{start}_{''.join(filter(str.isalnum, candidate))}"
                    self.loaded[key] = kernels.load_file(path, name, package, definitions)
                found[candidate] = self.loaded[key]
            except Exception as error:  # noqa: BLE001: the other compiler goes on
                print(f"    {candidate} {path.name}: {measure.short(error)}", flush=True)
        return found


def row(label, flops, expected, library, makers, seconds):
    """Races what compiles and is right, and prints TFLOP/s.

    Args:
        makers: from candidate to a function that gives a function, which launches and returns tensors like `expected`.
    """
    candidates, notes = {"torch": library}, []
    for candidate, make in makers.items():
        try:
            with variable(candidate if "=" in candidate else ""):
                run = make()
                found = run()
            for one, other in zip(found, expected, strict=True):
                near(one, other)
            candidates[candidate] = run
        except Exception as error:  # noqa: BLE001: the others go on
            notes.append(f"{candidate}: {measure.short(error)}")
    times = measure.race(candidates, seconds)
    rates = " ".join(f"{name} {flops / ms * 1e-9:7.1f}" for name, ms in times.items())
    print(f"{label:52} {rates} {'; '.join(notes)}", flush=True)


def near(found, expected):
    """Raises where a result is further off than fp16 sums of these lengths may be, or by more than one step of fp8."""
    scale = expected.float().abs().max().item()
    off = (found.float() - expected.float()).abs().max().item()
    # Neighbours of fp8 with three bits of mantissa are an eighth apart.
    if not off <= (2e-2 if expected.element_size() > 1 else 0.13) * scale:
        raise AssertionError(f"wrong result: off by {off:.3e} of {scale:.3e}")


def attention(files, seconds):
    """06: forward and backward, 4 x 32 heads, 4,096 rows."""
    batch, heads, length = 4, 32, 4096
    for width, causal in ((64, False), (64, True), (128, False), (128, True)):
        q, k, v = (torch.randn(batch, heads, length, width, dtype=torch.float16, device="cuda", requires_grad=True) for _ in range(3))
        gradient, scale = torch.randn_like(q), 1 / math.sqrt(width)

        def eager(q=q, k=k, v=v, causal=causal, scale=scale):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)

        def ours(module, q=q, k=k, v=v, causal=causal, scale=scale):
            return module.attention(q, k, v, causal, scale, False)

        def backward(out, q=q, k=k, v=v, gradient=gradient):
            def run():
                return torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)

            return run

        flops = 4 * batch * heads * length * length * width // (2 if causal else 1)
        label = f"06 d{width}{' causal' if causal else ''}"
        modules = files.each("06")
        expected = eager()
        row(f"{label} forward", flops, [expected.detach()], eager,
            {name: lambda module=module: lambda: [ours(module)] for name, module in modules.items()}, seconds)
        library = backward(expected)
        row(f"{label} backward", flops * 5 // 2, library(), library,
            {name: lambda module=module: backward(ours(module)) for name, module in modules.items()}, seconds)


class Recorder:
    """In place of a kernel: launches it, and keeps how."""

    def __init__(self, kernel):
        self.kernel, self.launch = kernel, None

    def __getitem__(self, grid):
        def call(*args, **kwargs):
            self.launch = lambda: self.kernel[grid](*args, **kwargs)
            return self.launch()

        return call


def relaunched(module, kernel, function, *args):
    """A function that repeats the launch which `function` of a tutorial does, without its copies of addresses to the GPU."""

    def make():
        recorder = Recorder(getattr(module, kernel))
        setattr(module, kernel, recorder)
        try:
            out = getattr(module, function)(*args)
        finally:
            setattr(module, kernel, recorder.kernel)

        def run():
            recorder.launch()
            return out

        return run

    return make


def grouped(files, seconds):
    """08: four products in a launch, by pointers and by descriptors that the kernel makes."""
    for m, n, k in ((1024, 1024, 1024), (1024, 8192, 8192)):
        a = [torch.randn(m, k, device="cuda").half() for _ in range(4)]
        b = [torch.randn(k, n, device="cuda").half() for _ in range(4)]
        transposed = [x.T.contiguous() for x in b]
        expected = [x @ y for x, y in zip(a, b)]

        def library(a=a, b=b):
            return [torch.matmul(x, y) for x, y in zip(a, b)]

        for kind, kernel, function, other in (("pointers", "grouped_matmul_kernel", "group_gemm_fn", b),
                                              ("descriptors", "grouped_matmul_tma_kernel", "group_gemm_tma_fn", transposed)):
            makers = {name: relaunched(module, kernel, function, a, other) for name, module in files.each("08").items()}
            row(f"08 4x({m}x{n}x{k}) {kind}", 8 * m * n * k, expected, library, makers, seconds)


PERSISTENT = {
    "plain": lambda module, a, b: module.matmul(a, b.T),
    "persistent": lambda module, a, b: module.matmul_persistent(a, b.T),
    "tma": lambda module, a, b: module.matmul_tma(a, b, False),
    "tma persistent": lambda module, a, b: module.matmul_tma_persistent(a, b, False),
    "descriptors persistent": lambda module, a, b: module.matmul_descriptor_persistent(a, b, False),
    "descriptors persistent, roles": lambda module, a, b: module.matmul_descriptor_persistent(a, b, True),
}


def persistent(files, seconds):
    """09: 8192 x 8192 x K, every variant that Hopper runs."""
    for dtype, k in ((torch.float16, 512), (torch.float16, 4096), (torch.float8_e4m3fn, 512), (torch.float8_e4m3fn, 4096)):
        a, b = (torch.randn(8192, k, device="cuda").half().to(dtype) for _ in range(2))
        one = torch.ones((), device="cuda")

        def library(a=a, b=b, one=one):
            if a.element_size() == 2:
                return torch.matmul(a, b.T)
            return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.float8_e4m3fn, use_fast_accum=True)

        expected = [(a.float() @ b.float().T).to(dtype)]
        for kind, call in PERSISTENT.items():
            makers = {name: lambda module=module, call=call: lambda: [call(module, a, b)] for name, module in files.each("09").items()}
            name = "fp16" if a.element_size() == 2 else "fp8"
            row(f"09 {name} K={k} {kind}", 2 * 8192 * 8192 * k, expected, library, makers, seconds)


PARTS = {"06": attention, "08": grouped, "09": persistent}


def main():
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the tutorials of the reference")
    parser.add_argument("--only", action="append", choices=list(PARTS))
    parser.add_argument("--also", action="append", default=[], metavar="NAME=VALUE", help="a further candidate")
    parser.add_argument("--seconds", type=float, default=0.6, help="for a row")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("NOT RUN: no GPU is to be seen here; these measurements need one")
        return 0
    torch.manual_seed(0)
    files = Files(arguments.folder, arguments.also)
    print(torch.cuda.get_device_name(), "TFLOP/s", flush=True)
    for part, run in PARTS.items():
        if not arguments.only or part in arguments.only:
            run(files, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
