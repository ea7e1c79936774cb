# SPDX-License-Identifier: Apache-2.0
"""Floods of connections, from one address and from many, with enough descriptors and without."""

import time

from harness import attack

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def addresses(count):
    return [f"127.{1 + number // 250}.0.{1 + number % 250}" for number in range(count)]


def flood(run, where, per_address):
    """Opens silent connections as fast as possible, and opens refused ones again."""
    refused, made, waiting = 0, 0, []
    while True:
        for address in where:
            for _ in range(per_address):
                waiting.append(run.target.connect(address))
                made += 1
            yield 0
            for client in waiting:
                client.hear()
            refused += sum(client.closed for client in waiting)
            for client in waiting:
                if client.closed:
                    client.close()
            waiting = [client for client in waiting if not client.closed]
            run.clients = waiting
            run.sent = f"{made:,} connections from {len(where)} addresses; {refused:,} refused or ended meanwhile"
            run.made, run.refused = made, refused


@attack("connections", "flood from one address", "limits.connections_per_address_max, limits.handshake_timeout")
def one_address(run):
    run.seconds = run.scale(1.0, 5.0)
    run.check = lambda: run.expect(count() >= 1, "nobody was refused")
    count = lambda: run.target.metrics()['troupe_http_refused_total{reason="address"}'] - before
    before = run.target.metrics()['troupe_http_refused_total{reason="address"}']
    yield from flood(run, addresses(1), 50)


@attack("connections", "flood from many addresses", "limits.connections_max, limits.handshake_timeout")
def many_addresses(run):
    run.seconds = run.scale(1.0, 5.0)
    run.check = lambda: run.expect(count() >= 1, "nobody was refused")
    count = lambda: run.target.metrics()['troupe_http_refused_total{reason="full"}'] - before
    before = run.target.metrics()['troupe_http_refused_total{reason="full"}']
    yield from flood(run, addresses(run.scale(40, 200)), 10)


@attack("connections", "requests from new clients during a flood", "limits.connections_max")
def new_clients(run):
    """The result for a new client of a full server: a response, 503, or the end; never nothing."""
    run.seconds = run.scale(1.0, 5.0)
    outcomes = {"200": 0, "503": 0, "closed": 0, "nothing": 0}
    filling = flood(run, addresses(run.scale(40, 200)), 10)
    asked = []
    while True:
        next(filling)
        held = run.sent
        client = run.target.connect("127.0.0.201")
        client.send(GET)
        client.wait(lambda: bool(client.statuses()), 5.0)
        status = client.statuses()
        outcomes[str(status[0]) if status else "closed" if client.closed else "nothing"] += 1
        client.close()
        run.sent = held + "; of new clients' requests " + ", ".join(f"{n} {what}" for what, n in outcomes.items())
        run.check = lambda: (run.expect(outcomes["nothing"] == 0, "a client waited for 5 s"),
                             run.expect(sum(outcomes.values()) > 0, "nobody asked"))
        yield 0


@attack("connections", "health checks of operators during a flood", "admin.listen")
def operators(run):
    """A full server still responds on its admin listener."""
    run.seconds = run.scale(1.0, 5.0)
    filling = flood(run, addresses(run.scale(40, 200)), 10)
    checks, failed = 0, 0
    while True:
        next(filling)
        held = run.sent
        client = run.target.connect_admin()
        client.send(GET)
        client.wait(lambda: bool(client.statuses()), 5.0)
        checks += 1
        failed += client.statuses()[:1] != [200]
        client.close()
        run.sent = held + f"; {checks} health checks of operators, {failed} failed"
        run.check = lambda: (run.expect(failed == 0, f"{failed} of {checks} health checks failed"),
                             run.expect(checks > 0, "nobody asked"))
        yield 0


@attack("connections", "connections that are reset at once", "nothing is kept of them")
def accepted_and_reset(run):
    run.seconds = run.scale(0.5, 5.0)
    made = 0
    where = addresses(20)
    while True:
        several = [run.target.connect(where[made % len(where)]) for _ in range(20)]
        for client in several:
            client.close(hard=True)
        made += len(several)
        run.sent = f"{made:,} connections that are reset at once"
        yield 0


@attack("descriptors", "descriptor exhaustion", "descriptors of the process, ulimit -n 64", bound=15.0)
def descriptors(run):
    """The server may open 64 descriptors, so it admits 32 connections and refuses the others."""
    run.seconds = run.scale(1.5, 5.0)
    count = run.scale(200, 1000)
    end = time.monotonic() + run.seconds
    clients = [run.connect(address) for address in addresses(20) for _ in range(count // 20)]
    run.check = lambda: run.expect(run.highest <= 64, f"{run.highest} descriptors")
    while time.monotonic() < end:
        run.highest = max(getattr(run, "highest", 0), run.target.descriptors())
        for client in clients:
            client.send(GET if client.sent == 0 else b"")
            client.hear()
        answers = [client.statuses()[:1] for client in clients]
        run.sent = (f"{count} connections with a request: {answers.count([200])} answered, {answers.count([503])} got 503, "
                    f"{sum(client.closed and not client.heard for client in clients)} were closed")
        yield 0.02


@attack("descriptors", "file requests during descriptor exhaustion", "descriptors of the process, ulimit -n 64", bound=15.0, persists=True)
def files(run):
    """The response to a request for a file that cannot be opened is 503."""
    count = run.scale(60, 200)
    clients = [run.connect(address, receive_buffer=4096) for address in addresses(10) for _ in range(count // 10)]
    for client in clients:
        client.send(b"GET /page/large HTTP/1.1\r\nHost: x\r\n\r\n")
    run.sent = f"{count} requests for a file of 32 MiB, which are not read"
    while True:
        yield 0.05
