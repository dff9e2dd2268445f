"""A `ptxas` that waits for its text: it ends with the process that started it, however that ends, and forks have no part in it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: Compiles as many kernels as `compiled` is asked for; `waiting` answers the children of this process.
SETUP = """
import os, signal, sys, time
import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

@triton.jit
def add(x_ptr, n, NUMBER: tl.constexpr):
    at = tl.arange(0, 128)
    tl.store(x_ptr + at, tl.load(x_ptr + at) + NUMBER, mask=at < n)

def compiled(*numbers):
    kernels = (ASTSource(add, {"x_ptr": "*fp32", "n": "i32"}, {"NUMBER": number}) for number in numbers)
    return [triton.compile(kernel, target=GPUTarget("cuda", 90, 32)).asm["cubin"] for kernel in kernels]

def waiting():
    return open(f"/proc/self/task/{os.getpid()}/children").read().split()
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program; returns the words that it prints, and what is left in its folder for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    environment = {**os.environ, "DEUTERON_CACHE": "0", "TMPDIR": str(folder)}

    def run(text, **variables):
        program = tmp_path / "program.py"
        program.write_text(SETUP + text)
        done = subprocess.run([sys.executable, program], env={**environment, **variables}, stdout=subprocess.PIPE, text=True, timeout=120)
        return done.stdout.split(), list(folder.iterdir())

    return run


def are_gone(processes):
    """Whether processes end soon."""
    until = time.monotonic() + 5
    while any(Path(f"/proc/{process}").exists() for process in processes) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(Path(f"/proc/{process}").exists() for process in processes)


def test_machine_code_is_the_same(run):
    text = "print(*(code.hex() for code in compiled(1, 2, 3, 4)), len(waiting()))"
    (*ahead, count), _ = run(text)
    (*plain, none), _ = run(text, DEUTERON_PLAIN_PTXAS="1")
    assert ahead == plain and (count, none) == ("1", "0")


@pytest.mark.parametrize("end", [
    "", "sys.exit(3)", "raise ValueError", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGTERM)",
    "os.execv('/bin/true', ['true'])"
])
def test_it_ends_with_its_process(run, end):
    found, left = run(f"compiled(1, 2, 3)\nprint(*waiting(), flush=True)\n{end}")
    assert len(found) == 1 and are_gone(found) and not left


def test_it_ends_with_a_process_whose_fork_lives_on(run):
    (fork, *found), left = run("""
compiled(1, 2, 3)
first = waiting()
if fork := os.fork():
    compiled(4, 5)
    print(fork, *{*first, *waiting()} - {str(fork)}, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
os.close(1)
time.sleep(60)
""")
    try:
        assert len(found) == 2 and are_gone(found) and not left
    finally:
        os.kill(int(fork), signal.SIGKILL)


def test_forks_compile_by_their_own(run):
    found, left = run("""
codes = compiled(1, 2, 3)
forks = []
for _ in range(2):
    fork = os.fork()
    if fork == 0:
        same = compiled(1, 2, 3) == codes and len(waiting()) == 1
        os._exit(0 if same else 1)
    forks.append(fork)
ends = [os.waitpid(fork, 0)[1] for fork in forks]
print(*ends, compiled(1, 2, 3) == codes, *waiting())
""")
    assert found[:3] == ["0", "0", "True"] and len(found) == 4
    assert are_gone(found[3:]) and not left


def test_other_children_have_none_of_its_files(run):
    found, _ = run("""
import subprocess
compiled(1, 2, 3)
print(len(os.listdir("/proc/self/fd")) > 5, subprocess.run("ls /proc/self/fd", shell=True, stdout=subprocess.PIPE).stdout.count(b"\\n"))
""")
    # The three that every process has, and the folder.
    assert found == ["True", "4"]


def test_threads_compile_at_the_same_time(run):
    found, left = run("""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    codes = list(pool.map(lambda number: compiled(number)[0], [1, 2, 3, 4] * 8))
print(codes == codes[:4] * 8, len(waiting()) <= 2)
""")
    assert found == ["True", "True"] and not left


def test_it_ends_when_nothing_comes(run):
    found, _ = run("compiled(1, 2, 3)\nfirst = len(waiting())\ntime.sleep(11)\nprint(first, len(waiting()), len(compiled(4)))")
    assert found == ["1", "0", "1"]
