# SPDX-License-Identifier: Apache-2.0
"""A client of applications in Lua, on asyncio and Debian's python3-websockets. docs/protocol.md
describes the protocol.

    async with connect("ws://localhost:8080/game", "troupe.rpc.cbor") as server:
        server.on("moved", lambda params: print(params))
        place = await server.call("move", {"x": 3, "y": 4}, channel=1, timeout=5)
        await server.notify("typing")

Values are those of Python: None, bool, int, float, str, bytes, list, dict. read(), write(),
encode_cbor() and decode_cbor() do not use connections and do not need websockets.
"""

import asyncio
import contextlib
import json
import math
import struct

PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
OVERLOADED, KILLED, STOPPING = -32000, -32001, -32002

DEPTH_MAX = 64
INTEGER_MAX = 2**63 - 1


class RpcError(Exception):
    """The error that a request was replied to with. A handler raises one to reply with it."""

    def __init__(self, code, message, data=None):
        super().__init__(f"{message} ({code})")
        self.code, self.message, self.data = code, message, data


class MalformedMessage(Exception):
    """A malformed message. `code` and `id` are those of the error to reply with."""

    def __init__(self, code, why, id=None):
        super().__init__(why)
        self.code, self.id = code, id


# ── CBOR ──────────────────────────────────────────────────────────────────────────────────────


def head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    size = next(size for size in range(4) if argument < 1 << (8 << size))
    return bytes([major << 5 | 24 + size]) + argument.to_bytes(1 << size, "big")


def encode_float(value):
    if math.isnan(value):
        return b"\xf9\x7e\x00"
    try:
        short = struct.pack(">f", value)
        if struct.unpack(">f", short)[0] == value:
            return b"\xfa" + short
    except OverflowError:
        pass
    return b"\xfb" + struct.pack(">d", value)


def encode_cbor(value, depth=0):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        if not -1 - INTEGER_MAX <= value <= INTEGER_MAX:
            raise ValueError("the integer does not fit into 64 bits")
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, str):
        text = value.encode()
        return head(3, len(text)) + text
    if isinstance(value, (bytes, bytearray)):
        return head(2, len(value)) + bytes(value)
    if depth == DEPTH_MAX:
        raise ValueError(f"nested more than {DEPTH_MAX} deep")
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(encode_cbor(one, depth + 1) for one in value)
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("the key is not text")
        return head(5, len(value)) + b"".join(encode_cbor(name) + encode_cbor(one, depth + 1)
                                              for name, one in value.items())
    raise TypeError(f"cannot encode a {type(value).__name__}")


class Reader:
    """Decodes one value of CBOR."""

    INDEFINITE = 31
    END = object()

    def __init__(self, given):
        self.given, self.at, self.begin = given, 0, 0

    def refuse(self, why):
        raise ValueError(f"byte {self.begin}: {why}")

    def take(self, size):
        if size > len(self.given) - self.at:
            self.refuse("unexpected end of data")
        self.at += size
        return self.given[self.at - size:self.at]

    def head(self):
        self.begin = self.at
        initial = self.take(1)[0]
        major, info = initial >> 5, initial & 31
        if info < 24 or (info == self.INDEFINITE and major in (2, 3, 4, 5, 7)):
            return major, info, info
        if info > 27:
            self.refuse("an invalid length")
        return major, info, int.from_bytes(self.take(1 << info - 24), "big")

    def piece(self, major, size):
        content = self.take(size)
        if major == 2:
            return content
        try:
            return content.decode()
        except UnicodeDecodeError:
            self.refuse("the text is not valid UTF-8")

    def string(self, major, info, size):
        if info != self.INDEFINITE:
            return self.piece(major, size)
        pieces = []
        while True:
            kind, info, size = self.head()
            if (kind, info) == (7, self.INDEFINITE):
                return (b"" if major == 2 else "").join(pieces)
            if kind != major or info == self.INDEFINITE:
                self.refuse("a string chunk of another type")
            pieces.append(self.piece(major, size))

    def simple(self, info, argument):
        if info in (20, 21):
            return info == 21
        if info in (22, 23):
            return None
        if info in (25, 26, 27):
            size = 1 << info - 24
            return struct.unpack(">" + "efd"[info - 25], argument.to_bytes(size, "big"))[0]
        self.refuse("a break outside of an indefinite-length value" if info == self.INDEFINITE else "an unsupported simple value")

    def value(self, depth=0, may_end=False):
        major, info, argument = self.head()
        if major == 7 and may_end and info == self.INDEFINITE:
            return self.END
        if major in (0, 1):
            if argument > INTEGER_MAX:
                self.refuse("the integer does not fit into 64 bits")
            return argument if major == 0 else -1 - argument
        if major in (2, 3):
            return self.string(major, info, argument)
        if major == 6:
            self.refuse("a tag")
        if major == 7:
            return self.simple(info, argument)
        counted = info != self.INDEFINITE
        if counted and argument > len(self.given) - self.at:
            self.refuse("unexpected end of data")
        if depth == DEPTH_MAX:
            self.refuse(f"nested more than {DEPTH_MAX} deep")
        count = argument if counted else math.inf
        return self.array(count, depth) if major == 4 else self.map(count, depth)

    def array(self, count, depth):
        found = []
        while len(found) < count:
            one = self.value(depth + 1, may_end=count == math.inf)
            if one is self.END:
                break
            found.append(one)
        return found

    def map(self, count, depth):
        found = {}
        while len(found) < count:
            major, info, size = self.head()
            if count == math.inf and (major, info) == (7, self.INDEFINITE):
                break
            if major != 3:
                self.refuse("the key is not text")
            name = self.string(major, info, size)
            if name in found:
                self.refuse(f'duplicate key "{name[:40]}"')
            found[name] = self.value(depth + 1)
        return found


