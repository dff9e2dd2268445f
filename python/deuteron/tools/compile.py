"""A kernel as sources in C, which hold its machine code and launch it through the driver: ``python compile.py --help``."""

import importlib.util
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

import deuteron
from deuteron import _core
from deuteron.backends.compiler import GPUTarget


@dataclass
class CompileArgs:
    """What the command line says."""

    path: str = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: "str | None" = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: "str | None" = None
    out_path: "Path | None" = None


def _parser():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("path", help="a Python file that has the kernel; it is executed")
    parser.add_argument("--kernel-name", "-n", required=True, help="the kernel")
    parser.add_argument("--signature", "-s", required=True,
                        help='a type or value for each parameter, ":16" for multiples of 16 and ":1" for ones: "*fp32:16, i32:16, 1024, i32"')
    parser.add_argument("--grid", "-g", required=True, help='three expressions in C of the parameters: "(n + 1023) / 1024, 1, 1"')
    parser.add_argument("--target", "-t", help='"cuda:80:32", "hip:gfx942:64"; that of this machine by default')
    parser.add_argument("--num-warps", "-w", type=int, default=1, help="warps of a program")
    parser.add_argument("--num-stages", "-ns", type=int, default=3, help="stages of pipelined loops")
    parser.add_argument("--out-name", "-on", help="what the functions are called; the kernel's name by default")
    parser.add_argument("--out-path", "-o", type=Path, help="the files, without their endings; the name by default")
    return parser


def _kernel(path, name):
    """The kernel of a file, which sees the modules beside it."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _target(text):
    if text is None:
        return None
    backend, arch, warp_size = text.split(":")
    return GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(warp_size))


def compile_kernel(args: CompileArgs):
    """Writes the sources. The name of the function in C, and the files."""
    name = args.out_name or args.kernel_name
    path = args.out_path or Path(name)
    grid = args.grid.split(",")
    if len(grid) != 3:
        raise ValueError(f"a grid has three sizes, this one has {len(grid)}: {args.grid}")
    kernel = _kernel(Path(args.path), args.kernel_name)
    function, suffix, source, header = _core.c_sources(kernel, args.signature, grid, name, args.num_warps, args.num_stages,
                                                       _target(args.target))
    files = []
    for ending, text in ((".h", header), (".c", source)):
        files.append(path.with_suffix(f".{suffix}{ending}"))
        files[-1].write_text(text)
    return function, files


def main():
    """The command. Kernels that say ``import triton`` mean this package."""
    deuteron.install()
    compile_kernel(CompileArgs(**vars(_parser().parse_args())))


if __name__ == "__main__":
    main()
