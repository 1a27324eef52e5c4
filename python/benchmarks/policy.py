"""What a policy in Python costs beside the same rule in Rust: 224 GiB, uniform random 4 KiB writes.

    python python/benchmarks/policy.py [--write results/python-policy.md]

Processor time, not wall time. The two runs of a pair follow one another, and the ratio is the median of the
pairs' ratios. On a machine with other load run it with `chrt -r 1` (Linux, as root).
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
    """The fewest valid pages."""

    def select_victim(self, rus):
        """Answer the first of the smallest."""
        return rus.valid.argmin()


class Generation(Greedy):
    """And relocated data apart by how often it was moved."""

    classes = 3

    def select_destination(self, rus, victim):
        """Answer what `gc.destination = "generation"` says."""
        return min(rus.generation[victim], rus.classes - 1)


class CostBenefit(wafer.Policy):
    """Looks at everything: free pages, age, origin and last invalidation."""

    def select_victim(self, rus):
        """Answer the best ratio of benefit to cost."""
        free = rus.pages_per_ru - rus.valid
        benefit = free * (rus.age + rus.since_invalidation + 1.0) / (rus.pages_per_ru + rus.valid)
        return (benefit * (1 + 0 * rus.origins[:, 0])).argmax()


JOB = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=10d\n"


@dataclass
class Pair:
    """The same rule in Rust and in Python, and what their runs took."""

    name: str
    rust: wafer.Device
    python: wafer.Device
    policy: wafer.Policy
    #: Processor seconds of Rust and of Python, a row for each round.
    seconds: list[tuple[float, float]] = field(default_factory=list)
    collections: int = 0

    def round(self, job, volume, python_first):
        """One run of each, one directly after the other."""
        rules = [(self.rust, None), (self.python, self.policy)]
        taken, digests = [0.0, 0.0], []
        for which in (1, 0) if python_first else (0, 1):
            device, policy = rules[which]
            began = time.process_time()
            result = wafer.run(device, job, volume=volume, policy=policy)
            taken[which] = time.process_time() - began
            digests.append(result.digest)
        assert digests[0] == digests[1], f"{self.name}: the two are not the same run"
        self.collections = result.summary["forced_gc"]
        self.seconds.append(tuple(taken))

    @property
    def ratios(self):
        """Python over Rust, of each round, smallest first."""
        return sorted(python / rust for rust, python in self.seconds)

    @property
    def call(self):
        """Microseconds that a collection costs more, median of rounds."""
        return 1e6 * statistics.median(python - rust for rust, python in self.seconds) / self.collections


def pairs_on(device):
    """What is compared."""
    apart = device.replace(gc_destination="generation", gc_generations=3)
    return [
        Pair("greedy", device, device, Greedy()),
        Pair("greedy, three generations", apart, device, Generation()),
    ]


def measure(device, job, volume, repeats):
    """Rounds of all pairs in turns; who runs first alternates."""
    pairs = pairs_on(device)
    wafer.run(device, job, volume="1x")
    for at in range(repeats):
        for pair in pairs:
            pair.round(job, volume, python_first=at % 2 == 1)
    return pairs


def main():
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file too")
    parser.add_argument("--repeats", type=int, default=7, help="rounds")
    parser.add_argument("--volume", default="4x")
    arguments = parser.parse_args()
    device = wafer.Device("warp-pi", gc_background_free=0.0)
    job = wafer.fio_text(JOB)
    pairs = measure(device, job, arguments.volume, arguments.repeats)
    # Reclaim units of a 64th: as many collections in a 64th of the work, so that calls are seen.
    small = device.replace(capacity="3584MiB", reclaim_unit_size="4MiB")
    alone = measure(small, job, arguments.volume, 2 + arguments.repeats)
    began = time.process_time()
    busy = wafer.run(device, job, volume=arguments.volume, policy=CostBenefit())
    seconds = time.process_time() - began
    lines = [
        f"{device!r}, {arguments.volume} of uniform random 4 KiB writes, {pairs[0].collections}"
        f" collections with greedy. {arguments.repeats} rounds; runs of a pair are the same, bit for bit.",
        "",
        "| rule | Rust, processor s | Python | ratio, median (smallest to largest) | a call"
        " | a call, small reclaim units |",
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
        "*A call* is what a collection costs more. With reclaim units of 4 MiB instead of 256, the same",
        "number of collections comes in a 64th of the work: Python's code and data are then in the caches.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        arguments.write.parent.mkdir(exist_ok=True)
        head = "# What a policy in Python costs\n\n"
        command = (
            f"`python python/benchmarks/policy.py --volume {arguments.volume} --repeats {arguments.repeats}`"
        )
        arguments.write.write_text(
            f"{head}{command}, on {platform.machine()}, {os.cpu_count()} cores:\n\n{text}"
        )


if __name__ == "__main__":
    main()
