"""A fixed random draw from a large collection of tests, as a plugin of pytest.

``DRAW=0.02 python -m deuteron --cuda-as-cpu -m pytest -p draw R/python/test/unit/language/test_core.py`` with this folder on ``PYTHONPATH``
runs two of a hundred. Whether a test is drawn depends on ``SEED`` and its name alone, so that devices whose collections differ run the same
tests where both have them.
"""

import hashlib
import os


def pytest_collection_modifyitems(config, items):
    """Keeps the tests whose names have a small hash."""
    share, seed = float(os.environ.get("DRAW", "1")), os.environ.get("SEED", "1")

    def is_drawn(item):
        digest = hashlib.blake2b(f"{seed} {item.nodeid.split('/')[-1]}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") < share * 2**64

    dropped = [item for item in items if not is_drawn(item)]
    items[:] = [item for item in items if is_drawn(item)]
    config.hook.pytest_deselected(items=dropped)
