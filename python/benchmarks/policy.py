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


def main():
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--volume", default="4x")
    arguments = parser.parse_args()
    device = wafer.Device("warp-pi", gc_background_free=0.0)
    job = wafer.fio_text(JOB)
    best = {}
    runs = {}
    apart = device.replace(gc_destination="generation", gc_generations=3)
    rules = [
        ("Rust, greedy", device, None),
        ("Python, greedy", device, Greedy()),
        ("Rust, greedy, three generations", apart, None),
        ("Python, greedy, three generations", device, Generation()),
    ]
    for _ in range(arguments.repeats):
        for name, on, policy in rules:
            began = time.process_time()
            result = wafer.run(on, job, volume=arguments.volume, policy=policy, progress=True)
            seconds = time.process_time() - began
            best[name] = min(best.get(name, seconds), seconds)
            runs[name] = result
    began = time.process_time()
    busy = wafer.run(device, job, volume=arguments.volume, policy=CostBenefit())
    seconds = time.process_time() - began
    collections = runs["Rust, greedy"].summary["forced_gc"]
    lines = [
        f"{device!r}, {arguments.volume} of uniform random 4 KiB writes, {collections} collections with"
        f" greedy, fastest of {arguments.repeats}. Pairs are the same runs, bit for bit.",
        "",
        "| policy | processor seconds | against Rust | a collection |",
        "|---|--:|--:|--:|",
    ]
    for name, taken in best.items():
        same = name.replace("Python", "Rust")
        assert runs[name].digest == runs[same].digest
        rust, collections = best[same], runs[same].summary["forced_gc"]
        each = (taken - rust) / collections * 1e6
        lines.append(f"| {name} | {taken:.2f} | {taken / rust:.3f} | {each:+.1f} µs |")
    lines.append(f"| Python, all features (another rule: WAF {busy.waf:.2f}) | {seconds:.2f} | | |")
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
