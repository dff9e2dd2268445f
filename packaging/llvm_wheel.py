"""Packs a shared LLVM into the wheel `deuteron-llvm`, which `pip install 'deuteron[cpu]'` brings along.

The library is the one of a Rust toolchain: it has the targets X86, AArch64 and AMDGPU, needs nothing but the C library and zlib,
and is built for old versions of both. Nothing is changed in it. The licences that the toolchain carries go with it.

    python packaging/llvm_wheel.py --out dist                                      # for this machine
    python packaging/llvm_wheel.py --out dist --toolchain ~/.rustup/toolchains/stable-aarch64-unknown-linux-gnu
"""

import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

from elf import Elf

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "deuteron_llvm"
LICENCES = ("Apache-2.0.txt", "LLVM-exception.txt", "GCC-exception-3.1.txt")
# Targets that the library must have for what Deuteron compiles.
TARGETS = ("X86", "AArch64", "AMDGPU")


class Refused(Exception):
    """Why no wheel was made."""


def toolchain_of_path():
    """The folder of the Rust toolchain whose `rustc` is on the path."""
    answer = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    return pathlib.Path(answer.stdout.strip())


def library_in(toolchain):
    """The shared LLVM of a toolchain: its largest file by that name, as the others are links and linker scripts."""
    found = sorted((toolchain / "lib").glob("libLLVM*.so*"), key=lambda file: file.stat().st_size)
    if not found or found[-1].stat().st_size < 1 << 20:
        raise Refused(f"{toolchain} has no shared LLVM in lib/; install a toolchain with one: rustup toolchain install stable")
    return found[-1]


def llvm_version(library):
    """The version of an LLVM by its own text, as `22.1.2`."""
    major, minor = re.match(r"libLLVM(?:\.so\.|-)(\d+)(?:\.(\d+))?", library.name).groups()
    text = re.search(rb"LLVM version (%s\.\d+\.\d+)|\0(%s\.%s\.\d+)\b" % (major.encode(), major.encode(), (minor or "1").encode()),
                     library.read_bytes())
    return (text.group(1) or text.group(2)).decode() if text else f"{major}.{minor or 0}"


def check(elf, library):
    """Refuses a library that could not be loaded, or that lacks a target."""
    missing = [target for target in TARGETS if f"LLVMInitialize{target}Target" not in elf.defined]
    if missing:
        raise Refused(f"{library} lacks the targets {', '.join(missing)}")
    strange = [name for name in elf.needed if not re.match(r"(lib(rt|dl|pthread|m|c|z|gcc_s)\.so|ld-linux)", name)]
    if strange:
        raise Refused(f"{library} needs {', '.join(strange)}, which other machines may not have")


def record_row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def contents(library, licences, version, tag):
    """The files of the wheel: names and bytes, the record last."""
    info = f"{PACKAGE}-{version}.dist-info"
    short = re.match(r"libLLVM(?:\.so\.[\d.]+|-\d+\.so[\d.]*)", library.name).group(0).rstrip(".")
    files = {
        f"{PACKAGE}/__init__.py": (HERE / "llvm_package.py").read_bytes(),
        f"{PACKAGE}/lib/{short}": library.read_bytes(),
    }
    files |= {f"{info}/licenses/{file.name}": file.read_bytes() for file in licences}
    files[f"{info}/METADATA"] = (HERE / "llvm_metadata.txt").read_text().replace("VERSION", version).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: deuteron\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(record_row(name, data) for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    return files


def build(toolchain, out, level):
    """Writes the wheel; returns its path."""
    library = library_in(toolchain)
    licences = [toolchain / "share/doc/rust/licenses" / name for name in LICENCES]
    absent = [str(file) for file in licences if not file.is_file()]
    if absent:
        raise Refused(f"licences are missing: {', '.join(absent)}")
    elf = Elf.read(library)
    check(elf, library)
    version = llvm_version(library)
    tag = f"py3-none-{elf.platform_tag()}"
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{PACKAGE}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in contents(library, licences, version, tag).items():
            # A fixed time: the same library gives the same bytes.
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, compresslevel=level)
    return wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("dist"))
    parser.add_argument("--toolchain", type=pathlib.Path, help="folder of a Rust toolchain; that of `rustc` by default")
    parser.add_argument("--level", type=int, default=9, help="of compression, 1 to 9")
    options = parser.parse_args()
    try:
        wheel = build(options.toolchain or toolchain_of_path(), options.out, options.level)
    except Refused as reason:
        sys.exit(f"llvm_wheel: {reason}")
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
