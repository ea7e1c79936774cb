#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of `troupe lab report`: one self-contained page that hides nothing, and one line for
each error.

usage: test_report.py TROUPE
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TROUPE = sys.argv.pop(1)
QUICK = ["--smoke", "--repeat", "2"]

RESULT = {
    "experiment": "pingpong",
    "host": {"cpu": "Some CPU", "cores": 2, "virtual": False, "memory": 8e9, "os": "Debian", "kernel": "Linux 6",
             "compiler": "GCC 12", "flags": "-O3", "commit": "1234567", "load": 0.5},
    "options": {"workers": 2, "repeat": 3},
    "results": [{"engine": "troupe", "variant": "", "metric": "rate", "unit": "messages/s",
                 "median": 3e7, "min": 2.9e7, "max": 3.1e7, "runs": 3}],
    "failures": [],
}


def troupe(*arguments):
    return subprocess.run([TROUPE, *arguments], capture_output=True, text=True)


def result(**changes):
    return {**copy.deepcopy(RESULT), **changes}


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.html = self.path("out.html")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)
        return self.path(name)

    def page(self, *files):
        run = troupe("lab", "report", "--html", self.html, *files)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        with open(self.html, encoding="utf-8") as text:
            return text.read()

    def data(self, *files):
        return data_of(self.page(*files))

    def assert_refused(self, file, why):
        run = troupe("lab", "report", "--html", self.html, file)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertTrue(run.stderr.startswith(f"troupe: {file}"), run.stderr)
        self.assertIn(why, run.stderr)
        self.assertIn("--json FILE or --trace FILE", run.stderr)
        self.assertFalse(os.path.exists(self.html))


