"""Running a function in a process of its own, with what that one writes to its standard error stream."""

import contextlib
import importlib
import multiprocessing
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass


@dataclass
class ProcessResult:
    """How a function in another process ended.

    Attributes:
        exc: what it raised, or None.
        driver_stderr_output: what the process wrote to its standard error stream, also behind Python's back.
    """

    exc: BaseException | None
    driver_stderr_output: str


def _synchronize():
    """Waits for the device, so that what fails there is raised here."""
    from .runtime.driver import driver

    driver.active.get_device_interface().synchronize()


def _into_file(path):
    """Writes everything that goes to the standard error stream to a file; returns what puts it back."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 2)

    def back():
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)

    return back


def _call(work, path):
    """Calls the function; returns what it raised."""
    function, args, kwargs, listener = work()
    from . import knobs

    back = _into_file(path)
    try:
        with knobs.compilation.scope(), knobs.runtime.scope(), knobs.cache.scope():
            if listener is not None:
                knobs.compilation.listener = listener
            function(*args, **kwargs)
            _synchronize()
    except Exception as error:
        return error
    finally:
        back()
    return None


def _worker(pipe, env, redirected, cuda_as_cpu):
    """The other process: what the first one switched on is on here before a function is read. It ends after the first
    function that raises, and when the pipe is closed."""
    os.environ.update(env or {})
    if redirected:
        from . import install

        install()
    if cuda_as_cpu:
        from ._cuda_as_cpu import enter

        enter()
    raised = None
    while raised is None:
        try:
            pickled, path, env = pipe.recv()
        except EOFError:
            return
        before = dict(os.environ)
        os.environ.update(env or {})
        raised = _call(lambda: pickle.loads(pickled), path)
        try:
            pipe.send(raised)
        except Exception:
            # An object that cannot be pickled is sent as its text.
            pipe.send(RuntimeError(f"{type(raised).__name__}: {raised}"))
        os.environ.clear()
        os.environ.update(before)


class _Process:
    """A process that calls functions, one after the other."""

    def __init__(self, env=None):
        from . import _cuda_as_cpu, _redirect

        context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_worker, args=(other, env, _redirect.installed(),
                                                             _cuda_as_cpu.entered()))
        self.process.start()
        other.close()

    def run(self, client_fn, args, kwargs, env):
        from . import knobs

        limit = os.environ.get("TRITON_TEST_PROCESS_TIMEOUT")
        limit = None if limit is None else float(limit)
        pickled = pickle.dumps((client_fn, tuple(args), kwargs or {}, knobs.compilation.listener))
        with tempfile.TemporaryDirectory(prefix="deuteron-process-") as folder:
            path = os.path.join(folder, "stderr")
            try:
                self.pipe.send((pickled, path, env))
                if not self.pipe.poll(limit):
                    raise TimeoutError(f"test subprocess {client_fn.__name__} exceeded {limit} seconds")
                raised = self.pipe.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                if os.path.exists(path):
                    sys.stderr.write(_read(path))
                code = self.process.exitcode
                raise RuntimeError(f"child process exited with code {code} without returning a result") from None
            return ProcessResult(raised, _read(path))

    def end(self, limit=0):
        """Lets the process end by itself within so many seconds."""
        self.pipe.close()
        self.process.join(limit)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _read(path):
    with open(path, errors="replace") as file:
        return file.read()


class _Pool:
    """One process for many functions, until one of them raises; the next ones get another."""

    def __init__(self, module):
        self.module, self.process = module, None

    def run(self, client_fn, args, kwargs, env):
        if self.process is None:
            self.process = _Process()
            self.process.run(importlib.import_module, (self.module, ), None, None)
        try:
            result = self.process.run(client_fn, args, kwargs, env)
        except BaseException:
            self.end()
            raise
        if result.exc is not None:
            self.end()
        return result

    def end(self):
        if self.process is not None:
            self.process.end()
            self.process = None


_pool = None


@contextlib.contextmanager
def use_process_pool(preload_module):
    """Within it, `run_in_process` keeps its process for the next function, as long as none raises.

    Args:
        preload_module: a module that the process imports first.
    """
    global _pool
    before, _pool = _pool, _Pool(preload_module)
    try:
        yield _pool
    finally:
        _pool.end()
        _pool = before


def run_in_process(client_fn, args=(), kwargs=None, env=None):
    """Calls ``client_fn(*args, **kwargs)`` in a process of its own; returns a `ProcessResult`.

    Args:
        env: variables of the environment of that process.

    Raises:
        RuntimeError: the process ended without a result.
        TimeoutError: it took more than ``TRITON_TEST_PROCESS_TIMEOUT`` seconds.
    """
    if _pool is not None:
        return _pool.run(client_fn, args, kwargs, env)
    process = _Process(env)
    limit = 0
    try:
        result = process.run(client_fn, args, kwargs, env)
        limit = None
        return result
    finally:
        process.end(limit)
