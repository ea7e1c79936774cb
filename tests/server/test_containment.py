#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No client and no script can stop another application.

One server has an application that misbehaves in every way of a list, and beside it an honest
application and a session in C++. While the first misbehaves, the others get a message every 2
ms, and every reply must arrive. The latencies are printed, but not tested:

    test_containment.py path/to/beside                          each way for half a second
    test_containment.py path/to/beside --seconds 5 [--workers N] [--run-time 1s] [WAY...]
                                                                for docs/measurements/containment.md
"""

import argparse
import base64
import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

import harness
from harness import DEADLINE, ECHO, WithFolder, sanitized, until

SECONDS, WORKERS, RUN_TIME, ONLY = 0.5, 1, "100ms", []

CONTINUATION, TEXT, BINARY, CLOSE = 0, 1, 2, 8


class Client:
    """A WebSocket without a library, which can be ruder than one."""

    def __init__(self, port, path, protocol=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(3 * DEADLINE)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wanted = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{wanted}"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                             f"{base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        self.read = b""
        head = self._until(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise ConnectionError(head.decode())

    def _more(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionError("the server has hung up")
        self.read += got

    def _until(self, end):
        while end not in self.read:
            self._more()
        before, self.read = self.read.split(end, 1)
        return before

    def _take(self, count):
        while len(self.read) < count:
            self._more()
        taken, self.read = self.read[:count], self.read[count:]
        return taken

    @staticmethod
    def frame(opcode, data):
        size = len(data)
        head = bytes([0x80 | opcode, 0x80 | (size if size < 126 else 126 if size < 65536 else 127)])
        if size >= 65536:
            head += struct.pack("!Q", size)
        elif size >= 126:
            head += struct.pack("!H", size)
        return head + b"\0\0\0\0" + data                 # a mask of zeros leaves the data as it is

    def say(self, data):
        self.socket.sendall(self.frame(*((TEXT, data.encode()) if isinstance(data, str) else (BINARY, data))))

    def hear(self):
        """The next message, or the code if the server closes."""
        while True:
            opcode, size = self._take(2)
            opcode &= 15
            size &= 127
            if size > 125:
                size = struct.unpack("!H" if size == 126 else "!Q", self._take(2 if size == 126 else 8))[0]
            data = self._take(size)
            if opcode in (TEXT, BINARY):
                return data.decode() if opcode == TEXT else data
            if opcode == CLOSE:
                return struct.unpack("!H", data[:2])[0] if data else 1005

    def ask(self, message):
        self.say(message)
        return self.hear()

    def close(self):
        self.socket.close()


# ── The honest clients, which are measured ────────────────────────────────────────────────────────
# They run in a process of their own, so that the work of this process does not affect the figures.

def measure(port, paths):
    """Sends to each path every 2 ms until the standard input ends. Prints all latencies in ms."""
    took, stop = {path: [] for path in paths}, threading.Event()

    def ask(path):
        client, number = Client(port, path), 0
        while not stop.is_set():
            number += 1
            begin = time.perf_counter()
            if client.ask(f"ping {number}") != f"ping {number}":
                raise AssertionError(f"{path} has said something else")
            took[path].append((time.perf_counter() - begin) * 1000)
            stop.wait(0.002)

    threads = [threading.Thread(target=ask, args=[path]) for path in paths]
    for thread in threads:
        thread.start()
    print("begun", flush=True)
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(took))


class Honest:
    def __init__(self, port, paths):
        self.paths = paths
        self.process = subprocess.Popen([sys.executable, __file__, "--measure", str(port), *paths], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def end(self):
        """{path: (answers, p50, p99, max)} in ms"""
        out, _ = self.process.communicate(timeout=4 * DEADLINE)
        if self.process.returncode != 0:
            raise AssertionError("an answer of the honest ones is missing")
        result = {}
        for path, took in json.loads(out).items():
            took.sort()
            result[path] = (len(took), took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)], took[-1])
        return result


# ── Misbehaving clients and scripts ───────────────────────────────────────────────────────────────

TIME, MEMORY, ERROR, SLOW_TEXT = "ran for more than", "memory", "an error of the script", "whose message took too long to format"

# name: (the body of the handler, the end of each run; None: it ends well). A script that needs much
# memory may exceed its time first.
SCRIPTS = {
    "endless loop": ("while true do end", TIME),
    "in pcall": ("while true do pcall(function() while true do end end) end", TIME),
    "in xpcall and its handler": ("while true do xpcall(error, function() while true do end end) end", TIME),
    "in a coroutine": ("while true do coroutine.wrap(function() while true do end end)() end", TIME),
    "in a metamethod": ("return setmetatable({}, {__index = function() while true do end end}).x", TIME),
    "in __close": ("local x <close> = setmetatable({}, {__close = function() while true do end end})", TIME),
    "in __tostring of an error": ("error(setmetatable({}, {__tostring = function() while true do end end}))", SLOW_TEXT),
    "comparing long strings": ("local a, b = ('\\0'):rep(9000000), ('\\0'):rep(9000000) while a <= b do end", TIME),
    "memory bomb": ("local t = {} while true do t[#t + 1] = {} end", MEMORY),
    "memory bomb in pcall": ("while true do pcall(string.rep, 'x', 1 << 40) pcall(string.rep, 'x', 60000000) end", MEMORY),
    "string.rep, format": ("while true do local s = ('x'):rep(8000000) s = ('%s%s'):format(s, s) end", TIME),
    "pattern": ("return ('a'):rep(30000):find(('.-'):rep(20) .. 'b')", TIME),
    "sort with a lying order": ("local t = {} for i = 1, 100000 do t[i] = i end "
                                "while true do pcall(table.sort, t, function() return true end) end", TIME),
    "huge JSON": ("local s = '[' .. ('[],'):rep(99000) .. '[]]' while true do troupe.json.decode(s) end", TIME),
    "deep JSON": ("while true do pcall(troupe.json.decode, ('['):rep(1000000)) end", TIME),
    "huge CBOR": ("local t = {} for i = 1, 90000 do t[i] = i end while true do troupe.cbor.encode(t) end", TIME),
    "errors": (f"error('{ERROR}')", ERROR),
    "errors of megabytes": (f"error('{ERROR}' .. ('x'):rep(1000000))", ERROR),
    "timers": ("for i = 1, 1000 do troupe.after(0, function() for j = 1, 1000 do end end) end", None),
    "a timer that is too slow": ("local n, t = 0 t = troupe.every(0.001, function() for i = 1, 200000 do end "
                              "n = n + 1 if n == 10 then t:cancel() end end)", None),
    "handlers that wait": ("for i = 1, 1000 do troupe.after(0, function() troupe.sleep(1) end) end", None),
    "asking in a circle": ("troupe.send('accomplice', 'circle', 3)", None),
    "asking oneself": ("troupe.ask('abuser', 'nobody', {}, {timeout = 0.01})", None),
    "sending to others": ("for i = 1, 1000 do troupe.send('accomplice', 'take', 'x') end", None),
    "printing": ("while true do print(('x'):rep(1000)) end", TIME),
    "printing megabytes": ("local s = ('x'):rep(1000000) while true do print(s, s, s) end", TIME),
    "broadcasts": ("for i = 1, 1000 do troupe.room('all'):send(('x'):rep(1000)) end", None),
}

ABUSER = """
    local ways = {
%s
    }
    local app = {calls = {}}
    function app.on_open(client) troupe.room("all"):join(client) end
    function app.on_message(client, data)
      if data == "ping" then client:send("pong") elseif ways[data] then ways[data](client) end
    end
    return app
