"""A fixed random draw from a large collection of tests, as a plugin of pytest.

``DRAW=300 python -m deuteron -m pytest -p draw R/python/test/unit/language/test_core.py`` with this folder on ``PYTHONPATH`` runs 300 of
them. The draw depends on ``SEED`` and the names alone, so that several devices run the same tests.
"""

import hashlib
import os


def pytest_collection_modifyitems(config, items):
    """Keeps so many tests: those whose names have the smallest hashes."""
    count, seed = int(os.environ.get("DRAW", "300")), os.environ.get("SEED", "1")

    def key(item):
        return hashlib.blake2b(f"{seed} {item.nodeid.split('/')[-1]}".encode()).digest()

    kept = set(sorted(map(key, items))[:count])
    dropped = [item for item in items if key(item) not in kept]
    items[:] = [item for item in items if key(item) in kept]
    config.hook.pytest_deselected(items=dropped)
