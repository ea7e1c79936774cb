#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: what takes effect, what waits for a restart, and what a broken file does: test_reloading.py path/to/troupe"""

import os
import signal
import unittest

import harness
from harness import ECHO, WithFolder, until

CONFIGURATION = """
    listen.port = 0
    log.level = "{level}"
    limits.idle_time = "{idle}"
    applications.echo.from = "echo"
"""


class Reloading(WithFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.write("echo/main.lua", ECHO)

    def configure(self, level="info", idle="60s"):
        self.write("troupe.toml", CONFIGURATION.format(level=level, idle=idle))

    def test_what_can_change_does_and_what_cannot_is_named_each_time(self):
        self.configure()
        server = self.serve()
        self.configure(level="warning", idle="2m")
        for _ in range(2):
            before = len(server.log)
            server.signal(signal.SIGHUP)
            server.says("limits.idle_time is now 2m, but stays 1m until a restart", before)
        self.configure(level="info")                        # said, since it is the new level that counts
        server.signal(signal.SIGHUP)
        server.says('log.level is now "info", was "warning"')
        self.assertEqual(server.get("/readyz")[0], 200)

    def test_a_broken_file_leaves_everything_as_it_was_and_the_log_says_why(self):
        self.configure()
        server = self.serve()
        for text, says in [("listen.port = 70000\n", "troupe.toml:1:15: listen.port is 70000; allowed are 0 to 65535"),
                           ("[[[\n", "troupe.toml:1:"),
                           ("", "there are no applications"),
                           ("log.level = 'error'\napplications.echo.from = 'gone'\n", 'applications.echo.from is "gone"')]:
            with self.subTest(text):
                self.write("troupe.toml", text)
                before = len(server.log)
                server.signal(signal.SIGHUP)
                self.assertIn("; everything stays as it was", server.says(says, before))
                self.assertEqual(server.get("/readyz"), (200, "ready\n"))
        os.remove(os.path.join(self.folder, "troupe.toml"))
        server.signal(signal.SIGHUP)
        server.says("the configuration cannot be read: No such file or directory; everything stays as it was")
        self.assertEqual(server.get("/healthz")[0], 200)

    def test_without_a_configuration_it_goes_on(self):
        server = self.serve("echo", "--port", "0")
        for _ in range(3):
            server.signal(signal.SIGHUP)
        self.assertEqual(server.get("/readyz")[0], 200)

    def test_a_log_that_was_moved_away_is_opened_anew(self):
        self.write("troupe.toml", "listen.port = 0\nlog.to = 'log'\napplications.echo.from = 'echo'\n")
        server = self.serve()
        log, moved = (os.path.join(self.folder, name) for name in ("log", "log.1"))
        os.rename(log, moved)
        server.signal(signal.SIGHUP)
        until(lambda: os.path.exists(log), "the new file")
        self.assertEqual(server.get("/readyz")[0], 200)

        def text():
            with open(log, encoding="utf-8") as file:
                return file.read()
        until(lambda: "GET /readyz 200" in text(), "the request in the new file")


if __name__ == "__main__":
    harness.main()
