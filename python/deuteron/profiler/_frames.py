"""A profile that was read from a file: frames, metrics summed over what is below, and metrics that are derived from others."""

import json
import math
import re

from . import specs
from .state import COMPUTE_METADATA_SCOPE_NAME

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PREFIXES = {"": 1.0, "g": 1e9, "t": 1e12}
_TIME = re.compile(r"(avg_)?(cpu_)?time/(s|ms|us|ns)")
_RATE = re.compile(r"([gt]?)(?:(flop)(8|16|32|64)?|(byte))/s")
_WIDTHS = (8, 16, 32, 64)


class Node:
    """A frame.

    Attributes:
        name, children: of the frame.
        own: its metrics.
        values: metrics by the names under which they are shown; those that end in `` (inc)`` are summed over the frame and all below.
    """

    def __init__(self, literal):
        self.name = literal["frame"]["name"]
        self.own = dict(literal["metrics"])
        self.children = [Node(child) for child in literal["children"]]
        self.values = {}

    def all(self):
        """The frame and all below, parents first."""
        yield self
        for child in self.children:
            yield from child.all()

    def total(self, metric):
        """A metric summed over the frame and all below; NaN where nobody has it."""
        found = [node.own[metric] for node in self.all() if metric in node.own]
        return sum(found) if found else math.nan


def _is_metadata(name):
    return name == COMPUTE_METADATA_SCOPE_NAME or name.startswith(f"{COMPUTE_METADATA_SCOPE_NAME}:")


def _kept(literal):
    """Without kernels that computed what is known of others, and frames in which nothing happened."""
    if _is_metadata(literal["frame"]["name"]):
        return None
    children = list(filter(None, map(_kept, literal["children"])))
    if not children and (literal["children"] or not literal["metrics"]):
        return None
    return {**literal, "children": children}


class Tree:
    """A profile.

    Attributes:
        root: its first frame.
        devices: facts of devices, by their kinds and numbers.
        inclusive, exclusive: names of metrics that are summed, and of those that describe a frame.
    """

    def __init__(self, database):
        kept = _kept(database[0]) or {**database[0], "children": []}
        self.root = Node(kept)
        self.devices = database[1] if len(database) > 1 else {}
        self.inclusive, self.exclusive = [], []
        for node in self.root.all():
            for name, value in node.own.items():
                known = self.inclusive if isinstance(value, (int, float)) else self.exclusive
                if name not in known:
                    known.append(name)

    @staticmethod
    def read(path):
        """The profile in a file."""
        with open(path) as file:
            tree = Tree(json.load(file))
        if not tree.inclusive and not tree.exclusive:
            raise AssertionError("No metrics found in the input file")
        return tree

    def find(self, metric):
        """The whole name of a metric that is named without its unit or in other letters."""
        for name in [*self.inclusive, *self.exclusive]:
            if metric.lower() in (name, name.split("(")[0].strip().lower()):
                return name
        raise RuntimeError(f"Metric {metric} is not found. Use the --list flag to list available metrics")

    def _seconds(self, node, metric="time"):
        name = self.find(metric)
        return node.total(name) * _SECONDS[name.split("(")[1].split(")")[0]]

    def derive(self, metric):
        """Computes a metric for all frames; returns the name under which it is shown."""
        function, suffix = self._derived(metric)
        name = metric + suffix
        for node in self.root.all():
            node.values[name] = function(node)
        return name

    def _derived(self, metric):
        """How a metric is computed, and what its name ends with."""
        time, rate = _TIME.fullmatch(metric), _RATE.fullmatch(metric)
        if metric == "util":
            return self._utilization, ""
        if time is not None:
            return self._time(*time.groups()), " (inc)"
        if rate is not None:
            prefix, flop, width, _ = rate.groups()
            source = self.find("bytes" if flop is None else f"flops{width or ''}")
            return (lambda node: _over(node.total(source), self._seconds(node) * _PREFIXES[prefix])), " (inc)"
        base, _, unit = metric.partition("/")
        source = self.find(base)
        if source in self.exclusive:
            return (lambda node: node.own.get(source, math.nan)), ""
        if unit not in ("", "%"):
            raise ValueError(f"Unsupported unit {unit}")
        whole = self.root.total(source) / 100 if unit else 1
        return (lambda node: _over(node.total(source), whole)), " (inc)"

    def _time(self, average, cpu, unit):
        metric = "cpu_time" if cpu else "time"

        def value(node):
            count = node.total("count") if average else 1
            return _over(self._seconds(node, metric), count * _SECONDS[unit])

        return value

    def _utilization(self, node):
        """The least time that the device would need for the work, over the time that it took."""
        kind, number = node.own.get("device_type"), node.own.get("device_id")
        facts = self.devices.get(kind, {}).get(number)
        if facts is None:
            return math.nan
        least = sum(node.own[f"flops{width}"] / specs.max_flops(kind, facts["arch"], width, facts["num_sms"],
                                                                facts["clock_rate"])
                    for width in _WIDTHS if f"flops{width}" in node.own)
        if "bytes" in node.own:
            least = max(least, node.own["bytes"] / specs.max_bps(kind, facts["arch"], facts["bus_width"],
                                                                 facts["memory_clock_rate"]))
        name = self.find("time")
        return _over(least, node.own.get(name, math.nan) * _SECONDS[name.split("(")[1].split(")")[0]])

    def keep(self, wanted):
        """Leaves frames out for which `wanted` is false; what is below them moves up."""
        def below(node):
            kept = []
            for child in node.children:
                inner = below(child)
                child.children = inner
                kept += [child] if wanted(child) else inner
            return kept

        self.root.children = below(self.root)

    def subtract(self, other, metrics):
        """The difference to another profile, frame by frame: this one minus the other."""
        def walk(mine, theirs):
            for name in metrics:
                mine.values[name] = mine.values.get(name, math.nan) - theirs.values.get(name, math.nan)
            found = {child.name: child for child in theirs.children}
            for child in mine.children:
                if child.name in found:
                    walk(child, found[child.name])

        walk(self.root, other.root)


def _over(value, by):
    return value / by if by else math.nan
