"""Compares the cost of a policy in Python with that in Rust: 224 GiB, uniform random 4 KiB writes.

    python python/benchmarks/policy.py [--write results/python-policy.md]

Times are processor time. The two runs of a pair follow one another, and the result is the median of their
ratios. On a machine with other load, run it under `chrt -r 1` (Linux, as root).
"""

import argparse
import os
import platform
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import wafer


class Greedy(wafer.Policy):
    """Selects the RU with the fewest valid pages."""

    def select_victim(self, rus):
        """Returns the first minimum."""
        return rus.valid.argmin()


class Generation(Greedy):
    """Greedy, with relocated data separated by how often it was relocated."""

    classes = 3

    def select_destination(self, rus, victim):
        """Returns the class that `gc.destination = "generation"` chooses."""
        return min(rus.generation[victim], rus.classes - 1)


class CostBenefit(wafer.Policy):
    """Reads all features: invalid pages, age, origin and last invalidation."""

    def select_victim(self, rus):
        """Returns the candidate with the highest ratio of benefit to cost."""
        free = rus.pages_per_ru - rus.valid
        benefit = free * (rus.age + rus.since_invalidation + 1.0) / (rus.pages_per_ru + rus.valid)
        return (benefit * (1 + 0 * rus.origins[:, 0])).argmax()


JOB = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=10d\n"


@dataclass
class Pair:
    """The same rule in Rust and in Python, and the time of their runs."""

    name: str
    rust: wafer.Device
    python: wafer.Device
    policy: wafer.Policy
    #: Processor seconds of Rust and of Python, by round.
    seconds: list[tuple[float, float]] = field(default_factory=list)
    collections: int = 0

    def round(self, job, volume, python_first):
        """Runs both, one directly after the other."""
        rules = [(self.rust, None), (self.python, self.policy)]
        taken, digests = [0.0, 0.0], []
        for which in (1, 0) if python_first else (0, 1):
            device, policy = rules[which]
            began = time.process_time()
            result = wafer.run(device, job, volume=volume, policy=policy)
            taken[which] = time.process_time() - began
            digests.append(result.digest)
        assert digests[0] == digests[1], f"{self.name}: the runs differ"
        self.collections = result.summary["forced_gc"]
        self.seconds.append(tuple(taken))

    @property
    def ratios(self):
        """Processor time of Python over that of Rust, by round, sorted."""
        return sorted(python / rust for rust, python in self.seconds)

    @property
    def call(self):
        """Additional microseconds per collection, median over rounds."""
        return 1e6 * statistics.median(python - rust for rust, python in self.seconds) / self.collections


def pairs_on(device):
    """Returns the pairs to compare."""
    apart = device.replace(gc_destination="generation", gc_generations=3)
    return [
        Pair("greedy", device, device, Greedy()),
        Pair("greedy, three generations", apart, device, Generation()),
    ]


def measure(device, job, volume, repeats):
    """Runs rounds of all pairs in turn; the language that runs first alternates."""
    pairs = pairs_on(device)
    wafer.run(device, job, volume="1x")
    for at in range(repeats):
        for pair in pairs:
            pair.round(job, volume, python_first=at % 2 == 1)
    return pairs


def main():
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file too")
    parser.add_argument("--repeats", type=int, default=7, help="number of rounds (default: %(default)s)")
    parser.add_argument("--volume", default="4x")
    arguments = parser.parse_args()
    device = wafer.Device("warp-pi", gc_background_free=0.0)
    job = wafer.fio_text(JOB)
    pairs = measure(device, job, arguments.volume, arguments.repeats)
    # Reclaim units of a 64th of the size give as many collections in a 64th of the work: the cost of calls.
    small = device.replace(capacity="3584MiB", reclaim_unit_size="4MiB")
    alone = measure(small, job, arguments.volume, 2 + arguments.repeats)
    began = time.process_time()
    busy = wafer.run(device, job, volume=arguments.volume, policy=CostBenefit())
    seconds = time.process_time() - began
    lines = [
        f"{device!r}, {arguments.volume} of uniform random 4 KiB writes, {pairs[0].collections}"
        f" collections with greedy. {arguments.repeats} rounds; the runs of a pair are bit-identical.",
        "",
        "| rule | Rust, processor s | Python | ratio, median (min to max) | per call"
        " | per call, small reclaim units |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for pair, other in zip(pairs, alone):
        rust, python = (statistics.median(column) for column in zip(*pair.seconds))
        ratios = pair.ratios
        lines.append(
            f"| {pair.name} | {rust:.2f} | {python:.2f} | **{statistics.median(ratios):.3f}**"
            f" ({ratios[0]:.3f} to {ratios[-1]:.3f}) | {pair.call:.1f} µs | {other.call:.1f} µs |"
        )
    lines += [
        f"| all features, another rule: WAF {busy.waf:.2f} | | {seconds:.2f} | | | |",
        "",
        "*Per call* is the additional time of a collection. With reclaim units of 4 MiB instead of",
        "256 MiB, as many collections take a 64th of the work, and Python's code and data stay cached.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        arguments.write.parent.mkdir(exist_ok=True)
        head = "# Cost of a policy in Python\n\n"
        command = (
            f"`python python/benchmarks/policy.py --volume {arguments.volume} --repeats {arguments.repeats}`"
        )
        arguments.write.write_text(
            f"{head}{command}, on {platform.machine()}, {os.cpu_count()} cores:\n\n{text}"
        )


if __name__ == "__main__":
    main()
