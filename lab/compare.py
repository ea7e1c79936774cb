#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the workloads of src/actor/workloads_bench.cpp on Troupe and on other engines, in one run.

usage: compare.py [--troupe PROGRAM] [--rounds N] [--workers N[,N…]] [--smoke]

Builds what is installed of lab/engines into build/lab, names what it leaves out, and prints tables
in Markdown: a cell is the median, with the least and the greatest in brackets. The engines take
turns within each workload, so that what else the machine does hits all of them.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ROOT / "lab/engines"
BUILD = ROOT / "build/lab"
WORKLOADS = ["pingpong", "pairs", "wall", "ring", "spawn", "idle"]
SECONDS_MAX = 120
COMPILER = os.environ.get("CXX", "c++")


def say(text):
    print(text, file=sys.stderr, flush=True)


def output(*command, **options):
    """What a program prints; nothing if it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# ── Building ────────────────────────────────────────────────────────────────────────────────────


class LeftOut(Exception):
    """Says why an engine takes no part."""


def build(*command, cwd=ROOT, **environment):
    if shutil.which(command[0]) is None:
        raise LeftOut(f"{command[0]} is not installed")
    done = subprocess.run(["nice", *map(str, command)], cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env={**os.environ, **environment})
    if done.returncode != 0:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        first = next((i for i, line in enumerate(lines) if "error" in line.lower()), 0)
        raise LeftOut("does not build: " + (" ".join(lines[first:first + 2]) or command[0]))


# Each returns its program and its version.


def build_go():
    program = BUILD / "go/workloads"
    build("go", "build", "-o", program, ".", cwd=ENGINES / "go")
    return program, "Go " + output("go", "env", "GOVERSION").removeprefix("go")


def build_tokio():
    source = ENGINES / "tokio"
    build("cargo", "build", "--release", "--locked", cwd=source,
          CARGO_TARGET_DIR=str(BUILD / "tokio"))
    lock = (source / "Cargo.lock").read_text()
    version = re.search(r'name = "tokio"\nversion = "(.*)"', lock)[1]
    rust = (output("rustc", "--version", cwd=source).split() + ["", "?"])[1]
    return BUILD / "tokio/release/workloads", f"tokio {version} (Rust {rust}, release, LTO)"


def build_caf():
    folder = BUILD / "caf"
    build("cmake", "-S", ENGINES / "caf", "-B", folder)
    build("cmake", "--build", folder)
    return folder / "workloads", "CAF " + (folder / "version").read_text().strip()


def build_floor():
    program = BUILD / "floor/workloads"
    program.parent.mkdir(parents=True, exist_ok=True)
    build(COMPILER, "-std=c++20", "-O3", "-DNDEBUG", "-pthread", ENGINES / "floor/main.cpp",
          "-o", program)
    return program, ""


def find_troupe(program):
    if not program.is_file():
        raise LeftOut(f"{program} is not there: cmake --preset bench, then "
                      "cmake --build --preset bench --target workloads_bench")
    sources = [f for folder in ("src", "include") for f in (ROOT / folder).rglob("*pp")]
    if max(f.stat().st_mtime for f in sources) > program.stat().st_mtime:
        say("Troupe: the sources are newer than the program")
    return program, ""


# ── Running ─────────────────────────────────────────────────────────────────────────────────────


def run(program, workload, workers, smoke):
    """The value and the peak memory in kB, or what went wrong."""
    # The shell stays, which is why it has something left to do: of a program that took its place
    # the kernel would report Python's peak memory if that is higher.
    command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", program, workload, "--workers", str(workers)]
    process = subprocess.Popen(command + ["--smoke"] * smoke, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        printed, errors = process.communicate(timeout=SECONDS_MAX)
    except BaseException as failure:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(failure, subprocess.TimeoutExpired):
            return f"no end within {SECONDS_MAX} s"
        raise
    line = re.fullmatch(rf"{workload} (\d+\.\d+) (\d+)\n", printed)
    if process.returncode != 0 or line is None:
        return " ".join([f"exit status {process.returncode}", *errors.split("\n")[:1]])
    return float(line[1]), int(line[2])


# ── Reporting ───────────────────────────────────────────────────────────────────────────────────


def rate(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def whole(value):
    return f"{value:,.0f}"


def cell(values, form, with_range):
    if not values:
        return "–"
    if len(values) == 1 or not with_range:
        return form(median(values))
    return f"{form(median(values))} ({form(min(values))}–{form(max(values))})"


def table(title, rows, results, part):
    """part 0: the values, 1: the peak memory."""
    print(f"\n{title}\n\n| | {' | '.join(WORKLOADS)} |\n|---{'|---' * len(WORKLOADS)}|")
    for row in rows:
        cells = [cell([r[part] for r in results[row[0], w]],
                      whole if part == 1 or w == "idle" else rate, part == 0) for w in WORKLOADS]
        print(f"| {row[0]} | {' | '.join(cells)} |")


def host():
    def field(file, name):
        found = re.search(rf"^{name}\s*[:=]\s*\"?(.*?)\"?$", Path(file).read_text(), re.M)
        return found[1] if found else "?"

    cores = len(os.sched_getaffinity(0))
    virtual = " virtual" if " hypervisor" in Path("/proc/cpuinfo").read_text() else ""
    memory = round(int(field("/proc/meminfo", "MemTotal").split()[0]) / 2**20)
    return (f"{field('/proc/cpuinfo', 'model name')}, {cores}{virtual} cores, {memory} GB; "
            f"{field('/etc/os-release', 'PRETTY_NAME')}, Linux {os.uname().release}")


def commit():
    name = output("git", "rev-parse", "--short", "HEAD", cwd=ROOT) or "?"
    changed = output("git", "status", "--porcelain", "--", "src", "include", cwd=ROOT)
    return name + (", with changes" if changed else "")


def load():
    return " ".join(f"{n:.2f}" for n in os.getloadavg())


def positive(text):
    n = int(text)
    if n < 1:
        raise ValueError
    return n


def numbers(text):
    return [positive(n) for n in text.split(",")]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--troupe", type=Path, metavar="PROGRAM",
                           default=ROOT / "build/bench/bin/workloads_bench",
                           help="workloads_bench (default: build/bench/bin/workloads_bench)")
    arguments.add_argument("--rounds", type=positive, default=3, metavar="N",
                           help="how often each runs (default: 3)")
    arguments.add_argument("--workers", default=[2], metavar="N[,N…]", type=numbers,
                           help="worker threads; several: a row for each (default: 2)")
    arguments.add_argument("--smoke", action="store_true", help="a hundredth of the sizes")
    chosen = arguments.parse_args()

    rows, versions, notes = [], [], []  # rows: name, program, workers
    for name, make in [("Go, channels", build_go), ("tokio, unbounded mpsc", build_tokio),
                       ("CAF", build_caf), ("**Troupe**", lambda: find_troupe(chosen.troupe)),
                       ("a sketch of the floor", build_floor)]:
        say(f"build: {name}")
        try:
            program, version = make()
        except LeftOut as why:
            notes.append(f"{name} is left out: {why}")
            say(notes[-1])
            continue
        versions += [version] if version else []
        for n in chosen.workers:
            suffix = f", {n} worker{'s' * (n != 1)}" if len(chosen.workers) > 1 else ""
            rows.append((name + suffix, str(program.resolve()), n))

    results = {(row[0], workload): [] for row in rows for workload in WORKLOADS}
    before = load()
    began = time.monotonic()
    for r in range(chosen.rounds):
        for workload in WORKLOADS:
            for name, program, workers in rows:
                result = run(program, workload, workers, chosen.smoke)
                say(f"round {r + 1}: {name}: {workload}: {result}")
                if isinstance(result, str):
                    notes.append(f"{name}: {workload}: {result}")
                else:
                    results[name, workload].append(result)
    minutes = (time.monotonic() - began) / 60

    compiler = output(COMPILER, "--version").split("\n")[0] or "?"
    print("| | |\n|---|---|")
    print(f"| host | {host()} |")
    print(f"| compiler | {compiler}, `-O3 -DNDEBUG`; Troupe as it was built |")
    print(f"| commit | {commit()} |")
    print(f"| others | {', '.join(versions) or 'none'} |")
    print(f"| method | {'a hundredth of the sizes; ' if chosen.smoke else ''}one run of "
          f"{minutes:.1f} minutes, engines interleaved, "
          f"median of {chosen.rounds}, {' or '.join(map(str, chosen.workers))} workers |")
    print(f"| load average | before {before}; after {load()} |")
    table("Million messages (actors) a second; idle: resident bytes for each actor.",
          rows, results, 0)
    table("Peak resident memory, kB (medians).", rows, results, 1)
    if notes:
        print()
    for note in notes:
        print(f"* {note}")


if __name__ == "__main__":
    main()
