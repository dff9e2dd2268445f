"""Builds the wheels that are released, from a clean checkout: `make wheels`.

`deuteron`, for each architecture: one for every Python from 3.12 on (its stable interface has what launches need since then), one
each for 3.10 and 3.11. `deuteron-llvm`, for each architecture: see `llvm_wheel.py`. All are made for the GNU C library 2.17 of 2012
(manylinux2014); zig links them, so that the libraries of this machine do not matter. What was built is then looked at: its size, what
it needs, for which C library.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import llvm_wheel
from elf import Elf

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURES = ("x86_64", "aarch64")
# Arguments of maturin for each build.
BUILDS = {"3.10": ("-i", "python3.10"), "3.11": ("-i", "python3.11"), "3.12+": ("-i", "python3.12", "--features", "abi3")}
MOST_BYTES = 8_000_000
GLIBC = (2, 17)


class Refused(Exception):
    """Why there are no wheels."""


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def commit(changed_too):
    """The commit of the checkout; of a changed one only where that was asked for, and marked."""
    short = git("rev-parse", "--short=10", "HEAD")
    if not git("status", "--porcelain", "--untracked-files=no"):
        return short
    if not changed_too:
        raise Refused("there are changes that are not committed; a release says from which commit it is (--dirty builds anyway)")
    return f"{short}-dirty"


def run(title, command, **more):
    print(f"{title} …", flush=True)
    start = time.monotonic()
    subprocess.run([str(part) for part in command], check=True, **more)
    print(f"{title}: {time.monotonic() - start:.0f} s", flush=True)


def build(arch, python, out, environment):
    target = f"{arch}-unknown-linux-gnu"
    command = [sys.executable, "-m", "maturin", "build", "--quiet", "--profile", "dist", "--zig", "--target", target,
               "--compatibility", "manylinux_{}_{}".format(*GLIBC), "--compression-level", "9", "--out", out,
               *BUILDS[python]]
    run(f"deuteron for Python {python} on {arch}", command, cwd=ROOT, env=environment)


def toolchain(arch):
    """The folder of the Rust toolchain that runs on an architecture. Another one's is fetched for its LLVM alone."""
    own = llvm_wheel.toolchain_of_path()
    host = next(line.split()[1] for line in subprocess.run(
        ["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines() if line.startswith("host:"))
    if host.startswith(arch):
        return own
    release = own.name.removesuffix(f"-{host}")
    name = f"{release}-{arch}-unknown-linux-gnu"
    folder = own.parent / name
    if not folder.is_dir():
        run(f"toolchain {name}", ["rustup", "toolchain", "install", name, "--profile", "minimal", "--force-non-host"])
    return folder


def check(wheel):
    """Refuses a wheel that is too large or asks too much of the machine that it comes to."""
    size = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        extension = next(name for name in archive.namelist() if name.endswith(".so"))
        elf = Elf.read(archive.extract(extension, folder))
    problems = []
    if size > MOST_BYTES:
        problems.append(f"it has {size:,} bytes, more than {MOST_BYTES:,}")
    if elf.glibc() > GLIBC:
        problems.append(f"it needs glibc {elf.glibc()}")
    if not wheel.stem.endswith(elf.machine):
        problems.append(f"its code is for {elf.machine}")
    if problems:
        raise Refused(f"{wheel.name}: {'; '.join(problems)}")
    print(f"{wheel.name}: {size / 1e6:.2f} MB, glibc {'.'.join(map(str, elf.glibc()))}, needs {', '.join(elf.needed)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES, help="once or more; both by default")
    parser.add_argument("--python", action="append", choices=BUILDS, help="once or more; all by default")
    parser.add_argument("--no-llvm", action="store_true", help="leave deuteron-llvm out")
    parser.add_argument("--dirty", action="store_true", help="build a checkout with changes too")
    options = parser.parse_args()
    architectures = options.arch or ARCHITECTURES
    try:
        # maturin finds zig as a module of the first Python on the path: the one that runs this.
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        environment = os.environ | {"DEUTERON_COMMIT": commit(options.dirty), "PATH": path}
        shutil.rmtree(options.out, ignore_errors=True)
        for arch in architectures:
            run(f"standard library for {arch}", ["rustup", "target", "add", f"{arch}-unknown-linux-gnu"])
            for python in options.python or BUILDS:
                build(arch, python, options.out, environment)
        for wheel in sorted(options.out.glob("deuteron-*.whl")):
            check(wheel)
        for arch in () if options.no_llvm else architectures:
            print(llvm_wheel.build(toolchain(arch), options.out, 9).name)
    except (Refused, llvm_wheel.Refused) as reason:
        sys.exit(f"wheels: {reason}")


if __name__ == "__main__":
    main()
