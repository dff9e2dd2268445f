"""One tuning of one kernel for one key: launches and times what the native session asks for.

Which configurations are tried, how often each is run, when one is given up and what is kept on disk is decided by
``_core.Tuning``; what compiles and when by ``_core.Compiling``. Here is what must be Python: calling kernels and hooks.
"""

import functools
import sys
import threading
import time

from .. import _core, knobs
from ..errors import AutotunerError, CompilationError, OutOfResources, PTXASError
from ._remarks import quiet

#: What a configuration that cannot run raises; anything else is an error of the program.
CANNOT_RUN = (OutOfResources, CompilationError, PTXASError)

#: Times are taken by one thread at a time. The same thread may tune another kernel meanwhile, from a hook.
_TIMING = threading.RLock()


class _Progress:
    """A line on the terminal that is written again and again; nothing where there is no terminal."""

    def __init__(self):
        self._out = sys.stderr
        try:
            self._shown = bool(knobs.autotuning.progress and self._out.isatty())
        except (AttributeError, ValueError):
            self._shown = False

    def show(self, text):
        if self._shown:
            width = _columns()
            self._out.write("\r\x1b[K" + (text if len(text) < width else text[:width - 2] + "…"))
            self._out.flush()

    def end(self):
        if self._shown:
            self._out.write("\r\x1b[K")
            self._out.flush()


def _columns():
    import shutil

    return shutil.get_terminal_size().columns


class _Launch:
    """A launch with one configuration, and the hooks around it: whatever ends it, what `before` began `after` ends."""

    def __init__(self, measuring, config):
        self._tuner = measuring.tuner
        self._args = measuring.args
        self._current = {**measuring.kwargs, **config.all_kwargs()}
        self._config = config
        self.arguments = {**measuring.arguments, **self._current}
        self._is_open = False

    def bare(self):
        self._tuner.fn.run(*self._args, **self._current)

    def before(self):
        if self._config.pre_hook is not None:
            self._config.pre_hook(self.arguments)
        self._is_open = True
        self._tuner.pre_hook(self.arguments)

    def after(self, error=None):
        self._is_open = False
        self._tuner.post_hook(self.arguments, exception=error)

    def whole(self):
        self.before()
        self.guarded(self.bare)
        self.after()

    def guarded(self, work):
        """Runs `work`; where that fails between the hooks, the second one hears of it."""
        try:
            return work()
        except BaseException as error:
            if self._is_open:
                self.after(error)
            raise


