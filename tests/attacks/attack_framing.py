# SPDX-License-Identifier: Apache-2.0
"""Requests that two readers could end in different places (request smuggling)."""

import random

from harness import attack

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"        # has a handler, so a body is read
NEXT = b"GET /readyz HTTP/1.1\r\nHost: next\r\n\r\n"    # the request to be hidden from a proxy
KEY = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n" + KEY


def cases():
    """(description, bytes, the statuses that must come before the server closes)"""
    for value in (b"xchunked", b"identity", b"gzip", b'"chunked"', b"chunked, identity", b"chunked, chunked",
                  b"chunked\r\nTransfer-Encoding: identity", b"", b",", b"chunked;a=b", b"chun ked", b"\x0bchunked",
                  b"chunked\x00", b"chunked\r\n\tx"):
        asked = HEAD + b"Transfer-Encoding: " + value + b"\r\n\r\n"
        yield f"Transfer-Encoding: {value!r}", asked + NEXT, [400]
        yield f"Transfer-Encoding: {value!r}, with a chunk", asked + b"0\r\n\r\n" + NEXT, [400]
    for value in (b"gzip, chunked", b"gzip;level=9, chunked", b"a\r\nTransfer-Encoding: chunked"):
        yield f"Transfer-Encoding: {value!r}", HEAD + b"Transfer-Encoding: " + value + b"\r\n\r\n0\r\n\r\n" + NEXT, [501]
    for coding in (b"chunked", b"xchunked", b"gzip, chunked", b"identity"):
        for first in (True, False):
            lines = [b"Transfer-Encoding: " + coding + b"\r\n", b"Content-Length: 5\r\n"]
            yield (f"Transfer-Encoding {coding!r} and Content-Length",
                   HEAD + b"".join(lines if first else lines[::-1]) + b"\r\n0\r\n\r\n" + NEXT, [400])
    yield ("Transfer-Encoding in HTTP/1.0", b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n"
           b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT, [400])
    for name in (b"Transfer-Encoding ", b" Transfer-Encoding", b"Transfer-Encoding\t", b"Transfer\x00Encoding"):
        yield f"the name {name!r}", HEAD + name + b": chunked\r\n\r\n0\r\n\r\n" + NEXT, [400]
    for value in (b"+1", b"-1", b"1, 1", b"0x1", b"1 1", b"", b"1\r\nContent-Length: 1", b"1\r\nContent-Length: 2", b"1.0",
                  b"\xc2\xb91"):
        yield f"Content-Length: {value!r}", HEAD + b"Content-Length: " + value + b"\r\n\r\na" + NEXT, [400]
    for head in (b"GET /healthz HTTP/1.1\nHost: x\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: x\r\n\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n", b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /healthz HTTP/1.1 \r\nHost: x\r\n\r\n", b"GET /healthz\r\nHost: x\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n", b"GET /he\x00althz HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /healthz#a HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /h\xe9althz HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n",
                 b"GET /healthz http/1.1\r\nHost: x\r\n\r\n", b"GET /healthz HTTP/1.11\r\nHost: x\r\n\r\n"):
        yield f"the head {head!r}", head + NEXT, [400]
    yield "HTTP/2.0", b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n" + NEXT, [505]
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    for body in (b"1\nx\r\n0\r\n\r\n", b"1\r\nxx\r\n0\r\n\r\n", b"-1\r\nx\r\n0\r\n\r\n", b"0x1\r\nx\r\n0\r\n\r\n",
                 b" 1\r\nx\r\n0\r\n\r\n", b"1 \r\nx\r\n0\r\n\r\n", b"\r\n0\r\n\r\n", b";a\r\n0\r\n\r\n",
                 b"11111111111111111\r\nx\r\n0\r\n\r\n", b"1;a\nb\r\nx\r\n0\r\n\r\n", b"1\r\nx\n0\r\n\r\n",
                 b"0\r\nX\r\n\r\n", b"0\r\n X: y\r\n\r\n", b"0\r\nX : y\r\n\r\n", b"0\r\nX: a\nb\r\n\r\n",
                 b"1;a\rb\r\nx\r\n0\r\n\r\n", b"g\r\nx\r\n0\r\n\r\n", b"0\r\n\n"):
        yield f"the chunks {body!r}", chunked + body + NEXT, [400]
    yield "a Host in a trailer", HEAD[:23] + b"Transfer-Encoding: chunked\r\n\r\n0\r\nHost: x\r\n\r\n" + NEXT, [400]
    yield ("trailers that would close", chunked + b"2\r\nab\r\n0\r\nConnection: close\r\nHost: y\r\n\r\n" + NEXT, [200, 200])
    yield ("an upgrade in trailers", b"GET /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + UPGRADE
           + b"\r\n" + NEXT, [426])
    yield ("an upgrade with a body", b"GET /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + UPGRADE
           + b"\r\n0\r\nX-User: admin\r\n\r\n" + NEXT, [400])
    yield ("data before the WebSocket is there", b"GET /echo HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"\r\n" + NEXT, [400])
    for twice in (b"Sec-WebSocket-Version: 13\r\n", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
                  b"Origin: http://a\r\n"):
        again = twice * (2 if twice[:6] == b"Origin" else 1)
        yield f"{twice!r} twice", b"GET /echo HTTP/1.1\r\nHost: x\r\n" + UPGRADE + again + b"\r\n" + NEXT, [400, 200]
    yield ("a body where none is read", b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + NEXT, [404])
    # Valid requests must be served, or a server that refuses everything would pass.
    yield "a whole chunked body", chunked + b"A;name=\"va;lue\"\r\n0123456789\r\n00\r\nX: y\r\n\r\n" + NEXT, [200, 200]
    yield "a whole body", HEAD + b"Content-Length: 2\r\n\r\nab" + NEXT, [200, 200]


def split(data, cuts):
    at = sorted(random.Random(len(data)).sample(range(1, len(data)), min(cuts, len(data) - 1)))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)])]


@attack("http", "request smuggling", "always refused")
def smuggling(run):
    run.seconds = 60.0
    all_ = list(cases())
    ways = run.scale(1, 3)
    for name, asked, statuses in all_:
        # In one piece; in the long run also in several pieces, and byte by byte.
        for pieces in ([asked], split(asked, 3), [asked[i:i + 1] for i in range(len(asked))])[:ways]:
            stays = len(statuses) == 2
            client = run.ask(pieces, 2 if stays else 0)
            run.expect(stays or (client.closed and not client.reset), f"{name}: not closed in order")
            run.expect(client.statuses() == statuses, f"{name}: {client.statuses()} and not {statuses}")
            client.close()
        yield 0
    run.sent = f"{len(all_)} requests, each with another one behind it, in {ways} ways"
