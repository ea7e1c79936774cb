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
        self.assertEqual(sorted(os.listdir(example(""))), ["echo", "poll", "presence"])

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

    async def test_presence(self):
        self.write("troupe.toml", f"""
            [applications.presence]
            from = "{example('presence')}"
            instances = 2
            """)
        server = self.serve("--port", "0")
        url = server.socket_url("/presence")
        async with troupe_rpc.connect(url, "troupe.rpc.json") as ada:
            seen = asyncio.Queue()
            for method in ["came", "renamed", "went", "said"]:
                ada.on(method, lambda told, method=method: seen.put_nowait((method, told)))

            async def next_of(method):
                while (told := await asyncio.wait_for(seen.get(), DEADLINE))[0] != method:
                    pass
                return told[1]

            entered = await ada.call("enter", "ada", timeout=DEADLINE)
            self.assertEqual((entered["names"], entered["visits"]), (["ada"], 1))
            async with troupe_rpc.connect(url, "troupe.rpc.cbor") as bob:  # belongs to the other instance
                now = await bob.call("enter", "bob", timeout=DEADLINE)
                self.assertEqual((now["names"], now["visits"]), (["ada", "bob"], 2))
                bob_is = {"id": now["you"], "name": "bob"}
                while await next_of("came") != bob_is:
                    pass
                self.assertEqual(await bob.call("say", "hello", timeout=DEADLINE), 2)
                self.assertEqual(await next_of("said"), {"id": now["you"], "text": "hello"})
                await bob.call("enter", "bo", timeout=DEADLINE)
                self.assertEqual(await next_of("renamed"), {"id": now["you"], "name": "bo"})
                with self.assertRaises(troupe_rpc.RpcError) as refused:
                    await bob.call("enter", "", timeout=DEADLINE)
                self.assertEqual(refused.exception.code, 1)
            self.assertEqual(await next_of("went"), {"id": now["you"], "name": "bo"})
            entered = await ada.call("enter", "ada", timeout=DEADLINE)
            self.assertEqual((entered["names"], entered["visits"]), (["ada"], 2))
        metrics = server.get("/metrics")[1]
        self.assertIn('troupe_app_visits_total{application="presence"} 2\n', metrics)


if __name__ == "__main__":
    harness.main()
