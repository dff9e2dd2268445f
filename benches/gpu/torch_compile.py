"""``torch.compile`` on Deuteron beside the installed reference: ``python benches/gpu/torch_compile.py``.

For each compiler a process keeps the compiled models of `torch_models.py`, and both are asked in turns to time a few calls (events
around single calls, a flush of the last cache before each). How long a transformer block takes from the first call to its result
with empty caches is measured in processes of their own. Results are compared with eager mode first. Models of a few hundred microseconds
wait for the host, which differs from run to run, so the times of their kernels stand beside. ``--profile`` shows instead which
kernels each model launches, how long each takes, and how long a call keeps the host busy.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Calls that are timed in one turn.
CALLS = 8
COMPILERS = ("deuteron", "reference")
#: What is compiled with empty caches, and the numbers of compile processes.
COLD, WORKERS = "transformer block, trained", (1, 16)


# --- the process of one compiler ---


def serve():
    """Answers requests, a line each, until the input ends: ``["compile", model]``, ``["time", model]`` or ``["profile", model]``."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch

    import measure

    made = {}
    flush = measure.Flush()
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        request, name = json.loads(line)
        try:
            if request == "compile":
                made[name], answer = compiled(name)
            elif request == "profile":
                answer = {"host": host_us(made[name]), "kernels": profiled(made[name])}
            else:
                events = [measure.once(made[name], flush) for _ in range(CALLS)]
                torch.cuda.synchronize()
                answer = [start.elapsed_time(end) for start, end in events]
        except Exception as error:  # noqa: BLE001: the other models go on
            answer = {"error": measure.short(error)}
        print(json.dumps(answer), file=answers, flush=True)


def compiled(name):
    """A function that runs the compiled model once, and the seconds that its first run took."""
    import torch

    import torch_models

    torch.manual_seed(1)
    run, inputs = torch_models.MODELS[name]()
    gradient = torch.randn_like(run(*inputs)) if name in torch_models.TRAINED else None
    eager = once(run, inputs, gradient)()
    torch.cuda.synchronize()
    call = once(torch.compile(run), inputs, gradient)
    begin = time.perf_counter()
    found = call()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    near(found, eager)
    for _ in range(5):
        call()
    return call, seconds


