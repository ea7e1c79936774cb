# SPDX-License-Identifier: Apache-2.0
"""The common code of the tests of `troupe serve`: a folder for applications, and the running
server.

The executable is the first argument of a test file, or the variable TROUPE.
"""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "main"))

from served_program import DEADLINE, ServingProcess, Tested, until  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
tested = Tested("TROUPE", "troupe")
executable, main, sanitized = tested.executable, tested.main, tested.sanitized


def troupe(*arguments, **options):
    return subprocess.run([executable(), *arguments], capture_output=True, text=True, timeout=4 * DEADLINE, **options)


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


class Server(ServingProcess):
    """A running `troupe serve`. It serves metrics and health checks on a Unix socket of its own, unless
    the arguments say where."""

    def __init__(self, *arguments, cwd=None, command=("serve",), admin=True, descriptors=None):
        self._admin_folder = tempfile.mkdtemp(prefix="troupe-admin-")
        self.admin_path = os.path.join(self._admin_folder, "socket")
        if admin and "--admin" not in arguments:
            arguments = (*arguments, "--admin", f"unix:{self.admin_path}")
        super().__init__("troupe", [executable(), *command, *arguments], cwd, descriptors)

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

    def wait(self, seconds=DEADLINE):
        code = super().wait(seconds)
        shutil.rmtree(self._admin_folder, ignore_errors=True)
        return code


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
