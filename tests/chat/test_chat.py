#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chat as its clients see it, through Python's websockets: test_chat.py path/to/chat"""

import asyncio
import json
import signal
import subprocess
import unittest

import websockets

import harness
from harness import Chat, DEADLINE, Light, executable


class Person:
    """A person with a connection to the chat."""

    @classmethod
    async def connect(cls, chat):
        self = cls()
        self.socket = await websockets.connect(chat.socket_url, open_timeout=DEADLINE, max_size=None)
        return self

    @classmethod
    async def join(cls, chat, name, room="lobby"):
        self = await cls.connect(chat)
        self.joined = await self.ask("joined", type="join", room=room, name=name)
        return self

    async def send(self, **message):
        await self.socket.send(json.dumps(message))

    async def next(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), DEADLINE))

    async def hear(self, *types):
        """The next message of one of these types; an unexpected error fails the test."""
        while (message := await self.next())["type"] not in types:
            if message["type"] == "error":
                raise AssertionError(message["reason"])
        return message

    async def ask(self, answer, **message):
        await self.send(**message)
        return await self.hear(answer)

    async def say(self, text):
        await self.send(type="say", text=text)

    async def texts(self, count):
        return [(await self.hear("said"))["text"] for _ in range(count)]

    async def refused(self, data):
        """Sends an invalid message and returns the reason for its refusal."""
        await self.socket.send(data if isinstance(data, (str, bytes)) else json.dumps(data))
        return (await self.hear("error"))["reason"]

    async def close(self):
        await self.socket.close()


class WithChat(unittest.IsolatedAsyncioTestCase):
    options = ()

    def setUp(self):
        self.people = []
        self.chat = self.start(*self.options)
        self.addAsyncCleanup(self.everybody_goes)

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)         # unittest turns it on, which is too expensive for a crowd

    def start(self, *options):
        chat = Chat(*options)
        self.addAsyncCleanup(asyncio.to_thread, chat.stop)  # a thread, so that clients can reply to its close frame
        return chat

    async def everybody_goes(self):
        await asyncio.gather(*(person.close() for person in self.people))

    async def join(self, name, room="lobby"):
        self.people.append(await Person.join(self.chat, name, room))
        return self.people[-1]

    async def connect(self):
        self.people.append(await Person.connect(self.chat))
        return self.people[-1]


