#!/usr/bin/env python3
"""Starts the application and talks with it: test.py [path/to/troupe]"""

import asyncio
import json
import os
import subprocess
import sys

import websockets

TROUPE = sys.argv[1] if len(sys.argv) > 1 else "troupe"
HERE = os.path.dirname(os.path.abspath(__file__))
server = subprocess.Popen(
    [TROUPE, "serve", "--config", os.path.join(HERE, "troupe.toml"), "--port", "0",
     "--admin", "off"],
    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def talk(url):
    async with websockets.connect(url, subprotocols=["troupe.rpc.json"]) as client:
        async def call(number, method, params):
            await client.send(json.dumps({"id": number, "method": method, "params": params}))
            return json.loads(await client.recv())

        assert (await call(1, "add", {"a": 1, "b": 2}))["result"] == 3
        assert (await call(2, "last", {}))["result"] == 3
        assert "error" in await call(3, "add", {"a": "one"})


try:
    port = server.stdout.readline().strip().rsplit(":", 1)[1]
    asyncio.run(asyncio.wait_for(talk(f"ws://127.0.0.1:{port}/@NAME@"), 20))
finally:
    server.terminate()
    _, log = server.communicate()
assert server.returncode == 0, log
print("ok")
