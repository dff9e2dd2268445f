"""`@autotune`: choosing meta-parameters by measuring."""

# ruff: noqa: F401
# Some of these names are here for tuners of other packages, which read them from this module.
import builtins
import functools
import hashlib
import json
import threading
import types
import warnings

from .. import _core, knobs
from .._C.libtriton import get_cache_invalidating_env_vars
from ..errors import AutotunerError, OutOfResources, PTXASError
from ._config import Config
from ._heuristics import Heuristics, heuristics
from ._measuring import CANNOT_RUN, Measuring
from ._restoring import Restorer
from .cache import get_cache_manager, triton_key
from .driver import driver
from .jit import JITFunction, KernelInterface

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics"]

#: Milliseconds that a configuration is run for, unless `rep` says otherwise.
_USUAL_REP = 20


class Autotuner(KernelInterface):
    """A kernel that is launched with the fastest of several configurations, measured once for each key.

    Attributes:
        best_config: the one of the latest launch.
        cache: from key to configuration.
        configs_timings: of the latest tuning, the times of each configuration that was tried: median, 20 % and 80 % quantile
            in milliseconds, or what `do_bench` returned; infinite for those that cannot run.
        failed_configs: of the latest tuning, why configurations cannot run.
        bench_time: how long the latest tuning took, in seconds.
    """

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None,
                 cache_results=False, *, search="exhaustive", budget=None, seed=0):
        self.fn = fn
        self.arg_names = arg_names
        self.configs = list(configs or ()) or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self._check_names()
        self.cache = {}
        self.cache_results = cache_results
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
            raise ValueError(f"budget is {budget!r}: it is how many configurations are tried, at least 1")
        self.search, self.budget, self.seed = search, budget, seed
        self.best_config = None
        self.configs_timings = None
        self.failed_configs = {}
        self.bench_time = None
        self._local = threading.local()
        self._guard = threading.Lock()
        self._under_way = {}
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._zero
        self.post_hook = post_hook or self._restore
        rules = prune_configs_by or {}
        self.perf_model = rules.get("perf_model")
        self.configs_top_k = rules.get("top_k", 1.0)
        self.early_config_prune = rules.get("early_config_prune")
        if self.perf_model:
            _check_top_k(self.configs_top_k)
        self.num_warmups = warmup
        self.num_reps = rep
        self.use_cuda_graph = use_cuda_graph
        self._do_bench = do_bench
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn("autotune(warmup=, rep=, use_cuda_graph=) are deprecated; give do_bench=, a function of a launch "
                          "and quantiles", DeprecationWarning, stacklevel=3)
        self.base_fn = _innermost(fn)
        self.__name__ = getattr(self.base_fn, "__name__", None)
        self.__doc__ = getattr(self.base_fn, "__doc__", None) or type(self).__doc__

    def _check_names(self):
        for parameter in ("keys", "reset_to_zero", "restore_value"):
            unknown = [str(name) for name in getattr(self, parameter) if name not in self.arg_names]
            if not unknown:
                continue
            text = (f"{'key' if parameter == 'keys' else parameter} contains names that are not kernel arguments: "
                    f"{', '.join(unknown)}. Valid argument names are: {', '.join(self.arg_names)}.")
            if parameter != "keys":
                raise ValueError(text)
            # Releases before 3.9 ignored them, and public kernels have such keys.
            warnings.warn(f"{text} They are ignored.", stacklevel=4)

    @property
    def nargs(self):
        """The arguments of the launch under way on this thread, by name; None between launches."""
        return getattr(self._local, "nargs", None)

    @nargs.setter
    def nargs(self, arguments):
        self._local.nargs = arguments

    def _zero(self, arguments, reset_only=False):
        self._restorer().zero(arguments)

    def _restore(self, arguments, exception):
        self._restorer().restore(arguments)

    def _restorer(self):
        """What keeps the arguments of the tuning under way on this thread."""
        restorer = getattr(self._local, "restorer", None)
        return Restorer(self.reset_to_zero, self.restore_value) if restorer is None else restorer

    @property
    def has_own_clock(self):
        """Whether times are not taken in the standard way."""
        if self._do_bench is not None or self.has_own_bench or self._measures_graphs:
            return True
        from .driver import Driver, driver

        ask = driver.active.get_benchmarker
        if getattr(ask, "__func__", None) is Driver.get_benchmarker:
            # Results that are kept need nothing that measures, so it is not imported to be recognised.
            return False
        from ..testing import do_bench

        return ask() is not do_bench

    @property
    def _measures_graphs(self):
        """Whether launches are measured in graphs: where they were asked for and the device has them."""
        if not self.use_cuda_graph:
            return False
        from .driver import driver

        return hasattr(driver.active.get_device_interface(), "CUDAGraph")

    @property
    def do_bench(self):
        """What measures: called with the launch and quantiles."""
        if self._do_bench is not None:
            return self._do_bench
        if self._measures_graphs:
            from ..testing import do_bench_cudagraph

            return functools.partial(do_bench_cudagraph, **_given(rep=self.num_reps))
        from .driver import driver

        return functools.partial(driver.active.get_benchmarker(), **_given(warmup=self.num_warmups, rep=self.num_reps))

    def _bench(self, *args, config, **meta):
        """Times of one configuration in milliseconds: median, 20 % and 80 % quantile; infinite where it cannot run.

        A subclass that has one of its own is tuned by it.
        """
        self._refuse_conflicts([config], meta)
        current = {**meta, **config.all_kwargs()}
        arguments = {**dict(zip(self.arg_names, args)), **current}
        restorer = Restorer(self.reset_to_zero, self.restore_value)
        restorer.save(arguments)

        def launch():
            if config.pre_hook is not None:
                config.pre_hook(arguments)
            self.pre_hook(arguments)
            try:
                self.fn.run(*args, **current)
            except BaseException as error:
                self.post_hook(arguments, exception=error)
                raise
            self.post_hook(arguments, exception=None)

        before, self._local.restorer = getattr(self._local, "restorer", None), restorer
        try:
            return self.do_bench(launch, quantiles=(0.5, 0.2, 0.8))
        except CANNOT_RUN:
            return [float("inf")] * 3
        finally:
            self._local.restorer = before
            restorer.leave(arguments)

    @property
    def has_own_bench(self):
        """Whether a subclass says how long configurations take."""
        return type(self)._bench is not Autotuner._bench

    def _key(self, args, kwargs):
        """The values of the key parameters, then the dtypes of all tensors."""
        return _core.tuning_key(self.arg_names, self.keys, args, kwargs)

    def run(self, *args, **kwargs):
        """Launches with the best configuration for these arguments, tuning first where that has not been done."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            config = self._chosen(args, kwargs) if len(self.configs) > 1 else self.configs[0]
            self.best_config = config
            options = config.all_kwargs()
            if not kwargs.keys().isdisjoint(options):
                self._refuse_conflicts([config], kwargs)
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **options})
            return self.fn.run(*args, **kwargs, **options)
        finally:
            self.nargs = None

    def _chosen(self, args, kwargs):
        """The configuration of this key. One thread tunes it, others that want it wait."""
        key = self._key(args, kwargs)
        config = self.cache.get(key)
        if config is not None:
            return config
        with self._guard:
            lock = self._under_way.setdefault(key, threading.RLock())
        with lock:
            if key not in self.cache:
                self.cache[key] = self._tune(key, args, kwargs)
        self._under_way.pop(key, None)
        return self.cache[key]

    def _tune(self, key, args, kwargs):
        """The best of the configurations that pruning leaves: measured, or known from before."""
        nargs = self.nargs
        pruned = self.prune_configs(kwargs)
        if len(pruned) == 1:
            return pruned[0]
        self._refuse_unknown_names(pruned)
        self._refuse_conflicts(pruned, kwargs)
        measuring = Measuring(self._session(key, pruned, nargs, kwargs), pruned, self, args, kwargs, nargs)
        config = self._measured(measuring)
        self.configs_timings = measuring.timings()
        self.failed_configs = measuring.failures()
        if measuring.ran and self.user_defined_pre_hook:
            self.pre_hook({**nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
        self._tell(key, config, measuring)
        return config

    def _measured(self, measuring):
        """Runs the session until its best configuration is one that runs here."""
        restorer = Restorer(self.reset_to_zero, self.restore_value)
        before = getattr(self._local, "restorer", None)
        self._local.restorer = restorer
        try:
            while True:
                seconds = measuring.run(restorer)
                best = measuring.session.best()
                if best is None:
                    raise measuring.nothing_runs()
                if measuring.ran:
                    self.bench_time = seconds
                if measuring.check(best):
                    return measuring.configs[best]
        finally:
            self._local.restorer = before

    def _session(self, key, pruned, nargs, kwargs):
        own_clock = self.has_own_clock
        function = self.base_jit_function
        # How long the interpreter takes says nothing of compiled kernels.
        interpreted = knobs.runtime.interpret or (function is not None and function.interpret)
        keep = _core.tuning_is_kept(bool(self.cache_results), self._do_bench is not None or self.has_own_bench) and not interpreted
        arguments = {**nargs, **kwargs}
        values = [(name, _text(arguments[name])) for name in self.keys if name in arguments]
        options = [(name, value) for name, value in sorted(kwargs.items())
                   if name not in self.arg_names and name not in ("grid", "warmup", "stream")]
        measured_by = type(self)._bench if self.has_own_bench else self._do_bench
        method = f"{_identity(measured_by)} {self.use_cuda_graph} {self.num_reps}" if own_clock else f"{self.num_reps}"
        subject = (str(self.__name__), _core.source_hash(function) if function is not None else "", values,
                   list(key[len(values):]), options, method)
        configurations = [list(config.all_kwargs().items()) + _hook(config) for config in pruned]
        return _core.Tuning(subject, configurations, search=self.search, budget=self.budget, seed=self.seed,
                            budget_ms=float(self.num_reps or _USUAL_REP), keep=keep and function is not None)

    @property
    def base_jit_function(self):
        """The kernel under all decorators, or None if it is no `JITFunction`."""
        function = self.fn
        while not isinstance(function, JITFunction) and hasattr(function, "fn"):
            function = function.fn
        return function if isinstance(function, JITFunction) else None

    def _tell(self, key, config, measuring):
        """Prints and calls what listens to tunings."""
        measured = bool(measuring.ran)
        if knobs.autotuning.print and measured:
            print(f"Triton autotuning for function {self.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};")
            if self.failed_configs:
                print(f"configurations that cannot run:{measuring.session.failures_text()}")
        if knobs.autotuning.listener is not None:
            knobs.autotuning.listener(fn=self.base_jit_function, key=key, best_config=config,
                                      configs_timings=self.configs_timings,
                                      duration=self.bench_time if measured else None, cache_hit=not measured)

    def _refuse_conflicts(self, configs, kwargs):
        """A launch must not say what configurations say."""
        conflicts = sorted({name for config in configs for name in kwargs.keys() & config.all_kwargs().keys()})
        if conflicts:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't "
                             "re-define auto-tuned symbols.")

    def _refuse_unknown_names(self, configs):
        """A configuration must not set what is neither a parameter nor an option of a launch."""
        if not hasattr(self.fn, "arg_names"):
            return  # An object of the program's own, which takes what it takes.
        for config in configs:
            others = config.kwargs.keys() - set(self.arg_names)
            unknown = sorted(others.difference(_core.option_names())) if others else []
            if unknown:
                raise KeyError(f"Keyword argument {unknown[0]} was specified but unrecognised: it is in the configuration "
                               f"`{config}`, and kernel `{self.__name__}` has the parameters {', '.join(self.arg_names)}")

    def prune_configs(self, kwargs):
        """The configurations worth measuring, by `early_config_prune` and `perf_model`."""
        pruned = self.configs
        if self.early_config_prune:
            pruned = self.early_config_prune(self.configs, self.nargs, **kwargs)
            if not pruned:
                raise AutotunerError("No valid autotuner configs after pruning. `early_config_prune` should return at "
                                     "least one config.")
        if not self.perf_model:
            return list(pruned)
        top_k = self.configs_top_k
        _check_top_k(top_k)
        if isinstance(top_k, float):
            top_k = max(1, int(len(pruned) * top_k))
        if len(pruned) <= top_k:
            return list(pruned)
        estimates = [self.perf_model(**{**self.nargs, **kwargs, **config.all_kwargs()}) for config in pruned]
        order = sorted(range(len(estimates)), key=estimates.__getitem__)
        return [pruned[index] for index in order[:top_k]]

    def warmup(self, *args, **kwargs):
        """Compiles every configuration; returns the compiled kernels."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            configs = self.prune_configs(kwargs)
            self._refuse_unknown_names(configs)
            self._refuse_conflicts(configs, kwargs)
            return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in configs]
        finally:
            self.nargs = None

    def check_disk_cache(self, tuning_key, configs, bench_fn=None):
        """Takes over a result that an earlier process kept, calling `bench_fn` where there is none; returns whether there was.

        Only inside a launch of this kernel, from a hook: the key needs its arguments.
        """
        session = self._session(tuning_key, configs, self.nargs or {}, {})
        if session.next() or session.best() is None:
            if bench_fn is not None:
                bench_fn()
            return False
        self.cache[tuning_key] = configs[session.best()]
        return True


