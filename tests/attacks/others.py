#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The other clients of an attacked server: small requests, and echoes on a WebSocket.

    others.py PORT ADDRESS [--tls] [--no-websocket]

This is a separate process, so that the attacker's work does not affect the figures. It sends a
request every 2 ms, and reconnects after a failure. Commands arrive on the standard input, one
per line; the reply to each is a line of JSON:

    figures     latencies in ms and counts since the last such command
    metrics     the text at /metrics
"""

import base64
import json
import os
import select
import socket
import ssl
import sys
import time

PATIENCE = 20.0


class Refused(OSError):
    """The server has responded, but not with the expected response."""


class Connection:
    def __init__(self, port, address, tls):
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(address, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = plain
        if tls:
            self.socket = ssl._create_unverified_context().wrap_socket(plain)
        self.read = b""

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionResetError("the server has closed the connection")
        self.read += got

    def until(self, end):
        while end not in self.read:
            self.more()
        before, self.read = self.read.split(end, 1)
        return before

    def take(self, count):
        while len(self.read) < count:
            self.more()
        taken, self.read = self.read[:count], self.read[count:]
        return taken

    def close(self):
        self.socket.close()


class Http(Connection):
    def get(self, path="/healthz"):
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = self.until(b"\r\n\r\n").lower()
        if not head.startswith(b"http/1.1 200"):
            raise Refused(head[:20])
        return self.take(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))

    ask = get


class WebSocket(Connection):
    def __init__(self, port, address, tls):
        super().__init__(port, address, tls)
        self.socket.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                            + base64.b64encode(os.urandom(16)) + b"\r\n\r\n")
        head = self.until(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise Refused(head[:20])

    def ask(self):
        self.socket.sendall(b"\x81\x84\0\0\0\0ping")
        while True:
            kind, size = self.take(2)
            data = self.take(size)
            if kind == 0x81 and data == b"ping":
                return
            if kind == 0x88:
                raise ConnectionResetError("the server has closed the WebSocket")
            if kind == 0x89:
                self.socket.sendall(b"\x8a\x80\0\0\0\0")


class Probe:
    """One of the other clients. Latencies are those of requests on an established connection."""

    def __init__(self, kind, *where):
        self.kind, self.where, self.connection = kind, where, None
        self.times, self.failures = [], 0

    def ask(self):
        try:
            if self.connection is None:
                self.connection = self.kind(*self.where)
            begin = time.perf_counter()
            self.connection.ask()
            self.times.append((time.perf_counter() - begin) * 1000)
        except (OSError, ValueError):
            self.failed()

    def failed(self):
        self.failures += 1
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def metrics(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.connection is None:
                    self.connection = self.kind(*self.where)
                return self.connection.get("/metrics").decode()
            except (OSError, ValueError):
                self.failed()
                time.sleep(0.01)
        return ""

    def figures(self):
        times, failures = sorted(self.times), self.failures
        self.times, self.failures = [], 0
        at = lambda share: times[min(len(times) - 1, int(len(times) * share))] if times else None
        return {"answers": len(times), "failures": failures, "p50": at(0.5), "p99": at(0.99),
                "max": times[-1] if times else None}


def main():
    port, address, tls = int(sys.argv[1]), sys.argv[2], "--tls" in sys.argv
    http = Probe(Http, port, address, tls)
    probes = {"http": http}
    if "--no-websocket" not in sys.argv:
        probes["websocket"] = Probe(WebSocket, port, address, tls)
    commands = open(0, "rb", buffering=0)               # unbuffered: select() would not see data in a buffer
    while True:
        for probe in probes.values():
            probe.ask()
        if not select.select([commands], [], [], 0.002)[0]:
            continue
        command = commands.readline().strip()
        if not command:
            return
        answer = http.metrics() if command == b"metrics" else {name: each.figures() for name, each in probes.items()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
