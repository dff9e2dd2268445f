"""What `@jit(repr=…)` calls a kernel: the name of its symbol, which profilers show, and of its metadata."""

import pickle
import re

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource
from deuteron.errors import CompilationError

#: Of each target: where a symbol stands in the text of its last stage.
TARGETS = {
    "cuda:90": (GPUTarget("cuda", 90, 32), "ptx", r"\.visible \.entry (\w+)\("),
    "cuda:80": (GPUTarget("cuda", 80, 32), "ptx", r"\.visible \.entry (\w+)\("),
    "hip:gfx942": (GPUTarget("hip", "gfx942", 64), "amdgcn", r"\.globl\s+(\w+)"),
    "cpu": (None, "asm", r"\.globl\s+(\w+)"),
}


def fill(out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, n, mask=offsets < n)


@triton.jit(noinline=True)
def doubled(x):
    return x * 2


def calls(out, n):
    tl.store(out, doubled(n))


def compiled(repr, target=None, function=fill, **options):
    function = triton.jit(function, repr=repr)
    signature = dict(zip(function.arg_names, ("*i32", "i32", "constexpr")))
    constants = {"BLOCK": 16} if "BLOCK" in signature else {}
    return triton.compile(ASTSource(function, signature, constants), target=target, options=options or None)


def name_of(specialization):
    return f"filled_{specialization.constants['BLOCK']}_{specialization.signature['n']}"


@pytest.mark.parametrize("target", TARGETS)
def test_the_symbol_has_the_name(target):
    target, stage, pattern = TARGETS[target]
    kernel = compiled(name_of, target)
    assert kernel.name == kernel.metadata.name == "filled_16_i32"
    assert re.findall(pattern, kernel.asm[stage])[:1] == ["filled_16_i32"]
    for text in ("source", "ttir", "llir"):
        assert "@filled_16_i32(" in kernel.asm[text] and "@fill(" not in kernel.asm[text]
    assert kernel.src.name == "fill"
    assert compiled(None, target).name == "fill"


def test_launches_have_the_name_of_their_constants():
    kernel, out = triton.jit(fill, repr=name_of, interpret=False), np.zeros(32, np.int32)
    names = [kernel[(1, )](out, 7, BLOCK=block).name for block in (16, 32, 16)]
    assert names == ["filled_16_i32", "filled_32_i32", "filled_16_i32"] and out[:7].tolist() == [7] * 7


@pytest.mark.parametrize("target", ["cpu", "cuda:90"])
def test_equal_texts_of_other_names_are_other_kernels(target, tmp_path):
    target = TARGETS[target][0]
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        kernels = [compiled(repr, target) for repr in (None, lambda _: "one", lambda _: "other") for _ in range(2)]
    assert [kernel.name for kernel in kernels] == ["fill", "fill", "one", "one", "other", "other"]
    assert len({kernel.hash for kernel in kernels}) == 3
    assert [kernel.from_cache for kernel in kernels] == [False, True] * 3


@pytest.mark.parametrize("target", [{"DEUTERON_EMULATE": "cuda:90"}, {"DEUTERON_EMULATE": "hip:gfx942"}, {}])
def test_a_kernel_of_another_name_runs(target, tmp_path, python):
    script = tmp_path / "script.py"
    script.write_text("import numpy as np, triton, triton.language as tl\n"
                      "@triton.jit(repr=lambda s: f'mine_{s.constants[\"BLOCK\"]}')\n"
                      "def fill(out, n, BLOCK: tl.constexpr):\n"
                      "    tl.store(out + tl.arange(0, BLOCK), n)\n"
                      "for _ in range(2):\n"
                      "    out = np.zeros(16, np.int32)\n"
                      "    kernel = fill[(1, )](out, 3, BLOCK=16)\n"
                      "    fill.clear_cache()\n"
                      "    print(kernel.metadata.name, out.sum(), kernel.from_cache)\n")
    env = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), **target}
    finished = python("-m", "deuteron", script, env=env)
    assert finished.stdout.splitlines() == ["mine_16 48 False", "mine_16 48 True"]


@pytest.mark.parametrize("name, symbol", [("package.module.last", "last"), ("a.b-c.ok", "ok"), ("_1", "_1"), ("x" * 300, "x" * 300)])
def test_the_last_part_of_a_dotted_name_counts(name, symbol):
    assert compiled(lambda _: name, TARGETS["cuda:90"][0]).name == symbol


