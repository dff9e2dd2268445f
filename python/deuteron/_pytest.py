"""What pytest shows of a redirected run, in every worker as in the main process; does nothing in other runs."""

import os


def _is_redirected():
    from . import _processes, _redirect

    return _redirect.installed() or bool(os.environ.get(_processes.VARIABLE))


def pytest_configure(config):
    """Redirects before the first test module is imported; an error where the reference is there already."""
    if not _is_redirected():
        return
    import pytest

    from ._redirect import install

    try:
        install()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_report_header(config):
    """A line on top."""
    if not _is_redirected():
        return None
    from . import __deuteron_version__, __version__, _core

    backend, arch, _ = _core.current_target()
    return f"deuteron: {__deuteron_version__} (triton {__version__}), target {backend}:{arch}"
