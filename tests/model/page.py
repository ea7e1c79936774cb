#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sees that docs/internals/model-checking.md shows what the checker really says.

usage: page.py extract PAGE FOLDER              writes FOLDER/right/ring_test.cpp, and FOLDER/wrong/ring_test.cpp with the
                                                weakened order
       page.py check PAGE RIGHT WRONG PLANTED   runs both programs and compares their output with the page; counts the
                                                planted bugs in the sources of the folder PLANTED

Prints what differs, and exits with 1 if something does.
"""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TRACE = re.compile(r"^```\n( +1  ring_test.*?)^```$", re.MULTILINE | re.DOTALL)
EXECUTIONS = re.compile(r"It holds in all ([\d,]+) executions")
WEAKENED = ("tail_.store(tail + 1, release);", "tail_.store(tail + 1, relaxed);")


def extract(page: str, folder: Path) -> int:
    program = PROGRAM.search(page)
    if program is None or program[1].count(WEAKENED[0]) != 1:
        print(f"the page needs a program that contains '{WEAKENED[0]}' exactly once", file=sys.stderr)
        return 1
    for name, text in (("right", program[1]), ("wrong", program[1].replace(*WEAKENED))):
        path = folder / name / "ring_test.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


def check(page: str, right: str, wrong: str, planted: str) -> int:
    differences = []
    texts = {each.name: each.read_text(encoding="utf-8") for each in Path(planted).glob("*_test.cpp")}
    outcomes = texts.pop("planted_outcomes_test.cpp")
    sources = "".join(texts.values())
    counts = f"by {sources.count('expect_fails(')} planted bugs"
    whole = f"the {sources.count('expect_holds(')} whole structures"
    misses = f"by {outcomes.count('expect_misses(')} planted outcomes"
    differences += [f"the page does not contain '{each}'" for each in (counts, whole, misses) if each not in page]
    said = EXECUTIONS.search(page)
    done = subprocess.run([right], capture_output=True, text=True, check=False)
    row = re.search(r"^ring\.what_is_pushed_is_popped_in_order +holds, 3 preemptions +(\d+) ", done.stdout, re.MULTILINE)
    if said is None or row is None or int(said[1].replace(",", "")) != int(row[1]):
        differences.append(f"the page says {said and said[1]} executions, the program {row and row[1]}:\n{done.stdout}")

    shown = TRACE.search(page)
    done = subprocess.run([wrong], capture_output=True, text=True, check=False)
    if done.returncode != 1:
        differences.append(f"the program with the weakened order exited with status {done.returncode} instead of 1")
    lines = iter(done.stdout.splitlines())
    for line in shown[1].splitlines() if shown else ["no trace on the page"]:
        if line.strip() and line.strip() != "..." and not any(line.rstrip() == each.rstrip() for each in lines):
            differences.append(f"not printed, or not in this order: '{line}' in\n{done.stdout}")
            break
    for each in differences:
        print(each)
    return 1 if differences else 0


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "extract":
        return extract(Path(sys.argv[2]).read_text(encoding="utf-8"), Path(sys.argv[3]))
    if len(sys.argv) == 6 and sys.argv[1] == "check":
        return check(Path(sys.argv[2]).read_text(encoding="utf-8"), *sys.argv[3:])
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
