"""A line chart as SVG text, for machines without a plotting library."""

import math
from collections import namedtuple

#: A line of the chart: its name in the legend and its points.
Line = namedtuple("Line", ("name", "xs", "ys"))

_COLOURS = ("#2563eb", "#ea580c", "#16a34a", "#9333ea", "#dc2626", "#0891b2", "#ca8a04", "#4b5563")
_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 120, 48, 56
#: Between two names at the ends of lines.
_NAME_HEIGHT = 16


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
            first, last = math.floor(self.low), math.ceil(self.high)
            parts = (1, ) if last - first > 3 else (1, 2, 5)
            ticks = [part * 10.0**power for power in range(first, last + 1) for part in parts]
            inside = [tick for tick in ticks if self.low - 1e-9 <= math.log10(tick) <= self.high + 1e-9]
            return inside if len(inside) > 1 else [10.0**self.low, 10.0**self.high]
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


def _grid(x_axis, y_axis, x_ticks):
    parts = []
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#e5e7eb"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{value:g}", "end"))
    for value in x_ticks or x_axis.ticks():
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
    return parts


def _names(lines, x_axis, y_axis):
    """The name of each line beside its end, one below the other where ends are close."""
    ends = []
    for index, line in enumerate(lines):
        runs = list(_segments(line, x_axis, y_axis))
        ends.append((runs[-1][-1][1] if runs else _HEIGHT - _BOTTOM, index, line.name))
    ends.sort()
    # From above, each below the last; then from below, so that none leaves the chart.
    places = []
    for y, _, _ in ends:
        places.append(max(y, places[-1] + _NAME_HEIGHT) if places else y)
    limit = _HEIGHT - _BOTTOM
    for at in reversed(range(len(places))):
        places[at] = limit = min(places[at], limit)
        limit -= _NAME_HEIGHT
    x = _WIDTH - _RIGHT + 10
    return [_text(x, place + 4, name, "start", extra=f' fill="{_COLOURS[index % len(_COLOURS)]}" font-weight="bold"')
            for place, (_, index, name) in zip(places, ends)]


def line_chart(lines, title="", xlabel="", ylabel="", x_log=False, y_log=False, x_ticks=()):
    """An SVG document.

    Args:
        lines: `Line` objects; points that are None, NaN or infinite leave a gap.
        title, xlabel, ylabel: texts.
        x_log, y_log: logarithmic axes.
        x_ticks: where labels stand along x; round numbers if there are none.
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
        *_grid(x_axis, y_axis, x_ticks),
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT - _TOP - _BOTTOM}" '
        'fill="none" stroke="#9ca3af"/>',
        *_drawn_lines(lines, x_axis, y_axis),
        *_names(lines, x_axis, y_axis),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, 28, title, size=16),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, xlabel),
        _text(20, middle, ylabel, extra=f' transform="rotate(-90 20 {middle:.1f})"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
