#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rate limits and trusted proxies of `troupe serve`, from outside: test_rates.py path/to/troupe

The rates are far below what a test sends at once, and time is never waited for: a bucket that fills
during a test changes no result.
"""

import asyncio
import http.client
import socket
import time
import unittest

import websockets

import harness
from harness import DEADLINE, ECHO, WithFolder

WHO = """
    local app = {}
    function app.on_message(client, data) client:send(client:peer()) end
    return app
"""


class Rates(WithFolder, unittest.IsolatedAsyncioTestCase):
    def served(self, keys):
        self.write("echo.lua", ECHO)
        self.write("who.lua", WHO)
        self.write("troupe.toml", f"""
            listen.port = 0
            {keys}
            [applications.echo]
            from = "echo.lua"
            [applications.who]
            from = "who.lua"
        """)
        return self.serve()

    def ask(self, server, headers, path="/readyz", source="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE, source_address=(source, 0))
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    def limited(self, server, reason):
        """From another address, whose rates are its own."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE, source_address=("127.0.0.9", 0))
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        name = f'troupe_http_rate_limited_total{{reason="{reason}"}} '
        return next(int(line[len(name):]) for line in text.splitlines() if line.startswith(name))

    async def test_requests_beyond_the_rate_get_429_on_the_same_connection(self):
        server = self.served("limits.requests_per_second = 1\nlimits.requests_burst = 3")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
        answers = []
        for _ in range(50):
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            answer.read()
            self.assertFalse(answer.will_close)
            answers.append((answer.status, answer.headers.get("Retry-After")))
        self.assertEqual(answers[:3], [(200, None)] * 3)
        self.assertIn((429, "1"), answers)
        self.assertEqual(len({status for status, _ in answers} - {200, 429}), 0)
        self.assertEqual(self.limited(server, "requests"), sum(status == 429 for status, _ in answers))
        self.assertIn("GET /readyz 429", server.says(" 429 "))
        connection.close()

    async def test_connections_beyond_the_rate_are_closed(self):
        server = self.served("limits.connections_per_second = 1\nlimits.connections_burst = 2")
        ends = []
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), DEADLINE) as one:
                one.settimeout(DEADLINE)
                try:
                    one.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    ends.append(one.recv(12) or b"closed")
                except ConnectionError:
                    ends.append(b"closed")
        self.assertEqual(ends[:2], [b"HTTP/1.1 200"] * 2)
        self.assertIn(b"closed", ends)
        self.assertEqual(self.limited(server, "connections"), ends.count(b"closed"))

    async def test_messages_beyond_the_rate_come_later_and_none_is_lost(self):
        server = self.served("limits.messages_per_second = 20\nlimits.messages_burst = 2")
        async with websockets.connect(server.socket_url("/echo"), open_timeout=DEADLINE) as client:
            begin = time.monotonic()
            for number in range(22):
                await client.send(str(number))
            for number in range(22):
                self.assertEqual(await asyncio.wait_for(client.recv(), DEADLINE), str(number))
            # Two at once, then one each 50 ms; the last one has not to wait.
            self.assertGreaterEqual(time.monotonic() - begin, 0.9)
        self.assertGreater(self.limited(server, "messages"), 0)

    async def test_a_flood_of_messages_is_closed_with_1008(self):
        server = self.served("limits.messages_per_second = 20\nlimits.messages_burst = 2\n"
                             "limits.throttled_messages_max = 5")
        async with websockets.connect(server.socket_url("/echo"), open_timeout=DEADLINE) as client:
            with self.assertRaises(websockets.ConnectionClosed) as closed:
                for _ in range(2000):
                    await client.send("x")
                while True:
                    await asyncio.wait_for(client.recv(), DEADLINE)
            self.assertEqual(closed.exception.rcvd.code, 1008)
        self.assertEqual(self.limited(server, "message_flood"), 1)

    async def test_a_trusted_proxy_names_the_client(self):
        server = self.served('listen.trusted_proxies = ["127.0.0.2", "10.0.0.0/8"]\n'
                             "limits.requests_per_second = 1\nlimits.requests_burst = 2")
        proxied = {"X-Forwarded-For": "6.6.6.6, 192.0.2.1:1234, 10.1.1.1"}
        statuses = [self.ask(server, proxied, source="127.0.0.2").status for _ in range(20)]
        self.assertEqual(statuses[:2], [200, 200])
        self.assertIn(429, statuses)
        other = {"Forwarded": 'for="[2001:db8::1]"'}
        self.assertEqual(self.ask(server, other, source="127.0.0.2").status, 200)
        self.assertEqual(self.ask(server, {"Forwarded": "nonsense"}, source="127.0.0.2").status, 400)
        self.assertEqual(self.ask(server, {"X-Forwarded-For": "192.0.2.9"}, source="127.0.0.3").status, 200)
        for line in ["access  192.0.2.1 GET /readyz 200", "access  192.0.2.1 GET /readyz 429",
                     "access  2001:db8::1 GET /readyz 200", "access  127.0.0.2 GET /readyz 400",
                     "access  127.0.0.3 GET /readyz 200"]:
            server.says(line)

    async def test_a_script_sees_the_client_of_a_proxy(self):
        server = self.served('listen.trusted_proxies = ["127.0.0.1"]\nlisten.proxy_header = "x-forwarded-for"')
        async with websockets.connect(server.socket_url("/who"), open_timeout=DEADLINE,
                                      extra_headers={"X-Forwarded-For": "192.0.2.7", "Forwarded": "for=6.6.6.6"}) as client:
            await client.send("who")
            self.assertEqual(await asyncio.wait_for(client.recv(), DEADLINE), "192.0.2.7")
        server.says("access  192.0.2.7 WebSocket /who 1000")

    async def test_a_wrong_list_of_proxies_is_an_error_at_the_start(self):
        self.write("troupe.toml", 'listen.trusted_proxies = ["10.0.0.0/8", "proxy.example.org"]\n')
        run = harness.troupe("serve", "--check", cwd=self.folder)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("troupe.toml:1:26: listen.trusted_proxies is wrong: \"proxy.example.org\" is neither an address", run.stderr)


if __name__ == "__main__":
    harness.main()
