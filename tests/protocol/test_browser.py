#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client in headless Chromium: it agrees with vectors.json, and communicates with a
server.

Needs Debian's chromium, chromium-driver and python3-selenium.
"""

import functools
import http.server
import json
import tempfile
import threading
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from server import ROOT, SUBPROTOCOLS, Server, stuck_python


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        profile = tempfile.TemporaryDirectory()
        cls.addClassCleanup(profile.cleanup)
        files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(ROOT)))
        cls.addClassCleanup(files.server_close)
        threading.Thread(target=files.serve_forever, daemon=True).start()
        cls.addClassCleanup(files.shutdown)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile.name}"):
            options.add_argument(flag)
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)
        cls.page = f"http://127.0.0.1:{files.server_address[1]}/tests/protocol/page.html"

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.browser.get(self.page)
        WebDriverWait(self.browser, 30, 0.03).until(lambda browser: browser.execute_script("return 'troupe' in window"))

    def run_script(self, body, *arguments):
        """Runs the body of an async function of `given`; an exception of it is a failure."""
        self.browser.set_script_timeout(30)
        said = self.browser.execute_async_script(
            "const given = arguments[0], done = arguments[1];"
            f"(async () => {{ {body} }})().then(value => done({{value}}), error => done({{error: String(error?.stack ?? error)}}));",
            list(arguments))
        self.assertIsNone(said.get("error"), said.get("error"))
        return said.get("value")

    def talk(self, body, expected):
        for protocol in SUBPROTOCOLS:
            with self.subTest(protocol):
                got = self.run_script(f"const [url, protocol] = given; const server = await troupe.connect(url, {{protocol}});"
                                      f"const fails = promise => promise.then(() => 'no error', error => error);"
                                      f"try {{ {body} }} finally {{ server.close(); }}", self.server.url, protocol)
                self.assertEqual(got, expected)

    def test_the_vectors_hold(self):
        vectors = (ROOT / "tests" / "protocol" / "vectors.json").read_text(encoding="utf-8")
        got = self.run_script("return troupe.check(JSON.parse(given[0]))", vectors)
        self.assertEqual(got["failures"], [])
        self.assertGreater(got["checked"], 2 * sum(map(len, json.loads(vectors).values())))

    def test_requests_are_answered(self):
        values = [None, True, -5, 0.5, "ä", [1, {"a": []}]]
        self.talk(f"return await Promise.all({json.dumps(values)}.map(value => server.call('echo', value)))", values)

    def test_errors_are_thrown(self):
        self.talk("const errors = ['refuse', 'fail', 'no'].map(method => fails(server.call(method, {})));"
                  "return (await Promise.all(errors)).map(error => [error.name, error.code, error.data ?? null])",
                  [["RpcError", 17, {}], ["RpcError", -32603, None], ["RpcError", -32601, None]])

    def test_notifications_arrive(self):
        self.talk("server.notify('tell', 'a', {channel: 1}); const all = await server.call('told', null, {channel: 1});"
                  "return all.at(-1)", "a")

    def test_the_server_asks_too(self):
        self.talk("server.on('double', async x => 2 * x); return await server.call('ask_back', 21)", 42)

    def test_what_a_handler_throws_is_the_answer(self):
        self.talk("server.on('double', () => { throw new troupe.RpcError(5, 'five'); });"
                  "const own = await fails(server.call('ask_back', 1));"
                  "server.on('double', () => { throw new Error('secret'); });"
                  "const other = await fails(server.call('ask_back', 1));"
                  "server.on('double', null);"
                  "const none = await fails(server.call('ask_back', 1));"
                  "return [own, other, none].map(error => [error.code, error.message])",
                  [[5, "five"], [-32603, "internal error"], [-32601, "unknown method double"]])

    def test_channels_keep_the_order(self):
        self.talk("const order = [];"
                  "server.on('slow', async number => { order.push(number); await server.call('echo'); order.push(number); });"
                  "await server.call('ask_on_a_channel', [1, 2, 3]); return order", [1, 1, 2, 2, 3, 3])

    def test_a_request_is_given_up(self):
        self.talk("const error = await fails(server.call('wait', 1, {timeout: 1}));"
                  "await server.call('open_gate'); return [error.name, await server.call('echo', 2)]", ["NoAnswer", 2])

    def test_the_end_of_the_connection_ends_requests(self):
        self.talk("const end = new Promise(resolve => server.onclose = resolve);"
                  "const waiting = fails(server.call('wait')); server.notify('drop');"
                  "return [(await waiting).name, (await end).code, server.isOpen, (await fails(server.call('echo'))).name]",
                  ["NoAnswer", 1011, False, "NoAnswer"])

    def test_what_is_malformed_ends_the_connection(self):
        self.talk("const end = new Promise(resolve => server.onclose = resolve); server.notify('garbage');"
                  "return (await end).code", 4000)

    def test_a_lost_connection_is_made_again(self):
        got = self.run_script(
            "const server = await troupe.connect(given[0], {reconnect: {least: 1, most: 10}}); const seen = [];"
            "for (let i = 0; i < 3; ++i) {"
            "  const again = new Promise(resolve => server.onopen = resolve);"
            "  server.onclose = ({again}) => seen.push(again > 0);"
            "  server.notify('drop'); await again; seen.push(await server.call('echo', i));"
            "} server.close(); return seen", self.server.url)
        self.assertEqual(got, [True, 0, True, 1, True, 2])

    def test_a_connection_that_cannot_be_made_is_an_error(self):
        got = self.run_script("return troupe.connect('ws://127.0.0.1:1/').then(() => '', error => error.name)")
        self.assertEqual(got, "NoAnswer")


if __name__ == "__main__":
    stuck_python.watch()
    unittest.main()
