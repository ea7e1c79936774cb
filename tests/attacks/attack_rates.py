# SPDX-License-Identifier: Apache-2.0
"""Clients that keep every limit but the rates: of connections, handshakes, requests, messages and bytes.

All attackers of a group have one address, and wait for nothing. The other clients come from another
address, which has rates of its own.
"""

import ssl
import time

from harness import BINARY, PING, TEXT, attack, frame

# The other clients and the harness need up to 500 requests and messages a second.
LIMITS = """
    connections_per_second = 200
    connections_burst = 600
    requests_per_second = 1000
    requests_burst = 2000
    messages_per_second = 1000
    messages_burst = 2000
    throttled_messages_max = 200
    received_bytes_per_second = "1 MiB"
    received_bytes_burst = "2 MiB"
"""
HANDSHAKES = """
    tls_handshakes_per_second = 50
    tls_handshakes_burst = 100
"""

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def counted(run, reason):
    return run.target.metrics()[f'troupe_http_rate_limited_total{{reason="{reason}"}}']


@attack("rates", "connections in quick succession", "limits.connections_per_second")
def connections(run):
    run.seconds = run.scale(2.0, 5.0)
    before, made, ended = counted(run, "connections"), 0, 0
    run.check = lambda: run.expect(counted(run, "connections") > before, "no connection was closed")
    while True:
        several = [run.target.connect() for _ in range(50)]
        made += len(several)
        yield 0.001
        for client in several:
            client.hear()
            ended += client.closed
            client.close()
        run.sent = f"{made:,} connections from one address; {ended:,} were closed by then"


@attack("rates", "pipelined requests above the rate", "limits.requests_per_second")
def requests(run):
    """Pipelined, and all responses are read."""
    run.seconds = run.scale(1.5, 5.0)
    before, sent = counted(run, "requests"), 0
    clients = [run.connect() for _ in range(8)]
    answers = {200: 0, 429: 0}

    def check():
        run.expect(answers[429] > 0, "no response was 429")
        run.expect(counted(run, "requests") > before, "none was counted")
        most = 2000 + 1000 * (run.seconds + 20)
        run.expect(answers[200] <= most, f"{answers[200]} requests were served, of {most} allowed")
    run.check = check
    while True:
        for client in clients:
            sent += client.send(GET * 20) // len(GET)
            client.hear()
            # The last response may have arrived in part.
            end = client.heard.rfind(b"\r\n\r\n") + 4
            if end > 3:
                rest, client.heard = client.heard[end:], client.heard[:end]
                for status in client.statuses():
                    answers[status] = answers.get(status, 0) + 1
                client.heard = rest
        run.sent = (f"{sent:,} requests on 8 connections without waiting: {answers[200]:,} times 200, "
                    f"{answers[429]:,} times 429")
        yield 0


def flood(run, seconds, data, count, what):
    """Sends for so many seconds, and then disconnects."""
    run.seconds = seconds + 60          # the generator ends earlier, when its clients have gone
    clients, sent, end = [run.open() for _ in range(count)], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for client in clients:
            sent += client.send(data)
            client.hear()
        run.sent = f"{count} clients, {what.format(sent)}; {sum(each.closed for each in clients)} were closed"
        yield 0
    run.codes = {client.close_code() for client in clients if client.closed}
    # With a reset: TCP announces a normal close only after the data that the server does not read.
    for client in clients:
        client.close(hard=True)


@attack("rates", "flood of small messages", "limits.messages_per_second, limits.throttled_messages_max")
def messages(run):
    name = 'troupe_http_websocket_messages_total{direction="in"}'
    before, messages_before, began = counted(run, "messages"), run.target.metrics()[name], time.monotonic()

    def check():
        run.expect(counted(run, "messages") > before, "no client was held back")
        run.expect(run.codes <= {1008, None}, f"the codes are {run.codes}")
        taken = run.target.metrics()[name] - messages_before
        # The other clients have the same rate, and use less.
        most = 2 * (2000 + 1000 * (time.monotonic() - began + 1))
        run.expect(taken <= most, f"{taken:,.0f} messages were taken, of {most:,.0f} allowed")
    run.check = check
    yield from flood(run, run.scale(4.0, 10.0), frame(TEXT, b"x") * 200, 4, "{:,} bytes of messages of one byte")


@attack("rates", "flood of pings", "limits.messages_per_second, limits.throttled_messages_max")
def pings(run):
    before = counted(run, "messages")
    run.check = lambda: run.expect(counted(run, "messages") > before, "no client was held back")
    yield from flood(run, run.scale(4.0, 10.0), frame(PING) * 200, 4, "{:,} bytes of empty pings")


@attack("rates", "flood of large messages", "limits.received_bytes_per_second")
def received_bytes(run):
    seconds = run.scale(2.0, 10.0)
    name = 'troupe_http_bytes_total{direction="in"}'
    before, bytes_before, began = counted(run, "received_bytes"), run.target.metrics()[name], time.monotonic()

    def check():
        run.expect(counted(run, "received_bytes") > before, "no client was held back")
        read = run.target.metrics()[name] - bytes_before
        # Each of 8 clients may have one read more, and the other clients send a little.
        most = (2 + time.monotonic() - began + 2) * (1 << 20) + 8 * 16384
        run.expect(read <= most, f"{read:,.0f} bytes were read, of {most:,.0f} allowed")
    run.check = check
    yield from flood(run, seconds, frame(BINARY, bytes(60_000)), 8, "{:,} bytes of messages of 60 KB")


@attack("handshakes", "handshakes in quick succession", "limits.tls_handshakes_per_second")
def handshakes(run):
    run.seconds = run.scale(2.0, 5.0)
    before, made, refused = counted(run, "tls_handshakes"), 0, 0

    def check():
        run.expect(refused > 0 and counted(run, "tls_handshakes") > before, "no handshake was refused")
        most = 100 + 50 * (run.seconds + 20)
        run.expect(made <= most, f"{made} handshakes were made, of {most} allowed")
    run.check = check
    while True:
        try:
            client = run.target.connect()
            client.close()
            made += 1
        except (ssl.SSLError, OSError):
            refused += 1
        run.sent = f"{made:,} whole handshakes in sequence, {refused:,} more were refused"
        yield 0
