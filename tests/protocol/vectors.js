// SPDX-License-Identifier: Apache-2.0

// Compares the JavaScript client with vectors.json: check(vectors) returns a line for each
// difference.

import {MalformedMessage, RpcError, cbor, connect, read, write} from "../../clients/javascript/troupe.js";

const bytesOf = hex => Uint8Array.from(hex.match(/../g) ?? [], pair => parseInt(pair, 16));
const hexOf = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");

function* formsOf(vector) {
  const {json, cbor, also_json = [], also_cbor = []} = vector;
  for (const text of json === undefined ? also_json : [json, ...also_json]) yield ["json", text];
  for (const hex of cbor === undefined ? also_cbor : [cbor, ...also_cbor]) yield ["cbor", bytesOf(hex)];
}

// A text with sorted names, and with values that JSON lacks.
function shown(value) {
  return JSON.stringify(value, (name, one) => {
    if (typeof one === "bigint") return `${one}n`;
    if (typeof one === "number" && !Number.isFinite(one)) return String(one);
    if (one === undefined || one === null || typeof one !== "object" || Array.isArray(one)) return one;
    return Object.entries(one).filter(([, member]) => member !== undefined).sort(([a], [b]) => a < b ? -1 : 1);
  });
}

export function check(vectors) {
  const failures = [];
  let checked = 0;
  const same = (name, got, expected) => {
    ++checked;
    if (!Object.is(got, expected)) failures.push(`${name}: ${got} instead of ${expected}`);
  };
  const each = (part, body) => {
    for (const vector of vectors[part]) {
      for (const [encoding, frame] of formsOf(vector)) {
        const name = `${vector.name}, ${typeof frame === "string" ? frame : hexOf(frame)}`;
        try {
          body(vector, encoding, frame, name);
        } catch (error) {
          failures.push(`${name}: ${error}`);
        }
      }
    }
  };

  each("values", (vector, encoding, frame, name) => {
    if (vector.big && encoding === "json") return;
    const value = encoding === "json" ? JSON.parse(frame) : cbor.decode(frame);
    same(name, shown(value), vector.big ? `"${vector.json}n"` : shown(JSON.parse(vector.json)));
    same(`${name}, again`, shown(cbor.decode(cbor.encode(value))), shown(value));
    // JavaScript writes floats without a fraction as integers.
    if (vector.order !== false && !/^-?[0-9]+\.0$|e\+/.test(vector.json)) {
      same(`${name}, written`, hexOf(cbor.encode(Object.is(value, -0) ? 0 : value)), vector.cbor);
    }
  });
  each("values_of_cbor", (vector, encoding, frame, name) => {
    const value = cbor.decode(frame);
    if (vector.bytes !== undefined) same(name, hexOf(value), vector.bytes);
    else same(name, value, {nan: NaN, inf: Infinity, "-inf": -Infinity}[vector.float]);
    same(`${name}, written`, hexOf(cbor.encode(value)), vector.cbor);
  });
  each("messages", (vector, encoding, frame, name) => {
    const message = read(frame, encoding);
    same(name, shown(message), shown(vector.is));
    same(`${name}, again`, shown(read(write(message, encoding), encoding)), shown(vector.is));
  });
  each("malformed", (vector, encoding, frame, name) => {
    if (vector.lenient || (vector.lenient_json && encoding === "json")) return;
    const as = vector.other_frame ? {json: "cbor", cbor: "json"}[encoding] : encoding;
    try {
      read(frame, as);
      failures.push(`${name}: not refused`);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      same(name, `${error.code} ${error.id}`, `${vector.code} ${vector.id}`);
    }
  });
  return {checked, failures};
}

globalThis.troupe = {RpcError, check, connect};
