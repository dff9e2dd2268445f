"""Processes that a redirected program starts are redirected, or it is said that they are not."""

import os
import subprocess
import sys
import textwrap

import pytest

SAYS = "import triton; print(triton.__name__)"


@pytest.fixture
def impostor(tmp_path):
    """An environment with another package called triton, and without what this process tells its children."""
    package = tmp_path / "site" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = 'the other one'\n")
    kept = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and not entry.endswith("_children")]
    env = {name: value for name, value in os.environ.items() if name != "DEUTERON_REDIRECT"}
    return {**env, "PYTHONPATH": os.pathsep.join([str(package.parent), *kept])}


def run(*arguments, env, cwd=None):
    """Runs Python with that environment alone."""
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=env, cwd=cwd, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def program(tmp_path, text):
    """A script."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def test_a_process_by_subprocess(tmp_path, impostor):
    path = program(tmp_path, f"""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "{SAYS}"], capture_output=True, text=True).stdout.strip())
        code = "import subprocess, sys; subprocess.run([sys.executable, '-c', '{SAYS}'])"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
        """)
    assert run("-m", "deuteron", path, env=impostor).stdout == "deuteron\ndeuteron\n"
    assert run("-c", "import triton; print(triton.__version__)", env=impostor).stdout == "the other one\n", "others are left alone"


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_a_process_by_multiprocessing(tmp_path, impostor, method):
    path = program(tmp_path, f"""
        import multiprocessing

        def name(_):
            import triton
            return triton.__name__

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(set(pool.map(name, range(4))))
        """)
    assert run("-m", "deuteron", path, env=impostor).stdout == "{'deuteron'}\n"


def test_install_redirects_processes_as_well(tmp_path, impostor):
    path = program(tmp_path, f"""
        import deuteron, subprocess, sys
        deuteron.install()
        print(subprocess.run([sys.executable, "-c", "{SAYS}"], capture_output=True, text=True).stdout.strip())
        """)
    assert run(path, env=impostor).stdout == "deuteron\n"
    path.write_text(path.read_text().replace("install()", "install(children=False)").replace("{SAYS}", ""))
    assert run(path, env=impostor).stdout == "triton\n"


def test_an_older_sitecustomize_runs_too(tmp_path, impostor):
    site = tmp_path / "site"
    (site / "sitecustomize.py").write_text("import sys\nsys.older = 'ran'\n")
    path = program(tmp_path, """
        import subprocess, sys
        print(sys.older, subprocess.run([sys.executable, "-c", "import sys, triton; print(sys.older, triton.__name__)"],
                                        capture_output=True, text=True).stdout.strip())
        """)
    assert run("-m", "deuteron", path, env=impostor).stdout == "ran ran deuteron\n"


def test_the_version_of_the_distribution(tmp_path, impostor):
    path = program(tmp_path, """
        import subprocess, sys
        code = "import importlib.metadata as m; print(m.version('triton'), m.version('pytest') != '')"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
        """)
    assert run("-m", "deuteron", path, env=impostor).stdout == "3.9.0 True\n"


@pytest.mark.parametrize("start, reason", [
    ("subprocess.run([sys.executable, '-I', '-c', 'pass'])", "ignores its environment with -I"),
    ("subprocess.run([sys.executable, '-uE', '-c', 'pass'])", "ignores its environment with -E"),
    ("subprocess.run([sys.executable, '-c', 'pass'], env={})", "its environment has no DEUTERON_REDIRECT"),
    ("subprocess.run([sys.executable, '-c', 'pass', '-I'])", None),
    ("subprocess.run([sys.executable, '-W', 'ignore', '-c', 'pass'])", None),
    ("subprocess.run(['true', '-I'], env={'PATH': os.environ['PATH']})", None),
])
def test_what_cannot_be_redirected_is_said(tmp_path, impostor, start, reason):
    path = program(tmp_path, f"import os, subprocess, sys\n{start}\n")
    told = run("-m", "deuteron", path, env=impostor).stderr
    if reason is None:
        assert told == ""
    else:
        assert "NOT redirected" in told and reason in told


def test_a_process_without_the_package_says_so(tmp_path, impostor):
    path = program(tmp_path, f"""
        import os, subprocess, sys
        os.environ["DEUTERON_REDIRECT"] = "/nowhere"
        children = os.environ["PYTHONPATH"].split(os.pathsep)[0]
        os.environ["PYTHONPATH"] = os.pathsep.join([children, {str(tmp_path / "site")!r}])
        done = subprocess.run([sys.executable, "-S", "-c", "import sys; sys.path.append({str(tmp_path / 'site')!r}); import sitecustomize; {SAYS}"],
                              capture_output=True, text=True)
        print(done.stdout.strip(), "NOT redirected" in done.stderr)
        """)
    assert run("-m", "deuteron", path, env=impostor).stdout == "triton True\n"


def test_pytest_shows_what_it_runs_on(tmp_path, impostor):
    (tmp_path / "test_it.py").write_text("def test_it():\n    import triton\n    assert triton.__name__ == 'deuteron'\n")
    done = run("-m", "deuteron", "-m", "pytest", "-p", "no:cacheprovider", tmp_path / "test_it.py", env=impostor, cwd=tmp_path)
    assert "1 passed" in done.stdout and "\ndeuteron: " in done.stdout and "(triton 3.9.0), target " in done.stdout
    plain = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")], capture_output=True,
                           text=True, env=impostor, cwd=tmp_path)
    assert "1 failed" in plain.stdout and "deuteron: " not in plain.stdout


def test_workers_of_xdist(tmp_path, impostor):
    pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text("import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_it(n):\n    import triton\n"
                                         "    assert triton.__name__ == 'deuteron'\n")
    done = run("-m", "deuteron", "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", tmp_path / "test_it.py", env=impostor, cwd=tmp_path)
    assert "8 passed" in done.stdout


def test_torchrun(tmp_path, impostor):
    path = program(tmp_path, "import os, triton; os.write(1, f'rank {triton.__name__}\\n'.encode())\n")
    done = run("-m", "deuteron", "-m", "torch.distributed.run", "--nproc-per-node", "2", path, env=impostor)
    assert done.stdout.count("rank deuteron") == 2


def test_tensors_for_cuda_are_on_the_cpu_in_processes_too(tmp_path, impostor):
    path = program(tmp_path, """
        import subprocess, sys
        code = "import torch; print(torch.zeros(3, device='cuda').device, torch.cuda.is_available())"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
        """)
    assert run("-m", "deuteron", "--cuda-as-cpu", path, env=impostor).stdout == "cpu True\n"
