#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives compile_fail.py snippets that do not fail as they state, and checks that each is refused.

usage: compile_fail_test.py COMPILER
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVER = Path(__file__).with_name("compile_fail.py")
COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "c++"

TEMPLATE = """
template <class A, class B> struct has_no;
struct cat {}; struct dog {};
template <class A, class B> int use() { return sizeof(has_no<A, B>); }
int main() {
#ifdef MUST_NOT_COMPILE
"""


class CompileFail(unittest.TestCase):
    def driver(self, comments, marked, unmarked=""):
        with tempfile.TemporaryDirectory() as folder:
            snippet = Path(folder, "snippet.cpp")
            snippet.write_text(f"{comments}{TEMPLATE}{marked}\n#endif\n{unmarked}\n}}\n")
            run = subprocess.run([sys.executable, DRIVER, snippet, COMPILER, "-std=c++20"],
                                 capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def assert_refused(self, reason, *code):
        status, output = self.driver(*code)
        self.assertEqual(status, 1, output)
        self.assertIn(reason, output)

    def test_the_expected_error_passes(self):
        status, output = self.driver("// expect-error: cat\n// expect-error: dog\n", "use<cat, dog>();")
        self.assertEqual(status, 0, output)

    def test_several_expected_errors_pass(self):
        status, output = self.driver("// expect-error: cat\n// expect-errors: 2\n",
                                     "use<cat, dog>(); use<dog, cat>();")
        self.assertEqual(status, 0, output)

    def test_code_that_compiles_is_refused(self):
        self.assert_refused("compiles, but must not", "// expect-error: cat\n", "cat c; (void)c;")

    def test_a_second_error_is_refused(self):
        self.assert_refused("gives 2 errors instead of 1", "// expect-error: cat\n",
                            "use<cat, dog>(); use<dog, cat>();")

    def test_a_missing_error_is_refused(self):
        self.assert_refused("gives 1 errors instead of 2", "// expect-error: cat\n// expect-errors: 2\n",
                            "use<cat, dog>();")

    def test_another_text_is_refused(self):
        self.assert_refused("does not match «bird»", "// expect-error: cat\n// expect-error: bird\n",
                            "use<cat, dog>();")

    def test_an_error_outside_of_the_marked_code_is_refused(self):
        self.assert_refused("does not compile even without", "// expect-error: cat\n",
                            "", "use<cat, dog>();")

    def test_a_snippet_that_expects_nothing_is_refused(self):
        self.assert_refused("needs an expect-error comment", "", "use<cat, dog>();")


if __name__ == "__main__":
    unittest.main()
