#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the mutations of mutants.py into a copy of the source tree, with one build for all, and
runs the tests on each.

usage: run.py [--only PART] [--jobs N] [--minutes M] [--write-hints] [--list] [--build-only]

Prints a table: each mutation, the promise that it breaks, and the test that found it. Exits with
1 if one was not found and has no reason. README.md beside this file describes how it works.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HINTS = HERE / "mutants.hints"
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
BUILD = TREE / "build" / "release"  # as in any clone, so that the compiler cache has all code without mutations
HEADER = "include/troupe/detail/base/mutant.hpp"

OPTIONS = ["-DTROUPE_BENCHMARKS=OFF", "-DTROUPE_LAB=OFF", "-DTROUPE_DOCUMENT_TESTS=OFF", "-DTROUPE_EXAMPLES=OFF",
           "-DTROUPE_PLANTED_TESTS=OFF", "-DTROUPE_CLI=OFF", "-DTROUPE_COARSE_TESTS=ON", "-DTROUPE_WERROR=ON"]
LAYERS = ["base", "sync", "memory", "time", "message", "mailbox", "scheduler", "actor", "channel", "machine", "supervision", "sim", "net",
          "testkit", "http", "lua", "server"]
PROGRAMS = [f"{layer}_test" for layer in LAYERS] + ["model_structures_test"]

# Seconds, more than any test needs. A longer test has hung.
LONGEST = 30
QUICK = 0.3
SLOW = 2.0


sys.path.insert(0, str(HERE))
from mutants import MUTANTS  # noqa: E402


# ── Planting ────────────────────────────────────────────────────────────────────────────────────


def pattern_of(text):
    """A regular expression for a text, in which any white space matches any other."""
    words = [re.escape(word) for word in text.split()]
    return r"\s+".join(words)


def found_in(source, mutant):
    """(begin, end) of the replaced part. Exits if the text does not occur, or occurs more than
    once."""
    original = mutant["original"]
    if "«" in original:
        before, rest = original.split("«")
        inner, after = rest.split("»")
        parts = [pattern_of(part) for part in (before, inner, after)]
        expression = (parts[0] + (r"\s*" if parts[0] else "") + "(" + parts[1] + ")"
                      + (r"\s*" if parts[2] else "") + parts[2])
    else:
        expression = "(" + pattern_of(original) + ")"
    hits = list(re.finditer(expression, source))
    if len(hits) != 1:
        sys.exit(f"mutants: {mutant['name']}: the original text occurs {len(hits)} times in {mutant['file']} "
                 f"instead of once:\n  {original}")
    begin, end = hits[0].span(1)
    # Otherwise the planted code would not compile, and the compiler's message would say little.
    for text in (source[begin:end], mutant["mutated"]):
        if "//" in text:
            sys.exit(f"mutants: {mutant['name']}: a part contains a comment:\n  {text}")
        if any(text.count(one) != text.count(other) for one, other in ("()", "{}")):
            sys.exit(f"mutants: {mutant['name']}: a part has unbalanced brackets:\n  {text}")
    return begin, end


def planted(source, mutants):
    """The source, with a choice planted in each place."""
    places = {}
    for mutant in mutants:
        places.setdefault(found_in(source, mutant), []).append(mutant)
    ends = sorted(places)
    for one, other in zip(ends, ends[1:]):
        if one[1] > other[0]:
            sys.exit(f"mutants: {places[one][0]['name']} and {places[other][0]['name']} overlap")
    for begin, end in reversed(ends):
        text = source[begin:end]
        is_statement = text.rstrip().endswith((";", "}")) and ";" in text
        for mutant in places[begin, end]:
            choice = f'TROUPE_MUTANT("{mutant["name"]}")'
            if is_statement:
                text = f"if ({choice}) {{ {mutant['mutated']} }} else {{ {text} }}"
            else:
                text = f"({choice} ? ({mutant['mutated']}) : ({text}))"
        source = source[:begin] + text + source[end:]
    include = "#include <troupe/detail/base/mutant.hpp>\n"
    at = source.find("#pragma once\n")
    at = at + len("#pragma once\n") if at >= 0 else source.find("\n") + 1
    return source[:at] + include + source[at:]


def make_tree():
    """Copies the changed files only, so that the next build compiles no more than these."""
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"], check=True,
                           capture_output=True).stdout.decode().split("\0")
    of_file = {}
    for mutant in MUTANTS:
        of_file.setdefault(mutant["file"], []).append(mutant)
    wanted = {}
    for name in files:
        path = ROOT / name
        if name and not name.startswith("tests/mutants/") and path.is_file():
            wanted[name] = path.read_bytes()
    for name, mutants in of_file.items():
        if name not in wanted:
            sys.exit(f"mutants: {mutants[0]['name']}: the file {name} does not exist")
        wanted[name] = planted(wanted[name].decode(), mutants).encode()
    wanted[HEADER] = (HERE / "mutant.hpp").read_bytes()
    for path in TREE.rglob("*") if TREE.exists() else []:
        if path.is_file() and BUILD not in path.parents and str(path.relative_to(TREE)) not in wanted:
            path.unlink()
    for name, content in wanted.items():
        to = TREE / name
        if to.exists() and to.read_bytes() == content:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
        to.chmod((ROOT / name).stat().st_mode if name != HEADER else 0o644)


