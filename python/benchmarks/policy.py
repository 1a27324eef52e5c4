"""What a policy in Python costs beside the same rule in Rust: 224 GiB, uniform random 4 KiB writes.

    python python/benchmarks/policy.py [--write results/python-policy.md]

Processor time, not wall time: others on the machine do not count. Runs alternate, and the ratio is that of
the fastest of each.
"""

import argparse
import os
import platform
import time
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


def measure(rules, job, volume, repeats, progress=False):
    """Fastest processor seconds and result of each rule, taken in turns."""
    best, runs = {}, {}
    for _ in range(repeats):
        for name, on, policy in rules:
            began = time.process_time()
            runs[name] = wafer.run(on, job, volume=volume, policy=policy, progress=progress)
            seconds = time.process_time() - began
            best[name] = min(best.get(name, seconds), seconds)
    return best, runs


def rules_on(device):
    """Pairs of the same rule in Rust and in Python."""
    apart = device.replace(gc_destination="generation", gc_generations=3)
    return [
        ("Rust, greedy", device, None),
        ("Python, greedy", device, Greedy()),
        ("Rust, greedy, three generations", apart, None),
        ("Python, greedy, three generations", device, Generation()),
    ]


def main():
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--volume", default="4x")
    arguments = parser.parse_args()
    device = wafer.Device("warp-pi", gc_background_free=0.0)
    job = wafer.fio_text(JOB)
    best, runs = measure(rules_on(device), job, arguments.volume, arguments.repeats, progress=True)
    # Reclaim units of a 64th: as many collections in a 64th of the work, so that calls are seen.
    small = device.replace(capacity="3584MiB", reclaim_unit_size="4MiB")
    alone, collected = measure(rules_on(small), job, arguments.volume, 2 + arguments.repeats)
    began = time.process_time()
    busy = wafer.run(device, job, volume=arguments.volume, policy=CostBenefit())
    seconds = time.process_time() - began
    collections = runs["Rust, greedy"].summary["forced_gc"]
    lines = [
        f"{device!r}, {arguments.volume} of uniform random 4 KiB writes, {collections} collections with"
        f" greedy, fastest of {arguments.repeats}. Pairs are the same runs, bit for bit.",
        "",
        "| policy | processor seconds | against Rust | a call | calls alone |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, taken in best.items():
        same = name.replace("Python", "Rust")
        assert runs[name].digest == runs[same].digest
        rust, collections = best[same], runs[same].summary["forced_gc"]
        each = (alone[name] - alone[same]) / collected[same].summary["forced_gc"]
        more = "" if name == same else f"{1e6 * each:.1f} µs | {1 + each * collections / rust:.3f}"
        lines.append(f"| {name} | {taken:.2f} | {taken / rust:.3f} | {more or ' | '} |")
    lines += [
        f"| Python, all features (another rule: WAF {busy.waf:.2f}) | {seconds:.2f} | | | |",
        "",
        "*A call* is what a collection costs more, measured on as many reclaim units of 4 MiB, where runs",
        "take a tenth of a second; *calls alone* is the ratio that it makes on the large device. The ratio",
        "beside it has the noise of the machine as well.",
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
