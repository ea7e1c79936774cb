#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How `troupe lab savina` starts the programs of other engines, with stand-ins for them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TROUPE = sys.argv.pop(1)


class Savina(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The program finds the others relative to itself.
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        os.mkdir(os.path.join(cls.folder.name, "bin"))
        cls.program = shutil.copy(TROUPE, os.path.join(cls.folder.name, "bin", "troupe"))

    def setUp(self):
        self.engines = os.path.join(self.folder.name, "lab-engines")
        self.addCleanup(shutil.rmtree, self.engines, ignore_errors=True)
        self.log = os.path.join(self.engines, "log")

    def add(self, path, script):
        file = os.path.join(self.engines, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\n{script}\n")
        os.chmod(file, 0o755)

    def savina(self, *options):
        run = subprocess.run([self.program, "lab", "savina", "--smoke", "--repeat", "1", "--json",
                              "-", *options], capture_output=True, text=True)
        return run, json.loads(run.stdout)

    def test_engines_that_are_not_built_are_named_and_left_out(self):
        run, result = self.savina("--engine", "troupe", "--engine", "caf", "--engine", "pekko")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual({one["engine"] for one in result["results"]}, {"troupe"})
        for engine in ["caf", "pekko"]:
            self.assertIn(f"{engine} is left out: it is not built; `troupe lab savina` without "
                          "--smoke builds it", result["notes"])

    def test_each_program_gets_the_sizes_of_its_workload(self):
        self.add("caf/savina", f'echo "$*" >>{self.log}; echo time ms 5')
        run, result = self.savina("--engine", "caf", "--workers", "3", "--ring_hops", "77")
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(self.log, encoding="utf-8") as lines:
            started = lines.read().splitlines()
        self.assertEqual(len(started), 12)
        self.assertEqual(started[:2], [
            "counting --workers 3 --warm_up_ms 1 --messages 10000",
            "ring --workers 3 --warm_up_ms 1 --actors 10 --hops 77"])
        times = [one["median"] for one in result["results"] if one["metric"] == "time"]
        self.assertEqual(times, [5] * 12)

    def test_memory_is_that_of_the_other_program(self):
        self.add("tokio/release/savina", "echo time ms 5")
        _, result = self.savina("--engine", "tokio", "--engine", "troupe")
        peaks = {(one["engine"], one["variant"]): one["median"] for one in result["results"]
                 if one["metric"] == "peak_rss"}
        self.assertLess(peaks["tokio", "ring"], peaks["troupe", "ring"])

    def test_a_wrong_result_fails_the_run(self):
        self.add("caf/savina", '[ "$1" = ring ] && { echo the ring has another order >&2; exit 1; }\n'
                               'echo time ms 5')
        run, result = self.savina("--engine", "caf")
        self.assertEqual(run.returncode, 1)
        [failure] = result["failures"]
        self.assertTrue(failure.startswith("caf, ring: "), failure)
        self.assertIn("the ring has another order", failure)
        self.assertNotIn("ring", {one["variant"] for one in result["results"]})


if __name__ == "__main__":
    unittest.main()
