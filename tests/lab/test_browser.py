#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `troupe lab report` in headless Chromium, as its users see it.

Needs Debian's chromium, chromium-driver and python3-selenium.

usage: test_browser.py TROUPE
"""

import os
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

TROUPE = sys.argv.pop(1)
SCHEMES = ("light", "dark")

# For each chart: whether anything is drawn on it.
DRAWN = """
    return [...document.querySelectorAll("canvas")].filter(canvas => canvas.checkVisibility()).map(canvas => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return pixels.some(value => value !== 0);
    });"""

# Texts with a contrast of less than 4.5.
PALE = """
    const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
    const rgb = colour => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
                            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = colour => rgb(colour).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                                       .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const behind = element => { const c = getComputedStyle(element).backgroundColor;
                                return c === "rgba(0, 0, 0, 0)" && element.parentElement ? behind(element.parentElement) : c; };
    return [...document.querySelectorAll("body *")].filter(element => element.checkVisibility()
        && [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim())).filter(element => {
      const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
      return (a + .05) / (b + .05) < 4.5;
    }).map(element => element.textContent);"""


def lab(*arguments):
    subprocess.run([TROUPE, "lab", *arguments], check=True, capture_output=True)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = lambda name: os.path.join(folder.name, name)
        quick = ["--smoke", "--repeat", "2", "--json"]
        for name in ("pingpong", "mutex", "wall"):
            lab(name, *quick, path(f"{name}.json"))
        lab("peers", "ring", "fanin", "--engine", "troupe", "--engine", "floor", *quick, path("peers.json"))
        lab("pipeline", "--engine", "troupe", *quick, path("pipeline.json"), "--trace", path("run.json"))
        cls.files = [os.path.join(folder.name, name) for name in sorted(os.listdir(folder.name)) if name.endswith(".json")]
        cls.html = path("report.html")
        lab("report", "--html", cls.html, *cls.files)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={path('profile')}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)

    def show(self, width, scheme, html=None):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.get("file://" + (html or self.html))
        # Two frames: charts are drawn when their widths are known.
        self.browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));")

    def run_script(self, script):
        return self.browser.execute_script(script)

    def test_draws_every_chart_and_says_nothing_to_the_console(self):
        self.browser.get_log("browser")  # discard entries from before this test
        for scheme in SCHEMES:
            self.show(1280, scheme)
            drawn = self.run_script(DRAWN)
            self.assertGreater(len(drawn), 10)
            self.assertTrue(all(drawn), drawn)
            self.assertNotIn("[object", self.run_script("return document.body.innerText"))
        self.run_script("for (const each of document.querySelectorAll('details')) each.open = true")
        self.browser.execute_async_script("setTimeout(arguments[0], 300)")
        unfolded = self.run_script(DRAWN)
        self.assertGreater(len(unfolded), len(drawn))
        self.assertTrue(all(unfolded), unfolded)
        # "rendering" entries are advice about the way in which this test reads pixels.
        self.assertEqual([one for one in self.browser.get_log("browser") if one["source"] != "rendering"], [])

    def test_nothing_scrolls_sideways_from_a_telephone_to_a_large_screen(self):
        for width in (320, 390, 800, 1600):
            with self.subTest(width=width):
                self.show(width, "light")
                self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)
                if width >= 390:
                    self.assertEqual(self.run_script("""
                        return [...document.querySelectorAll(".table")].filter(table => table.scrollWidth > table.clientWidth + 1)
                                                                       .map(table => table.innerText)"""), [])

    def test_text_has_contrast_in_light_and_dark(self):
        for scheme in SCHEMES:
            with self.subTest(scheme):
                self.show(1280, scheme)
                self.assertEqual(self.run_script(PALE), [])

    def test_the_contents_lead_to_every_part(self):
        self.show(390, "light")
        targets = self.run_script("""
            return [...document.querySelectorAll("a[href^='#']")].map(a => [a.hash, !!document.getElementById(a.hash.slice(1))])""")
        self.assertLessEqual({"#summary", "#pingpong", "#peers", "#pipeline"}, {hash for hash, _ in targets})
        self.assertEqual([hash for hash, is_there in targets if not is_there], [])

    def test_what_a_file_says_is_text_and_never_html(self):
        with open(self.files[0], encoding="utf-8") as file:
            text = file.read()
        evil = "</script><img src=x onerror=\\\"document.title='broken'\\\"><b>bold</b>"
        with tempfile.TemporaryDirectory() as folder:
            bad, html = os.path.join(folder, "bad.json"), os.path.join(folder, "bad.html")
            with open(bad, "w", encoding="utf-8") as out:
                out.write(text.replace('"troupe"', f'"{evil}"'))
            lab("report", "--html", html, bad)
            self.show(800, "light", html)
            self.assertIn("<b>bold</b>", self.run_script("return document.body.innerText"))
            self.assertEqual(self.run_script("return document.querySelectorAll('main img').length"), 0)
            self.assertNotEqual(self.browser.title, "broken")


if __name__ == "__main__":
    unittest.main()
