#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a hanging Python test ends with the stacks of its threads."""

import os
import subprocess
import sys
import unittest

import stuck_python


class Hanging(unittest.TestCase):
    """Run by the test below in another process."""

    def test_1_passes(self):
        pass

    def test_2_never_ends(self):
        if "TROUPE_TEST_HANGS" not in os.environ:
            self.skipTest("it would never end")
        while True:
            os.read(self.pipe()[0], 1)

    def pipe(self):
        self.ends = os.pipe()
        return self.ends


class Watchdog(unittest.TestCase):
    def test_names_the_test_that_never_ends(self):
        run = subprocess.run([sys.executable, os.path.abspath(__file__), "-v", "Hanging"],
                             env={**os.environ, "TROUPE_TEST_HANGS": "1", "TROUPE_TEST_SECONDS": "1"},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("Timeout", run.stdout)
        self.assertIn("in test_2_never_ends", run.stdout)
        self.assertRegex(run.stdout, r"test_1_passes.*ok")


if __name__ == "__main__":
    stuck_python.watch()
    unittest.main()
