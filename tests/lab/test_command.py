#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of the command line: exit codes, one line for wrong usage, and the destinations of
its output."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TROUPE = sys.argv.pop(1)
QUICK = ["--smoke", "--repeat", "1"]


def troupe(*arguments, **options):
    return subprocess.run([TROUPE, *arguments], capture_output=True, text=True, **options)


class Command(unittest.TestCase):
    def assert_wrong_usage(self, *arguments, says=()):
        run = troupe(*arguments)
        self.assertEqual(run.returncode, 2, run)
        self.assertEqual(run.stdout, "")
        self.assertRegex(run.stderr, r"\Atroupe: [^\n]*\n\Z")
        for words in says:
            self.assertIn(words, run.stderr)

    def test_wrong_usage_is_one_line_and_status_2(self):
        self.assert_wrong_usage()
        self.assert_wrong_usage("nothing")
        self.assert_wrong_usage("--nothing")
        self.assert_wrong_usage("lab", "nothing")
        self.assert_wrong_usage("lab", "pingpong", "more")
        self.assert_wrong_usage("lab", "pingpong", "--nothing")
        self.assert_wrong_usage("lab", "pingpong", "--repeat", "0")
        self.assert_wrong_usage("lab", "pingpong", "--repeat", "many")
        self.assert_wrong_usage("lab", "pingpong", "--messages", "0")
        self.assert_wrong_usage("lab", "pingpong", "--workers", "1025")
        self.assert_wrong_usage("lab", "pingpong", "--engine", "nothing")
        self.assert_wrong_usage("lab", "peers")
        self.assert_wrong_usage("lab", "peers", "nothing")
        self.assert_wrong_usage("lab", "peers", "pingpong", "--engine", "nothing")
        self.assert_wrong_usage("lab", "peers", "pingpong", "--engines", "/nowhere")

    def test_every_number_of_every_command_says_what_is_allowed(self):
        commands = re.findall(r"(?m)^  (\w+)  ", troupe("lab", "list").stdout)[1:]
        asked = set()
        for command in commands:
            numbers = re.findall(r"(?m)^  (--\S+) (\d+)\.\.(\d+)", troupe("lab", command, "--help").stdout)
            asked.update((command, name) for name, _, _ in numbers)
            for name, least, most in numbers:
                wrong = ["-1", "1.5", "2e3", "many", str(int(most) + 1), "9" * 30]
                if name in ["--workers", "--threads", "--repeat", "--timeout"]:
                    self.assertEqual(least, "1", (command, name))
                    self.assertLessEqual(int(most), 86_400, (command, name))
                if int(least) > 0:
                    wrong.append(str(int(least) - 1))
                for value in wrong:
                    with self.subTest(command=command, option=name, value=value):
                        self.assert_wrong_usage(
                            "lab", command, name, value,
                            says=[f"{name}: '{value}' is not a whole number from {least} to {most}"])
        self.assertLess({("ring", "--workers"), ("ring", "--repeat"), ("semaphore", "--events"),
                         ("peers", "--workers"), ("all", "--timeout")}, asked)

    def test_an_unknown_name_is_named_with_the_nearest_that_there_is(self):
        for arguments, says in [
                (["labb"], "`troupe` has no command 'labb'; did you mean lab?"),
                (["lab", "pingpon"], "`troupe lab` has no command 'pingpon'; did you mean pingpong?"),
                (["lab", "rign", "--workers", "1"], "`troupe lab` has no command 'rign'; did you mean ring?"),
                (["lab", "nothing"], "`troupe lab` has no command 'nothing'; see `troupe lab --help`"),
                (["lab", "ring", "--mesages", "3"], "no option '--mesages'; did you mean --messages?"),
                (["lab", "ring", "--mesages=3"], "no option '--mesages'; did you mean --messages?"),
                (["lab", "ring", "-w", "3"], "`troupe lab ring` has no option '-w'; see "),
                (["lab", "--smoke", "ring"], "`troupe lab` has no option '--smoke'; see "),
                (["lab", "ring", "more"], "`troupe lab ring` takes no argument 'more'; see "),
                (["lab", "ring", "--engine", "trope"], "--engine: unknown engine 'trope'; did you mean troupe?"),
                (["lab", "ring", "--engine", "go"], "--engine: unknown engine 'go'; the choices are troupe; see "),
                (["lab", "peers", "rign"], "WORKLOAD: unknown workload 'rign'; did you mean ring?"),
                (["lab", "all", "--quick", "--only", "rign"], "unknown experiment 'rign'; did you mean ring?")]:
            with self.subTest(arguments=arguments):
                self.assert_wrong_usage(*arguments, says=[says])

    def test_a_value_that_is_missing_or_one_too_many_is_named(self):
        for arguments, says in [
                ([], "a command is missing: "),
                (["lab", "ring", "--messages"], "--messages needs a value"),
                (["lab", "ring", "--json", ""], "--json: the file name is empty"),
                (["lab", "ring", "--workers", "1", "--workers", "2"], "--workers must be given only once"),
                (["lab", "ring", "--smoke=2"], "--smoke takes no value"),
                (["lab", "peers"], "WORKLOAD is required"),
                (["lab", "peers", "ring", "--engines", "/nowhere"], "--engines: '/nowhere' is not a folder"),
                (["lab", "all"], "one of --quick, --full and --smoke is required"),
                (["lab", "all", "--quick", "--full"], "--quick excludes --full")]:
            with self.subTest(arguments=arguments):
                self.assert_wrong_usage(*arguments, says=[says])

    def test_version(self):
        run = troupe("--version")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"\Atroupe \d+\.\d+\.\d+ \(\S+\)(, Lua\S* \S+)?\n\Z")

    def test_advice_is_a_table_an_object_and_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file, advice = os.path.join(folder, "settings"), os.path.join(folder, "advice.json")
            run = troupe("lab", "advise", "--smoke", "--rounds", "1", "--json", advice,
                         "--write", file)
            self.assertEqual(run.returncode, 0, run.stderr)
            # In a single round, chance decides whether the best other value gains or loses.
            for what in "waking a thread", "turn_messages", "recommended:", "the default: the best other value":
                self.assertIn(what, run.stdout)
            with open(advice, encoding="utf-8") as text:
                found = json.load(text)
            with open(file, encoding="utf-8") as text:
                written = text.read()
        self.assertGreater(found["machine"]["wake_up_ns"], 0)
        names = [each["setting"] for each in found["advice"]]
        self.assertEqual(names, ["workers", "turn_messages", "spin_rounds", "max_messages"])
        for each in found["advice"]:
            # A single round is not enough for a recommendation.
            self.assertEqual(each["recommended"], each["default"])
            self.assertTrue(all(one["noise"] for one in each["tried"]))
            self.assertIn(f"# {each['setting']} = {each['default']}", written)

    def test_advice_that_cannot_be_written_is_a_failure(self):
        self.assert_wrong_usage("lab", "advise", "--rounds", "0")
        run = troupe("lab", "advise", "--smoke", "--rounds", "1", "--json", "/nowhere/advice")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, "troupe: /nowhere/advice cannot be written\n")
        run = troupe("lab", "advise", "--smoke", "--rounds", "1", "--write", "/nowhere/settings")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, "troupe: /nowhere/settings cannot be written\n")

    def test_lab_lists_experiments(self):
        run = troupe("lab")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"(?m)^ *pingpong +\S.*\?$")
        self.assertEqual(run.stdout, troupe("lab", "list").stdout)

    def test_the_help_names_sizes_and_defaults(self):
        run = troupe("lab", "pingpong", "--help")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"--messages .*4000000")

    def test_without_a_terminal_progress_is_a_line_for_each_run(self):
        run = troupe("lab", "pingpong", "--smoke", "--repeat", "2", "--engine", "troupe")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(len(re.findall(r"(?m)^round [12] of 2: troupe: \S+ [kM]$", run.stderr)), 2)
        self.assertIn("troupe", run.stdout)

    def test_a_size_that_is_given_counts_more_than_smoke(self):
        run = troupe("lab", "pingpong", *QUICK, "--messages", "1234", "--json", "-")
        self.assertEqual(json.loads(run.stdout)["options"]["messages"], 1234)

    def test_json_goes_to_a_file_beside_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "result.json")
            run = troupe("lab", "pingpong", *QUICK, "--json", file)
            self.assertEqual(run.returncode, 0)
            self.assertIn("median", run.stdout)
            with open(file, encoding="utf-8") as text:
                self.assertEqual(json.load(text)["experiment"], "pingpong")

    def test_a_figure_that_varies_is_marked_in_the_table_as_in_json(self):
        run = troupe("lab", "pingpong", "--smoke", "--json", "-")
        noisy = sum(one["noisy"] for one in json.loads(run.stdout)["results"])
        self.assertEqual(len(re.findall(r" ~\d", run.stderr)), noisy)
        self.assertEqual("\n~ varies: " in run.stderr, noisy > 0)

    def test_a_file_that_cannot_be_written_is_a_failure(self):
        run = troupe("lab", "pingpong", *QUICK, "--json", "/nowhere/result.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere/result.json", run.stderr)

    def test_a_trace_is_json_with_the_slices_of_all_threads(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            run = troupe("lab", "pingpong", "--messages", "2000000", "--repeat", "1", "--trace", file)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stdout, r"(?m)^ +\d+\.\d +\d+\.\d +0\.0 +\d+  player: ball$")
            with open(file, encoding="utf-8") as text:
                events = json.load(text)
        lanes = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertEqual(lanes, {"troupe/1", "troupe/2"})
        slices = [e for e in events if e["ph"] == "X"]
        names = {e["name"] for e in slices}
        self.assertLessEqual({"player: ball", "parked"}, names)
        for lane in {e["tid"] for e in slices}:
            end = 0
            for each in sorted((e for e in slices if e["tid"] == lane), key=lambda e: e["ts"]):
                self.assertGreaterEqual(each["ts"], end - 0.002)
                end = each["ts"] + each["dur"]

    def test_a_trace_that_cannot_be_written_is_a_failure_that_names_it(self):
        run = troupe("lab", "pingpong", *QUICK, "--trace", "/nowhere/run.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere/run.json", run.stdout)

    def test_a_run_that_does_not_end_is_killed_and_a_failure(self):
        run = troupe("lab", "pingpong", "--repeat", "1", "--timeout", "1", "--engine", "troupe",
                     "--messages", "4000000000", "--json", "-")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(json.loads(run.stdout)["failures"], ["troupe: did not terminate within 1 s"])


