#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of `troupe lab all`: a file for each experiment, its behaviour with a folder that
already has some, and its behaviour when interrupted."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from result import problems_of

TROUPE = sys.argv.pop(1)
SOME = ["--only", "pingpong", "--only", "ring"]


class All(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "results")

    def all(self, *arguments, extent="--smoke"):
        return subprocess.run([TROUPE, "lab", "all", extent, "--folder", self.folder, *arguments],
                              capture_output=True, text=True)

    def file(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as text:
            return json.load(text)

    def change(self, name, **fields):
        result = self.read(name)
        for key, value in fields.items():
            result[key] = value
        with open(self.file(name), "w", encoding="utf-8") as out:
            json.dump(result, out)

    def assert_refused(self, run, *words):
        self.assertEqual((run.returncode, run.stdout), (2, ""), run)
        self.assertRegex(run.stderr, r"\Atroupe: [^\n]*\n\Z")
        for word in words:
            self.assertIn(word, run.stderr)

    def test_each_experiment_has_a_file_and_a_row(self):
        run = self.all(*SOME, "--repeat", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["README", "pingpong.json", "ring.json"])
        for name in ["pingpong", "ring"]:
            result = self.read(name + ".json")
            self.assertEqual(problems_of(result, name, runs=2), [])
            self.assertEqual(result["extent"], "smoke")
            self.assertGreater(result["took_s"], 0)
            self.assertRegex(run.stdout, rf"(?m)^  {name} +rate .*messages/s")
        self.assertRegex(run.stderr, r"\A1 of 2: pingpong, \S+ s; \D+ left\n2 of 2: ring, \S+ s\n\Z")
        self.assertRegex(run.stdout, r"(?m)^2 of 2 experiments; 0 failed, ")

    def test_what_is_there_is_not_measured_again(self):
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        before = self.read("ring.json")
        run = self.all(*SOME)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"\A1 of 1: pingpong, [^\n]*\n\Z")
        self.assertIn("2 of 2 experiments, 1 of them from before; ", run.stdout)
        self.assertEqual(self.read("ring.json"), before)

    def test_what_was_measured_otherwise_is_refused_unless_all_begins_afresh(self):
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        self.assert_refused(self.all(*SOME, extent="--quick"), "ring.json", "smoke, not quick", "--fresh")
        self.assert_refused(self.all(*SOME, "--repeat", "2"), "ring.json", '"repeat":1', "--fresh")
        host = self.read("ring.json")["host"]
        self.change("ring.json", host={**host, "commit": "1234567"})
        self.assert_refused(self.all(*SOME), "ring.json is of commit 1234567, not ", "--fresh")
        self.change("ring.json", host={**host, "cpu": "Z80"})
        self.assert_refused(self.all(*SOME), "ring.json is of cpu Z80, not ", "--fresh")
        self.assert_refused(self.all("--only", "pingpong", "--fresh"), "ring.json is of cpu Z80, not ")
        self.assertFalse(os.path.exists(self.file("pingpong.json")))
        run = self.all(*SOME, "--fresh")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.read("ring.json")["host"]["cpu"], host["cpu"])

    def test_the_load_may_be_another_one(self):
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        self.change("ring.json", host={**self.read("ring.json")["host"], "load": 99.5})
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        self.assertEqual(self.read("ring.json")["host"]["load"], 99.5)

    def test_what_failed_before_is_measured_again(self):
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        self.change("ring.json", failures=["troupe: killed by signal 9"])
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        self.assertEqual(self.read("ring.json")["failures"], [])

    def test_one_that_fails_does_not_stop_the_others(self):
        # The experiment waits for two seconds.
        run = self.all("--only", "asleep", "--only", "ring", "--timeout", "1", "--repeat", "1",
                       extent="--full")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(self.read("asleep.json")["failures"], ["troupe: did not terminate within 1 s"])
        self.assertTrue(os.path.exists(self.file("ring.json")))
        self.assertIn("failed: asleep: troupe: did not terminate within 1 s\n", run.stdout)

    def test_a_folder_with_something_else_is_refused(self):
        os.mkdir(self.folder)
        with open(self.file("README"), "w", encoding="utf-8") as out:
            out.write("My holidays\n")
        self.assert_refused(self.all(*SOME), self.folder, "--folder")
        self.assertEqual(os.listdir(self.folder), ["README"])

    def test_a_file_that_is_no_result_is_refused(self):
        self.assertEqual(self.all("--only", "ring").returncode, 0)
        for text in ["", "[]", '{"experiment": "pingpong"}']:
            with open(self.file("ring.json"), "w", encoding="utf-8") as out:
                out.write(text)
            self.assert_refused(self.all(*SOME), "ring.json", "--fresh")

    def test_a_folder_that_cannot_be_made_is_a_failure(self):
        self.folder = "/proc/results"
        run = self.all(*SOME)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("/proc/results", run.stderr)

    def test_what_has_been_measured_is_kept_when_a_signal_ends_it(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            command = [TROUPE, "lab", "all", "--full", "--folder", self.folder, "--fresh", "--only", "ask",
                       "--only", "asleep", "--repeat", "1"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
                first = run.stderr.readline()  # the other experiment takes at least two seconds
                self.assertRegex(first, "^1 of 2: ask, ")
                run.send_signal(number)
                out, errors = run.communicate()
            self.assertEqual(run.returncode, 128 + number, errors)
            self.assertRegex(errors, r"\Atroupe: interrupted; the same command [^\n]*\n\Z")
            self.assertIn("\n1 of 2 experiments; ", out)
            self.assertEqual(sorted(os.listdir(self.folder)), ["README", "ask.json"])
            self.assertEqual(problems_of(self.read("ask.json"), "ask", runs=1), [])

    def test_a_hangup_that_is_ignored_does_not_end_it(self):
        command = ["nohup", TROUPE, "lab", "all", "--full", "--folder", self.folder, "--only", "ask", "--only",
                   "asleep", "--repeat", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            while not run.stderr.readline().startswith("1 of 2: ask, "):
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGHUP)
            run.send_signal(signal.SIGTERM)
            run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)

    def test_how_much_has_to_be_said(self):
        for arguments in [[], ["--quick", "--full"], ["--quick", "--only", "rign"], ["--quick", "--folder", ""]]:
            run = subprocess.run([TROUPE, "lab", "all", *arguments], capture_output=True, text=True)
            self.assert_refused(run)


if __name__ == "__main__":
    unittest.main()
