"""The kernels that ``torch.compile`` writes, compiled here and by the reference, as machine code: no GPU is needed.

``python benches/gpu/torch_kernels.py --reference PYTHON`` writes the kernels of `torch_models.py`, compiles
each in a few block sizes for sm_90 with Deuteron and with the Triton that ``PYTHON`` has (it needs torch as well), assembles both, and
prints for each how many instructions there are, how many of them in loops, registers, loads and stores of device memory, special
functions, barriers, shuffles and accesses of shared memory: reference / here. ``--only WORD`` keeps the kernels with a word in
their names.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

#: Block sizes and warps that are tried, by the kind of kernel.
CONFIGS = {
    "flat": [{"XBLOCK": 1024, "num_warps": 4}, {"XBLOCK": 512, "num_warps": 8}],
    "tiled": [{"XBLOCK": 64, "YBLOCK": 64, "num_warps": 8}, {"XBLOCK": 32, "YBLOCK": 32, "num_warps": 4}, {"XBLOCK": 256, "YBLOCK": 16, "num_warps": 4}],
    "looped": [{"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 8}, {"XBLOCK": 1, "R0_BLOCK": 4096, "num_warps": 16}, {"XBLOCK": 64, "R0_BLOCK": 64, "num_warps": 16}],
    "whole": [{"XBLOCK": 1, "num_warps": 8}, {"XBLOCK": 8, "num_warps": 8}],
}
#: What is counted: a name, and what instructions begin with.
COUNTED = {"LDG": "LDG", "STG": "STG", "MUFU": "MUFU", "BAR": "BAR", "SHFL": "SHFL", "LDS": "LDS", "STS": "STS"}


# --- the kernels ---


class Written(Exception):
    """Raised when the code of a model is known: nothing is run."""


def write_kernels(folder, only=""):
    """Writes a module for each kernel of each model with this word in its name, with its signature beside it."""
    import torch
    import torch._inductor.config as config
    from torch._inductor.graph import GraphLowering

    # Inductor writes the same code for a processor, with other block sizes.
    config.cpu_backend = "triton"
    config.force_disable_caches = True
    models = {}
    source = (Path(__file__).parent / "torch_models.py").read_text().replace('"cuda"', '"cpu"')
    exec(compile(source, "torch_models.py", "exec"), models)  # noqa: S102: our own file
    codegen = GraphLowering.codegen
    for name, make in models["MODELS"].items():
        if only not in name:
            continue
        found = []

        def stop(graph, found=found):
            code = codegen(graph)[0]
            found.append(getattr(code, "value", code))
            raise Written

        GraphLowering.codegen = stop
        run, inputs = make()
        is_trained = name in models["TRAINED"]
        try:
            with torch.set_grad_enabled(is_trained):
                out = torch.compile(run, backend=backend)(*inputs)
                if is_trained:
                    out.sum().backward()
        except Exception as error:  # noqa: BLE001: torch wraps what was raised
            print(f"{name}: {error}", file=sys.stderr)
        torch._dynamo.reset()
        for number, code in enumerate(found):
            split(folder, re.sub(r"\W+", "_", name) + (".backward" if number else ""), str(code))


def backend(graph, inputs):
    """Inductor as far as the code that it writes; graphs are run as they are, so that the one for gradients follows."""
    from functorch.compile import make_boxed_func
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(graph, inputs, **how):
        try:
            compile_fx_inner(graph, inputs, **how)
        except Exception as error:  # noqa: BLE001: torch wraps what was raised
            if "Written" not in repr(error):
                raise
        return make_boxed_func(graph.forward)

    return compile_fx(graph, inputs, inner_compile=inner)


def split(folder, model, code):
    """Writes the kernels of one generated module."""
    for name, source in re.findall(r"(triton_\w+) = async_compile\.triton\('\w+', '''(.*?)''', device_str", code, re.S):
        signature = re.search(r"'signature': (\{.*?\})", source)[1]
        constants = re.search(r"'constants': (\{.*?\})", source)[1]
        body = source[source.index("@triton.jit"):]
        head = ("import triton\nimport triton.language as tl\nfrom torch._inductor.runtime import triton_helpers\n"
                "from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math\n")
        text = f"{head}{body}\n\nNAME, SIGNATURE, CONSTANTS = {name!r}, {signature}, {constants}\n"
        (folder / f"{model}.{name[7:]}.py").write_text(text)


def kind(module):
    """Which block sizes a kernel takes."""
    if "R0_BLOCK" in module.SIGNATURE:
        return "looped"
    if "YBLOCK" in module.SIGNATURE:
        return "tiled"
    return "whole" if module.NAME.startswith("triton_per") else "flat"


def compile_kernels(folder, out):
    """Compiles every kernel by whichever Triton is imported here, and writes its PTX."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except NameError as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            continue
        names = list(module.SIGNATURE)
        # Inductor's own inputs begin where allocations do.
        aligned = {(at, ): [["tt.divisibility", 16]] for at, name in enumerate(names) if module.SIGNATURE[name].startswith("*")}
        for config in CONFIGS[kind(module)]:
            constants = {(names.index(name), ): value for name, value in {**module.CONSTANTS, **config}.items() if name in names}
            source = ASTSource(fn=getattr(module, module.NAME), signature=module.SIGNATURE, constexprs=constants, attrs=aligned)
            options = {"num_warps": config["num_warps"], "num_stages": 1, "debug": True, "sanitize_overflow": False}
            compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
            sizes = "x".join(str(config[size]) for size in ("XBLOCK", "YBLOCK", "R0_BLOCK") if size in config)
            (out / f"{path.stem}.{sizes}w{config['num_warps']}.ptx").write_text(compiled.asm["ptx"])