class Pipeline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "requests")

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(text)

    def test_the_requests_that_it_writes_are_the_published_ones(self):
        run = troupe("lab", "pipeline", "--write", self.file)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        with open(self.file, encoding="utf-8") as text:
            all_ = [line.split() for line in text if not line.startswith("#")]
        self.assertEqual(len(all_), 100_000)
        self.assertEqual(sum(int(one[2]) for one in all_ if one[0] == "yield"), 49_800)
        self.assertEqual(sum(int(one[2]) for one in all_ if one[0] == "sleep"), 18_920_000)
        self.assertEqual(max(int(one[2]) for one in all_ if one[0] == "sleep"), 1_000_000)
        self.assertGreater(sum(one[0] == "compute" for one in all_), 50_000)

    def test_requests_come_from_a_file(self):
        self.write("# two\ncompute 10\n\nsleep 20 30000\nyield 5 7\n")
        run = troupe("lab", "pipeline", *QUICK, "--requests", self.file, "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual(result["options"]["requests"], self.file)
        bounds = [one["min"] for one in result["results"] if one["metric"] == "bound_s"]
        self.assertGreaterEqual(min(bounds), 0.03)
        self.assertLess(max(bounds), 1)

    def test_a_wrong_file_is_one_line_that_says_where(self):
        for wrong, why in [("slept 5", "'slept' is not compute, yield or sleep"),
                           ("compute", "the number of rounds is missing"),
                           ("compute 0", "'0' is not a valid number of rounds from 1 to 1000000000"),
                           ("sleep 5 1.5", "'1.5' is not a valid number of microseconds from 1 to 60000000"),
                           ("yield 5 6 7", "'7' is an unexpected extra word"),
                           ("# nothing", "the file contains no request")]:
            self.write("# a comment\n" + wrong + "\n")
            run = troupe("lab", "pipeline", *QUICK, "--requests", self.file)
            self.assertEqual(run.returncode, 1, wrong)
            line = 3 if why == "the file contains no request" else 2
            self.assertEqual(run.stderr, f"troupe: {self.file}:{line}: {why}\n")
            self.assertEqual(run.stdout, "")

    def test_a_file_that_is_not_there_is_a_failure(self):
        for arguments in [["--requests", "/nowhere/file"], ["--write", "/nowhere/file"]]:
            run = troupe("lab", "pipeline", *arguments)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, r"\Atroupe: /nowhere/file cannot be [^\n]*\n\Z")

    def test_wrong_usage(self):
        for arguments in [["--write", ""], ["--requests", ""], ["--write", "a", "--requests", "b"]]:
            self.assertEqual(troupe("lab", "pipeline", *arguments).returncode, 2)


