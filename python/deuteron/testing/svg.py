"""A line chart as SVG text, for machines without a plotting library. The native module draws it."""

from .. import _core


class Line:
    """A line of the chart.

    Args:
        name: beside its end.
        xs, ys: its points; None, NaN and infinity leave a gap.
        band: ``(low, high)`` for each point, or nothing.
        colour, style: as matplotlib knows them; chosen where they are None.
    """

    def __init__(self, name, xs, ys, band=(), colour=None, style=None):
        self.name = str(name)
        self.xs = [float(x) for x in xs]
        self.ys = [None if y is None else float(y) for y in ys]
        self.band = [tuple(None if value is None else float(value) for value in pair) for pair in band]
        self.colour = None if colour is None else str(colour)
        self.style = None if style is None else str(style)


def line_chart(lines, title="", xlabel="", ylabel="", x_log=False, y_log=False, x_ticks=()):
    """An SVG document.

    Args:
        lines: `Line` objects.
        title, xlabel, ylabel: texts.
        x_log, y_log: logarithmic axes.
        x_ticks: where labels stand along x; round numbers if there are none.
    """
    return _core.line_chart(list(lines), title, xlabel, ylabel, x_log, y_log, [float(tick) for tick in x_ticks])
