#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client and vectors.json agree."""

import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "clients" / "python"))
sys.path.insert(0, str(HERE.parent / "main"))

import stuck_python  # noqa: E402
import troupe_rpc as rpc  # noqa: E402

VECTORS = json.loads((HERE / "vectors.json").read_text(encoding="utf-8"))


def forms_of(vector):
    """(encoding, frame) for each form in which it may be written."""
    for name, text in vector.items():
        if name == "json":
            yield "json", text
        elif name == "cbor":
            yield "cbor", bytes.fromhex(text)
    for text in vector.get("also_json", []):
        yield "json", text
    for text in vector.get("also_cbor", []):
        yield "cbor", bytes.fromhex(text)


def each(part):
    return [(vector, encoding, frame) for vector in VECTORS[part] for encoding, frame in forms_of(vector)]


class Vectors(unittest.TestCase):
    def test_values_are_read_and_written(self):
        for vector, encoding, frame in each("values"):
            with self.subTest(vector["name"], frame=frame):
                value = rpc.decode_json(frame) if encoding == "json" else rpc.decode_cbor(frame)
                expected = json.loads(vector["json"])
                self.assertEqual(value, expected)
                self.assertEqual(rpc.decode_json(rpc.encode_json(value)), expected)
                if vector.get("order", True):
                    self.assertEqual(repr(value), repr(expected))       # 1 is not 1.0
                    self.assertEqual(rpc.encode_cbor(value).hex(), vector["cbor"])

    def test_values_that_only_cbor_has_are_read_and_written(self):
        for vector, _, frame in each("values_of_cbor"):
            with self.subTest(vector["name"], frame=frame):
                value = rpc.decode_cbor(frame)
                if "bytes" in vector:
                    self.assertEqual(value.hex(), vector["bytes"])
                else:
                    self.assertEqual(repr(value), vector["float"])
                self.assertEqual(rpc.encode_cbor(value).hex(), vector["cbor"])

    def test_messages_are_read_and_written(self):
        for vector, encoding, frame in each("messages"):
            with self.subTest(vector["name"], frame=frame):
                message = rpc.read(frame, encoding)
                self.assertEqual(message, {name: None for name in ("params", "data") if name in message} | vector["is"])
                self.assertEqual(rpc.read(rpc.write(message, encoding), encoding), message)

    def test_what_is_malformed_is_refused(self):
        for vector, encoding, frame in each("malformed"):
            with self.subTest(vector["name"], frame=frame):
                if vector.get("other_frame"):
                    encoding = {"json": "cbor", "cbor": "json"}[encoding]
                with self.assertRaises(rpc.MalformedMessage) as caught:
                    rpc.read(frame, encoding)
                self.assertEqual((caught.exception.code, caught.exception.id), (vector["code"], vector["id"]))


if __name__ == "__main__":
    stuck_python.watch()
    unittest.main()