class Measuring:
    """Runs a session to its end.

    Args:
        session: a ``_core.Tuning``.
        configs: the configurations, by its numbers.
        tuner: the `Autotuner`.
        args, kwargs: those of the launch.
        nargs: the positional arguments of the launch by name.
    """

    def __init__(self, session, configs, tuner, args, kwargs, nargs):
        self.session = session
        self.configs = configs
        self.tuner = tuner
        self.args = args
        self.kwargs = kwargs
        self.arguments = {**nargs, **kwargs}
        self.raised = {}
        self.times = {}
        self.ran = set()
        self._clock = None

    def run(self, restorer):
        """Tries what is to be tried; returns how long that took, in seconds. User data is as before when it returns or raises."""
        begin = time.perf_counter()
        progress = _Progress()
        batch = self.session.next()
        if not batch:
            return 0.0
        restorer.save(self.arguments)
        try:
            with quiet():
                while batch:
                    for number in self._ready(batch):
                        progress.show(self.session.progress())
                        self._measure(number)
                    batch = self.session.next()
                self._finals(progress)
        finally:
            progress.end()
            restorer.leave(self.arguments)
        return time.perf_counter() - begin

    def _ready(self, batch):
        """The configurations of a batch as they are compiled; those that cannot be are noted."""
        ahead = [number for number in batch if self._can_compile_ahead(self.configs[number])]
        for number in batch:
            if number not in ahead:
                yield number
        if not ahead:
            return
        compiling = _core.Compiling([self._compile(self.configs[number]) for number in ahead])
        try:
            yield from self._compiled(compiling, ahead)
        finally:
            compiling.close()

    def _compiled(self, compiling, numbers):
        # A host that compiles is busy, and its times would be wrong: there, timing waits for the last compile.
        waiting, left = [], set(range(len(numbers)))
        while (done := compiling.next()) is not None:
            at, error = done
            left.discard(at)
            if error is not None and not isinstance(error, CANNOT_RUN):
                if hasattr(error, "add_note"):  # from Python 3.11 on
                    error.add_note(f"with the configuration {self.configs[numbers[at]]}")
                raise error
            if error is not None:
                self._tell_hooks(self.configs[numbers[at]], error)
                self._failed(numbers[at], error)
            elif self._on_host():
                waiting.append(at)
            else:
                yield numbers[at]
        yield from (numbers[at] for at in sorted([*waiting, *left]))

    def _tell_hooks(self, config, error):
        """Hooks of the user's own hear of a configuration that does not compile as of one that cannot be launched."""
        if self.tuner.user_defined_pre_hook or self.tuner.user_defined_post_hook:
            launch = _Launch(self, config)
            launch.before()
            launch.after(error)

    @staticmethod
    def _on_host():
        from .driver import driver, works_on_host

        return works_on_host(driver.active)

    def _can_compile_ahead(self, config):
        """A hook may change objects among the arguments, descriptors for one, that decide what is compiled."""
        return config.pre_hook is None or not any(hasattr(value, "block_shape") for value in self.arguments.values())

    def _compile(self, config):
        def work():
            with quiet():
                kernel = self.tuner.fn.run(*self.args, warmup="launch", **self._launch_arguments(config))
            load = getattr(kernel, "_init_handles", None)
            if load is not None:
                load()

        return work

    def _launch_arguments(self, config):
        return {**{name: value for name, value in self.kwargs.items() if name != "warmup"}, **config.all_kwargs()}

    @property
    def clock(self):
        if self._clock is None:
            from ..testing.clock import Clock
            from .driver import driver

            self._clock = Clock(driver.active)
        return self._clock

    def _failed(self, number, error):
        self.raised[number] = error
        if knobs.autotuning.print:
            print(f"Autotuning failed with {error}")
        self.session.failed(number, f"{type(error).__name__}: {error}")

    def _measure(self, number):
        config = self.configs[number]
        if knobs.autotuning.print:
            print(f"Autotuning kernel {self.tuner.__name__} with config {config}")
        try:
            with _TIMING:
                if self.tuner.has_own_clock:
                    self._by_own_clock(number, config)
                else:
                    self._by_runs(number, config)
            self.ran.add(number)
        except CANNOT_RUN as error:
            self._failed(number, error)

    def check(self, number):
        """Whether a configuration that another process measured can run here as well; if not, that is noted."""
        if number in self.ran or not self._can_compile_ahead(self.configs[number]):
            return True
        try:
            self._compile(self.configs[number])()
        except CANNOT_RUN as error:
            self._failed(number, error)
            return False
        return True

    def _by_own_clock(self, number, config):
        """With a `do_bench` that was given: called once, with a function that launches, hooks included."""
        launch = _Launch(self, config)
        if self.tuner.has_own_bench:
            found = self.tuner._bench(*self.args, config=config, **self.kwargs)
        else:
            found = launch.guarded(lambda: self.tuner.do_bench(launch.whole, quantiles=(0.5, 0.2, 0.8)))
        self.times[number] = found
        times = list(found) if isinstance(found, (list, tuple)) else [found]
        self.session.timed(number, *(float(times[min(at, len(times) - 1)]) for at in range(3)))

    def _by_runs(self, number, config):
        """By single runs, as many as the session wants; hooks are not timed."""
        launch = _Launch(self, config)

        def runs():
            launch.whole()
            self.clock.synchronize()
            self.session.begin(number)
            while wanted := self.session.wanted(number):
                self._add(number, launch, wanted)

        launch.guarded(runs)
        self.session.end(number)

    def _add(self, number, launch, count):
        """Takes times of so many runs."""
        begin = time.perf_counter()
        times = self.clock.times(launch.bare, count, launch.before, launch.after)
        self.session.add(number, times, (time.perf_counter() - begin) * 1e3)

    def _finals(self, progress):
        """Those that come near the best run again in turns, now that nothing compiles beside them."""
        if self.tuner.has_own_clock:
            return
        turns, runs = self.session.finals()
        launches = {number: _Launch(self, self.configs[number]) for number, _ in runs}
        for _ in range(turns):
            for number, count in runs:
                progress.show(self.session.progress())
                launch = launches[number]
                with _TIMING:
                    launch.guarded(functools.partial(self._add, number, launch, count))
        for number, _ in runs:
            self.session.end(number)

    def timings(self):
        """What `Autotuner.configs_timings` says: from configuration to times, infinite where it cannot run."""
        found = {}
        for number, config in enumerate(self.configs):
            times = self.session.times(number)
            if times is not None:
                found[config] = self.times.get(number, list(times))
        return found

    def failures(self):
        """From configuration to the reason why it cannot run."""
        return {self.configs[number]: reason for number, reason in self.session.failures()}

    def nothing_runs(self):
        """The error for a kernel none of whose configurations can run."""
        tried = len(self.session.failures())
        error = AutotunerError(f"none of the {tried} configurations of `{self.tuner.__name__}` can run on this device:"
                               f"{self.session.failures_text()}")
        error.__cause__ = next(iter(self.raised.values()), None)
        return error
