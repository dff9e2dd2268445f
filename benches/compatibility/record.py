"""Writes down for what kernels are compiled while tests run, without compiling or launching them: a plugin of pytest.

``RECORD=launches.jsonl DEUTERON_EMULATE=cuda:90 python -O -m deuteron --cuda-as-cpu -m pytest -p record R/tests``
with this folder on ``PYTHONPATH`` writes one line for each kernel, types of its arguments, and options. Outputs stay
as they were allocated, so comparisons say nothing: ``-O`` drops ``assert``, and torch's own comparisons are answered
with yes, so that tests go on to their next launch. A test that takes longer than ``RECORD_SECONDS`` (10) is left;
``RECORD_EACH=2`` keeps two cases of each test function, those with the smallest numbers in their names. `replay.py`
compiles what was written.
"""

import json
import os
import re
import signal

import pytest


class Late(Exception):
    """A test takes too long."""


def _leave(signal_number, frame):
    raise Late


def pytest_configure(config):
    """Begins to write."""
    import torch
    import triton

    written = open(os.environ["RECORD"], "a", buffering=1)
    seen = set()

    def write(*, fn, compile, **_):
        text = compile["specialization_data"]
        if text is None:
            line = json.dumps({"module": fn.module, "name": fn.name, "data": None})
        else:
            data = json.loads(text)
            del data["key"]
            line = json.dumps({"module": fn.module, "name": fn.name, "data": data})
        if line not in seen:
            seen.add(line)
            written.write(line + "\n")
        return True

    triton.knobs.runtime.jit_cache_hook = write
    torch.testing.assert_close = lambda *args, **kwargs: None
    torch.allclose = lambda *args, **kwargs: True
    signal.signal(signal.SIGALRM, _leave)


def pytest_collection_modifyitems(config, items):
    """Keeps the small cases."""
    each = int(os.environ.get("RECORD_EACH", "0"))
    functions = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)

    def size(item):
        return max(map(int, re.findall(r"\d+", item.nodeid.partition("[")[2])), default=0)

    kept = {item for cases in functions.values() for item in (sorted(cases, key=size)[:each] if each else cases)}
    items[:] = [item for item in items if item in kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Ends a test in time."""
    signal.alarm(int(os.environ.get("RECORD_SECONDS", "10")))
    try:
        return (yield)
    finally:
        signal.alarm(0)
