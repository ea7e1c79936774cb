#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extracts the programs from Markdown files, so that they can be compiled and run.

usage: code_blocks.py FOLDER ROOT FILE...

A block that begins with ```cpp is a whole program. The one at line 12 of ROOT/docs/a-page.md
becomes FOLDER/docs_a_page_12.cpp, whose errors refer to the page. Unchanged programs are not
written again; programs that no longer exist are removed. A program that does not end by itself
begins with ```cpp no-run and becomes docs_a_page_12_no_run.cpp. A fragment begins with ```c++
instead; quotes.py checks those.

Prints the names of the programs, one per line.
"""

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$")


def blocks_in(path: Path):
    """Yields (line of the first line of code, text after the fence, code) of each block."""
    begin, code, opening = 0, [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = FENCE.match(line)
        if opening is None:
            if match:
                opening, begin, code = match, number + 1, []
        elif match and not match["info"].strip() and match["fence"].startswith(opening["fence"]):
            yield begin, opening["info"], "\n".join(code) + "\n"
            opening = None
        else:
            code.append(line.removeprefix(opening["indent"]))
    if opening is not None:
        sys.exit(f"{path}:{begin - 1}: this code block is not closed")


def is_program(info: str) -> bool:
    return info.split() in (["cpp"], ["cpp", "no-run"])


def programs_in(path: Path):
    """Yields (line of the first line of code, whether it ends by itself, code) of each program."""
    for line, info, code in blocks_in(path):
        if is_program(info):
            yield line, info.split() == ["cpp"], code


def main() -> int:
    if len(sys.argv) < 4:
        print("usage: code_blocks.py FOLDER ROOT FILE...", file=sys.stderr)
        return 2
    folder, root = map(Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for name in sys.argv[3:]:
        stem = re.sub(r"\W", "_", name.removesuffix(".md")).lower()
        for line, ends, code in programs_in(root / name):
            program = folder / f"{stem}_{line}{'' if ends else '_no_run'}.cpp"
            text = f'#line {line} "{name}"\n{code}'
            if not program.exists() or program.read_text(encoding="utf-8") != text:
                program.write_text(text, encoding="utf-8")
            written.add(program)
            print(program.stem)
    for stale in set(folder.glob("*.cpp")) - written:
        stale.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
