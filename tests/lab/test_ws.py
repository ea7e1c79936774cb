#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`troupe lab ws`: the participants, the ratios, and the bars."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

TROUPE = sys.argv.pop(1)


def ws(*options, **how):
    return subprocess.run([TROUPE, "lab", "ws", "--smoke", "--repeat", "1", *options],
                          capture_output=True, text=True, **how)


class Servers(unittest.TestCase):
    def test_who_is_not_installed_is_left_out_and_named(self):
        run = ws("--engine", "gorilla", env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(run.returncode, 1, run)
        self.assertRegex(run.stdout, "(?m)^note: gorilla is left out: (it is not built|go is not)")

    def test_bars_have_what_was_measured_and_say_what_was_not(self):
        run = ws("--engine", "beast", "--engine", "troupe", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        medians = {(one["engine"], one["variant"], one["metric"]): one["median"]
                   for one in result["results"]}
        bars = {bar["bar"]: bar for bar in result["bars"]}
        echo = bars["C++ echo ÷ Beast, 1 in flight"]
        which = "echo, 1 in flight", "cpu_per_message"
        self.assertAlmostEqual(echo["value"],
                               medians["troupe", *which] / medians["beast", *which])
        self.assertEqual(echo["met"], echo["value"] <= echo["most"])
        lua = bars["Lua echo ÷ C++ echo, 1 in flight"]
        self.assertEqual((lua["value"], lua["met"]), (None, False))
        self.assertRegex(run.stderr, "(?m)^ +cpu_per_message +ns .* ÷ beast$")
        self.assertIn("Not measured: ", result["answer"])
        self.assertRegex(result["notes"][1], "^beast: Boost 1[.].* plain socket")

    def test_both_servers_of_beast_take_part_with_their_names(self):
        run = ws("--engine", "beast", "--engine", "beast tcp_stream", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        variants = {}
        for one in result["results"]:
            variants.setdefault(one["engine"], set()).add(one["variant"])
        self.assertEqual(set(variants), {"beast", "beast tcp_stream"})
        self.assertEqual(variants["beast"], variants["beast tcp_stream"])
        self.assertIn("echo, 1 in flight, TLS", variants["beast"])
        self.assertRegex(" ".join(result["notes"]),
                         "beast tcp_stream: Boost .* with tcp_stream and default fragmentation")

    def test_beast_pings_a_silent_client_and_the_client_stays(self):
        # The replies to the pings are counted during the measurement. A client that does not reply within two
        # intervals is closed, so an interval is longer than a busy host stops a process.
        run = ws("--engine", "beast", "--engine", "beast tcp_stream", "--ping_ms", "600",
                 "--quiet_ms", "1300", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        pinged = {one["engine"] for one in json.loads(run.stdout)["results"]
                  if one["variant"] == "idle crowd, pinged" and one["metric"] == "cpu_per_ping"}
        self.assertEqual(pinged, {"beast", "beast tcp_stream"})

    def test_a_comparison_of_programs_with_other_flags_is_refused(self):
        flags = json.loads(ws("--engine", "beast", "--json", "-").stdout)["host"]["flags"].split()
        levels = [each for each in flags if each.startswith("-O")]
        if levels and levels[-1] in ("-O2", "-O3"):
            self.skipTest("the programs are optimised")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for arguments in [["ws"], ["peers", "ring"],
                          ["all", "--full", "--only", "ws", "--folder", folder.name]]:
            with self.subTest(arguments=arguments):
                run = subprocess.run([TROUPE, "lab", *arguments], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stdout), (2, ""), run)
                self.assertRegex(run.stderr, r"\Atroupe: `troupe lab [^\n]* compares C\+\+ programs"
                                 r"[^\n]*preset bench \(`make lab`\)[^\n]*\n\Z")

    def test_more_connections_than_descriptors_is_a_failure_that_says_what_to_do(self):
        run = ws("--engine", "beast", "--idle", "100000", "--json", "-",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
        self.assertEqual(run.returncode, 1)
        self.assertIn("raise the hard limit (ulimit -Hn), or use fewer clients",
                      json.loads(run.stdout)["failures"][0])


if __name__ == "__main__":
    unittest.main()
