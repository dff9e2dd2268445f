"""Running a function in a process of its own, with what that one writes to its standard error stream."""

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
        with knobs.compilation.scope():
            if listener is not None:
                knobs.compilation.listener = listener
            function(*args, **kwargs)
            _synchronize()
    except Exception as error:
        return error
    finally:
        back()
    return None


def _worker(pipe, pickled, path, env, redirected, cuda_as_cpu):
    """The other process: what the first one switched on is on here before its function is read."""
    os.environ.update(env or {})
    if redirected:
        from . import install

        install()
    if cuda_as_cpu:
        from ._cuda_as_cpu import enter

        enter()
    raised = _call(lambda: pickle.loads(pickled), path)
    try:
        pipe.send(raised)
    except Exception:
        # An object that cannot be pickled is sent as its text.
        pipe.send(RuntimeError(f"{type(raised).__name__}: {raised}"))


def _read(path):
    with open(path, errors="replace") as file:
        return file.read()


def run_in_process(client_fn, args=(), kwargs=None, env=None):
    """Calls ``client_fn(*args, **kwargs)`` in a process of its own; returns a `ProcessResult`.

    Args:
        env: variables of the environment of that process.

    Raises:
        RuntimeError: the process ended without a result.
        TimeoutError: it took more than ``TRITON_TEST_PROCESS_TIMEOUT`` seconds.
    """
    from . import _cuda_as_cpu, _redirect, knobs

    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    limit = os.environ.get("TRITON_TEST_PROCESS_TIMEOUT")
    limit = None if limit is None else float(limit)
    receiving, sending = context.Pipe(duplex=False)
    pickled = pickle.dumps((client_fn, tuple(args), kwargs or {}, knobs.compilation.listener))
    with tempfile.TemporaryDirectory(prefix="deuteron-process-") as folder:
        path = os.path.join(folder, "stderr")
        process = context.Process(target=_worker, args=(sending, pickled, path, env, _redirect.installed(),
                                                        _cuda_as_cpu.entered()))
        process.start()
        sending.close()
        try:
            if not receiving.poll(limit):
                raise TimeoutError(f"{client_fn.__name__} ran longer than {limit} seconds in its process")
            raised = receiving.recv()
        except EOFError:
            process.join()
            if os.path.exists(path):
                sys.stderr.write(_read(path))
            raise RuntimeError(f"child process exited with code {process.exitcode} without returning a result") from None
        finally:
            receiving.close()
            if process.is_alive() and limit is not None:
                process.join(limit)
                process.kill()
            process.join()
        return ProcessResult(raised, _read(path))
