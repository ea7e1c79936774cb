#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles code that must not compile, and checks the compiler's messages.

usage: compile_fail.py SNIPPET COMPILER [FLAG...]

The snippet states the expected errors in comments:

    // expect-error: account          a regular expression that every error line must match; several
    // expect-error: withdraw         of them must all match
    // expect-errors: 2               how many error lines there are; without it, one

The code that must not compile is under `#ifdef MUST_NOT_COMPILE`. The snippet is also compiled
without this code, and must then pass. So the error comes from the marked code, and not from a
mistake elsewhere.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

EXPECTATION = re.compile(r"^//\s*(expect-errors?):\s*(.*?)\s*$", re.M)
ERROR = re.compile(r"^.*?: (?:fatal )?error: .*$", re.M)


def compile_(snippet: str, command: list[str], definitions: list[str]) -> tuple[int, str]:
    # The "C" locale: error messages in English, with ASCII quotes.
    run = subprocess.run([*command, "-fsyntax-only", *definitions, snippet], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, "LC_ALL": "C"})
    return run.returncode, run.stdout


def problem_of(snippet: str, command: list[str]) -> str:
    """The problem, with the compiler's messages; empty if the result is as expected."""
    expectations = EXPECTATION.findall(Path(snippet).read_text(encoding="utf-8"))
    patterns = [text for kind, text in expectations if kind == "expect-error"]
    counts = [int(text) for kind, text in expectations if kind == "expect-errors"]
    if not patterns or len(counts) > 1:
        return "the snippet needs an expect-error comment, and at most one expect-errors"

    status, output = compile_(snippet, command, [])
    if status != 0:
        return f"does not compile even without MUST_NOT_COMPILE:\n{output}"

    status, output = compile_(snippet, command, ["-DMUST_NOT_COMPILE"])
    if status == 0:
        return f"compiles, but must not:\n{output}"
    errors = ERROR.findall(output)
    wanted = counts[0] if counts else 1
    if len(errors) != wanted:
        return f"gives {len(errors)} errors instead of {wanted}:\n{output}"
    for error in errors:
        for pattern in patterns:
            if not re.search(pattern, error):
                return f"an error line does not match «{pattern}»:\n{output}"
    print("\n".join(errors))
    return ""


def main() -> int:
    if len(sys.argv) < 3:
        print("usage: compile_fail.py SNIPPET COMPILER [FLAG...]", file=sys.stderr)
        return 2
    snippet, *command = sys.argv[1:]
    problem = problem_of(snippet, command)
    if problem:
        print(f"{snippet}: {problem}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
