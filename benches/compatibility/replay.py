"""Compiles what `record.py` wrote down, with this compiler or with the reference, and compares what the two compile.

``python -m deuteron benches/compatibility/replay.py launches.jsonl --target cuda:90 --out ours.jsonl`` compiles each
line for a target, in a process of its own, and writes whether it compiled; ``python benches/compatibility/replay.py …
--out theirs.jsonl`` does so with the reference, for which a driver of that target is stood in where there is none.
``--compare theirs.jsonl ours.jsonl`` prints what share of those that the first one compiles the second does too, and
the others. ``--each 3`` takes up to three lines of each kernel, at even distances in the file.
"""

import argparse
import importlib
import json
import os
import signal
import sys
import time


def decode(value, kernel):
    """A constant of `triton.JITFunction.preload`'s JSON as it was."""
    import triton.language as tl

    if not isinstance(value, dict):
        return tuple(decode(item, kernel) for item in value) if isinstance(value, list) else value
    (kind, inner), = value.items()
    if kind == "constexpr":
        return tl.constexpr(decode(inner, kernel))
    if kind == "dtype":
        return tl.dtype(inner)
    if kind == "tuple":
        return tuple(decode(item, kernel) for item in inner)
    if kind == "jit_function":
        return found(*inner.split(":"))
    raise ValueError(f"a constant of kind {kind}")


def found(module, path):
    """The function of this name, without what tunes it."""
    value = importlib.import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    while not hasattr(value, "cache_key") and hasattr(value, "fn"):
        value = value.fn
    return value


def tupled(value):
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def compile_line(line, target):
    """Compiles one line. Returns the kernel."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    data = line["data"]
    function = found(line["module"], line["name"])
    signature = {name: tupled(kind) for name, kind in data["signature"].items()}
    places = map(tuple, data["constant_keys"])
    constants = {place: decode(value, function) for place, value in zip(places, data["constant_vals"])}
    attrs = dict(zip(map(tuple, data["attrs_keys"]), data["attrs_vals"]))
    source = ASTSource(function, signature, constants, attrs)
    options = {name: decode(value, function) for name, value in data["options"].items()}
    return triton.compile(source, target=GPUTarget(*target), options=options)


def lanes_of_a_warp(name, arch):
    """What goes together: CDNA GPUs (gfx9) have waves of 64 lanes, RDNA ones are compiled for 32."""
    return {"cuda": 32, "hip": 64 if arch.startswith("gfx9") else 32}.get(name, 1)


class Driver:
    """Stands for the driver of a device that is not there."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        raise AttributeError(name)

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget(*self._target)

    def get_current_device(self):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self._target[1], 10)

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", 0)

    @property
    def utils(self):
        return self

    @staticmethod
    def get_device_properties(device):
        return {"max_shared_mem": 232448, "multiprocessor_count": 132, "warpSize": 32, "max_num_regs": 65536}


def stand_in(target):
    """Makes the reference and torch believe in a device of a target."""
    import types

    import torch
    import triton

    triton.runtime.driver.set_active(Driver(target))
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_name = lambda device=None: "NVIDIA H100"
    torch.cuda.get_device_capability = lambda device=None: divmod(target[1], 10)
    torch.cuda.get_device_properties = lambda device=None: types.SimpleNamespace(
        multi_processor_count=132, major=9, minor=0, name="NVIDIA H100", total_memory=80 << 30, warp_size=32)


def chosen(path, each):
    """Lines of a file, up to `each` of a kernel."""
    kernels = {}
    with open(path) as file:
        for text in file:
            line = json.loads(text)
            kernels.setdefault((line["module"], line["name"]), []).append(text)
    for texts in kernels.values():
        step = max(1, -(-len(texts) // each)) if each else 1
        yield from map(json.loads, texts[::step])


def run_apart(work, seconds):
    """What `work` says in a process of its own: ``(result, seconds)``."""
    began = time.perf_counter()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(seconds)
        try:
            work()
            text = "compiled"
        except BaseException as error:
            place = str(error) or repr(error)
            text = f"{type(error).__name__}: {place}"
            if error.__cause__ is not None:
                text += f" ← {type(error.__cause__).__name__}: {error.__cause__}"
        os.write(write, text.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        text = "late" if os.WTERMSIG(status) == signal.SIGALRM else f"signal {os.WTERMSIG(status)}"
    return text, time.perf_counter() - began


def name_of(line):
    return json.dumps([line["module"], line["name"], line["data"]], sort_keys=True)


def replay(options):
    """Compiles all lines and writes what came of them."""
    name, _, arch = options.target.partition(":")
    target = (name, int(arch) if arch.isdigit() else arch or None, lanes_of_a_warp(name, arch))
    import triton

    if "deuteron" not in triton.__file__:
        stand_in(target)
    # Kernels are compiled without their tuners, whose arguments one compiler may refuse.
    triton.autotune = lambda *args, **kwargs: lambda function: function
    done = set()
    if os.path.exists(options.out):
        with open(options.out) as file:
            done = {json.loads(text)["kernel"] for text in file}
    written = (line for line in chosen(options.file, options.each) if line["data"] is not None)
    lines = [line for line in written if name_of(line) not in done]
    for module in sorted({line["module"] for line in lines}):
        try:
            importlib.import_module(module)
        except Exception as error:
            print(f"{module}: {type(error).__name__}: {error}", file=sys.stderr)
    with open(options.out, "a", buffering=1) as out:
        for line in lines:
            text, seconds = run_apart(lambda: compile_line(line, target), options.seconds)
            out.write(json.dumps({"kernel": name_of(line), "result": text, "seconds": round(seconds, 2)}) + "\n")


def compare(theirs, ours):
    """Prints what the second compiler does of what the first one does."""
    results = []
    for path in (theirs, ours):
        with open(path) as file:
            results.append({line["kernel"]: line for line in map(json.loads, file)})
    first, second = results
    both = [kernel for kernel in first if kernel in second]
    wanted = [kernel for kernel in both if first[kernel]["result"] == "compiled"]
    missing = [kernel for kernel in wanted if second[kernel]["result"] != "compiled"]
    for kernel in missing:
        module, name, _ = json.loads(kernel)
        print(f"{module}.{name}: {second[kernel]['result']}\n")
    kernels = [len({tuple(json.loads(kernel)[:2]) for kernel in group}) for group in (both, wanted, missing)]
    share = 100 * (1 - len(missing) / max(1, len(wanted)))
    print(f"{len(both)} signatures of {kernels[0]} kernels: the first compiles {len(wanted)} ({kernels[1]}); of these the "
          f"second compiles {len(wanted) - len(missing)}, {share:.2f} %, not {len(missing)} ({kernels[2]})")
    slow = sorted(wanted, key=lambda kernel: -second[kernel]["seconds"])[:5]
    print("slowest: " + ", ".join(f"{json.loads(kernel)[1]} {second[kernel]['seconds']} s" for kernel in slow))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="what record.py wrote")
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--out")
    parser.add_argument("--each", type=int, default=0, help="how many lines of a kernel at most; 0 for all")
    parser.add_argument("--seconds", type=int, default=60, help="how long a compile may take")
    parser.add_argument("--compare", nargs=2, metavar=("THEIRS", "OURS"))
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
    else:
        replay(options)


if __name__ == "__main__":
    main()
