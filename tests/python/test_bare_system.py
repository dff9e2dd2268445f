"""The wheels on a system that has nothing but a C library and Python: packages of Debian 12 unpacked into a folder, and `chroot`."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest
from test_wheels import KERNEL, wheels  # noqa: F401

KEYS = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Python 3.11 with the modules that a kernel's launch imports, and what these are linked to; glibc is 2.36 there.
PACKAGES = ("libc6", "libgcc-s1", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1", "zlib1g", "libssl3",
            "libffi8", "libbz2-1.0", "liblzma5",
            # `env`, by which the variables of this machine are left out.
            "coreutils", "libacl1", "libattr1", "libselinux1", "libpcre2-8-0", "libgmp10")


def shell(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300, **more)


def why_not():
    """Why this machine cannot make such a system; None if it can."""
    if sys.version_info[:2] != (3, 11):
        return f"Debian 12 has Python 3.11, and the wheel here is for {sys.version_info[0]}.{sys.version_info[1]}"
    missing = [name for name in ("apt-get", "dpkg", "chroot", "unshare") if not shutil.which(name)]
    if missing:
        return f"there is no {missing[0]}"
    if not KEYS.is_file():
        return f"{KEYS} is missing, by which packages are checked"
    return "chroot needs the rights of root" if os.geteuid() else None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"NOT RUN: {why_not()}")


@pytest.fixture(scope="module")
def system(wheels, tmp_path_factory):  # noqa: F811
    """The folder of the system, with the wheels unpacked into `/site`."""
    folder = tmp_path_factory.mktemp("system")
    root, lists, packages = folder / "root", folder / "lists", folder / "packages"
    for made in (root, lists / "partial", packages, folder / "archives/partial"):
        made.mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] http://deb.debian.org/debian bookworm main\n")
    apt = ["apt-get", "--quiet", "-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={lists}",
           "-o", "Dir::State::Status=/dev/null", "-o", f"Dir::Cache={folder}", "-o", "APT::Sandbox::User=root"]
    for done in (shell(*apt, "update"), shell(*apt, "download", *PACKAGES, cwd=packages)):
        if done.returncode:
            pytest.skip(f"NOT RUN: Debian's packages cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    for package in sorted(packages.glob("*.deb")):
        done = shell("dpkg", "-x", package, root)
        assert done.returncode == 0, done.stderr
    for wheel in sorted(wheels.glob("*.whl")):
        zipfile.ZipFile(wheel).extractall(root / "site")
    for name in "tmp", "home", "proc":
        (root / name).mkdir(exist_ok=True)
    yield root
    shutil.rmtree(folder)


def run(root, *arguments):
    environment = {"HOME": "/home", "PATH": "/usr/bin", "LANG": "C.UTF-8", "PYTHONPATH": "/site"}
    # As in a container, the system has `/proc`; the mount goes with the process.
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i "$@"'
    variables = [f"{name}={value}" for name, value in environment.items()]
    return shell("unshare", "--mount", "sh", "-c", inside, root, *variables, "/usr/bin/python3.11", *arguments)


def test_a_kernel_runs_and_others_are_compiled(system):
    (system / "home/kernel.py").write_text(KERNEL)
    done = run(system, "/home/kernel.py")
    assert done.returncode == 0, done.stderr
    (system / "home/compiled.py").write_text(KERNEL[:KERNEL.index("x = array")])
    for target, stage, word in ("cuda:90", "ptx", ".entry scale"), ("hip:gfx942", "amdgcn", ".amdhsa_kernel scale"):
        done = run(system, "-m", "deuteron", "compile", "/home/compiled.py", "--kernel", "scale", "--signature", "*fp32,*fp32,i32,128",
                   "--target", target, "--emit", stage)
        assert done.returncode == 0, done.stderr
        assert word in done.stdout, done.stdout[-2000:]


def test_what_was_found_is_said(system):
    done = run(system, "-m", "deuteron", "info")
    assert done.returncode == 0, done.stderr
    assert "deuteron_llvm/lib/libLLVM" in done.stdout, done.stdout
