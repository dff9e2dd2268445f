"""Every ``import triton`` means Deuteron, under the same objects, and programs behave as under plain Python."""

import importlib
import importlib.metadata
import importlib.util
import os
import pickle
import sys
import textwrap

import pytest

import deuteron


@pytest.mark.parametrize("name", [
    "", ".language", ".language.core", ".language.math", ".language.extra", ".language.extra.libdevice",
    ".language.extra.cuda", ".language.extra.cuda.libdevice", ".language.extra.hip", ".language.random",
    ".language.standard", ".language.semantic", ".language.target_info", ".runtime", ".runtime.jit",
    ".runtime.autotuner", ".runtime.errors", ".runtime.cache", ".runtime.driver", ".runtime.interpreter",
    ".runtime._allocation", ".compiler", ".compiler.compiler", ".compiler.errors", ".compiler.code_generator",
    ".backends", ".backends.compiler", ".backends.driver", ".testing", ".tools", ".tools.tensor_descriptor",
    ".tools.disasm", ".knobs", ".errors", "._utils"])
def test_both_names_give_the_same_module(name):
    ours = importlib.import_module("deuteron" + name)
    theirs = importlib.import_module("triton" + name)
    assert theirs is ours
    assert ours.__spec__.name == "deuteron" + name, "the import under the other name leaves the spec alone"
    assert sys.modules["triton" + name] is ours


def test_names_of_packages_win_over_their_submodules(python):
    code = """
        import triton.runtime.driver, triton.runtime.jit
        from triton.runtime import driver
        import triton.testing, deuteron
        assert driver is triton.runtime.driver is deuteron.runtime.driver
        print(driver.active.get_current_target().backend, triton.jit.__name__)
    """
    assert python("-m", "deuteron", "-c", textwrap.dedent(code)).stdout == "cpu jit\n"


def test_find_spec_and_metadata_answer():
    assert importlib.util.find_spec("triton") is not None
    assert importlib.util.find_spec("triton.tools.disasm") is not None
    assert importlib.util.find_spec("triton.no_such_module") is None
    assert importlib.metadata.version("triton") == "3.9.0" == deuteron.__version__
    assert importlib.metadata.version("Triton") == "3.9.0"
    assert "triton" in [found.name for found in importlib.metadata.distributions()]
    with pytest.raises(ModuleNotFoundError, match="triton.no_such_module"):
        importlib.import_module("triton.no_such_module")


def test_names_of_the_language_say_where_they_are_imported_from(python):
    code = """
        import importlib
        from deuteron.language import _builtin
        import deuteron.language.extra.libdevice
        for name in _builtin._SHOWN:
            assert name.__module__.startswith("NAME."), name.__module__
            assert "._" not in name.__module__, name.__module__
            module = importlib.import_module(name.__module__)
            assert getattr(module, name.__name__) is name, name
        from NAME.language import bfloat16, float32
        assert eval(repr(float32), {"triton": __import__("NAME")}) is float32 and bfloat16.codegen_name() == "bfloat16"
        print(len(_builtin._SHOWN) > 300)
    """
    for switch, name in (["-m", "deuteron"], "triton"), ([], "deuteron"):
        assert python(*switch, "-c", textwrap.dedent(code).replace("NAME", name)).stdout == "True\n"


def test_pickles_cross_the_names():
    import triton

    config = triton.Config({"BLOCK": 128}, num_warps=8)
    assert pickle.loads(pickle.dumps(config)) == config
    assert pickle.loads(b"ctriton.runtime.errors\nOutOfResources\n(I1\nI2\nVx\ntR.").limit == 2
    error = pickle.loads(pickle.dumps(triton.OutOfResources(3, 2, "shared memory")))
    assert "Required: 3, Hardware limit: 2" in str(error)
    failure = triton.CompilationError("text\n^", message="short", filename="k.py", lineno=3, col=5)
    copy = pickle.loads(pickle.dumps(failure))
    assert (str(copy), copy.message, copy.lineno) == ("text\n^", "short", 3)


@pytest.fixture
def impostor(tmp_path):
    """A folder with another package called triton."""
    package = tmp_path / "site" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = 'the other one'\n")
    (package / "only_there.py").write_text("")
    # These processes are not to be redirected because the tests are.
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(package.parent), os.environ.get("PYTHONPATH")))), "DEUTERON_REDIRECT": ""}