def build(jobs):
    make_tree()
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release", *OPTIONS], check=True, cwd=TREE, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), f"-j{jobs}", "-k0", *PROGRAMS], check=True)


# ── Tests ───────────────────────────────────────────────────────────────────────────────────────


class outcome:
    def __init__(self, failed, why, seconds):
        self.failed = failed
        self.why = why
        self.seconds = seconds


def run_tests(program, tests, limit, **environment):
    """The first of these tests that fails, with the reason; or nothing."""
    began = time.monotonic()
    process = subprocess.Popen(
        [str(BUILD / "bin" / program), "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + ":".join(tests)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=WORK, start_new_session=True,
        env={**os.environ, "TROUPE_TEST_SECONDS": str(LONGEST), **environment})
    timer = threading.Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    output, _ = process.communicate()
    late = not timer.is_alive()
    timer.cancel()
    took = time.monotonic() - began
    if process.returncode == 0:
        return outcome(None, "", took)
    text = output.decode(errors="replace")
    failed = re.search(r"\[  FAILED  \] (\S+?)[,]? ", text) or re.search(r"\[  FAILED  \] (\S+)", text)
    if failed:
        return outcome(failed[1].rstrip(","), "", took)
    why = "hangs" if late or "lasts longer" in text or "watchdog" in text else f"ended with {process.returncode}"
    named = [test for test in tests if test in text]
    return outcome(named[-1] if named else tests[0] if len(tests) == 1 else "?", why, took)


def tests_of(program):
    listed = subprocess.run([str(BUILD / "bin" / program), "--gtest_list_tests"], check=True, capture_output=True,
                            text=True, stdin=subprocess.DEVNULL).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.endswith(".") and not name.startswith(" "):
            suite = name
        elif name.startswith("  ") and suite:
            yield suite + name.strip()


def baseline(jobs):
    """{program: {test: {"seconds", "sites"}}}: each test in a process of its own, without a mutation."""
    cache_file = WORK / "baseline.json"
    cache = json.loads(cache_file.read_text()) if cache_file.exists() else {}
    wrong = []

    def look(job):
        program, test = job
        sites = WORK / "sites" / (program + "." + hashlib.sha1(test.encode()).hexdigest())
        for _ in range(3):
            sites.unlink(missing_ok=True)
            ran = run_tests(program, [test], 180, TROUPE_MUTANT_SITES=str(sites))
            if ran.failed is None:
                break
        else:
            wrong.append(f"{program} {test} {ran.why}")
            return program, test, None
        reached = sorted(set(sites.read_text().split())) if sites.exists() else []
        return program, test, {"seconds": round(ran.seconds, 3), "sites": reached}

    (WORK / "sites").mkdir(parents=True, exist_ok=True)
    work = []
    for program in PROGRAMS:
        path = BUILD / "bin" / program
        if not path.exists():
            continue
        made = hashlib.sha1(path.read_bytes()).hexdigest()
        if cache.get(program, {}).get("made") != made:
            cache[program] = {"made": made, "tests": {}}
        work += [(program, test) for test in tests_of(program) if test not in cache[program]["tests"]]
    if work:
        print(f"{len(work)} tests without a mutation", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        for program, test, seen in pool.map(look, work):
            if seen is not None:
                cache[program]["tests"][test] = seen
    cache_file.write_text(json.dumps(cache))
    if wrong:
        print("mutants: these tests fail without a mutation and are skipped:\n  " + "\n  ".join(wrong))
    return {program: cache[program]["tests"] for program in PROGRAMS if program in cache}


# ── Mutations ───────────────────────────────────────────────────────────────────────────────────


class result:
    def __init__(self, killed_by="", note="", seconds=0.0):
        self.killed_by = killed_by  # a program and a test, with a space between
        self.note = note
        self.seconds = seconds


def attempt(mutant, tests, hint, until, each_most):
    """Runs the tests that reach the mutation, beginning with the one that found it last time."""
    began = time.monotonic()
    name = mutant["name"]
    layer = mutant["file"].split("/")[-2]
    reaching = [(program, test, seen["seconds"]) for program, of in tests.items() for test, seen in of.items()
                if name in seen["sites"]]
    if not reaching:
        return result(note="no test reaches it")
    hinted = tuple(hint.split(" ", 1)) if hint else None

    def rank(each):
        program, test, seconds = each
        band = 0 if seconds <= QUICK else 1 if seconds <= SLOW else 2
        return ((program, test) != hinted, band, program != f"{layer}_test", program)

    groups = []
    for each in sorted(reaching, key=rank):
        if groups and rank(groups[-1][0]) == rank(each):
            groups[-1].append(each)
        else:
            groups.append([each])
    doubtful = []
    used = 0.0
    for group in groups:
        used += sum(seconds for _, _, seconds in group)
        if used > each_most and group is not groups[0]:
            return result(note=f"not all of the {len(reaching)} tests that reach it were run",
                          seconds=time.monotonic() - began)
        left = list(group)
        while left:
            if time.monotonic() > until:
                return result(note="not tried: the time is over", seconds=time.monotonic() - began)
            program = left[0][0]
            limit = LONGEST + 5 * sum(seconds for _, _, seconds in left)
            ran = run_tests(program, [test for _, test, _ in left], limit, TROUPE_MUTANT=name)
            if ran.failed is None:
                break
            if len(left) == 1 and ran.failed not in [test for _, test, _ in left]:
                ran.failed = left[0][1]
            if ran.failed not in [test for _, test, _ in left]:  # it crashed without naming a test
                half = len(left) // 2
                first = run_tests(program, [test for _, test, _ in left[:half]], limit, TROUPE_MUTANT=name)
                left = left[half:] if first.failed is None else left[:half]
                continue
            # A test proves nothing if it also fails without the mutation, or if it does not fail
            # again with it.
            again = [run_tests(program, [ran.failed], limit, TROUPE_MUTANT=name).failed]
            while again[-1] is None and len(again) < 3:
                again.append(run_tests(program, [ran.failed], limit, TROUPE_MUTANT=name).failed)
            if again[-1] is not None and run_tests(program, [ran.failed], limit).failed is None:
                note = ran.why + (f" (1 of {len(again)})" if len(again) > 1 else "")
                return result(f"{program} {ran.failed}", note, time.monotonic() - began)
            doubtful.append(ran.failed)
            left = [each for each in left if each[1] != ran.failed]
    note = f"{len(reaching)} tests reach it"
    if doubtful:
        note += ", in doubt: " + " ".join(doubtful)
    return result(note=note, seconds=time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="try only mutations whose name or file contains this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=600, help="time limit; the remaining mutations are skipped")
    parser.add_argument("--each", type=float, default=1e9, metavar="SECONDS",
                        help="time limit of the tests that run for one mutation")
    parser.add_argument("--write-hints", action="store_true", help="write which test killed each mutation, for the next run")
    parser.add_argument("--list", action="store_true", help="only check the texts and count them")
    parser.add_argument("--build-only", action="store_true")
    arguments = parser.parse_args()
    began = time.monotonic()
    until = began + 60 * arguments.minutes

    names = [mutant["name"] for mutant in MUTANTS]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"mutants: defined twice: {' '.join(sorted(twice))}")
    if arguments.list:
        counts = {}
        for mutant in MUTANTS:
            counts[mutant["pattern"]] = counts.get(mutant["pattern"], 0) + 1
            found_in((ROOT / mutant["file"]).read_text(encoding="utf-8"), mutant)
        print(", ".join(f"{count} {pattern}" for pattern, count in sorted(counts.items())), f"of {len(names)}")
        return 0

    build(arguments.jobs)
    if arguments.build_only:
        return 0
    tests = baseline(arguments.jobs)
    hints = {}
    if HINTS.exists():
        hints = dict(line.split(" ", 1) for line in HINTS.read_text(encoding="utf-8").splitlines() if line)
    tried = [mutant for mutant in MUTANTS if arguments.only in mutant["name"] + " " + mutant["file"]]

    def one(mutant):
        got = attempt(mutant, tests, hints.get(mutant["name"]), until, arguments.each)
        print(f"{mutant['name']:<38} {got.killed_by or 'SURVIVES'} {got.note}", flush=True)
        return got

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(one, tried))

    if arguments.write_hints:
        for mutant, got in zip(tried, results):
            if got.killed_by:
                hints[mutant["name"]] = got.killed_by
        HINTS.write_text("".join(f"{name} {hints[name]}\n" for name in sorted(set(hints) & set(names))),
                         encoding="utf-8")

    print(f"\n{'mutation':<38} {'file':<40} {'s':>5}  killed by; what it breaks")
    for mutant, got in sorted(zip(tried, results), key=lambda row: not row[1].killed_by):
        by = got.killed_by or (f"[{mutant['reason']}]" if mutant["reason"] else "SURVIVES")
        print(f"{mutant['name']:<38} {mutant['file']:<40} {got.seconds:5.1f}  {by} {got.note}\n"
              f"{'':<38} {mutant['breaks']}")
    killed = sum(bool(got.killed_by) for got in results)
    excused = sum(not got.killed_by and bool(mutant["reason"]) for mutant, got in zip(tried, results))
    left = len(results) - killed - excused
    print(f"{len(results)} mutations, {killed} killed, {excused} with a reason, {left} not killed, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
