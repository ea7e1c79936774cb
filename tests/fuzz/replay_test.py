#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a replay finds the planted bug, and that an empty folder does not pass.

usage: replay_test.py FUZZ_PLANTED
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""


def replay(*folders):
    return subprocess.run([PROGRAM, *map(str, folders)], capture_output=True, text=True)


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def test_what_is_well_passes(self):
        self.write("one", "fine\n")
        self.write("nothing", "")
        done = replay(self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_broken_promise_fails_and_says_with_which_file(self):
        self.write("a", "fine\n")
        self.write("b", "bug\n")
        self.write("c", "fine\n")
        done = replay(self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("broken promise: there is no bug", done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], str(self.folder / "b"))

    def test_an_empty_folder_fails(self):
        done = replay(self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no file in it", done.stderr)

    def test_a_missing_folder_fails(self):
        self.write("one", "fine\n")
        done = replay(self.folder, self.folder / "nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere", done.stderr)

    def test_no_folder_is_a_wrong_call(self):
        self.assertEqual(replay().returncode, 2)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
