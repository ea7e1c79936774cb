#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: the changes that take effect, those that wait for a restart, and a broken file:
test_reloading.py path/to/troupe"""

import asyncio
import os
import signal
import socket as socketlib
import stat
import unittest

import websockets

import harness
from harness import ECHO, WithFolder, until

CONFIGURATION = """
    listen.port = 0
    log.level = "{level}"
    limits.idle_timeout = "{idle}"
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
            server.says("limits.idle_timeout is now 2m, but stays 1m until a restart", before)
        self.configure(level="info")                        # logged, because the new level applies
        server.signal(signal.SIGHUP)
        server.says('log.level is now "info", was "warning"')
        self.assertEqual(server.get("/readyz")[0], 200)

    def test_a_broken_file_leaves_everything_as_it_was_and_the_log_says_why(self):
        self.configure()
        server = self.serve()
        for text, says in [("listen.port = 70000\n", "troupe.toml:1:15: listen.port is 70000; allowed are 0 to 65535"),
                           ("[[[\n", "troupe.toml:1:"),
                           ("", "no applications are configured"),
                           ("log.level = 'error'\napplications.echo.from = 'gone'\n", 'applications.echo.from is "gone"')]:
            with self.subTest(text):
                self.write("troupe.toml", text)
                before = len(server.log)
                server.signal(signal.SIGHUP)
                self.assertIn("; nothing was changed", server.says(says, before))
                self.assertEqual(server.get("/readyz"), (200, "ready\n"))
        os.remove(os.path.join(self.folder, "troupe.toml"))
        server.signal(signal.SIGHUP)
        server.says("the configuration cannot be read: No such file or directory; nothing was changed")
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


def greeting(text):
    return f"""
        return {{
          self_test = function() assert({text!r} ~= "broken", "it is broken") end,
          on_message = function(client, data) client:send({text!r} .. (troupe.config.tail or "") .. data) end,
        }}
    """


class Upgrading(WithFolder, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        super().setUp()
        self.write("app/main.lua", greeting("old "))

    async def ask(self, socket, text):
        await socket.send(text)
        return await asyncio.wait_for(socket.recv(), harness.DEADLINE)

    async def test_sighup_upgrades_what_has_changed_and_connections_stay(self):
        self.write("troupe.toml", "listen.port = 0\napplications.app.from = 'app'\n")
        server = self.serve()
        async with websockets.connect(server.socket_url("/app")) as socket:
            self.assertEqual(await self.ask(socket, "1"), "old 1")
            self.write("app/main.lua", greeting("new "))
            server.signal(signal.SIGHUP)
            server.says("app: version 2 runs")
            self.assertEqual(await self.ask(socket, "2"), "new 2")
            self.write("troupe.toml", "listen.port = 0\napplications.app.from = 'app'\napplications.app.config.tail = 'and '\n")
            server.signal(signal.SIGHUP)
            server.says("app: version 3 runs")
            self.assertEqual(await self.ask(socket, "3"), "new and 3")
            server.signal(signal.SIGHUP)                     # nothing has changed
            self.assertEqual(await self.ask(socket, "4"), "new and 4")
            self.assertNotIn("version 4", "".join(server.log))

    async def test_a_file_that_changes_is_taken_when_it_is_watched(self):
        server = self.serve("app", "--port", "0", "--watch")
        async with websockets.connect(server.socket_url("/app")) as socket:
            self.write("app/main.lua", "this is no Lua")
            server.says("version 2 was not started: app/main.lua:1: ")
            self.assertEqual(await self.ask(socket, "1"), "old 1")
            os.remove(os.path.join(self.folder, "app/main.lua"))
            server.says("app: version 3 was not started: ")
            self.assertEqual(await self.ask(socket, "2"), "old 2")
            self.write("app/main.lua", greeting("new "))
            server.says("version 4 runs")
            self.assertEqual(await self.ask(socket, "3"), "new 3")

    async def test_a_command_says_what_comes_of_it(self):
        server = self.serve("app", "--port", "0", "--control", "commands")
        control = os.path.join(self.folder, "commands")
        self.assertEqual(stat.S_IMODE(os.stat(control).st_mode), 0o700)

        def reload():
            return harness.troupe("reload", "--control", control)
        done = reload()
        self.assertEqual((done.returncode, done.stdout), (0, "nothing changed\n"), done.stderr)
        async with websockets.connect(server.socket_url("/app")) as socket:
            self.write("app/main.lua", greeting("broken"))
            done = reload()
            self.assertEqual(done.returncode, 1)
            self.assertIn("application app: self_test failed: app/main.lua:3: it is broken; the old version keeps running", done.stderr)
            self.assertEqual(await self.ask(socket, "1"), "old 1")
            self.write("app/main.lua", greeting("new "))
            done = reload()
            self.assertEqual((done.returncode, done.stdout), (0, "application app: upgraded\n"), done.stderr)
            self.assertEqual(await self.ask(socket, "2"), "new 2")

    def test_a_wrong_command_and_a_silent_one_are_survived(self):
        server = self.serve("app", "--port", "0", "--control", "commands")
        control = os.path.join(self.folder, "commands")
        answers = []
        for line in [b"dance\n", b"x" * 2000 + b"\n"]:
            with socketlib.socket(socketlib.AF_UNIX) as raw:
                raw.settimeout(harness.DEADLINE)
                raw.connect(control)
                raw.sendall(line)
                try:
                    answers.append(raw.recv(1000))
                except ConnectionResetError:
                    answers.append(b"")
        self.assertEqual(answers, [b"failed\nunknown command 'dance'; the only command is 'reload'\n", b""])
        silent = socketlib.socket(socketlib.AF_UNIX)
        self.addCleanup(silent.close)
        silent.connect(control)
        self.assertEqual(harness.troupe("reload", "--control", control).returncode, 0)
        second = harness.troupe("serve", "app", "--port", "0", "--control", "commands", cwd=self.folder)
        self.assertEqual(second.returncode, 1)
        self.assertIn("the control socket 'commands' is in use by another server", second.stderr)
        server.stop()
        self.assertFalse(os.path.exists(control))

    def test_a_socket_that_a_killed_server_has_left_is_replaced(self):
        server = self.serve("app", "--port", "0", "--control", "commands")
        server.kill()
        self.assertTrue(os.path.exists(os.path.join(self.folder, "commands")))
        gone = harness.troupe("reload", "--control", "commands", cwd=self.folder)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("no server listens at 'commands'", gone.stderr)
        self.serve("app", "--port", "0", "--control", "commands")
        self.assertEqual(harness.troupe("reload", "--control", "commands", cwd=self.folder).returncode, 0)

    def test_a_reload_without_a_socket_says_what_is_missing(self):
        self.write("troupe.toml", "applications.app.from = 'app'\n")
        done = harness.troupe("reload", cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("troupe.toml has no admin.control", done.stderr)
        self.write("file", "")
        done = harness.troupe("serve", "app", "--port", "0", "--control", "file", cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the control socket 'file' exists already and is not a socket", done.stderr)


if __name__ == "__main__":
    harness.main()
