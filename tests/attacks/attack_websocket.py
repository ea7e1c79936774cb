# SPDX-License-Identifier: Apache-2.0
"""WebSockets whose messages never end, are too large, arrive in floods, or are not read."""

import struct

from harness import BINARY, CLOSE, CONTINUATION, MIB, PING, TEXT, UPGRADE, attack, frame


def expect_codes(run, *codes):
    """Each client was closed with one of these codes.

    On a busy host an attacker may be silent for too long, and is then cut. Most are not.
    """
    wrong = [client.close_code() for client in run.clients if client.close_code() not in (None, *codes)]
    run.expect(not wrong, f"{len(wrong)} of {len(run.clients)} were closed with {wrong[:3]}, and not {codes}")
    cut = sum(client.close_code() is None for client in run.clients)
    run.expect(cut <= len(run.clients) // 2, f"{cut} of {len(run.clients)} were not closed with a code")


def drip(run, count, begin, more, pause=0.05):
    for _ in range(count):
        run.open().send_all(begin)
    while True:
        for client in run.clients:
            client.send(more)
            client.hear()
        yield pause


def part(opcode, data=b""):
    return frame(opcode, data, final=False)


# ── Incomplete messages ───────────────────────────────────────────────────────────────────────────

@attack("websocket", "incomplete messages", "limits.request_timeout", persists=True)
def half_messages(run):
    count = run.scale(100, 400)
    run.sent = f"{count} frames that announce 60,000 bytes; only the first 20 are sent"
    run.check = lambda: expect_codes(run, 1008, 1013)  # memory suffices for the first part of each
    yield from drip(run, count, frame(BINARY, b"x" * 60_000)[:20], b"")


@attack("websocket", "incomplete large messages", "limits.partial_messages_bytes, limits.request_timeout",
        persists=True)
def half_large_messages(run):
    count = run.scale(100, 400)
    run.sent = f"{count} frames that announce 60,000 bytes; only the first 50,000 are sent"
    run.check = lambda: expect_codes(run, 1008, 1013)
    yield from drip(run, count, frame(BINARY, b"x" * 60_000)[:50_000], b"")


@attack("websocket", "slow messages", "limits.request_timeout", persists=True)
def slow_messages(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} frames, a byte each 50 ms", lambda: expect_codes(run, 1008)
    yield from drip(run, count, frame(BINARY, b"x" * 60_000)[:20], b"x")


@attack("websocket", "incomplete frame headers", "limits.request_timeout", persists=True)
def half_heads(run):
    count = run.scale(50, 400)
    run.sent, run.check = f"{count} first bytes of a frame", lambda: expect_codes(run, 1008)
    yield from drip(run, count, frame(TEXT, b"x")[:1], b"")


@attack("websocket", "endless slow fragments", "limits.request_timeout", persists=True)
def slow_fragments(run):
    count = run.scale(50, 400)
    run.sent, run.check = f"{count} messages, a part of a byte each 50 ms", lambda: expect_codes(run, 1008)
    yield from drip(run, count, part(TEXT, b"a"), part(CONTINUATION, b"b"))


@attack("websocket", "endless empty fragments", "limits.request_timeout", persists=True)
def empty_fragments(run):
    count = run.scale(10, 50)
    run.sent, run.check = f"{count} messages, empty parts as fast as they are taken", run.expect_cut
    yield from drip(run, count, part(TEXT), part(CONTINUATION) * 500, pause=0)


@attack("websocket", "endless fast fragments", "limits.message_bytes", persists=True)
def fast_fragments(run):
    count = run.scale(50, 400)
    run.sent, run.check = f"{count} messages, parts of 1 KiB without end", run.expect_cut
    yield from drip(run, count, part(BINARY, b"x"), part(CONTINUATION, b"x" * 1024), pause=0)


@attack("websocket", "incomplete upgrade requests", "limits.handshake_timeout", persists=True)
def half_handshakes(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} upgrades without the last line", run.expect_cut
    clients = [run.connect() for _ in range(count)]
    for client in clients:
        client.send_all(UPGRADE[:-2])
    while True:
        yield 0.02


@attack("websocket", "large upgrade requests of open WebSockets", "limits.upgrade_requests_bytes")
def large_upgrades(run):
    count, own, limit = 300, 2048, MIB
    head = UPGRADE[:-2] + b"X-Large: " + b"x" * 7000 + b"\r\n\r\n"
    run.sent = f"{count} upgrades with a header of 7,000 bytes"

    def check():
        said = [client.statuses() for client in run.clients]
        opened, refused = said.count([101]), said.count([503])
        run.expect(opened + refused == count, f"{count - opened - refused} of {count} were answered otherwise")
        run.expect(0 < opened <= limit // (7000 - own), f"{opened} of {count} were opened")
        run.expect(refused > 0, "none was refused")

    run.check = check
    for _ in range(count):
        run.connect().send_all(head)
    for client in run.clients:
        client.wait(client.statuses)
    while True:
        for client in run.clients:
            client.send(frame(PING))
            client.hear()
        yield 0.05


# ── Wrong and too large ───────────────────────────────────────────────────────────────────────────

LIES = {
    "a length of 2^62": (b"\x82\xff" + struct.pack("!Q", 1 << 62) + b"\0\0\0\0xxx", 1009),
    "a length of 2^64 - 2^56": (b"\x82\xff\xff" + bytes(7) + b"\0\0\0\0", 1009),
    "a length of 64 KiB and one byte": (b"\x82\xff" + struct.pack("!Q", 65537) + b"\0\0\0\0", 1009),
    "64 bits for a length of 5": (b"\x82\xff" + struct.pack("!Q", 5) + b"\0\0\0\0hello", 1002),
    "16 bits for a length of 5": (b"\x82\xfe\x00\x05\0\0\0\0hello", 1002),
    "a ping of 126 bytes": (b"\x89\xfe\x00\x7e\0\0\0\0" + bytes(126), 1002),
    "a ping in parts": (frame(PING, b"x", final=False), 1002),
    "no mask": (frame(TEXT, b"hello", masked=False), 1002),
    "RSV1, which would be compression": (b"\xc1\x85\0\0\0\0hello", 1002),
    "RSV2 and RSV3": (b"\xb1\x85\0\0\0\0hello", 1002),
    "opcode 3": (frame(3, b"x"), 1002),
    "opcode 11": (frame(11, b"x"), 1002),
    "a part of no message": (frame(CONTINUATION, b"x"), 1002),
    "a message within a message": (part(TEXT, b"a") + frame(TEXT, b"b"), 1002),
    "a close frame of one byte": (frame(CLOSE, b"x"), 1002),
    "a close code of 1005": (frame(CLOSE, struct.pack("!H", 1005)), 1002),
    "a close reason that is no UTF-8": (frame(CLOSE, struct.pack("!H", 1000) + b"\xff"), 1002),
    "a text that is no UTF-8": (frame(TEXT, b"\xc3("), 1007),
    "a surrogate in a text": (frame(TEXT, b"\xed\xa0\x80"), 1007),
    "a character that never ends": (part(TEXT, b"\xf0\x9f") + frame(CONTINUATION), 1007),
}


@attack("websocket", "malformed frames", "limits.message_bytes, RFC 6455")
def lies(run):
    run.seconds = 20.0
    times = run.scale(2, 50)
    run.sent = f"{len(LIES)} frames that are wrong in one way each, {times} times"
    for _ in range(times):
        for name, (bad, code) in LIES.items():
            client = run.open()
            client.send_all(bad)
            client.wait(lambda: client.close_code() is not None)
            run.expect(client.close_code() == code,
                       f"{name}: {client.close_code()} and not {code}")
            client.close()
            run.clients.pop()
            yield 0


@attack("websocket", "oversized messages", "limits.message_bytes", persists=True)
def large_messages(run):
    count = run.scale(50, 400)
    run.sent, run.check = f"{count} messages of 1 MiB", lambda: expect_codes(run, 1009)
    clients = [run.open() for _ in range(count)]
    left = {client: memoryview(frame(BINARY, b"x" * MIB)) for client in clients}
    while True:
        for client in clients:
            left[client] = left[client][client.send(left[client]):]
            client.hear()
        yield 0.01


# ── Floods ────────────────────────────────────────────────────────────────────────────────────────

@attack("websocket", "ping flood, pongs are read", "a pong before the next read")
def pings(run):
    run.seconds = run.scale(0.5, 5.0)
    count, several = run.scale(4, 8), memoryview(frame(PING, b"x" * 125) * 200)
    clients = [run.open() for _ in range(count)]
    sent = {client: 0 for client in clients}
    for client in clients:
        client.heard = b""
    pongs = 0
    while True:
        for client in clients:
            sent[client] += client.send(several[sent[client] % len(several):])
            client.hear()
            pongs += client.heard.count(b"\x8a\x7d")
            client.heard = client.heard[-1:] if client.heard[-1:] == b"\x8a" else b""
        run.sent = f"{count} clients, {sum(sent.values()) // 131:,} pings of 125 bytes, {pongs:,} pongs"
        run.check = lambda: run.expect(pongs > 0, "no pong")
        yield 0


@attack("websocket", "ping flood, pongs are not read", "limits.idle_timeout", persists=True)
def unread_pings(run):
    count = run.scale(20, 100)
    run.sent, run.check = f"{count} clients, pings as fast as they are taken", run.expect_cut
    several = memoryview(frame(PING, b"x" * 125) * 200)
    clients = [run.open(receive_buffer=4096) for _ in range(count)]
    sent = {client: 0 for client in clients}
    while True:
        for client in clients:
            sent[client] += client.send(several[sent[client] % len(several):])
        yield 0.01


@attack("websocket", "message flood, echoes are read", "limits.receive_window")
def messages(run):
    run.seconds = run.scale(0.5, 5.0)
    count, several = run.scale(4, 8), memoryview(frame(TEXT, b"x" * 100) * 200)
    clients = [run.open() for _ in range(count)]
    sent = {client: 0 for client in clients}
    heard = 0
    while True:
        for client in clients:
            sent[client] += client.send(several[sent[client] % len(several):])
            client.hear()
            heard += len(client.heard)
            client.heard = b""
        run.sent = f"{count} clients, {sum(sent.values()) // 106:,} messages of 100 bytes, {heard // 102:,} echoes"
        run.check = lambda: run.expect(heard > 0, "no echo")
        yield 0


@attack("websocket", "message flood, echoes are not read", "limits.send_queues_bytes, limits.idle_timeout", persists=True)
def unread_echoes(run):
    count = run.scale(40, 200)
    run.sent, run.check = f"{count} clients, messages of 60 KB as fast as they are taken", run.expect_cut
    several = memoryview(frame(BINARY, b"x" * 60_000))
    clients = [run.open(receive_buffer=4096) for _ in range(count)]
    sent = {client: 0 for client in clients}
    while True:
        for client in clients:
            sent[client] += client.send(several[sent[client] % len(several):])
        yield 0.01


@attack("websocket", "application output that is not read", "limits.send_queue_bytes", persists=True)
def slow_readers(run):
    count = run.scale(40, 200)
    run.sent = f"{count} clients are sent 60 MB each and read nothing"
    run.check = run.expect_cut
    clients = [run.open(b"/talk", receive_buffer=4096) for _ in range(count)]
    for client in clients:
        client.send_all(frame(TEXT, b"talk"))
    while True:
        yield 0.05


# ── Closing ───────────────────────────────────────────────────────────────────────────────────────

@attack("websocket", "unanswered close frames", "limits.close_timeout", persists=True)
def unanswered_close(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} clients that are closed by their application", lambda: expect_codes(run, 4000)
    for _ in range(count):
        run.open().send_all(frame(TEXT, b"close"))
    while True:
        for client in run.clients:
            client.hear()
            client.send(frame(TEXT, b"I talk on"))
        yield 0.05


@attack("websocket", "connections that stay open after the close frames", "limits.close_timeout", persists=True)
def half_closed(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} clients that close and then stay", lambda: expect_codes(run, 1000)
    yield from drip(run, count, frame(CLOSE, struct.pack("!H", 1000)), b"")


@attack("websocket", "WebSockets that do not answer pings", "limits.idle_timeout", persists=True)
def silent(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} WebSockets, nothing else", run.expect_cut
    for _ in range(count):
        run.open()
    while True:
        yield 0.05


@attack("websocket", "short-lived WebSockets", "nothing is kept of them")
def coming_and_going(run):
    run.seconds = run.scale(0.5, 5.0)
    count = 0
    while True:
        for hard in (False, True):
            client = run.open()
            client.send(frame(TEXT, b"x"))
            client.close(hard)
            run.clients.pop()
            count += 1
        run.sent = f"{count:,} WebSockets with a message, then the end, half of them with RST"
        yield 0
