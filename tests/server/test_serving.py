#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Applications as seen by their clients, through Python's websockets, from start to end:
test_serving.py path/to/troupe"""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket as socketlib
import stat
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
            public_health = true
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
        self.assertEqual(server.ask_admin("/alive"), (200, "ok\n"))
        self.assertEqual(server.ask_admin("/metrics")[0], 404)
        self.assertIn("GET /alive 200", server.says("/alive"))

    async def test_its_log_can_be_json_in_a_file(self):
        self.write("troupe.toml", """
            listen.port = 0
            admin.public_health = true
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


class Admin(WithEcho):
    async def test_metrics_and_health_checks_are_apart_from_clients(self):
        server = self.serve("echo", "--port", "0")
        for path, says in [("/healthz", "ok\n"), ("/readyz", "ready\n"), ("/metrics", "troupe_http_connections ")]:
            with self.subTest(path):
                self.assertEqual(server.get(path)[0], 404)
                status, body = server.ask_admin(path)
                self.assertEqual(status, 200)
                self.assertIn(says, body)
        self.assertEqual(stat.S_IMODE(os.stat(server.admin_path).st_mode), 0o600)
        server.signal()
        self.assertEqual(server.wait(), 0)
        self.assertFalse(os.path.exists(server.admin_path))

    async def test_a_port_that_is_taken_is_named_and_nothing_starts(self):
        with socketlib.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            run = harness.troupe("serve", "echo", "--port", "0", "--admin", address, cwd=self.folder)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn(f'troupe: cannot listen on {address} (admin.listen; choose another address, "unix:PATH" or "off"): '
                      "Address already in use", run.stderr)
        self.assertNotIn("on_start ran", run.stderr)

    async def test_a_socket_in_use_is_named_and_one_of_a_killed_server_is_replaced(self):
        server = self.serve("echo", "--port", "0", "--admin", "unix:admin")
        server.admin_path = os.path.join(self.folder, "admin")
        self.assertEqual(server.ask_admin("/readyz"), (200, "ready\n"))
        second = harness.troupe("serve", "echo", "--port", "0", "--admin", "unix:admin", cwd=self.folder)
        self.assertEqual(second.returncode, 1)
        self.assertIn("cannot listen on the Unix socket 'admin'", second.stderr)
        self.assertEqual(server.ask_admin("/readyz"), (200, "ready\n"))
        server.kill()
        self.assertTrue(os.path.exists(server.admin_path))
        again = self.serve("echo", "--port", "0", "--admin", "unix:admin")
        again.admin_path = server.admin_path
        self.assertEqual(again.ask_admin("/readyz"), (200, "ready\n"))

    async def test_a_file_in_the_place_of_its_socket_and_a_path_too_long_are_named(self):
        self.write("admin", "mine")
        for path, says in [("admin", "cannot listen on the Unix socket 'admin', which is not a socket (admin.listen"),
                           ("x" * 200, "whose path has 200 bytes; the maximum is 107 (admin.listen"),
                           ("no/socket", "No such file or directory")]:
            with self.subTest(path):
                run = harness.troupe("serve", "echo", "--port", "0", "--admin", f"unix:{path}", cwd=self.folder)
                self.assertEqual((run.returncode, run.stdout), (1, ""))
                self.assertIn(says, run.stderr)
                self.assertNotIn("on_start ran", run.stderr)
        with open(os.path.join(self.folder, "admin"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    async def test_only_its_own_hosts_are_answered(self):
        self.write("troupe.toml", """
            listen.port = 0
            admin.listen = "127.0.0.1:0"
            admin.host_names = ["admin.internal"]
            applications.echo.from = "echo"
        """)
        server = self.serve(admin=False)
        line = server.says("metrics and health checks are served on 127.0.0.1:")
        port = int(line.rsplit("served on 127.0.0.1:", 1)[1].split(",")[0])
        for host, status in [(f"127.0.0.1:{port}", 200), ("localhost", 200), ("admin.internal", 200),
                             ("evil.example", 421), (f"evil.example:{port}", 421)]:
            with self.subTest(host):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
                connection.request("GET", "/metrics", headers={"Host": host})
                self.assertEqual(connection.getresponse().status, status)
                connection.close()

    async def test_it_answers_while_clients_use_all_connections(self):
        self.write("troupe.toml", """
            listen.port = 0
            limits.connections_max = 20
            applications.echo.from = "echo"
        """)
        server = self.serve()
        for _ in range(100):
            self.addCleanup(socketlib.create_connection(("127.0.0.1", server.port), DEADLINE).close)
        until(lambda: "troupe_http_connections 20\n" in server.ask_admin("/metrics")[1], "a full server")
        self.assertEqual(server.ask_admin("/healthz"), (200, "ok\n"))
        self.assertEqual(server.ask_admin("/readyz"), (200, "ready\n"))

    async def test_it_answers_when_clients_have_used_up_the_descriptors(self):
        server = self.serve("echo", "--port", "0", descriptors=300)
        server.says("limits.connections_max")
        for _ in range(400):
            self.addCleanup(socketlib.create_connection(("127.0.0.1", server.port), DEADLINE).close)
        for _ in range(3):
            self.assertEqual(server.ask_admin("/healthz"), (200, "ok\n"))
        self.assertIn("troupe_http_accept_pauses_total ", server.ask_admin("/metrics")[1])

    async def test_it_raises_the_soft_limit_of_descriptors_to_the_hard_one(self):
        server = self.serve("echo", "--port", "0", descriptors=(64, 1000))
        with open(f"/proc/{server.process.pid}/limits", encoding="utf-8") as limits:
            self.assertRegex(limits.read(), r"Max open files +1000 +1000 ")
        clients = []
        for _ in range(200):                            # more than the soft limit was
            client = socketlib.create_connection(("127.0.0.1", server.port), DEADLINE)
            self.addCleanup(client.close)
            client.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            clients.append(client)
        for client in clients:
            self.assertTrue(client.recv(64).startswith(b"HTTP/1.1 404 "))

    async def test_it_answers_until_the_applications_have_stopped(self):
        self.write("slow.lua", """
            return { on_message = print,
                     on_stop = function() troupe.log.info("on_stop waits") troupe.queue("end"):pop(20) end }
        """)
        server = self.serve("slow.lua", "--port", "0")
        self.assertEqual(server.ask_admin("/readyz"), (200, "ready\n"))
        server.signal()
        server.says("on_stop waits")
        self.assertEqual(server.ask_admin("/readyz"), (503, "draining\n"))
        self.assertIn("troupe_http_connections 0\n", server.ask_admin("/metrics")[1])
        self.assertEqual(server.wait(), 1)              # after shutdown.stop_timeout
        self.assertFalse(os.path.exists(server.admin_path))

    async def test_a_slow_scraper_and_many_at_once_delay_neither_clients_nor_health_checks(self):
        server = self.serve("echo", "--port", "0")
        slow = []
        for _ in range(20):                             # they ask, and do not read
            scraper = socketlib.socket(socketlib.AF_UNIX)
            self.addCleanup(scraper.close)
            scraper.setsockopt(socketlib.SOL_SOCKET, socketlib.SO_RCVBUF, 1024)
            scraper.connect(server.admin_path)
            scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            slow.append(scraper)
        async with connect(server, "/echo") as client:
            self.assertEqual(await ask(client, "x"), "x")
        self.assertEqual(server.ask_admin("/readyz"), (200, "ready\n"))
        self.assertIn("troupe_admin_connections ", server.ask_admin("/metrics")[1])


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
            admin.public_health = true
            applications.echo.from = "echo"
        """)
        server = self.serve()
        self.assertEqual(server.get("/readyz"), (200, "ready\n"))
        server.signal()
        until(lambda: server.get("/readyz") == (503, "draining\n"), "it says that it drains")
        self.assertEqual(server.ask_admin("/readyz"), (503, "draining\n"))
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
