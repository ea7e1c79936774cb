#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Applications as seen by their clients, through Python's websockets, from start to end:
test_serving.py path/to/troupe"""

import asyncio
import contextlib
import json
import signal
import time
import unittest

import websockets

import harness
from harness import DEADLINE, ECHO, WithFolder, sanitized, until


def connect(server, path):
    return websockets.connect(server.socket_url(path), open_timeout=DEADLINE)


async def hear(socket):
    return await asyncio.wait_for(socket.recv(), DEADLINE)


async def ask(socket, message):
    await socket.send(message)
    return await hear(socket)


class WithEcho(WithFolder, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        super().setUp()
        self.write("echo/main.lua", ECHO)


class Serving(WithEcho):
    async def test_an_application_is_served_without_any_configuration(self):
        server = self.serve("echo", "--port", "0")
        async with connect(server, "/echo") as socket:
            self.assertEqual(await ask(socket, "hello, wörld"), "hello, wörld")
            self.assertEqual(await ask(socket, b"\x00\xff"), b"\x00\xff")
        self.assertIn("echo/1: on_start ran", server.says("on_start ran"))
        self.assertRegex(server.says("WebSocket"), r"access  127\.0\.0\.1 WebSocket /echo 1000 15 B \d+\.\d{3} ms")

    async def test_what_the_file_says_is_done(self):
        self.write("page/index.html", "<p>hello")
        self.write("greeter.lua", """
            local app = {}
            function app.on_open(client) client:send(troupe.config.greeting) end
            function app.on_message(client, data) client:send(troupe.application .. " " .. data) end
            return app
        """)
        self.write("troupe.toml", """
            [listen]
            port = 0
            [limits]
            message_bytes = 10
            [admin]
            health = "/alive"
            metrics = ""
            [applications.greeter]
            from = "greeter.lua"
            route = "/talk"
            instances = 2
            files = "page"
            files_route = "/"
            config.greeting = "welcome"
            [applications.echo]
            from = "echo"
        """)
        server = self.serve()
        async with connect(server, "/talk") as socket:
            self.assertEqual(await hear(socket), "welcome")
            self.assertEqual(await ask(socket, "x"), "greeter x")
            with self.assertRaises(websockets.ConnectionClosed) as closed:
                await ask(socket, "12345678901")
            self.assertEqual(closed.exception.rcvd.code, 1009)
        async with connect(server, "/echo") as socket:
            self.assertEqual(await ask(socket, "x"), "x")
        self.assertEqual(server.get("/"), (200, "<p>hello"))
        self.assertEqual(server.get("/alive"), (200, "ok\n"))
        self.assertEqual(server.get("/readyz"), (200, "ready\n"))
        self.assertEqual(server.get("/metrics")[0], 404)
        self.assertIn("GET /alive 200", server.says("/alive"))

    async def test_its_log_can_be_json_in_a_file(self):
        self.write("troupe.toml", """
            listen.port = 0
            log = { to = "log", format = "json" }
            applications.echo.from = "echo"
        """)
        server = self.serve()
        self.assertEqual(server.get("/readyz")[0], 200)
        server.signal()
        self.assertEqual(server.wait(), 0)
        with open(f"{self.folder}/log", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertTrue(all("time" in line for line in lines))
        self.assertIn(("echo", 1, "info", "on_stop ran"),
                      [(l.get("application"), l.get("instance"), l.get("level"), l.get("text")) for l in lines])
        self.assertIn(("access", "GET", "/readyz", 200),
                      [(l.get("log"), l.get("method"), l.get("target"), l.get("status")) for l in lines])
        self.assertEqual(server.log, [])


class Ending(WithEcho):
    async def test_a_signal_closes_clients_runs_on_stop_and_exits_with_0(self):
        for number in [signal.SIGTERM, signal.SIGINT]:
            with self.subTest(number):
                server = self.serve("echo", "--port", "0")
                async with connect(server, "/echo") as socket:
                    self.assertEqual(await ask(socket, "x"), "x")
                    server.signal(number)
                    with self.assertRaises(websockets.ConnectionClosed) as closed:
                        await hear(socket)
                    self.assertEqual(closed.exception.rcvd.code, 1001)
                self.assertEqual(await asyncio.to_thread(server.wait), 0)
                text = "".join(server.log)
                self.assertLess(text.index("draining"), text.index("on_stop ran"))
                self.assertLess(text.index("on_stop ran"), text.index("stopped"))

    async def test_what_was_sent_before_a_signal_is_answered_under_load(self):
        server = self.serve("echo", "--port", "0")
        sockets = [await connect(server, "/echo") for _ in range(20)]

        counts = [0] * len(sockets)

        async def load(which):
            try:
                while True:
                    self.assertEqual(await ask(sockets[which], "x"), "x")
                    counts[which] += 1
            except websockets.ConnectionClosed as closed:
                self.assertEqual(closed.rcvd.code, 1001)    # an orderly close, and none was cut
        loads = [asyncio.create_task(load(which)) for which in range(len(sockets))]
        while min(counts) < 10:
            await asyncio.sleep(0)
        server.signal()
        await asyncio.gather(*loads)
        self.assertEqual(await asyncio.to_thread(server.wait), 0)
        self.assertIn("on_stop ran", "".join(server.log))

    async def test_it_is_not_ready_any_more_before_it_drains(self):
        self.write("troupe.toml", """
            listen.port = 0
            shutdown.unready_delay = "1h"
            applications.echo.from = "echo"
        """)
        server = self.serve()
        self.assertEqual(server.get("/readyz"), (200, "ready\n"))
        server.signal()
        until(lambda: server.get("/readyz") == (503, "draining\n"), "it says that it drains")
        async with connect(server, "/echo") as socket:      # new clients are still admitted
            self.assertEqual(await ask(socket, "x"), "x")
        server.signal()                                     # the second signal ends it at once
        self.assertEqual(server.wait(), -signal.SIGTERM)

    async def test_an_application_that_does_not_stop_is_named_and_the_exit_code_is_1(self):
        self.write("stuck.lua", """
            return { on_message = print, on_stop = function() troupe.sleep(3600) end }
        """)
        self.write("troupe.toml", """
            listen.port = 0
            shutdown.stop_timeout = "100ms"
            applications.stuck.from = "stuck.lua"
            applications.echo.from = "echo"
        """)
        server = self.serve()
        server.signal()
        self.assertEqual(server.wait(), 1)
        self.assertIn("application stuck did not stop within 100ms", "".join(server.log))

    async def test_after_kill_9_it_is_back_on_the_same_port_within_a_second(self):
        server = self.serve("echo", "--port", "0")
        sockets = [await connect(server, "/echo") for _ in range(20)]
        counts = [0] * len(sockets)

        async def load(which):
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    self.assertEqual(await ask(sockets[which], "x"), "x")
                    counts[which] += 1
        loads = [asyncio.create_task(load(which)) for which in range(len(sockets))]
        while min(counts) < 10:
            await asyncio.sleep(0)
        server.kill()
        begin = time.monotonic()
        again = self.serve("echo", "--port", str(server.port))
        took = time.monotonic() - begin
        async with connect(again, "/echo") as socket:
            self.assertEqual(await ask(socket, "y"), "y")
        await asyncio.gather(*loads)
        for socket in sockets:
            await socket.close()
        self.assertLess(took, 10.0 if sanitized() else 1.0)


if __name__ == "__main__":
    harness.main()
