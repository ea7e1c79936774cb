# SPDX-License-Identifier: Apache-2.0
"""The common code of tests of a program that serves: where it is, its process, and waiting.

A harness names the program's environment variable and its name:

    tested = Tested("TROUPE_CHAT", "chat")
    executable, main, sanitized = tested.executable, tested.main, tested.sanitized
"""

import os
import queue
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import stuck_python

DEADLINE = 20.0         # seconds for anything that should happen at once, on a host that is busy with other work


class Tested:
    """The program under test. It is the first argument of a test file, or an environment variable."""

    def __init__(self, variable, name):
        self.variable, self.name = variable, name

    def executable(self):
        path = os.environ.get(self.variable)
        if not path:
            sys.exit(f"usage: {sys.argv[0]} path/to/{self.name}   (or set {self.variable})")
        return os.path.abspath(path)

    def main(self):
        """Runs the tests of the calling file; the first argument that is not an option is the
        executable."""
        if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
            os.environ[self.variable] = sys.argv.pop(1)
        self.executable()
        stuck_python.watch()
        unittest.main()

    def sanitized(self):
        """Whether the executable is built with ASan or TSan: it starts slowly and needs much memory."""
        with open(self.executable(), "rb") as file:
            content = file.read()
        return b"__asan_init" in content or b"__tsan_init" in content


def raise_descriptor_limit():
    """Returns the new limit of this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def until(condition, what, seconds=DEADLINE):
    """Polls for a condition outside of this process, of which no notification exists."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        threading.Event().wait(0.01)
    return result


class ServingProcess:
    """A running program that serves, and says so in its first line. `stop()` expects that it exits
    with 0, so a sanitizer's report fails the test.

    `descriptors`: the limit of the process, or a pair of its soft and its hard limit."""

    def __init__(self, name, command, cwd=None, descriptors=None):
        soft, hard = descriptors if isinstance(descriptors, tuple) else (descriptors, descriptors)
        limit = [] if descriptors is None else ["prlimit", f"--nofile={soft}:{hard}"]
        self.name = name
        self.process = subprocess.Popen([*limit, *command], cwd=cwd, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.out, self.log, self.told_to_end = queue.Queue(), [], False
        self._readers = [threading.Thread(target=lambda: [self.out.put(line) for line in self.process.stdout], daemon=True),
                         threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)]
        for reader in self._readers:
            reader.start()
        try:
            line = self.out.get(timeout=DEADLINE)
        except queue.Empty:
            self.kill()
            raise AssertionError(f"{name} says nothing on its standard output:\n{''.join(self.log)}") from None
        self.is_secure = line.startswith("serving https://127.0.0.1:")
        if not self.is_secure and not line.startswith("serving http://127.0.0.1:"):
            self.kill()
            raise AssertionError(f"the first line is {line!r}")
        self.port = int(line.strip().rsplit(":", 1)[1])

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
            raise AssertionError(f"{self.name} did not end after SIGTERM:\n{''.join(self.log)}") from None
        if code != 0:
            raise AssertionError(f"{self.name} exited with {code} after SIGTERM:\n{''.join(self.log)}")
