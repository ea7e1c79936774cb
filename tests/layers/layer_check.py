#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every include goes to the same layer or to a lower one.

usage: layer_check.py ROOT

Reads the includes of every C++ file under ROOT/include/troupe, ROOT/src, ROOT/examples, ROOT/lab and
ROOT/cli, prints each that breaks a rule as `file:line: included file: rule`, and exits with 1 if there
is one.

The rules:
  - include/troupe/<layer>/ and src/<layer>/ are the only places for code, and <layer> is known.
  - A file includes its own layer or a lower one; siblings do not know each other.
  - The core includes nothing foreign: only the C++ standard library and headers of Linux; nor does testkit, but
    for the header that binds GoogleTest. Tests of both may include that. <atomic> goes through troupe/sync/, where another implementation
    can take its place.
  - A public header includes no private one; an example includes only public headers and those of examples.
  - lab and cli may include everything, but lab not cli; nothing else includes them.
  - troupe/troupe.hpp stands for what it includes. It is there for users: no library file of the core
    includes it.
  - A test may include the headers of tests/main by their names.
  - An include names a file that exists.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

# From the lowest to the highest; layers in one row are siblings.
ROWS = [
    ["base"],
    ["sync"],
    ["memory"],
    ["time"],
    ["message"],
    ["mailbox", "scheduler"],
    ["actor"],
    ["supervision"],
    ["sim"],
    ["net", "testkit"],
    ["http", "cluster"],
    ["lua"],
    ["server"],
]
HEIGHT = {layer: height for height, row in enumerate(ROWS) for layer in row}
CORE = {layer for layer, height in HEIGHT.items() if height <= HEIGHT["sim"]}

# Programs that use the library, from the lowest to the highest. They may include all lower layers.
TOOLS = ["lab", "cli"]

# The same rule holds for testkit, although it lies above the core.
PLAIN = CORE | {"testkit"}
BINDING = "troupe/testkit/gtest.hpp"

# All tests may include its headers, by their names.
TEST_HEADERS = Path("tests/main")

UMBRELLA = "troupe/troupe.hpp"
ATOMIC = "troupe/sync/atomic.hpp"
KNOWS_ATOMIC = {ATOMIC, "troupe/sync/orders.hpp"}

STANDARD = set("""
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
    condition_variable coroutine deque exception execution expected filesystem flat_map flat_set format
    forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream
    istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers
    numeric optional ostream print queue random ranges ratio regex scoped_allocator semaphore set
    shared_mutex source_location span spanstream sstream stack stacktrace stdexcept stdfloat stop_token
    streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex
    typeinfo unordered_map unordered_set utility valarray variant vector version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef
    cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
""".split())

LINUX = set("""
    cpio.h dirent.h dlfcn.h errno.h fcntl.h fnmatch.h glob.h grp.h iconv.h langinfo.h libgen.h monetary.h
    mqueue.h netdb.h nl_types.h poll.h pthread.h pwd.h regex.h sched.h search.h semaphore.h signal.h
    spawn.h stdlib.h string.h strings.h syslog.h tar.h termios.h time.h ucontext.h unistd.h utime.h
    cxxabi.h elf.h execinfo.h features.h link.h malloc.h
    immintrin.h x86intrin.h arm_neon.h
""".split())
# sanitizer/ comes with the compilers.
LINUX_FOLDERS = {"arpa", "asm", "linux", "net", "netinet", "sanitizer", "sys"}

GOOGLETEST_FOLDERS = {"gmock", "gtest"}

