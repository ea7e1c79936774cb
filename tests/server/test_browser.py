#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Both kinds of applications in headless Chromium, raw and rpc: test_browser.py path/to/troupe

Needs Debian's chromium, chromium-driver and python3-selenium.
"""

import os
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import harness
from harness import DEADLINE, ROOT, WithFolder

CONFIGURATION = f"""
    listen.port = 0
    applications.poll.from = "{ROOT}/examples/lua/poll"
    applications.poll.files = "{ROOT}/examples/lua/poll/page"
    applications.poll.config.choices = ["tea", "water"]
    applications.echo.from = "{ROOT}/examples/lua/echo"
    applications.echo.files = "{ROOT}/clients/javascript"
    applications.echo.files_route = "/client/"
"""


class Browser(WithFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.write("troupe.toml", CONFIGURATION)
        self.server = self.serve()
        profile = tempfile.TemporaryDirectory()
        self.addCleanup(profile.cleanup)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile.name}"):
            options.add_argument(flag)
        self.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.addCleanup(self.browser.quit)
        self.browser.set_script_timeout(DEADLINE)

    def find(self, testid):
        return self.browser.find_element(By.CSS_SELECTOR, f"[data-testid='{testid}']")

    def until(self, condition, what):
        WebDriverWait(self.browser, DEADLINE, 0.03).until(lambda _: condition(), f"not in time: {what}")

    def shown(self):
        """The contents of the page, read in one step, because it may change meanwhile."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll('button')].map(each => each.innerText.split(/\\s+/).filter(word => word))")

    def test_rpc_votes_in_one_tab_are_seen_in_another(self):
        self.browser.get(f"http://127.0.0.1:{self.server.port}/poll/")
        first = self.browser.current_window_handle
        self.until(lambda: self.shown() == [["tea", "0"], ["water", "0"]], "the choices")
        self.browser.switch_to.new_window("tab")
        self.browser.get(f"http://127.0.0.1:{self.server.port}/poll/")
        self.until(lambda: "2 are here" in self.find("watching").text, "both are here")
        self.find("vote-tea").click()
        self.until(lambda: self.shown() == [["tea", "1"], ["water", "0"]], "one's own vote")
        self.browser.switch_to.window(first)
        self.until(lambda: self.shown() == [["tea", "1"], ["water", "0"]], "the other's vote")
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"
                          and "favicon" not in entry["message"] and "icon.svg" not in entry["message"]], [])

    def test_raw_texts_and_binary_data_come_back(self):
        self.browser.get(f"http://127.0.0.1:{self.server.port}/poll/")
        said = self.browser.execute_async_script("""
            const done = arguments[0], said = [];
            const socket = new WebSocket(`ws://${location.host}/echo`);
            socket.binaryType = "arraybuffer";
            socket.onopen = () => { socket.send("häh?"); socket.send(new Uint8Array([0, 255, 7])); };
            socket.onmessage = ({data}) => {
              said.push(typeof data === "string" ? data : [...new Uint8Array(data)]);
              if (said.length === 2) socket.close(4000, "enough");
            };
            socket.onclose = ({code}) => done([said, code]);
        """)
        self.assertEqual(said, [["häh?", [0, 255, 7]], 4000])


if __name__ == "__main__":
    harness.main()
