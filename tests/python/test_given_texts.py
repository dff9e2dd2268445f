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


def test_a_text_may_be_indented(tmp_path):
    file = tmp_path / "copy.ttir"
    text = TEXT.format(path="/home/k.py", divisor=16)
    file.write_text("".join(f"    {line}\n" for line in text.splitlines()))
    assert "copy" in triton.compile(str(file), target=GPUTarget("cuda", 90, 32)).asm["ptx"]


@pytest.mark.parametrize("ending, text, types", [
    ("ttir", "tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %q: !tt.ptr<!tt.ptr<i8>>) {",
     ["*f16", "i32", "**i8"]),
    ("ttgir", "tt.func @k(%p: !tt.ptr<i8, 0> {tt.nv_tma_desc = 1 : i32}, %s: !tt.ptr<f32, 1>)\n attributes {x = 1} {",
     ["nvTmaDesc", "*f32"]),
    ("ttir", "tt.func @k(%x: f32, %y: i64) -> f32 {", ["f32", "i64"]),
    ("ttir", "tt.func public @k() {", []),
    ("ptx", ".visible .entry k(\n .param .u64 .ptr .global .align 16 k_param_0,\n .param .b32 k_param_1\n)\n{",
     ["u64", "b32"]),
])
def test_a_given_text_says_what_its_kernel_takes(tmp_path, ending, text, types):
    file = tmp_path / f"k.{ending}"
    file.write_text(text)
    source = triton.compiler.IRSource(str(file))
    assert source.signature == dict(enumerate(types)), source.signature
    assert source.name.removeprefix("@") == "k"


@pytest.mark.parametrize("ptxas", [None, "/nonexistent/ptxas"], ids=["usual", "library"])
def test_what_the_assembler_refuses_of_a_file_is_no_fault_of_the_compiler(tmp_path, ptxas):
    text = ptx_of(tmp_path)
    file = tmp_path / "copy.ptx"
    file.write_text(text.replace("ret;", "returns;"))
    try:
        with triton.knobs.nvidia.scope():
            if ptxas:
                triton.knobs.nvidia.ptxas = triton.knobs.nvidia.ptxas_blackwell = ptxas
            triton.compile(str(file), target=GPUTarget("cuda", 90, 32))
    except triton.CompilationError as error:
        assert "the assembler refuses the PTX" in str(error) and "internal error" not in str(error), str(error)
    else:
        pytest.skip("there is no assembler here")


def test_options_that_the_assembler_refuses_are_named(tmp_path):
    file = tmp_path / "copy.ttir"
    file.write_text(TEXT.format(path="/home/k.py", divisor=16))
    try:
        triton.compile(str(file), target=GPUTarget("cuda", 90, 32), options={"ptx_options": "--no-such-option"})
    except triton.CompilationError as error:
        assert "`--no-such-option` of ptxas" in str(error) and "internal error" not in str(error), str(error)
    except RuntimeError as error:
        assert "there is no assembler" in str(error), str(error)
