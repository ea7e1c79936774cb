#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdicts of scripts/bench-compare on given figures: nothing is built or measured."""

import importlib.util
import json
import random
import signal
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

SCRIPT = sys.argv.pop(1)
sys.dont_write_bytecode = True
loader = SourceFileLoader("bench_compare", SCRIPT)
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_compare", loader))
loader.exec_module(bench)


def samples(seed, figures, rounds, factor=lambda _: 1.0, unit="ns"):
    """{(name, unit): [value, …]}: each figure about 100, give or take 5 %."""
    source = random.Random(seed)
    return {(f"some_bench: figure {i}", unit): [100 * factor(i) * source.gauss(1, 0.05) for _ in range(rounds)]
            for i in range(figures)}


class Figures(unittest.TestCase):
    def test_what_the_benchmarks_print_is_read(self):
        text = ("pool: 1024 bytes from the system, 0 given back in all\n"
                "taken, released           pool             64 bytes      9.25 ns\n"
                "ring                                  2 workers       81.5 ns\n"
                "ask, then                              120.1 ns   2.000 allocations\n"
                "by 16                          8 bytes      3.5 ns sent      4.5 ns handled\n"
                "pingpong       12.5 k/s\n"
                "               80.1 us\n"
                "seed 42\n")
        self.assertEqual(bench.figures_of(text), {
            ("taken, released pool 64 bytes", "ns"): 9.25,
            ("ring 2 workers", "ns"): 81.5,
            ("ask, then", "ns"): 120.1,
            ("ask, then", "allocations"): 2.0,
            ("by 16 8 bytes, sent", "ns"): 3.5,
            ("by 16 8 bytes, handled", "ns"): 4.5,
            ("pingpong", "k/s"): 12.5,
            ("pingpong", "us"): 80.1,
        })

    def test_of_two_lines_alike_none_is_lost(self):
        self.assertEqual(bench.figures_of("a 1.0 ns\na 2.0 ns\na 3.0 ns\n"),
                         {("a", "ns"): 1.0, ("a (2)", "ns"): 2.0, ("a (3)", "ns"): 3.0})


class Statistics(unittest.TestCase):
    def test_p_is_that_of_the_tables(self):
        # Mann and Whitney, 1947: samples of 3 and 3 with U = 0 are 2 of 20; of 4 and 5 with U = 2,
        # 8 of 126.
        self.assertAlmostEqual(bench.p_of_difference([1, 2, 3], [4, 5, 6]), 2 / 20)
        self.assertAlmostEqual(bench.p_of_difference([4, 5, 6], [1, 2, 3]), 2 / 20)
        self.assertAlmostEqual(bench.p_of_difference([1, 2, 3, 6], [4, 5, 7, 8, 9]), 8 / 126)
        self.assertAlmostEqual(bench.p_of_difference([1, 4], [2, 3]), 1)

    def test_p_of_equal_values_is_that_of_counting_all_choices(self):
        self.assertEqual(bench.p_of_difference([7, 7, 7], [7, 7, 7]), 1)
        # Of the 6 choices of two from 1, 1, 2, 2, one sum is as small as this and one as large.
        self.assertAlmostEqual(bench.p_of_difference([1, 1], [2, 2]), 2 / 6)

    def test_holm_is_stricter_the_more_figures_there_are(self):
        for got, expected in zip(bench.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]):
            self.assertAlmostEqual(got, expected)
        self.assertEqual(bench.holm([0.6, 0.7]), [1.0, 1.0])

    def test_the_ratio_has_an_interval_around_it(self):
        before = [100, 101, 102, 103, 104, 105, 106, 107]
        ratio, least, most = bench.ratio_of(before, [2 * v for v in before])
        self.assertAlmostEqual(ratio, 2, delta=0.01)
        self.assertTrue(1.9 < least < ratio < most < 2.1, (least, ratio, most))

    def test_of_three_values_the_interval_is_everything(self):
        self.assertEqual(bench.ratio_of([1, 1, 1], [2, 2, 2]), (2, 0, float("inf")))

    def test_nothing_and_something_have_a_ratio(self):
        self.assertEqual(bench.ratio_of([0] * 5, [0] * 5), (1, 1, 1))
        self.assertEqual(bench.ratio_of([0] * 5, [2] * 5)[0], float("inf"))

    def test_as_many_rounds_are_needed_as_the_corrected_p_wants(self):
        for figures in [1, 10, 100, 1000]:
            needed = bench.rounds_needed(figures)
            apart = bench.p_of_difference(list(range(needed)), list(range(needed, 2 * needed)))
            self.assertLess(apart * figures, bench.ALPHA)
            fewer = bench.p_of_difference(list(range(needed - 1)), list(range(needed, 2 * needed - 1)))
            self.assertGreaterEqual(fewer * figures, bench.ALPHA)


