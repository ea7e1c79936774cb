#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the actor workloads on every mailbox that they were built with, interleaved, and prints medians.

usage: compare.py FOLDER [ROUNDS [DIVIDE_BY]]

FOLDER holds the programs actors_on_<mailbox> (cmake --build --preset bench --target mailbox_candidates).
"""

import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

MAILBOXES = ["two_stacks", "vyukov", "segments"]
WORKLOADS = [
    ("pingpong", {"actors": 2, "messages": 4_000_000}),
    ("pairs", {"actors": 50_000, "messages": 10_000_000}),
    ("ring", {"actors": 10_000, "messages": 10_000_000}),
    ("wall", {"actors": 50_000, "messages": 10_000_000}),
    ("fanin", {"actors": 4, "messages": 10_000_000}),
    ("spawn", {"actors": 1_000_000}),
]


def run(program: Path, workload: str, workers: int, sizes: dict[str, int]) -> tuple[float, float]:
    """The rate in millions a second, and the peak of resident memory in megabytes."""
    command = [str(program), workload, "workers", str(workers)]
    for name, value in sizes.items():
        command += [name, str(value)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    rate = next(float(line.split()[2]) for line in output.splitlines() if line.startswith("rate "))
    return rate / 1e6, usage.ru_maxrss / 1000


def main() -> None:
    folder = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    divide_by = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    found = defaultdict(list)
    for _ in range(rounds):
        for workload, sizes in WORKLOADS:
            less = {k: v // divide_by if k == "messages" or workload == "spawn" else v
                    for k, v in sizes.items()}
            for workers in (1, 2):
                for mailbox in MAILBOXES:
                    result = run(folder / f"actors_on_{mailbox}", workload, workers, less)
                    found[workload, workers, mailbox].append(result)
    print(f"million messages (actors) a second and peak megabytes, median of {rounds}; "
          f"load {os.getloadavg()[0]:.1f}")
    print("| workload | workers | " + " | ".join(MAILBOXES) + " |")
    print("|---|---|" + "---|" * len(MAILBOXES))
    for workload, _ in WORKLOADS:
        for workers in (1, 2):
            cells = []
            for mailbox in MAILBOXES:
                values = found[workload, workers, mailbox]
                rates = [rate for rate, _ in values]
                peak = statistics.median(peak for _, peak in values)
                cells.append(f"{statistics.median(rates):.1f} ({min(rates):.1f}–{max(rates):.1f}), "
                             f"{peak:.0f} MB")
            print(f"| {workload} | {workers} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
