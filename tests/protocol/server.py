# SPDX-License-Identifier: Apache-2.0
"""A server for the protocol, in a thread, for tests of clients."""

import asyncio
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "clients" / "python"))
sys.path.insert(0, str(ROOT / "tests" / "main"))

import troupe_rpc as rpc  # noqa: E402
import websockets  # noqa: E402

import stuck_python  # noqa: E402, F401

SUBPROTOCOLS = ["troupe.rpc.json", "troupe.rpc.cbor"]


class Server:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.told = []          # the notifications received
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,))
        self.thread.start()
        ready.wait()

    def run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.done = self.loop.create_future()
        self.loop.run_until_complete(self.serve(ready))
        self.loop.close()

    async def serve(self, ready):
        async with websockets.serve(self.connection, "127.0.0.1", 0, subprotocols=SUBPROTOCOLS) as server:
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            ready.set()
            await self.done

    def stop(self):
        self.loop.call_soon_threadsafe(self.done.set_result, None)
        self.thread.join()

    async def connection(self, socket, *_):
        peer = rpc.Peer(socket)
        gate = asyncio.Event()

        def refuse(params):
            raise rpc.RpcError(17, "not your turn", params)

        async def ask_back(params):
            return await peer.call("double", params)

        async def ask_on_a_channel(params):
            return await asyncio.gather(*(peer.call("slow", number, channel=3) for number in params))

        async def wait(params):
            await gate.wait()
            return params

        peer.on("echo", lambda params: params)
        peer.on("refuse", refuse)
        peer.on("fail", lambda params: params["nothing"])
        peer.on("tell", self.told.append)
        peer.on("told", lambda params: self.told)
        peer.on("ask_back", ask_back)
        peer.on("ask_on_a_channel", ask_on_a_channel)
        peer.on("wait", wait)
        peer.on("open_gate", lambda params: gate.set())
        peer.on("drop", lambda params: socket.close(1011, "dropped"))
        peer.on("garbage", lambda params: socket.send("{" if peer.encoding == "json" else b"\xff"))
        await peer.run()