class Comparing(unittest.TestCase):
    def test_the_same_distribution_gives_nothing(self):
        for seed in range(100, 120, 2):
            counts, noise = bench.compare(samples(seed, 100, 10), samples(seed + 1, 100, 10), 3)
            self.assertEqual((counts, len(noise)), ([], 100), seed)

    def test_twenty_percent_more_time_is_found_and_nothing_else(self):
        before = samples(1, 100, 10)
        now = samples(2, 100, 10, lambda i: 1.2 if i == 7 else 1)
        counts, noise = bench.compare(before, now, 3)
        self.assertEqual([one.name for one in counts], ["some_bench: figure 7"])
        self.assertTrue(counts[0].least < 1.2 < counts[0].most)
        self.assertEqual(len(noise), 99)

    def test_what_is_slower_comes_first_and_rates_count_the_other_way(self):
        factor = lambda i: [1.3, 0.7, 1.5][i]
        now = {**samples(4, 3, 10, factor), **samples(4, 3, 10, factor, "k/s")}
        before = {**samples(3, 3, 10), **samples(3, 3, 10, unit="k/s")}
        counts, _ = bench.compare(before, now, 3)
        self.assertEqual([(one.name[-1], one.unit) for one in counts],
                         [("2", "ns"), ("1", "k/s"), ("0", "ns"), ("0", "k/s"), ("1", "ns"), ("2", "k/s")])

    def test_a_certain_but_small_difference_does_not_count(self):
        before = {("a", "ns"): [100 + i / 100 for i in range(10)]}
        now = {("a", "ns"): [102 + i / 100 for i in range(10)]}
        self.assertEqual(bench.compare(before, now, 3)[0], [])
        self.assertEqual(len(bench.compare(before, now, 1)[0]), 1)

    def test_an_allocation_more_is_found(self):
        counts, _ = bench.compare({("a", "allocations"): [0.0] * 10}, {("a", "allocations"): [1.0] * 10}, 3)
        self.assertEqual([one.ratio for one in counts], [float("inf")])


class Report(unittest.TestCase):
    def report(self, before, now):
        return "\n".join(bench.report(before, now, 3, "main~3"))

    def test_a_few_rounds_are_too_few(self):
        text = self.report(samples(1, 50, 3), samples(2, 50, 3, lambda _: 2))
        self.assertEqual(text, "too few rounds: 3 say nothing about 50 figures, at least 8 are needed")

    def test_what_is_found_stands_with_its_certainty(self):
        text = self.report(samples(1, 50, 10), samples(2, 50, 10, lambda i: 1.2 if i == 7 else 1))
        self.assertRegex(text, r"\Aslower: 1\n  some_bench: figure 7 .* ns +time +\+\d+\.\d %  "
                               r"\(\+\d+\.\d % … \+\d+\.\d %\)  p 0\.\d+\nfaster: nothing\nnoise: 49 of 50; ")

    def test_what_only_one_of_them_has_is_named(self):
        text = self.report({("old", "ns"): [1.0] * 10, ("a", "ns"): [1.0] * 10},
                           {("new", "ns"): [1.0] * 10, ("a", "ns"): [1.0] * 10})
        self.assertIn("\nonly in main~3: old, ns\nonly here: new, ns", text)

    def test_nothing_in_common_is_said(self):
        self.assertIn("no figure that both have", self.report({("a", "ns"): [1.0]}, {("b", "ns"): [1.0]}))


