"""``deuteron bench``: runs the `perf_report` marks of a script.

The script is loaded with every ``import triton`` redirected, under another name than ``__main__``; its own calls of ``run`` are put
off, so that each mark is measured once. A script that makes its marks only as ``__main__`` is loaded as that.
"""

import argparse
import fnmatch
import os
import sys
import time
import traceback
import types


#: The page with the plots of one `run`, which here is one of many.
_PAGE = "results.html"


class _Found:
    """A mark with the names it goes by."""

    def __init__(self, mark, name):
        self.mark = mark
        self.names = [name]
        benchmarks = mark.benchmarks
        self.benchmarks = list(benchmarks) if isinstance(benchmarks, (list, tuple)) else [benchmarks]
        self.file_names = [benchmark.plot_name for benchmark in self.benchmarks]

    @property
    def name(self):
        return self.names[0]

    def matches(self, patterns):
        """The benchmarks that the patterns name, and what their files are called: all, where they name the mark."""
        both = list(zip(self.benchmarks, self.file_names))
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for name in self.names for pattern in patterns):
            return both
        return [(benchmark, file_name) for benchmark, file_name in both
                if any(fnmatch.fnmatchcase(name, pattern) for name in (benchmark.plot_name, file_name) for pattern in patterns)]


class _Loading:
    """While a script is loaded: hears of every mark, and puts their measurements off."""

    def __init__(self, mark_class):
        self.mark_class = mark_class
        self.found = []

    def __enter__(self):
        self.init, self.run = self.mark_class.__init__, self.mark_class.run

        def init(mark, *args, **kwargs):
            self.init(mark, *args, **kwargs)
            self.found.append(_Found(mark, getattr(mark.fn, "__name__", "benchmark")))

        def run(mark, *args, return_df=False, **kwargs):
            return [] if return_df else None

        self.mark_class.__init__, self.mark_class.run = init, run
        return self

    def __exit__(self, *error):
        self.mark_class.__init__, self.mark_class.run = self.init, self.run


def _load(path, name):
    """Runs the script as a module of that name; returns its globals."""
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return vars(module)


def find_marks(path):
    """The marks that a script makes, in order."""
    from .testing import Mark

    for name in ("__deuteron_bench__", "__main__"):
        with _Loading(Mark) as loading:
            scope = _load(path, name)
        if loading.found:
            break
    for variable, value in scope.items():
        for found in loading.found:
            if value is found.mark and variable not in found.names:
                found.names.append(variable)
    _name_files(loading.found)
    return loading.found


def _name_files(marks):
    """Among all benchmarks of the script: one that is measured alone has the files that it has among the others."""
    from .testing.report import file_names

    names = iter(file_names([benchmark for found in marks for benchmark in found.benchmarks]))
    for found in marks:
        found.file_names = [next(names) for _ in found.benchmarks]


class _Progress:
    """Says on a terminal which measurement runs."""

    def __init__(self, label, benchmark, stream):
        self.label = label
        self.total = len(benchmark.x_vals) * len(benchmark.line_vals)
        self.names = benchmark.x_names
        self.line_arg = benchmark.line_arg
        self.stream = stream if stream.isatty() else None
        self.done = 0

    def around(self, function):
        """The measuring function, with a line before each call."""

        def measured(*args, **kwargs):
            if self.stream is not None:
                at = ", ".join(f"{name}={kwargs[name]}" for name in [*self.names, self.line_arg] if name in kwargs)
                self.stream.write(f"\r\033[K{self.label}: {self.done + 1} of {self.total}: {at[:60]}")
                self.stream.flush()
            try:
                return function(*args, **kwargs)
            finally:
                self.done += 1

        return measured

    def end(self):
        """Takes the line away."""
        if self.stream is not None:
            self.stream.write("\r\033[K")
            self.stream.flush()


def _own_frames_left_out(error):
    """The traceback without the frames of benchmarking itself, which tell the author of the script nothing."""
    from .testing import report

    frames = traceback.TracebackException.from_exception(error)
    frames.stack = traceback.StackSummary.from_list(
        [frame for frame in frames.stack if frame.filename not in (__file__, report.__file__)])
    return "".join(frames.format())


def _measure(found, benchmark, label, out, file_name):
    """Measures one benchmark of a mark; returns the files it wrote, and None where it failed."""
    mark = type(found.mark)(found.mark.fn, benchmark)
    mark.file_names = [file_name]
    progress = _Progress(label, benchmark, sys.stderr)
    mark.fn = progress.around(mark.fn)
    began = time.perf_counter()
    try:
        mark.run(print_data=True, show_plots=False, save_path=out or "")
    except KeyboardInterrupt:
        progress.end()
        raise
    except Exception as error:
        progress.end()
        sys.stderr.write(f"{label} failed at measurement {progress.done} of {progress.total}:\n"
                         f"{_own_frames_left_out(error)}")
        return None
    progress.end()
    sys.stdout.flush()
    print(f"{label}: {progress.total} measurements in {time.perf_counter() - began:.1f} s", file=sys.stderr)
    if out:
        print("  " + ", ".join(os.path.join(out, name) for name in mark.written), file=sys.stderr)
    return mark.written


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="deuteron bench", add_help=False)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--cuda-as-cpu", action="store_true")
    parser.add_argument("file")
    at = argv.index("--") if "--" in argv else len(argv)
    return parser.parse_args(argv[:at]), argv[at + 1:]


def main(argv):
    """Runs what the arguments say; returns the exit code."""
    options, script_arguments = _arguments(argv)
    import deuteron

    deuteron.install()
    if options.cuda_as_cpu or deuteron.knobs.runtime.cuda_as_cpu:
        from ._cuda_as_cpu import enter

        enter()
    path = os.path.abspath(options.file)
    sys.argv[:] = [options.file, *script_arguments]
    sys.path[0] = os.path.dirname(path)
    try:
        marks = find_marks(path)
    except SystemExit:
        raise
    except Exception as error:
        sys.stderr.write(f"{options.file} cannot be loaded:\n{_own_frames_left_out(error)}")
        return 1
    chosen = [(found, *both) for found in marks for both in found.matches(options.only)]
    if options.list:
        for found, benchmark, file_name in chosen:
            print(f"{found.name}: {file_name} ({len(benchmark.x_vals)} x {len(benchmark.line_vals)})")
        return 0
    if not marks:
        print(f"error: {options.file} makes no benchmark: decorate a function with "
              "@triton.testing.perf_report(triton.testing.Benchmark(...))", file=sys.stderr)
        return 1
    if not chosen:
        names = ", ".join(f"{found.name} ({', '.join(b.plot_name for b in found.benchmarks)})" for found in marks)
        print(f"error: no benchmark is called {' or '.join(options.only)}; there are {names}", file=sys.stderr)
        return 1
    if options.out:
        os.makedirs(options.out, exist_ok=True)
    written = [_measure(found, benchmark, f"[{number}/{len(chosen)}] {file_name or found.name}", options.out, file_name)
               for number, (found, benchmark, file_name) in enumerate(chosen, 1)]
    if options.out:
        from .testing.report import _write_page

        plots = [name for names in written for name in names or () if not name.endswith(".csv")]
        _write_page(os.path.join(options.out, _PAGE), plots)
    return 1 if None in written else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
