"""`perf_report`: one measurement over a range of sizes, as a table, a CSV file and a plot."""

import math
import os


class Benchmark:
    """What to measure and how to show it.

    Args:
        x_names: names of the arguments along the x axis; all get the same value, unless `x_vals` holds tuples.
        x_vals: their values.
        line_arg: name of the argument that tells lines apart.
        line_vals, line_names: its values, and what the legend calls them.
        plot_name: title, and file name.
        args: other arguments, by name.
        xlabel, ylabel: of the axes.
        x_log, y_log: logarithmic axes.
        styles: a ``(colour, line style)`` for each line.
    """

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="",
                 x_log=False, y_log=False, styles=None):
        self.x_names = x_names
        self.x_vals = x_vals
        self.x_log = x_log
        self.line_arg = line_arg
        self.line_vals = line_vals
        self.line_names = line_names
        self.y_log = y_log
        self.styles = styles
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.plot_name = plot_name
        self.args = args


class Mark:
    """A measuring function with its benchmarks; `run` measures."""

    def __init__(self, fn, benchmarks):
        self.fn = fn
        self.benchmarks = benchmarks
        #: What the files of each benchmark are called, where somebody else decides that.
        self.file_names = None
        #: The files that the latest run wrote, below its folder.
        self.written = []

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, *, diff_col=False,
            save_precision=6, **kwargs):
        """Measures everything.

        The files of a benchmark have its `plot_name`; where several have one name, the second is called ``name-2``.

        Args:
            show_plots: open the plots in a window. Where there is no matplotlib or no display, a line says where they were written.
            print_data: print the tables.
            save_path: a folder for CSV files and plots: PNG with matplotlib, else SVG.
            return_df: return the tables: pandas data frames where pandas is installed, else lists of rows (dicts).
            diff_col: add the difference of two lines as a column.
            save_precision: digits behind the point in CSV files.
            kwargs: further arguments of the measuring function.
        """
        single = isinstance(self.benchmarks, Benchmark)
        tables, plots, self.written = [], [], []
        benchmarks = [self.benchmarks] if single else list(self.benchmarks)
        names = self.file_names or file_names(benchmarks)
        if save_path:
            # A name with a slash is one of a folder.
            for name in ["", *names]:
                os.makedirs(os.path.dirname(os.path.join(save_path, name)), exist_ok=True)
        try:
            for benchmark, name in zip(benchmarks, names):
                table = _measure(self.fn, benchmark, diff_col, kwargs)
                tables.append(table)
                if print_data:
                    print(benchmark.plot_name + ":")
                    print(table.text())
                if save_path:
                    table.write_csv(os.path.join(save_path, name + ".csv"), save_precision)
                    self.written.append(name + ".csv")
                    if name != benchmark.plot_name:
                        print(f"{benchmark.plot_name}: this is not the only benchmark of this name; its files are called {name}")
                if benchmark.plot_name and (show_plots or save_path):
                    plots.append(_plot(benchmark, name, table, show_plots, save_path))
                    self.written += plots[-1:] if save_path else []
        finally:
            if save_path:
                _write_page(os.path.join(save_path, "results.html"), plots)
        if return_df:
            frames = [table.frame() for table in tables]
            return frames[0] if single else frames
        return None


def file_names(benchmarks):
    """What the files of benchmarks are called: as their plots; of several with one name, the later ones get a number."""
    plots = [benchmark.plot_name for benchmark in benchmarks]
    taken, names = set(), []
    for plot in plots:
        name, number = plot, 1
        while name in taken or (number > 1 and name in plots):
            number += 1
            name = f"{plot}-{number}"
        taken.add(name)
        names.append(name)
    return names


def perf_report(benchmarks):
    """Decorates ``fn(**x, line_arg=…, **args)``, which returns one number or ``(value, low, high)``.

    Args:
        benchmarks: a `Benchmark` or a list of them.
    """
    return lambda fn: Mark(fn, benchmarks)


def _measure(fn, benchmark, diff_col, kwargs):
    """Every line at every x."""
    _check_lines(benchmark)
    rows = []
    for x in benchmark.x_vals:
        if not isinstance(x, (list, tuple)):
            x = (x,) * len(benchmark.x_names)
        if len(x) != len(benchmark.x_names):
            raise ValueError(f"Expected {len(benchmark.x_names)} values, got {x}")
        values = []
        for value in benchmark.line_vals:
            result = fn(**dict(zip(benchmark.x_names, x)), **{benchmark.line_arg: value}, **benchmark.args, **kwargs)
            values.append(_value_and_band(result))
        rows.append((tuple(x), values))
    return _Table(benchmark, rows, diff_col)


def _check_lines(benchmark):
    """Says what does not fit together before anything is measured."""
    count = len(benchmark.line_vals)
    if len(benchmark.line_names) != count:
        raise ValueError(f"{benchmark.plot_name}: line_vals has {count} values and line_names {len(benchmark.line_names)}")
    if benchmark.styles and len(benchmark.styles) < count:
        raise ValueError(f"{benchmark.plot_name}: there are {count} lines and only {len(benchmark.styles)} styles")


def _value_and_band(result):
    """``(value, low, high)`` of what a measuring function returned: numbers, also as arrays."""
    try:
        values = list(result)
    except TypeError:
        return _number(result), None, None
    if len(values) != 3:
        raise ValueError(f"a measuring function returns one number or (value, low, high), not {len(values)} values")
    return tuple(_number(value) for value in values)


def _number(value):
    """The number in an array without dimensions; anything else as it is."""
    return value.item() if hasattr(value, "item") else value