def decode_cbor(given):
    """Decodes a value. Raises ValueError, which says what is wrong and where."""
    reader = Reader(bytes(given))
    value = reader.value()
    if reader.at != len(given):
        raise ValueError(f"byte {reader.at}: unexpected data after the value")
    return value


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────


def encode_json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode_json(text):
    """Rejects text that Python accepts but the protocol does not. Raises ValueError."""
    def refuse(why):
        raise ValueError(why)

    def members(pairs):
        found = dict(pairs)
        return found if len(found) == len(pairs) else refuse("duplicate key")

    def integer(digits):
        value = int(digits) if len(digits) <= 20 else INTEGER_MAX + 1
        return value if -1 - INTEGER_MAX <= value <= INTEGER_MAX else refuse("the integer does not fit into 64 bits")

    def number(digits):
        value = float(digits)
        return value if math.isfinite(value) else refuse("number overflow")

    def check(value, depth):
        if isinstance(value, str):
            value.encode()      # a lone surrogate raises UnicodeEncodeError, which is a ValueError
        elif isinstance(value, (list, dict)):
            if depth == DEPTH_MAX:
                refuse(f"nested more than {DEPTH_MAX} deep")
            for one in value:
                check(one, depth + 1)
            if isinstance(value, dict):
                for one in value.values():
                    check(one, depth + 1)
        return value

    try:
        return check(json.loads(text, object_pairs_hook=members, parse_int=integer, parse_float=number, parse_constant=refuse), 0)
    except RecursionError:
        refuse(f"nested more than {DEPTH_MAX} deep")


# ── Messages ──────────────────────────────────────────────────────────────────────────────────

MISSING = object()


