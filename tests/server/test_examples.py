#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The applications in examples/lua, served and used by clients: test_examples.py path/to/troupe"""

import asyncio
import os
import sys
import unittest

import websockets

import harness
from harness import DEADLINE, ROOT, WithFolder

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))

import troupe_rpc  # noqa: E402


def example(name):
    return os.path.join(ROOT, "examples", "lua", name)


class Examples(WithFolder, unittest.IsolatedAsyncioTestCase):
    def test_there_is_a_test_for_each(self):
        self.assertEqual(sorted(os.listdir(example(""))), ["echo", "poll"])

    async def test_echo(self):
        server = self.serve(example("echo"), "--port", "0")
        async with websockets.connect(server.socket_url("/echo"), open_timeout=DEADLINE) as socket:
            for message in ["hello", b"\x00\xff"]:
                await socket.send(message)
                self.assertEqual(await asyncio.wait_for(socket.recv(), DEADLINE), message)

    async def test_poll(self):
        server = self.serve(example("poll"), "--port", "0")
        url = server.socket_url("/poll")
        async with troupe_rpc.connect(url, "troupe.rpc.json") as ada:
            seen = asyncio.Queue()
            ada.on("changed", seen.put_nowait)
            async with troupe_rpc.connect(url, "troupe.rpc.cbor") as bob:
                counts = {"tea": 1, "coffee": 0}
                now = await bob.call("vote", "tea", timeout=DEADLINE)
                self.assertEqual(now, {"question": "Tea or coffee?", "counts": counts, "watching": 2})
                while (told := await asyncio.wait_for(seen.get(), DEADLINE))["counts"] != counts:
                    pass
                self.assertEqual(told, now)
                with self.assertRaises(troupe_rpc.RpcError) as refused:
                    await ada.call("vote", "water", timeout=DEADLINE)
                self.assertEqual(refused.exception.code, 1)
                self.assertEqual(refused.exception.message, "choose one of: tea, coffee")
            while (await asyncio.wait_for(seen.get(), DEADLINE))["watching"] != 1:
                pass


if __name__ == "__main__":
    harness.main()
