#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants wrong quotations in a page, and checks that each is found, and nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("quotes.py")
SOURCE = "int main() {\n  if (begin()) {\n    go_on();\n  }\n}\n"


class Quotes(unittest.TestCase):
    def found(self, *page):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "examples").mkdir()
            Path(folder, "docs").mkdir()
            Path(folder, "examples", "main.cpp").write_text(SOURCE)
            Path(folder, "docs", "page.md").write_text("\n".join(page) + "\n")
            run = subprocess.run([sys.executable, CHECK, folder, "docs/page.md"],
                                 capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        found = [line.split(" ")[0] for line in run.stdout.splitlines()[:-1]]
        self.assertEqual(run.returncode, 1 if found else 0)
        return found

    def test_a_quotation_may_be_indented_otherwise(self):
        page = ["[it](../examples/main.cpp)", "```c++", "if (begin()) {", "  go_on();", "```"]
        self.assertEqual(self.found(*page), [])

    def test_a_link_to_a_folder_is_to_the_sources_in_it(self):
        self.assertEqual(self.found("[it](../examples)", "```c++", "go_on();", "```"), [])

    def test_programs_and_other_languages_are_left_alone(self):
        page = ["```cpp", "int main() {}", "```", "```sh", "go_on", "```", "```", "c++", "```"]
        self.assertEqual(self.found(*page), [])

    def test_what_is_not_linked_is_no_source(self):
        self.assertEqual(self.found("```c++", "go_on();", "```"), ["docs/page.md:2:"])

    def test_a_changed_line(self):
        page = ["[it](../examples/main.cpp)", "```c++", "if (begin()) {", "  go_back();", "```"]
        self.assertEqual(self.found(*page), ["docs/page.md:3:"])

    def test_a_line_left_out(self):
        page = ["[it](../examples/main.cpp)", "```c++", "int main() {", "    go_on();", "```"]
        self.assertEqual(self.found(*page), ["docs/page.md:3:"])

    def test_part_of_a_line(self):
        page = ["[it](../examples/main.cpp)", "```c++", "on();", "```"]
        self.assertEqual(self.found(*page), ["docs/page.md:3:"])

    def test_another_way_to_say_that_it_is_cpp(self):
        for info in ("C++", "cxx", "cpp run", "cpp no-compile"):
            self.assertEqual(self.found("```" + info, "int main() {}", "```"), ["docs/page.md:2:"])


if __name__ == "__main__":
    unittest.main()