@pytest.mark.parametrize("name", ["", "a-b", "a.", "ok.b c", "9a", "café", "a$b", "a\n", "a\0b"])
def test_other_names_are_refused(name):
    with pytest.raises(CompilationError, match="invalid function identifier: ") as caught:
        compiled(lambda _: name)
    assert "`repr` of kernel fill" in str(caught.value)


@pytest.mark.parametrize("name", [3, None, b"name", ["name"]])
def test_what_is_no_text_is_refused(name):
    with pytest.raises(TypeError, match=f"`repr` of kernel fill gives its name as a str, not as {type(name).__name__}"):
        compiled(lambda _: name)


def test_what_repr_raises_is_raised():
    def refused(specialization):
        raise LookupError("there is no name")

    kernel = triton.jit(fill, repr=refused, interpret=False)
    for compile in (lambda: compiled(refused), lambda: kernel[(1, )](np.zeros(16, np.int32), 3, BLOCK=16)):
        with pytest.raises(LookupError, match="there is no name"):
            compile()


@pytest.mark.parametrize("target", ["cpu", "cuda:90"])
def test_names_of_functions_of_the_c_library_and_of_other_functions(target):
    # The symbol of `doubled` would have the last name.
    for name in ("memcpy", "printf", "doubled__0"):
        kernel = compiled(lambda _: name, TARGETS[target][0], calls)
        assert kernel.name == name
    assert "@doubled__0_(" in kernel.asm["source"]
    out = np.zeros(1, np.int32)
    for name in ("memcpy", "exp", "doubled__0"):
        triton.jit(calls, repr=lambda _: name, interpret=False)[(1, )](out, 21)
        assert out[0] == 42


@triton.jit(repr=lambda _: "packed")
def pickled(out, n):
    tl.store(out, n)


def test_a_pickled_kernel_keeps_its_name():
    kernel = triton.compile(ASTSource(pickled, {"out": "*i32", "n": "i32"}))
    again = pickle.loads(pickle.dumps(vars(kernel)["_state"])).kernel()
    assert again.name == again.metadata.name == "packed" and again.src.name == "pickled"


def test_files_have_the_name_of_the_function(tmp_path):
    with knobs.cache.scope(), knobs.compilation.scope():
        knobs.cache.dump_dir, knobs.cache.override_dir, knobs.cache.dir = (str(tmp_path / part) for part in "doc")
        knobs.compilation.dump_ir = True
        first = compiled(lambda _: "first", TARGETS["cuda:90"][0])
        knobs.compilation.dump_ir = False
        (folder, ) = (tmp_path / "d").iterdir()
        assert {"fill.ttir", "fill.ttgir", "fill.ptx"} <= {path.name for path in folder.iterdir()}
        # An override brings its own name.
        (tmp_path / "o").mkdir()
        (tmp_path / "o" / "fill.ttir").write_text(first.asm["ttir"].replace("@first(", "@given("))
        knobs.compilation.override = True
        given = compiled(lambda _: "second", TARGETS["cuda:90"][0])
    assert given.name == given.metadata.name == "given" and ".visible .entry given(" in given.asm["ptx"]


def test_a_kernel_read_from_a_file_has_the_name_of_its_text(tmp_path):
    path = tmp_path / "kernel.ttir"
    path.write_text(compiled(name_of, TARGETS["cuda:90"][0]).asm["ttir"])
    kernel = triton.compile(str(path), target=TARGETS["cuda:90"][0])
    assert kernel.metadata.name == "filled_16_i32"


def test_sources_in_c_launch_the_symbol(tmp_path):
    from deuteron.tools.compile import CompileArgs, compile_kernel

    module = tmp_path / "module.py"
    module.write_text("import deuteron as triton, deuteron.language as tl\n"
                      "@triton.jit(repr=lambda s: f'mine_{s.constants[\"BLOCK\"]}')\n"
                      "def fill(out, n, BLOCK: tl.constexpr):\n"
                      "    tl.store(out + tl.arange(0, BLOCK), n)\n")
    args = CompileArgs(path=str(module), kernel_name="fill", signature="*i32, i32, 16", grid="1,1,1", target="hip:gfx942:64",
                       num_warps=4, num_stages=2, out_path=tmp_path / "fill")
    function, files = compile_kernel(args)
    assert function.startswith("fill_") and any('"mine_16"' in file.read_text() for file in files)
