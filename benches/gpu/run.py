"""Deuteron beside the installed reference on this machine's GPU, in one process: ``make gpu-bench``.

Every kernel is checked against float64 before it is timed. One that fails is reported and stops nothing else. Results go to
docs/gpu-results.md with two plots.
"""

import argparse
import datetime
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Neither compiler finds anything in a cache of before.
_CACHE = tempfile.TemporaryDirectory(prefix="gpu-bench-cache-")
os.environ["TRITON_CACHE_DIR"] = _CACHE.name
os.environ["DEUTERON_CACHE_DIR"] = _CACHE.name + "/deuteron"
# Nor does the driver, which assembles the PTX of one of them.
os.environ["CUDA_CACHE_DISABLE"] = "1"

import torch  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

import compiling  # noqa: E402
import jobs  # noqa: E402
import kernels  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402


def prepare(job, modules, failures):
    """The candidates of a job that compile and are right: from (compiler, configuration) to a launch."""
    ready = {}
    for compiler, module in modules.items():
        for configuration in job.configurations:
            try:
                run = job.make(module, configuration)
                run()
                torch.cuda.synchronize()
                job.check()
                ready[compiler, configuration] = run
            except Exception as error:  # whatever it is, the others go on
                failures.append((compiler, f"{job.family} {job.label} {configuration}", measure.short(error)))
                print(f"    {compiler} {configuration}: {measure.short(error)}", flush=True)
                if is_broken(error):
                    raise
    return ready


def is_broken(error):
    """Whether the GPU answers nothing more in this process."""
    try:
        torch.cuda.synchronize()
        torch.zeros(1, device="cuda").item()
        return False
    except Exception:
        return True


def measure_job(job, modules, failures):
    """The result of one job, or None where nothing of it runs."""
    print(f"{job.family} {job.label}", flush=True)
    ready = prepare(job, modules, failures)
    if not ready:
        return None
    candidates = dict(ready)
    try:
        job.library()
        candidates["library", ()] = job.library
    except Exception as error:  # this torch has no such function for these types
        failures.append(("torch", f"{job.family} {job.label}", measure.short(error)))
    times = measure.race(candidates)
    # Both units are 10^12 a second, and times are milliseconds.
    rates = {name: job.amount / ms * 1e-9 for name, ms in times.items()}
    best = {}
    for (compiler, configuration), rate in rates.items():
        if rate > best.get(compiler, (0, ))[0]:
            best[compiler] = (rate, configuration)
    for compiler, (rate, configuration) in best.items():
        print(f"    {compiler:<10} {rate:9.3f} {job.unit}  {configuration}", flush=True)
    return report.Result(job.family, job.label, job.unit, best, rates)


def launches(packages):
    """Microseconds of the host for a launch, by compiler and arguments: 5, 16, and 5 of which one is another array each time.

    `torch.add` is there for comparison.
    """
    calls = {}
    tensors = [torch.zeros(1024, device="cuda") for _ in range(16)]
    # Written out, as programs do: to slice and unpack a list takes Python half a microsecond of its own.
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 = tensors
    for compiler, package in packages.items():
        module = kernels.load("launch", package)
        five, sixteen = module.five, module.sixteen

        def few(five=five):
            five[(1, )](p0, p1, p2, 1024, BLOCK=1024)

        def many(sixteen=sixteen):
            sixteen[(1, )](p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, BLOCK=1024)

        def other(five=five, turn=itertools.cycle([p2, p3]).__next__):
            five[(1, )](p0, p1, turn(), 1024, BLOCK=1024)

        calls[compiler, "5"], calls[compiler, "16"], calls[compiler, report.CHANGING] = few, many, other
    calls["library", "5"] = lambda: torch.add(p0, p1, out=p2)
    found = measure.host_us(calls)
    for (name, count), us in found.items():
        print(f"launch {name}: {us:.2f} us (arguments: {count})", flush=True)
    return found


def commit():
    """The commit of the tree, where it can be told."""
    named = os.environ.get("DEUTERON_COMMIT")
    if named:
        return named
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=kernels.ROOT, capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a family: vector_add, softmax, layer_norm, matmul, attention, wide, "
                        "rows, tiles, planes, launch, compile, tuning; may be repeated")
    parser.add_argument("--row", help="only jobs with these words in their name and size, as the table has them")
    parser.add_argument("--minutes", type=float, default=8.0, help="start no further job after so long")
    parser.add_argument("--out", type=Path, default=kernels.ROOT / "docs", help="the folder of the results")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("NOT RUN: no GPU is to be seen here; these measurements need one")
        return 0
    begin = time.perf_counter()
    wanted = lambda family: not arguments.only or family in arguments.only  # noqa: E731
    late = lambda: time.perf_counter() - begin > arguments.minutes * 60  # noqa: E731
    packages = kernels.compilers()
    results, failures, skipped = [], [], []
    timings = {"launch": {}, "compile": [], "tuning": {}}
    for family, work in (("launch", lambda: launches(packages)), ("compile", lambda: compiling.run(packages, failures)),
                         ("tuning", lambda: tuning.run(list(packages), failures))):
        if wanted(family) and not arguments.row:
            try:
                timings[family] = work()
            except Exception as error:
                failures.append(("both", family, measure.short(error)))
                print(f"    {family}: {measure.short(error)}", flush=True)
    modules = {}
    for family, make in jobs.all_jobs():
        if not wanted(family):
            continue
        if late():
            skipped.append(family)
            continue
        try:
            for job in make():
                if arguments.row and arguments.row not in f"{job.family} {job.label}":
                    continue
                if job.file not in modules:
                    modules[job.file] = {name: kernels.load(job.file, package) for name, package in packages.items()}
                results.append(measure_job(job, modules[job.file], failures))
        except Exception as error:
            failures.append(("both", family, measure.short(error)))
            print(f"    {family}: {measure.short(error)}", flush=True)
            if is_broken(error):
                skipped.append("everything after an error that broke the GPU's context")
                break
        torch.cuda.empty_cache()
    facts = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "reference": getattr(packages.get("reference"), "__version__", "not installed"),
        "commit": commit(),
    }
    report.write(arguments.out, facts, [result for result in results if result], timings, failures, skipped)
    print(f"written to {arguments.out / 'gpu-results.md'} after {time.perf_counter() - begin:.0f} s; {len(failures)} failures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
