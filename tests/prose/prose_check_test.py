#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants habits in a small repository, and checks that each is found, and nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("prose_check.py")


class ProseCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        subprocess.run(["git", "-C", self.folder.name, "init", "--quiet"], check=True)
        self.write("README.md", "A plain sentence, and `whoever` as code.\n\n```\nnobody at the most\n```\n")
        self.write("src/a.cpp", '// The thread returns.\nint nobody;  // an unused variable\nauto u = "http://nobody";\n')

    def write(self, name, text):
        path = Path(self.folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        subprocess.run(["git", "-C", self.folder.name, "add", name], check=True)

    def run_check(self):
        run = subprocess.run([sys.executable, CHECK, self.folder.name], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, [line.split(": ")[0] for line in run.stdout.splitlines()[:-1]]

    def test_plain_prose_passes(self):
        self.assertEqual(self.run_check(), (0, []))

    def test_each_habit_is_found(self):
        habits = ["Nobody waits, somebody sends.", "Whoever asks waits.", "Who asks, waits.", "Two at the most.",
                  "It waits for ever.", "It lets go of the lock.", "There are none: it is none.",
                  "It waits for so long.", "Likewise it ends: and thereof.", "The thread goes on."]
        for habit in habits:
            with self.subTest(habit):
                self.write("docs/a.md", f"A sentence.\n{habit}\n")
                self.assertEqual(self.run_check(), (1, ["docs/a.md:2"]))

    def test_a_habit_in_a_comment_is_found(self):
        self.write("src/b.cpp", "int a;\nint b;  // somebody waits\n")
        self.write("tests/run.py", "# nobody waits\nnobody = 1\n")
        self.assertEqual(self.run_check(), (1, ["src/b.cpp:2", "tests/run.py:1"]))

    def test_a_long_comment_is_found(self):
        self.write("src/b.cpp", "// " + "a" * 97 + "\n// " + "a" * 98 + "\n")
        self.assertEqual(self.run_check(), (1, ["src/b.cpp:2"]))


if __name__ == "__main__":
    unittest.main()
