"""The Rust door on a GPU: the example runs without Python and checks its own result."""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(os.environ.get("DEUTERON_RUST_EXAMPLE") or
               Path(__file__).resolve().parents[2] / "target" / "release" / "examples" / "softmax")


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"NOT RUN: {PROGRAM} is not built (make gpu-test builds it where cargo is; "
                    "DEUTERON_RUST_EXAMPLE names another)")
def test_the_example_runs_on_the_gpu():
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("target cuda") and "1823 rows of 781" in done.stdout
