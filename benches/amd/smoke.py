"""Runs code objects for AMD GPUs by an emulator of their machine code that others wrote: tinygrad's.

``python benches/amd/smoke.py --emulator CHECKOUT [--arch gfx90a gfx942 gfx950 gfx1100 gfx1200] [--only NAME] [--check]``: `CHECKOUT`
is a clone of github.com/tinygrad/tinygrad (MIT), which is no part of this project. It makes its code by clang, or, where there is none, by the
shared LLVM that `LLVM_PATH` names and gcc. Each kernel of ``smoke_kernels.py`` is compiled, linked, and loaded as the HIP runtime would: segments,
descriptor, arguments. It then runs in a process of its own, and what comes out is compared with NumPy.

A row is one of: `right`; `wrong`, with the first difference; `not run`, with the instruction that the emulator does not know. With
``--check`` a kernel that is wrong fails the command. The emulator has faults of its own, knows three generations (CDNA, RDNA 3,
RDNA 4) and not their chips, no races and no waits: a wrong row is a question, a right one says that the last mile holds. Faults that were
found by comparing with the ISA manuals are repaired while it is loaded (``smoke_repairs.py``).
"""

import argparse
import ctypes
import json
import mmap
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: The generations that the emulator knows.
GENERATIONS = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1200": "rdna4"}

#: Kinds of segments.
LOAD, DYNAMIC = 1, 2
#: Granules of LDS in the second resource word of a descriptor: bits 15 to 23, of 512 bytes.
LDS_SHIFT, LDS_GRANULE = 15, 512


def compile_case(case, arch):
    """The code object of a case, and how it is launched."""
    import deuteron
    from deuteron.backends.compiler import GPUTarget
    from deuteron.compiler import ASTSource

    names = {"float32": "fp32", "float16": "fp16", "int32": "i32", "int8": "i8"}
    runtime = [name for name in case.kernel.arg_names if name not in case.constants]
    signature = dict.fromkeys(case.kernel.arg_names, "constexpr")
    attributes = {}
    for name, arg in zip(runtime, case.args):
        at = case.kernel.arg_names.index(name)
        if hasattr(arg, "dtype"):
            signature[name] = f"*{names[str(arg.dtype)]}"
            # Of RDNA the emulator knows no buffer operations.
            near = [["tt.pointer_range", 32]] if GENERATIONS[arch] == "cdna" else []
            attributes[(at,)] = [["tt.divisibility", 16], *near]
        else:
            signature[name] = "fp32" if isinstance(arg, float) else "i32"
    target = GPUTarget("hip", arch, 64 if GENERATIONS[arch] == "cdna" else 32)
    source = ASTSource(case.kernel, signature, case.constants, attributes)
    compiled = deuteron.compile(source, target=target, options=case.options)
    kinds = [signature[name] for name in runtime]
    return compiled.asm["hsaco"], compiled.metadata.name, compiled.metadata.shared, kinds, target.warp_size


class CodeObject:
    """A code object in memory as a loader puts it there."""

    def __init__(self, data):
        fields = struct.unpack_from("<16xHHIQQQIHHHHHH", data)
        segments = [struct.unpack_from("<IIQQQQQQ", data, fields[4] + at * fields[8]) for at in range(fields[9])]
        end = max(segment[3] + segment[6] for segment in segments if segment[0] == LOAD)
        self.memory = mmap.mmap(-1, end, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        for kind, _, offset, address, _, size, _, _ in segments:
            if kind == LOAD:
                self.memory[address:address + size] = data[offset:offset + size]
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        dynamic = next(segment for segment in segments if segment[0] == DYNAMIC)
        entries = struct.iter_unpack("<QQ", self.memory[dynamic[3]:dynamic[3] + dynamic[6]])
        self.tables = dict(entry for entry in entries)

    def symbol(self, name):
        """The address of a symbol, from the table of dynamic symbols."""
        symbols, strings = self.tables[6], self.tables[5]
        count = struct.unpack_from("<I", self.memory, self.tables[4] + 4)[0]
        for index in range(count):
            text, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.memory, symbols + 24 * index)
            end = self.memory.find(b"\0", strings + text)
            if self.memory[strings + text:end].decode() == name:
                return value
        raise KeyError(f"{name} is no symbol of the code object")


