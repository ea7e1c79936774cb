#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds habits of writing that make readers stop: see README.md in this folder.

usage: prose_check.py [--list] ROOT

Prints each finding in the strict folders and exits with 1 if there is one, or if the other folders
have more than CEILING. --list prints all findings.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# Of these every line must be free of findings.
STRICT = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/", "include/"]

# Findings in all other files together. It only goes down.
CEILING = 9

HABITS = [
    ("a person where code is meant", r"\b(no|some|every)body\b|\b(he|his|him|himself)\b"),
    ("a clause without a subject", r"(?:^|[.;:,] |\bof |\bfor |\bto |\bthat )[Ww]hoever\b"),
    ("a sentence that begins with \"Who\" or \"What\"", r"(?:^|\. )(?:Who|What) (?!\w+ \w+[^.]*\?)[^?]*$"),
    ("\"at the most\", \"at the least\": at most, at least", r"\bat the (?:most|least)\b"),
    ("\"for ever\": forever, or a bound", r"\bfor ever\b"),
    ("\"let go of\": release", r"\blet(?:s|ting)? go of\b"),
    ("\"is none\": does not exist, is not", r"\b(?:is|are|was|were) none\b"),
    ("\"so long\", \"so many\": as long as, a number", r"\b(?:for so|so) (?:long|many|often)(?:;|,|\.|$| at the)"),
    ("an old word", r"\b(?:likewise|thereupon|thereof|whence|to and fro)\b"),
    ("\"goes on\": continues, resumes", r"\bgo(?:es)? (?:on|by)\b(?! with\b)"),
]
PATTERNS = [(why, re.compile(pattern)) for why, pattern in HABITS]

COLUMNS = 100
CODE = {".hpp", ".cpp", ".in"}
SCRIPTS = {".py", ".cmake", ".sh"}


def prose_of(path, text):
    """(line number, text) of each line of prose: comments, or Markdown outside of code."""
    if path.suffix == ".md":
        in_code = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith(("```", "~~~")):
                in_code = not in_code
            elif not in_code:
                yield number, re.sub(r"`[^`]*`", "`x`", line.strip().strip("|").strip())
    elif path.suffix in CODE:
        for number, line in enumerate(text.splitlines(), 1):
            found = re.search(r"(?:^|\s)//[/!<]*\s?(.*)", line)
            if found and "://" not in line[:found.start() + 2]:
                yield number, re.sub(r"`[^`]*`|\[[^\]]*\]", "`x`", found[1])
    elif path.suffix in SCRIPTS or path.name == "CMakeLists.txt":
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r"\s*#\s(.*)", line)
            if found:
                yield number, found[1]


def findings(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        path = root / name
        if name.startswith("tests/prose/") or name == "CHANGELOG.md" or not path.is_file():
            continue
        if path.suffix not in CODE | SCRIPTS | {".md"} and path.name != "CMakeLists.txt":
            continue
        for number, line in prose_of(path, path.read_text(encoding="utf-8", errors="replace")):
            for why, pattern in PATTERNS:
                if pattern.search(line):
                    yield name, number, why, line
                    break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--list", action="store_true", help="print all findings")
    arguments = parser.parse_args()
    strict = others = 0
    for name, number, why, line in findings(arguments.root):
        is_strict = any(name == each or (each.endswith("/") and name.startswith(each)) for each in STRICT)
        strict += is_strict
        others += not is_strict
        if is_strict or arguments.list:
            print(f"{name}:{number}: {why}: {line}")
    print(f"{strict} in README, ARCHITECTURE, docs and public headers, of 0; {others} elsewhere, of {CEILING}")
    return 1 if strict or others > CEILING else 0


if __name__ == "__main__":
    sys.exit(main())
