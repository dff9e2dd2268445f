"""The results as a page and two plots."""

import textwrap
from collections import namedtuple

import tuning
from deuteron.testing.svg import Line, line_chart

#: One job: from compiler to (rate, configuration) of its best, and from (compiler, configuration) to rate of all.
Result = namedtuple("Result", ("family", "label", "unit", "best", "rates"))


def number(value, digits=2):
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def ratio(ours, theirs):
    """How many times as fast."""
    return "–" if not ours or not theirs else f"**{ours / theirs:.2f}×**"


def configuration_text(configuration):
    """A configuration in a table."""
    return "×".join(map(str, configuration)) if configuration else ""


def main_table(results):
    """A line for each job: the best of each compiler, and the library."""
    lines = ["| job | size | unit | torch | reference | configuration | Deuteron | configuration | ratio |",
             "|---|---|---|---|---|---|---|---|---|"]
    for result in results:
        none = (None, ())
        theirs, ours = result.best.get("reference", none), result.best.get("deuteron", none)
        library = result.best.get("library", none)[0]
        lines.append(f"| {result.family} | {result.label} | {result.unit} | {number(library)} | {number(theirs[0])} | "
                     f"{configuration_text(theirs[1])} | {number(ours[0])} | {configuration_text(ours[1])} | "
                     f"{ratio(ours[0], theirs[0])} |")
    return lines


def all_table(results):
    """Every configuration."""
    lines = ["| job | size | configuration | reference | Deuteron | ratio |", "|---|---|---|---|---|---|"]
    for result in results:
        for configuration in dict.fromkeys(configuration for _, configuration in result.rates if configuration):
            theirs = result.rates.get(("reference", configuration))
            ours = result.rates.get(("deuteron", configuration))
            lines.append(f"| {result.family} | {result.label} | {configuration_text(configuration)} | {number(theirs)} | "
                         f"{number(ours)} | {ratio(ours, theirs)} |")
    return lines


#: Launches with five arguments of which one is another array each time.
CHANGING = "5, another array each time"


def launch_table(launches):
    """Microseconds of a launch."""
    lines = ["| arguments | reference, µs | Deuteron, µs | ratio | torch.add, µs |", "|---|---|---|---|---|"]
    for count in ("5", CHANGING, "16"):
        theirs, ours, library = (launches.get((name, count)) for name in ("reference", "deuteron", "library"))
        lines.append(f"| {count} | {number(theirs)} | {number(ours)} | {ratio(theirs, ours)} | {number(library)} |")
    return lines


def compile_table(rows):
    """Milliseconds of a cold compile."""
    lines = ["| kernel | reference, ms | Deuteron, ms | of that before the assembler | share of the reference's |",
             "|---|---|---|---|---|"]
    for name, found in rows:
        theirs = found.get("reference", (None, None))[0]
        ours, before = found.get("deuteron", (None, None))
        share = "–" if not ours or not theirs else f"**{ours / theirs:.2f}**"
        lines.append(f"| {name} | {number(theirs, 1)} | {number(ours, 1)} | {number(before, 1)} | {share} |")
    return lines


def plot(path, title, results, x_of, unit):
    """A line for each compiler over a size."""
    lines = []
    for name, shown in (("library", "torch"), ("reference", "reference"), ("deuteron", "Deuteron")):
        points = [(x_of(result), result.best[name][0]) for result in results if name in result.best]
        if points:
            xs, ys = zip(*sorted(points))
            lines.append(Line(shown, list(xs), list(ys)))
    if lines:
        path.write_text(line_chart(lines, title, "size", unit, x_log=True))


def paragraph(text):
    """Prose in lines of at most 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def write(folder, facts, results, timings, failures, skipped):
    """Writes gpu-results.md and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    page = ["# Results on a GPU", "", paragraph(
        f"{facts['date']}, commit {facts['commit']}, {facts['device']}, torch {facts['torch']}, reference "
        f"{facts['reference']}. Written by `make gpu-bench`: both compilers in one process, the same kernels and "
        "configurations in turns, events around single launches with a flush of 256 MB before each, medians. Every "
        "result was checked against float64 before it was timed."), ""]
    if results:
        page += ["## Best of the configurations", "", *main_table(results), ""]
    if timings["launch"]:
        page += ["## Launches from Python", "", *launch_table(timings["launch"]), ""]
    if timings["compile"]:
        page += ["## Cold compiles", "", *compile_table(timings["compile"]), ""]
    if timings["tuning"]:
        page += ["## Tuning", "", paragraph(
            "The first launch of the tutorial's matmul (4096^3, fp16) with its 16 configurations, each in a process of its "
            "own; medians of three."), "", *tuning.table(timings["tuning"]), ""]
    softmaxes = [result for result in results if result.family == "softmax fused"]
    matmuls = [result for result in results if result.family == "matmul" and "^" in result.label]
    if softmaxes:
        plot(folder / "gpu-softmax.svg", "fused softmax", softmaxes, lambda result: int(result.label.split("x")[1].split(",")[0]), "TB/s")
        page += ["![fused softmax over columns](gpu-softmax.svg)", ""]
    if matmuls:
        plot(folder / "gpu-matmul.svg", "matmul fp16", matmuls, lambda result: int(result.label.split("^")[0]), "TFLOP/s")
        page += ["![matmul over sizes](gpu-matmul.svg)", ""]
    if results:
        page += ["## Every configuration", "", *all_table(results), ""]
    page += ["## What failed", ""]
    page += [f"- {compiler}: {job}: {error}" for compiler, job, error in failures] or ["Nothing."]
    if skipped:
        page += ["", f"Not measured for lack of time: {', '.join(dict.fromkeys(skipped))}."]
    (folder / "gpu-results.md").write_text("\n".join(page) + "\n")
