"""The CPU target beside the limits of this machine and beside other libraries, in turns, in one process.

    make cpu-bench                                             the table of limits
    python -m deuteron benches/cpu/run.py --wide               further kernels that models run, beside torch
    python -m deuteron benches/cpu/run.py --rows matmul        only rows with these words in their name
    chrt -f 50 python -m deuteron benches/cpu/run.py           on a machine that others use as well

In each round, the limit of the machine is probed, then Deuteron runs, then each rival, every one when the threads of the
one before have gone to sleep. A ratio is the median of the ratios of all rounds. Rows below their bar, or behind a rival,
are marked.
"""

import argparse
import os
import platform
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "examples")]

import common  # noqa: E402
import functions  # noqa: E402
import jobs  # noqa: E402
import limits  # noqa: E402
import wide_jobs  # noqa: E402

# A rival must be ahead by more than this to count as faster: turns of one and the same program differ as much.
TIE = 1.03


def turn(run, seconds=0.04, least=3):
    """The median of the runs of one turn, the first of which does not count: threads wake, caches fill."""
    common.settle()
    run()
    times, until = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < until:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Row:
    """What came out for a job: seconds by round of the limit, of ours and of each rival."""

    def __init__(self, job):
        self.job = job
        self.limit, self.ours = [], []
        self.rivals = {name: [] for name in job.rivals}

    def round(self):
        """Everybody once, in turn."""
        common.settle()
        if self.job.limit:
            self.limit.append(self.job.limit())
        self.ours.append(turn(self.job.ours))
        for name, run in self.job.rivals.items():
            self.rivals[name].append(turn(run))

    def rate(self):
        """Our median, in units a second."""
        return self.job.amount / statistics.median(self.ours) / 1e9

    def share(self):
        """Our share of the limit; None where there is no probe of it."""
        return statistics.median(limit / ours for limit, ours in zip(self.limit, self.ours)) if self.limit else None

    def times_faster(self, name):
        """How many times as fast as a rival we are."""
        return statistics.median(rival / ours for rival, ours in zip(self.rivals[name], self.ours))

    def faults(self):
        """What is not as it should be."""
        if self.job.bar and self.share() < self.job.bar:
            yield f"below {self.job.bar:.0%}"
        yield from (f"{name} is faster" for name in self.rivals if self.times_faster(name) * TIE < 1)


COLUMNS = ("numpy", "torch", "compiled", "jax")


def line(row):
    """A row of the table."""
    cells = [f"{row.times_faster(name):.2f}" if name in row.rivals else "" for name in COLUMNS]
    rate, share = f"{row.rate():.1f} {row.job.unit}", row.share()
    return f"| {row.job.label} | {rate} | {f'{share:.0%}' if share else ''} | {' | '.join(cells)} | {', '.join(row.faults())} |"


HEADER = (f"| job | Deuteron | of the limit | {' | '.join(f'times as fast as {name}' for name in COLUMNS)} | |\n"
          f"|{'---|' * (4 + len(COLUMNS))}")


def measure(make, rounds, rivals):
    """A finished row, and whether its result is right."""
    job = make(rivals)
    job.ours()
    right = job.check()
    if not right:
        print(f"WRONG RESULT: {job.label}", flush=True)
    if not rivals:
        job.rivals = {}
    for run in job.rivals.values():
        run()
    row = Row(job)
    for _ in range(rounds):
        row.round()
    return row, right


def processor():
    """The processor's name."""
    with open("/proc/cpuinfo") as file:
        names = [text.split(":")[1].strip() for text in file if text.startswith("model name")]
    return names[0] if names else platform.machine()


def main():
    """Measures what is asked for; returns whether every result was right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[], help="only rows whose name has one of these words")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-rivals", action="store_true", help="the limits alone")
    parser.add_argument("--wide", action="store_true", help="further kernels that models run, without bars")
    parser.add_argument("--no-functions", action="store_true", help="without the sweep of vector functions")
    options = parser.parse_args()
    limits.library()
    print(f"{processor()}, {jobs.THREADS} threads\n\n{HEADER}", flush=True)
    all_right = True
    for name, make in wide_jobs.ROWS if options.wide else jobs.ROWS:
        if options.rows and not any(word in name for word in options.rows):
            continue
        row, right = measure(make, options.rounds, not options.no_rivals)
        all_right &= right
        print(line(row), flush=True)
    if not (options.no_functions or options.rows or options.wide):
        functions.sweep(options.rounds)
    return all_right


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