class NotMeasured(unittest.TestCase):
    """What a host does not permit is a note, never an invented figure."""

    def run_of(self, name, *options):
        run = troupe("lab", name, *QUICK, "--json", "-", *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        measured, left_out = {}, {}
        for one in result["results"]:
            measured.setdefault(f"{one['engine']}, {one['variant']}", {})[one["metric"]] = one["median"]
        for note in result.get("notes", []):
            who, found, why = note.partition(": not measured: ")
            if found:
                left_out[who] = why
        return measured, left_out

    def test_a_tick_that_leaves_no_time_for_the_work_is_not_extrapolated(self):
        measured, left_out = self.run_of("scheduling", "--real_time", "1")
        ticked = [who for who in measured if who.endswith(" us")]
        self.assertLessEqual({"threads, 200 branches, 10 us", "processes, 2 branches, 50 us", "single, 10 us"},
                             set(ticked))
        for who, figures in measured.items():
            with self.subTest(who):
                self.assertEqual("all" not in figures, who in left_out)
                if who in ticked:
                    self.assertEqual(figures["left_for_work"] < 0.1, who in left_out)

    def test_every_way_between_processes_is_measured_or_named(self):
        measured, left_out = self.run_of("ipc")
        self.assertLessEqual({"processes, named pipe", "threads, mutex + condition_variable"}, set(measured))
        self.assertIn("processes, POSIX message queue", {**measured, **left_out})

    def test_a_priority_that_is_not_permitted_is_named(self):
        measured, left_out = self.run_of("creation")
        for who in "fork, 0 MB, niceness -19", "thread, niceness -19":
            self.assertNotEqual(who in measured, who in left_out)
        self.assertLessEqual({"fork, 0 MB, batch", "thread, batch", "coroutine, batch", "troupe, actors, batch"},
                             set(measured))


class Peers(unittest.TestCase):
    def test_each_engine_has_a_row_with_its_ratio_to_troupe(self):
        run = troupe("lab", "peers", "ring", *QUICK, "--engine", "troupe", "--engine", "floor")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(?m)^ *ring, messages/s +median +least +greatest ")
        self.assertRegex(run.stdout, r"(?m)^ *troupe .* 1\.00 +\S+ [kMG]B$")
        self.assertRegex(run.stdout, r"(?m)^ *floor .* \d+\.\d\d +\S+ [kMG]B$")
        self.assertRegex(run.stdout, r"(?m)^troupe: Troupe \S+ \(\S+\); .+\nfloor: a sketch; ")

    def test_several_workloads_make_tables_of_markdown(self):
        run = troupe("lab", "peers", "ring", "fanin", "ring", *QUICK, "--engine", "troupe",
                     "--engine", "floor")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("| | fanin, unbounded | fanin, bounded 1024 | ring |"), 2)
        self.assertRegex(run.stdout, r"(?m)^\| floor \| \S+ [kM] \| – \| \S+ [kM] \|$")

    def test_an_engine_that_is_not_installed_is_named_and_left_out(self):
        run = troupe("lab", "peers", "pingpong", *QUICK, "--json", "-", "--engine", "troupe",
                     "--engine", "go", "--engine", "caf", env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("go is left out: go is not installed\n", run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual(result["left_out"], [{"engine": "caf", "why": "cmake is not installed"},
                                              {"engine": "go", "why": "go is not installed"}])
        self.assertEqual([each["engine"] for each in result["engines"]], ["troupe"])

    def test_an_engine_whose_sources_are_not_there_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            run = troupe("lab", "peers", "pingpong", *QUICK, "--engine", "troupe", "--engine", "caf",
                         "--engines", folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("\ncaf is left out: ", run.stdout)

    def test_nobody_to_measure_is_a_failure(self):
        run = troupe("lab", "peers", "pingpong", *QUICK, "--engine", "go",
                     env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(run.returncode, 1)


if __name__ == "__main__":
    unittest.main()
