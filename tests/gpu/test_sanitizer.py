"""``compute-sanitizer`` over the example kernels, where it is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SANITIZER = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


@pytest.mark.skipif(SANITIZER is None, reason="NOT RUN: compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_examples_are_clean(tool):
    script = Path(__file__).with_name("sanitize.py")
    done = subprocess.run([SANITIZER, f"--tool={tool}", "--error-exitcode=9", sys.executable, str(script)],
                          capture_output=True, text=True, timeout=900)
    if "Device not supported" in done.stdout + done.stderr:
        pytest.skip("NOT RUN: compute-sanitizer refuses this machine")
    assert done.returncode == 0 and "done" in done.stdout, (done.stdout + done.stderr)[-3000:]
