"""Settings: environment, assignment, scopes."""

import pytest

from deuteron import knobs


def test_values_come_from_the_environment_and_from_assignment(monkeypatch):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    assert knobs.autotuning.print is True
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "0")
    assert knobs.autotuning.print is False
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        assert knobs.autotuning.print is True
        del knobs.autotuning.print
        assert knobs.autotuning.print is False
        knobs.autotuning.print = True
    assert knobs.autotuning.print is False


def test_a_folder_is_a_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "one"))
    assert knobs.cache.dir == str(tmp_path / "one")
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "two")
        assert knobs.cache.dir == str(tmp_path / "two")
    assert knobs.cache.dir == str(tmp_path / "one")


def test_unknown_settings_are_refused():
    with pytest.raises(AttributeError, match="no knob cache.directory"):
        knobs.cache.directory
    with pytest.raises(AttributeError, match="no knob cache.directory"):
        knobs.cache.directory = "x"


def test_hook_chains_call_in_order():
    calls = []
    chain = knobs.HookChain(reversed=True)
    chain.add(lambda value: calls.append(("first", value)))
    chain.add(lambda value: calls.append(("second", value)))
    chain(7)
    assert calls == [("second", 7), ("first", 7)]


def test_groups_list_their_settings():
    assert "dir" in knobs.cache.knobs and "dir" in dir(knobs.cache)
    assert knobs.compilation.always_compile is False
    assert set(knobs.runtime.copy()) >= {"interpret", "jit_cache_hook"}