def is_integer(value, least, most):
    """A number without a fraction counts as an integer, however it was written."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
            and value == math.floor(value))


def read(frame, encoding):
    """Reads a frame: {"kind": "request", "id", "method", "params", "channel"}, or a message of the
    kind "notification", "result" or "error". Absent params and data are None. Raises
    MalformedMessage."""
    if isinstance(frame, str) != (encoding == "json"):
        raise MalformedMessage(INVALID_REQUEST, f"troupe.rpc.{encoding} does not use frames of this type")
    try:
        given = decode_json(frame) if encoding == "json" else decode_cbor(frame)
    except ValueError as error:
        raise MalformedMessage(PARSE_ERROR, str(error)) from None

    def require(holds, why, id=None):
        if not holds:
            raise MalformedMessage(INVALID_REQUEST, why, id)

    require(isinstance(given, dict), "a message is a map")
    id = given.get("id", MISSING)
    has_id = is_integer(id, 0, 2**53 - 1)
    if "method" in given:
        require(has_id or id is MISSING, "id: an integer from 0 to 2^53 - 1")
        asks = {"kind": "request", "id": int(id)} if has_id else {"kind": "notification"}
        of = asks.get("id")
        require("result" not in given and "error" not in given, "a message has one of method, result and error", of)
        method, channel = given["method"], given.get("ch", 0)
        require(isinstance(method, str) and 1 <= len(method.encode()) <= 256, "method: a string of 1 to 256 bytes", of)
        require(is_integer(channel, 0, 255), "ch: an integer from 0 to 255", of)
        return asks | {"method": method, "params": given.get("params"), "channel": int(channel)}
    require(("result" in given) != ("error" in given), "a message has one of method, result and error")
    if "result" in given:
        require(has_id, "id: the id of a request")
        return {"kind": "result", "id": int(id), "result": given["result"]}
    require(has_id or id is None, "id: the id of a request, or null")
    error = given["error"]
    require(isinstance(error, dict), "error: a map")
    require(is_integer(error.get("code"), -math.inf, math.inf), "error.code: an integer")
    require(isinstance(error.get("message"), str), "error.message: a string")
    return {"kind": "error", "id": int(id) if has_id else None, "code": int(error["code"]), "message": error["message"],
            "data": error.get("data")}


def write(message, encoding):
    """Returns the frame of a message in the form of read(): str or bytes."""
    kind = message["kind"]
    if kind == "result":
        wire = {"id": message["id"], "result": message["result"]}
    elif kind == "error":
        error = {"code": message["code"], "message": message["message"]}
        if message.get("data") is not None:
            error["data"] = message["data"]
        wire = {"id": message["id"], "error": error}
    else:
        wire = {"id": message["id"]} if kind == "request" else {}
        wire["method"] = message["method"]
        if message.get("channel"):
            wire["ch"] = message["channel"]
        if message.get("params") is not None:
            wire["params"] = message["params"]
    return encode_json(wire) if encoding == "json" else encode_cbor(wire)


# ── Connections ───────────────────────────────────────────────────────────────────────────────


@contextlib.asynccontextmanager
async def connect(url, protocol="troupe.rpc.json"):
    import websockets

    async with websockets.connect(url, subprotocols=[protocol]) as socket:
        peer = Peer(socket)
        task = asyncio.create_task(peer.run())
        try:
            yield peer
        finally:
            await socket.close()
            await task


class Peer:
    """Either end of a connection: sends requests and replies in the socket's subprotocol."""

    def __init__(self, socket):
        import websockets

        self.ended = websockets.ConnectionClosed
        self.socket = socket
        self.encoding = socket.subprotocol.rpartition(".")[2]
        self.handlers = {}
        self.asked = {}         # id → future
        self.lines = {}         # channel → lock
        self.tasks = set()
        self.last = 0

    def on(self, method, handler):
        """handler(params) returns the reply, or is a coroutine function that does."""
        self.handlers[method] = handler

    async def call(self, method, params=None, channel=0, timeout=None):
        """Sends a request and returns the reply. Raises RpcError, asyncio.TimeoutError, or
        ConnectionError if the connection ends."""
        self.last += 1
        id, future = self.last, asyncio.get_running_loop().create_future()
        self.asked[id] = future
        try:
            await self.send({"kind": "request", "id": id, "method": method, "params": params, "channel": channel})
            return await asyncio.wait_for(future, timeout)
        finally:
            del self.asked[id]

    async def notify(self, method, params=None, channel=0):
        await self.send({"kind": "notification", "method": method, "params": params, "channel": channel})

    async def send(self, message):
        await self.socket.send(write(message, self.encoding))

    async def run(self):
        """Receives messages until the connection ends."""
        with contextlib.suppress(self.ended):
            async for frame in self.socket:
                await self.take(frame)
        for future in self.asked.values():
            if not future.done():
                future.set_exception(ConnectionError("the connection is closed"))
        for task in self.tasks:
            task.cancel()

    async def take(self, frame):
        try:
            message = read(frame, self.encoding)
        except MalformedMessage as error:
            await self.send({"kind": "error", "id": error.id, "code": error.code, "message": str(error)})
            return
        kind = message["kind"]
        if kind in ("request", "notification"):
            line = self.lines.setdefault(message["channel"], asyncio.Lock()) if message["channel"] else contextlib.nullcontext()
            task = asyncio.create_task(self.handle(message, line))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            return
        future = self.asked.get(message["id"])
        if future is None or future.done():
            return
        if kind == "result":
            future.set_result(message["result"])
        else:
            future.set_exception(RpcError(message["code"], message["message"], message["data"]))

    async def handle(self, message, line):
        async with line:
            try:
                handler = self.handlers.get(message["method"])
                if handler is None:
                    raise RpcError(NO_SUCH_METHOD, f"unknown method {message['method']}")
                result = handler(message["params"])
                if asyncio.iscoroutine(result):
                    result = await result
                answer = {"kind": "result", "result": result}
            except RpcError as error:
                answer = {"kind": "error", "code": error.code, "message": error.message, "data": error.data}
            except Exception as error:
                answer = {"kind": "error", "code": INTERNAL_ERROR, "message": repr(error)}
            if message["kind"] == "request":
                with contextlib.suppress(self.ended):
                    await self.send({"id": message["id"], **answer})