""" % "\n".join(f'      ["{name}"] = function(client) {body} end,' for name, (body, _) in SCRIPTS.items())

ACCOMPLICE = """
    local app = {calls = {}}
    function app.on_message() end
    function app.calls.take() end
    function app.calls.circle(n)
      if n > 0 then return troupe.ask("accomplice", "circle", n - 1, {timeout = 0.05}) end
    end
    return app
"""

HOARDER = """
    local all = {}
    return {on_message = function() while true do all[#all + 1] = ("x"):rep(1000000) .. #all end end}
"""

METHODS = "return {rpc = {add = function(client, p) return p.a + p.b end}}"


def ignore_hang_ups(work):
    def run(*arguments):
        with contextlib.suppress(OSError):
            work(*arguments)
    return run


class Ways:
    """Misbehaviours of clients: each is a function that is called repeatedly until the time is
    over."""

    def __init__(self, port):
        self.port = port
        self.kept = []

    def client(self, *arguments, **options):
        self.kept.append(Client(self.port, *arguments, **options))
        return self.kept[-1]

    def end(self):
        for client in self.kept:
            client.close()

    def flood(self):
        """Sends as much as it is allowed to, and reads everything."""
        client = self.client("/echoes")
        frames = client.frame(TEXT, b"x" * 100) * 200

        def work():
            client.socket.sendall(frames)
            for _ in range(200):
                client.hear()
        return work

    def flood_unread(self):
        """Sends as much as it is allowed to, reads nothing, and reconnects when it is closed."""
        state = {}

        @ignore_hang_ups
        def work():
            if "client" not in state:
                state["client"] = Client(self.port, "/echoes", receive_buffer=4096)
                state["client"].socket.settimeout(0.2)
            try:
                state["client"].socket.sendall(Client.frame(BINARY, b"x" * 60000) * 20)
            except OSError:
                state.pop("client").close()
        return work

    def slow_readers_of_a_broadcast(self):
        clients = []

        @ignore_hang_ups
        def work():
            while len(clients) < 50:
                clients.append(self.client("/abuser", receive_buffer=4096))
            try:
                clients[0].say("broadcasts")
            except OSError:
                clients[:] = []
            time.sleep(0.01)
        return work

    def malformed_rpc(self):
        @ignore_hang_ups
        def work():
            client = Client(self.port, "/methods", protocol="troupe.rpc.json")
            for wrong in ["{", "[]", '{"id":1}', '{"id":"x","method":7}', "null", '{"method":"' + "x" * 1000 + '"}'] * 50:
                client.say(wrong)
            client.close()
        return work

    def slow_handshakes(self):
        sockets = []

        def work():
            if len(sockets) < 500:
                one = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
                one.sendall(b"GET /abuser HTTP/1.1\r\nHost: x\r\n")
                sockets.append(one)
                self.kept.append(one)
            else:
                with contextlib.suppress(OSError):
                    sockets[int(time.monotonic() * 1000) % 500].send(b"X")
        return work

    def oversized_messages(self):
        @ignore_hang_ups
        def work():
            client = Client(self.port, "/abuser")
            client.say(b"x" * 100000)
            client.hear()
            client.close()
        return work

    def frames_that_lie(self):
        @ignore_hang_ups
        def work():
            client = Client(self.port, "/abuser")
            client.socket.sendall(b"\x82\xff" + struct.pack("!Q", 1 << 62) + b"\0\0\0\0xxx")
            client.hear()
            client.close()
        return work

    def restarts(self):
        """Makes an instance fill its memory until it is replaced, and reconnects."""
        @ignore_hang_ups
        def work():
            client = Client(self.port, "/hoarder")
            for _ in range(10):
                client.say("x")
            while not isinstance(client.hear(), int):
                pass
            client.close()
        return work

    def coming_and_going(self):
        @ignore_hang_ups
        def work():
            Client(self.port, "/abuser").close()
        return work

    def coming_and_resetting(self):
        @ignore_hang_ups
        def work():
            client = Client(self.port, "/abuser")
            client.say("x")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        return work


CLIENTS = [name for name in vars(Ways) if not name.startswith("_") and name not in ("client", "end")]


class Containment(WithFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.write("honest.lua", ECHO)
        self.write("echoes.lua", ECHO)
        self.write("abuser.lua", ABUSER)
        self.write("accomplice.lua", ACCOMPLICE)
        self.write("methods.lua", METHODS)
        self.write("hoarder.lua", HOARDER)
        self.write("troupe.toml", f"""
            listen.port = 0
            log.to = "log"
            log.access = false
            admin.listen = "off"
            admin.public_health = true
            system.workers = {WORKERS}
            [applications]
            honest.from = "honest.lua"
            echoes.from = "echoes.lua"
            methods.from = "methods.lua"
            hoarder.from = "hoarder.lua"
            [applications.abuser]
            from = "abuser.lua"
            limits.run_timeout = "{RUN_TIME}"
            [applications.accomplice]
            from = "accomplice.lua"
            limits.waiting = 100
        """)
        self.server = self.serve("troupe.toml", admin=False)
        self.table = []

    def failures(self):
        """How often each kind of failure is in the log, and the size of the log."""
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        lines = re.findall(r"error +abuser.*", text)
        return {kind: sum(kind in line for line in lines) for kind in (TIME, MEMORY, ERROR, SLOW_TEXT)}

    def memory(self):
        """Resident bytes of the server."""
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024

    def contain(self, name, work, check=lambda rounds: None):
        """Runs `work` repeatedly, while requests are sent to the honest applications."""
        honest = Honest(self.server.port, ["/honest", "/native"])
        end, rounds = time.monotonic() + SECONDS, 0
        try:
            while time.monotonic() < end or rounds == 0:
                work()
                rounds += 1
        finally:
            times = honest.end()
        check(rounds)
        self.assertIsNone(self.server.process.poll(), f"the server has ended: {name}")
        self.assertLess(self.memory(), (2000 if sanitized() else 600) << 20, name)
        for path, (answers, *_) in times.items():
            self.assertGreater(answers, 0, (name, path))
        self.table.append((name, rounds, times))
        honest, native = times["/honest"], times["/native"]
        print(f"| {name} | {rounds} | " + " | ".join(f"{x:.1f}" for x in honest[1:] + native[1:]) + " |", flush=True)

    def test_each_way(self):
        print(f"\n{WORKERS} workers, run_timeout {RUN_TIME}, {SECONDS} s each; ms\n"
              "| what is done | times | Lua p50 | p99 | max | C++ p50 | p99 | max |\n|---|---|---|---|---|---|---|---|")
        wanted = lambda name: not ONLY or name in ONLY
        if wanted("nothing"):
            self.contain("nothing", lambda: time.sleep(SECONDS))
        for name, (_, ends_with) in SCRIPTS.items():
            if wanted(name):
                with self.subTest(name):
                    self.script(name, ends_with)
        for name in CLIENTS:
            if wanted(name):
                with self.subTest(name):
                    ways = Ways(self.server.port)
                    self.contain(name.replace("_", " "), getattr(ways, name)())
                    ways.end()
        self.assertEqual(self.server.get("/readyz")[0], 200)
        # The misbehaving application is still available too.
        client = Client(self.server.port, "/abuser")
        self.assertEqual(client.ask("ping"), "pong")
        client.close()

    def script(self, name, ends_with):
        client = Client(self.server.port, "/abuser")
        before = self.failures()

        def work():
            client.say(name)
            client.say("ping")
            while client.hear() != "pong":                  # broadcasts arrive as well
                pass

        def check(rounds):
            kinds = [TIME, MEMORY] if ends_with == MEMORY else [ends_with] if ends_with else []

            def new(*kinds):
                now = self.failures()
                return sum(now[kind] - before[kind] for kind in kinds)
            until(lambda: new(*kinds) >= (rounds if kinds else 0), f"{rounds} failures: {name}")
            self.assertEqual((new(*kinds), new(TIME, MEMORY, ERROR, SLOW_TEXT)), (rounds if kinds else 0,) * 2, name)

        self.contain(name, work, check)
        client.close()


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(int(sys.argv[2]), sys.argv[3:])
        sys.exit()
    parser = argparse.ArgumentParser()
    parser.add_argument("executable")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--run-time", default=RUN_TIME)
    parser.add_argument("ways", nargs="*")
    given = parser.parse_intermixed_args()
    SECONDS, WORKERS, RUN_TIME, ONLY = given.seconds, given.workers, given.run_time, given.ways
    sys.argv[1:] = [given.executable]
    harness.main()
