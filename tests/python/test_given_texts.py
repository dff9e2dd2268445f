"""Stages of a compile that are given as text, with what the front end would not write."""

import re

import pytest
import triton
from triton.backends.compiler import GPUTarget

TEXT = """
#place = loc("{path}":3:5)
module {{
  tt.func public @copy(%p: !tt.ptr<f32> {{tt.divisibility = {divisor} : i32}}) {{
    %x = tt.load %p : !tt.ptr<f32> loc(#place)
    tt.store %p, %x : !tt.ptr<f32> loc(#place)
    tt.return loc(#place)
  }} loc(#place)
}} loc(#place)
"""


def ptx_of(tmp_path, **facts):
    file = tmp_path / "copy.ttir"
    file.write_text(TEXT.format(**{"path": "/home/k.py", "divisor": 16, **facts}))
    return triton.compile(str(file), target=GPUTarget("cuda", 90, 32)).asm["ptx"]


@pytest.mark.parametrize("path", ["/home/Jürgen/größe.py", "/home/核.py", "/home/a\x07b.py"])
def test_paths_of_sources_are_written_as_assemblers_read_them(tmp_path, path):
    files = re.findall(r'\.file\s+\d+ "(.*)"', ptx_of(tmp_path, path=path))
    assert files and all(name.isascii() and name.isprintable() for name in files), files


@pytest.mark.parametrize("divisor, align", [(16, 16), (1023, 1), (48, 16), (2**30, 128)])
def test_parameters_are_aligned_by_a_power_of_two(tmp_path, divisor, align):
    aligned = re.findall(r"\.align (\d+) copy_param_0", ptx_of(tmp_path, divisor=divisor))
    assert aligned == [str(align)], aligned
