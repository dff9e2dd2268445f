"""The kernels that `make gpu-bench` measures give what their checks expect, at small sizes on the CPU."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
JOBS = Path(__file__).resolve().parents[2] / "benches" / "gpu" / "small.py"


def test_jobs_over_rows_tiles_and_planes():
    done = subprocess.run([sys.executable, "-m", "deuteron", "--cuda-as-cpu", JOBS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("configurations") == 21
