#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a test that does not end is named, with the stacks of all threads.

usage: watchdog_test.py PROGRAM
"""

import os
import subprocess
import sys


def main() -> int:
    run = subprocess.run([sys.argv[1]], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, "TROUPE_TEST_SECONDS": "1"}, timeout=100)
    expected = ["[       OK ] hanging.passes", "[  FAILED  ] hanging.does_not_end lasts longer than 1 s",
                "does_not_end_Test::TestBody", "goes_round_and_round"]
    missing = [text for text in expected if text not in run.stdout]
    for text in missing:
        print(f"missing in the output: {text}")
    if run.returncode == 0:
        print("the program exited with status 0")
    if missing or run.returncode == 0:
        print(run.stdout)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
