// SPDX-License-Identifier: Apache-2.0

// A client of applications in Lua, for browsers and other hosts that have WebSocket.
// docs/protocol.md describes the protocol.
//
//   import {connect, RpcError} from "./troupe.js";
//
//   const server = await connect("wss://example.org/game", {protocol: "troupe.rpc.cbor"});
//   const place = await server.call("move", {x: 3, y: 4}, {channel: 1, timeout: 5000});
//   server.notify("typing");
//   server.on("moved", ({who, x, y}) => draw(who, x, y));

import {INTERNAL_ERROR, MalformedMessage, NO_SUCH_METHOD, read, write} from "./messages.js";

export * from "./messages.js";
export * as cbor from "./cbor.js";

/** The error that a request was replied to with. A handler throws one to reply with that error. */
export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/**
 * A request to which no reply will come: the connection has ended, or it timed out. The request may
 * have been handled.
 */
export class NoAnswer extends Error {
  constructor(why) {
    super(why);
    this.name = "NoAnswer";
  }
}

/**
 * Connects, and returns an open Client.
 *
 *   protocol   "troupe.rpc.json" or "troupe.rpc.cbor"
 *   timeout    default time-out of calls in milliseconds; 0: no time-out
 *   reconnect  true, or {least, most}: a lost connection is made again after `least` milliseconds,
 *              then after twice as many, up to `most`. Each delay is a random value between half
 *              and all of that.
 */
export async function connect(url, options = {}) {
  const client = new Client(url, options);
  await client.open();
  return client;
}

export class Client {
  /** Called when the connection has been reestablished. */
  onopen = () => {};
  /**
   * Called with {code, reason, again} when the connection is lost. `again` is the delay of the next
   * attempt in milliseconds, or null.
   */
  onclose = () => {};

  #url;
  #encoding;
  #timeout;
  #reconnect;
  #socket = null;
  #again = 0;
  #tries = 0;
  #ended = false;
  #last = 0;
  #asked = new Map();  // id → {resolve, reject, timer}
  #handlers = new Map();
  #lines = new Map();  // channel → promise that settles when its last call is handled

  constructor(url, {protocol = "troupe.rpc.json", timeout = 0, reconnect = false} = {}) {
    const encoding = {"troupe.rpc.json": "json", "troupe.rpc.cbor": "cbor"}[protocol];
    if (!encoding) throw new TypeError(`protocol must be troupe.rpc.json or troupe.rpc.cbor, not ${protocol}`);
    this.#url = url;
    this.#encoding = encoding;
    this.#timeout = timeout;
    this.#reconnect = reconnect && {least: 500, most: 30_000, ...(reconnect === true ? {} : reconnect)};
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Resolves when the connection is open, and rejects if it cannot be made. */
  open() {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.#url, `troupe.rpc.${this.#encoding}`);
      let was = false;
      socket.binaryType = "arraybuffer";
      socket.onopen = () => {
        was = true;
        this.#tries = 0;
        resolve();
      };
      socket.onmessage = ({data}) => this.#take(socket, data);
      socket.onclose = ({code, reason}) => {
        reject(new NoAnswer(`cannot connect to ${this.#url}`));
        if (was) this.#lost(code, reason);
      };
      this.#socket = socket;
    });
  }

  close(code = 1000, reason = "") {
    this.#ended = true;
    clearTimeout(this.#again);
    this.#socket?.close(code, reason);
  }

  /** Sends a request. Rejects with RpcError, with NoAnswer, or with an error of encoding it. */
  call(method, params, {channel = 0, timeout = this.#timeout} = {}) {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) throw new NoAnswer("the connection is not open");
      const id = ++this.#last;
      this.#send({kind: "request", id, method, params, channel});
      const giveUp = () => this.#answered(id)?.reject(new NoAnswer(`no reply within ${timeout} ms`));
      this.#asked.set(id, {resolve, reject, timer: timeout > 0 ? setTimeout(giveUp, timeout) : 0});
    });
  }

  /** Sends a notification. Without a connection it is dropped, and false is returned. */
  notify(method, params, {channel = 0} = {}) {
    if (!this.isOpen) return false;
    this.#send({kind: "notification", method, params, channel});
    return true;
  }

  /**
   * Sets the handler of a method that the server calls, handler(params, {channel}); null removes
   * it. The reply to a request is the handler's return value, or the value of the promise that it
   * returns.
   */
  on(method, handler) {
    if (handler) this.#handlers.set(method, handler);
    else this.#handlers.delete(method);
    return this;
  }

  #send(message, socket = this.#socket) {
    socket.send(write(message, this.#encoding));
  }

  #take(socket, frame) {
    let message;
    try {
      message = read(frame, this.#encoding);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      // The other end does not speak the protocol.
      socket.close(4000, "malformed message");
      return;
    }
    if (message.kind === "result") {
      this.#answered(message.id)?.resolve(message.result);
    } else if (message.kind === "error") {
      if (message.id === null) console.warn(`troupe: ${message.message} (${message.code})`);
      else this.#answered(message.id)?.reject(new RpcError(message.code, message.message, message.data));
    } else if (message.channel === 0) {
      this.#handle(socket, message);
    } else {
      const before = this.#lines.get(message.channel) ?? Promise.resolve();
      const line = before.then(() => this.#handle(socket, message));
      this.#lines.set(message.channel, line);
      line.then(() => this.#lines.get(message.channel) === line && this.#lines.delete(message.channel));
    }
  }

  #answered(id) {
    const question = this.#asked.get(id);
    this.#asked.delete(id);
    clearTimeout(question?.timer);
    return question;
  }

  // The promise is never rejected.
  async #handle(socket, {kind, id, method, params, channel}) {
    const answer = message => {
      if (kind === "request" && socket.readyState === WebSocket.OPEN) this.#send({id, ...message}, socket);
    };
    try {
      const handler = this.#handlers.get(method);
      if (!handler) throw new RpcError(NO_SUCH_METHOD, `unknown method ${method}`);
      answer({kind: "result", result: await handler(params, {channel})});
    } catch (error) {
      if (!(error instanceof RpcError)) console.error(error);
      const told = error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, "internal error");
      try {
        answer({kind: "error", code: told.code, message: told.message, data: told.data});
      } catch (unwritten) {
        console.error(unwritten);
        answer({kind: "error", code: INTERNAL_ERROR, message: "internal error"});
      }
    }
  }

  #lost(code, reason) {
    for (const id of [...this.#asked.keys()]) this.#answered(id).reject(new NoAnswer("the connection is closed"));
    let again = null;
    if (this.#reconnect && !this.#ended) again = this.#tryAgain();
    this.onclose({code, reason, again});
  }

  // Returns the delay of the next attempt in milliseconds.
  #tryAgain() {
    const {least, most} = this.#reconnect;
    const wait = Math.min(most, least * 2 ** this.#tries++) * (0.5 + Math.random() / 2);
    this.#again = setTimeout(async () => {
      try {
        await this.open();
      } catch {
        if (!this.#ended) this.#tryAgain();
        return;
      }
      if (this.#ended) this.#socket.close();
      else this.onopen();
    }, wait);
    return wait;
  }
}