class _Table:
    """Measured rows under the column names that users see."""

    def __init__(self, benchmark, rows, diff_col):
        self.measured = rows
        unit = f" ({benchmark.ylabel})" if benchmark.ylabel else ""
        lines = [f"{name}{unit}" for name in benchmark.line_names]
        self.columns = [*benchmark.x_names, *lines]
        self.rows = [[*x, *(value for value, _, _ in values)] for x, values in rows]
        if diff_col and len(self.columns) == 2:
            # As in the reference: of a table with two columns, whatever they are.
            self.columns.append("Diff")
            self.rows = [[*row, row[1] - row[0]] for row in self.rows]

    def frame(self):
        """A data frame where pandas is installed, else dicts."""
        try:
            import pandas
        except ImportError:
            return [dict(zip(self.columns, row)) for row in self.rows]
        return pandas.DataFrame(self.rows, columns=self.columns)

    def text(self):
        """The table in aligned columns, as a data frame prints."""
        frame = self.frame()
        if not isinstance(frame, list):
            return frame.to_string()
        cells = [["", *self.columns]]
        cells += [[str(index), *(_cell(value, 6) for value in row)] for index, row in enumerate(self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells)

    def write_csv(self, path, precision):
        """Columns by name, then the rows."""
        import csv

        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows([_cell(value, precision) for value in row] for row in self.rows)

    def xs(self):
        """Where the points stand: the first x of each row, or its number where that is none."""
        xs = [_number(x[0]) for x, _ in self.measured]
        return xs if all(isinstance(x, (int, float)) for x in xs) else list(range(len(xs)))

    def x_texts(self):
        """What stands below the points where the first x of a row is no number; else nothing."""
        xs = [_number(x[0]) for x, _ in self.measured]
        return [] if all(isinstance(x, (int, float)) for x in xs) else [str(x) for x in xs]

    def line(self, index):
        """Values and bands of one line: NaN where a band is missing, and no bands where there is none at all."""
        values = [row[index] for _, row in self.measured]
        bands = [(math.nan, math.nan) if low is None or high is None else (min(low, high), max(low, high))
                 for _, low, high in values]
        return [value for value, _, _ in values], [] if all(math.isnan(low) for low, _ in bands) else bands


def _cell(value, precision):
    if value is None:
        return ""
    return f"{value:.{precision}f}" if isinstance(value, float) else str(value)


def _write_page(path, plots):
    """A page with all plots."""
    import html
    from urllib.parse import quote

    with open(path, "w") as file:
        file.write("<html><body>\n")
        file.writelines(f'<img src="{html.escape(quote(plot))}"/>\n' for plot in plots if plot)
        file.write("</body></html>\n")


#: Back ends of matplotlib that open no window.
_WITHOUT_WINDOW = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


def _plot(benchmark, name, table, show_plots, save_path):
    """Draws with matplotlib where it is installed, else natively; returns the name of the file in `save_path`, if one is there."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        pyplot, reason = None, "matplotlib is not installed"
    else:
        backend = pyplot.get_backend()
        reason = f"matplotlib has no display here (its back end is {backend})" if backend.lower() in _WITHOUT_WINDOW else None
    folder = save_path
    if show_plots and reason and not save_path:
        import tempfile

        folder = tempfile.mkdtemp(prefix="deuteron-plots-")
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    if pyplot is not None:
        file = name + ".png"
        _plot_with_matplotlib(pyplot, benchmark, table, show_plots and not reason, folder and os.path.join(folder, file))
    else:
        file = name + ".svg"
        _plot_natively(benchmark, table, os.path.join(folder, file))
    if show_plots and reason:
        print(f"{benchmark.plot_name}: no window opens, as {reason}; the plot is in {os.path.abspath(os.path.join(folder, file))}")
    return file if save_path else None


def _plot_natively(benchmark, table, path):
    from .svg import Line, line_chart

    lines = []
    for index, name in enumerate(benchmark.line_names):
        values, band = table.line(index)
        colour, style = _style(benchmark, index)
        lines.append(Line(name, table.xs(), values, band, colour, style))
    texts = table.x_texts()
    text = line_chart(lines, title=benchmark.plot_name, xlabel=benchmark.xlabel or benchmark.x_names[0],
                      ylabel=benchmark.ylabel, x_log=benchmark.x_log and not texts, y_log=benchmark.y_log,
                      x_ticks=list(zip(map(float, table.xs()), texts)))
    with open(path, "w") as file:
        file.write(text)


def _style(benchmark, index):
    return benchmark.styles[index][:2] if benchmark.styles else (None, None)


def _plot_with_matplotlib(pyplot, benchmark, table, show_plots, path):
    figure, axes = pyplot.subplots()
    xs = table.xs()
    for index, name in enumerate(benchmark.line_names):
        colour, style = _style(benchmark, index)
        values, band = table.line(index)
        # A line through one point is none.
        line, = axes.plot(xs, values, label=name, color=colour, ls=style, marker="o" if len(xs) == 1 else None)
        if band:
            axes.fill_between(xs, [low for low, _ in band], [high for _, high in band], alpha=0.15,
                              color=line.get_color())
    axes.set_title(benchmark.plot_name)
    axes.set_xlabel(benchmark.xlabel or benchmark.x_names[0])
    axes.set_ylabel(benchmark.ylabel)
    texts = table.x_texts()
    axes.set_xscale("log" if benchmark.x_log and not texts else "linear")
    if texts:
        axes.set_xticks(xs, texts)
    axes.set_yscale("log" if benchmark.y_log else "linear")
    axes.legend()
    if path:
        figure.savefig(path)
    if show_plots:
        pyplot.show()
    pyplot.close(figure)
