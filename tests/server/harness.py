# SPDX-License-Identifier: Apache-2.0
"""The common code of the tests of `troupe serve`: a folder for applications, and the running
server.

The executable is the first argument of a test file, or the variable TROUPE.
"""

import http.client
import os
import queue
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "main"))

import stuck_python  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEADLINE = 20.0         # seconds for anything that should happen at once, on a host that is busy with other work


def executable():
    path = os.environ.get("TROUPE")
    if not path:
        sys.exit(f"usage: {sys.argv[0]} path/to/troupe   (or set TROUPE)")
    return os.path.abspath(path)


def main():
    """Runs the tests of the calling file; the first argument that is not an option is the
    executable."""
    if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
        os.environ["TROUPE"] = sys.argv.pop(1)
    executable()
    stuck_python.watch()
    unittest.main()


def troupe(*arguments, **options):
    return subprocess.run([executable(), *arguments], capture_output=True, text=True, timeout=4 * DEADLINE, **options)


def until(condition, what, seconds=DEADLINE):
    """Polls for a condition outside of this process, of which no notification exists."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        threading.Event().wait(0.01)
    return result


def sanitized():
    """Whether the executable is built with ASan or TSan, which start slowly."""
    with open(executable(), "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


ECHO = """
    local app = {}
    function app.on_start() troupe.log.info("on_start ran") end
    function app.on_stop() troupe.log.info("on_stop ran") end
    function app.on_message(client, data, binary)
      if binary then client:send_binary(data) else client:send(data) end
    end
    return app
"""


class UnixConnection(http.client.HTTPConnection):
    """HTTP on a Unix domain socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def fetch(connection, path):
    """(status, body)"""
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


class Server:
    """A running `troupe serve`. `stop()` expects that it exits with 0, so a sanitizer's report fails the test.

    It serves metrics and health checks on a Unix socket of its own, unless the arguments say where."""

    def __init__(self, *arguments, cwd=None, command=("serve",), admin=True, descriptors=None):
        self._admin_folder = tempfile.mkdtemp(prefix="troupe-admin-")
        self.admin_path = os.path.join(self._admin_folder, "socket")
        if admin and "--admin" not in arguments:
            arguments = (*arguments, "--admin", f"unix:{self.admin_path}")
        soft, hard = descriptors if isinstance(descriptors, tuple) else (descriptors, descriptors)
        limit = [] if descriptors is None else ["prlimit", f"--nofile={soft}:{hard}"]
        self.process = subprocess.Popen([*limit, executable(), *command, *arguments], cwd=cwd, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out, self.log, self.told_to_end = queue.Queue(), [], False
        self._readers = [threading.Thread(target=lambda: [self.out.put(line) for line in self.process.stdout], daemon=True),
                         threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)]
        for reader in self._readers:
            reader.start()
        try:
            line = self.out.get(timeout=DEADLINE)
        except queue.Empty:
            self.kill()
            raise AssertionError(f"it says nothing on its standard output:\n{''.join(self.log)}") from None
        self.is_secure = line.startswith("serving https://127.0.0.1:")
        if not self.is_secure and not line.startswith("serving http://127.0.0.1:"):
            self.kill()
            raise AssertionError(f"the first line is {line!r}")
        self.port = int(line.strip().rsplit(":", 1)[1])

    def socket_url(self, path):
        return f"{'wss' if self.is_secure else 'ws'}://127.0.0.1:{self.port}{path}"

    def get(self, path):
        """(status, body). Certificates are not verified."""
        if self.is_secure:
            return fetch(http.client.HTTPSConnection("127.0.0.1", self.port, timeout=DEADLINE,
                                                     context=ssl._create_unverified_context()), path)
        return fetch(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE), path)

    def ask_admin(self, path):
        """(status, body), of the admin listener."""
        return fetch(UnixConnection(self.admin_path), path)

    def says(self, text, since=0):
        """Waits for a line of the log that contains this text, searching from the given line, and
        returns it."""
        return until(lambda: next((line for line in list(self.log)[since:] if text in line), None),
                     f"a line with {text!r}")

    def signal(self, number=signal.SIGTERM):
        self.told_to_end = self.told_to_end or number != signal.SIGHUP
        self.process.send_signal(number)

    def wait(self, seconds=DEADLINE):
        """The exit code: negative if a signal ended it."""
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        shutil.rmtree(self._admin_folder, ignore_errors=True)
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    def stop(self):
        """For addCleanup: ends the process if it still runs."""
        if self.process.returncode is not None:
            return
        if not self.told_to_end:                            # a second signal would cut the drain short
            self.signal()
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not end after SIGTERM:\n{''.join(self.log)}") from None
        if code != 0:
            raise AssertionError(f"it exited with {code} after SIGTERM:\n{''.join(self.log)}")


class WithFolder:
    """For test cases: a folder of its own with the files that the test writes."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="troupe-server-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def certify(self, name, certificate, key, days=90, algorithm="ec"):
        """Writes a self-signed certificate of 127.0.0.1, and its key."""
        kind = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if algorithm == "ec" else ["rsa:2048"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-days", str(days),
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                        "-out", os.path.join(self.folder, certificate), "-keyout", os.path.join(self.folder, key)],
                       check=True, capture_output=True, timeout=4 * DEADLINE)

    def serve(self, *arguments, **how):
        server = Server(*arguments, cwd=self.folder, **how)
        self.addCleanup(server.stop)
        return server
