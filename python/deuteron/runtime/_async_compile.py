"""Compiles that go on while Python does something else."""

import contextvars

active_mode = contextvars.ContextVar("async_compile_active_mode", default=None)


def deferred(function, key, args, kwargs):
    """Hands a warm-up to the executor of the mode that is active; returns what stands for its kernel until then."""
    pending = function.__dict__.setdefault("_pending", {})

    def compile_kernel():
        # In a context of its own no mode is active.
        return contextvars.Context().run(lambda: function.run(*args, grid=None, warmup=True, **kwargs))

    def forget(_):
        pending.pop(key, None)

    future = active_mode.get().submit((function, key), compile_kernel, cleanup_fn=forget)
    pending[key] = future
    return future


class FutureKernel:
    """A kernel that is being compiled."""

    def __init__(self, finalize_compile, cleanup_compile, future):
        self.finalize_compile = finalize_compile
        self.cleanup_compile = cleanup_compile
        self.future = future
        self.kernel = None

    def result(self, ignore_errors=False):
        """Waits, and returns the compiled kernel (None after an error when `ignore_errors`)."""
        if self.kernel is not None:
            return self.kernel
        try:
            kernel = self.future.result()
        except Exception:
            if ignore_errors:
                return None
            raise
        finally:
            if self.cleanup_compile is not None:
                self.cleanup_compile(self)
        if self.finalize_compile is not None:
            self.finalize_compile(kernel)
        self.kernel = kernel
        return kernel


class AsyncCompileMode:
    """Inside ``with AsyncCompileMode(executor):`` warm-ups are handed to the executor; leaving waits for all of them.

    Compiles release the GIL, so a ``concurrent.futures.ThreadPoolExecutor`` is a good executor.
    """

    def __init__(self, executor, *, ignore_errors=False):
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.future_kernels = {}
        self._token = None

    def submit(self, key, compile_fn, finalize_fn=None, cleanup_fn=None):
        """Hands `compile_fn` to the executor, once for each `key`."""
        known = self.future_kernels.get(key)
        if known is None:
            known = FutureKernel(finalize_fn, cleanup_fn, self.executor.submit(compile_fn))
            self.future_kernels[key] = known
        return known

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        self._token = active_mode.set(self)
        return self

    def __exit__(self, kind, value, traceback):
        active_mode.reset(self._token)
        for kernel in list(self.future_kernels.values()):
            kernel.result(self.ignore_errors)
