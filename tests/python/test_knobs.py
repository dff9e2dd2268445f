"""Settings: environment, assignment, scopes."""

import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs


@triton.jit
def hooked(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, VALUE)


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


@pytest.mark.parametrize("group, name, way_out", [("runtime", "add_stages_inspection_hook", "kernel.asm"),
                                                  ("cache", "remote_manager_class", "knobs.cache.dir")])
def test_hooks_that_would_never_be_called_are_refused(group, name, way_out):
    settings = getattr(knobs, group)
    with pytest.raises(NotImplementedError, match=f"{name} is not supported.*{way_out}"):
        setattr(settings, name, lambda *args: None)
    assert getattr(settings, name) is None
    setattr(settings, name, None)


def test_the_cache_manager_of_libraries_can_be_chosen():
    from deuteron.runtime import cache

    with knobs.cache.scope():
        knobs.cache.manager_class = "deuteron.runtime.cache:CacheManager"
        assert type(cache.get_cache_manager("ab")) is cache.CacheManager
    assert type(cache.get_cache_manager("ab")) is cache.FileCacheManager


def test_hooks_around_a_compile_are_called():
    import numpy as np

    told = []

    def before(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
        told.append(("before", fn.name.rsplit(".", 1)[-1], is_manual_warmup))
        return "stop" if compile["constants"].get((1, )) == 13 else None

    def after(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
        told.append(("after", fn.name.rsplit(".", 1)[-1], is_manual_warmup))

    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook, knobs.runtime.jit_post_compile_hook = before, after
        out = np.zeros(1, np.int32)
        hooked[(1, )](out, 12)
        hooked[(1, )](out, 12)
        assert hooked[(1, )](out, 13) is None and out[0] == 12
        hooked.warmup(out, 14, grid=(1, ))
    assert told == [("before", "hooked", False), ("after", "hooked", False), ("before", "hooked", False),
                    ("before", "hooked", True), ("after", "hooked", True)]
    hooked[(1, )](out, 15)
    assert len(told) == 5 and out[0] == 15
