"""`perf_report`: one measurement over a range of sizes, as a table, a CSV file and a plot."""

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

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        """Measures everything.

        Args:
            show_plots: open the plots in a window (needs matplotlib).
            print_data: print the tables.
            save_path: a folder for CSV files and plots: PNG with matplotlib, else SVG.
            return_df: return the tables: pandas data frames where pandas is installed, else lists of rows (dicts).
            kwargs: further arguments of the measuring function.
        """
        single = isinstance(self.benchmarks, Benchmark)
        tables = []
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        for benchmark in [self.benchmarks] if single else self.benchmarks:
            table = _measure(self.fn, benchmark, kwargs)
            _show(benchmark, table, show_plots, print_data, save_path)
            tables.append(_as_frame(table))
        if return_df:
            return tables[0] if single else tables
        return None


def perf_report(benchmarks):
    """Decorates ``fn(**x, line_arg=…, **args)``, which returns one number or ``(value, low, high)``.

    Args:
        benchmarks: a `Benchmark` or a list of them.
    """
    return lambda fn: Mark(fn, benchmarks)


def _measure(fn, benchmark, kwargs):
    """Rows of ``{"x": tuple, line name: (value, low, high)}``."""
    table = []
    for x in benchmark.x_vals:
        if not isinstance(x, (list, tuple)):
            x = (x,) * len(benchmark.x_names)
        if len(x) != len(benchmark.x_names):
            raise ValueError(f"Expected {len(benchmark.x_names)} values, got {x}")
        row = {"x": tuple(x)}
        for value, name in zip(benchmark.line_vals, benchmark.line_names):
            result = fn(**dict(zip(benchmark.x_names, x)), **{benchmark.line_arg: value}, **benchmark.args, **kwargs)
            row[name] = tuple(result) if isinstance(result, (list, tuple)) else (result, None, None)
        table.append(row)
    return _Table(benchmark, table)


class _Table:
    """Measured rows under the column names that users see."""

    def __init__(self, benchmark, rows):
        self.benchmark = benchmark
        self.rows = rows
        unit = f" ({benchmark.ylabel})" if benchmark.ylabel else ""
        self.columns = [*benchmark.x_names, *(f"{name}{unit}" for name in benchmark.line_names)]

    def values(self, row):
        return [*row["x"], *(row[name][0] for name in self.benchmark.line_names)]

    def text(self):
        """The table in aligned columns, as a data frame prints."""
        cells = [["", *self.columns]]
        for index, row in enumerate(self.rows):
            cells.append([str(index), *(f"{value:.6f}" if isinstance(value, float) else str(value)
                                        for value in self.values(row))])
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells)


def _as_frame(table):
    rows = [dict(zip(table.columns, table.values(row))) for row in table.rows]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows, columns=table.columns)


def _show(benchmark, table, show_plots, print_data, save_path):
    if print_data:
        print(benchmark.plot_name + ":")
        print(table.text())
    if save_path:
        import csv

        with open(os.path.join(save_path, benchmark.plot_name + ".csv"), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table.columns)
            writer.writerows(table.values(row) for row in table.rows)
    if benchmark.plot_name and (show_plots or save_path):
        _plot(benchmark, table, show_plots, save_path)


def _plot(benchmark, table, show_plots, save_path):
    from .svg import Line, line_chart

    xs = [row["x"][0] for row in table.rows]
    if not _plot_with_matplotlib(benchmark, table, xs, show_plots, save_path) and save_path:
        lines = [Line(name, xs, [row[name][0] for row in table.rows]) for name in benchmark.line_names]
        text = line_chart(lines, title=benchmark.plot_name, xlabel=benchmark.xlabel or benchmark.x_names[0],
                          ylabel=benchmark.ylabel, x_log=benchmark.x_log, y_log=benchmark.y_log)
        with open(os.path.join(save_path, benchmark.plot_name + ".svg"), "w") as file:
            file.write(text)


def _plot_with_matplotlib(benchmark, table, xs, show_plots, save_path):
    """Draws with matplotlib where it is installed; returns whether it did."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        if show_plots:
            print("(no plot is shown: matplotlib is not installed)")
        return False
    figure, axes = pyplot.subplots()
    for index, name in enumerate(benchmark.line_names):
        colour, style = benchmark.styles[index] if benchmark.styles else (None, None)
        axes.plot(xs, [row[name][0] for row in table.rows], label=name, color=colour, ls=style)
        band = [row[name][1:] for row in table.rows]
        if all(low is not None and high is not None for low, high in band):
            axes.fill_between(xs, [min(pair) for pair in band], [max(pair) for pair in band], alpha=0.15, color=colour)
    axes.set_title(benchmark.plot_name)
    axes.set_xlabel(benchmark.xlabel or benchmark.x_names[0])
    axes.set_ylabel(benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    axes.legend()
    if save_path:
        figure.savefig(os.path.join(save_path, benchmark.plot_name + ".png"))
    if show_plots:
        pyplot.show()
    pyplot.close(figure)
    return True
