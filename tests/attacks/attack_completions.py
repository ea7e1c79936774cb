# SPDX-License-Identifier: Apache-2.0
"""Operations whose completion handler is destroyed without being called: dropping.cpp."""

from harness import UPGRADE, attack, frame

DROP_READ = b"GET /healthz HTTP/1.1\r\nX-Drop: read\r\n"    # the end would come with the next read
DROP_WRITE = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drop: write\r\n\r\n"
DROP_BODY = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drop: read\r\nContent-Length: 5\r\n\r\n"
FAILS = b"GET /fail HTTP/1.1\r\nHost: x\r\n\r\n"


def repeat(run, count, asked, text):
    """Sends each request on a connection of its own, 50 at a time, until the server has closed all
    of them."""
    run.seconds = 120.0
    run.sent = f"{count:,} {text}"
    done = 0
    while done < count and not run.wrong:
        several = [run.target.connect() for _ in range(min(50, count - done))]
        for client in several:
            client.send_all(asked)
        for client in several:
            client.wait(lambda: client.closed, 5.0 if not run.wrong else 0.0)
            run.expect(client.closed and not client.heard, "a connection without its completion lives on")
            client.close()
        run.wrong = run.wrong[:1]
        done += len(several)
        yield 0


@attack("completions", "reads that never complete", "no limit: the connection fails")
def reads(run):
    yield from repeat(run, run.scale(1000, 10_000), DROP_READ, "requests, of which a read is dropped")


@attack("completions", "writes that never complete", "no limit: the connection fails")
def writes(run):
    yield from repeat(run, run.scale(1000, 10_000), DROP_WRITE, "requests, of which the answer's write is dropped")


@attack("completions", "body reads that never complete", "no limit: the connection fails")
def bodies(run):
    yield from repeat(run, run.scale(500, 10_000), DROP_BODY, "requests, of which a read of the body is dropped")


@attack("completions", "WebSocket writes that never complete", "no limit: the connection fails")
def websockets(run):
    run.seconds = 120.0
    count = run.scale(300, 10_000)
    run.sent = f"{count:,} WebSockets, of which an echo's write is dropped"
    for _ in range(count):
        client = run.open()
        client.send_all(frame(1, b"X-Drop: write"))
        client.wait(lambda: client.closed)
        run.expect(client.closed, "a WebSocket without its completion lives on")
        client.close()
        if run.wrong:
            return
        run.clients.pop()
        yield 0


@attack("completions", "handlers that throw", "no limit: 500")
def failing(run):
    run.seconds = 120.0
    count = run.scale(2000, 100_000)
    run.sent = f"{count:,} requests whose handler throws"
    client, answers = run.connect(), 0
    view, sent = memoryview(FAILS * 1000), 0
    while answers < count and not client.closed:
        left = count * len(FAILS) - sent
        sent += client.send(view[sent % len(view):][:left])
        client.hear()
        parts = client.heard.split(b"HTTP/1.1 500 ")
        answers += len(parts) - 1
        client.heard = parts[-1][-15:] if len(parts) == 1 else parts[-1]
        yield 0
    run.expect(answers == count, f"{answers} answers")
    client.close()
