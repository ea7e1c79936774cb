#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of the command line of `troupe serve` and `troupe new`: test_command.py
path/to/troupe"""

import os
import subprocess
import sys
import unittest

import harness
from harness import ECHO, WithFolder, executable, troupe


class Command(WithFolder, unittest.TestCase):
    def run_here(self, *arguments):
        return troupe(*arguments, cwd=self.folder)

    def assert_one_line(self, code, says, *arguments):
        run = self.run_here(*arguments)
        self.assertEqual(run.returncode, code, run)
        self.assertEqual(run.stdout, "")
        self.assertRegex(run.stderr, r"\A[^\n]+\n\Z")
        self.assertIn(says, run.stderr)


class Usage(Command):
    def test_wrong_usage_is_one_line_and_status_2(self):
        self.write("echo/main.lua", ECHO)
        self.write("a b/main.lua", ECHO)
        self.write("empty/readme", "")
        for arguments, says in [
                (["serve"], "nothing to serve: name an application, a file with --config, or write ./troupe.toml"),
                (["serve", "nothing"], '"nothing" is not a folder with main.lua or a file of Lua'),
                (["serve", "empty"], '"empty" is not a folder with main.lua or a file of Lua'),
                (["serve", "a b"], '"a b" would be the application "a b"; a name has at most 64 letters'),
                (["serve", "echo", "--port", "65536"], "--port: '65536' is not a whole number from 0 to 65535"),
                (["serve", "echo", "--port"], "--port needs a value"),
                (["serve", "echo", "--address", ""], "--address: the address is empty"),
                (["serve", "echo", "--prot=1"], "no option '--prot'; did you mean --port?"),
                (["serve", "--config", ""], "--config: the file name is empty"),
                (["serve", "echo", "--check=2"], "--check takes no value"),
                (["sevre"], "`troupe` has no command 'sevre'; did you mean serve?"),
                (["new"], "see `troupe new --help`"),
                (["new", "app"], "NAME is required"),
                (["new", "app", "x", "--kind", "rwa"], "--kind: unknown kind 'rwa'; did you mean raw?"),
                (["new", "app", "x", "--dir", "/nowhere"], "--dir: '/nowhere' is not a folder"),
                (["new", "app", "../x"], "'../x' is not a valid application name"),
                (["new", "app", ""], "'' is not a valid application name"),
                (["new", "app", "-x"], "no option '-x'"),
                (["new", "app", "x" * 65], "is not a valid application name; allowed are at most 64 letters"),
                (["new", "app", "x\ny"], "'x?y' is not a valid application name")]:
            with self.subTest(arguments=arguments):
                self.assert_one_line(2, says, *arguments)

    def test_what_fails_is_a_line_at_the_end_and_status_1(self):
        self.write("echo/main.lua", ECHO)
        self.write("broken/main.lua", "return {\n")
        self.write("failing/main.lua", "return { on_message = print, on_start = function() error('not now') end }\n")
        self.write("wrong.toml", "[listen]\nport = 70000\n")
        self.write("empty.toml", "")
        self.write("gone.toml", "[applications.x]\nfrom = 'x'\n")
        self.write("tls.toml", "[tls]\ncertificate = 'empty.toml'\nkey = 'empty.toml'\n[applications.echo]\nfrom = 'echo'\n")
        for arguments, says in [
                (["--config", "none.toml"], "troupe: none.toml: the configuration cannot be read: No such file"),
                (["--config", "wrong.toml"], "troupe: wrong.toml:2:8: listen.port is 70000; allowed are 0 to 65535"),
                (["--config", "empty.toml"], "troupe: empty.toml: no applications are configured; add [applications.NAME]"),
                (["--config", "gone.toml"], 'gone.toml:2:8: applications.x.from is "x", but "x" is not a folder'),
                (["--config", "tls.toml"], 'certificate "empty.toml" cannot be used: the file contains no certificate in PEM format'),
                (["echo", "echo"], 'applications.echo.name is "echo", and so is applications.echo.name'),
                (["echo", "--address", "203.0.113.1"], "203.0.113.1"),
                (["broken"], "main.lua:2:"),
                (["failing"], "not now")]:
            with self.subTest(arguments=arguments):
                run = self.run_here("serve", *arguments)
                self.assertEqual(run.returncode, 1, run)
                self.assertEqual(run.stdout, "")
                self.assertRegex(run.stderr.splitlines()[-1], r"\Atroupe: ")
                self.assertIn(says, run.stderr.splitlines()[-1])

    def test_a_port_that_is_taken_is_named_and_what_had_started_is_stopped(self):
        self.write("echo/main.lua", ECHO)
        first = self.serve("echo", "--port", "0")
        run = self.run_here("serve", "echo", "--port", str(first.port))
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{first.port}", run.stderr.splitlines()[-1])
        self.assertIn("on_stop ran", run.stderr)


class Check(Command):
    def test_each_application_is_a_line(self):
        self.write("echo/main.lua", ECHO)
        self.write("clock.lua", "return { run = function() end }\n")
        run = self.run_here("serve", "--check", "echo", "clock.lua")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "echo: raw, ok\nclock: standalone, ok\n", ""))

    def test_what_is_wrong_is_a_line_and_the_others_are_looked_at(self):
        self.write("bad/main.lua", "return {\n")
        self.write("echo/main.lua", ECHO)
        run = self.run_here("serve", "--check", "bad", "echo")
        self.assertEqual((run.returncode, run.stdout), (1, "echo: raw, ok\n"))
        self.assertRegex(run.stderr, r"\Abad: [^\n]*main\.lua:2: [^\n]+\n\Z")

    def test_the_usual_file_is_found(self):
        self.write("echo/main.lua", ECHO)
        self.write("troupe.toml", "[applications.one]\nfrom = 'echo'\n")
        self.assertEqual(self.run_here("serve", "--check").stdout, "one: raw, ok\n")
        # Applications named on the command line need no configuration file.
        self.assertEqual(self.run_here("serve", "--check", "echo").stdout, "echo: raw, ok\n")
        both = self.run_here("serve", "--check", "--config", "troupe.toml", "echo")
        self.assertEqual(both.stdout, "one: raw, ok\necho: raw, ok\n")

    def test_a_wrong_configuration_is_a_line(self):
        self.write("troupe.toml", "[limits]\nmesage_bytes = 1\n")
        self.assert_one_line(1, 'troupe: troupe.toml:2:1: unknown key "limits.mesage_bytes"; did you mean '
                                "limits.message_bytes?", "serve", "--check")


class New(Command):
    def make(self, kind):
        run = self.run_here("new", "app", f"my_{kind}", "--kind", kind)
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(run.stdout, f"created my_{kind}; try: troupe serve --config my_{kind}/troupe.toml\n")
        return os.path.join(self.folder, f"my_{kind}")

    def assert_works(self, kind):
        folder = self.make(kind)
        check = troupe("serve", "--check", "--config", f"{folder}/troupe.toml")
        if kind == "rpc" and "must return on_message, run or calls" in check.stderr:
            self.skipTest("this build serves no methods yet")
        self.assertEqual((check.returncode, check.stdout), (0, f"my_{kind}: {kind}, ok\n"))
        run = subprocess.run([sys.executable, f"{folder}/test.py", executable()], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, "ok\n"), run.stderr)

    def test_a_raw_application_works_as_its_own_test_says(self):
        self.assert_works("raw")

    def test_one_with_methods_works_as_its_own_test_says(self):
        self.assert_works("rpc")

    def test_one_without_clients_works_as_its_own_test_says(self):
        self.assert_works("standalone")

    def test_its_name_is_in_its_files(self):
        folder = self.make("raw")
        self.assertEqual(sorted(os.listdir(folder)), ["README.md", "main.lua", "test.py", "troupe.toml"])
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertNotIn("@NAME@", file.read())

    def test_what_is_there_is_left_alone(self):
        self.write("one/mine", "")
        self.assert_one_line(1, "troupe: one exists already; choose another name or --dir", "new", "app", "one")
        self.assertEqual(os.listdir(os.path.join(self.folder, "one")), ["mine"])
        os.symlink("nowhere", os.path.join(self.folder, "link"))
        self.assert_one_line(1, "link exists already", "new", "app", "link")

    def test_a_folder_can_be_named(self):
        os.mkdir(os.path.join(self.folder, "apps"))
        self.assertEqual(self.run_here("new", "app", "two", "--dir", "apps").returncode, 0)
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "apps/two/main.lua")))


if __name__ == "__main__":
    harness.main()
