# SPDX-License-Identifier: Apache-2.0
"""The common code of the chat's whole-system tests: its process, and clients that are simpler and
ruder than those of a library.

The executable is the first argument of a test file, or the variable TROUPE_CHAT.
"""

import asyncio
import base64
import os
import resource
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "main"))

from served_program import (DEADLINE, ServingProcess, Tested, raise_descriptor_limit,  # noqa: E402, F401
                            until)

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10        # opcodes of RFC 6455


tested = Tested("TROUPE_CHAT", "chat")
executable, main, sanitized = tested.executable, tested.main, tested.sanitized


class Chat(ServingProcess):
    """A running chat."""

    def __init__(self, *options, port=0, descriptors=None):
        super().__init__("chat", [executable(), "--port", str(port), *options], descriptors=descriptors)
        self.url = f"http://127.0.0.1:{self.port}"
        self.socket_url = f"ws://127.0.0.1:{self.port}/chat"

    def rss(self):
        """Bytes of memory in use."""
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def handshake(port, path="/chat", **changes):
    """A WebSocket handshake as bytes. A header whose change is None is omitted; _ in its name
    stands for -."""
    headers = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode()}
    headers.update({name.replace("_", "-"): value for name, value in changes.items()})
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode()


def frame(opcode, payload=b"", fin=True, masked=True, length=None, reserved=0):
    """A frame as bytes; `length` may be wrong. The mask is zero, which is allowed and keeps the
    payload readable."""
    length = len(payload) if length is None else length
    mask_bit = 0x80 if masked else 0
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    if length < 126:
        head += bytes([mask_bit | length])
    elif length < 1 << 16:
        head += struct.pack("!BH", mask_bit | 126, length)
    else:
        head += struct.pack("!BQ", mask_bit | 127, length)
    return head + (bytes(4) if masked else b"") + payload


def read_frames(buffer):
    """Removes the complete frames of a server from the front of a bytearray: [(fin, opcode,
    payload)]."""
    frames, position, size = [], 0, len(buffer)
    while size - position >= 2:
        length, start = buffer[position + 1], position + 2
        if length == 126:
            length, start = int.from_bytes(buffer[start:start + 2], "big"), start + 2
        elif length == 127:
            length, start = int.from_bytes(buffer[start:start + 8], "big"), start + 8
        if size < start + length:
            break
        frames.append((bool(buffer[position] & 0x80), buffer[position] & 0x0f, bytes(buffer[start:start + length])))
        position = start + length
    del buffer[:position]
    return frames


class Raw:
    """A blocking socket to the chat that sends whatever bytes it is given."""

    def __init__(self, port, receive_buffer=None):
        self.port, self.buffer, self.frames = port, bytearray(), []
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(("127.0.0.1", port))

    def send(self, data):
        """Returns False if the server no longer listens."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def finish(self):
        """Announces that nothing more will be sent."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def receive(self):
        """Returns some bytes, or nothing if the connection is closed."""
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def response(self):
        """The status of an HTTP response; 0 if the connection was closed without one."""
        while b"\r\n\r\n" not in self.buffer:
            if not (data := self.receive()):
                return 0
            self.buffer += data
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        self.buffer = bytearray(rest)
        return int(head.split(b" ", 2)[1])

    def open(self, **changes):
        """Makes the connection a WebSocket."""
        self.send(handshake(self.port, **changes))
        status = self.response()
        if status != 101:
            raise AssertionError(f"the handshake is answered with {status}")
        return self

    def next_frame(self):
        """(fin, opcode, payload), or None at the end."""
        while not self.frames:
            if not (data := self.receive()):
                return None
            self.buffer += data
            self.frames = read_frames(self.buffer)
        return self.frames.pop(0)

    def close_code(self):
        """Reads until the server closes. Returns its code, or None if the connection just ends."""
        while (received := self.next_frame()) is not None:
            _, opcode, payload = received
            if opcode == CLOSE:
                return int.from_bytes(payload[:2], "big") if payload else 1005
        return None

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Light(asyncio.Protocol):
    """A WebSocket client that is cheap enough for thousands of them in one process.

    It keeps the text messages that contain `keep` and drops the others; `opened` and
    `kept(count)` can be awaited.
    """

    def __init__(self, port, keep=b""):
        self.port, self.keep = port, keep
        self.buffer, self.part, self.messages, self.waiters = bytearray(), b"", [], []
        self.status = self.code = None
        loop = asyncio.get_running_loop()
        self.opened, self.ended = loop.create_future(), loop.create_future()

    @classmethod
    async def connect(cls, port, keep=b""):
        _, self = await asyncio.get_running_loop().create_connection(lambda: cls(port, keep), "127.0.0.1", port)
        await asyncio.wait_for(asyncio.shield(self.opened), DEADLINE)
        return self

    def connection_made(self, transport):
        self.transport = transport
        transport.write(handshake(self.port))

    def connection_lost(self, error):
        if not self.opened.done():
            self.opened.set_exception(ConnectionError(f"closed during the handshake: {error}"))
        self.ended.set_result(self.code)
        for _, future in self.waiters:
            if not future.done():
                future.set_exception(ConnectionError(f"closed with {self.code} after {len(self.messages)} messages"))

    def data_received(self, data):
        self.buffer += data
        if self.status is None:
            head, end, rest = bytes(self.buffer).partition(b"\r\n\r\n")
            if not end:
                return
            self.status, self.buffer = int(head.split(b" ", 2)[1]), bytearray(rest)
            if self.status != 101:
                self.opened.set_exception(ConnectionError(f"the handshake is answered with {self.status}"))
                return self.transport.abort()
            self.opened.set_result(True)
        for fin, opcode, payload in read_frames(self.buffer):
            if opcode == PING:
                self.transport.write(frame(PONG, payload))
            elif opcode == CLOSE:
                self.code = int.from_bytes(payload[:2], "big")
                self.transport.write(frame(CLOSE, payload))
            elif opcode in (0, TEXT):
                self.part += payload
                if fin and self.keep in self.part:
                    self.messages.append(self.part)
                if fin:
                    self.part = b""
        for count, future in self.waiters:
            if len(self.messages) >= count and not future.done():
                future.set_result(True)

    def send(self, text):
        self.transport.write(frame(TEXT, text.encode()))

    async def hears(self, part):
        """Waits for a message that contains this text."""
        while not any(part in message for message in self.messages):
            await self.kept(len(self.messages) + 1)

    async def kept(self, count):
        """Waits until this many messages have been kept in total."""
        if len(self.messages) < count:
            if self.ended.done():
                raise ConnectionError(f"closed with {self.code} after {len(self.messages)} messages")
            future = asyncio.get_running_loop().create_future()
            self.waiters.append((count, future))
            await asyncio.wait_for(future, 2 * DEADLINE)
        return self.messages
