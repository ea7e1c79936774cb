# SPDX-License-Identifier: Apache-2.0
"""The common code of the attacks: the server, its baseline, the attackers' connections, and the
table.

An attack is a generator that is registered with @attack. It opens its connections, and then
yields repeatedly: each `yield` is a step, and its value is the pause until the next one. After
the attack the server must return to its baseline within a bound: as many connections and
descriptors as before, and memory within an allowance. An attack that `persists` continues
meanwhile and closes nothing: the server alone must end it.
"""

import ctypes
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "main"))

import stuck_python  # noqa: E402
from served_program import raise_descriptor_limit  # noqa: E402, F401

PATIENCE = 20.0             # seconds for events that should happen at once, on a busy host
MIB = 1 << 20
OTHERS = "127.0.0.200"      # address of the other clients, so that the attackers' limits for an address do not apply to them

UPGRADE = (b"GET /echo HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

# Time-outs are short, so that tests are. Sizes are small, so that an attack can reach them.
CONFIGURATION = """
    [listen]
    port = 0
    [admin]
    listen = "unix:admin"
    public_health = true
    [limits]
    header_bytes = "8 KiB"
    body_bytes = "256 KiB"
    request_bodies_bytes = "1 MiB"
    message_bytes = "64 KiB"
    connections_max = {connections}
    connections_per_address_max = {per_address}
    handshake_timeout = "500ms"
    request_timeout = "700ms"
    idle_timeout = "1s"
    close_timeout = "400ms"
    send_queue_bytes = "256 KiB"
    send_queues_bytes = "4 MiB"
    partial_messages_bytes = "2 MiB"
    upgrade_requests_bytes = "1 MiB"
    read_bytes_per_second = "8 MiB"
    {limits}
    [log]
    to = "log"
    [applications.echo]
    from = "echo.lua"
    files = "page"
    files_route = "/page/"
    [applications.talk]
    from = "talk.lua"
"""

ECHO = """
    local app = {}
    function app.on_message(client, data, binary)
      if data == "close" then
        client:close(4000, "bye")
      elseif binary then
        client:send_binary(data)
      else
        client:send(data)
      end
    end
    return app
"""


# A separate application, so that its work does not delay the other clients.
TALK = """
    local app, text = {}, ("x"):rep(60000)
    function app.on_message(client)
      for i = 1, 1000 do client:send(text) end
    end
    return app
"""


def die_with_parent():
    """Called in the child, so that no process is left behind, even if this program is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)          # PR_SET_PDEATHSIG


def frame(opcode, data=b"", final=True, masked=True):
    size = len(data)
    mask = 0x80 if masked else 0
    head = bytes([(0x80 if final else 0) | opcode, mask | (size if size < 126 else 126 if size < 65536 else 127)])
    if size >= 65536:
        head += struct.pack("!Q", size)
    elif size >= 126:
        head += struct.pack("!H", size)
    return head + (b"\0\0\0\0" if masked else b"") + data    # a mask of zeros leaves the data as it is


class Client:
    """A connection of an attacker. It never blocks: send() sends only the bytes that the kernel
    takes."""

    def __init__(self, sock):
        self.socket, self.heard, self.sent, self.closed, self.reset = sock, b"", 0, False, False
        sock.setblocking(False)

    def send(self, data):
        """Returns the number of bytes sent."""
        if self.closed:
            return 0
        try:
            count = self.socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0
        except OSError:
            self.closed = self.reset = True
            return 0
        self.sent += count
        return count

    def hear(self, most=1 << 20):
        """Reads the bytes that have arrived. Returns False if no more will come."""
        while not self.closed and most > 0:
            try:
                got = self.socket.recv(min(most, 65536))
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError:
                self.closed = self.reset = True
                break
            if not got:
                self.closed = True
            self.heard = (self.heard + got)[-2 * MIB:]
            most -= len(got)
        return not self.closed

    def wait(self, holds, seconds=PATIENCE):
        """Reads until `holds` returns true, the end, or the time-out. Returns whether it holds."""
        end = time.monotonic() + seconds
        while self.hear() and not holds() and time.monotonic() < end:
            select.select([self.socket], [], [], 0.05)
        return holds()

    def send_all(self, data, seconds=PATIENCE):
        """Sends the bytes, and reads meanwhile. Returns False if the server has closed before."""
        end, view = time.monotonic() + seconds, memoryview(data)
        while view and not self.closed and time.monotonic() < end:
            view = view[self.send(view):]
            self.hear()
            if view:
                select.select([self.socket], [self.socket], [], 0.05)
        return not view

    def statuses(self):
        return [int(each) for each in re.findall(rb"HTTP/1\.[01] (\d\d\d) ", self.heard)]

    def close_code(self):
        """The code of the server's close frame, or None. Messages before it are skipped."""
        at = self.heard.find(b"\r\n\r\n") + 4
        data = self.heard
        while at + 2 <= len(data):
            opcode, size = data[at] & 15, data[at + 1] & 127
            at += 2
            if size > 125:
                wide = 2 if size == 126 else 8
                size = int.from_bytes(data[at:at + wide], "big")
                at += wide
            if opcode == CLOSE and at + 2 <= len(data):
                return struct.unpack("!H", data[at:at + 2])[0]
            at += size
        return None

    def close(self, hard=False):
        if hard:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.closed = True


class Others:
    """The other clients, in a process of their own: others.py."""

    def __init__(self, port, *options):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "others.py"), str(port), OTHERS, *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=die_with_parent)
        self.lock = threading.Lock()

    def tell(self, command):
        with self.lock:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the other clients have failed")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