class Talking(WithChat):
    async def test_two_clients_talk_in_the_order_they_spoke(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        spoken, heard_by_ada, heard_by_bob = [], [], []
        for number in range(200):
            await (ada if number % 3 else bob).say(f"message {number}")
            spoken.append(f"message {number}")
            heard_by_ada += await ada.texts(1)              # the next speaker has received this message
            heard_by_bob += await bob.texts(1)
        self.assertEqual(heard_by_ada, spoken)
        self.assertEqual(heard_by_bob, spoken)

    async def test_what_one_client_says_without_waiting_keeps_its_order(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        spoken = [f"message {number}" for number in range(500)]

        async def speak():
            for text in spoken:
                await ada.say(text)

        _, heard_by_ada, heard_by_bob = await asyncio.gather(speak(), ada.texts(500), bob.texts(500))
        self.assertEqual(heard_by_ada, spoken)
        self.assertEqual(heard_by_bob, spoken)

    async def test_a_message_says_who_when_and_which(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        await ada.say("hello, wörld 👋 <b>\"quoted\"</b>\n\u2028\\")
        first = await ada.hear("said")
        self.assertEqual(await bob.hear("said"), first)
        self.assertEqual(first["from"], "ada")
        self.assertEqual(first["text"], "hello, wörld 👋 <b>\"quoted\"</b>\n\u2028\\")
        self.assertGreater(first["at"], 1_600_000_000_000)
        await bob.say("second")
        second = await ada.hear("said")
        self.assertEqual(second["id"], first["id"] + 1)
        self.assertGreaterEqual(second["at"], first["at"])

    async def test_rooms_do_not_hear_each_other(self):
        here, there = await self.join("ada", "here"), await self.join("ada", "there")
        await here.say("only here")
        await there.say("only there")
        self.assertEqual(await here.texts(1), ["only here"])
        self.assertEqual(await there.texts(1), ["only there"])

    async def test_the_last_50_messages_are_told_on_joining(self):
        ada = await self.join("ada")
        self.assertEqual(ada.joined["history"], [])
        said = []
        for number in range(60):
            await ada.say(f"message {number}")
            said.append(await ada.hear("said"))
        bob = await self.join("bob")
        fields = ("id", "from", "text", "at")
        self.assertEqual([{field: message[field] for field in fields} for message in bob.joined["history"]],
                         [{field: message[field] for field in fields} for message in said[-50:]])


class Presence(WithChat):
    async def test_who_is_there_is_told_on_joining_and_on_every_change(self):
        ada = await self.join("ada")
        self.assertEqual(ada.joined["people"], ["ada"])
        self.assertEqual((ada.joined["room"], ada.joined["name"]), ("lobby", "ada"))
        bob = await self.join("bob")
        self.assertEqual(sorted(bob.joined["people"]), ["ada", "bob"])
        arrived = await ada.hear("arrived")
        self.assertEqual(arrived["name"], "bob")
        if "people" in arrived:
            self.assertEqual(sorted(arrived["people"]), ["ada", "bob"])
        await bob.close()
        left = await ada.hear("left")
        self.assertEqual(left["name"], "bob")
        if "people" in left:
            self.assertEqual(left["people"], ["ada"])

    async def test_a_connection_that_is_cut_has_left(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        bob.socket.transport.abort()
        self.assertEqual((await ada.hear("left"))["name"], "bob")

    async def test_a_name_is_taken_until_its_owner_leaves(self):
        ada = await self.join("ada")
        other = await self.connect()
        self.assertRegex(await other.refused({"type": "join", "room": "lobby", "name": "ada"}), r"(?i)ada|name")
        await other.ask("joined", type="join", room="elsewhere", name="ada")         # a name belongs to a room
        third = await self.connect()
        await ada.ask("left_room", type="leave")
        await third.ask("joined", type="join", room="lobby", name="ada")

    async def test_a_name_is_free_again_when_its_connection_is_gone(self):
        watcher = await self.join("watcher")
        for _ in range(20):
            ada = await Person.join(self.chat, "ada")
            await watcher.hear("arrived")
            await ada.close()
            await watcher.hear("left")

    async def test_who_left_hears_nothing_and_may_come_back(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        await ada.hear("arrived")
        await bob.ask("left_room", type="leave")
        self.assertEqual((await ada.hear("left"))["name"], "bob")
        await ada.say("while bob is away")
        await ada.hear("said")
        self.assertRegex(await bob.refused({"type": "say", "text": "anybody?"}), r"(?i)join|room")  # has received nothing before
        rejoined = await bob.ask("joined", type="join", room="lobby", name="bob")
        self.assertEqual([message["text"] for message in rejoined["history"]], ["while bob is away"])
        self.assertEqual((await ada.hear("arrived"))["name"], "bob")
        await bob.say("back")
        self.assertEqual(await ada.texts(1), ["back"])

    async def test_who_left_may_join_another_room_under_another_name(self):
        ada = await self.join("ada")
        await ada.ask("left_room", type="leave")
        joined = await ada.ask("joined", type="join", room="green room", name="countess")
        self.assertEqual((joined["room"], joined["name"]), ("green room", "countess"))


class Mistakes(WithChat):
    """Each mistake is answered with an error that describes it, and the connection stays open."""

    anywhere = [
        ("no JSON", "hello", r"(?i)json"),
        ("an empty frame", "", r"(?i)json"),
        ("JSON that ends early", '{"type":"join","room":"lob', r"(?i)json"),
        ("half of a surrogate pair", '{"type":"join","room":"lobby","name":"\\ud800"}', r"(?i)json|surrogate|name"),
        ("a number that is too large", '{"type":1e999}', r"(?i)json|number|type"),
        ("brackets without end", "[" * 10_000, r"(?i)json|deep|nest"),
        ("a deep array", "[" * 5_000 + "]" * 5_000, r"(?i)object|deep|nest|json"),
        ("an array", "[1, 2]", r"(?i)object"),
        ("a string", '"join"', r"(?i)object"),
        ("a number", "5", r"(?i)object"),
        ("null", "null", r"(?i)object"),
        ("no type", {}, r"type"),
        ("a type that is no string", {"type": 5}, r"type"),
        ("an unknown type", {"type": "dance"}, r"dance"),
    ]
    outside = [
        ("join without name", {"type": "join", "room": "lobby"}, r"name"),
        ("join without room", {"type": "join", "name": "eve"}, r"room"),
        ("a name that is no string", {"type": "join", "room": "lobby", "name": 5}, r"name"),
        ("a room that is no string", {"type": "join", "room": None, "name": "eve"}, r"room"),
        ("an empty name", {"type": "join", "room": "lobby", "name": ""}, r"name"),
        ("an over-long name", {"type": "join", "room": "lobby", "name": "n" * 1000}, r"name"),
        ("an over-long room", {"type": "join", "room": "r" * 1000, "name": "eve"}, r"room"),
        ("say before join", {"type": "say", "text": "hello"}, r"(?i)join|room"),
        ("leave before join", {"type": "leave"}, r"(?i)join|room"),
    ]
    inside = [
        ("say without text", {"type": "say"}, r"text"),
        ("a text that is no string", {"type": "say", "text": ["hello"]}, r"text"),
        ("an over-long text", {"type": "say", "text": "x" * 10_000}, r"(?i)text|message|long"),
    ]

    async def test_mistakes_before_joining(self):
        eve = await self.connect()
        for what, data, reason in self.anywhere + self.outside:
            with self.subTest(what):
                self.assertRegex(await eve.refused(data), reason)
        await eve.ask("joined", type="join", room="lobby", name="eve")

    async def test_mistakes_inside_a_room(self):
        ada, eve = await self.join("ada"), await self.join("eve")
        for number, (what, data, reason) in enumerate(self.anywhere + self.inside):
            with self.subTest(what):
                self.assertRegex(await eve.refused(data), reason)
                await eve.say(f"still here {number}")
                self.assertEqual(await ada.texts(1), [f"still here {number}"])
                self.assertEqual(await eve.texts(1), [f"still here {number}"])


class Crowd(WithChat):
    options = ("--connections-per-address", "2000")

    async def test_a_thousand_clients_each_see_all_of_10_messages(self):
        harness.raise_descriptor_limit()
        crowd = []
        for first in range(0, 1000, 50):
            some = await asyncio.gather(*(Light.connect(self.chat.port, keep=b'"said"') for _ in range(50)))
            for number, client in enumerate(some, first):
                client.send(json.dumps({"type": "join", "room": "crowd", "name": f"client {number}"}))
                client.transport.pause_reading()            # half a million messages: each client gets all of its own later
            crowd += some
        watcher = await self.join("watcher", "crowd")                 # each earlier client has joined, or will be seen
        there = set(watcher.joined["people"])
        while len(there) < 1001:
            there.add((await watcher.hear("arrived"))["name"])
        for client in crowd:
            client.transport.resume_reading()

        for number in range(10):                            # ten speakers at once: any order, but the same for all
            crowd[number * 100].send(json.dumps({"type": "say", "text": f"message {number}"}))
        heard = await asyncio.gather(*(client.kept(10) for client in crowd))
        await watcher.ask("said", type="say", text="the end")         # anything doubled would come before this
        await asyncio.gather(*(client.kept(11) for client in crowd))

        reference = [json.loads(message) for message in heard[0]]
        self.assertEqual([message["id"] for message in reference], list(range(1, 12)))
        self.assertEqual({message["text"] for message in reference[:10]}, {f"message {number}" for number in range(10)})
        self.assertEqual(reference[10]["text"], "the end")
        for client in crowd:
            self.assertEqual([json.loads(message) for message in client.messages], reference)
        for client in crowd:
            client.transport.abort()


class Ending(WithChat):
    async def end_of(self, person):
        """The code with which a connection is closed."""
        try:
            while True:
                await person.next()
        except websockets.ConnectionClosed:
            return person.socket.close_code

    async def test_sigterm_and_sigint_tell_everybody_1001_and_exit_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                chat = self.start()
                people = [await Person.join(chat, f"person {index}") for index in range(20)] + [await Person.connect(chat)]
                chat.signal(number)
                self.assertEqual(await asyncio.gather(*(self.end_of(person) for person in people)), [1001] * 21)
                self.assertEqual(await asyncio.to_thread(chat.wait), 0)
                with self.assertRaises(OSError):
                    await Person.connect(chat)

    async def test_what_was_said_before_sigterm_is_heard(self):
        ada, bob = await self.join("ada"), await self.join("bob")
        for number in range(100):
            await ada.say(f"message {number}")
        await ada.texts(100)                                # the server has all of them, and bob has read none
        self.chat.signal()
        self.assertEqual(await bob.texts(100), [f"message {number}" for number in range(100)])
        self.assertEqual(await self.end_of(bob), 1001)

    async def test_a_second_signal_ends_at_once(self):
        with harness.Raw(self.chat.port).open() as stubborn:          # never replies to a close frame
            self.chat.signal()
            self.assertEqual(await asyncio.to_thread(stubborn.close_code), 1001)
            self.chat.signal()
            await asyncio.to_thread(self.chat.wait, 2)

    async def test_a_client_that_does_not_answer_does_not_hold_up_the_end(self):
        with harness.Raw(self.chat.port).open():
            self.chat.signal()
            self.assertEqual(await asyncio.to_thread(self.chat.wait), 0)

    async def test_after_kill_9_the_same_port_serves_again(self):
        for _ in range(3):
            ada = await self.join("ada")
            await ada.say("hello")
            await ada.texts(1)
            self.chat.kill()
            self.assertNotEqual(await self.end_of(ada), 1001)
            self.chat = self.start("--port", str(self.chat.port))
        again = await self.join("ada")
        self.assertEqual(again.joined["history"], [])
        await again.say("hello")
        self.assertEqual(await again.texts(1), ["hello"])


class CommandLine(unittest.TestCase):
    def run_chat(self, *options):
        done = subprocess.run([executable(), *options], capture_output=True, text=True, timeout=DEADLINE)
        return done.returncode, done.stdout, done.stderr

    def test_a_port_that_is_taken_gives_one_line_that_names_the_option(self):
        chat = Chat()
        self.addCleanup(chat.stop)
        code, output, errors = self.run_chat("--port", str(chat.port))
        self.assertEqual((code, output), (1, ""))
        self.assertRegex(errors, r"\A[^\n]*--port[^\n]*\n\Z")

    def test_a_wrong_option_gives_one_line_that_says_which(self):
        for options, what in ((["--nonsense"], "--nonsense"), (["--port", "banana"], "--port"), (["--port"], "--port"),
                              (["--port", "70000"], "--port"), (["--port", "-1"], "--port")):
            with self.subTest(options):
                code, output, errors = self.run_chat(*options)
                self.assertEqual((code, output), (2, ""))
                self.assertRegex(errors, rf"\A[^\n]*{what}[^\n]*\n\Z")


if __name__ == "__main__":
    harness.main()
