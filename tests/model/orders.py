#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weakens every memory order of the checked code, one at a time, and runs the checks.

usage: orders.py PROGRAM ROOT [--only PART] [--jobs N]

PROGRAM is a test program of the model checker, ROOT the folder of the code whose orders are tried.
Prints a table: each order, what it was weakened to, and the check that found it. Exits with 1 if the
weakening of one was not found, unless the source says so: a comment `[unchecked]` within the five
lines above says why no check can find it.
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


def sites(program, root, environment):
    """(file, line, operation, order) of every order that the checks pass."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".sites") as listed:
        subprocess.run([program, "--gtest_brief=1"], check=True, stdout=subprocess.DEVNULL,
                       env={**environment, "TROUPE_MODEL_SITES": listed.name})
        for text in listed.read().splitlines():
            place, operation, order = text.rsplit(" ", 2)
            file, line = place.rsplit(":", 1)
            if Path(file).is_relative_to(root) and "/tests/" not in file:
                yield file, int(line), operation, order


def weakenings(file, line, operation, order):
    """All weaker orders, one step at a time, down to the weakest."""
    todo, seen = [order], []
    while todo:
        for weaker in WEAKER.get((operation, todo.pop(0)), []):
            if weaker not in seen:
                seen.append(weaker)
                todo.append(weaker)
    # Only the next steps: what they break, the further ones break too.
    return [w for w in WEAKER.get((operation, order), [])]


def found_by(program, environment, file, line, operation, weaker):
    """The check that fails, or None."""
    run = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast"], capture_output=True, text=True,
                         env={**environment, "TROUPE_MODEL_WEAKEN": f"{file}:{line} {operation} {weaker}"},
                         errors="replace")
    if run.returncode == 0:
        return None
    failed = re.search(r"\[  FAILED  \] (\S+)", run.stdout)
    return failed[1] if failed else f"it ended with {run.returncode}"


def is_excused(file, line):
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return any("[unchecked]" in text for text in lines[max(0, line - 6):line])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("root", type=Path)
    parser.add_argument("--only", default="", help="a part of the file names to try")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    environment = dict(os.environ)
    root = arguments.root.resolve()

    began = time.monotonic()
    tries = [(file, line, operation, order, weaker)
             for file, line, operation, order in sites(arguments.program, root, environment)
             if arguments.only in file
             for weaker in weakenings(file, line, operation, order)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(
            lambda t: found_by(arguments.program, environment, t[0], t[1], t[2], t[4]), tries))

    missed = 0
    print(f"{'order':<58} {'weakened to':<12} found by")
    for (file, line, operation, order, weaker), found in zip(tries, results):
        place = f"{Path(file).relative_to(root)}:{line} {operation} {order}"
        if found is None:
            found = "unchecked, as the source says" if is_excused(file, line) else "NOT FOUND"
            missed += found == "NOT FOUND"
        print(f"{place:<58} {weaker:<12} {found}")
    print(f"{len(tries)} weakened orders, {missed} not found, {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