def test_the_reference_beside_is_left_alone(python, impostor):
    assert python("-c", "import triton; print(triton.__version__)", env=impostor).stdout == "the other one\n"
    code = "import triton, deuteron; print(triton is deuteron, triton.__version__)"
    assert python("-m", "deuteron", "-c", code, env=impostor).stdout == "True 3.9.0\n"
    probe = "import importlib.util; print(importlib.util.find_spec('triton.only_there'))"
    assert python("-m", "deuteron", "-c", probe, env=impostor).stdout == "None\n"


def test_install_refuses_to_mix(python, impostor):
    late = python("-c", "import triton, deuteron; deuteron.install()", env=impostor, check=False)
    assert late.returncode == 1
    assert "already imported" in late.stderr and "before" in late.stderr
    twice = "import deuteron; deuteron.install(); deuteron.install(); import triton; print(triton is deuteron)"
    assert python("-c", twice, env=impostor).stdout == "True\n"


SCRIPT = textwrap.dedent("""\
    import pickle, sys
    import triton
    import helper_beside

    class Here:
        pass

    if __name__ == "__main__":
        assert pickle.loads(pickle.dumps(Here())).__class__ is Here
        assert sys.modules["__main__"].Here is Here
        print(sys.argv[1:], __file__ == sys.argv[0], helper_beside.WHO, __spec__)
        if "fail" in sys.argv:
            def inner():
                return 1 / 0
            inner()
        sys.exit(len(sys.argv) - 1)
    """)


@pytest.fixture
def script(tmp_path):
    """A script with a module beside it."""
    (tmp_path / "helper_beside.py").write_text("WHO = 'helper'\n")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_runs_as_main(python, script):
    done = python("-m", "deuteron", script, "a", "b", check=False)
    assert (done.returncode, done.stdout) == (2, "['a', 'b'] True helper None\n"), done.stderr


def test_tracebacks_and_exit_codes_are_those_of_plain_python(python, script, tmp_path):
    ours = python("-m", "deuteron", script, "fail", check=False)
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "triton.py").write_text("")
    path = os.pathsep.join(filter(None, (str(stub), os.environ.get("PYTHONPATH"))))
    plain = python(script, "fail", check=False, env={"PYTHONPATH": path})
    assert ours.returncode == plain.returncode == 1
    assert ours.stderr == plain.stderr
    missing = python("-m", "deuteron", tmp_path / "missing.py", check=False)
    assert missing.returncode == 2 and "can't open file" in missing.stderr


@pytest.mark.parametrize("how", ["folder", "zip"])
def test_folders_and_zip_files_run(python, tmp_path, how):
    import zipfile

    source = "import triton, sys; print(triton.__name__, sys.argv[1:], __name__)\n"
    if how == "folder":
        path = tmp_path / "app"
        path.mkdir()
        (path / "__main__.py").write_text(source)
    else:
        path = tmp_path / "app.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__main__.py", source)
    assert python("-m", "deuteron", path, "x").stdout == "deuteron ['x'] __main__\n"


def test_code_and_modules_run(python, tmp_path):
    code = "import sys, triton; print(sys.argv, triton.__name__, repr(sys.path[0]))"
    assert python("-m", "deuteron", "-c", code, "q").stdout == "['-c', 'q'] deuteron ''\n"
    (tmp_path / "a_module.py").write_text("import sys, triton\nprint(sys.argv[1:], __name__, __spec__.name)\n")
    done = python("-m", "deuteron", "-m", "a_module", "-v", cwd=tmp_path)
    assert done.stdout == "['-v'] __main__ a_module\n"
    unknown = python("-m", "deuteron", "-m", "no_such_module_here", check=False)
    assert unknown.returncode == 1 and "No module named no_such_module_here" in unknown.stderr


def test_usage_and_version(python):
    assert python("-m", "deuteron", "--help").stdout.startswith("usage: python -m deuteron")
    assert python("-m", "deuteron", check=False).returncode == 2
    assert "triton 3.9.0" in python("-m", "deuteron", "--version").stdout
    assert "unknown option -z" in python("-m", "deuteron", "-z", check=False).stderr


def test_importing_needs_neither_torch_nor_numpy(python):
    code = """
        import sys
        import deuteron, deuteron.language, deuteron.testing, deuteron.tools.tensor_descriptor
        deuteron.runtime.driver.active.get_current_target()
        assert not {"torch", "numpy", "inspect", "matplotlib"} & set(sys.modules) - before, sys.modules.keys()
    """
    python("-c", "import sys; before = set(sys.modules)\n" + textwrap.dedent(code))


def test_a_free_threaded_python_is_refused(python):
    code = """
        import sys
        sys.abiflags = "t"
        try:
            import deuteron
        except ImportError as error:
            print(error)
    """
    assert "does not run on a free-threaded Python" in python("-c", textwrap.dedent(code)).stdout