def arguments(kinds, values, grid):
    """The kernel's segment of arguments: its own, two addresses of scratch memory, then the counts of thread blocks. Arrays are copied
    to pages of their own; gives the last one as well."""
    data, kept = b"", []
    for kind, value in zip(kinds, values):
        if kind.startswith("*"):
            bytes_ = value.tobytes()
            memory = mmap.mmap(-1, len(bytes_) + mmap.PAGESIZE)
            memory[:len(bytes_)] = bytes_
            kept.append((memory, value))
            item = struct.pack("<Q", ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        else:
            item = struct.pack("<f" if kind == "fp32" else "<i", value)
        data += b"\0" * (-len(data) % len(item)) + item
    data += b"\0" * (-len(data) % 8) + b"\0" * 16
    return data + struct.pack("<III", *grid) + b"\0" * 256, kept


def registers(properties, address):
    """The scalar registers that a kernel begins with, of which the emulator has the address of the arguments alone: in front of it there
    may stand a buffer of scratch memory (4), the packet of the launch (2) and its queue (2)."""
    in_front = sum(count for bit, count in ((0, 4), (1, 2), (2, 2)) if properties >> bit & 1)
    return [0] * in_front + [address & 0xffffffff, address >> 32]


def run(job):
    """In the process of one kernel: runs it, and gives the bytes of its last array."""
    sys.path[:0] = [job["emulator"], str(HERE)]
    import smoke_repairs

    emu = smoke_repairs.emulator(job["emulator"])
    code = CodeObject(job["code"])
    at = code.symbol(job["name"] + ".kd")
    entry = struct.unpack_from("<q", code.memory, at + 16)[0]
    words = struct.unpack_from("<II", code.memory, at + 48)
    scratch = struct.unpack_from("<I", code.memory, at + 4)[0]
    granules = -(-job["shared"] // LDS_GRANULE)
    data, kept = arguments(job["kinds"], job["values"], job["grid"])
    segment = mmap.mmap(-1, len(data))
    segment[:] = data
    address = ctypes.addressof(ctypes.c_char.from_buffer(segment))
    arch = GENERATIONS[job["arch"]]
    properties = struct.unpack_from("<H", code.memory, at + 56)[0]
    emu.run_asm(code.base + at + entry, len(job["code"]), *job["grid"], job["lanes"], 1, 1, address,
                words[1] | granules << LDS_SHIFT, scratch, arch, registers(properties, address))
    memory, array = kept[-1]
    return memory[:array.nbytes]


def worker():
    """Runs the kernel of a file and writes its result, or what it stopped at, to another."""
    source, result = sys.argv[2:4]
    job = pickle.loads(Path(source).read_bytes())
    try:
        outcome = ("done", run(job))
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        outcome = ("not run", f"{type(error).__name__}: {lines[0][:160]}")
    Path(result).write_bytes(pickle.dumps(outcome))


#: What stands in for clang where there is none: the emulator's own loops are plain C.
COMPILER = """#!/bin/sh
for argument; do
    shift
    case "$argument" in --target=*) ;; *) set -- "$@" "$argument" ;; esac
done
object=$(mktemp)
gcc "$@" -o "$object" && cat "$object"
rm -f "$object"
"""


def environment(folder):
    """The variables that the emulator reads, where there is no clang."""
    if shutil.which("clang"):
        return dict(os.environ)
    compiler = Path(folder) / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o700)
    return {**os.environ, "DEV": "CPU:LLVM", "CC": str(compiler)}


def outcome_of(case, arch, emulator):
    """`right`, `wrong …` or `not run …`."""
    import numpy

    code, name, shared, kinds, lanes = compile_case(case, arch)
    job = {"emulator": emulator, "code": code, "name": name, "shared": shared, "kinds": kinds, "values": case.args,
           "grid": case.grid, "lanes": lanes * case.options["num_warps"], "arch": arch}
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "job", Path(folder) / "result"
        source.write_bytes(pickle.dumps(job))
        try:
            done = subprocess.run([sys.executable, __file__, "--worker", str(source), str(result)], capture_output=True, text=True,
                                  timeout=600, cwd=folder, check=False, env=environment(folder))
        except subprocess.TimeoutExpired:
            return "not run: longer than ten minutes"
        if not result.exists():
            return f"not run: the emulator ended with {done.returncode} {done.stderr.strip().splitlines()[-1:]}"
        kind, data = pickle.loads(result.read_bytes())
    if kind != "done":
        return f"{kind}: {data}"
    array = [arg for arg in case.args if hasattr(arg, "dtype")][-1]
    found = numpy.frombuffer(data, array.dtype).reshape(array.shape)
    expected = numpy.asarray(case.expected)
    same = numpy.isclose(found, expected, rtol=case.tolerance, atol=case.tolerance, equal_nan=True)
    if same.all():
        return "right"
    at = tuple(int(index) for index in numpy.argwhere(~same)[0])
    return f"wrong: {int((~same).sum())} of {same.size}, first at {at}: {found[at]} and not {expected[at]}"


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True, help="a clone of tinygrad's repository")
    parser.add_argument("--arch", nargs="+", default=list(GENERATIONS), choices=list(GENERATIONS))
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--check", action="store_true", help="fail where a kernel is wrong")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import smoke_kernels
    import smoke_repairs

    for what in smoke_repairs.source(options.emulator)[2]:
        print(f"not repaired: {what}")
    counts = {}
    for name, case in smoke_kernels.cases().items():
        if options.only not in name:
            continue
        for arch in options.arch:
            outcome = outcome_of(case, arch, os.path.abspath(options.emulator))
            kind = outcome.split(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            print(f"{name:32} {arch:8} {outcome}", flush=True)
    print(json.dumps(counts))
    return 1 if options.check and counts.get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
