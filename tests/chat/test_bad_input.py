#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chat with clients that break rules or exceed limits, over raw sockets: test_bad_input.py
path/to/chat

Misbehaviour of one client must not affect the others: every test ends with two well-behaved
clients that talk.
"""

import asyncio
import contextlib
import json
import random
import time
import unittest

import harness
from harness import BINARY, CLOSE, PING, TEXT, Chat, Light, Raw, frame, handshake, until

MIB = 1 << 20
MANY = ("--connections-per-address", "4000")


class Person(Raw):
    """A well-behaved client."""

    def __init__(self, chat, name, room="lobby", receive_buffer=None):
        super().__init__(chat.port, receive_buffer)
        self.open()
        self.ask("joined", type="join", room=room, name=name)

    def tell(self, **message):
        self.send(frame(TEXT, json.dumps(message).encode()))

    def hear(self, *types):
        """The next message of one of these types."""
        whole = b""
        while (received := self.next_frame()) is not None:
            fin, opcode, payload = received
            if opcode == PING:
                self.send(frame(harness.PONG, payload))
            if opcode not in (0, TEXT):
                continue
            whole += payload
            if fin and (message := json.loads(whole))["type"] in types:
                return message
            whole = b"" if fin else whole
        raise AssertionError(f"the connection has ended, no {types} came")

    def ask(self, answer, **message):
        self.tell(**message)
        return self.hear(answer)


class BadInput(unittest.TestCase):
    options = MANY

    def setUp(self):
        self.chat = Chat(*self.options)
        self.addCleanup(self.chat.stop)

    def assertOthersTalk(self):
        with Person(self.chat, "ada", "quiet room") as ada, Person(self.chat, "bob", "quiet room") as bob:
            ada.tell(type="say", text="hello")
            self.assertEqual(bob.hear("said")["text"], "hello")

    def tearDown(self):
        self.assertIsNone(self.chat.process.poll(), "the chat has ended")
        self.assertOthersTalk()

    def assertRefused(self, status, most=505):
        """The result is an HTTP error, or the connection is closed without a response."""
        self.assertTrue(status == 0 or 400 <= status <= most, status)


class Http(BadInput):
    def test_malformed_handshakes_are_refused(self):
        good = handshake(self.chat.port)
        cases = {
            "no Upgrade": handshake(self.chat.port, Upgrade=None),
            "no Connection": handshake(self.chat.port, Connection=None),
            "another protocol": handshake(self.chat.port, Upgrade="irc"),
            "no Host": handshake(self.chat.port, Host=None),
            "no key": handshake(self.chat.port, Sec_WebSocket_Key=None),
            "a key that is too long": handshake(self.chat.port, Sec_WebSocket_Key="x" * 200),
            "no version": handshake(self.chat.port, Sec_WebSocket_Version=None),
            "version 12": handshake(self.chat.port, Sec_WebSocket_Version="12"),
            "POST": good.replace(b"GET", b"POST"),
            "HTTP/1.0": good.replace(b"HTTP/1.1", b"HTTP/1.0"),
            "another path": good.replace(b"/chat", b"/no/such/path"),
            "an origin that is not ours": handshake(self.chat.port, Origin="http://evil.example"),
            "the origin null": handshake(self.chat.port, Origin="null"),
        }
        for what, request in cases.items():
            with self.subTest(what), Raw(self.chat.port) as raw:
                raw.send(request)
                self.assertRefused(raw.response(), most=499)

    def test_our_own_origin_is_welcome(self):
        with Raw(self.chat.port) as raw:
            raw.open(Origin=self.chat.url)

    def test_garbage_is_refused(self):
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        cases = {
            "nothing": b"",
            "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(190),
            "zeros": bytes(1000),
            "empty lines": b"\r\n" * 1000,
            "no method": b" / HTTP/1.1\r\nHost: a\r\n\r\n",
            "no target": b"GET\r\n\r\n",
            "no version": b"GET /\r\n\r\n",
            "HTTP/9.9": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
            "a header without colon": b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
            "a header with a zero": b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
            "a negative length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "a length and chunks": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "a broken chunk": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n\r\n",
            "an immense chunk": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            "an unknown method": b"DANCE / HTTP/1.1\r\nHost: a\r\n\r\n",
            "a way out of the folder": b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
            "an encoded way out": b"GET /%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
            "a broken escape": b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
            **{f"noise {number} of seed {seed}": noise.randbytes(noise.randrange(1, 4000)) for number in range(50)},
        }
        for what, request in cases.items():
            with self.subTest(what), Raw(self.chat.port) as raw:
                raw.send(request)
                raw.finish()
                self.assertRefused(raw.response())

    def test_oversized_requests_are_refused(self):
        start = f"GET /chat HTTP/1.1\r\nHost: 127.0.0.1:{self.chat.port}\r\n".encode()
        cases = {
            "a target of 1 MiB": b"GET /" + b"a" * MIB + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            "a method of 1 MiB": b"A" * MIB,
            "a header of 1 MiB": start + b"X-Long: " + b"a" * MIB + b"\r\n\r\n",
            "a header name of 1 MiB": start + b"X" * MIB + b": a\r\n\r\n",
            "50,000 headers": start + b"".join(b"X-%d: a\r\n" % number for number in range(50_000)) + b"\r\n",
            "a handshake of 1 MiB": handshake(self.chat.port, Cookie="a" * MIB),
            "a body of 10 GB": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n" + bytes(MIB),
        }
        before = self.chat.rss()
        for what, request in cases.items():
            with self.subTest(what), Raw(self.chat.port) as raw:
                raw.send(request)
                raw.finish()
                self.assertRefused(raw.response())
        self.assertLess(self.chat.rss() - before, 64 * MIB)


class Frames(BadInput):
    def assertClosed(self, codes, *frames):
        with Raw(self.chat.port) as raw:
            raw.open()
            for data in frames:
                raw.send(data)
            self.assertIn(raw.close_code(), codes)
            self.assertIsNone(raw.next_frame(), "after its close, the server sends nothing and ends the connection")

    def test_frames_that_are_too_large_are_closed_with_1009(self):
        for length in (16 * MIB, 1 << 40, (1 << 63) - 1):
            for opcode in (TEXT, BINARY):
                with self.subTest(length=length, opcode=opcode):
                    self.assertClosed([1009], frame(opcode, b"x" * 1000, length=length))

    def test_a_message_that_is_too_large_in_small_frames_is_closed_with_1009(self):
        before = self.chat.rss()
        with Raw(self.chat.port) as raw:
            raw.open()
            raw.send(frame(TEXT, b"x" * 4096, fin=False))
            for _ in range(4096):                           # 16 MiB in total, or until the server closes the connection
                if not raw.send(frame(0, b"x" * 4096, fin=False)):
                    break
            self.assertEqual(raw.close_code(), 1009)
        self.assertLess(self.chat.rss() - before, 64 * MIB)

    def test_invalid_utf8_is_closed_with_1007(self):
        cases = {
            "a stray continuation": [frame(TEXT, b"\x80")],
            "an overlong slash": [frame(TEXT, b"\xc0\xaf")],
            "a surrogate": [frame(TEXT, b"\xed\xa0\x80")],
            "beyond the last character": [frame(TEXT, b"\xf4\x90\x80\x80")],
            "cut off": [frame(TEXT, b'{"type":"\xe2\x82')],
            "in the second frame": [frame(TEXT, b"{", fin=False), frame(0, b"\xff")],
            "across two frames": [frame(TEXT, b"\xe2", fin=False), frame(0, b"\x28\xa1")],
        }
        for what, frames in cases.items():
            with self.subTest(what):
                self.assertClosed([1007], *frames)

    def test_a_character_across_two_frames_is_valid(self):
        message = json.dumps({"type": "join", "room": "lobby", "name": "Łukasz"}, ensure_ascii=False).encode()
        cut = message.index("Ł".encode()) + 1
        with Raw(self.chat.port) as raw:
            raw.open()
            raw.send(frame(TEXT, message[:cut], fin=False) + frame(PING, b"in between") + frame(0, message[cut:]))
            answers = sorted((raw.next_frame(), raw.next_frame()), key=lambda answer: answer[1])
            self.assertEqual(json.loads(answers[0][2])["name"], "Łukasz")
            self.assertEqual(answers[1], (True, harness.PONG, b"in between"))

    def test_frames_that_break_the_protocol_are_closed_with_1002(self):
        cases = {
            "no mask": [frame(TEXT, b"{}", masked=False)],
            "a ping without mask": [frame(PING, b"", masked=False)],
            "a reserved bit": [frame(TEXT, b"{}", reserved=4)],
            "an unknown opcode": [frame(3, b"{}")],
            "an unknown control opcode": [frame(11, b"")],
            "a ping of 126 bytes": [frame(PING, b"x" * 126)],
            "a close of 126 bytes": [frame(CLOSE, b"\x03\xe8" + b"x" * 124)],
            "a ping of 2^40 bytes": [frame(PING, length=1 << 40)],
            "a ping in pieces": [frame(PING, b"x", fin=False)],
            "a continuation of nothing": [frame(0, b"x")],
            "a text inside of a text": [frame(TEXT, b"{", fin=False), frame(TEXT, b"}")],
            "a close with half of a code": [frame(CLOSE, b"\x03")],
            "a close with an invalid code": [frame(CLOSE, (999).to_bytes(2, "big"))],
            "a close with a reserved code": [frame(CLOSE, (1005).to_bytes(2, "big"))],
        }
        for what, frames in cases.items():
            with self.subTest(what):
                self.assertClosed([1002], *frames)

    def test_a_close_whose_reason_is_invalid_utf8_is_a_mistake(self):
        self.assertClosed([1002, 1007], frame(CLOSE, b"\x03\xe8\xff\xff"))

    def test_noise_after_the_handshake_ends_that_connection_only(self):
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        for number in range(100):
            with self.subTest(f"noise {number} of seed {seed}"), Raw(self.chat.port) as raw:
                raw.open()
                raw.send(noise.randbytes(noise.randrange(1, 2000)))
                raw.finish()
                raw.close_code()                            # any code: it matters only that the connection ends


class Patience(BadInput):
    def test_half_open_connections_do_not_stop_others(self):
        request = handshake(self.chat.port)
        with contextlib.ExitStack() as stack:
            for number in range(300):
                raw = stack.enter_context(Raw(self.chat.port))
                if number % 3 == 1:                         # half of a handshake
                    raw.send(request[:number % len(request)])
                if number % 3 == 2:                         # half of a frame
                    raw.open()
                    raw.send(frame(TEXT, b'{"type":"join"}')[:number % 15])
            started = time.monotonic()
            self.assertOthersTalk()
            self.assertLess(time.monotonic() - started, 5)

    def test_a_reader_that_never_reads_costs_bounded_memory(self):
        bound = 64 * MIB if not harness.sanitized() else 512 * MIB
        with contextlib.ExitStack() as stack:
            speaker = stack.enter_context(Person(self.chat, "speaker"))
            listener = stack.enter_context(Person(self.chat, "listener"))
            deaf = [stack.enter_context(Person(self.chat, f"deaf {number}", receive_buffer=4096)) for number in range(10)]
            text, before, most = "x" * 1500, self.chat.rss(), 0
            for number in range(200):                       # 20,000 messages: 30 MB for each of the ten
                speaker.send(frame(TEXT, json.dumps({"type": "say", "text": text}).encode()) * 100)
                for _ in range(100):
                    speaker.hear("said")
                    listener.hear("said")
                most = max(most, self.chat.rss() - before)
            print(f"\nten readers that never read, 300 MB sent to them: the server grew by {most / MIB:.1f} MiB, "
                  f"of at most {bound / MIB:.0f}", flush=True)
            self.assertLess(most, bound)
            speaker.tell(type="say", text="the end")
            self.assertEqual(listener.hear("said")["text"], "the end")
            for reader in deaf:                             # each was closed; the reason is read after the data sent before
                self.assertIn(reader.close_code(), (1008, 1013, None))

    def test_2000_connections_at_once_are_served(self):
        harness.raise_descriptor_limit()

        async def crowd():
            asyncio.get_running_loop().set_debug(False)
            people = await asyncio.gather(*(Light.connect(self.chat.port) for _ in range(2000)))
            for number, person in enumerate(people):
                person.send(json.dumps({"type": "join", "room": f"room {number % 100}", "name": f"person {number}"}))
            await asyncio.gather(*(person.hears(b'"joined"') for person in people))
            for number, person in enumerate(people):
                person.send(json.dumps({"type": "say", "text": f"from {number // 100}."}))
            for neighbour in range(20):                     # each gets the messages of all members of the same room
                await asyncio.gather(*(person.hears(b"from %d." % neighbour) for person in people))
            self.assertFalse([person for person in people if person.ended.done()])
            for person in people:
                person.transport.abort()

        asyncio.run(crowd())
        print(f"\nafter 2,000 connections at once the server uses {self.chat.rss() / MIB:.1f} MiB", flush=True)


class ConnectionsPerAddress(BadInput):
    options = ("--connections-per-address", "10")

    def test_more_connections_from_one_address_are_refused_until_one_ends(self):
        with contextlib.ExitStack() as stack:
            people = [stack.enter_context(Person(self.chat, f"person {number}")) for number in range(10)]
            for _ in range(5):
                with Raw(self.chat.port) as raw:
                    raw.send(handshake(self.chat.port))
                    self.assertRefused(raw.response())
            people[0].tell(type="say", text="still here")
            self.assertEqual(people[9].hear("said")["text"], "still here")

        def welcome():
            with Raw(self.chat.port) as raw:
                raw.send(handshake(self.chat.port))
                return raw.response() == 101

        until(welcome, "a new connection is accepted")


class DescriptorLimit(BadInput):
    limit = 64

    def setUp(self):
        self.chat = Chat(*self.options, descriptors=self.limit)
        self.addCleanup(self.chat.stop)

    def test_the_server_neither_spins_nor_forgets_those_it_has_and_recovers(self):
        with contextlib.ExitStack() as stack:
            ada, bob = (stack.enter_context(Person(self.chat, name)) for name in ("ada", "bob"))
            crowd = [stack.enter_context(Raw(self.chat.port)) for _ in range(200)]
            for raw in crowd:
                raw.send(handshake(self.chat.port))
            until(lambda: self.chat.descriptors() >= self.limit // 2, "the descriptors are nearly used up")

            before = self.chat.cpu_seconds()
            time.sleep(1)                                   # the period of the measurement, not a wait for an event
            used = self.chat.cpu_seconds() - before
            print(f"\nat the descriptor limit the server uses {used:.2f} s of CPU time in a second", flush=True)
            self.assertLess(used, 0.3)

            ada.tell(type="say", text="hello")
            self.assertEqual(bob.hear("said")["text"], "hello")
        # `tearDown` checks that new clients are still served.


if __name__ == "__main__":
    harness.main()
