"""``TRITON_INTERPRET=1``: the same kernels without a code generator, every access checked."""

import textwrap

from conftest import ROOT

INTERPRETED = {"TRITON_INTERPRET": "1"}


def test_the_tests_of_kernels_and_arguments_pass_interpreted(python):
    """What differs is left out: the interpreter refuses misaligned accesses and has no code to show."""
    tests = [ROOT / "tests" / "python" / name
             for name in ("test_seed_kernels.py", "test_arguments.py", "test_launch.py")]
    left_out = "not not_aligned and not what_a_compiled_kernel_tells"
    done = python("-m", "pytest", "-q", "-x", *tests, "-k", left_out, env=INTERPRETED, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


def test_no_llvm_is_needed(python, tmp_path):
    code = "import seed_kernels as s, numpy as np; y = np.zeros(9, np.float32); " \
        "s.add_kernel[(1, )](y + 1, y + 2, y, 9, BLOCK_SIZE=16); print(y.sum())"
    env = {**INTERPRETED, "DEUTERON_LLVM_PATH": str(tmp_path / "none.so"), "TRITON_CACHE_DIR": str(tmp_path)}
    assert python("-c", code, env=env, cwd=ROOT / "tests" / "python").stdout == "27.0\n"


def test_an_access_outside_its_array_names_the_line(python, tmp_path):
    script = tmp_path / "outside.py"
    script.write_text(textwrap.dedent("""\
        import numpy as np
        import triton, triton.language as tl

        @triton.jit
        def fill(out_ptr, n, BLOCK: tl.constexpr):
            offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out_ptr + offsets, 1.0, mask=offsets < n)

        out = np.zeros(20, np.float32)
        try:
            fill[(2, )](out, 25, BLOCK=16)
        except RuntimeError as error:
            print(error)
        fill[(2, )](out, 20, BLOCK=16)
        print(out.sum())
        """))
    lines = python("-m", "deuteron", script, env=INTERPRETED).stdout.splitlines()
    assert lines[0].startswith(f"{script}:7:") and "out of bounds" in lines[0] and "80 bytes" in lines[0]
    assert "program (1, 0, 0)" in lines[1] and lines[-1] == "20.0"