class Target:
    """A running server, and the other clients that it serves."""

    def __init__(self, program, command=("serve",), *, connections=1000, per_address=500, limits="",
                 descriptors=None, tls=False, websocket=True):
        self.tls, self.folder = tls, tempfile.mkdtemp(prefix="troupe-attacks-")
        self.process = self.others = None
        try:
            self._write("troupe.toml", CONFIGURATION.format(connections=connections, per_address=per_address,
                                                            limits=limits))
            self._write("echo.lua", ECHO)
            self._write("talk.lua", TALK)
            os.mkdir(self.path("page"))
            for name, size in (("huge", 1024 * MIB), ("large", 32 * MIB), ("small", 60_000)):
                with open(self.path("page/" + name), "wb") as file:
                    file.truncate(size)
            if tls:
                self._certify()
            self._start(program, command, descriptors)
            admin = ["--admin", self.path("admin")] if os.path.exists(self.path("admin")) else []
            self.others = Others(self.port, *(["--tls"] if tls else []), *([] if websocket else ["--no-websocket"]), *admin)
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))

    def _certify(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-out", self.path("it.pem"), "-keyout", self.path("it.key")],
                       check=True, capture_output=True, timeout=PATIENCE)
        with open(self.path("troupe.toml"), "a", encoding="utf-8") as file:
            file.write('\n[tls]\ncertificate = "it.pem"\nkey = "it.key"\n')

    def _start(self, program, command, descriptors):
        def prepare():
            die_with_parent()
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        with open(self.path("errors"), "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen([program, *command], cwd=self.folder, text=True, preexec_fn=prepare,
                                            stdout=subprocess.PIPE, stderr=errors)
        line = self.process.stdout.readline()
        if not re.match(r"serving https?://127\.0\.0\.1:\d+$", line):
            raise AssertionError(f"the server says {line!r} first\n{self.errors()}")
        self.port = int(line.strip().rsplit(":", 1)[1])

    def errors(self):
        with open(self.path("errors"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def stop(self):
        """Ends both processes; returns the server's exit code."""
        code = None
        if self.others:
            self.others.end()
        if self.process:
            self.process.terminate()
            try:
                code = self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def connect(self, address="127.0.0.1", receive_buffer=None, secured=None):
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(PATIENCE)
        plain.bind((address, 0))
        plain.connect(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls if secured is None else secured:
            return Client(ssl._create_unverified_context().wrap_socket(plain))
        return Client(plain)

    def connect_admin(self):
        """As an operator."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        sock.connect(self.path("admin"))
        return Client(sock)

    # ── Current figures ───────────────────────────────────────────────────────────────────────

    def metrics(self):
        """{'name{label="value"}': number}"""
        lines = self.others.tell("metrics").splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line[:1] not in ("#", "")}

    def connections(self):
        return int(self.metrics().get("troupe_http_connections", -1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024

    def state(self):
        return self.connections(), self.descriptors(), self.memory()


class Watch(threading.Thread):
    """The highest figures while an attack lasts."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.over = target, threading.Event()
        self.connections, self.descriptors, self.memory = 0, 0, 0

    def look(self, also_connections):
        self.descriptors = max(self.descriptors, self.target.descriptors())
        self.memory = max(self.memory, self.target.memory())
        if also_connections:
            self.connections = max(self.connections, self.target.connections())

    def run(self):
        number = 0
        while not self.over.wait(0.02):
            number += 1
            try:
                self.look(number % 5 == 0)
            except (OSError, AssertionError, TypeError):
                return                                  # the server has terminated, which is detected elsewhere

    def end(self):
        self.over.set()
        self.join()


ATTACKS = []


class Attack:
    def __init__(self, group, name, limit, work, persists, bound, memory):
        self.group, self.name, self.limit, self.work = group, name, limit, work
        self.persists, self.bound, self.memory = persists, bound, memory


def attack(group, name, limit, *, persists=False, bound=10.0, memory=16 * MIB):
    """`limit`: the keys of the limits that stop the attack. `bound`: seconds until the baseline.
    `memory`: the allowed growth of the process, at its highest and afterwards."""
    def register(work):
        ATTACKS.append(Attack(group, name, limit, work, persists, bound, memory))
        return work
    return register


class Run:
    """One run of an attack, as its generator sees it."""

    def __init__(self, target, long):
        self.target, self.long = target, long
        self.sent, self.wrong, self.check, self.clients = "", [], None, []
        self.seconds = 3.0 if long else 0.3             # maximum duration

    def scale(self, short, long):
        return long if self.long else short

    def connect(self, *arguments, **options):
        client = self.target.connect(*arguments, **options)
        self.clients.append(client)
        return client

    def open(self, path=b"/echo", **options):
        """Opens a WebSocket."""
        client = self.connect(**options)
        client.send_all(UPGRADE.replace(b"/echo", path))
        if not client.wait(lambda: b"\r\n\r\n" in client.heard) or client.statuses() != [101]:
            raise AssertionError(f"no WebSocket: {client.heard[:80]!r}")
        return client

    def ask(self, pieces, answers):
        """Sends the requests on a connection of their own, and reads this many responses; 0 means
        all until the end.

        Retries if the connection was closed without a response: on a busy host this program may
        be later than a time-out.
        """
        for _ in range(3):
            client = self.target.connect()
            for piece in pieces:
                client.send_all(piece)
            client.wait(lambda: client.closed or (answers > 0 and len(client.statuses()) >= answers))
            if client.statuses():
                break
            client.close()
        return client

    def expect(self, holds, text):
        if not holds:
            self.wrong.append(text)

    def expect_cut(self):
        """The server has closed all connections, with or without a proper close."""
        end = time.monotonic() + 5.0
        still = sum(not client.wait(lambda: client.closed, end - time.monotonic()) for client in self.clients)
        self.expect(still == 0, f"{still} of {len(self.clients)} connections are still open")

    def close_all(self):
        for client in self.clients:
            client.close()


def returns_to(baseline, state, allowance):
    return state[0] <= baseline[0] and state[1] <= baseline[1] and state[2] <= baseline[2] + allowance


def settle(target, baseline, allowance, bound, step, since):
    """Waits for the baseline: (seconds since then, the last state, whether it has come)."""
    while True:
        state = target.state()
        seconds = time.monotonic() - since
        if returns_to(baseline, state, allowance):
            return seconds, state, True
        if seconds > bound:
            return seconds, state, False
        step()


def run(which, target, long):
    """Runs the attack, and returns its row."""
    stuck_python.begin(300 if long else 0)
    target.others.tell("figures")
    time.sleep(1.0 if long else 0.1)                    # completes the figures from before; decides nothing
    before, baseline = target.others.tell("figures"), target.state()
    its, watch = Run(target, long), Watch(target)
    allowance = which.memory * (3 if long else 1)       # the long run has more connections
    watch.start()
    steps = which.work(its)
    is_over = False

    def step():
        nonlocal is_over
        pause = 0.01
        if not is_over and (which.persists or time.monotonic() < begun + its.seconds):
            try:
                pause = next(steps) or 0
            except StopIteration:
                is_over = True
        time.sleep(pause)

    begun = time.monotonic()
    seconds, state, is_back = 0.0, baseline, False
    try:
        # A persistent attack need not last, because it continues below.
        while not is_over and time.monotonic() < begun + (0.3 if which.persists else its.seconds):
            step()
        watch.look(True)
        # A persistent attack never stops, so its time counts from its beginning.
        since = begun if which.persists else time.monotonic()
        seconds, state, is_back = settle(target, baseline, allowance, which.bound, step, since)
        after = target.others.tell("figures")
        watch.end()
        its.expect(is_back, f"no return to the baseline within {which.bound} s: {baseline} has become {state}")
        its.expect(watch.memory <= baseline[2] + allowance,
                   f"memory grew by {(watch.memory - baseline[2]) / MIB:.1f} MiB, of {allowance / MIB:.0f} allowed")
        its.expect(after["http"]["answers"] > 0, "the other clients were not answered")
        if its.check:
            its.check()
    except AssertionError as wrong:
        its.wrong.append(str(wrong))
        after = before
    finally:
        watch.end()
        steps.close()
        its.close_all()
        stuck_python.end()
    if target.process.poll() is not None:
        its.wrong.append(f"the server exited with status {target.process.returncode}\n{target.errors()}")
    else:
        _, state, is_back = settle(target, baseline, allowance, PATIENCE, lambda: time.sleep(0.01),
                                     time.monotonic())
        its.expect(is_back, f"something is left when all clients have gone: {baseline} has become {state}")
    return {"attack": which.name, "group": which.group, "limit": which.limit, "sent": its.sent,
            "connections": watch.connections, "descriptors": watch.descriptors,
            "memory": [baseline[2], watch.memory, state[2]], "seconds": seconds, "bound": which.bound,
            "before": before, "meanwhile": after, "wrong": its.wrong}


HEAD = ("| attack | stopped by | sent | connections | descriptors | MiB: before, highest, after | back after, s | "
        "HTTP p99, ms: before, meanwhile | WebSocket p99 | failed | verdict |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|")


def row_text(row):
    def times(kind):
        pair = [row[when].get(kind) for when in ("before", "meanwhile")]
        return ", ".join("–" if not each or each["p99"] is None else f"{each['p99']:.1f}" for each in pair)
    failures = sum(each["failures"] for each in row["meanwhile"].values())
    memory = ", ".join(f"{each / MIB:.1f}" for each in row["memory"])
    verdict = "held" if not row["wrong"] else "**FAILED**: " + "; ".join(row["wrong"])
    keys = re.sub(r"(?:limits|admin)\.\w+", lambda key: f"`{key[0]}`", row["limit"])
    return (f"| {row['attack']} | {keys} | {row['sent']} | {row['connections']} | {row['descriptors']} | {memory} | "
            f"{row['seconds']:.1f} | {times('http')} | {times('websocket')} | {failures} | {verdict} |")
