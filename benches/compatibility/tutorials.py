"""Runs a tutorial of the reference as a file, unchanged, where it would be too slow or too exact otherwise: on an emulated device.

``DEUTERON_EMULATE=hip:gfx942 python -m deuteron --cuda-as-cpu benches/compatibility/tutorials.py R/python/tutorials/06-fused-attention.py
--call 'test_op(1, 2, 128, 64, True, False, "bwd", "triton-fp16")'`` runs the file as a program, then evaluates what stands behind each
``--call`` with its names; with ``--only-calls`` the file is imported, not run. Functions under ``triton.testing.perf_report`` are not run, which is said for each: they measure. ``--configurations 1`` leaves tuners one configuration. Layer
normalisation by torch, which 05 compares with, is computed in float64: torch's own gradients of 16-bit weights on a CPU are ten times as far
from that as what the tutorial allows.
"""

import argparse
import runpy
import sys
import time


class Unmeasured:
    """A benchmark that is not run."""

    def __init__(self, function):
        self._name = function.__name__

    def run(self, *args, **kwargs):
        """Says so."""
        print(f"not measured: {self._name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--call", action="append", default=[], help="an expression with the names of the file")
    parser.add_argument("--only-calls", action="store_true", help="import the file rather than run it as a program")
    parser.add_argument("--configurations", type=int, help="how many configurations tuners have at most")
    options = parser.parse_args()
    import torch
    import triton.testing

    def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
        wide = [value if value is None else value.double() for value in (weight, bias)]
        return exact(x.double(), shape, *wide, eps).to(x.dtype)

    def autotune(configs, *args, **kwargs):
        return tuned(configs[:options.configurations], *args, **kwargs)

    tuned, triton.autotune = triton.autotune, autotune
    exact, torch.nn.functional.layer_norm = torch.nn.functional.layer_norm, layer_norm
    triton.testing.perf_report = lambda benchmarks: Unmeasured
    sys.argv = [options.file]
    began = time.perf_counter()
    names = runpy.run_path(options.file, run_name="tutorial" if options.only_calls else "__main__")
    for call in options.call:
        print(f"{call}: {eval(call, names)}")
    print(f"{options.file}: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
