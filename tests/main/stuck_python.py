# SPDX-License-Identifier: Apache-2.0
"""A watchdog for the tests in Python: if a test hangs, it ends the program with the stacks of all
threads.

CTest's time-out ends the whole program, and reports neither which test hangs nor where. watch()
is called once, before unittest.main(). A test may last TROUPE_TEST_SECONDS, by default 120; 0
means without a limit. The time of setUpClass() is not limited.
"""

import faulthandler
import os
import sys
import unittest


def begin(more=0):
    """Limits the time from now on; a later call replaces the limit. `more`: seconds beyond the
    usual ones."""
    seconds = float(os.environ.get("TROUPE_TEST_SECONDS", "120"))
    if seconds > 0:
        # It uses a thread that does not need the interpreter's lock, which a hanging test could
        # hold.
        faulthandler.dump_traceback_later(seconds + more, exit=True, file=sys.__stderr__)


def end():
    faulthandler.cancel_dump_traceback_later()


def watch():
    run = unittest.TestCase.run

    def watched(test, result=None):
        begin()
        try:
            return run(test, result)
        finally:
            end()

    unittest.TestCase.run = watched
