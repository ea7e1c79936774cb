#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one experiment with tiny sizes and checks the object that it writes.

usage: smoke.py TROUPE EXPERIMENT [OPTION…]
"""

import json
import subprocess
import sys

from result import problems_of


def main() -> int:
    program, name, *options = sys.argv[1:]
    command = [program, "lab", name, "--smoke", "--repeat", "2", "--json", "-", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(run.stderr)
    if run.returncode != 0:
        print(f"exit status {run.returncode}")
        return 1
    problems = problems_of(json.loads(run.stdout), name, runs=2)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