class Page(Report):
    def test_has_what_was_asked_published_and_measured_and_what_it_means(self):
        file = self.path("wall.json")
        self.assertEqual(troupe("lab", "wall", *QUICK, "--json", file).returncode, 0)
        data = self.data(file)
        [experiment] = data["experiments"]
        self.assertEqual(experiment["name"], "wall")
        self.assertTrue(experiment["asks"].endswith("?"))
        self.assertTrue(experiment["means"])
        with open(file, encoding="utf-8") as text:
            measured = json.load(text)
        rate = next(m for m in experiment["metrics"] if m["metric"] == "rate")
        rows = {(row["engine"], row["variant"]): row for row in rate["rows"]}
        [value] = rows["troupe", ""]["values"]
        self.assertEqual(value["median"], measured["results"][0]["median"])
        self.assertEqual(rows["acto", "mailbox with a mutex"]["published"],
                         [{"source": "2009, Core 2 Duo", "value": 730e3}])
        [machine] = data["machines"]
        self.assertEqual(machine["host"]["commit"], measured["host"]["commit"])

    def test_a_published_range_has_both_ends(self):
        one = {"engine": "posix", "variant": "sem_t", "metric": "wakes_per_thread", "unit": "1",
               "median": 5e5, "min": 5e5, "max": 5e5, "runs": 1}
        data = self.data(self.file("semaphore.json", result(experiment="semaphore", options={}, results=[one])))
        [metric] = data["experiments"][0]["metrics"]
        rows = {row["engine"]: row["published"] for row in metric["rows"]}
        self.assertEqual([(each["value"], each["high"]) for each in rows["posix"]], [(497_797, 502_755)])
        self.assertEqual([(each["value"], each["high"]) for each in rows["atomic"]], [(454_759, 608_086)])

    def test_needs_nothing_else(self):
        page = self.page(self.file("one.json", RESULT))
        self.assertNotRegex(page, r"<(link|img|iframe)\b|<script[^>]*\bsrc=|@import|url\(")
        self.assertIn("default-src 'none'", page)
        self.assertIn("Permission is hereby granted", page)  # the licence of Chart.js
        self.assertIn("prefers-color-scheme: dark", page)

    def test_stdout_is_a_minus(self):
        run = troupe("lab", "report", "--html", "-", self.file("one.json", RESULT))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(data_of(run.stdout)["experiments"][0]["name"], "pingpong")

    def test_what_a_file_says_cannot_break_out(self):
        evil = "</script><script>alert(1)</script><!-- {{data}} {{script}} \u2028"
        bad = result(experiment=evil, failures=[evil])
        bad["host"]["cpu"] = evil
        bad["results"][0]["variant"] = evil
        bad["options"][evil] = evil
        page = self.page(self.file("bad.json", bad))
        harmless = self.page(self.file("one.json", RESULT))
        for tag in ("<script", "</script", "<!--"):
            self.assertEqual(page.count(tag), harmless.count(tag), tag)
        experiment = data_of(page)["experiments"][0]
        self.assertEqual((experiment["name"], experiment["runs"][0]["failures"]), (evil, [evil]))

    def test_the_same_experiment_of_several_hosts_and_commits_is_shown_of_each(self):
        other = result()
        other["host"].update(commit="7654321", load=3)
        same = result()
        same["host"]["load"] = 2.5
        data = self.data(self.file("a.json", RESULT), self.file("b.json", other), self.file("c.json", same))
        self.assertEqual([m["label"] for m in data["machines"]], ["A", "B"])
        [experiment] = data["experiments"]
        self.assertEqual([run["label"] for run in experiment["runs"]], ["A a.json", "B", "A c.json"])
        troupe_row = experiment["metrics"][0]["rows"][0]
        self.assertEqual([value["run"] for value in troupe_row["values"]], [0, 1, 2])

    def test_sizes_that_are_not_the_published_ones_are_named(self):
        [experiment] = self.data(self.file("a.json", result(options={"workers": 2, "messages": 1000})))["experiments"]
        self.assertEqual(experiment["runs"][0]["other_sizes"], [{"name": "messages", "value": 1000, "own": 4_000_000}])

    def test_failures_are_kept(self):
        data = self.data(self.file("a.json", result(failures=["troupe: did not terminate within 1 s"], results=[])))
        [experiment] = data["experiments"]
        self.assertEqual(experiment["runs"][0]["failures"], ["troupe: did not terminate within 1 s"])

    def test_the_answer_and_the_notes_of_a_run_are_kept(self):
        data = self.data(self.file("a.json", result(answer="Yes.", notes=["troupe: no real-time priority"])))
        [run] = data["experiments"][0]["runs"]
        self.assertEqual((run["answer"], run["notes"]), ("Yes.", ["troupe: no real-time priority"]))
        [run] = self.data(self.file("b.json", result()))["experiments"][0]["runs"]
        self.assertEqual((run["answer"], run["notes"]), ("", []))

    def test_an_experiment_that_nobody_knows_has_what_its_file_has(self):
        data = self.data(self.file("a.json", result(experiment="of tomorrow")))
        [experiment] = data["experiments"]
        self.assertEqual((experiment["name"], experiment["asks"], experiment["means"]), ("of tomorrow", "", ""))
        self.assertEqual(len(experiment["metrics"][0]["rows"]), 1)

    def test_every_experiment_says_what_it_means(self):
        names = re.findall(r"(?m)^  (\w+) .*\?$", troupe("lab", "list").stdout)
        self.assertIn("peers", names)
        files = [self.file(f"{name}.json", result(experiment=name)) for name in names]
        for experiment in self.data(*files)["experiments"]:
            self.assertTrue(experiment["asks"], experiment["name"])
            self.assertRegex(experiment["means"], r"\A[A-Za-z].*\.\Z", experiment["name"])

    def test_other_engines_stand_beside_each_other_with_what_was_published(self):
        file = self.path("peers.json")
        self.assertEqual(troupe("lab", "peers", "wall", "fanin", *QUICK, "--engine", "troupe", "--engine", "floor",
                                "--json", file).returncode, 0)
        [experiment] = self.data(file)["experiments"]
        self.assertEqual(set(experiment["workloads"]), {"wall", "fanin"})
        wall = next(m for m in experiment["metrics"] if m["workload"] == "wall" and m["metric"] == "rate")
        self.assertEqual([row["engine"] for row in wall["rows"] if row["values"]], ["troupe", "floor"])
        self.assertIn("acto", [row["engine"] for row in wall["rows"] if row["published"]])
        self.assertEqual([one["engine"] for one in experiment["runs"][0]["engines"]], ["troupe", "floor"])


