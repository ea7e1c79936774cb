#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server of `make run`: a chat in C++ and a poll in Lua, on one port and one page:
test_together.py path/to/together"""

import asyncio
import json
import os
import sys
import unittest

import websockets

import harness
from harness import DEADLINE, ROOT, WithFolder

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))

import troupe_rpc  # noqa: E402

CONFIGURATION = os.path.join(ROOT, "examples", "together", "troupe.toml")


class Together(WithFolder, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve(CONFIGURATION, "--port", "0", command=())

    def test_one_page_links_both(self):
        status, page = self.server.get("/")
        self.assertEqual(status, 200)
        for link, title in [("/chat/", "Troupe chat"), ("/poll/", "Troupe poll")]:
            self.assertIn(f'href="{link}"', page)
            status, linked = self.server.get(link)
            self.assertEqual(status, 200)
            self.assertIn(f"<title>{title}</title>", linked)
        for file in ["/style.css", "/chat/app.js", "/chat/icon.svg", "/poll/poll.js", "/poll/style.css", "/client/troupe.js"]:
            self.assertEqual(self.server.get(file)[0], 200, file)
        self.assertEqual(self.server.get("/client/../troupe.toml")[0], 404)

    async def test_both_talk(self):
        async with websockets.connect(self.server.socket_url("/chat"), open_timeout=DEADLINE) as chat:
            await chat.send(json.dumps({"type": "join", "room": "lobby", "name": "ann"}))
            self.assertEqual(json.loads(await asyncio.wait_for(chat.recv(), DEADLINE))["type"], "joined")
            async with troupe_rpc.connect(self.server.socket_url("/poll"), "troupe.rpc.json") as poll:
                now = await poll.call("vote", "both", timeout=DEADLINE)
                self.assertEqual(now["counts"], {"C++": 0, "Lua": 0, "both": 1})


if __name__ == "__main__":
    harness.main()
