#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS as seen by clients: Python's ssl and websockets, curl, and openssl's own client: test_tls.py
path/to/troupe"""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import unittest

import websockets

import harness
from harness import DEADLINE, ECHO, WithFolder, sanitized, troupe, until

CONFIGURATION = """
    listen.port = 0
    tls.certificate = "it.pem"
    tls.key = "it.key"
    limits.idle_timeout = "10m"
    limits.connections_per_address_max = 10000
    {more}
    applications.echo.from = "echo"
"""


class WithTls(WithFolder, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        super().setUp()
        self.write("echo/main.lua", ECHO)
        self.certify("localhost", "it.pem", "it.key")

    def configure(self, more=""):
        self.write("troupe.toml", CONFIGURATION.format(more=more))

    def path(self, name):
        return os.path.join(self.folder, name)

    def trust(self):
        return ssl.create_default_context(cafile=self.path("it.pem"))

    def served(self, more=""):
        self.configure(more)
        return self.serve()

    def connect(self, server):
        return websockets.connect(server.socket_url("/echo"), ssl=self.trust(), open_timeout=DEADLINE)

    def curl(self, server, path, *more, scheme="https"):
        return subprocess.run(["curl", "-sS", "--cacert", self.path("it.pem"), *more,
                               f"{scheme}://127.0.0.1:{server.port}{path}"],
                              capture_output=True, text=True, timeout=2 * DEADLINE)


class Serving(WithTls):
    async def test_a_client_that_looks_at_the_certificate_is_served(self):
        server = self.served()
        async with self.connect(server) as client:
            for message in ["hello, wörld", b"\x00\xff" * 1000, "x" * 60_000]:
                await client.send(message)
                self.assertEqual(await asyncio.wait_for(client.recv(), DEADLINE), message)
        self.assertIn("access  127.0.0.1 WebSocket /echo 1000", server.says("WebSocket"))
        self.assertRegex(server.says("TLS:"), r"the certificate of CN=localhost, until 20\d\d-")
        run = self.curl(server, "/healthz", "-o", "-", "-w", " %{http_version} %{ssl_verify_result}")
        self.assertEqual((run.returncode, run.stdout), (0, "ok\n 1.1 0"), run.stderr)

    async def test_many_talk_at_once_in_both_directions(self):
        server = self.served()

        async def one(number):
            async with self.connect(server) as client:
                texts = [f"{number} {i} " + "x" * (i * 997 % 50_000) for i in range(20)]

                async def say():
                    for text in texts:
                        await client.send(text)

                saying = asyncio.create_task(say())
                for text in texts:
                    self.assertEqual(await asyncio.wait_for(client.recv(), 2 * DEADLINE), text)
                await saying
        await asyncio.gather(*(one(number) for number in range(20)))

    async def test_who_does_not_trust_it_goes_and_is_counted(self):
        server = self.served()
        with socket.create_connection(("127.0.0.1", server.port)) as plain, self.assertRaises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")
        until(lambda: 'troupe_http_tls_failed_total{reason="alert"} 1' in server.get("/metrics")[1], "the count")

    async def test_versions(self):
        server = self.served()
        for version, is_spoken in [("1.2", True), ("1.3", True), ("1.1", False)]:
            run = self.curl(server, "/healthz", f"--tlsv{version}", "--tls-max", version, "--ciphers", "DEFAULT@SECLEVEL=0")
            self.assertEqual(run.returncode == 0, is_spoken, (version, run.stderr))
        strict = self.served('tls.min_version = "1.3"')
        self.assertEqual(self.curl(strict, "/healthz").stdout, "ok\n")
        self.assertNotEqual(self.curl(strict, "/healthz", "--tls-max", "1.2").returncode, 0)

    async def test_plain_http_is_told_and_others_are_served(self):
        server = self.served()
        run = self.curl(server, "/healthz", scheme="http")
        self.assertIn("400 Bad Request: this port speaks TLS; use https://", run.stdout)
        with socket.create_connection(("127.0.0.1", server.port), DEADLINE):
            self.assertEqual(server.get("/healthz"), (200, "ok\n"))      # while another client sends nothing

    async def test_to_begin_again_is_refused(self):
        server = self.served()
        with subprocess.Popen(["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{server.port}"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
            client.stdin.write("R\n")
            client.stdin.flush()
            client.wait(2 * DEADLINE)                       # the server closes it, because it is refused
            said = client.stdout.read()
        self.assertIn("RENEGOTIATING", said)
        self.assertIn("no renegotiation", said)
        self.assertEqual(server.get("/healthz"), (200, "ok\n"))

    async def test_the_end_is_said(self):
        server = self.served()
        async with self.connect(server) as client:
            server.signal(signal.SIGTERM)
            with self.assertRaises(websockets.ConnectionClosed) as ended:
                await asyncio.wait_for(client.recv(), DEADLINE)
            self.assertEqual(ended.exception.code, 1001)
        self.assertEqual(server.wait(), 0)

    async def test_an_end_without_it_is_counted(self):
        server = self.served()
        client = self.trust().wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost")
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
        self.assertIn(b"200 OK", client.recv(4096))
        client.close()                                      # Python sends no close_notify here
        until(lambda: "troupe_http_tls_truncated_total 1" in server.get("/metrics")[1], "the count")


class Memory(WithTls):
    async def test_an_idle_connection_costs_at_most_60_000_bytes(self):
        if sanitized():
            self.skipTest("a sanitizer's memory is not the server's")
        server = self.served()

        def resident():
            with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        trust = self.trust()
        request = b"GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
                  b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

        def open_one():
            client = trust.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost")
            client.sendall(request)
            self.assertIn(b" 101 ", client.recv(4096))
            return client
        clients = [open_one() for _ in range(20)]           # memory that is allocated once
        before, count = resident(), 300
        clients += [open_one() for _ in range(count)]
        each = (resident() - before) // count
        print(f"an idle WebSocket with TLS: {each} bytes of the process")
        self.assertLess(each, 60_000)
        for client in clients:
            client.close()


class Reloading(WithTls):
    def subject(self, server):
        text = ssl.get_server_certificate(("127.0.0.1", server.port))
        self.write("seen.pem", text)
        return subject_of(self.path("seen.pem"))

    async def test_a_new_certificate_is_for_new_connections_and_a_wrong_one_for_nobody(self):
        server = self.served()
        async with self.connect(server) as client:
            self.certify("renewed", "it.pem", "it.key", algorithm="rsa")
            server.signal(signal.SIGHUP)
            server.says("the certificate of CN=renewed")
            self.assertIn("renewed", self.subject(server))
            await client.send("still here")
            self.assertEqual(await asyncio.wait_for(client.recv(), DEADLINE), "still here")

            self.certify("wrong", "it.pem", "other.key")
            before = len(server.log)
            server.signal(signal.SIGHUP)
            line = server.says("nothing was changed", before)
            self.assertRegex(line, r'key "[^"]*it\.key" does not belong to certificate "[^"]*it\.pem"')
            self.assertIn("renewed", self.subject(server))

            os.remove(self.path("it.key"))
            server.signal(signal.SIGHUP)
            self.assertIn("it.key", server.says("is not a file", before))
            self.assertIn("renewed", self.subject(server))

    async def test_from_tls_to_none_is_a_restart(self):
        server = self.served()
        self.write("troupe.toml", "listen.port = 0\napplications.echo.from = 'echo'\n")
        server.signal(signal.SIGHUP)
        server.says('tls.certificate is now "", but stays')
        self.assertEqual(server.get("/healthz"), (200, "ok\n"))


class Check(WithTls):
    def check(self):
        return troupe("serve", "--check", cwd=self.folder)

    def test_it_looks_at_the_certificate_too(self):
        self.configure()
        run = self.check()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"\Atls: CN=localhost, until [-0-9]+ [:0-9]+ UTC, ok\necho: raw, ok\n\Z")

        self.certify("localhost", "it.pem", "it.key", days=3)
        run = self.check()
        self.assertEqual((run.returncode, run.stdout), (0, "echo: raw, ok\n"))
        self.assertIn("it expires within two weeks", run.stderr)

        self.certify("localhost", "it.pem", "other.key")
        run = self.check()
        self.assertEqual((run.returncode, run.stdout), (1, "echo: raw, ok\n"))
        self.assertEqual(run.stderr, 'tls: key "it.key" does not belong to certificate "it.pem"\n')


def subject_of(certificate):
    return subprocess.run(["openssl", "x509", "-noout", "-subject", "-in", certificate],
                          capture_output=True, text=True, check=True, timeout=DEADLINE).stdout


if __name__ == "__main__":
    harness.main()
