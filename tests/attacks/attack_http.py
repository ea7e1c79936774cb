# SPDX-License-Identifier: Apache-2.0
"""Requests that arrive slowly, never end, or are too large, and responses that are not read."""

import itertools
import random

from harness import MIB, attack

# A request whose body a handler reads: /healthz has a handler for GET.
BODY = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CHUNKED = BODY + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def drip(run, count, begin, more, pause=0.05):
    """This many clients send the bytes, and then send a little at a time as long as they are
    allowed to."""
    for _ in range(count):
        run.connect().send_all(begin)
    while True:
        for client in run.clients:
            client.send(more)
            client.hear()
        yield pause


def expect_answers(run, *answers):
    """Each client received one of these lists of statuses.

    On a busy host an attacker may be later than its time-out, and is then closed before it has
    sent anything. Most are not.
    """
    wrong = [client.statuses() for client in run.clients if client.statuses() not in ([], *answers)]
    run.expect(not wrong, f"{len(wrong)} of {len(run.clients)} were answered {wrong[:3]}, and not {answers}")
    silent = sum(not client.statuses() for client in run.clients)
    run.expect(silent <= len(run.clients) // 2, f"{silent} of {len(run.clients)} were not answered")


# ── Slow requests ─────────────────────────────────────────────────────────────────────────────────

@attack("http", "silent connections", "limits.handshake_timeout", persists=True)
def silent(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} connections, nothing else", run.expect_cut
    for _ in range(count):
        run.connect()
    while True:
        yield 0.02


@attack("http", "slow request header", "limits.handshake_timeout", persists=True)
def slow_head(run):
    count = run.scale(100, 400)
    run.sent = f"{count} heads, a header line each 50 ms"
    run.check = lambda: expect_answers(run, [408])
    yield from drip(run, count, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n")


@attack("http", "slow header of a second request", "limits.request_timeout", persists=True)
def slow_second_head(run):
    count = run.scale(50, 400)
    run.sent = f"{count} whole requests, then heads, a byte each 50 ms"
    run.check = lambda: expect_answers(run, [200, 408])
    yield from drip(run, count, GET + b"GET /", b"x")


@attack("http", "slow body", "limits.request_timeout", persists=True)
def slow_body(run):
    count = run.scale(100, 400)
    run.sent = f"{count} bodies of 1,000 bytes, a byte each 50 ms"
    run.check = lambda: expect_answers(run, [408])
    yield from drip(run, count, BODY + b"Content-Length: 1000\r\n\r\n", b"x")


@attack("http", "slow chunks", "limits.request_timeout", persists=True)
def slow_chunks(run):
    count = run.scale(100, 400)
    run.sent = f"{count} bodies, a chunk of a byte each 50 ms"
    run.check = lambda: expect_answers(run, [408])
    yield from drip(run, count, CHUNKED, b"1\r\nx\r\n")


@attack("http", "slow chunk size", "limits.request_timeout", persists=True)
def slow_chunk_size(run):
    count = run.scale(50, 400)
    run.sent = f"{count} chunks, whose extension has a byte each 50 ms"
    run.check = lambda: expect_answers(run, [408])
    yield from drip(run, count, CHUNKED + b"1;", b"x")


@attack("http", "bodies that are announced and never sent", "limits.request_timeout", persists=True)
def expected_bodies(run):
    count = run.scale(50, 400)
    run.sent = f"{count} times Expect: 100-continue, nothing after the 100"
    run.check = lambda: expect_answers(run, [100, 408])
    yield from drip(run, count, BODY + b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n", b"")


@attack("http", "idle keep-alive connections", "limits.idle_timeout", persists=True)
def idle(run):
    count = run.scale(100, 400)
    run.sent = f"{count} connections, a request on each"
    run.check = lambda: (expect_answers(run, [200]), run.expect_cut())
    yield from drip(run, count, GET, b"")


# ── Endless requests ──────────────────────────────────────────────────────────────────────────────

def flood(run, begin, more, most, most_read, *statuses):
    """Sends bytes as fast as the server takes them, until it responds. It must not read more."""
    client = run.connect()
    client.send_all(begin)
    while client.hear() and not client.heard and client.sent < most:
        client.send(more)
        yield 0
    client.wait(lambda: bool(client.statuses()))
    expect_answers(run, *([status] for status in statuses))
    client.close()
    taken = run.target.metrics()['troupe_http_bytes_total{direction="in"}'] - run.bytes_before
    run.sent += f"; {taken / 1024:.0f} KiB were read"
    # The allowed bytes, those of one more read, and the requests of the other clients.
    run.expect(taken < most_read, f"{taken} bytes were read")


def endless(name, limit, text, begin, more, *statuses, most_read=256 * 1024):
    """An attack that offers 64 MiB of such bytes, and must be stopped early."""
    @attack("http", name, limit, memory=8 * MIB)
    def work(run):
        run.seconds = 10.0
        run.sent = text
        run.bytes_before = run.target.metrics()['troupe_http_bytes_total{direction="in"}']
        yield from flood(run, begin, more, 64 * MIB, most_read, *statuses)


endless("endless request line", "limits.header_bytes", "a target without end", b"GET /", b"x" * 16384, 414)
endless("endless empty lines", "limits.header_bytes", "CR LF before a request, without end", b"\r\n", b"\r\n" * 8192, 414)
endless("endless header line", "limits.header_bytes", "one header without end",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", b"x" * 16384, 431)
endless("endless headers", "limits.header_bytes", "header lines without end",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"A:\r\n" * 4096, 431)
endless("endless chunk extension", "limits.header_bytes", "one chunk extension without end", CHUNKED + b"1;",
        b"x" * 16384, 431)
endless("endless chunk extensions", "limits.header_bytes", "chunks of a byte with extensions of 200",
        CHUNKED, (b"1;" + b"x" * 200 + b"\r\nx\r\n") * 64, 431)
endless("endless chunk size", "16 digits", "zeros before a chunk size, without end", CHUNKED, b"0" * 16384, 400)
endless("endless trailer line", "limits.header_bytes", "one trailer without end", CHUNKED + b"0\r\nX: ", b"x" * 16384, 431)
endless("endless trailers", "limits.header_bytes", "trailer lines without end", CHUNKED + b"0\r\n", b"A:\r\n" * 4096, 431)
endless("endless chunked body", "limits.body_bytes", "chunks of 4 KiB without end", CHUNKED,
        b"1000\r\n" + b"x" * 4096 + b"\r\n", 413, most_read=MIB)
endless("endless small chunks", "limits.body_bytes", "chunks of a byte without end", CHUNKED, b"1\r\nx\r\n" * 4096, 413,
        most_read=3 * MIB)


@attack("http", "large bodies for an unknown path", "limits.close_timeout", persists=True)
def unwanted_bodies(run):
    count = run.scale(20, 100)
    run.sent = f"{count} bodies of 1 GiB to a path without a handler, as fast as they are taken"
    run.check = lambda: (expect_answers(run, [404]), run.expect_cut())
    yield from drip(run, count, b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n",
                    b"x" * 16384, pause=0.005)


# ── Large requests ────────────────────────────────────────────────────────────────────────────────

OVERSIZED = {
    "a target of 9,000 bytes": (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "a method of 9,000 bytes": (b"X" * 9000 + b" / HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "a header value of 9,000 bytes": (GET[:-2] + b"X: " + b"x" * 9000 + b"\r\n\r\n", 431),
    "a header name of 9,000 bytes": (GET[:-2] + b"x" * 9000 + b": y\r\n\r\n", 431),
    "3,000 headers": (GET[:-2] + b"A:\r\n" * 3000 + b"\r\n", 431),
    "a head of 8,193 bytes": (GET[:-2] + b"X: " + b"x" * (8193 - len(GET) - 5) + b"\r\n\r\n", 431),
    "a body of 256 KiB and one byte": (BODY + b"Content-Length: 262145\r\n\r\n", 413),
    "a body of 2^63 bytes": (BODY + b"Content-Length: 9223372036854775808\r\n\r\n", 413),
    "a body of 2^64 bytes": (BODY + b"Content-Length: 18446744073709551616\r\n\r\n", 413),
    "a length of 1,000 digits": (BODY + b"Content-Length: " + b"9" * 1000 + b"\r\n\r\n", 413),
    "a chunk of 2^64 - 1 bytes": (CHUNKED + b"ffffffffffffffff\r\n" + b"x" * 300_000, 413),
    "a chunk size of 17 digits": (CHUNKED + b"10000000000000000\r\n", 400),
    "two chunks of 200 KiB": (CHUNKED + (b"32000\r\n" + b"x" * 204800 + b"\r\n") * 2, 413),
    "a trailer of 9,000 bytes": (CHUNKED + b"0\r\nX: " + b"x" * 9000 + b"\r\n\r\n", 431),
    "a chunk extension of 9,000 bytes": (CHUNKED + b"1;" + b"x" * 9000 + b"\r\nx\r\n0\r\n\r\n", 431),
    "random bytes": (bytes(random.Random(1).choices(range(1, 256), k=20_000)), 400),
    "the hello of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), 400),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
}


@attack("http", "oversized requests", "limits.header_bytes, limits.body_bytes")
def oversized(run):
    run.seconds = 10.0
    times = run.scale(2, 50)
    run.sent = f"{len(OVERSIZED)} requests that are too large in one way each, {times} times"
    for _ in range(times):
        for name, (asked, status) in OVERSIZED.items():
            client = run.ask([asked], 1)
            run.expect(client.statuses() == [status], f"{name}: {client.statuses()} and not {status}")
            client.close()
            yield 0
    # The largest allowed head.
    client = run.ask([GET[:-2] + b"X: " + b"x" * (8192 - len(GET) - 5) + b"\r\n\r\n"], 1)
    run.expect(client.statuses() == [200], f"a head of 8 KiB: {client.statuses()}")
    client.close()


@attack("http", "oversized trailers from many clients", "limits.header_bytes")
def oversized_trailers(run):
    run.seconds = 60.0
    count = run.scale(200, 10_000)
    run.sent = f"{count:,} connections, each a chunked request with a trailer of 66 KB"
    trailer = CHUNKED + b"1\r\nx\r\n0\r\nX: " + b"x" * 66_000 + b"\r\n\r\n"
    for _ in range(count):
        client = run.ask([trailer], 1)
        run.expect(client.statuses() == [431], f"{client.statuses()} and not 431")
        client.close()
        yield 0


@attack("http", "large bodies from many clients", "limits.request_bodies_bytes", persists=True, memory=12 * MIB)
def bodies(run):
    count = run.scale(64, 400)
    run.sent = f"{count} bodies of 250 KiB, all but the last byte"
    refused = lambda: sum(client.statuses() == [503] for client in run.clients)
    run.check = lambda: (expect_answers(run, [408], [503]), run.expect(refused() >= count - 5, f"{refused()} were refused"))
    clients = [run.connect() for _ in range(count)]
    left = {client: memoryview(BODY + b"Content-Length: 256000\r\n\r\n" + b"x" * 255_999) for client in clients}
    while True:
        for client in clients:
            left[client] = left[client][client.send(left[client][:65536]):]
            client.hear()
        yield 0.005


# ── Responses that are not read ───────────────────────────────────────────────────────────────────

SMALL = b"GET /page/small HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"GET /page/large HTTP/1.1\r\nHost: x\r\n\r\n"


@attack("http", "large responses that are not read", "limits.idle_timeout", persists=True, memory=24 * MIB)
def unread(run):
    count = run.scale(40, 200)
    run.sent = f"{count} requests for a file of 32 MiB, nothing is read"
    clients = [run.connect(receive_buffer=4096) for _ in range(count)]
    run.check = run.expect_cut
    for client in clients:
        client.send_all(LARGE)
    while True:
        yield 0.05


@attack("http", "large responses that are read slowly", "limits.read_bytes_per_second", persists=True)
def slowly_read(run):
    # More often than the kernel reports progress, and more slowly than the limit.
    count = run.scale(4, 10)
    run.sent, run.check = f"{count} requests for a file of 1 GiB, 200 KB are read each 50 ms", run.expect_cut
    clients = [run.connect() for _ in range(count)]
    for client in clients:
        client.send_all(b"GET /page/huge HTTP/1.1\r\nHost: x\r\n\r\n")
    while True:
        for client in clients:
            client.hear(200_000)
        yield 0.05


@attack("http", "pipelined requests whose responses are not read", "limits.idle_timeout", persists=True)
def pipelined(run):
    count = run.scale(20, 100)
    run.sent = f"{count} clients that send requests for 60 KB without end and read nothing"
    clients = [run.connect(receive_buffer=4096) for _ in range(count)]
    run.check = run.expect_cut
    several, pending = memoryview(SMALL * 1000), {client: 0 for client in clients}
    while True:
        for client in clients:
            pending[client] = (pending[client] + client.send(several[pending[client]:])) % len(several)
        yield 0.01


@attack("http", "pipelined requests whose responses are read", "one at a time for each connection")
def pipelined_and_read(run):
    count = run.scale(2_000, 100_000)
    run.seconds = 20.0
    run.sent = f"{count:,} requests on one connection without waiting"
    client, answers, sent = run.connect(), 0, 0
    several = GET * count
    view = memoryview(several)
    while answers < count and not client.closed:
        sent += client.send(view[sent:sent + 65536])
        client.hear()
        parts = client.heard.split(b"HTTP/1.1 200 ")
        answers += len(parts) - 1
        client.heard = parts[-1][-15:] if len(parts) == 1 else parts[-1]
        yield 0
    run.expect(answers == count, f"{answers} answers")
    client.close()


# ── Reconnecting clients ──────────────────────────────────────────────────────────────────────────

@attack("http", "clients that reset the connection", "nothing is kept of them")
def resets(run):
    run.seconds = run.scale(0.4, 5.0)
    halves = itertools.cycle([GET, GET[:20], BODY + b"Content-Length: 1000\r\n\r\nabc", LARGE, CHUNKED + b"5\r\nab", b""])
    run.sent, count = "", 0
    while True:
        client = run.connect()
        client.send(next(halves))
        client.close(hard=True)
        run.clients.pop()
        count += 1
        run.sent = f"{count:,} connections with a whole or half a request, then RST"
        yield 0
