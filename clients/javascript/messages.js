// SPDX-License-Identifier: Apache-2.0

// The messages of docs/protocol.md, as frames and as objects. This module does not use connections.
//
//   {kind: "request", id, method, params, channel}    {kind: "result", id, result}
//   {kind: "notification", method, params, channel}   {kind: "error", id, code, message, data}

import * as cbor from "./cbor.js";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const NO_SUCH_METHOD = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const OVERLOADED = -32000;
export const KILLED = -32001;
export const STOPPING = -32002;

/** A malformed message. `code` and `id` are those of the error to reply with. */
export class MalformedMessage extends Error {
  constructor(code, why, id = null) {
    super(why);
    this.name = "MalformedMessage";
    this.code = code;
    this.id = id;
  }
}

const isMap = value => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
const isId = value => Number.isSafeInteger(value) && value >= 0;
const isCode = value => Number.isInteger(value) || typeof value === "bigint";

function valueOf(frame, encoding) {
  if ((typeof frame === "string") !== (encoding === "json")) {
    throw new MalformedMessage(INVALID_REQUEST, `troupe.rpc.${encoding} does not use frames of this type`);
  }
  try {
    return encoding === "json" ? JSON.parse(frame) : cbor.decode(frame);
  } catch (error) {
    throw new MalformedMessage(PARSE_ERROR, error.message);
  }
}

/** Reads a frame: a string, an ArrayBuffer or a Uint8Array. Throws MalformedMessage. */
export function read(frame, encoding) {
  const given = valueOf(frame, encoding);
  const refuse = (why, id) => { throw new MalformedMessage(INVALID_REQUEST, why, id); };
  if (!isMap(given)) refuse("a message is a map");
  const has = name => Object.hasOwn(given, name);
  const {id, method, params, ch: channel = 0, result, error} = given;
  if (has("method")) {
    if (has("id") && !isId(id)) refuse("id: an integer from 0 to 2^53 - 1");
    const of = has("id") ? id : null;
    if (has("result") || has("error")) refuse("a message has one of method, result and error", of);
    if (typeof method !== "string" || method === "" || new TextEncoder().encode(method).length > 256) {
      refuse("method: a string of 1 to 256 bytes", of);
    }
    if (!Number.isInteger(channel) || channel < 0 || channel > 255) refuse("ch: an integer from 0 to 255", of);
    return has("id") ? {kind: "request", id, method, params, channel} : {kind: "notification", method, params, channel};
  }
  if (has("result") === has("error")) refuse("a message has one of method, result and error");
  if (has("result")) {
    if (!isId(id)) refuse("id: the id of a request");
    return {kind: "result", id, result};
  }
  if (!has("id") || (id !== null && !isId(id))) refuse("id: the id of a request, or null");
  if (!isMap(error)) refuse("error: a map");
  if (!isCode(error.code)) refuse("error.code: an integer");
  if (typeof error.message !== "string") refuse("error.message: a string");
  return {kind: "error", id, code: error.code, message: error.message, data: error.data};
}

/** Returns the frame of a message: a string, or a Uint8Array. */
export function write(message, encoding) {
  const {kind, id, method, params, channel, result, code, message: text, data} = message;
  let all;
  if (kind === "result") all = {id, result: result === undefined ? null : result};
  else if (kind === "error") all = {id, error: {code, message: text, data}};
  else all = {id, method, ch: channel || undefined, params};
  return encoding === "json" ? JSON.stringify(all) : cbor.encode(all);
}
