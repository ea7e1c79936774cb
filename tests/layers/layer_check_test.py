#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants violations in a small tree, and checks that each is found, and nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("layer_check.py")

CLEAN = {
    "include/troupe/troupe.hpp": "#include <troupe/actor/ref.hpp>\n",
    "include/troupe/base/assert.hpp": "#include <cstdint>\n",
    "include/troupe/sync/atomic.hpp": "#include <atomic>\n",
    "include/troupe/sync/parker.hpp": "#include <troupe/base/assert.hpp>\n",
    "include/troupe/mailbox/mailbox.hpp": "#include <troupe/sync/parker.hpp>\n",
    "include/troupe/scheduler/worker.hpp": "#include <troupe/sync/parker.hpp>\n",
    "include/troupe/actor/ref.hpp": "#include <troupe/mailbox/mailbox.hpp>\n"
                                    "#include <troupe/scheduler/worker.hpp>\n",
    "include/troupe/http/server.hpp": "#include <boost/asio.hpp>\n#include <troupe/troupe.hpp>\n",
    "src/base/assert.cpp": "#include <troupe/base/assert.hpp>\n#include <linux/futex.h>\n",
    "src/base/assert_test.cpp": "#include <gtest/gtest.h>\n#include <gmock/gmock.h>\n",
    "src/scheduler/deque.hpp": "#include <troupe/sync/atomic.hpp>\n",
    "src/scheduler/worker.cpp": '#include "deque.hpp"\n',
    "src/actor/ref.cpp": '#include "scheduler/deque.hpp"\n#include <sys/syscall.h>\n',
    "src/actor/ref_test.cpp": "#include <troupe/troupe.hpp>\n",
    "src/http/server.cpp": "#include <nlohmann/json.hpp>\n",
    "include/troupe/testkit/gtest.hpp": "#include <gtest/gtest-spi.h>\n#include <troupe/actor/ref.hpp>\n",
    "src/testkit/gtest_test.cpp": "#include <gtest/gtest.h>\n#include <troupe/testkit/gtest.hpp>\n",
    "examples/chat/room.hpp": "#include <troupe/troupe.hpp>\n",
    "examples/chat/main.cpp": '#include "room.hpp"\n#include <fmt/format.h>\n',
    "lab/frame/run.hpp": "#include <atomic>\n#include <nlohmann/json.hpp>\n",
    "lab/frame/run.cpp": '#include "lab/frame/run.hpp"\n#include "scheduler/deque.hpp"\n',
    "tests/main/waits.hpp": "",
    "src/base/waits_test.cpp": '#include "waits.hpp"\n',
    "examples/chat/simulation_test.cpp": '#include "waits.hpp"\n',
    "cli/main.cpp": '#include "lab/frame/run.hpp"\n#include <CLI/CLI.hpp>\n',
}


class LayerCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text):
        path = Path(self.folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_check(self):
        run = subprocess.run([sys.executable, CHECK, self.folder.name], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()[:-1]

    def assert_found(self, *expected):
        status, found = self.run_check()
        self.assertEqual(found, list(expected))
        self.assertEqual(status, 1)

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.run_check(), (0, []))

    def test_an_upward_include_is_found(self):
        self.write("include/troupe/sync/parker.hpp", "\n\n#include <troupe/actor/ref.hpp>\n")
        self.assert_found(
            "include/troupe/sync/parker.hpp:3: <troupe/actor/ref.hpp>: actor lies above sync")

    def test_an_upward_include_in_a_source_is_found(self):
        self.write("src/scheduler/worker.cpp", "#include <troupe/http/server.hpp>\n")
        self.assert_found(
            "src/scheduler/worker.cpp:1: <troupe/http/server.hpp>: http lies above scheduler")

    def test_a_header_of_the_tests_in_what_is_no_test_is_found(self):
        self.write("src/base/assert.cpp", '#include "waits.hpp"\n')
        self.assert_found('src/base/assert.cpp:1: "waits.hpp": there is no such file')

    def test_an_upward_include_in_a_test_is_found(self):
        self.write("src/base/assert_test.cpp", "#include <troupe/sync/parker.hpp>\n")
        self.assert_found(
            "src/base/assert_test.cpp:1: <troupe/sync/parker.hpp>: sync lies above base")

    def test_an_upward_include_of_a_private_header_is_found(self):
        self.write("src/base/assert.cpp", '#include "../scheduler/deque.hpp"\n')
        self.assert_found(
            'src/base/assert.cpp:1: "../scheduler/deque.hpp": scheduler lies above base')

    def test_a_sibling_is_found(self):
        self.write("include/troupe/mailbox/mailbox.hpp", "#include <troupe/scheduler/worker.hpp>\n")
        self.assert_found("include/troupe/mailbox/mailbox.hpp:1: <troupe/scheduler/worker.hpp>: "
                          "scheduler and mailbox are siblings")

    def test_a_foreign_library_in_the_core_is_found(self):
        self.write("src/scheduler/worker.cpp", "#include <boost/lockfree/queue.hpp>\n")
        self.assert_found("src/scheduler/worker.cpp:1: <boost/lockfree/queue.hpp>: "
                          "the core uses only the C++ standard library and Linux")

    def test_googletest_outside_of_a_test_is_found(self):
        self.write("src/base/assert.cpp", "#include <gtest/gtest.h>\n")
        self.assert_found("src/base/assert.cpp:1: <gtest/gtest.h>: "
                          "the core uses only the C++ standard library and Linux")

    def test_an_atomic_past_the_alias_is_found(self):
        self.write("src/scheduler/deque.hpp", "#include <atomic>\n")
        self.assert_found("src/scheduler/deque.hpp:1: <atomic>: "
                          "atomics go through <troupe/sync/atomic.hpp>")

    def test_an_unknown_layer_is_found(self):
        self.write("src/util/strings.cpp", "")
        self.write("include/troupe/misc.hpp", "")
        self.assert_found("include/troupe/misc.hpp:1: lies in the folder of no layer",
                          "src/util/strings.cpp:1: the folder util is no layer")

    def test_a_private_header_in_a_public_one_is_found(self):
        self.write("include/troupe/actor/ref.hpp", '#include "../../../src/scheduler/deque.hpp"\n')
        self.assert_found('include/troupe/actor/ref.hpp:1: "../../../src/scheduler/deque.hpp": '
                          "a public header includes no private one")

    def test_the_lab_in_the_library_is_found(self):
        self.write("src/http/server.cpp", '#include "../../lab/frame/run.hpp"\n')
        self.assert_found('src/http/server.cpp:1: "../../lab/frame/run.hpp": lies outside of the layers')

    def test_the_lab_in_an_example_is_found(self):
        self.write("examples/chat/main.cpp", '#include "../../lab/frame/run.hpp"\n')
        self.assert_found('examples/chat/main.cpp:1: "../../lab/frame/run.hpp": '
                          "an example includes public headers and those of examples")

    def test_the_program_in_the_lab_is_found(self):
        self.write("cli/options.hpp", "#include <cstdint>\n")
        self.write("lab/frame/run.cpp", '#include "cli/options.hpp"\n')
        self.assert_found('lab/frame/run.cpp:1: "cli/options.hpp": cli lies above lab')

    def test_a_private_header_in_an_example_is_found(self):
        self.write("examples/chat/main.cpp", '#include "../../src/scheduler/deque.hpp"\n')
        self.assert_found('examples/chat/main.cpp:1: "../../src/scheduler/deque.hpp": '
                          "an example includes public headers and those of examples")

    def test_the_umbrella_stands_for_what_it_includes(self):
        self.write("src/base/assert_test.cpp", "#include <troupe/troupe.hpp>\n")
        self.assert_found(
            "src/base/assert_test.cpp:1: <troupe/actor/ref.hpp>: actor lies above base")

    def test_the_umbrella_in_the_library_is_found(self):
        self.write("src/actor/ref.cpp", "#include <troupe/troupe.hpp>\n")
        self.assert_found("src/actor/ref.cpp:1: <troupe/troupe.hpp>: "
                          "the umbrella is for users, not for the core itself")

    def test_the_umbrella_covers_the_core_only(self):
        self.write("include/troupe/troupe.hpp", "#include <troupe/http/server.hpp>\n")
        status, found = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("include/troupe/troupe.hpp:1: <troupe/http/server.hpp>: "
                      "the umbrella includes layers of the core only", found)

    def test_what_is_foreign_in_the_test_kit_is_found(self):
        self.write("include/troupe/testkit/probe.hpp", "#include <gtest/gtest.h>\n#include <vector>\n")
        self.assert_found("include/troupe/testkit/probe.hpp:1: <gtest/gtest.h>: testkit uses only the C++ "
                          "standard library and Linux, but for <troupe/testkit/gtest.hpp>")

    def test_an_include_of_nothing_is_found(self):
        self.write("src/actor/ref.cpp", '#include <troupe/actor/gone.hpp>\n#include "gone.hpp"\n')
        self.assert_found("src/actor/ref.cpp:1: <troupe/actor/gone.hpp>: there is no such file",
                          'src/actor/ref.cpp:2: "gone.hpp": there is no such file')

    def test_a_computed_include_is_found(self):
        self.write("src/base/assert.cpp", "#include HEADER\n")
        self.assert_found("src/base/assert.cpp:1: HEADER: a computed include hides the layer")

    def test_odd_spelling_hides_nothing(self):
        self.write("src/base/assert.cpp", "/* one\ntwo */ #  include  <troupe/sync/parker.hpp> // why\n")
        self.assert_found("src/base/assert.cpp:2: <troupe/sync/parker.hpp>: sync lies above base")

    def test_a_comment_is_no_include(self):
        self.write("src/base/assert.cpp",
                   "// #include <troupe/sync/parker.hpp>\n/*\n#include <troupe/sync/parker.hpp>\n*/\n")
        self.assertEqual(self.run_check(), (0, []))

    def test_a_comment_mark_in_a_string_hides_nothing(self):
        self.write("src/base/assert.cpp",
                   'auto any = "*/*";\n#include <troupe/sync/parker.hpp>\nauto all = "*/*";\n')
        self.assert_found("src/base/assert.cpp:2: <troupe/sync/parker.hpp>: sync lies above base")

    def test_an_empty_tree_fails(self):
        with tempfile.TemporaryDirectory() as empty:
            run = subprocess.run([sys.executable, CHECK, empty], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)


if __name__ == "__main__":
    unittest.main()
