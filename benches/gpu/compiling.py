"""Cold compiles: from source text to a loaded kernel, no cache, in a process that has compiled before."""

import statistics
import time

import kernels
import measure
import torch

#: How often each kernel is compiled.
REPETITIONS = 15


def cases():
    """Names with the file of the kernel, and a function that compiles it with a module."""
    x = torch.empty(4096, 4096, device="cuda")
    half = torch.empty(4096, 4096, device="cuda", dtype=torch.float16)
    heads = torch.empty(8, 4096, 64, device="cuda", dtype=torch.float16)

    def matmul(module):
        return module.matmul_kernel.warmup(half, half, half, 4096, 4096, 4096, 4096, 1, 4096, 1, 4096, 1, BLOCK_SIZE_M=128,
                                           BLOCK_SIZE_N=256, BLOCK_SIZE_K=64, GROUP_SIZE_M=8, ACTIVATION="",
                                           num_warps=8, num_stages=3, grid=(1, ))

    def attention(module):
        return module.attention_forward.warmup(heads, heads, heads, heads, 0.125, heads.stride(0), heads.stride(1), 4096,
                                               BLOCK_M=128, BLOCK_N=64, HEAD_DIM=64, CAUSAL=False, num_warps=8,
                                               num_stages=3, grid=(1, ))

    yield "vector add", "seeds", lambda module: module.add_kernel.warmup(x, x, x, 1 << 20, BLOCK_SIZE=1024, grid=(1, ))
    yield "softmax naive", "seeds", lambda module: module.softmax_kernel_naive.warmup(x, x, 4096, 4096, 256, grid=(1, ))
    yield "softmax online", "seeds", lambda module: module.softmax_kernel_v1.warmup(x, x, 4096, 4096, 256, grid=(1, ))
    yield "softmax fused", "seeds", lambda module: module.fused_softmax_kernel.warmup(
        x, x, 4096, 4096, BLOCK_SIZE=8192, num_warps=8, grid=(1, ))
    yield "matmul 128x256x64", "matmul", matmul
    yield "attention 128x64", "attention", attention


def one(compile_kernel, file, package):
    """Milliseconds from source to a loaded kernel, and those before the assembler where they are told."""
    module = kernels.load(file, package)
    begin = time.perf_counter()
    kernel = compile_kernel(module)
    kernel._init_handles()
    elapsed = (time.perf_counter() - begin) * 1e3
    steps = dict(getattr(kernel, "times", ()))
    own = sum(ms for step, ms in steps.items() if "/" not in step and step != "cubin")
    return elapsed, own if steps else None


def samples_of(packages, failures):
    """From kernel and compiler to what :func:`one` told, time after time.

    All kernels and compilers take turns, once more than counts: cores that are shared with others change their speed from
    second to second.
    """
    todo = {(name, compiler): (compile_kernel, file) for name, file, compile_kernel in cases() for compiler in packages}
    samples = {key: [] for key in todo}
    for turn in range(REPETITIONS + 1):
        for (name, compiler), (compile_kernel, file) in list(todo.items()):
            try:
                sample = one(compile_kernel, file, packages[compiler])
            except Exception as error:
                failures.append((compiler, f"compile {name}", measure.short(error)))
                print(f"    compile {name} {compiler}: {measure.short(error)}", flush=True)
                del todo[name, compiler], samples[name, compiler]
                continue
            if turn:
                samples[name, compiler].append(sample)
    return samples


def run(packages, failures):
    """One row for each kernel: its name, and from compiler to (milliseconds, those before the assembler), medians."""
    for package in packages.values():
        package.knobs.compilation.always_compile = True
    try:
        samples = samples_of(packages, failures)
    finally:
        for package in packages.values():
            package.knobs.compilation.always_compile = False
    rows = {}
    for (name, compiler), times in samples.items():
        before = [before for _, before in times if before is not None]
        whole = statistics.median(elapsed for elapsed, _ in times)
        rows.setdefault(name, {})[compiler] = (whole, statistics.median(before) if before else None)
    for name, found in rows.items():
        print(f"compile {name}: " + ", ".join(f"{compiler} {ms:.1f} ms" for compiler, (ms, _) in found.items()), flush=True)
    return list(rows.items())
