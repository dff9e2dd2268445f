"""A line chart as SVG text, for machines without a plotting library."""

import math
from collections import namedtuple

#: A line of the chart: its name in the legend and its points.
Line = namedtuple("Line", ("name", "xs", "ys"))

_COLOURS = ("#2563eb", "#ea580c", "#16a34a", "#9333ea", "#dc2626", "#0891b2", "#ca8a04", "#4b5563")
_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 48, 56


class _Axis:
    """Maps values to positions and chooses where labels stand."""

    def __init__(self, values, begin, end, log):
        finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        if not finite:
            finite = [1.0] if log else [0.0]
        self.log = log
        self.begin, self.end = begin, end
        if log:
            self.low, self.high = math.log10(min(finite)), math.log10(max(finite))
        else:
            self.low, self.high = min(finite), max(finite)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def start_at_zero(self):
        if not self.log and self.low > 0:
            self.low = 0.0
        if not self.log:
            self.high += (self.high - self.low) * 0.05

    def place(self, value):
        value = math.log10(value) if self.log else value
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self):
        if self.log:
            first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
            decades = [10.0**power for power in range(first, last + 1)]
            return decades if len(decades) > 1 else [10.0**self.low, 10.0**self.high]
        rough = (self.high - self.low) / 6
        scale = 10.0**math.floor(math.log10(rough))
        step = next(scale * factor for factor in (1, 2, 2.5, 5, 10) if scale * factor >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [step * index for index in range(first, int(math.floor(self.high / step + 1e-9)) + 1)]


def _escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _text(x, y, text, anchor="middle", size=12, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{_escape(text)}</text>'


def _segments(line, x_axis, y_axis):
    """The drawable runs of a line: a point that cannot be placed interrupts it."""
    run = []
    for x, y in zip(line.xs, line.ys):
        if y is not None and math.isfinite(y) and (y > 0 or not y_axis.log) and (x > 0 or not x_axis.log):
            run.append((x_axis.place(x), y_axis.place(y)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _grid(x_axis, y_axis):
    parts = []
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#e5e7eb"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{value:g}", "end"))
    for value in x_axis.ticks():
        x = x_axis.place(value)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}" stroke="#f3f4f6"/>')
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, f"{value:g}"))
    return parts


def _drawn_lines(lines, x_axis, y_axis):
    parts = []
    for index, line in enumerate(lines):
        colour = _COLOURS[index % len(_COLOURS)]
        for run in _segments(line, x_axis, y_axis):
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in run]
        y = _TOP + 14 + 18 * index
        parts.append(f'<rect x="{_LEFT + 12}" y="{y - 8}" width="18" height="4" fill="{colour}"/>')
        parts.append(_text(_LEFT + 36, y - 1, line.name, "start"))
    return parts


def line_chart(lines, title="", xlabel="", ylabel="", x_log=False, y_log=False):
    """An SVG document.

    Args:
        lines: `Line` objects; points that are None, NaN or infinite leave a gap.
        title, xlabel, ylabel: texts.
        x_log, y_log: logarithmic axes.
    """
    x_axis = _Axis([x for line in lines for x in line.xs], _LEFT, _WIDTH - _RIGHT, x_log)
    ys = [y for line in lines for y in line.ys if y is not None]
    y_axis = _Axis(ys, _HEIGHT - _BOTTOM, _TOP, y_log)
    y_axis.start_at_zero()
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" fill="#111827">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        *_grid(x_axis, y_axis),
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT - _TOP - _BOTTOM}" '
        'fill="none" stroke="#9ca3af"/>',
        *_drawn_lines(lines, x_axis, y_axis),
        _text(_WIDTH / 2, 28, title, size=16),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, xlabel),
        _text(20, middle, ylabel, extra=f' transform="rotate(-90 20 {middle:.1f})"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