class Trace(Report):
    EVENTS = [{"pid": 1, "ph": "M", "tid": 1, "name": "thread_name", "args": {"name": "troupe/1"}},
              {"pid": 1, "ph": "X", "tid": 1, "ts": 100, "dur": 50, "cat": "running", "name": "clerk: job",
               "args": {"worker": 1, "messages": 3}},
              {"pid": 1, "ph": "X", "tid": 1, "ts": 150, "dur": 50, "cat": "parked", "name": "parked",
               "args": {"worker": 1}},
              {"pid": 1, "ph": "X", "tid": 2, "ts": 150, "dur": 50, "cat": "replaced", "name": "clerk: job (replaced)",
               "args": {"messages": 1}}]

    def lines(self, events):
        return "[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)

    def assert_drawn(self, trace):
        self.assertEqual(trace["length_us"], 100)
        [lane] = trace["lanes"]
        self.assertEqual((lane["name"], lane["busy_us"]), ("worker 1", 50))
        self.assertEqual(lane["all"], [[0, 239, 0, 100]])
        self.assertEqual(trace["handlers"], [{"name": "clerk: job", "running_us": 50, "replaced_us": 50}])
        self.assertEqual(trace["replaced"], [0] * 240 + [1] * 240)

    def test_a_list_of_events_an_object_and_one_that_ends_early_are_drawn(self):
        for name, content, early in [("list", self.EVENTS, False), ("object", {"traceEvents": self.EVENTS}, False),
                                     ("early", self.lines(self.EVENTS) + ",\n{\"pid\":1,\"ph\"", True)]:
            with self.subTest(name):
                [trace] = self.data(self.file("run.json", content))["timelines"]
                self.assert_drawn(trace)
                self.assertEqual(trace["ends_early"], early)

    def test_threads_without_troupe_have_timelines_too(self):
        result_file = self.path("pipeline.json")
        run = troupe("lab", "pipeline", "--smoke", "--repeat", "1", "--engine", "std", "--json", result_file,
                     "--trace", self.path("run.json"))
        self.assertEqual(run.returncode, 0, run.stderr)
        variants = ["sequential", "a thread each, by 100", "pool, one queue, a thread for each core",
                    "pool, one queue, more threads"]
        files = [self.path(f"run-{variant.replace(',', '').replace(' ', '-')}.json") for variant in variants]
        traces = self.data(*files, result_file)["experiments"][0]["timelines"]
        self.assertEqual([trace["title"] for trace in traces], variants)
        for trace, lanes in zip(traces, [1, 64, 2, 8]):
            self.assertEqual(len(trace["lanes"]), lanes)
            self.assertIn("computing", trace["names"])
            self.assertGreater(sum(lane["busy_us"] for lane in trace["lanes"]), 0)

    def test_what_trace_wrote_stands_with_its_variant(self):
        result_file = self.path("pipeline.json")
        run = troupe("lab", "pipeline", "--smoke", "--repeat", "1", "--engine", "troupe", "--json", result_file,
                     "--trace", self.path("run.json"))
        self.assertEqual(run.returncode, 0, run.stderr)
        files = [self.path(f"run-{variant}.json") for variant in ("actor-each-timers", "sleeps-first-block-said")]
        data = self.data(*files, result_file)
        self.assertEqual(data["timelines"], [])
        traces = data["experiments"][0]["timelines"]
        self.assertEqual([trace["title"] for trace in traces], ["actor each, timers", "sleeps first, block, said"])
        for trace in traces:
            self.assertLessEqual({"worker 1", "worker 2"}, {lane["name"] for lane in trace["lanes"]})
            self.assertGreater(sum(lane["busy_us"] for lane in trace["lanes"]), 0)
            for lane in trace["lanes"]:
                for first, last, what, percent in lane["all"]:
                    self.assertTrue(0 <= first <= last < 480 and what < len(trace["names"]) and 0 < percent <= 100)


class Wrong(Report):
    def test_a_file_that_is_none_of_the_labs_is_one_line(self):
        def broken(**changes):
            one = result()
            one["results"][0].update(changes)
            return one

        for content, why in [("", "the file is empty"), (" \n", "the file is empty"), ("hello", "this is not JSON"),
                             ('{"a": 1', "this is not JSON"), ("[", "this is not JSON"), ('{"a": 1e999}', "this is not JSON"),
                             ("3", "neither an object nor a list"), ("{}", "experiment is not a string"),
                             ([1, 2], "its elements are not trace events"), ([], "its elements are not trace events"),
                             ([{"ph": "M"}], "the trace has no slices"), (result(host=3), "host is not an object"),
                             (result(results={}), "results is not a list"), (result(failures=[3]), "a failure is not a string"),
                             (result(answer=3), "answer is not a string"), (result(notes="no"), "notes is not a list"),
                             (result(notes=[3]), "a note is not a string"), (result(failures=None), "failures is not a list"), (result(results=[3]), "results[0] is not an object"),
                             (broken(median="3"), "results[0].median is not a number"),
                             (broken(engine=None), "results[0].engine is not a string")]:
            with self.subTest(content=content):
                self.assert_refused(self.file("wrong.json", content), why)

    def test_a_file_that_cannot_be_read_is_one_line(self):
        self.assert_refused("/nowhere/result.json", "cannot be read: No such file or directory")
        self.assert_refused(self.folder, "cannot be read: Is a directory")

    def test_a_page_that_cannot_be_written_is_one_line(self):
        for html, why in [("/nowhere/out.html", "No such file or directory"), ("/dev/full", "No space left on device")]:
            run = troupe("lab", "report", "--html", html, self.file("one.json", RESULT))
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertEqual(run.stderr, f"troupe: {html} cannot be written: {why}; choose another file with --html\n")

    def test_wrong_usage(self):
        one = self.file("one.json", RESULT)
        for arguments in [[], [one], ["--html", self.html], ["--html", "", one], ["--html", self.html, ""],
                          ["--html", one, one], ["--html", self.html, one, "--nothing"]]:
            with self.subTest(arguments):
                run = troupe("lab", "report", *arguments)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertRegex(run.stderr, r"\Atroupe: [^\n]*\n\Z")
        with open(one, encoding="utf-8") as text:
            self.assertEqual(json.load(text), RESULT)


if __name__ == "__main__":
    unittest.main()
