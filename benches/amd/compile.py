"""How long kernels for AMD GPUs take to compile, beside the installed reference: nothing is run.

``python benches/amd/compile.py --reference PYTHON [--arch gfx942] [--rounds 3] [--only NAME]``: `PYTHON` is an interpreter that has the
reference. The kernels are those of ``static.py``. Each compiler works in a process of its own, which compiles every kernel once to be warm
and then once more for each round; the two take turns kernel by kernel, so that both see the same machine. A row has the least time of each,
from the call of ``triton.compile`` to its return, without any cache, and their ratio.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu")]


def worker(compiler, arch):
    """Reads names of kernels, compiles each, and writes the milliseconds."""
    import kernels
    import static

    package = importlib.import_module("triton" if compiler == "reference" else "deuteron")
    source = importlib.import_module(f"{package.__name__}.compiler").ASTSource
    target = importlib.import_module(f"{package.__name__}.backends.compiler").GPUTarget("hip", arch, static.lanes(arch))
    cases, modules = static.cases(), {}
    for line in sys.stdin:
        file, kernel, types, constants, options = cases[json.loads(line)]
        module = modules.setdefault(file, None) or kernels.load(file, package)
        modules[file] = module
        function = getattr(module, kernel)
        signature, attributes = static.signature(function, types, constants)
        began = time.perf_counter()
        package.compile(source(function, signature, constants, attributes), target=target, options=options)
        print(json.dumps((time.perf_counter() - began) * 1e3), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--reference", required=True, help="a Python interpreter that has the reference")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker, options.arch)
    import static

    environment = {**os.environ, "TRITON_ALWAYS_COMPILE": "1"}
    processes = {
        compiler: subprocess.Popen([interpreter, __file__, "--worker", compiler, "--arch", options.arch, "--reference", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for compiler, interpreter in (("deuteron", sys.executable), ("reference", options.reference))
    }

    def ask(compiler, name):
        processes[compiler].stdin.write(json.dumps(name) + "\n")
        processes[compiler].stdin.flush()
        return json.loads(processes[compiler].stdout.readline())

    names = [name for name in static.cases() if options.only in name]
    best = {}
    for turn in range(options.rounds + 1):
        for name in names:
            for compiler in processes:
                took = ask(compiler, name)
                if turn:
                    best[name, compiler] = min(took, best.get((name, compiler), took))
    print(f"{'kernel':34} {'deuteron':>9} {'reference':>9} {'ratio':>6}   milliseconds")
    for name in names:
        ours, theirs = best[name, "deuteron"], best[name, "reference"]
        print(f"{name:34} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.3f}")
    for process in processes.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