class Measuring(unittest.TestCase):
    def measure(self, sides, rounds, wanted=""):
        self.order = []

        def execute(command, folder, limit, quiet):
            self.order.append(" ".join(map(str, command)))
            return "" if "silent" in str(command[0]) else "one 1.0 ns\ntwo 2.0 ns\n"

        return bench.measure(sides, rounds, bench.wanted_figures(wanted), 1, lambda _: None, execute)

    def test_both_take_turns_and_the_first_place_changes(self):
        found = self.measure([{"x": Path("old/x")}, {"x": Path("new/x")}], 3)
        self.assertEqual(self.order[:2], ["old/x --smoke", "new/x --smoke"])
        self.assertEqual(self.order[2:], ["old/x", "new/x", "new/x", "old/x", "old/x", "new/x"])
        for side in found:
            self.assertEqual(side, {("x: one", "ns"): [1.0] * 3, ("x: two", "ns"): [2.0] * 3})

    def test_what_has_no_wanted_figure_runs_with_smoke_alone(self):
        sides = [{"x": Path("old/x"), "silent": Path("old/silent")}, {"x": Path("new/x")}]
        found = self.measure(sides, 2, "x: two")
        self.assertEqual(self.order[3:], ["old/x", "new/x", "new/x", "old/x"])
        self.assertEqual(list(found[0]), [("x: two", "ns")])


class Revisions(unittest.TestCase):
    """The whole command, in a repository whose only benchmark prints given text."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(toy LANGUAGES CXX)\n"
                                     "set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\n"
                                     "add_executable(toy_bench src/toy/toy_bench.cpp)\n")
        self.write("CMakePresets.json", json.dumps({
            "version": 6,
            "configurePresets": [{"name": "bench", "generator": "Ninja", "binaryDir": "${sourceDir}/build/bench"}],
            "buildPresets": [{"name": "bench", "configurePreset": "bench"}]}))
        self.write(".gitignore", "/build/\n")
        self.write("scripts/bench-compare", Path(SCRIPT).read_text(encoding="utf-8"))
        self.benchmark("alike 1.00 ns\\nother 10.00 ns\\nold 1.00 ns\\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "a")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def benchmark(self, prints, first=""):
        self.write("src/toy/toy_bench.cpp", f'#include <cstdio>\n#include <unistd.h>\nint main() {{ {first} std::printf("{prints}"); }}\n')

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, text=True).stdout

    def begin(self, *arguments):
        return subprocess.Popen([sys.executable, self.root / "scripts/bench-compare", *arguments], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_nothing_is_left(self):
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertFalse((self.root / "build/bench-compare").exists())

    def test_the_working_tree_is_compared_with_the_revision(self):
        self.benchmark("alike 1.00 ns\\nother 12.00 ns\\nnew 1.00 ns\\n")
        with self.begin("HEAD") as run:
            out, errors = run.communicate()
        self.assertEqual(run.returncode, 0, errors)
        self.assertRegex(out, r"\Aslower: 1\n  toy_bench: other .* 10 → +12 ns +time  \+20\.0 % .*\nfaster: nothing\n"
                              r"noise: 1 of 2; ")
        self.assertIn("only in HEAD: toy_bench: old, ns\nonly here: toy_bench: new, ns\n", out)
        self.assert_nothing_is_left()

    def test_a_signal_leaves_nothing_behind(self):
        self.benchmark("", 'std::fprintf(stderr, "waits\\n"); for (;;) ::pause();')
        with self.begin("HEAD", "--rounds", "1") as run:
            while "waits" not in run.stderr.readline():
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGTERM)
            run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        self.assert_nothing_is_left()

    def test_what_cannot_be_built_is_a_failure(self):
        self.benchmark('no C++ "')
        with self.begin("HEAD") as run:
            out, errors = run.communicate()
        self.assertEqual((run.returncode, out), (1, ""))
        self.assertRegex(errors, r"(?m)^bench-compare: cmake --build .*: exit status 1$")
        self.assert_nothing_is_left()


class Command(unittest.TestCase):
    def test_wrong_usage_is_one_line_and_status_2(self):
        for arguments, says in [([], "revision"), (["HEAD", "--rounds", "0"], "'0' is no number from 1 to 100"),
                                (["HEAD", "--rounds", "many"], "'many'"), (["HEAD", "--filter", "("], "'('"),
                                (["HEAD", "--least", "-1"], "--least"), (["HEAD", "--nothing"], "--nothing"),
                                (["no/such/revision"], "'no/such/revision'"), (["--", "--all"], "'--all'")]:
            with self.subTest(arguments=arguments):
                run = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stdout), (2, ""), run)
                self.assertRegex(run.stderr, r"\Abench-compare: [^\n]*\n\Z")
                self.assertIn(says, run.stderr)


if __name__ == "__main__":
    unittest.main()
