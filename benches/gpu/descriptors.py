"""Products by tensor descriptors beside the reference and cuBLAS, launched in turns: ``python benches/gpu/descriptors.py``.

``DEUTERON_DISABLE_BULK_COPIES=1`` measures the same kernels without bulk copies.
"""

import argparse
import importlib.util
import itertools
import pathlib
import sys

import torch
from measure import race

SHAPES = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512)]
# Rows, columns and depth of a tile, warps, stages.
TILES = [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4), (256, 128, 64, 8, 3)]
TILES_8 = [(128, 256, 128, 8, 3), (128, 256, 128, 8, 4)]


def load(package, folder):
    """The kernels for a compiler, and its descriptors."""
    here = pathlib.Path(__file__).parent / "descriptor_kernels.py"
    text = here.read_text().replace("import triton\n", f"import {package} as triton\n")
    text = text.replace("import triton.language", f"import {package}.language")
    path = pathlib.Path(folder) / f"descriptor_kernels_{package}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    tools = importlib.import_module(f"{package}.tools.tensor_descriptor")
    return module, tools.TensorDescriptor


def launch(kernels, tensors, shape, tile, persistent):
    """A function that launches a configuration."""
    module, descriptor = kernels
    (m, n, k), (tile_m, tile_n, tile_k, warps, stages) = shape, tile
    a, b, c = tensors
    descs = [descriptor.from_tensor(a, [tile_m, tile_k]), descriptor.from_tensor(b, [tile_n, tile_k]),
             descriptor.from_tensor(c, [tile_m, tile_n])]
    tiles = -(-m // tile_m) * -(-n // tile_n)
    options = dict(BLOCK_M=tile_m, BLOCK_N=tile_n, BLOCK_K=tile_k, GROUP=8, num_warps=warps, num_stages=stages)
    if persistent:
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        options["PROGRAMS"] = programs = min(sms, tiles)
        return lambda: module.matmul_persistent[(programs, )](*descs, m, n, k, **options)
    return lambda: module.matmul_tiles[(tiles, )](*descs, m, n, k, **options)


def tensors_of(shape, eight):
    """Random operands and a place for the result."""
    m, n, k = shape
    a, b = (torch.randn(rows, k, device="cuda").half() for rows in (m, n))
    if eight:
        a, b = (x.to(torch.float8_e4m3fn) for x in (a, b))
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.float16)


def library(tensors, eight):
    """What cuBLAS makes of the same operands."""
    a, b, c = tensors
    if not eight:
        return lambda: torch.matmul(a, b.T, out=c)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=True)


def is_right(tensors, run):
    """Whether a launch gives the product, by every 37th row in float64."""
    a, b, c = tensors
    c.fill_(float("nan"))
    run()
    torch.cuda.synchronize()
    rows = torch.arange(0, a.shape[0], 37, device="cuda")
    expected = a[rows].double() @ b.double().T
    # Of sums of 8-bit products the tensor cores keep 14 bits.
    error = 2e-2 if a.element_size() == 1 else 2e-3
    return bool(torch.allclose(c[rows].double(), expected, atol=error * a.shape[1]**0.5 + 0.05, rtol=4e-3))


def measure(shape, eight, persistent, packages, seconds):
    """One row of each tile."""
    tensors = tensors_of(shape, eight)
    flops = 2 * shape[0] * shape[1] * shape[2]
    for tile in TILES_8 if eight else TILES:
        candidates, notes = {"cublas": library(tensors, eight)}, []
        for name, kernels in packages.items():
            try:
                run = launch(kernels, tensors, shape, tile, persistent)
                if not is_right(tensors, run):
                    notes.append(f"{name}: WRONG")
                    continue
                candidates[name] = run
            except Exception as error:  # noqa: BLE001: a configuration may not fit, and the others go on
                notes.append(f"{name}: {type(error).__name__} {str(error)[:120]}")
        times = race(candidates, seconds)
        rates = " ".join(f"{name} {flops / times[name] / 1e9:7.1f}" for name in times)
        kind = ("fp8 " if eight else "fp16 ") + ("persistent" if persistent else "tiles")
        print(f"{'x'.join(map(str, shape)):16} {kind:15} {str(tile):26} {rates} {'; '.join(notes)}", flush=True)


def main():
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="/tmp")
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--packages", nargs="*", default=["deuteron", "triton"])
    parser.add_argument("--shapes", type=int, default=len(SHAPES))
    parser.add_argument("--eight", action="store_true")
    options = parser.parse_args()
    packages = {name: load(name, options.folder) for name in options.packages}
    for shape, persistent in itertools.product(SHAPES[:options.shapes], (False, True)):
        measure(shape, options.eight, persistent, packages, options.seconds)


if __name__ == "__main__":
    main()
