#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C++ in Markdown files is either a program that is compiled or a quotation.

usage: quotes.py ROOT FILE...

Programs are the blocks that code_blocks.py extracts. Any other block of C++ must occur, line by
line, in a file that its page links to, or in a source file of a folder that the page links to.
Only the indentation may differ.

Prints each block that does not, and exits with 1 if there is one.
"""

import re
import sys
from pathlib import Path
from textwrap import dedent

from code_blocks import blocks_in, is_program

CPP = re.compile(r"(c\+\+|cpp|cxx|cc)\b|c\+\+", re.IGNORECASE)
LINK = re.compile(r"\]\(([^)#\s]+)")
SOURCES = {".cpp", ".hpp"}


def lines_of(code: str):
    return [line.rstrip() for line in dedent(code).splitlines()]


def sources_of(page: Path):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target
        if path.is_dir():
            yield from (each for each in path.iterdir() if each.suffix in SOURCES)
        elif path.is_file() and path.suffix in SOURCES:
            yield path


def occurs(quoted: list, text: list) -> bool:
    for at in range(len(text) - len(quoted) + 1):
        here = text[at : at + len(quoted)]
        if here[0].endswith(quoted[0]) and lines_of("\n".join(here)) == quoted:
            return True
    return False


def main() -> int:
    if len(sys.argv) < 3:
        print("usage: quotes.py ROOT FILE...", file=sys.stderr)
        return 2
    root, wrong, quotations = Path(sys.argv[1]), 0, 0
    for name in sys.argv[2:]:
        sources = [path.read_text(encoding="utf-8").splitlines() for path in sources_of(root / name)]
        for line, info, code in blocks_in(root / name):
            if is_program(info) or not CPP.match(info.strip()):
                continue
            quotations += 1
            quoted = lines_of(code)
            if not quoted or not any(occurs(quoted, text) for text in sources):
                print(f"{name}:{line}: neither a program (```cpp) nor a quotation from a file that the page links to")
                wrong += 1
    print(f"{quotations} quotations, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
