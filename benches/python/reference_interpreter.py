"""The examples here against the same sources in the reference's interpreter, run by ``make bench REFERENCE=/path/to/python``.

The interpreter (``TRITON_INTERPRET=1``) is what a machine without a GPU has otherwise. `REFERENCE` is a Python that can import the
reference; torch, which its interpreter needs, may come from the Python that runs this. Both sides run the same file in a process of
their own, on the same arrays, and are timed by the same clock: the fastest of the runs that fit in a second, at least two. On a
machine that others use, ``--cpu-time`` counts the time that a process ran on a core instead.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: What native code must be faster by, at the least, and what the interpreter here must.
AIM, INTERPRETED_AIM = 50, 20


def jobs():
    """Name and function of each job; small, because the other side takes long."""
    sys.path.insert(0, str(EXAMPLES))
    import common

    add, softmax, matmul, norm, dropout, attention = map(importlib.import_module, (
        "01_vector_add", "02_softmax", "03_matmul", "04_layer_norm", "05_dropout", "06_attention"))
    x = common.randn(98432, seed=1)
    yield "vector add, 98432 elements", lambda: add.add(x, x)
    matrix, out = common.randn(64, 781, seed=2), common.zeros(64, 781)
    for name in ("naive", "online", "fused"):
        yield f"softmax {name}, 64x781", lambda name=name: softmax.VARIANTS[name](matrix, out)
    a, b, c = common.randn(256, 256, seed=3), common.randn(256, 256, seed=4), common.zeros(256, 256)
    yield "matmul float32, 256x256x256", lambda: matmul.matmul(a, b, c)
    rows, w, bias, dy = norm.inputs(64, 1024)
    y, mean, rstd = common.zeros(64, 1024), common.zeros(64), common.zeros(64)
    yield "layer norm forward, 64x1024", lambda: norm.forward(rows, w, bias, y, mean, rstd)
    yield "layer norm backward, 64x1024", lambda: norm.backward(dy, rows, w, mean, rstd)
    yield "dropout, 98432 elements", lambda: dropout.dropout(x, 0.5, 7)
    q, k, v = attention.inputs((2, 256, 64), "float32")
    result = common.zeros(2, 256, 64)
    for causal in (False, True):
        name = f"attention {'causal' if causal else 'full'}, 2x256x64"
        yield name, lambda causal=causal: attention.attention(q, k, v, result, causal)


def fastest(run, clock, budget=1.0):
    """Seconds of the fastest run."""
    run()
    times = []
    until = clock() + budget
    while len(times) < 2 or clock() < until:
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


def work(site_packages, clock):
    """One side: a line of JSON for each job."""
    # Behind everything else: what this Python has itself is taken from there.
    sys.path += site_packages
    for name, run in jobs():
        print(json.dumps([name, fastest(run, clock)]), flush=True)


def side(command, options, **environment):
    """Runs one side in a process; gives seconds by job."""
    site_packages = [path for path in sys.path if path.endswith("site-packages")]
    done = subprocess.run([*command, __file__, *options, "--work", json.dumps(site_packages)], stdout=subprocess.PIPE, text=True,
                          env=os.environ | environment, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def main():
    """Prints the table; says so where there is nothing to compare with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", default=os.environ.get("REFERENCE", ""), help="a Python that can import the reference")
    parser.add_argument("--interpreted", action="store_true", help="interpret here too, in place of native code")
    parser.add_argument("--cpu-time", action="store_true", help="count the time on a core, for machines that others use")
    parser.add_argument("--work", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work, time.process_time if options.cpu_time else time.perf_counter)
        return
    if not options.reference:
        print("reference's interpreter: not compared; make bench REFERENCE=/path/to/python/with/the/reference compares")
        return
    clock = ["--cpu-time"] if options.cpu_time else []
    theirs = side([options.reference], clock, TRITON_INTERPRET="1")
    ours = side([sys.executable, "-m", "deuteron"], clock, TRITON_INTERPRET="1" if options.interpreted else "0")
    aim = INTERPRETED_AIM if options.interpreted else AIM
    print(f"{'':<34} {'reference interpreter':>22} {'deuteron':>12} {'times faster':>13}   (aim: {aim})")
    for name, seconds in theirs.items():
        print(f"{name:<34} {seconds * 1e3:>19.2f} ms {ours[name] * 1e3:>9.3f} ms {seconds / ours[name]:>13.0f}")


if __name__ == "__main__":
    main()
