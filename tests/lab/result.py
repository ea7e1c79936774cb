# SPDX-License-Identifier: Apache-2.0
"""The required form of the object that `troupe lab … --json` writes."""

import math

HOST = {"cpu": str, "cores": int, "memory": float, "os": str, "kernel": str, "compiler": str,
        "flags": str, "commit": str}
NAMES = {"engine", "variant", "metric", "unit"}
VALUES = {"min", "median", "max"}
OF_PROCESS = {"cpu_s", "peak_rss", "switches", "preemptions"}
MAY_BE_ZERO = {"cpu_s", "switches", "preemptions", "tick_costs", "quiet_cpu", "bytes_per_connection",
               "wakes_least"}


def is_positive(value, may_be_zero):
    return math.isfinite(value) and (value > 0 or may_be_zero and value == 0)


def is_noisy(one):
    return one["runs"] >= 3 and one["max"] - one["min"] > 0.3 * one["median"]


def not_measured(result):
    """The variants that could not be measured in at least one round."""
    parts = [note.partition(": not measured: ") for note in result.get("notes", [])]
    return {who for who, found, _ in parts if found}


def problems_of_one(one, runs, may_be_fewer):
    missing = (NAMES | VALUES | {"runs"}) - one.keys()
    if missing:
        return [f"{one}: no {', '.join(sorted(missing))}"]
    problems = []
    if not all(isinstance(one[name], str) for name in NAMES) or not one["metric"] or not one["unit"]:
        problems.append("a name is no text")
    if not one["min"] <= one["median"] <= one["max"]:
        problems.append("the median is not between the least and the greatest")
    if not all(is_positive(one[v], one["metric"] in MAY_BE_ZERO) for v in VALUES):
        problems.append("a value is not positive and finite")
    if one.get("noisy") != is_noisy(one):
        problems.append("noisy: is not so")
    if one["runs"] != runs and not (may_be_fewer and 0 < one["runs"] < runs):
        problems.append(f"not {runs} runs")
    return [f"{one}: {problem}" for problem in problems]


def problems_of(result, name, runs):
    problems = []
    if result.get("experiment") != name:
        problems.append(f"experiment: {result.get('experiment')!r} instead of {name!r}")
    for field, kind in HOST.items():
        if not isinstance(result["host"].get(field), kind) or not result["host"][field]:
            problems.append(f"host.{field}: {result['host'].get(field)!r}")
    if result["failures"]:
        problems.append(f"failures: {result['failures']}")
    if not result["results"]:
        problems.append("no results")
    left_out = not_measured(result)
    for one in result["results"]:
        problems += problems_of_one(one, runs, f"{one.get('engine')}, {one.get('variant')}" in left_out)
    subjects = {}
    for one in result["results"]:
        who = one.get("workload"), one["engine"], one["variant"]
        subjects.setdefault(who, []).append(one["metric"])
    for who, metrics in subjects.items():
        if len(set(metrics)) != len(metrics):
            problems.append(f"{who}: a metric appears twice: {metrics}")
        if not OF_PROCESS < set(metrics):
            problems.append(f"{who}: {metrics} are not those of the process and one more")
    return problems
