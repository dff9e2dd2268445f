"""Kernels as sources in C (`tools/compile.py`, `tools/link.py`), built by a C compiler and run against a driver that writes down its calls."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import deuteron

TOOLS = Path(deuteron.__file__).parent / "tools"
HEADERS = Path(sysconfig.get_paths()["purelib"]) / "nvidia"

KERNEL = """
import triton
import triton.language as tl
from helpers import twice

@triton.jit
def scale(x, n, factor, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at * stride, twice(tl.load(x + at * stride, at < n)) * factor, at < n)
"""
HELPERS = """
import triton

@triton.jit
def twice(x):
    return x + x
"""
DRIVER = """
#include <cuda.h>
#include <stdio.h>
#include <string.h>
static char names[64][128];
static int used;
CUresult cuModuleLoadData(CUmodule *module, const void *image) { *module = (CUmodule)image; return CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule module) { puts("unload"); return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  strcpy(names[used], name); *function = (CUfunction)names[used++]; return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult status, const char **text) { *text = "?"; return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream stream, void **args, void **extra) {
  printf("%s %u %u %u %u x=%llx n=%d factor=%g", (char *)f, x, y, z, bx, *(unsigned long long *)args[0], *(int *)args[1], *(float *)args[2]);
  puts(""); return CUDA_SUCCESS;
}
"""
MAIN = """
#include "scales.h"
#include <stdio.h>
int main(void) {
  load_scale();
  printf("%d algorithms\\n", scale_get_num_algos());
  printf("%d\\n", scale_default(0, 0x1000, 48, 0.5f, 1));
  printf("%d\\n", scale_default(0, 0x1000, 47, 2.0f, 1));
  printf("%d\\n", scale_default(0, 0x1000, 0, 2.0f, 1));
  printf("%d\\n", scale_default(0, 0x1004, 47, 2.0f, 1) == CUDA_ERROR_INVALID_VALUE);
  printf("%d\\n", scale(0, 0x1000, 300, 2.0f, 3, 1));
  printf("%d\\n", scale(0, 0x1000, 300, 2.0f, 3, 2) == CUDA_ERROR_INVALID_VALUE);
  unload_scale();
  return 0;
}
"""


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiled(folder, signature, *more):
    (folder / "kernels.py").write_text(KERNEL)
    (folder / "helpers.py").write_text(HELPERS)
    return run(sys.executable, TOOLS / "compile.py", "-n", "scale", "-s", signature, "-g", "(n + 63) / 64, 1, 1", "-w", "2", *more, "kernels.py", cwd=folder)


def test_launches_choose_among_kernels(tmp_path):
    include = next(HEADERS.glob("*/include/cuda.h"), None)
    if include is None or shutil.which("gcc") is None:
        pytest.skip("a C compiler and the driver's header are needed")
    for signature in ("*fp32:16, i32:16, fp32, i32:1, 64", "*fp32:16, i32, fp32, i32:1, 64", "*fp32, i32, fp32, i32, 128"):
        compiled(tmp_path, signature, "-t", "cuda:90:32", "--out-name", "scale", "-o", "scale")
    headers = sorted(tmp_path.glob("scale.*.h"), key=lambda path: "fp32, i32, 128" in path.read_text())
    run(sys.executable, TOOLS / "link.py", *headers, "-o", "scales", cwd=tmp_path)
    (tmp_path / "driver.c").write_text(DRIVER)
    (tmp_path / "main.c").write_text(MAIN)
    run("gcc", "-Wall", "-Werror", "-Wno-unused", *tmp_path.glob("*.c"), "-I", include.parent, "-o", "main", cwd=tmp_path)
    lines = run("./main", cwd=tmp_path).splitlines()
    assert lines == [
        "2 algorithms",
        "scale 1 1 1 64 x=1000 n=48 factor=0.5", "0",
        "scale 1 1 1 64 x=1000 n=47 factor=2", "0",
        "0",
        "1",
        "scale 5 1 1 64 x=1000 n=300 factor=2", "0",
        "1",
        "unload", "unload", "unload",
    ]


def test_headers_are_read(tmp_path):
    from deuteron.tools.link import HeaderParser, KernelLinkerMeta, LinkerError

    header = """
// tt-linker-backend: cuda
// tt-linker: scale_0ab1_0d2c:CUdeviceptr x, int32_t n, int32_t stride:16_warps4xstages3
"""
    parser = HeaderParser()
    parser.extract_linker_meta("int nothing;")
    assert parser.backend_name is None and not parser.kernels
    parser.extract_linker_meta(header)
    parser.extract_linker_meta(header.replace("0ab1_0d2c", "0ab1_"))
    special, other = parser.kernels["scale_16_warps4xstages3"]
    assert special == KernelLinkerMeta("scale", ["x", "n", "stride"], ["CUdeviceptr", "int32_t", "int32_t"], [16, None, 1], "0ab1", "0d2c",
                                       "0d2c", 2)
    assert other.sizes == [None] * 3 and other.num_specs == 0 and parser.backend_name == "cuda"
    with pytest.raises(LinkerError, match="mismatched signatures"):
        parser.extract_linker_meta(header.replace("int32_t n", "int64_t n"))
    with pytest.raises(LinkerError, match="describes no kernel"):
        parser.extract_linker_meta("// tt-linker: scale:CUdeviceptr x")
    with pytest.raises(RuntimeError, match="for cuda and hip"):
        parser.extract_linker_meta("// tt-linker-backend: hip")


def test_sources_for_another_vendor(tmp_path):
    compiled(tmp_path, "*fp32:16, i32, fp32, i32, 64", "-t", "hip:gfx942:64")
    [source], [header] = tmp_path.glob("scale.*.c"), tmp_path.glob("scale.*.h")
    assert "hipModuleLaunchKernel(" in source.read_text() and "128, 1, 1" in source.read_text()
    assert "hipDeviceptr_t x, int32_t n, float factor, int32_t stride" in header.read_text()


@pytest.mark.parametrize("signature, target, message", [
    ("*fp32, i32", "cuda:90:32", "the signature has 2 entries for 5 parameters"),
    ("*fp32:8, i32, fp32, i32, 64", "cuda:90:32", "only 1 and 16 are valid hints, got 8"),
    ("*fp32, i32, fp32, i32, 64", "cpu:native:1", "are not launched from C"),
])
def test_what_cannot_be_is_said(tmp_path, signature, target, message):
    with pytest.raises(AssertionError, match=message):
        compiled(tmp_path, signature, "-t", target)
