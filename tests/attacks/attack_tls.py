# SPDX-License-Identifier: Apache-2.0
"""TLS handshakes in floods, incomplete, slow, and repeated on the same connection."""

import random
import ssl
import subprocess

from harness import PATIENCE, attack, die_with_parent


def hello():
    """The bytes of a ClientHello, as Python's ssl module writes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = ssl._create_unverified_context().wrap_bio(incoming, outgoing)
    try:
        made.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def drip(run, count, begin, more, pause=0.05):
    clients = [run.connect(secured=False) for _ in range(count)]
    for client in clients:
        client.send_all(begin)
    while True:
        for number, client in enumerate(clients):
            client.send(more(number, client))
            client.hear()
        yield pause


@attack("tls", "handshake flood", "limits.connections_per_address_max")
def handshakes(run):
    run.seconds = run.scale(1.0, 5.0)
    count = 0
    while True:
        client = run.connect()
        client.close()
        run.clients.pop()
        count += 1
        run.sent = f"{count:,} whole handshakes in sequence, then the end"
        yield 0


@attack("tls", "incomplete ClientHellos", "limits.handshake_timeout", persists=True)
def half_handshakes(run):
    count, first = run.scale(100, 400), hello()
    run.sent, run.check = f"{count} times the first half of a ClientHello", run.expect_cut
    yield from drip(run, count, first[:len(first) // 2], lambda number, client: b"")


@attack("tls", "handshakes that stop after the server's flight", "limits.handshake_timeout", persists=True)
def unfinished_handshakes(run):
    count, first = run.scale(100, 400), hello()
    run.sent, run.check = f"{count} times a ClientHello, nothing after it", run.expect_cut
    yield from drip(run, count, first, lambda number, client: b"")


@attack("tls", "slow handshakes", "limits.handshake_timeout", persists=True)
def slow_handshakes(run):
    count, first = run.scale(50, 400), hello()
    run.sent, run.check = f"{count} ClientHellos, a byte each 20 ms", run.expect_cut
    yield from drip(run, count, first[:1], lambda number, client: first[client.sent:client.sent + 1], pause=0.02)


@attack("tls", "silent connections after a handshake", "limits.handshake_timeout", persists=True)
def silent_after_handshake(run):
    count = run.scale(100, 400)
    run.sent, run.check = f"{count} whole handshakes without a request", run.expect_cut
    for _ in range(count):
        run.connect()
    while True:
        yield 0.02


@attack("tls", "invalid TLS data", "the handshake fails")
def garbage(run):
    times, draw, first = run.scale(5, 100), random.Random(7), hello()
    run.seconds = 20.0
    # A record type, a handshake type, a length: each wrong, or larger than the data. Random bytes.
    # A ClientHello with one changed byte.
    wrong = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(16384), b"\x17\x03\x03\x00\x05hello",
             b"\x15\x03\x01\x00\x02\x02\x28", b"\x14\x03\x01\x00\x01\x01", b"\x80\x2e\x01\x03\x01" + bytes(64),
             b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"]
    run.sent = f"{times} times {len(wrong) + 10} first flights that are wrong"
    for _ in range(times):
        for each in wrong + [draw.randbytes(500) for _ in range(5)] + [
                first[:at] + bytes([first[at] ^ 0xff]) + first[at + 1:] for at in draw.sample(range(len(first)), 5)]:
            client = run.connect(secured=False)
            client.send_all(each)
            client.hear()
            yield 0
    # Some of these may look like the beginning of a longer record. Those end with the handshake's
    # time-out.


@attack("tls", "ClientHellos with a claimed size of 16 MiB", "limits.handshake_timeout, OpenSSL's limit", persists=True)
def long_hello(run):
    count = run.scale(20, 100)
    run.sent, run.check = f"{count} ClientHellos of up to 16 MiB, as fast as they are taken", run.expect_cut
    record = b"\x16\x03\x03\x40\x00" + bytes(16384)
    begin = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff\x03\x03" + bytes(16378)
    yield from drip(run, count, begin, lambda number, client: record, pause=0.005)


@attack("tls", "renegotiation", "never allowed")
def renegotiation(run):
    run.seconds = 30.0
    count, refused = run.scale(3, 50), 0
    for _ in range(count):
        with subprocess.Popen(["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{run.target.port}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              preexec_fn=die_with_parent) as client:
            client.stdin.write(b"R\n")
            client.stdin.flush()
            client.wait(PATIENCE)                       # the server closes it, because it is refused
            refused += b"no renegotiation" in client.stdout.read()
        yield 0
    run.sent = f"{count} handshakes of TLS 1.2, each asks for another"
    run.expect(refused == count, f"{refused} of {count} were refused")


@attack("tls", "large responses that are not read", "limits.idle_timeout", persists=True, memory=24 * 1024 * 1024)
def unread(run):
    count = run.scale(20, 200)
    run.sent, run.check = f"{count} requests for a file of 32 MiB, nothing is read", run.expect_cut
    for _ in range(count):
        client = run.connect(receive_buffer=4096)
        client.send_all(b"GET /page/large HTTP/1.1\r\nHost: x\r\n\r\n")
    while True:
        yield 0.05
