"""The cache on disk: found again by new processes, safe under damage and races, private."""

import os
import stat
import subprocess
import sys

import pytest

KERNEL = """
import array, sys, time
import deuteron as triton, deuteron.language as tl

class Memory:
    dtype = tl.int32
    def __init__(self, size): self.values = array.array("i", [0] * size)
    def data_ptr(self): return self.values.buffer_info()[0]

@triton.jit
def kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets * {factor}, mask=offsets < n)

out = Memory(64)
began = time.perf_counter()
compiled = kernel[(1, )](out, 50, BLOCK=64)
with open("/proc/self/maps") as maps:
    loaded = "libLLVM" in maps.read()
print(compiled.hash, (time.perf_counter() - began) * 1e3)
print("LLVM", loaded, file=sys.stderr)
assert list(out.values) == [i * {factor} for i in range(50)] + [0] * 14
"""


@pytest.fixture
def program(tmp_path, python):
    """Runs the kernel in a new process; returns its hash and the milliseconds of the first launch."""

    def run(factor=3, stderr=False, **env):
        path = tmp_path / f"program_{factor}.py"
        path.write_text(KERNEL.format(factor=factor))
        finished = python(path, env={"TRITON_CACHE_DIR": str(tmp_path / "cache"), **env})
        if stderr:
            return finished.stderr
        digest, ms = finished.stdout.split()
        return digest, float(ms)

    return run


def entries(folder):
    """All files of the cache."""
    return [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]


def test_a_second_process_finds_the_entry(program, tmp_path):
    first, cold = program()
    files = {path: os.stat(path).st_mtime_ns for path in entries(tmp_path / "cache")}
    assert files
    again, warm = program()
    assert again == first
    assert {path: os.stat(path).st_mtime_ns for path in entries(tmp_path / "cache")}.keys() == files.keys()
    other, _ = program(factor=4)
    assert other != first
    print(f"first launch: {cold:.1f} ms compiled, {warm:.1f} ms from the cache")


def test_a_cached_start_needs_no_llvm(tmp_path, python):
    path = tmp_path / "program.py"
    path.write_text(KERNEL.format(factor=3))
    runs = [python(path, env={"TRITON_CACHE_DIR": str(tmp_path / "cache")}).stderr for _ in range(2)]
    assert [text.strip() for text in runs] == ["LLVM True", "LLVM False"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "garbage"])
