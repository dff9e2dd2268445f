"""Shows profiles: ``python -m deuteron.profiler.viewer -m time/ms,tflop16/s proton.hatchet``.

The file is in hatchet's literal form; hatchet itself is not needed.
"""

import argparse
import math
import re

from ._frames import Tree

__all__ = ["main", "parse", "print_tree", "read", "show_metrics"]


def read(filename):
    """``(tree, inclusive metrics, exclusive metrics, devices)`` of a file."""
    tree = Tree.read(filename)
    return tree, tree.inclusive, tree.exclusive, tree.devices


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """Reads a file and computes metrics.

    Args:
        metrics: names without unit (``time``), with one (``time/ms``, ``avg_time/us``), rates (``tflop16/s``, ``gbyte/s``), shares
            (``time/%``), or ``util``.
        include, exclude: regular expressions of frames: all paths through the one, and no frame below the other.
        threshold: frames of which the first metric is smaller are left out.

    Returns:
        The tree, and the names of the metrics in it.
    """
    tree = Tree.read(filename)
    names = [tree.derive(metric) for metric in ([metrics] if isinstance(metrics, str) else metrics)]
    if include:
        _only_through(tree.root, re.compile(include))
    if exclude:
        _without(tree.root, re.compile(exclude))
    if threshold is not None:
        tree.keep(lambda node: node.values[names[0]] >= threshold)
    return tree, names


def _only_through(node, wanted):
    """Keeps frames on a path through one that is wanted; returns whether there is one here or below."""
    if wanted.fullmatch(node.name):
        return True
    node.children = [child for child in node.children if _only_through(child, wanted)]
    return bool(node.children)


def _without(node, unwanted):
    node.children = [child for child in node.children if not unwanted.fullmatch(child.name)]
    for child in node.children:
        _without(child, unwanted)


def _shown_name(name, format):
    """The name of a frame; those of Python functions have a file, a line and a function."""
    if format == "file_function_line":
        return name.split("/")[-1]
    if format == "function_line":
        return name.split(":")[-1]
    if format == "file_function":
        return f"{name.split('/')[-1].split(':')[0]}@{name.split('@')[-1].split(':')[0]}"
    return name


def _line(node, metrics, format):
    values = (node.values.get(name, math.nan) for name in metrics)
    return " ".join([*(f"{value:.3f}" if isinstance(value, float | int) else str(value) for value in values),
                     _shown_name(node.name, format)])


def _lines(node, metrics, format, depth, indent):
    for at, child in enumerate(node.children if depth > 0 else ()):
        is_last = at == len(node.children) - 1
        yield f"{indent}{'└─' if is_last else '├─'} {_line(child, metrics, format)}"
        yield from _lines(child, metrics, format, depth - 1, indent + ("   " if is_last else "│  "))


def print_tree(gf, metrics, depth=100, format=None, print_sorted=False):
    """Prints a tree with the metrics that `parse` named.

    Args:
        depth: levels that are shown.
        format: of the names of Python functions: ``"full"``, ``"file_function_line"``, ``"function_line"``, ``"file_function"``.
        print_sorted: adds a list of all frames, those with the largest first metric first.
    """
    print(_line(gf.root, metrics, format))
    print("\n".join(_lines(gf.root, metrics, format, depth, "")))
    if print_sorted:
        print(f"Sorted kernels by metric {metrics[0]}")
        nodes = [node for node in gf.root.all() if node is not gf.root]
        for node in sorted(nodes, key=lambda node: -node.values.get(metrics[0], -math.inf)):
            print(f"{node.name[:100] + '...' if len(node.name) > 100 else node.name:105} {node.values[metrics[0]]:.4}")


def show_metrics(file_name):
    """Prints which metrics a file has."""
    tree = Tree.read(file_name)
    for kind, names in (("inclusive", tree.inclusive), ("exclusive", tree.exclusive)):
        print(f"Available {kind} metrics:")
        for name in names:
            print(f"- {name.split('(')[0].strip().lower()}")


def _arguments():
    parser = argparse.ArgumentParser(prog="proton-viewer", description="Shows profiles of triton.profiler.")
    parser.add_argument("file", help="a .hatchet file")
    parser.add_argument("-l", "--list", action="store_true", help="list the metrics of the file")
    parser.add_argument("-m", "--metrics", help="metrics to show, with commas between them: time/ms, avg_time/us, tflop16/s, "
                        "gbyte/s, time/%%, util, …")
    parser.add_argument("-i", "--include", help="show paths through frames that match this regular expression")
    parser.add_argument("-e", "--exclude", help="leave out frames that match this regular expression, with all below")
    parser.add_argument("-t", "--threshold", type=float, help="leave out frames with a smaller first metric")
    parser.add_argument("-d", "--depth", type=int, default=100, help="levels to show")
    parser.add_argument("-f", "--format", default="full",
                        choices=["full", "file_function_line", "function_line", "file_function"],
                        help="what to show of the names of Python functions")
    parser.add_argument("--print-sorted", action="store_true", help="add a list of frames by the first metric")
    parser.add_argument("-diff", "--diff-profile", help="show the difference to another file")
    return parser


def main():
    """The command."""
    parser = _arguments()
    args = parser.parse_args()
    if args.include and args.exclude:
        parser.error("--include and --exclude exclude each other")
    if args.list:
        show_metrics(args.file)
        return
    if not args.metrics:
        parser.error("--metrics says what to show; --list lists what there is")
    metrics = args.metrics.split(",")
    tree, names = parse(metrics, args.file, args.include, args.exclude, args.threshold)
    if args.diff_profile:
        tree.subtract(parse(metrics, args.diff_profile, args.include, args.exclude, args.threshold)[0], names)
    print_tree(tree, names, args.depth, args.format, args.print_sorted)


if __name__ == "__main__":
    main()