def _check_top_k(top_k):
    """Says what is wrong with how many configurations a `perf_model` is to leave."""
    is_share = isinstance(top_k, float) and top_k <= 1.0
    if not is_share and (isinstance(top_k, bool) or not isinstance(top_k, int)):
        raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int, and is "
                        f"{top_k!r}")
    if top_k < 0 or (top_k == 0 and not is_share):
        raise ValueError(f"Error while pruning configs, top_k is {top_k!r}: at least one configuration must stay")


def _innermost(fn):
    while not isinstance(fn, types.FunctionType) and hasattr(fn, "fn"):
        fn = fn.fn
    return fn


def _given(**values):
    return {name: value for name, value in values.items() if value is not None}


def _text(value):
    """A value of the key as text: an array by its dtype, since its elements are no part of the key."""
    return str(value.dtype) if hasattr(value, "dtype") else repr(value)


def _identity(function):
    """A text by which a function is known in another process."""
    code = getattr(function, "__code__", None)
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    return name if code is None else f"{name} {code.co_code.hex()}"


def _hook(config):
    return [] if config.pre_hook is None else [("pre_hook", getattr(config.pre_hook, "__qualname__", "yes"))]


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False, *,
             search="exhaustive", budget=None, seed=0):
    """Measures `configs` the first time that a kernel is launched with new values of `key`, and uses the fastest.

    Every configuration runs the kernel several times: name arguments that it updates in `reset_to_zero` or
    `restore_value`. Configurations compile on all cores; those that cannot run (out of resources, an error of the
    compiler, a `static_assert`) are left out. Results are kept on disk: see docs/tuning.md.

    Args:
        configs: `Config` objects.
        key: parameter names; another value of one of them (or another dtype of any tensor) means tuning again.
        prune_configs_by: ``{"perf_model": estimate, "top_k": number or share, "early_config_prune": function}``.
        reset_to_zero, restore_value: parameter names, put back after each timed launch, and whatever ends the tuning.
        pre_hook, post_hook: replace what `reset_to_zero` and `restore_value` do around each launch.
        warmup, rep, use_cuda_graph: deprecated; give `do_bench`.
        do_bench: called with a launch and ``quantiles``, returns times.
        cache_results: keep results on disk also where `do_bench` is given.
        search: ``"exhaustive"``, ``"random"`` (a part, drawn at random) or ``"local"`` (half of the budget at random, then the
            neighbours of the best).
        budget: how many configurations ``"random"`` and ``"local"`` try; 32 by default.
        seed: another number draws other configurations.
    """

    def decorator(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
                         post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
                         use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results, search=search,
                         budget=budget, seed=seed)

    return decorator
