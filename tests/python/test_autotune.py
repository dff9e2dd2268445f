"""`@autotune` and `@heuristics`."""

from random import Random

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron import _core


def instant(costs):
    """A benchmark that runs once and answers what a table says of the block size."""
    asked = []

    def bench(launch, quantiles):
        launch()
        asked.append(1)
        return [costs[len(asked) - 1]] * 3

    bench.asked = asked
    return bench


def make(configs, **options):
    @triton.autotune(configs, **options)
    @triton.jit
    def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        old = tl.load(y_ptr + offsets, mask=mask)
        tl.store(y_ptr + offsets, old + tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)

    return scale


CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})]


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]), )


def test_the_fastest_is_chosen_once_a_key(rng):
    bench = instant([3, 1, 2, 5, 6, 4])
    scale = make(CONFIGS, key=["n"], reset_to_zero=["y_ptr"], do_bench=bench)
    x = rng.standard_normal(500).astype(np.float32)
    y = np.zeros(500, np.float32)
    scale[grid](x, y, 500, 2.0)
    assert scale.best_config is CONFIGS[1] and len(bench.asked) == 3
    assert np.array_equal(y, x * 2), "what tuning wrote is put back to zero"
    scale[grid](x, y, 500, 2.0)
    assert len(bench.asked) == 3 and np.allclose(y, x * 4)
    y[:] = 0
    scale[grid](x, y, 300, 2.0)
    assert scale.best_config is CONFIGS[2] and len(bench.asked) == 6 and len(scale.cache) == 2
    assert set(scale.configs_timings) == set(CONFIGS) and scale.bench_time > 0


def test_values_are_restored(arrays, rng):
    scale = make(CONFIGS, key=["n"], restore_value=["y_ptr"], do_bench=instant([1, 2, 3]))
    x, y = rng.standard_normal(200).astype(np.float32), rng.standard_normal(200).astype(np.float32)
    out = arrays.make(y)
    scale[grid](arrays.make(x), out, 200, 1.0)
    np.testing.assert_allclose(arrays.numpy(out), y + x, rtol=1e-6)


@pytest.mark.parametrize("own_clock", [True, False])
@pytest.mark.parametrize("declared", ["restore_value", "reset_to_zero"])
def test_arguments_by_name_are_put_back_as_well(rng, declared, own_clock):
    scale = make(CONFIGS, key=["n"], do_bench=instant([1, 2, 3]) if own_clock else None, **{declared: ["y_ptr"]})
    x, before = rng.standard_normal(200).astype(np.float32), rng.standard_normal(200).astype(np.float32)
    if declared == "reset_to_zero":
        before[:] = 0
    y = before.copy()
    scale[grid](x_ptr=x, y_ptr=y, n=200, factor=2.0)
    assert scale.best_config is not None and len(scale.configs_timings) == 3
    np.testing.assert_allclose(y, before + x * 2, rtol=1e-6)


def test_dtypes_belong_to_the_key():
    scale = make(CONFIGS, key=["n"], do_bench=instant([1, 2, 3, 1, 2, 3]))
    for dtype in (np.float32, np.float64):
        scale[grid](np.ones(64, dtype), np.zeros(64, dtype), 64, 1.0)
    assert len(scale.cache) == 2


def test_pruning_and_single_configurations():
    early = make(CONFIGS, key=["n"], do_bench=instant([]),
                 prune_configs_by={"early_config_prune": lambda configs, named, **kwargs: configs[2:]})
    y = np.zeros(64, np.float32)
    early[grid](np.ones(64, np.float32), y, 64, 1.0)
    assert early.best_config is CONFIGS[2] and (y == 1).all()
    model = make(CONFIGS, key=["n"], do_bench=instant([2, 1]), prune_configs_by={
        "perf_model": lambda BLOCK, **kwargs: BLOCK, "top_k": 2})
    model[grid](np.ones(64, np.float32), y, 64, 1.0)
    assert model.best_config is CONFIGS[1]
    nothing = make(CONFIGS, key=["n"], prune_configs_by={"early_config_prune": lambda *args, **kwargs: []})
    with pytest.raises(triton.runtime.errors.AutotunerError, match="pruning"):
        nothing[grid](np.ones(64, np.float32), y, 64, 1.0)


def test_roles_of_warps_of_earlier_releases_are_taken():
    config = triton.Config({"BLOCK": 32}, num_consumer_groups=2, num_buffers_warp_spec=3, reg_dec_producer=40)
    assert config.all_kwargs() == {"BLOCK": 32, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "num_consumer_groups": 2,
                                   "num_buffers_warp_spec": 3, "reg_dec_producer": 40}
    assert config != triton.Config({"BLOCK": 32}) == triton.Config({"BLOCK": 32}, reg_inc_consumer=0)
    y = np.zeros(64, np.float32)
    make([config], key=["n"])[grid](np.ones(64, np.float32), y, 64, 1.0)
    assert (y == 1).all()


