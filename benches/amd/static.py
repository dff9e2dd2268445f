"""What the code of kernels for AMD GPUs consists of, beside that of the installed reference: nothing is run and nothing is timed.

``python benches/amd/static.py [--arch gfx942] [--reference PYTHON] [--only NAME] [--keep FOLDER]``: `PYTHON` is an interpreter
that has the reference. Each compiler works in a process of its own and writes assembly; both are read by the same code. A row is
a kernel and a compiler: registers, spills and LDS of the kernel, then what its longest loop with dots (else its longest loop, else
the kernel) executes. ``waves`` are those a SIMD holds by registers and LDS, by the formula of AMD's tuning guide. Beside a reference,
each row of ours says which of the bars (:func:`missed`) it misses; with ``--check`` the command then fails.
"""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "gpu"))

#: From name to file, kernel, types of the parameters, constants, options. Numbers are multiples of 16 and arrays less than 2 GiB.
HALVES = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16"}
STRIDES = ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")


def matmul(m, n, k, **options):
    """A tile of a product of row-major matrices."""
    sizes = {**dict.fromkeys(("M", "N", "K"), "i32"), **dict.fromkeys(STRIDES, "i32")}
    constants = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1, "BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k,
                 "GROUP_SIZE_M": 8, "ACTIVATION": ""}
    return "matmul", "matmul_kernel", {**HALVES, **sizes}, constants, options


