"""`@autotune` and `@heuristics`: choosing meta-parameters by measuring, or by rule."""

import functools
import time

from .. import knobs
from ..errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources, PTXASError
from .jit import KernelInterface

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics"]

#: Launch options that a configuration may set beside its meta-parameters.
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")


class Config:
    """One way to launch a kernel.

    Args:
        kwargs: meta-parameters by name.
        num_warps, num_stages, num_ctas, maxnreg, ir_override: launch options; None leaves one at its default.
        pre_hook: called with all arguments by name before each launch with this configuration.
    """

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def __setstate__(self, state):
        Config.__init__(self, state.get("kwargs", {}))
        self.__dict__.update(state)

    def all_kwargs(self):
        """Meta-parameters and the launch options that are set."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __str__(self):
        parts = [f"{name}: {value}" for name, value in self.kwargs.items()]
        parts += [f"{name}: {getattr(self, name)}" for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")]
        return ", ".join(parts)

    def _key(self):
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return isinstance(other, Config) and self._key() == other._key()


class _Restorer:
    """Puts chosen arguments back after each timed launch: to zero, or to what they held."""

    def __init__(self, reset_to_zero, restore_value):
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.saved = {}

    def before(self, arguments, reset_only=False):
        for name in self.reset_to_zero:
            _zero(arguments[name])
        if not reset_only:
            self.saved = {name: _clone(arguments[name]) for name in self.restore_value}

    def after(self, arguments):
        for name, value in self.saved.items():
            _copy_into(arguments[name], value)
        self.saved = {}


def _zero(array):
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0


def _clone(array):
    return array.clone() if hasattr(array, "clone") else array.copy()


def _copy_into(array, value):
    if hasattr(array, "copy_"):
        array.copy_(value)
    else:
        array[...] = value


class Autotuner(KernelInterface):
    """A kernel that is launched with the fastest of several configurations, measured once for each key.

    Attributes:
        best_config: the one of the latest launch.
        cache: from key to configuration.
        configs_timings: of the latest tuning, what `do_bench` returned for each configuration.
        bench_time: how long the latest tuning took, in seconds.
    """

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None,
                 cache_results=False):
        self.fn = fn
        self.arg_names = arg_names
        self.configs = list(configs) or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self.keys = list(key)
        unknown = [name for name in self.keys if name not in arg_names]
        if unknown:
            raise ValueError(f"autotune key {unknown} names no parameter of the kernel; it has {list(arg_names)}")
        self.cache = {}
        self.cache_results = cache_results
        self.nargs = None
        self.best_config = None
        self.configs_timings = None
        self.bench_time = None
        self._restorer = _Restorer(reset_to_zero, restore_value)
        self.reset_to_zero = self._restorer.reset_to_zero
        self.restore_value = self._restorer.restore_value
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or (lambda arguments, reset_only=False: self._restorer.before(arguments, reset_only))
        self.post_hook = post_hook or (lambda arguments, exception: self._restorer.after(arguments))
        rules = prune_configs_by or {}
        self.perf_model = rules.get("perf_model")
        self.configs_top_k = rules.get("top_k", 1.0)
        self.early_config_prune = rules.get("early_config_prune")
        self.num_warmups = warmup
        self.num_reps = rep
        self.use_cuda_graph = use_cuda_graph
        self._do_bench = do_bench
        self.base_fn = fn
        while not hasattr(self.base_fn, "__code__") and hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self.__name__ = getattr(self.base_fn, "__name__", None)
        self.__doc__ = getattr(self.base_fn, "__doc__", None) or type(self).__doc__

    @property
    def do_bench(self):
        """What measures: called with the launch and quantiles."""
        if self._do_bench is not None:
            return self._do_bench
        from .driver import driver

        given = {"warmup": self.num_warmups, "rep": self.num_reps}
        return functools.partial(driver.active.get_benchmarker(),
                                 **{name: value for name, value in given.items() if value is not None})

    def _key(self, args, kwargs):
        """The values of the key parameters, then the dtypes of all tensors."""
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        named = {name: value for name, value in arguments.items() if name in self.arg_names}
        key = [named[name] for name in self.keys if name in named]
        key += [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        return tuple(key)

    def _bench(self, args, config, kwargs):
        """The times of one configuration; infinite when it cannot run."""
        conflicts = kwargs.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}. Make sure that you don't "
                             "re-define auto-tuned symbols.")
        current = {**kwargs, **config.all_kwargs()}
        arguments = {**self.nargs, **current}

        def launch():
            if config.pre_hook is not None:
                config.pre_hook(arguments)
            self.pre_hook(arguments)
            try:
                self.fn.run(*args, **current)
            except Exception as error:
                try:
                    self.post_hook(arguments, exception=error)
                finally:
                    raise
            self.post_hook(arguments, exception=None)

        try:
            return self.do_bench(launch, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as error:
            if knobs.autotuning.print:
                print(f"Autotuning failed with {error}")
            return [float("inf"), float("inf"), float("inf")]

    def _tune(self, key, args, kwargs):
        """Measures all configurations that pruning leaves, and remembers the best."""
        pruned = self.prune_configs(kwargs)
        if len(pruned) == 1:
            self.cache[key] = pruned[0]
            return
        if self.check_disk_cache(key, pruned):
            return
        began = time.perf_counter()
        timings = {config: self._bench(args, config, kwargs) for config in pruned}
        self.bench_time = time.perf_counter() - began
        self.configs_timings = timings
        best = min(timings, key=lambda config: _median(timings[config]))
        if _median(timings[best]) == float("inf"):
            raise AutotunerError(f"none of the {len(timings)} configurations of `{self.__name__}` can run on this "
                                 "device; TRITON_PRINT_AUTOTUNING=1 prints why")
        self.cache[key] = best
        self._store_on_disk(key, pruned)
        self.pre_hook({**self.nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
        if knobs.autotuning.print:
            print(f"Triton autotuning for function {self.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {best};")

    def run(self, *args, **kwargs):
        """Launches with the best configuration for these arguments, tuning first where that has not been done."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            if len(self.configs) > 1:
                key = self._key(args, kwargs)
                if key not in self.cache:
                    self._tune(key, args, kwargs)
                config = self.cache[key]
            else:
                config = self.configs[0]
            self.best_config = config
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            return self.fn.run(*args, **{**kwargs, **config.all_kwargs()})
        finally:
            self.nargs = None

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
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = int(len(self.configs) * top_k)
        elif not isinstance(top_k, int):
            raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
        if len(pruned) <= top_k:
            return list(pruned)
        estimates = [self.perf_model(**self.nargs, **kwargs, **config.all_kwargs()) for config in pruned]
        order = sorted(range(len(estimates)), key=estimates.__getitem__)
        return [pruned[index] for index in order[:top_k]]

    def warmup(self, *args, **kwargs):
        """Compiles every configuration; returns the compiled kernels."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            return [self.fn.warmup(*args, **{**kwargs, **config.all_kwargs()})
                    for config in self.prune_configs(kwargs)]
        finally:
            self.nargs = None

    def check_disk_cache(self, tuning_key, configs):
        """Takes over a result that an earlier process kept; returns whether there was one."""
        manager, name = self._disk_cache(tuning_key, configs)
        path = manager and manager.get_file(name)
        if not path:
            return False
        import json

        try:
            with open(path) as file:
                best = configs[json.load(file)["best"]]
        except (ValueError, KeyError, IndexError, TypeError, OSError):
            return False
        self.cache[tuning_key] = best
        return True

    def _store_on_disk(self, tuning_key, configs):
        manager, name = self._disk_cache(tuning_key, configs)
        if manager:
            import json

            manager.put(json.dumps({"best": configs.index(self.cache[tuning_key])}), name, binary=False)

    def _disk_cache(self, tuning_key, configs):
        """The manager and file name of a result on disk; ``(None, None)`` where results are not kept."""
        wanted = self.cache_results or knobs.autotuning.cache
        if not wanted or any(config.pre_hook for config in configs) or self.user_defined_pre_hook:
            return None, None
        import hashlib

        from .cache import get_cache_manager, triton_key
        from .driver import driver

        function = self.fn
        while not hasattr(function, "cache_key"):
            function = function.fn
        parts = [triton_key(), str(driver.active.get_current_target()), function.cache_key, str(tuning_key)]
        parts += [str(config) for config in configs]
        digest = hashlib.sha256("-".join(parts).encode()).hexdigest()
        return get_cache_manager(digest), f"{self.__name__}.autotune.json"


def _median(times):
    return times[0] if isinstance(times, (list, tuple)) else times


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """Measures `configs` the first time that a kernel is launched with new values of `key`, and uses the fastest.

    Every configuration runs the kernel several times: name arguments that it updates in `reset_to_zero` or
    `restore_value`.

    Args:
        configs: `Config` objects.
        key: parameter names; another value of one of them (or another dtype of any tensor) means tuning again.
        prune_configs_by: ``{"perf_model": estimate, "top_k": number or share, "early_config_prune": function}``.
        reset_to_zero, restore_value: parameter names, put back after each timed launch.
        pre_hook, post_hook: replace what `reset_to_zero` and `restore_value` do.
        warmup, rep, use_cuda_graph: deprecated; give `do_bench`.
        do_bench: called with a launch and ``quantiles``, returns times.
        cache_results: keep results on disk.
    """

    def decorator(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
                         post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
                         use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results)

    return decorator


class Heuristics(KernelInterface):
    """A kernel some of whose meta-parameters are computed from its arguments."""

    def __init__(self, fn, arg_names, values):
        self.fn = fn
        self.arg_names = arg_names
        self.values = values
        self.__name__ = getattr(fn, "__name__", None)
        self.__doc__ = getattr(fn, "__doc__", None) or type(self).__doc__

    def run(self, *args, **kwargs):
        """Computes the values and launches."""
        for name, heuristic in self.values.items():
            kwargs[name] = heuristic({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    """Computes meta-parameters: ``@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})``.

    Args:
        values: from a name to a function of all arguments by name.
    """

    def decorator(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorator
