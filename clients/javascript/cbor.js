// SPDX-License-Identifier: Apache-2.0

// CBOR (RFC 8949), as far as the protocol uses it: see "Values" in docs/protocol.md.
//
//   null, boolean, string       unchanged
//   number                      an integer if it is safe, otherwise a float; decoding gives a
//                               bigint for an integer that is not safe
//   bigint                      an integer of 64 bits
//   Uint8Array, ArrayBuffer     byte string
//   array, object               array and map; members that are undefined are omitted

const DEPTH_MAX = 64;
const INTEGER_MAX = 2n ** 63n - 1n;
const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

/** An error in the encoding, and its position. */
export class CborError extends Error {
  constructor(at, why) {
    super(`byte ${at}: ${why}`);
    this.name = "CborError";
  }
}

export function encode(value) {
  let bytes = new Uint8Array(256);
  let size = 0;

  function room(more) {
    if (size + more > bytes.length) {
      const larger = new Uint8Array(2 * (size + more));
      larger.set(bytes.subarray(0, size));
      bytes = larger;
    }
    size += more;
    return new DataView(bytes.buffer, size - more, more);
  }

  function head(major, argument) {
    const initial = major << 5;
    if (argument < 24) {
      room(1).setUint8(0, initial | Number(argument));
    } else if (argument < 0x100) {
      room(2).setUint16(0, (initial | 24) << 8 | Number(argument));
    } else if (argument < 0x10000) {
      const view = room(3);
      view.setUint8(0, initial | 25);
      view.setUint16(1, Number(argument));
    } else if (argument < 0x100000000) {
      const view = room(5);
      view.setUint8(0, initial | 26);
      view.setUint32(1, Number(argument));
    } else {
      const view = room(9);
      view.setUint8(0, initial | 27);
      view.setBigUint64(1, BigInt(argument));
    }
  }

  function integer(value) {
    if (value >= 0) head(0, value);
    else head(1, typeof value === "bigint" ? -1n - value : -1 - value);
  }

  function float(value) {
    if (Number.isNaN(value)) {
      const view = room(3);
      view.setUint8(0, 0xf9);
      view.setUint16(1, 0x7e00);
    } else if (Math.fround(value) === value) {
      const view = room(5);
      view.setUint8(0, 0xfa);
      view.setFloat32(1, value);
    } else {
      const view = room(9);
      view.setUint8(0, 0xfb);
      view.setFloat64(1, value);
    }
  }

  function string(major, content) {
    head(major, content.length);
    room(content.length);
    bytes.set(content, size - content.length);
  }

  function put(value, depth) {
    switch (typeof value) {
      case "undefined":
        return head(7, 22);
      case "boolean":
        return head(7, value ? 21 : 20);
      case "number":
        return Number.isSafeInteger(value) && !Object.is(value, -0) ? integer(value) : float(value);
      case "bigint":
        if (value > INTEGER_MAX || value < -1n - INTEGER_MAX) throw new RangeError("the integer does not fit into 64 bits");
        return integer(value);
      case "string":
        return string(3, utf8.encode(value));
      case "object":
        break;
      default:
        throw new TypeError(`cannot encode a ${typeof value}`);
    }
    if (value === null) return head(7, 22);
    if (value instanceof Uint8Array) return string(2, value);
    if (value instanceof ArrayBuffer) return string(2, new Uint8Array(value));
    if (depth === DEPTH_MAX) throw new RangeError(`nested more than ${DEPTH_MAX} deep`);
    if (Array.isArray(value)) {
      head(4, value.length);
      for (const one of value) put(one, depth + 1);
      return;
    }
    const members = Object.entries(value).filter(([, one]) => one !== undefined);
    head(5, members.length);
    for (const [name, one] of members) {
      string(3, utf8.encode(name));
      put(one, depth + 1);
    }
  }

  put(value, 0);
  return bytes.slice(0, size);
}

/** Decodes the value in an ArrayBuffer or a Uint8Array. Throws CborError. */
export function decode(given) {
  const bytes = given instanceof Uint8Array ? given : new Uint8Array(given);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let begin = 0;
  const INDEFINITE = 31;
  const END = Symbol("end");

  function refuse(why) {
    throw new CborError(begin, why);
  }

  function need(size) {
    if (size > bytes.length - at) refuse("unexpected end of data");
  }

  function head() {
    begin = at;
    need(1);
    const initial = bytes[at++];
    const got = {major: initial >> 5, info: initial & 0x1f, argument: initial & 0x1f, from: at};
    if (got.info < 24) return got;
    if (got.info === INDEFINITE && [2, 3, 4, 5, 7].includes(got.major)) return got;
    if (got.info > 27) refuse("an invalid length");
    const size = 1 << (got.info - 24);
    need(size);
    if (size === 8) got.argument = view.getBigUint64(at);
    else got.argument = size === 4 ? view.getUint32(at) : size === 2 ? view.getUint16(at) : bytes[at];
    got.from = at;
    at += size;
    return got;
  }

  function half(bits) {
    const exponent = bits >> 10 & 0x1f;
    const fraction = bits & 0x3ff;
    const value = exponent === 0 ? fraction * 2 ** -24
        : exponent < 31 ? (fraction + 1024) * 2 ** (exponent - 25)
        : fraction === 0 ? Infinity : NaN;
    return bits & 0x8000 ? -value : value;
  }

  function integer({major, argument}) {
    if (argument > INTEGER_MAX) refuse("the integer does not fit into 64 bits");
    const value = major === 0 ? BigInt(argument) : -1n - BigInt(argument);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  function piece({major, argument}) {
    need(argument);
    const content = bytes.slice(at, at += Number(argument));
    if (major === 2) return content;
    try {
      return text.decode(content);
    } catch {
      refuse("the text is not valid UTF-8");
    }
  }

  function string(got) {
    if (got.info !== INDEFINITE) return piece(got);
    const pieces = [];
    for (;;) {
      const next = head();
      if (isEnd(next)) break;
      if (next.major !== got.major || next.info === INDEFINITE) refuse("a string chunk of another type");
      pieces.push(piece(next));
    }
    return got.major === 3 ? pieces.join("") : Uint8Array.from(pieces.flatMap(one => [...one]));
  }

  function simple(got) {
    switch (got.info) {
      case 20: case 21: return got.info === 21;
      case 22: case 23: return null;
      case 25: return half(got.argument);
      case 26: return view.getFloat32(got.from);
      case 27: return view.getFloat64(got.from);
      case INDEFINITE: return refuse("a break outside of an indefinite-length value");
      default: return refuse("an unsupported simple value");
    }
  }

  const isEnd = got => got.major === 7 && got.info === INDEFINITE;

  function item(depth, mayEnd) {
    const got = head();
    if (mayEnd && isEnd(got)) return END;
    switch (got.major) {
      case 0: case 1: return integer(got);
      case 2: case 3: return string(got);
      case 6: return refuse("a tag");
      case 7: return simple(got);
    }
    const counted = got.info !== INDEFINITE;
    if (counted) need(got.argument);
    if (depth === DEPTH_MAX) refuse(`nested more than ${DEPTH_MAX} deep`);
    return got.major === 4 ? array(got, counted, depth) : map(got, counted, depth);
  }

  function array(got, counted, depth) {
    const all = [];
    while (!counted || all.length < got.argument) {
      const one = item(depth + 1, !counted);
      if (one === END) break;
      all.push(one);
    }
    return all;
  }

  function map(got, counted, depth) {
    const all = {};
    for (let i = 0; !counted || i < got.argument; ++i) {
      const next = head();
      if (!counted && isEnd(next)) break;
      if (next.major !== 3) refuse("the key is not text");
      const name = string(next);
      if (Object.hasOwn(all, name)) refuse(`duplicate key "${name.slice(0, 40)}"`);
      // Not by assignment, because a member may have the name "__proto__".
      Object.defineProperty(all, name, {value: item(depth + 1, false), writable: true, enumerable: true, configurable: true});
    }
    return all;
  }

  const value = item(0, false);
  begin = at;
  if (at !== bytes.length) refuse("unexpected data after the value");
  return value;
}