def attention(causal):
    """A tile of 128 queries and 64 keys, 128 elements each."""
    types = {**dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*fp16"), "scale": "fp32",
             "stride_head": "i32", "stride_row": "i32", "n_rows": "i32"}
    constants = {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD_DIM": 128, "CAUSAL": causal}
    return "attention", "attention_forward", types, constants, {"num_warps": 4}


def cases():
    """From name to what is compiled."""
    vectors = {**dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32"), "n_elements": "i32"}
    rows = {"in_ptr": "*fp32", "output_ptr": "*fp32", "row_stride": "i32", "n_cols": "i32"}
    persistent = {"output_ptr": "*fp32", "input_ptr": "*fp32", "input_row_stride": "i32", "output_row_stride": "i32",
                  "n_rows": "i32", "n_cols": "i32"}
    norm = {**dict.fromkeys(("x_ptr", "y_ptr", "w_ptr", "b_ptr"), "*fp16"), "mean_ptr": "*fp32", "rstd_ptr": "*fp32",
            "row_stride": "i32", "n_cols": "i32", "eps": "fp32"}
    return {
        "add 1024": ("seeds", "add_kernel", vectors, {"BLOCK_SIZE": 1024}, {"num_warps": 4}),
        "softmax 3 loops 1024": ("seeds", "softmax_kernel_naive", rows, {"BLOCK_SIZE": 1024}, {"num_warps": 4}),
        "softmax persistent 1024": ("seeds", "softmax_kernel", persistent, {"BLOCK_SIZE": 1024, "num_stages": 2},
                                    {"num_warps": 8}),
        "layer norm 4096": ("layer_norm", "layer_norm_forward", norm, {"BLOCK_SIZE": 4096}, {"num_warps": 8}),
        "matmul 64x64x32": matmul(64, 64, 32, num_warps=4),
        "matmul 128x128x32": matmul(128, 128, 32, num_warps=4),
        "matmul 128x128x64": matmul(128, 128, 64, num_warps=4),
        "matmul 128x128x64, 8 warps, 16x16": matmul(128, 128, 64, num_warps=8, matrix_instr_nonkdim=16),
        "matmul 256x256x64, 8 warps": matmul(256, 256, 64, num_warps=8),
        "attention 128x64x128": attention(False),
        "attention causal 128x64x128": attention(True),
    }


def lanes(arch):
    """Lanes of a wave."""
    return 64 if arch.startswith("gfx9") else 32


def signature(function, types, constants):
    """The types of all parameters, and what is known of them."""
    types = {arg: "constexpr" if arg in constants else types[arg] for arg in function.arg_names}
    attributes = {}
    for at, arg in enumerate(function.arg_names):
        pointer = [["tt.pointer_range", 32]] if types[arg].startswith("*") else []
        if pointer or types[arg] == "i32":
            attributes[(at, )] = [["tt.divisibility", 16], *pointer]
    return types, attributes


def emit(compiler, arch, folder, only):
    """Compiles with `compiler` and writes the assembly of each kernel, with a line of the milliseconds that it took."""
    import kernels

    package = importlib.import_module("triton" if compiler == "reference" else "deuteron")
    source = importlib.import_module(f"{package.__name__}.compiler").ASTSource
    target = importlib.import_module(f"{package.__name__}.backends.compiler").GPUTarget
    modules = {}
    for name, (file, kernel, types, constants, options) in cases().items():
        if only not in name:
            continue
        module = modules.setdefault(file, None) or kernels.load(file, package)
        modules[file] = module
        function = getattr(module, kernel)
        types, attributes = signature(function, types, constants)
        began = time.perf_counter()
        try:
            compiled = package.compile(source(function, types, constants, attributes), target=target("hip", arch, lanes(arch)),
                                       options=options)
            ms, text = (time.perf_counter() - began) * 1e3, compiled.asm["amdgcn"]
            text += f"\n; shared {compiled.metadata.shared}\n; took {ms:.0f}\n; warps {options['num_warps']}\n"
            (Path(folder) / f"{name}.{compiler}.ll").write_text(compiled.asm["llir"])
        except Exception as error:
            text = f"; failed {type(error).__name__}: {str(error).splitlines()[0][:100]}\n"
        (Path(folder) / f"{name}.{compiler}.s").write_text(text)


#: Groups of instructions, by the beginnings of their names.
GROUPS = {
    "global": r"(global|buffer|flat)_(load|store|atomic)",
    "lds read": r"ds_(read|load)", "lds write": r"ds_(write|store)", "dot": r"v_(mfma|smfmac|wmma)", "acc": r"v_accvgpr",
    "exp": r"v_exp", "wait": r"s_wait(cnt|_)", "barrier": r"s_barrier($|_wait)", "scratch": r"scratch_|buffer_.*off.*s32",
    "valu": r"v_(?!mfma|smfmac|wmma|accvgpr)",
}
#: How many bytes a lane moves with it, by the end of the name.
WIDTHS = (("dwordx4", 16), ("b128", 16), ("dwordx3", 12), ("b96", 12), ("dwordx2", 8), ("b64", 8), ("dword", 4), ("b32", 4))


def width(name):
    """Bytes of an access."""
    bytes_ = next((size for ending, size in WIDTHS if re.sub(r"_(lds|tr.*)$", "", name).endswith(ending)), 2)
    return 2 * bytes_ if re.match(r"ds_(read|write|load|store)_?2", name) else bytes_


def loops(text):
    """The instructions of each innermost loop: between a label and a branch back to it, without a smaller one inside. A branch to
    code above that does not come back is none."""
    lines, labels = [], {}
    for line in text.splitlines():
        line = line.split(";")[0].strip()
        if match := re.match(r"(\.LBB\w+):", line):
            labels[match[1]] = len(lines)
        elif line and re.match(r"[a-z]+_", line):
            lines.append(line)

    def target(at):
        branch = re.match(r"s_c?branch\w*\s+(\.LBB\w+)", lines[at])
        return labels.get(branch[1]) if branch else None

    def reaches(start, end):
        seen, waiting = set(), [start]
        while waiting:
            at = waiting.pop()
            while at < len(lines) and at not in seen:
                seen.add(at)
                if at == end:
                    return True
                if target(at) is not None:
                    waiting.append(target(at))
                if re.match(r"s_branch|s_endpgm", lines[at]):
                    break
                at += 1
        return False

    found = [(target(at), at + 1) for at in range(len(lines)) if (target(at) or at + 1) <= at]
    found = [(a, b) for a, b in found if reaches(a, b - 1)]
    inner = [(a, b) for a, b in found if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in found)]
    return [lines[a:b] for a, b in inner], lines


def counted(instructions):
    """How many instructions of each group, and accesses by width."""
    names = [line.split()[0] for line in instructions]
    counts = {group: sum(bool(re.match(pattern, name)) for name in names) for group, pattern in GROUPS.items()}
    counts["all"] = len(names)
    for group in ("global", "lds read", "lds write"):
        sizes = Counter(width(name) for name in names if re.match(GROUPS[group], name))
        counts[group] = " ".join(f"{number}x{size}" for size, number in sorted(sizes.items(), reverse=True)) or "-"
    return counts


def number(text, *patterns):
    """The first number that one of these names."""
    found = next((match for pattern in patterns if (match := re.search(pattern, text))), None)
    return int(found[1]) if found else 0


def waves(arch, registers, lds, warps):
    """Waves of a SIMD: the guide's formula."""
    total, granule, most = (512, 8, 8) if arch.startswith("gfx9") else (1536, 24, 16)
    memory = {"gfx950": 160 << 10}.get(arch, 64 << 10)
    by_registers = min(most, total // max(granule, -(-registers // granule) * granule))
    blocks = min(by_registers * 4 // warps, memory // lds if lds else 1 << 20)
    return blocks * warps / 4


def row(arch, text):
    """The figures of a kernel."""
    if failed := re.search(r"; failed (.*)", text):
        return {"failed": failed[1]}
    inner, everything = loops(text)
    main = max(inner or [everything], key=lambda lines: (sum("mfma" in x or "wmma" in x for x in lines), len(lines)))
    facts = counted(main)
    vgprs, agprs = number(text, r"\.vgpr_count:\s+(\d+)"), number(text, r"\.agpr_count:\s+(\d+)")
    lds = number(text, r"; shared (\d+)")
    facts.update(vgpr=vgprs, agpr=agprs, sgpr=number(text, r"\.sgpr_count:\s+(\d+)"), lds=lds,
                 spill=number(text, r"\.vgpr_spill_count:\s+(\d+)"), ms=number(text, r"; took (\d+)"))
    warps = number(text, r"; warps (\d+)")
    facts["waves"] = f"{waves(arch, vgprs, lds, warps):g}"
    return facts


#: LDS reads and writes of the main loop at most: as many as 16 bytes a lane each need, of waves of 64 lanes.
LDS = {"matmul 128x128x64": (16, 8), "matmul 128x128x64, 8 warps, 16x16": (12, 4), "matmul 256x256x64, 8 warps": (24, 8),
       "attention 128x64x128": (32, 8), "attention causal 128x64x128": (32, 8)}


def total(sizes):
    """How many accesses `2x16 4x8` are."""
    return sum(int(part.split("x")[0]) for part in sizes.split() if part != "-")


def missed(arch, name, ours, theirs):
    """The bars that a row does not reach: what the reference has, and what the widths of the instructions allow."""
    if "failed" in ours:
        return ["failed"]
    found = ["spill"] if ours["spill"] else []
    if name not in UNBOUND:
        found += [] if set(re.findall(r"x(\d+)", ours["global"])) <= {"16"} else ["global"]
    if name in LDS and lanes(arch) == 64:
        found += [key for key, most in zip(("lds read", "lds write"), LDS[name]) if total(ours[key]) > most]
    if "softmax 3" in name and ours["barrier"]:
        found.append("barrier")
    if "causal" in name and ours["acc"]:
        found.append("acc")
    if "failed" not in theirs:
        found += [key for key in ("vgpr", "wait") if ours[key] > theirs[key]]
        found += ["waves"] if float(ours["waves"]) < float(theirs["waves"]) else []
    return found


#: Kernels whose lanes hold less than 16 bytes of a row.
UNBOUND = ("softmax persistent 1024",)

COLUMNS = ("vgpr", "agpr", "sgpr", "spill", "lds", "waves", "all", "global", "lds read", "lds write", "dot", "acc", "valu", "exp",
           "wait", "barrier", "ms")


def table(arch, folder, compilers):
    """Prints everything."""
    print(f"{'kernel':34} {'compiler':9} " + " ".join(f"{column:>9}" for column in COLUMNS))
    count = 0
    for name in cases():
        files = {compiler: folder / f"{name}.{compiler}.s" for compiler in compilers}
        facts = {compiler: row(arch, file.read_text()) for compiler, file in files.items() if file.exists()}
        for compiler, figures in facts.items():
            cells = figures.get("failed") or " ".join(f"{figures[column]!s:>9}" for column in COLUMNS)
            compared = compiler == "deuteron" and "reference" in facts
            bars = missed(arch, name, figures, facts["reference"]) if compared else []
            count += len(bars)
            print(f"{name:34} {compiler:9} {cells}" + (f"  above: {', '.join(bars)}" if bars else ""))
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--reference", help="a Python interpreter that has the reference")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--keep", type=Path, help="where the assembly goes")
    parser.add_argument("--check", action="store_true", help="fail where a bar is missed")
    parser.add_argument("--emit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.emit:
        return emit(options.emit, options.arch, options.keep, options.only)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        interpreters = {"deuteron": sys.executable, **({"reference": options.reference} if options.reference else {})}
        for compiler, interpreter in interpreters.items():
            subprocess.run([interpreter, __file__, "--emit", compiler, "--arch", options.arch, "--only", options.only, "--keep",
                            str(folder)], check=True)
        count = table(options.arch, folder, interpreters)
    return 1 if options.check and count else 0


if __name__ == "__main__":
    sys.exit(main())