# --- the machine code ---


def counts(ptx, tools):
    """Instructions of a kernel, by name, with those in loops and the registers."""
    cubin = ptx.with_suffix(".cubin")
    said = subprocess.run([tools["ptxas"], "-arch=sm_90a", "-v", ptx, "-o", cubin], capture_output=True, text=True, check=True)
    lines = subprocess.run([tools["nvdisasm"], "-c", cubin], capture_output=True, text=True, check=True).stdout.splitlines()
    instruction = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z0-9_.]+)")
    found, labels, looped = [], {}, 0
    for line in lines:
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(found)
        if match := instruction.match(line):
            found.append(match[1])
            back = re.search(r"BRA.*\((\.L_x_\d+)\)", line)
            # What jumps to itself stands at the end of every kernel.
            if back and labels.get(back[1], len(found)) < len(found) - 2:
                looped += len(found) - labels[back[1]]
    result = {"all": len(found), "in loops": looped, "registers": int(re.search(r"Used (\d+) reg", said.stderr)[1])}
    return result | {name: sum(one.startswith(start) for one in found) for name, start in COUNTED.items()}


def tools_of(reference):
    """The assembler and the disassembler that the reference brings with it."""
    ask = "import pathlib, triton; print(pathlib.Path(triton.__file__).parent / 'backends/nvidia/bin')"
    folder = Path(subprocess.run([reference, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
    own = subprocess.run([sys.executable, "-c", "import deuteron; print(deuteron.knobs.nvidia.ptxas.path)"], capture_output=True, text=True)
    ptxas = own.stdout.strip()
    return {"ptxas": ptxas if Path(ptxas).is_file() else folder / "ptxas", "nvdisasm": folder / "nvdisasm"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", help="a Python that has the reference and torch")
    parser.add_argument("--only", default="", help="kernels with this word in their names")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--compile", nargs=2, type=Path, metavar=("FROM", "TO"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        return write_kernels(args.write)
    if args.compile:
        return compile_kernels(*args.compile)
    if not args.reference:
        parser.error("--reference PYTHON is needed")
    with tempfile.TemporaryDirectory(prefix="torch-kernels-") as folder:
        folders = {name: Path(folder) / name for name in ("kernels", "reference", "here")}
        [path.mkdir() for path in folders.values()]
        # What runs under `-m deuteron` hands that on to its children, so the reference is not started by it.
        here, call = [sys.executable, "-m", "deuteron"], [__file__, "--compile", folders["kernels"]]
        print("writing the kernels …", file=sys.stderr)
        subprocess.run([*here, __file__, "--write", folders["kernels"]], check=True)
        print("compiling them twice …", file=sys.stderr)
        subprocess.run([args.reference, *call, folders["reference"]], check=True)
        subprocess.run([*here, *call, folders["here"]], check=True)
        show(folders, tools_of(args.reference), args.only)
    return 0


def show(folders, tools, only):
    """Prints a line for each kernel."""
    for theirs in sorted(path for path in folders["reference"].glob("*.ptx") if only in path.name):
        one, two = counts(theirs, tools), counts(folders["here"] / theirs.name, tools)
        mark = " <<" if any(two[name] > 1.15 * one[name] for name in ("all", "in loops")) else ""
        print(f"{theirs.stem}: " + "  ".join(f"{name} {one[name]}/{two[name]}" for name in one) + mark, flush=True)


if __name__ == "__main__":
    sys.exit(main())
