// SPDX-License-Identifier: Apache-2.0
//
// The page of the chat. It joins a room over one WebSocket, shows its messages, and reconnects by
// itself when the connection is lost. Three promises hold whatever happens to the connection:
// - no message is shown twice, and where some may be missing the page says so (`receive`);
// - no typed text is lost, and none is sent twice (`say`, `confirm`, `giveBack`);
// - text of others is only ever put into the page as text (`element`).

const $ = id => document.getElementById(id);

// ---- The connection: one WebSocket that reconnects by itself ------------------------------------

const CONNECT_WITHIN = 10_000;                      // milliseconds, like all times here
const FIRST_WAIT = 1_000, LONGEST_WAIT = 30_000;

class Connection {
  #url; #events; #socket = null; #timer = 0; #failures = 0;

  /// Events: opened(), received(message), broken(), and changed(state, seconds) to closed,
  /// connecting, open or waiting.
  constructor(url, events) {
    this.#url = url;
    this.#events = events;
  }

  get isOpen() { return this.#socket?.readyState === WebSocket.OPEN; }
  get isWaiting() { return !this.#socket && this.#timer !== 0; }

  /// Connects now, even if an attempt is scheduled for later.
  open() {
    this.#forget();
    this.#socket = new WebSocket(this.#url);
    this.#socket.onopen = () => {
      clearTimeout(this.#timer);
      this.#events.changed("open");
      this.#events.opened();
    };
    this.#socket.onmessage = event => this.#events.received(JSON.parse(event.data));
    this.#socket.onclose = this.#events.broken;
    this.#timer = setTimeout(this.#events.broken, CONNECT_WITHIN);
    this.#events.changed("connecting");
  }

  send(message) { this.#socket.send(JSON.stringify(message)); }

  /// The connection is lost. Reconnects after a delay that doubles with each failure, with jitter,
  /// so that a thousand pages do not reconnect at the same moment.
  lost() {
    this.#forget();
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    const until = performance.now() + wait;
    const tick = () => {
      const left = until - performance.now();
      if (left <= 0) return this.open();
      this.#events.changed("waiting", Math.ceil(left / 1000));
      this.#timer = setTimeout(tick, left % 1000 || 1000);
    };
    tick();
  }

  /// The connection works, so the next loss counts as the first failure.
  proven() { this.#failures = 0; }

  close() {
    this.#forget();
    this.#events.changed("closed");
  }

  // The old socket may take minutes to notice that it is dead; we do not wait for it and no longer
  // listen to it.
  #forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#socket = null;
  }
}

const connection = new Connection(`${location.protocol.replace("http", "ws")}//${location.host}/chat`, {
  opened: () => askToJoin(),
  received: message => handlers[message.type]?.(message),
  broken: () => wanted ? connection.lost() : connection.close(),
  changed: showState,
});

// ---- State --------------------------------------------------------------------------------------

const REJOIN_TRIES = 40, REJOIN_EVERY = 500;        // while our old connection may still hold our name
const CONFIRM_WITHIN = 10_000;

let wanted = null;          // {room, name} that the user wants to be in; null on the form
let joined = false;         // the server has admitted us, on this connection
let rejoins = 0;            // how often a refused rejoin is repeated
let rejoinTimer = 0;
let people = [];
const pending = [];         // sent and not yet confirmed: {text, bubble}, oldest first
let seen = new Set();       // the messages that are shown, as `id@time`: a restarted server begins
                            // again at id 1
let next = null;            // the expected id of the next message; null if any may come
let unread = 0;             // messages below the visible part

function join(room, name, tries = 0) {
  wanted = { room, name };
  rejoins = tries;
  forgetRoom();
  if (connection.isOpen) askToJoin();
  else connection.open();
}

function askToJoin() {
  clearTimeout(rejoinTimer);
  joined = false;
  if (wanted) connection.send({ type: "join", ...wanted });
}

function leave() {
  if (joined) {
    connection.send({ type: "leave" });             // `left_room` closes the connection
    pending.splice(0).forEach(item => item.bubble.remove());              // all of it was already
                                                                          // sent
  } else {
    connection.close();
  }
  wanted = null;
  joined = false;
  sessionStorage.removeItem("chat");
  showForm();
}

function say(text) {
  const item = { text, bubble: element("p", "bubble", text, "pending-message") };
  pending.push(item);
  $("pending").append(item.bubble);
  connection.send({ type: "say", text });
  setTimeout(() => { if (joined && pending.includes(item)) connection.lost(); }, CONFIRM_WITHIN);
}

/// A text that we sent has come back as a message.
function confirm(text) {
  const index = pending.findIndex(item => item.text === text);
  if (index >= 0) pending.splice(index, 1)[0].bubble.remove();
}

/// Text that was not accepted returns to the input field, before any text typed since.
function giveBack(items, why) {
  items.forEach(item => item.bubble.remove());
  $("text").value = [...items.map(item => item.text), $("text").value].filter(text => text).join("\n");
  $("send-error").textContent = why;
  fitText();
}

/// Shows a message, from the history or new, unless it is already shown.
function receive(message) {
  const key = `${message.id}@${message.at}`;
  if (seen.has(key)) return;
  if (next !== null && message.id !== next) showGap();
  seen.add(key);
  next = message.id + 1;
  if (message.from === wanted.name) confirm(message.text);
  showMessage(message);
}

const handlers = {
  __proto__: null,

  joined(message) {
    joined = true;
    rejoins = REJOIN_TRIES;
    connection.proven();
    $("banner").hidden = true;
    $("send-error").textContent = "";
    if (message.history.length === 0) {
      if (next !== null) showGap();
      next = null;
    }
    message.history.forEach(receive);
    if (pending.length) giveBack(pending.splice(0), "The connection broke before this was said. Send it again?");
    sessionStorage.setItem("chat", JSON.stringify(wanted));
    showPeople(message.people);
    showRoom();
  },

  said(message) {
    if (joined) receive(message);
  },

  arrived(message) {
    if (!joined) return;
    showPeople(message.people ?? [...people, message.name]);
    if (message.name !== wanted.name) showNote(`${message.name} arrived`);
  },

  left(message) {
    if (!joined) return;
    showPeople(message.people ?? people.filter(name => name !== message.name));
    showNote(`${message.name} left`);
  },

  left_room() {
    if (!wanted) connection.close();
  },

  // Each message that we send has one reply, in order: an error while we are in a room is about the
  // oldest pending message.
  error({ reason }) {
    if (joined) {
      giveBack(pending.splice(0, 1), reason);
    } else if (wanted && rejoins > 0) {
      rejoins -= 1;
      showBanner(`${reason} Trying again …`);
      rejoinTimer = setTimeout(() => { if (connection.isOpen && !joined) askToJoin(); }, REJOIN_EVERY);
    } else if (wanted) {
      wanted = null;
      connection.close();
      showForm(reason);
    }
  },
};

// ---- Display ------------------------------------------------------------------------------------

/// A new element that contains text, never HTML.
function element(tag, className, text = "", testid = "") {
  const result = document.createElement(tag);
  result.className = className;
  result.textContent = text;
  if (testid) result.dataset.testid = testid;
  return result;
}

/// The colour of a name, as a hue: the same for all users and on all pages.
function withHue(target, name) {
  let hash = 0x811c9dc5;                            // FNV-1a
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 0x01000193);
  target.style.setProperty("--hue", (hash >>> 8) % 360);
  return target;
}

function avatar(name) {
  const result = withHue(element("span", "avatar", ([...name][0] ?? "?").toUpperCase()), name);
  result.ariaHidden = "true";
  return result;
}

function timeOf(at) {
  const today = new Date(at).toDateString() === new Date().toDateString();
  return new Date(at).toLocaleString([], { timeStyle: "short", ...(today ? {} : { dateStyle: "medium" }) });
}

const GROUP_WITHIN = 5 * 60_000, LOG_ENTRIES_MAX = 1_000;
let group = null;           // the messages of one sender at the end of the log: {from, at, bubbles}

function showMessage({ id, from, text, at }) {
  const own = from === wanted.name;
  seeWhere();
  if (!group || group.from !== from || at - group.at > GROUP_WITHIN) {
    const by = element("p", "by");
    const time = element("time", "", timeOf(at));
    time.dateTime = new Date(at).toISOString();
    by.append(element("b", own ? "unseen" : "", own ? "You" : from), time);
    const bubbles = element("div", "bubbles");
    const row = withHue(element("div", own ? "group own" : "group", "", "group"), from);
    row.dataset.from = from;
    row.append(avatar(from), by, bubbles);
    append(row);
    group = { from, at, bubbles };
  }
  const bubble = element("p", "bubble", text, "message");
  bubble.dataset.id = id;
  bubble.title = timeOf(at);
  group.bubbles.append(bubble);
  if (!own) unread += 1;
  follow();
}

function showNote(text, className = "note", testid = "note") {
  seeWhere();
  append(element("p", className, text, testid));
  group = null;
  follow();
}

function showGap() { showNote("Some messages may be missing here", "note gap", "gap"); }

function append(entry) {
  $("log").append(entry);
  if ($("log").childElementCount > LOG_ENTRIES_MAX) $("log").firstElementChild.remove();
}

function showPeople(names) {
  people = names;
  $("people-title").textContent = names.length === 1 ? "1 person here" : `${names.length} people here`;
  $("people").replaceChildren(...names.slice(0, 200).map(name => {
    const item = element("li", "", "", "person");
    item.append(avatar(name), element("span", "", name === wanted.name ? `${name} (you)` : name));
    return item;
  }));
}

/// The banner counts down. The word in the header changes, and is read out, only when the state
/// changes.
function showState(state, seconds) {
  if (state !== "open") joined = false;
  const cause = navigator.onLine ? "The connection is lost." : "This device is offline.";
  if (state === "waiting") showBanner(`${cause} Next try in ${seconds} s.`);
  else if (state === "connecting") $("banner-text").textContent = "Connecting …";
  else $("banner").hidden = true;
  showReady();
}

function showBanner(text) {
  $("banner").hidden = false;
  $("banner-text").textContent = text;
}

function showReady() {
  const word = joined ? "Connected" : "Reconnecting";
  if ($("state").textContent !== word) $("state").textContent = word;
  $("state").dataset.state = word.toLowerCase();
  $("send").disabled = !joined;
  $("text").placeholder = joined ? "Say something" : "What you type is kept until we are back";
  const joining = wanted !== null && !joined;
  $("join-button").textContent = joining ? "Joining …" : "Join";
  $("join-button").disabled = joining && connection.isOpen;           // the reply is on its way
}

function showForm(error = "") {
  document.title = "Troupe chat";
  $("chat").hidden = true;
  $("welcome").hidden = false;
  $("join-error").textContent = error;
  showReady();
  const field = error.match(/\b(name|room)\b/i)?.[0].toLowerCase() ?? (fields.name.value ? "room" : "name");
  fields[field].focus();
  fields[field].select();
}

function showRoom() {
  const first = $("chat").hidden;
  $("welcome").hidden = true;
  $("chat").hidden = false;
  $("room-title").textContent = `# ${wanted.room}`;
  location.hash = encodeURIComponent(wanted.room);
  showReady();
  if (!first) return;
  unread = 0;
  toBottom();
  $("text").focus();
}

function forgetRoom() {
  giveBack(pending.splice(0), "");
  seen = new Set();
  next = group = null;
  $("log").replaceChildren();
  $("join-error").textContent = "";
  showReady();
}

// The log scrolls with new messages only while the user is at its end; otherwise a button announces
// them.

let following = true;

/// Called before an addition, because a scroll event may come too late.
function seeWhere() {
  const { scrollHeight, scrollTop, clientHeight } = $("scroller");
  following = scrollHeight - scrollTop - clientHeight < 40;
}

/// Called after an addition.
function follow() {
  if (following) toBottom();
  $("new-messages").hidden = following || unread === 0;
  $("new-messages").textContent = unread === 1 ? "1 new message ↓" : `${unread} new messages ↓`;
  if (wanted && !$("chat").hidden) document.title = document.hidden && unread ? `(${unread}) ${wanted.room}` : wanted.room;
}

function toBottom() {
  $("scroller").scrollTop = $("scroller").scrollHeight;
  following = true;
  if (!document.hidden) unread = 0;
}

function fitText() {
  $("text").style.height = "auto";
  $("text").style.height = `${$("text").scrollHeight + 2}px`;
}

// ---- User input ---------------------------------------------------------------------------------

const fields = { name: $("name"), room: $("room") };

function roomInAddress() {
  try { return decodeURIComponent(location.hash.slice(1)).trim(); } catch { return ""; }
}

$("join").onsubmit = event => {
  event.preventDefault();
  const name = fields.name.value.trim(), room = fields.room.value.trim();
  localStorage.setItem("name", name);
  localStorage.setItem("room", room);
  join(room, name);
};

$("composer").onsubmit = event => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (!text) return;
  if (!joined) return void ($("send-error").textContent = "Not connected. What you typed is kept here.");
  $("send-error").textContent = "";
  $("text").value = "";
  fitText();
  say(text);
  toBottom();
  follow();
  $("text").focus();
};

$("text").oninput = fitText;
$("text").onkeydown = event => {                    // Enter sends, except where it ends a composed character
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("composer").onsubmit(event);
};

$("leave").onclick = leave;
$("try-now").onclick = () => connection.open();
$("new-messages").onclick = () => { toBottom(); follow(); $("text").focus(); };

$("scroller").onscroll = () => {
  seeWhere();
  if (following && unread && !document.hidden) { unread = 0; follow(); }
};
new ResizeObserver(() => { fitText(); if (following) toBottom(); }).observe($("scroller"));

addEventListener("offline", () => { if (wanted) connection.lost(); });
addEventListener("online", () => { if (connection.isWaiting) connection.open(); });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  if (connection.isWaiting) connection.open();
  if (!$("chat").hidden) follow();
});
addEventListener("hashchange", () => {              // the user has followed a link to another room
  if (roomInAddress() === (wanted?.room ?? "")) return;
  fields.room.value = roomInAddress();
  if (wanted) leave();
});

// A tab that is reloaded returns to its room; a new one shows the form.
fields.name.value = localStorage.getItem("name") ?? "";
fields.room.value = roomInAddress() || localStorage.getItem("room") || "lobby";
const before = JSON.parse(sessionStorage.getItem("chat"));
if (before && before.room === (roomInAddress() || before.room)) join(before.room, before.name, REJOIN_TRIES);
else showForm();
