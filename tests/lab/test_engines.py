#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How `troupe lab peers` builds and starts other engines, with stand-ins for their tools."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TROUPE = sys.argv.pop(1)


class Engines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tools = os.path.join(folder.name, "bin")
        self.sources = os.path.join(folder.name, "engines")
        self.log = os.path.join(folder.name, "log")
        os.mkdir(self.tools)
        os.mkdir(self.sources)

    def tool(self, name, script):
        """Puts a shell script into the only folder of PATH."""
        file = os.path.join(self.tools, name)
        with open(file, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\n{script}\n")
        os.chmod(file, 0o755)

    def source(self, path, text=""):
        file = os.path.join(self.sources, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)

    def peers(self, workload, *options):
        return subprocess.run(
            [TROUPE, "lab", "peers", workload, "--smoke", "--repeat", "1",
             "--engines", self.sources, *options],
            capture_output=True, text=True, env={**os.environ, "PATH": self.tools})

    def why_left_out(self, engine):
        run = self.peers("pingpong", "--engine", engine, "--json", "-")
        self.assertEqual(run.returncode, 1)
        [left_out] = json.loads(run.stdout)["left_out"]
        self.assertEqual(left_out["engine"], engine)
        return left_out["why"]

    def started_with(self):
        with open(self.log, encoding="utf-8") as lines:
            return lines.read().splitlines()

    def add_go(self):
        self.source("go/main.go")
        self.tool("go", f'''case $1 in
            env) echo go1.99 ;;
            build) printf '#!/bin/sh\\necho "$@" >>{self.log}; echo rate messages/s 5\\n' >"$3"
                   /bin/chmod +x "$3" ;;
            esac''')

    def test_version_and_settings_stand_in_both_outputs(self):
        self.add_go()
        run = self.peers("pingpong", "--engine", "go", "--workers", "3", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual(engine["version"], "Go 1.99")
        self.assertTrue(engine["settings"].startswith("GOMAXPROCS 3; "), engine)
        self.assertNotIn("newer", engine)
        self.assertIn("\ngo: Go 1.99; GOMAXPROCS 3; ", run.stderr)
        self.assertEqual(self.started_with(), ["pingpong --workers 3 --actors 2 --messages 40000"])

    def add_cmake(self, version):
        """Logs how CMake was called, and how the program that it builds is called."""
        self.tool("cmake", f'''case $1 in
            -S) echo {version} >"$4/version"; echo "cmake${{5:+ $5}}" >>{self.log} ;;
            --build) printf '#!/bin/sh\\necho "$@" >>{self.log}; echo rate messages/s 5\\n' >"$2/workloads"
                     /bin/chmod +x "$2/workloads" ;;
            esac''')

    def test_both_dispatchers_of_sobjectizer_are_engines(self):
        self.source("sobjectizer/CMakeLists.txt")
        self.add_cmake("SObjectizer 5.9")
        run = self.peers("pingpong", "--engine", "sobjectizer", "--engine", "sobjectizer_one_thread",
                         "--workers", "3", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        versions = [each["version"] for each in json.loads(run.stdout)["engines"]]
        self.assertEqual(versions, ["SObjectizer 5.9, thread_pool", "SObjectizer 5.9, one_thread"])
        sizes = "pingpong --workers 3 --actors 2 --messages 40000"
        self.assertEqual(self.started_with()[2:], [f"thread_pool {sizes}", f"one_thread {sizes}"])

    def test_caf_1_is_built_beside_the_old_one(self):
        self.source("caf/CMakeLists.txt")
        self.add_cmake("CAF 1.1.0")
        run = self.peers("pingpong", "--engine", "caf_1", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual((engine["engine"], engine["version"]), ("caf_1", "CAF 1.1.0"))
        self.assertNotIn("newer", engine)
        self.assertEqual(self.started_with()[0], "cmake -DCAF_RELEASE=1.1")
        self.assertTrue(os.path.exists(os.path.join(self.sources, "build", "caf_1", "workloads")))

    def test_a_library_in_rust_is_named_with_its_locked_version(self):
        self.source("kameo/Cargo.lock", 'name = "kameo"\nversion = "9.8.7"\n')
        self.tool("rustc", "echo rustc 1.99.0")
        self.tool("cargo", f'''/bin/mkdir -p "$CARGO_TARGET_DIR/release"; cd "$CARGO_TARGET_DIR/release"
            printf '#!/bin/sh\\necho "$@" >>{self.log}; echo rate actors/s 5\\n' >workloads
            /bin/chmod +x workloads''')
        run = self.peers("spawn", "--engine", "kameo", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual(engine["version"], "kameo 9.8.7 (Rust 1.99.0)")
        self.assertEqual(self.started_with(), ["spawn --workers 2 --actors 10000 --batch 64"])

    def test_an_engine_that_has_become_old_is_labelled(self):
        self.source("caf/CMakeLists.txt")
        self.add_cmake("CAF 0.17.6")
        run = self.peers("pingpong", "--engine", "caf", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual((engine["version"], engine["newer"]), ("CAF 0.17.6", "1.1"))
        self.assertIn("\ncaf: CAF 0.17.6 (current version: 1.1); ", run.stderr)

    def test_sources_from_elsewhere_are_built_there(self):
        self.add_go()
        self.assertEqual(self.peers("pingpong", "--engine", "go").returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(self.sources, "build", "go", "workloads")))

    def add_erlang(self, version):
        self.source("erlang/workloads.erl")
        self.tool("erlc", "")
        self.tool("erl", f'''case "$*" in
            *version*) echo "{version} 15.1 jit" ;;
            *) echo "$*" >>{self.log}; echo rate messages/s 5 ;;
            esac''')

    def test_erlang_gets_as_many_schedulers_as_workers(self):
        self.add_erlang("99.1.2")
        run = self.peers("pingpong", "--engine", "erlang", "--workers", "3", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual(engine["version"], "Erlang/OTP 99.1.2 (erts 15.1, jit)")
        self.assertTrue(engine["settings"].startswith("erl +S 3:3 +P 2000000; "), engine)
        self.assertNotIn("newer", engine)
        [started] = self.started_with()
        self.assertTrue(started.startswith("+S 3:3 +P 2000000 "), started)
        self.assertTrue(started.endswith(" -extra pingpong --workers 3 --actors 2 --messages 40000"))

    def test_an_erlang_of_some_years_ago_is_labelled(self):
        self.add_erlang("25.2.3")
        run = self.peers("pingpong", "--engine", "erlang", "--json", "-")
        self.assertEqual(json.loads(run.stdout)["engines"][0]["newer"], "28")

    def test_what_an_engine_has_no_form_for_is_not_run(self):
        self.add_erlang("99.1.2")
        run = self.peers("fanin", "--engine", "erlang", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual({each["variant"] for each in json.loads(run.stdout)["results"]},
                         {"unbounded"})

    def test_without_erlang_it_is_left_out(self):
        self.assertEqual(self.why_left_out("erlang"), "erlc is not installed")
        self.tool("erlc", "")
        self.assertEqual(self.why_left_out("erlang"), "erl is not installed")
        self.tool("erlc", "echo 'workloads.erl:3:1: syntax error before: x' >&2; exit 1")
        self.assertEqual(self.why_left_out("erlang"), "workloads.erl:3:1: syntax error before: x")

    def add_pekko(self):
        self.source("pekko/pom.xml", "<pekko.version>9.8.7</pekko.version>")
        self.tool("javac", "")
        self.tool("mvn", """for each in "$@"; do case $each in
            -Dfolder=*) echo a.jar:b.jar >"${each#-Dfolder=}/classpath" ;;
            esac; done""")
        self.tool("java", f'''case $1 in
            --version) echo "openjdk 99.1 2099-01-01"; echo "OpenJDK Runtime Environment" ;;
            *) echo "$*" >>{self.log}; echo rate messages/s 5 ;;
            esac''')

    def test_pekko_runs_with_what_maven_has_fetched(self):
        self.add_pekko()
        run = self.peers("pingpong", "--engine", "pekko", "--workers", "3", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        [engine] = json.loads(run.stdout)["engines"]
        self.assertEqual(engine["version"], "Pekko 9.8.7 (Java 99.1)")
        self.assertRegex(engine["settings"], r"\Ajava \S+; .* dispatcher of 3, .*; idle is measured after a garbage collection\Z")
        folder = os.path.join(self.sources, "build", "pekko", "classes")
        [started] = self.started_with()
        self.assertTrue(started.endswith(f" -cp {folder}:a.jar:b.jar Workloads pingpong "
                                         "--workers 3 --actors 2 --messages 40000"), started)

    def test_without_java_or_maven_or_their_registry_pekko_is_left_out(self):
        self.add_pekko()
        self.tool("mvn", "echo '[ERROR] Could not resolve dependencies for project x'; exit 1")
        self.assertIn("Could not resolve dependencies", self.why_left_out("pekko"))
        os.remove(os.path.join(self.tools, "mvn"))
        self.assertEqual(self.why_left_out("pekko"), "mvn is not installed")
        os.remove(os.path.join(self.tools, "javac"))
        self.assertEqual(self.why_left_out("pekko"), "javac is not installed")

    def test_the_day_stands_in_the_object(self):
        self.add_go()
        run = self.peers("pingpong", "--engine", "go", "--json", "-")
        self.assertRegex(json.loads(run.stdout)["date"], r"\A20\d\d-\d\d-\d\d\Z")


if __name__ == "__main__":
    unittest.main()