def test_a_damaged_entry_is_compiled_again(program, tmp_path, damage):
    digest, _ = program()
    for path in entries(tmp_path / "cache"):
        with open(path, "rb") as file:
            content = bytearray(file.read())
        if damage == "truncated":
            content = content[:len(content) // 2]
        elif damage == "flipped":
            for position in range(0, len(content), 97):
                content[position] ^= 0x55
        elif damage == "emptied":
            content = b""
        else:
            content = os.urandom(len(content))
        os.chmod(path, 0o600)
        with open(path, "wb") as file:
            file.write(content)
    said = program(stderr=True)
    assert said.count("is damaged") == 1 and "Traceback" not in said
    assert program()[0] == digest
    assert "damaged" not in program(stderr=True)


def test_processes_that_compile_the_same_at_once(tmp_path):
    """One compiles; the others wait for it and take what it kept."""
    path = tmp_path / "program.py"
    path.write_text(KERNEL.format(factor=9).replace("print(compiled.hash, ", "print(compiled.hash, compiled.from_cache, "))
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    running = [subprocess.Popen([sys.executable, str(path)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True) for _ in range(6)]
    results = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 6, results
    answers = [out.split() for out, _ in results]
    assert len({digest for digest, *_ in answers}) == 1
    assert sorted(cached for _, cached, _ in answers) == ["False"] + ["True"] * 5
    leftovers = [name for name in entries(tmp_path / "cache") if ".tmp" in name]
    assert not leftovers


def test_a_cache_that_cannot_be_written_is_no_hindrance(program, tmp_path):
    blocked = tmp_path / "a_file"
    blocked.write_text("")
    assert program(TRITON_CACHE_DIR=str(blocked / "below"))[0] == program()[0]


def test_entries_belong_to_their_owner(program, tmp_path):
    program()
    for path in [tmp_path / "cache", *entries(tmp_path / "cache")]:
        assert not os.stat(path).st_mode & (stat.S_IWGRP | stat.S_IWOTH), path


def test_the_hash_depends_on_the_source_alone(program, tmp_path):
    """Neither on the folder of the source nor on the folder of the cache."""
    here = program()[0]
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "program_3.py").write_text(KERNEL.format(factor=3))
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache2")}
    there = subprocess.run([sys.executable, "program_3.py"], cwd=other, env=env, capture_output=True, text=True)
    assert there.stdout.split()[0] == here, there.stderr


def test_always_compile(program, tmp_path):
    program()
    assert program(TRITON_ALWAYS_COMPILE="1")[0] == program()[0]


def test_managers_of_files(tmp_path, monkeypatch):
    from deuteron.runtime.cache import get_cache_manager

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    manager = get_cache_manager("ab" * 32)
    assert manager.get_file("x.json") is None and manager.get_group("g") is None
    path = manager.put("text", "x.json", binary=False)
    assert manager.get_file("x.json") == path and open(path).read() == "text"
    other = manager.put("text", "y.json", binary=False)
    manager.put_group("g", {"x.json": path, "y.json": other})
    assert manager.get_group("g") == {"x.json": path, "y.json": other}
    os.remove(other)
    assert manager.get_group("g") is None, "a file of it is gone"
    with open(manager.get_file("__grp__g"), "w") as file:
        file.write("no json")
    assert manager.get_group("g") is None


def test_a_full_disk_is_told_once(tmp_path, python):
    """A limit on the size of files stands in for a full disk: writes fail in their middle."""
    program = tmp_path / "program.py"
    program.write_text(KERNEL.format(factor=3))
    starter = tmp_path / "starter.py"
    starter.write_text("import resource, runpy, sys\n"
                       "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
                       f"runpy.run_path({str(program)!r})\n"
                       f"runpy.run_path({str(program)!r})\n")
    env = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_ALWAYS_COMPILE": "1"}
    finished = python(starter, env=env)
    assert finished.stderr.count("cannot write to the cache") == 1, finished.stderr
    assert not [path for path in entries(tmp_path / "cache")], "neither half an entry nor what it was written to"
    assert "cannot write" not in python(program, env=env).stderr


WITHOUT_PRIVILEGES = """
import ctypes, os, runpy, sys
if os.geteuid() == 0:
    # The superuser may write everywhere, but for this: the owner of a folder without any privilege.
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
runpy.run_path(sys.argv[1], run_name='__main__')
"""


def test_a_cache_that_is_read_only_is_read(python, tmp_path):
    programs = []
    for factor in (3, 4):
        programs.append(tmp_path / f"program_{factor}.py")
        programs[-1].write_text(KERNEL.format(factor=factor))
    starter = tmp_path / "starter.py"
    starter.write_text(WITHOUT_PRIVILEGES)
    env = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    digest = python(programs[0], env=env).stdout.split()[0]
    folders = [root for root, _, _ in os.walk(tmp_path / "cache")]
    for folder in folders:
        os.chmod(folder, 0o500)
    try:
        again = python(starter, programs[0], env=env)
        assert again.stdout.split()[0] == digest and "LLVM False" in again.stderr and "cannot write" not in again.stderr
        assert python(starter, programs[1], env=env).stderr.count("cannot write to the cache") == 1
    finally:
        for folder in folders:
            os.chmod(folder, 0o700)


MANY = """
import array, itertools, sys
import deuteron as triton, deuteron.language as tl

class Memory:
    dtype = tl.int32
    def __init__(self, size): self.values = array.array("i", [0] * size)
    def data_ptr(self): return self.values.buffer_info()[0]

@triton.jit
def kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr, N)

out = Memory(1)
for number in range(int(sys.argv[1])):
    compiled = kernel[(1, )](out, number)
    assert out.values[0] == number
    print(number, compiled.from_cache, flush=True)
"""


def test_processes_killed_at_any_moment_lose_nothing(tmp_path):
    """Every kernel whose launch was seen before the kill comes from the cache afterwards; nothing is damaged."""
    import random
    import time

    path = tmp_path / "many.py"
    path.write_text(MANY)
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    seen = 0
    for _ in range(8):
        process = subprocess.Popen([sys.executable, str(path), "4000"], env=env, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE)
        lines = [process.stdout.readline() for _ in range(seen + random.randint(1, 25))]
        time.sleep(random.uniform(0, 0.02))
        process.kill()
        out, err = process.communicate()
        assert "damaged" not in err, err
        # The last line may be cut off.
        finished = [line.split() for line in "".join([*lines, out]).splitlines(True) if line.endswith("\n")]
        seen = max(seen, len(finished))
    again = subprocess.run([sys.executable, str(path), str(seen)], env=env, capture_output=True, text=True)
    assert again.returncode == 0 and "damaged" not in again.stderr, again.stderr
    lines = [line.split() for line in again.stdout.splitlines()]
    assert len(lines) == seen and all(cached == "True" for _, cached in lines)
    checked = subprocess.run([sys.executable, "-m", "deuteron", "cache", "verify"], env=env, capture_output=True, text=True)
    assert checked.returncode == 0 and " 0 damaged" in checked.stdout, checked.stdout
