#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts that connect to servers in Python, plain and with TLS: test_outgoing.py path/to/troupe"""

import asyncio
import http.server
import json
import os
import ssl
import subprocess
import threading
import unittest

import websockets

import harness
from harness import DEADLINE, WithFolder

MAIN = """
    local app = {}
    function app.on_message(client, text)
      local what = troupe.json.decode(text)
      local heard = {}
      if what.url:match("^ws") then
        local connection, why = troupe.websocket.connect(what.url, {protocols = what.protocols})
        if not connection then return client:send(troupe.json.encode({why = why})) end
        for _, each in ipairs(what.say) do
          connection:send(each)
          heard[#heard + 1] = connection:receive(20)
        end
        connection:close(1000, "done")
        local _, closed, code = connection:receive(20)
        client:send(troupe.json.encode({heard = troupe.array(heard), protocol = what.protocols and what.protocols[1],
                                        closed = closed, code = code}))
      else
        local answer, why = troupe.http.request(what)
        client:send(troupe.json.encode(answer or {why = why}))
      end
    end
    return app
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("Content-Length", 0))
        body = f"{self.command} {self.path} {self.rfile.read(size).decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Seen", self.headers.get("X-Sent", ""))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *arguments):
        pass


async def echo(socket, path=None):
    async for message in socket:
        await socket.send("you said " + message)


class Outgoing(WithFolder, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        super().setUp()
        self.write("app/main.lua", MAIN)
        self.write("troupe.toml", """
            [listen]
            port = 0
            [applications.app]
            from = "app"
            [applications.careful]
            from = "app"
            outgoing = ["example.org:443"]
        """)

    def peer(self, context=None):
        """An HTTP server; returns its port."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def certificate(self):
        """A self-signed certificate for localhost; returns a server's context, and the file that
        trusts it."""
        file = os.path.join(self.folder, "certificate.pem")
        key = os.path.join(self.folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", file, "-days", "1", "-subj", "/CN=test",
                        "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file, key)
        return context

    async def ask(self, server, path="/app", **what):
        async with websockets.connect(server.socket_url(path), open_timeout=DEADLINE) as socket:
            await socket.send(json.dumps(what))
            return json.loads(await asyncio.wait_for(socket.recv(), DEADLINE))

    async def test_requests(self):
        port = self.peer()
        server = self.serve()
        answer = await self.ask(server, method="POST", url=f"http://127.0.0.1:{port}/a?b=c", body="data",
                                headers={"X-Sent": "it"})
        self.assertEqual((answer["status"], answer["body"]), (200, "POST /a?b=c data"))
        self.assertEqual(answer["headers"]["x-seen"], "it")
        for _ in range(3):
            self.assertEqual((await self.ask(server, url=f"http://localhost:{port}/"))["body"], "GET / ")

    async def test_websockets(self):
        server = self.serve()
        async with websockets.serve(echo, "127.0.0.1", 0, subprotocols=["talk"]) as peer:
            port = peer.sockets[0].getsockname()[1]
            answer = await self.ask(server, url=f"ws://127.0.0.1:{port}/x", protocols=["talk"], say=["a", "b" * 1000])
        self.assertEqual(answer, {"heard": ["you said a", "you said " + "b" * 1000], "protocol": "talk",
                                  "closed": "closed", "code": 1000})

    async def test_tls_is_believed_only_of_who_is_trusted(self):
        context = self.certificate()
        port = self.peer(context)
        server = self.serve()
        self.assertIn("its certificate is not trusted: self", (await self.ask(server, url=f"https://localhost:{port}/"))["why"])

    async def test_tls(self):
        context = self.certificate()
        self.write("troupe.toml", """
            [listen]
            port = 0
            [applications.app]
            from = "app"
            outgoing_trusted = "certificate.pem"
        """)
        port = self.peer(context)
        server = self.serve()
        self.assertEqual((await self.ask(server, url=f"https://localhost:{port}/"))["body"], "GET / ")
        self.assertIn("IP address mismatch", (await self.ask(server, url=f"https://127.0.0.1:{port}/"))["why"])
        async with websockets.serve(echo, "127.0.0.1", 0, ssl=context) as peer:
            port = peer.sockets[0].getsockname()[1]
            answer = await self.ask(server, url=f"wss://localhost:{port}/", say=["safe"])
        self.assertEqual((answer["heard"], answer["code"]), (["you said safe"], 1000))

    async def test_where_scripts_may_go(self):
        port = self.peer()
        server = self.serve()
        for url in (f"http://127.0.0.1:{port}/", f"ws://127.0.0.1:{port}/"):
            answer = await self.ask(server, "/careful", url=url)
            self.assertTrue(answer["why"].startswith("not allowed: no connection to 127.0.0.1:"), answer)


if __name__ == "__main__":
    harness.main()
