"""Tuning the matmul of the tutorial with its 16 configurations: how long the first launch takes, in a first process whose caches
are empty and in a second one, and how much `do_bench` varies.

Every measurement is a process of its own with cache folders of its own. A small kernel is launched before the clock starts, so
that what a compiler does once a process, or once a machine, does not count.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Tiles (M, N, K), stages and warps: what the tutorial tries on such a GPU. With fp16 some need more shared memory than there is.
CONFIGURATIONS = [
    (128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4),
    (128, 32, 32, 4, 4), (64, 32, 32, 5, 2), (32, 64, 32, 5, 2), (128, 256, 128, 3, 8), (256, 128, 128, 3, 8),
    (256, 64, 128, 4, 4), (64, 256, 128, 4, 4), (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
    (128, 32, 64, 4, 4),
]
#: How often the whole is done with empty caches; the median counts.
ROUNDS = 3
#: Calls of `do_bench` that are compared.
CALLS = 10
SIZE = 4096


def child(compiler):
    """Launches the autotuned kernel once; prints what happened as JSON."""
    import torch

    import kernels

    package = kernels.compilers()[compiler]
    module = kernels.load("matmul", package)
    seeds = kernels.load("seeds", package)
    x = torch.rand(1 << 16, device="cuda")
    seeds.add_kernel[(64, )](x, x, torch.empty_like(x), 1 << 16, BLOCK_SIZE=1024)
    configs = [package.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}, num_stages=stages,
                              num_warps=warps) for m, n, k, stages, warps in CONFIGURATIONS]
    kernel = package.autotune(configs=configs, key=["M", "N", "K"])(module.matmul_kernel)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)

    def launch():
        kernel[lambda meta: (-(-SIZE // meta["BLOCK_SIZE_M"]) * -(-SIZE // meta["BLOCK_SIZE_N"]), )](
            a, b, c, SIZE, SIZE, SIZE, SIZE, 1, SIZE, 1, SIZE, 1, ACTIVATION="")

    torch.cuda.synchronize()
    begin = time.perf_counter()
    launch()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    rows = slice(0, SIZE, 97)
    expected = a[rows].double() @ b.double()
    wrong = (c[rows].double() - expected).abs().max().item()
    found = {
        "first_ms": first * 1e3,
        "bench_s": getattr(kernel, "bench_time", None),
        "best": str(kernel.best_config),
        "wrong": wrong,
        "timings": {str(config): times[0] if isinstance(times, (list, tuple)) else times
                    for config, times in (kernel.configs_timings or {}).items()},
    }
    if os.environ.get("DO_BENCH"):
        rows = torch.randn(8192, 8192, device="cuda")
        out = torch.empty_like(rows)

        def softmax():
            seeds.fused_softmax_kernel[(8192, )](rows, out, 8192, 8192, BLOCK_SIZE=8192, num_warps=8)

        for name, fn in (("softmax", softmax), ("matmul", launch)):
            found[f"do_bench {name}"] = [package.testing.do_bench(fn, return_mode="median") for _ in range(CALLS)]
    print(json.dumps(found))


def process(compiler, caches, do_bench=False):
    """Runs the child with these cache folders."""
    env = {**os.environ, "TRITON_CACHE_DIR": f"{caches}/reference", "DEUTERON_CACHE_DIR": f"{caches}/deuteron",
           "CUDA_CACHE_PATH": f"{caches}/driver", "CUDA_CACHE_DISABLE": "0", "TRITON_CACHE_AUTOTUNING": "1",
           "DO_BENCH": "1" if do_bench else ""}
    command = [sys.executable, __file__, compiler]
    finished = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    if finished.returncode:
        raise RuntimeError(finished.stderr.strip().splitlines()[-1] if finished.stderr.strip() else "the process ended")
    return json.loads(finished.stdout.strip().splitlines()[-1])


def run(names, failures):
    """From compiler to its times: cold, in a second process, the best configuration, and the spread of `do_bench`."""
    rounds = {name: [] for name in names}
    for number in range(ROUNDS):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="gpu-bench-tuning-") as caches:
                try:
                    cold = process(name, caches)
                    warm = process(name, caches, do_bench=number == 0)
                except Exception as error:
                    failures.append((name, "tuning", str(error)))
                    print(f"    tuning {name}: {error}", flush=True)
                    continue
            if cold["wrong"] > 1.0:
                failures.append((name, "tuning", f"wrong result: {cold['wrong']}"))
            rounds[name].append((cold, warm))
            print(f"tuning {name}: cold {cold['first_ms']:.0f} ms, second process {warm['first_ms']:.1f} ms, best "
                  f"{cold['best']}", flush=True)
    return {name: summary(pairs) for name, pairs in rounds.items() if pairs}


def summary(pairs):
    """Medians over the rounds."""
    def spread(name):
        medians = pairs[0][1].get(f"do_bench {name}") or [float("nan")]
        return (max(medians) - min(medians)) / statistics.median(medians)

    return {
        "cold": statistics.median(cold["first_ms"] for cold, _ in pairs),
        "second": statistics.median(warm["first_ms"] for _, warm in pairs),
        "best": pairs[0][0]["best"],
        "tried": len(pairs[0][0]["timings"]),
        "softmax": spread("softmax"),
        "matmul": spread("matmul"),
        "timings": pairs[0][0]["timings"],
    }


def table(found):
    """The lines of a report."""
    lines = ["| | reference | Deuteron | share of the reference's |", "|---|---|---|---|"]
    reference, own = found.get("reference"), found.get("deuteron")
    for key, label, unit in (("cold", "first process, caches empty", "ms"), ("second", "second process", "ms"),
                             ("softmax", f"spread of {CALLS} medians of `do_bench`: softmax 8192x8192", "%"),
                             ("matmul", "the same: matmul 4096^3, whose clock goes with the power it draws", "%")):
        cells = [f"{row[key] * (100 if unit == '%' else 1):.2f} {unit}" if row else "–" for row in (reference, own)]
        share = f"**{own[key] / reference[key]:.2f}**" if reference and own and unit == "ms" else ""
        lines.append(f"| {label} | {cells[0]} | {cells[1]} | {share} |")
    best = [row["best"].split(", maxnreg")[0] if row else "–" for row in (reference, own)]
    lines.append(f"| chosen | {best[0]} | {best[1]} | |")
    return lines


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if len(sys.argv) > 1:
        child(sys.argv[1])
    else:
        print("\n".join(table(run(["reference", "deuteron"], []))))
