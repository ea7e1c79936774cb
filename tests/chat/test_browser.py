#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chat in headless Chromium, as its users see it: test_browser.py path/to/chat

Needs Debian's chromium, chromium-driver and python3-selenium. Each test has its own chat and
tabs.
"""

import json
import shutil
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import harness
from harness import Chat, DEADLINE

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
DESKTOP = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}


class Tab:
    """A tab of the browser, addressed by the data-testid attributes of the page."""

    def __init__(self, browser, url):
        self.browser = browser
        browser.switch_to.new_window("tab")
        self.handle = browser.current_window_handle
        self.cdp("Emulation.setDeviceMetricsOverride", **DESKTOP)
        browser.get(url)

    def front(self):
        if self.browser.current_window_handle != self.handle:
            self.browser.switch_to.window(self.handle)
        return self.browser

    def cdp(self, command, **parameters):
        return self.front().execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.front().execute_script(script, *arguments)

    def find(self, testid):
        return self.front().find_element(By.CSS_SELECTOR, f"[data-testid='{testid}']")

    def texts(self, testid):
        """The texts of all such elements, read in one step, as the page may change meanwhile."""
        return self.run("return [...document.querySelectorAll(`[data-testid='${arguments[0]}']`)]"
                        ".map(element => element.textContent)", testid)

    def until(self, condition, what):
        return WebDriverWait(self.front(), DEADLINE, 0.03).until(lambda _: condition(), f"not in time: {what}")

    def shows(self, testid):
        self.until(lambda: self.find(testid).is_displayed(), f"{testid} is shown")
        return self.find(testid)

    def hides(self, testid):
        self.until(lambda: not self.find(testid).is_displayed(), f"{testid} is hidden")

    def says(self, testid, expected):
        self.until(lambda: expected in self.find(testid).text, f"{testid} says {expected!r}")

    def has(self, *messages):
        """The page shows exactly these messages, in this order."""
        try:
            self.until(lambda: self.texts("message") == list(messages), "the messages")
        except Exception:
            raise AssertionError(f"the page shows {self.texts('message')}, not {list(messages)}") from None

    def fill(self, testid, text):
        self.find(testid).clear()
        self.find(testid).send_keys(text)

    def join(self, name, room="lobby"):
        self.shows("welcome")
        self.fill("name", name)
        self.fill("room", room)
        self.find("join").click()
        self.connected()
        return self

    def say(self, text):
        self.find("text").send_keys(text, Keys.ENTER)

    def connected(self):
        self.shows("chat")
        self.says("state", "Connected")

    def offline(self, offline=True):
        self.cdp("Network.enable")                          # without it, only navigator.onLine changes
        self.cdp("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        profile = tempfile.mkdtemp(prefix="troupe-chat-browser-")
        cls.addClassCleanup(shutil.rmtree, profile, ignore_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)
        cls.first_tab = cls.browser.current_window_handle

    def setUp(self):
        self.chat = self.start()
        self.addCleanup(self.close_tabs)

    def start(self, **options):
        chat = Chat(**options)
        self.addCleanup(chat.stop)
        return chat

    def close_tabs(self):
        for handle in self.browser.window_handles:
            if handle != self.first_tab:
                self.browser.switch_to.window(handle)
                self.browser.close()
        self.browser.switch_to.window(self.first_tab)

    def tab(self, where="/"):
        return Tab(self.browser, self.chat.url + where)

    def restart(self):
        self.chat = self.start(port=self.chat.port)


class Talking(Browser):
    def test_two_tabs_join_and_talk(self):
        self.browser.get_log("browser")                     # discard entries from before this test
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        ada.says("people-title", "2 people")
        self.assertEqual(sorted(text.strip() for text in ada.texts("person")), ["Aada (you)", "Bbob"])
        ada.until(lambda: ada.texts("note") == ["bob arrived"], "a line about bob")
        spoken = []
        for number in range(6):
            (ada if number % 3 else bob).say(f"message {number}")
            spoken.append(f"message {number}")
            ada.has(*spoken)
            bob.has(*spoken)
        self.assertEqual(len(ada.texts("group")), 4)        # bob | ada ada | bob | ada ada
        bob.find("leave").click()
        bob.shows("welcome")
        ada.says("people-title", "1 person")
        ada.until(lambda: ada.texts("note") == ["bob arrived", "bob left"], "a second line about bob")
        self.assertEqual(self.browser.get_log("browser"), [])         # no error, and no violation of the policy

    def test_what_people_write_is_text_and_never_html(self):
        ada = self.tab().join("<i>ada</i>")
        bob = self.tab().join("bob")
        evil = "<img src=x onerror=\"document.title='broken'\"><b>&amp;</b>"
        ada.say(evil)
        for tab in (ada, bob):
            tab.has(evil)
            self.assertEqual(tab.run("return document.querySelectorAll('main i, main b img, #log img').length"), 0)
            self.assertNotEqual(tab.run("return document.title"), "broken")

    def test_enter_sends_and_shift_enter_is_a_new_line(self):
        ada = self.tab().join("ada")
        ada.find("text").send_keys("one", Keys.SHIFT + Keys.ENTER + Keys.NULL, "two")
        ada.find("text").send_keys(Keys.ENTER)
        ada.has("one\ntwo")
        self.assertEqual(ada.find("text").get_property("value"), "")

    def test_a_name_that_is_taken_is_said_where_it_was_typed(self):
        self.tab().join("ada")
        other = self.tab()
        other.fill("name", "ada")
        other.find("join").click()
        other.until(lambda: other.find("join-error").text, "an error at the form")
        other.join("eve")

    def test_what_the_server_refuses_comes_back_into_the_box(self):
        ada = self.tab().join("ada")
        text = "x" * 10_000
        ada.run("document.querySelector('[data-testid=text]').value = arguments[0]", text)
        ada.find("send").click()
        ada.until(lambda: ada.find("send-error").text, "an error at the box")
        self.assertEqual(ada.find("text").get_property("value"), text)
        self.assertEqual((ada.texts("message"), ada.texts("pending-message")), ([], []))

    def test_the_address_names_the_room_and_the_name_is_remembered(self):
        self.tab().join("ada", "green room").find("leave").click()
        guest = self.tab("/#green%20room")
        guest.shows("welcome")
        self.assertEqual(guest.find("room").get_property("value"), "green room")
        self.assertEqual(guest.find("name").get_property("value"), "ada")
        guest.find("join").click()
        guest.connected()
        guest.says("room-title", "green room")

    def test_who_leaves_may_come_back(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        for _ in range(3):
            ada.find("leave").click()
            bob.says("people-title", "1 person")
            ada.join("ada")
            bob.says("people-title", "2 people")

    def test_the_log_stays_where_one_reads_and_a_button_tells_of_more(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        bob.say("first\n" + "line\n" * 3)
        for number in range(30):
            bob.say(f"message {number}")
        ada.until(lambda: len(ada.texts("message")) >= 30, "a long log")
        at_end = "const s = document.querySelector('[data-testid=scroller]'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5"
        ada.until(lambda: ada.run(at_end), "the log follows")
        ada.run("document.querySelector('[data-testid=scroller]').scrollTop = 0")
        ada.until(lambda: not ada.run(at_end), "one has scrolled up")
        bob.say("something new")
        ada.shows("new-messages")
        self.assertFalse(ada.run(at_end))
        ada.find("new-messages").click()
        ada.until(lambda: ada.run(at_end), "the log is at its end")
        ada.hides("new-messages")


class ComingBack(Browser):
    def test_after_kill_9_the_page_comes_back_and_doubles_nothing(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        ada.say("before")
        bob.has("before")
        ada.run("Math.random = () => 1000")                 # ada's next attempt is far off; bob retries by himself
        self.chat.kill()
        for tab in (bob, ada):
            tab.says("banner-text", "Next try in")
            tab.says("state", "Reconnecting")
        ada.say("typed while away")                         # Enter, which must not send it, now or later
        self.assertEqual(ada.find("text").get_property("value"), "typed while away")
        self.restart()
        ada.find("try-now").click()
        for tab in (ada, bob):
            tab.connected()
            tab.hides("banner")
            tab.has("before")
            self.assertEqual(len(tab.texts("gap")), 1)      # the new server has no record of earlier messages
        self.assertEqual(ada.find("text").get_property("value"), "typed while away")
        ada.find("text").send_keys(Keys.ENTER)
        bob.has("before", "typed while away")
        bob.say("after")
        for tab in (ada, bob):
            tab.has("before", "typed while away", "after")
            self.assertEqual(len(tab.texts("gap")), 1)

    def test_after_an_offline_time_the_page_shows_what_it_missed_once(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        bob.say("before")
        ada.has("before")
        for round in range(2):
            ada.offline()
            ada.says("state", "Reconnecting")
            ada.says("banner-text", "offline")
            missed = [f"missed {round}.{number}" for number in range(3)]
            for text in missed:
                bob.say(text)
            bob.until(lambda: bob.texts("message")[-3:] == missed, "bob has spoken")
            ada.says("state", "Reconnecting")
            ada.offline(False)
            ada.connected()
            ada.until(lambda: ada.texts("message")[-3:] == missed, "what was missed")
        bob.say("after")
        spoken = ["before"] + [f"missed {round}.{number}" for round in range(2) for number in range(3)] + ["after"]
        for tab in (ada, bob):
            tab.has(*spoken)
            self.assertEqual(tab.texts("gap"), [])

    def test_more_missed_than_the_server_remembers_is_shown_as_a_gap(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        bob.say("before")
        ada.has("before")
        ada.offline()
        ada.says("state", "Reconnecting")
        for number in range(60):
            bob.say(f"missed {number}")
        bob.until(lambda: len(bob.texts("message")) == 61, "bob has spoken")
        ada.offline(False)
        ada.connected()
        ada.has("before", *(f"missed {number}" for number in range(10, 60)))
        self.assertEqual(len(ada.texts("gap")), 1)

    def test_a_message_whose_confirmation_was_lost_is_not_said_twice(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        ada.run("""
            const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function (data) {        // goes out, and then the connection breaks
              WebSocket.prototype.send = send;
              send.call(this, data);
              dispatchEvent(new Event("offline"));
            };""")
        ada.say("once")
        bob.has("once")
        ada.connected()
        ada.has("once")
        self.assertEqual((ada.texts("pending-message"), ada.find("text").get_property("value")), ([], ""))
        bob.has("once")

    def test_a_message_that_was_lost_on_its_way_comes_back_into_the_box(self):
        ada = self.tab().join("ada")
        bob = self.tab().join("bob")
        ada.run("""
            const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function (data) {        // the connection breaks before anything goes out
              WebSocket.prototype.send = send;
              dispatchEvent(new Event("offline"));
            };""")
        ada.say("lost")
        ada.until(lambda: ada.find("text").get_property("value") == "lost", "the text is in the box again")
        ada.connected()
        self.assertEqual((ada.texts("pending-message"), ada.texts("message")), ([], []))
        ada.find("text").send_keys(Keys.ENTER)
        for tab in (ada, bob):
            tab.has("lost")

    def test_a_tab_that_is_loaded_again_is_in_its_room_again(self):
        ada = self.tab().join("ada", "green room")
        bob = self.tab().join("bob", "green room")
        ada.say("before")
        bob.has("before")
        ada.front().refresh()
        ada.connected()
        ada.has("before")
        ada.says("room-title", "green room")
        ada.say("after")
        bob.has("before", "after")


class Looks(Browser):
    def test_nothing_scrolls_sideways_from_a_telephone_to_a_large_screen(self):
        tab = self.tab()

        def check(part, *visible):
            for width in (320, 390, 800, 1600):
                with self.subTest(part, width=width):
                    tab.cdp("Emulation.setDeviceMetricsOverride", **(PHONE | {"width": width}))
                    self.assertEqual(tab.run("""
                        return [document.documentElement, document.body, document.querySelector("[data-testid=scroller]")]
                          .filter(element => element.scrollWidth > element.clientWidth).map(element => element.tagName)"""), [])
                    for testid in visible:
                        box = tab.find(testid).rect
                        self.assertTrue(0 <= box["x"] <= box["x"] + box["width"] <= width and box["height"] > 0, (testid, box))

        check("the form", "name", "room", "join")
        tab.join("W" * 30, "M" * 30)
        tab.say("w" * 500)
        tab.has("w" * 500)
        check("the room", "text", "send", "leave", "state", "people-title")
        self.chat.kill()
        tab.shows("banner")
        check("the room without connection", "text", "send", "leave", "state", "try-now")

    def test_every_field_and_button_has_a_name_and_can_be_reached_by_keyboard(self):
        tab = self.tab()
        names = {node["name"]["value"] for node in tab.cdp("Accessibility.getFullAXTree")["nodes"]
                 if node.get("role", {}).get("value") in ("textbox", "button")}
        self.assertEqual(names, {"Your name", "Room", "Join"})
        tab.find("name").send_keys("ada", Keys.TAB)
        self.assertEqual(tab.run("return document.activeElement.dataset.testid"), "room")
        tab.front().switch_to.active_element.send_keys(Keys.ENTER)
        tab.connected()
        self.assertEqual(tab.run("return document.activeElement.dataset.testid"), "text")
        nodes = tab.cdp("Accessibility.getFullAXTree")["nodes"]
        found = {(node["role"]["value"], node["name"]["value"]) for node in nodes if "role" in node and "name" in node}
        self.assertLessEqual({("textbox", "Message"), ("button", "Send"), ("button", "Leave")}, found)
        self.assertIn("log", {node["role"]["value"] for node in nodes if "role" in node})

    def test_text_has_contrast_in_light_and_dark(self):
        script = """
            const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
            const rgb = colour => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
                                    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
            const light = colour => rgb(colour).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                                               .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
            const behind = element => { const c = getComputedStyle(element).backgroundColor;
                                        return c === "rgba(0, 0, 0, 0)" && element.parentElement ? behind(element.parentElement) : c; };
            const low = [];
            for (const element of document.querySelectorAll("main *")) {
              if (!element.checkVisibility() || ![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
              if (element.disabled) continue;
              const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
              if ((a + .05) / (b + .05) < 4.5) low.push(`${element.textContent}: ${((a + .05) / (b + .05)).toFixed(2)}`);
            }
            return low;"""
        ada = self.tab()
        names = [f"{letter}{number}" for letter in "abcdefgh" for number in range(3)]
        ada.join("ada")
        for name in names:
            self.visit(name, "hello")
        ada.say("hello")
        ada.until(lambda: len(ada.texts("message")) == len(names) + 1, "everybody's greeting")
        for scheme in ("light", "dark"):
            with self.subTest(scheme):
                ada.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                self.assertEqual(ada.run(script), [])

    def visit(self, name, text):
        """A client without a tab joins and says a text."""
        person = harness.Raw(self.chat.port).open()
        self.addCleanup(person.close)
        for message in ({"type": "join", "room": "lobby", "name": name}, {"type": "say", "text": text}):
            person.send(harness.frame(harness.TEXT, json.dumps(message).encode()))


if __name__ == "__main__":
    harness.main()
