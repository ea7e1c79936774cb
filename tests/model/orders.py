#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weakens every memory order of the library's code, one at a time, and runs the checks.

usage: orders.py PROGRAM ROOT [--only PART] [--jobs N] [--all] [--hints FILE [--write-hints]]

PROGRAM is a test program of the model checker, ROOT the folder of the code whose orders are
tried. Prints a table: each order, its weaker replacement, and the check that found it. Exits
with 1 if one was not found. Without --all, it skips orders whose comment says why no check can
find them:

  [unchecked]  the order is needed for an effect that the checker does not show
  [spare]      a weaker order would suffice, but this one is better

FILE records which check found each order the last time. That check is tried first, and then all
the others. This saves time and does not affect the result.

The mark is in the comment above the statement or after it; [spare: failure] marks one of a
line's operations (load, store, change, failure).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WEAKER = {
    ("load", "seq_cst"): ["acquire"],
    ("load", "acquire"): ["relaxed"],
    ("failure", "seq_cst"): ["acquire"],
    ("failure", "acquire"): ["relaxed"],
    ("store", "seq_cst"): ["release"],
    ("store", "release"): ["relaxed"],
    ("change", "seq_cst"): ["acq_rel"],
    ("change", "acq_rel"): ["acquire", "release"],
    ("change", "acquire"): ["relaxed"],
    ("change", "release"): ["relaxed"],
}


# Seconds. For most orders, the check that misses them takes no longer than this.
QUICK = 0.3
SLOW = 2.0


def sites(program, root, environment, jobs):
    """For all orders {(file, line, operation, order): the checks that execute it}, and {check: its
    seconds}."""
    found = {}
    seconds = {}

    def run(part):
        with tempfile.NamedTemporaryFile(mode="r", suffix=".sites") as listed:
            done = subprocess.run([program, "--gtest_brief=1"], check=True, capture_output=True, text=True,
                                  env={**environment, "TROUPE_MODEL_SITES": listed.name,
                                       "GTEST_TOTAL_SHARDS": str(jobs), "GTEST_SHARD_INDEX": str(part)})
            return done.stdout, listed.read()

    with ThreadPoolExecutor(jobs) as pool:
        for table, listed in pool.map(run, range(jobs)):
            rows = re.findall(r"^(\S+\.\S+) +holds.* (\d+\.\d+)$", table, re.MULTILINE)
            seconds.update((name, float(took)) for name, took in rows)
            for text in listed.splitlines():
                place, operation, order, check = text.rsplit(" ", 3)
                file, line = place.rsplit(":", 1)
                # A build that does not depend on its folder records file names relative to the
                # root.
                path = root / file
                if path.is_relative_to(root) and not {"tests", "lab"} & set(path.relative_to(root).parts):
                    found.setdefault((file, int(line), operation, order), []).append(check)
    return dict(sorted(found.items())), seconds


def found_by(program, environment, stages, file, line, operation, weaker):
    """The check that fails, or None. Each stage is a list of checks; only checks that execute the
    order can find it."""
    for checks in stages:
        if not checks:
            continue
        run = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast",
                              "--gtest_filter=" + ":".join(checks)],
                             capture_output=True, text=True, errors="replace",
                             env={**environment,
                                  "TROUPE_MODEL_WEAKEN": f"{file}:{line} {operation} {weaker}"})
        if run.returncode != 0:
            failed = re.search(r"\[  FAILED  \] (\S+)", run.stdout)
            return failed[1] if failed else f"it ended with {run.returncode}"
    return None


def names_of(tries, root):
    """The name of each order in the hints. Lines move, so it has a number among equal orders of its
    file."""
    seen = {}
    names = []
    for file, _, operation, order, weaker in tries:
        alike = (str((root / file).relative_to(root)), operation, order, weaker)
        seen[alike] = seen.get(alike, 0) + 1
        names.append(" ".join(alike) + f" {seen[alike]}")
    return names


def mark(file, line, operation):
    """[unchecked], [spare], or nothing: searches from the line of the operation up to the previous
    statement."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    text = lines[line - 1]
    for above in reversed(lines[:line - 1]):
        code = above.split("//")[0].rstrip()
        if code.endswith((";", "{", "}")) or not above.strip():
            break
        text = above + "\n" + text
    for found, of in re.findall(r"\[(unchecked|spare)(?:: (\w+))?\]", text):
        if of in ("", operation):
            return f"[{found}]"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("root", type=Path)
    parser.add_argument("--only", default="", help="try only files whose name contains this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="also try orders that have a mark")
    parser.add_argument("--hints", type=Path, help="file with the check that found each order in the last run")
    parser.add_argument("--write-hints", action="store_true", help="write this file for the next run")
    arguments = parser.parse_args()
    environment = dict(os.environ)
    root = arguments.root.resolve()

    began = time.monotonic()
    all_sites, seconds = sites(arguments.program, root, environment, arguments.jobs)
    tries = [(file, line, operation, order, weaker)
             for file, line, operation, order in all_sites
             if arguments.only in file
             for weaker in WEAKER.get((operation, order), [])]

    names = names_of(tries, root)
    hints = {}
    if arguments.hints and arguments.hints.exists():
        for text in arguments.hints.read_text(encoding="utf-8").splitlines():
            name, check = text.rsplit(" ", 1)
            hints[name] = check

    def attempt(one, name):
        file, line, operation, _, weaker = one
        if mark(root / file, line, operation) and not arguments.all:
            return mark(root / file, line, operation)
        checks = [each for each in all_sites[one[:4]] if each in seconds]
        stages = [[each for each in checks if each == hints.get(name)],
                  [each for each in checks if seconds[each] <= QUICK],
                  [each for each in checks if QUICK < seconds[each] <= SLOW],
                  [each for each in checks if seconds[each] > SLOW]]
        return (found_by(arguments.program, environment, stages, file, line, operation, weaker)
                or mark(root / file, line, operation) or "NOT FOUND")

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(attempt, tries, names))

    if arguments.hints and arguments.write_hints:
        found_again = {name: found for name, found in zip(names, results) if "." in found and " " not in found}
        if arguments.only:  # results of orders not tried stay as they were
            found_again = hints | found_again
        arguments.hints.write_text("".join(f"{name} {check}\n" for name, check in sorted(found_again.items())),
                                   encoding="utf-8")

    print(f"{'order':<58} {'weakened to':<12} found by")
    # Orders that were not found come last, because the end of a long log is what readers look at.
    for (file, line, operation, order, weaker), found in sorted(zip(tries, results), key=lambda row: row[1] == "NOT FOUND"):
        place = f"{(root / file).relative_to(root)}:{line} {operation} {order}"
        print(f"{place:<58} {weaker:<12} {found}")
    missed = results.count("NOT FOUND")
    stale = sum("." in found and " " not in found and hints.get(name) != found for name, found in zip(names, results))
    if arguments.hints and stale and not arguments.write_hints:
        print(f"{stale} were found by a check other than the one in {arguments.hints.name}: run with --write-hints to update it")
    marked = sum(found.startswith("[") for found in results)
    print(f"{len(tries)} weakened orders, {marked} marked, {missed} not found, "
          f"{time.monotonic() - began:.0f} s")
    if not tries:
        print("no order was tried: the paths in the program must be below the root", file=sys.stderr)
        return 1
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