def host_us(call, calls=20):
    """Median microseconds that a call keeps the host busy, each beginning with an empty queue."""
    import torch

    times = []
    for _ in range(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def profiled(call, calls=4):
    """The kernels of a call in the order of their launches: name, grid, block, registers and median microseconds."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    runs = []
    for _ in range(calls):
        with torch.profiler.profile(activities=activities) as profile:
            call()
            torch.cuda.synchronize()
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            profile.export_chrome_trace(file.name)
            events = json.loads(Path(file.name).read_text())["traceEvents"]
        runs.append(sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"]))
    if len({tuple(event["name"] for event in run) for run in runs}) > 1:
        raise RuntimeError("calls launch different kernels")
    return [[same[0]["name"], *(same[0]["args"].get(key) for key in ("grid", "block", "registers per thread")),
             statistics.median(event["dur"] for event in same)] for same in zip(*runs)]


def near(found, expected):
    """Raises where a result is further from eager mode than fp16 in another order is."""
    for one, other in zip(*(result if isinstance(result, tuple) else (result, ) for result in (found, expected)), strict=True):
        scale = other.float().abs().max().item()
        off = (one.float() - other.float()).abs().max().item()
        if not off <= 2e-2 * scale:
            raise AssertionError(f"wrong result: off by {off:.3e} of {scale:.3e}")


def once(run, inputs, gradient):
    """A function that runs a model forward or, with a gradient of its result, backward too."""
    if gradient is None:
        return lambda: run(*inputs)

    def step():
        for tensor in (*inputs, *run_parameters(run)):
            tensor.grad = None
        run(*inputs).backward(gradient)
        return inputs[0].grad

    return step


def run_parameters(run):
    """The parameters of a module, compiled or not."""
    return run.parameters() if hasattr(run, "parameters") else ()


# --- the process that asks ---


class Process:
    """A process that serves one compiler, with caches of its own."""

    def __init__(self, compiler, workers):
        self.caches = tempfile.TemporaryDirectory(prefix="torch-bench-")
        folder = self.caches.name
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor", "TRITON_CACHE_DIR": f"{folder}/triton",
               "DEUTERON_CACHE_DIR": f"{folder}/deuteron", "CUDA_CACHE_DISABLE": "1", "TORCHINDUCTOR_COMPILE_THREADS": str(workers)}
        command = [sys.executable, *(("-m", "deuteron") if compiler == "deuteron" else ()), __file__, "--serve"]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.answer() == "ready"

    def answer(self):
        """The next line that the process writes."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, request, name):
        """What it answers to a request."""
        self.process.stdin.write(json.dumps([request, name]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.caches.cleanup()


def cold(rounds, show):
    """Seconds of a first run with empty caches: from (workers, compiler) to medians."""
    found = {}
    for workers in WORKERS:
        for _ in range(rounds):
            for compiler in COMPILERS:
                process = Process(compiler, workers)
                seconds = process.ask("compile", COLD)
                process.close()
                show(f"cold, {workers} workers, {compiler}: {seconds}")
                if isinstance(seconds, float):
                    found.setdefault((workers, compiler), []).append(seconds)
    return {key: statistics.median(times) for key, times in found.items()}


def steady(processes, name, turns):
    """Median milliseconds of a model under each compiler, or what went wrong; the processes are asked in turns."""
    answers = {compiler: process.ask("compile", name) for compiler, process in processes.items()}
    errors = {compiler: answer["error"] for compiler, answer in answers.items() if isinstance(answer, dict)}
    if errors:
        return None, errors
    times = {compiler: [] for compiler in processes}
    for _ in range(turns):
        for compiler, process in processes.items():
            times[compiler] += process.ask("time", name)
    return {compiler: statistics.median(values) for compiler, values in times.items()}, {}


def kernel_columns(name, processes):
    """How long the kernels of a model take together under each compiler: what is left where the host is not in time."""
    answers = {compiler: process.ask("profile", name) for compiler, process in processes.items()}
    if any("error" in answer for answer in answers.values()):
        return " | | |"
    theirs, ours = (sum(kernel[-1] for kernel in answers[compiler]["kernels"]) for compiler in ("reference", "deuteron"))
    return f" {theirs:.1f} | {ours:.1f} | **{theirs / ours:.2f}×** |"


def show_profile(name, processes):
    """Prints the kernels of a model under each compiler."""
    for compiler, process in processes.items():
        answer = process.ask("compile", name)
        answer = answer if isinstance(answer, dict) else process.ask("profile", name)
        if "error" in answer:
            print(f"{name}: {compiler}: {answer['error']}", flush=True)
            continue
        kernels = answer["kernels"]
        print(f"{name}: {compiler}: host {answer['host']:.0f} us, {len(kernels)} kernels {sum(kernel[-1] for kernel in kernels):.1f} us")
        for kernel, grid, block, registers, us in kernels:
            print(f"  {us:8.1f} us  grid {grid} block {block} registers {registers}  {kernel[:100]}", flush=True)


def main():
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a model, by a part of its name; may be repeated")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--cold", type=int, default=2, help="how often the first run is measured; 0: not at all")
    parser.add_argument("--profile", action="store_true", help="show the kernels of each model, and nothing else")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    if arguments.serve:
        return serve()
    import torch_models

    show = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
    lines = ["| model | reference, ms | Deuteron, ms | ratio | kernels of the reference, us | of Deuteron, us | ratio |", "|---|---|---|---|---|---|---|"]
    processes = {compiler: Process(compiler, 8) for compiler in COMPILERS}
    for name in torch_models.MODELS:
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        if arguments.profile:
            show_profile(name, processes)
            continue
        times, errors = steady(processes, name, arguments.turns)
        if errors:
            lines.append(f"| {name} | {errors} | | | | | |")
        else:
            theirs, ours = times["reference"], times["deuteron"]
            lines.append(f"| {name} | {theirs:.3f} | {ours:.3f} | **{theirs / ours:.2f}×** |" + kernel_columns(name, processes))
        show(lines[-1])
    for process in processes.values():
        process.close()
    if arguments.profile:
        return 0
    if arguments.cold:
        lines += ["", f"| first run, caches empty: {COLD} | reference, s | Deuteron, s | share of the reference's |", "|---|---|---|---|"]
        found = cold(arguments.cold, show)
        for workers in WORKERS:
            theirs, ours = (found.get((workers, compiler)) for compiler in ("reference", "deuteron"))
            share = f"**{ours / theirs:.2f}**" if ours and theirs else ""
            lines.append(f"| {workers} compile processes | {theirs} | {ours} | {share} |")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
