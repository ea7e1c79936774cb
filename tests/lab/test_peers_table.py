#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table that scripts/peers-table writes for a run, and the files that it refuses.

usage: test_peers_table.py ROOT
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))

PAGE = """# Actors

Before.

<!-- peers: begin. scripts/peers-table writes this from docs/figures/peers.json -->
Old.
<!-- peers: end -->

After.
"""


def result(workload, engine, median, variant="", metric="rate", unit="messages/s", spread=0.1):
    return {"workload": workload, "engine": engine, "variant": variant, "metric": metric,
            "unit": unit, "median": median, "min": median * (1 - spread),
            "max": median * (1 + spread), "runs": 5}


def peak(workload, engine, median, variant=""):
    return result(workload, engine, median, variant, "peak_rss", "bytes")


def a_run():
    return {
        "experiment": "peers",
        "host": {"cpu": "A CPU", "cores": 2, "virtual": True, "memory": 25.3e9, "os": "Debian 12",
                 "kernel": "Linux 6", "compiler": "GCC 12.2.0", "flags": "-O3", "commit": "abc1234",
                 "load": 0.25},
        "options": {"idle": {"workers": 2, "actors": 1000000},
                    "pingpong": {"workers": 2, "actors": 2, "messages": 4000000}, "repeat": 5},
        "results": [
            result("idle", "troupe", 136.0, metric="bytes_per_actor", unit="bytes"),
            peak("idle", "troupe", 141e6),
            result("idle", "caf", 1360.0, metric="bytes_per_actor", unit="bytes"),
            peak("idle", "caf", 1.4e9),
            result("pingpong", "troupe", 31e6),
            result("pingpong", "troupe", 5.0, metric="cpu_s", unit="s"),
            peak("pingpong", "troupe", 5.7e6),
            result("pingpong", "go", 5e6),
            peak("pingpong", "go", 2.4e6),
        ],
        "failures": [],
        "date": "2026-11-23",
        "engines": [
            {"engine": "troupe", "version": "Troupe 1 (abc1234)", "settings": "counters"},
            {"engine": "caf", "version": "CAF 0.17.6", "settings": "stealing", "newer": "1.1"},
            {"engine": "go", "version": "Go 1.99", "settings": "GOMAXPROCS 2"},
        ],
        "left_out": [{"engine": "acto", "why": "acto is not installed"}],
    }


SUMMARY = PAGE.replace("# Actors", "# Performance")
README = PAGE.replace("# Actors", "# Troupe")


class PeersTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        (self.root / "docs" / "measurements").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "peers-table", self.root / "scripts")
        self.page = self.root / "docs" / "measurements" / "actors.md"
        self.page.write_text(PAGE, encoding="utf-8")
        self.summary = self.root / "docs" / "performance.md"
        self.summary.write_text(SUMMARY, encoding="utf-8")
        self.readme = self.root / "README.md"
        self.readme.write_text(README, encoding="utf-8")
        self.kept = self.root / "docs" / "figures" / "peers.json"
        self.measured = self.root / "run.json"

    def measure(self, **changes):
        self.measured.write_text(json.dumps({**a_run(), **changes}), encoding="utf-8")

    def script(self, *arguments):
        return subprocess.run([sys.executable, self.root / "scripts" / "peers-table", *arguments],
                              capture_output=True, text=True)

    def take(self, **changes):
        self.measure(**changes)
        run = self.script(self.measured)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        return self.page.read_text(encoding="utf-8")

    def assert_refused(self, why):
        run = self.script(self.measured)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"\Apeers-table: [^\n]*" + why)
        self.assertEqual(self.page.read_text(encoding="utf-8"), PAGE)
        self.assertEqual(self.summary.read_text(encoding="utf-8"), SUMMARY)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), README)
        self.assertFalse(self.kept.exists())

    def test_what_stands_around_the_markers_stays(self):
        page = self.take()
        self.assertTrue(page.startswith(PAGE[:PAGE.index("Old.")]))
        self.assertTrue(page.endswith("<!-- peers: end -->\n\nAfter.\n"))
        self.assertNotIn("Old.", page)

    def test_a_row_for_each_engine_with_median_and_spread(self):
        page = self.take()
        self.assertIn("| | pingpong | idle |\n", page)
        self.assertIn("| **Troupe** | 31.0 (27.9–34.1) | 136 (122–150) |\n", page)
        self.assertIn("| Go 1.99 | 5.00 (4.50–5.50) | – |\n", page)

    def test_ratios_say_how_many_times_as_fast_and_as_small(self):
        page = self.take()
        self.assertIn("| Go 1.99 | 6.2 | – |\n", page)
        self.assertIn("| CAF 0.17.6 (current version: 1.1) | – | 10 |\n", page)

    def test_peak_memory_has_a_table(self):
        self.assertIn("| **Troupe** | 5.70 | 141 |\n", self.take())

    def test_the_summary_has_medians_and_marks_those_whose_runs_differ(self):
        noisy = result("pingpong", "go", 5e6, spread=0.16)
        self.take(results=[*a_run()["results"][:-2], noisy])
        summary = self.summary.read_text(encoding="utf-8")
        self.assertTrue(summary.startswith(SUMMARY[:SUMMARY.index("Old.")]))
        self.assertTrue(summary.endswith("<!-- peers: end -->\n\nAfter.\n"))
        self.assertIn("\n| **Troupe** | 31.0 | 136 |\n", summary)
        self.assertIn("\n| Go 1.99 | ~5.00 | – |\n", summary)
        self.assertNotIn("Peak", summary)

    def test_two_runs_are_too_few_for_a_mark(self):
        self.take(results=[{**result("pingpong", "troupe", 5e6, spread=0.5), "runs": 2}])
        self.assertIn("\n| **Troupe** | 5.00 |\n", self.summary.read_text(encoding="utf-8"))

    def test_the_conditions_are_stated(self):
        page = self.take()
        self.assertIn("| host | A CPU, 2 virtual cores, 25 GB; Debian 12, Linux 6; load 0.2 at", page)
        self.assertIn("| compiler | GCC 12.2.0, `-O3` |\n", page)
        self.assertIn("| commit, day | abc1234, 2026-11-23 |\n", page)
        self.assertIn("2 workers, median of 5 (least–greatest) |\n", page)
        self.assertIn("| sizes | pingpong 2 actors, 4 M messages; idle 1 M actors |\n", page)

    def test_versions_settings_and_who_was_left_out_are_named(self):
        page = self.take(failures=["pingpong: caf: did not terminate within 120 s"])
        self.assertIn("\n* caf: CAF 0.17.6 (current version: 1.1); stealing\n", page)
        self.assertIn("\n* go: Go 1.99; GOMAXPROCS 2\n", page)
        self.assertIn("\n* acto took no part: acto is not installed\n", page)
        self.assertIn("\n* a run failed: pingpong: caf: did not terminate within 120 s\n", page)

    def test_the_run_is_kept_beside_the_page(self):
        self.take()
        self.assertEqual(json.loads(self.kept.read_text(encoding="utf-8")), a_run())

    def test_the_page_that_it_wrote_is_right(self):
        self.take()
        self.assertEqual(self.script("--check").returncode, 0)

    def test_a_figure_that_somebody_changed_is_found(self):
        page = self.take()
        self.page.write_text(page.replace("31.0", "32.0"), encoding="utf-8")
        run = self.script("--check")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"\Apeers-table: .*actors\.md does not say what .*peers\.json "
                                     r"does: run scripts/peers-table\n\Z")
        self.assertEqual(self.script().returncode, 0)
        self.assertEqual(self.page.read_text(encoding="utf-8"), page)

    def test_a_figure_of_the_summary_that_somebody_changed_is_found(self):
        self.take()
        summary = self.summary.read_text(encoding="utf-8")
        self.summary.write_text(summary.replace("31.0", "32.0"), encoding="utf-8")
        run = self.script("--check")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"\Apeers-table: .*performance\.md does not say what .*peers\.json")

    def test_a_figure_of_the_readme_that_was_changed_is_found(self):
        self.take()
        readme = self.readme.read_text(encoding="utf-8")
        self.readme.write_text(readme.replace("31.0", "32.0"), encoding="utf-8")
        run = self.script("--check")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"\Apeers-table: .*README\.md does not say what .*peers\.json")

    def test_the_readme_has_three_workloads_and_no_sketch(self):
        floor = {"engine": "floor", "version": "a sketch", "settings": "none"}
        sizes = {**a_run()["options"], "ask": {"workers": 2}, "ring": {"workers": 2}}
        self.take(engines=[*a_run()["engines"], floor], options=sizes,
                  results=[*a_run()["results"], result("pingpong", "floor", 95e6),
                           result("ask", "troupe", 9e6), result("ring", "troupe", 30e6)])
        readme = self.readme.read_text(encoding="utf-8")
        self.assertIn("\n| | ping-pong, million messages/s | request and reply, million/s "
                      "| idle actor, bytes |\n", readme)
        self.assertIn("\n| **Troupe** | 31.0 | 9.00 | 136 |\n", readme)
        self.assertIn("\n| CAF 0.17.6 (current version: 1.1) | – | – | 1,360 |\n", readme)
        self.assertNotIn("sketch", readme)

    def test_every_page_says_which_engines_were_not_run(self):
        self.take()
        for page in (self.summary, self.readme):
            self.assertIn("\nNot run, because they were not installed or not built: acto.\n",
                          page.read_text(encoding="utf-8"))
        self.take(left_out=[])
        for page in (self.summary, self.readme):
            self.assertNotIn("Not run", page.read_text(encoding="utf-8"))

    def test_without_figures_the_page_says_so(self):
        self.assertEqual(self.script("--check").returncode, 1)
        self.assertEqual(self.script().returncode, 0)
        self.assertIn("-->\n\nNothing has been measured yet.\n\n<!-- ", self.page.read_text("utf-8"))
        self.assertEqual(self.script("--check").returncode, 0)

    def test_what_is_no_run_of_peers_is_refused(self):
        self.measure(experiment="ring")
        self.assert_refused("run.json is not of `troupe lab peers")
        self.measure(results=[])
        self.assert_refused("run.json has no results")
        run = a_run()
        del run["date"]
        self.measured.write_text(json.dumps(run), encoding="utf-8")
        self.assert_refused("run.json has no date: measure anew")
        self.measured.write_text("{", encoding="utf-8")
        self.assert_refused("run.json is no JSON: ")
        self.measured.unlink()
        self.assert_refused("run.json cannot be read: No such file")

    def test_a_page_without_markers_is_refused(self):
        for file, before in ((self.page, PAGE), (self.summary, SUMMARY), (self.readme, README)):
            file.write_text("# Performance\n", encoding="utf-8")
            self.measure()
            run = self.script(self.measured)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"{file} has no line <!-- peers: begin", run.stderr)
            self.assertFalse(self.kept.exists())
            file.write_text(before, encoding="utf-8")


class ThePage(unittest.TestCase):
    def test_says_what_was_measured(self):
        run = subprocess.run([sys.executable, ROOT / "scripts" / "peers-table", "--check"],
                             capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