CODE = {".cpp", ".hpp", ".h"}
TOKEN = re.compile(r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.X | re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?[ \t]*(<[^>\n]*>|\"[^\"\n]*\"|[^\n]*)", re.M)


def is_test(path: Path) -> bool:
    return path.stem.endswith(("_test", "_test_support", "test_support"))


@dataclass
class Include:
    line: int
    text: str  # as written, with its brackets or quotes

    @property
    def name(self) -> str:
        return self.text[1:-1]

    @property
    def quoted(self) -> bool:
        return self.text.startswith('"')


def without_comments(text: str) -> str:
    """Blanks out comments, but not text within strings. Line numbers stay the same."""

    def blank(token: re.Match) -> str:
        return "\n" * token[0].count("\n") if token[0].startswith("/") else token[0]

    return TOKEN.sub(blank, text)


def includes_of(path: Path) -> Iterator[Include]:
    text = without_comments(path.read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        yield Include(text.count("\n", 0, match.start()) + 1, match[1].strip())


class Check:
    def __init__(self, root: Path):
        self.root = root
        self.problems: list[str] = []
        self.files = 0

    def run(self) -> None:
        for top in ("include/troupe", "src", "examples", *TOOLS):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in CODE and path.is_file():
                    self.files += 1
                    self.check_file(path)

    def report(self, path: Path, include: Optional[Include], rule: str) -> None:
        where = str(path.relative_to(self.root))
        self.problems.append(f"{where}:{include.line}: {include.text}: {rule}" if include
                             else f"{where}:1: {rule}")

    def layer_of(self, path: Path) -> Optional[str]:
        """The layer in whose folder the file lies, known or not."""
        for top in ("include/troupe", "src"):
            folder = self.root / top
            if path.is_relative_to(folder):
                parts = path.relative_to(folder).parts
                return parts[0] if len(parts) > 1 else ""
        return None

    def tool_of(self, path: Path) -> Optional[str]:
        top = path.relative_to(self.root).parts[0]
        return top if top in TOOLS else None

    def is_public(self, path: Path) -> bool:
        return path.is_relative_to(self.root / "include")

    def check_file(self, path: Path) -> None:
        if path == self.root / "include" / UMBRELLA:
            self.check_umbrella(path)
            return
        layer = self.layer_of(path)
        if layer is not None and layer not in HEIGHT:
            self.report(path, None, f"the folder {layer} is no layer" if layer
                        else "lies in the folder of no layer")
            return
        for include in includes_of(path):
            self.check_include(path, layer, include)

    def check_umbrella(self, path: Path) -> None:
        for include in includes_of(path):
            target = self.target_of(path, include)
            if target is None or self.layer_of(target) not in CORE:
                self.report(path, include, "the umbrella includes layers of the core only")

    def check_include(self, path: Path, layer: Optional[str], include: Include) -> None:
        if include.text[:1] not in ("<", '"'):
            self.report(path, include, "a computed include hides the layer")
            return
        target = self.target_of(path, include)
        if target is None:
            if include.quoted or include.name.startswith("troupe/"):
                self.report(path, include, "there is no such file")
            elif layer in PLAIN:
                self.check_foreign(path, layer, include)
            return
        if is_test(path) and target.is_relative_to(self.root / TEST_HEADERS):
            return
        if layer is None:
            if self.tool_of(path) is None:
                self.check_example(path, include, target)
            else:
                self.check_tool(path, include, target)
            return
        if target == self.root / "include" / UMBRELLA:
            self.check_use_of_umbrella(path, layer, include, target)
            return
        if self.is_public(path) and not self.is_public(target):
            self.report(path, include, "a public header includes no private one")
        self.check_height(path, layer, include, target)

    def check_height(self, path: Path, layer: str, include: Include, target: Path) -> None:
        other = self.layer_of(target)
        if other is None:
            self.report(path, include, "lies outside of the layers")
        elif other not in HEIGHT or other == layer:
            return  # an unknown layer is reported where it lies
        elif HEIGHT[other] > HEIGHT[layer]:
            self.report(path, include, f"{other} lies above {layer}")
        elif HEIGHT[other] == HEIGHT[layer]:
            self.report(path, include, f"{other} and {layer} are siblings")

    def check_use_of_umbrella(self, path: Path, layer: str, include: Include, umbrella: Path) -> None:
        if layer in CORE and not path.stem.endswith(("_test", "_bench")):
            self.report(path, include, "the umbrella is for users, not for the core itself")
            return
        for hidden in includes_of(umbrella):
            target = self.target_of(umbrella, hidden)
            if target is not None:
                self.check_height(path, layer, Include(include.line, hidden.text), target)

    def check_example(self, path: Path, include: Include, target: Path) -> None:
        if not self.is_public(target) and not target.is_relative_to(self.root / "examples"):
            self.report(path, include, "an example includes public headers and those of examples")

    def check_tool(self, path: Path, include: Include, target: Path) -> None:
        tool, other = self.tool_of(path), self.tool_of(target)
        if other is not None and TOOLS.index(other) > TOOLS.index(tool):
            self.report(path, include, f"{other} lies above {tool}")

    def check_foreign(self, path: Path, layer: str, include: Include) -> None:
        folder = include.name.split("/")[0] if "/" in include.name else ""
        if include.name == "atomic" and path not in {self.root / "include" / name for name in KNOWS_ATOMIC}:
            self.report(path, include, f"atomics go through <{ATOMIC}>")
            return
        if include.name in STANDARD or include.name in LINUX or folder in LINUX_FOLDERS:
            return
        if folder in GOOGLETEST_FOLDERS and (path.stem.endswith("_test")
                                             or path == self.root / "include" / BINDING):
            return
        self.report(path, include, "the core uses only the C++ standard library and Linux" if layer in CORE
                    else f"{layer} uses only the C++ standard library and Linux, but for <{BINDING}>")

    def target_of(self, path: Path, include: Include) -> Optional[Path]:
        """The included file, if it belongs to this project."""
        folders = [self.root / "include"]
        if include.quoted:
            folders = [path.parent, self.root / "src"] + folders
            if self.tool_of(path) is not None:
                folders.append(self.root)
            if is_test(path):
                folders.append(self.root / TEST_HEADERS)
        for folder in folders:
            target = (folder / include.name).resolve()
            if target.is_file() and target.is_relative_to(self.root):
                return target
        return None


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: layer_check.py ROOT", file=sys.stderr)
        return 2
    check = Check(Path(sys.argv[1]).resolve())
    check.run()
    for problem in check.problems:
        print(problem)
    print(f"{check.files} files, {len(check.problems)} forbidden includes or folders")
    return 1 if check.problems or check.files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
