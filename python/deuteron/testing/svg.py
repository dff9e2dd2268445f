"""A line chart as SVG text, for machines without a plotting library. The native module draws it."""

from .. import _core


class Line:
    """A line of the chart.

    Args:
        name: beside its end.
        xs, ys: its points; None, NaN and infinity leave a gap.
        band: ``(low, high)`` for each point, or nothing.
        colour, style: as matplotlib knows them (colours also as a tuple of shares); chosen where they are None.
    """

    def __init__(self, name, xs, ys, band=(), colour=None, style=None):
        self.name = str(name)
        self.xs = [float(x) for x in xs]
        self.ys = [None if y is None else float(y) for y in ys]
        self.band = [tuple(None if value is None else float(value) for value in pair) for pair in band]
        self.colour = _shares(colour) if isinstance(colour, (tuple, list)) else None if colour is None else str(colour)
        self.style = None if style is None else str(style)


def _shares(parts):
    """Red, green, blue and perhaps opacity, each from 0 to 1, as ``#rrggbbaa``."""
    return "#" + "".join(f"{round(min(max(float(part), 0.0), 1.0) * 255):02x}" for part in parts)


def line_chart(lines, title="", xlabel="", ylabel="", x_log=False, y_log=False, x_ticks=()):
    """An SVG document.

    Args:
        lines: `Line` objects.
        title, xlabel, ylabel: texts.
        x_log, y_log: logarithmic axes.
        x_ticks: where labels stand along x, as numbers or ``(number, text)``; round numbers if there are none.
    """
    ticks = [tick if isinstance(tick, tuple) else (float(tick), "") for tick in x_ticks]
    return _core.line_chart(list(lines), title, xlabel, ylabel, x_log, y_log, ticks)
