#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client communicates with a server."""

import asyncio
import unittest

from server import SUBPROTOCOLS, Server, rpc, stuck_python


class Client(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)

    def talk(self, body):
        async def talk(protocol):
            async with rpc.connect(self.server.url, protocol) as server:
                await asyncio.wait_for(body(server), 30)

        for protocol in SUBPROTOCOLS:
            with self.subTest(protocol):
                asyncio.run(talk(protocol))

    def test_requests_are_answered(self):
        async def body(server):
            for value in (None, True, -5, 0.5, "ä", [1, {"a": []}]):
                self.assertEqual(await server.call("echo", value), value)
            self.assertEqual(await asyncio.gather(*(server.call("echo", number) for number in range(100))), list(range(100)))
        self.talk(body)

    def test_errors_are_raised(self):
        async def body(server):
            for method, code, data in (("refuse", 17, [1]), ("fail", rpc.INTERNAL_ERROR, None), ("no", rpc.NO_SUCH_METHOD, None)):
                with self.assertRaises(rpc.RpcError) as caught:
                    await server.call(method, [1])
                self.assertEqual((caught.exception.code, caught.exception.data), (code, data))
        self.talk(body)

    def test_notifications_arrive(self):
        async def body(server):
            self.server.told.clear()
            await server.notify("tell", "a", channel=1)
            await server.notify("tell", "b", channel=1)
            self.assertEqual(await server.call("told", channel=1), ["a", "b"])
        self.talk(body)

    def test_the_server_asks_too(self):
        async def body(server):
            server.on("double", lambda params: 2 * params)
            self.assertEqual(await server.call("ask_back", 21), 42)
        self.talk(body)

    def test_channels_keep_the_order(self):
        async def body(server):
            first = asyncio.create_task(server.call("wait", 1, channel=1))
            second = asyncio.create_task(server.call("echo", 2, channel=1))
            self.assertEqual(await server.call("echo", 3, channel=2), 3)
            self.assertFalse(first.done() or second.done())
            await server.call("open_gate")
            self.assertEqual(await asyncio.gather(first, second), [1, 2])
        self.talk(body)

    def test_the_end_of_the_connection_ends_requests(self):
        async def body(server):
            waiting = asyncio.create_task(server.call("wait"))
            await server.notify("drop")
            with self.assertRaises(ConnectionError):
                await waiting
        self.talk(body)


if __name__ == "__main__":
    stuck_python.watch()
    unittest.main()