def test_configurations_that_cannot_run_lose():
    def bench(launch, quantiles):
        bench.count += 1
        if bench.count != 2:
            raise triton.OutOfResources(2, 1, "shared memory")
        launch()
        return [1.0, 1.0, 1.0]

    bench.count = 0
    scale = make(CONFIGS, key=["n"], reset_to_zero=["y_ptr"], do_bench=bench)
    scale[grid](np.ones(64, np.float32), np.zeros(64, np.float32), 64, 1.0)
    assert scale.best_config is CONFIGS[1]


def test_hooks_and_keys_are_checked():
    seen = []
    config = triton.Config({"BLOCK": 64}, pre_hook=lambda arguments: seen.append(arguments["n"]))
    make([config], key=["n"])[grid](np.ones(64, np.float32), np.zeros(64, np.float32), 64, 1.0)
    assert seen == [64]
    with pytest.warns(UserWarning, match="no_such"):
        make(CONFIGS, key=["no_such"])
    for configs, given in [(CONFIGS, {"BLOCK": 64}), ([config], {"BLOCK": 64}), (CONFIGS, {"num_warps": 8})]:
        scale = make(configs, key=["n"])
        for _ in range(2):
            with pytest.raises(ValueError, match=f"Conflicting meta-parameters: {next(iter(given))}"):
                scale[grid](np.ones(64, np.float32), np.zeros(64, np.float32), 64, 1.0, **given)
        with pytest.raises(ValueError, match="Conflicting"):
            scale.warmup(np.float32, np.float32, 64, 1.0, grid=grid, **given)


def test_results_are_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    arguments = np.ones(64, np.float32), np.zeros(64, np.float32), 64, 1.0
    first = make(CONFIGS, key=["n"], do_bench=instant([3, 2, 1]), cache_results=True)
    first[grid](*arguments)
    second = make(CONFIGS, key=["n"], do_bench=instant([]), cache_results=True)
    second[grid](*arguments)
    assert second.best_config is CONFIGS[2]


def test_real_measurements_choose_something(rng):
    scale = make(CONFIGS, key=["n"], reset_to_zero=["y_ptr"],
                 do_bench=lambda launch, quantiles: triton.testing.do_bench(launch, warmup=1, rep=5,
                                                                            quantiles=quantiles))
    x, y = rng.standard_normal(5000).astype(np.float32), np.zeros(5000, np.float32)
    scale[grid](x, y, 5000, 3.0)
    assert scale.best_config in CONFIGS and np.allclose(y, x * 3)


def test_warm_ups_compile_every_configuration():
    scale = make(CONFIGS, key=["n"])
    kernels = scale.warmup(np.ones(64, np.float32), np.zeros(64, np.float32), 64, 1.0, grid=(1, ))
    assert len({kernel.hash for kernel in kernels}) == 3


def test_heuristics_compute_parameters():
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit
    def kernel(out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        if EVEN:
            tl.store(out_ptr, 1)
        else:
            tl.store(out_ptr, 2)

    out = np.zeros(1, np.int32)
    for n, expected in ((128, 1), (100, 2)):
        kernel[(1, )](out, n, BLOCK=64)
        assert out[0] == expected


def test_decorators_stack():
    @triton.autotune([triton.Config({"BLOCK": 32})], key=["n"])
    @triton.heuristics({"DOUBLE": lambda args: args["BLOCK"] * 2})
    @triton.jit
    def kernel(out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
        tl.store(out_ptr, DOUBLE)

    out = np.zeros(1, np.int32)
    kernel[(1, )](out, 5)
    assert out[0] == 64 and isinstance(kernel.fn, triton.runtime.Heuristics)
    assert isinstance(kernel, triton.KernelInterface) and kernel.__name__ == "kernel"


@pytest.mark.parametrize("seed", range(20))
def test_keys_are_values_of_parameters_and_dtypes_of_tensors(seed):
    random = Random(seed)
    names = [f"p{at}" for at in range(random.randrange(1, 12))]

    def value():
        return random.choice([3, 2.5, True, None, "text", torch.zeros(1), torch.zeros(1, dtype=torch.int8), np.float16(1), (1, 2)])

    args = tuple(value() for _ in range(random.randrange(len(names) + 1)))
    kwargs = {name: value() for name in random.sample([*names, "num_warps", "other"], random.randrange(len(names)))}
    keys = random.sample([*names, "unknown"], random.randrange(len(names)))
    named = {name: given for name, given in {**dict(zip(names, args)), **kwargs}.items() if name in names}
    expected = [named[name] for name in keys if name in named] + [str(given.dtype) for given in named.values() if hasattr(given, "dtype")]
    found = _core.tuning_key(names, keys, args, kwargs)
    assert len(found) == len(expected) and all(one is other or one == other for one, other in zip(found, expected))
