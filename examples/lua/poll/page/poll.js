// SPDX-License-Identifier: Apache-2.0

// The page of the poll. The client comes from clients/javascript, which the server serves at
// /client/.

import { Client, RpcError } from "/client/troupe.js";

const byId = id => document.getElementById(id);
const address = `${location.protocol.replace("http", "ws")}//${location.host}/poll`;
const server = new Client(address, { protocol: "troupe.rpc.cbor", reconnect: true });
let mine = null;

server.on("changed", show);
server.onclose = () => { byId("watching").textContent = "not connected"; };
server.onopen = () => { if (mine !== null) vote(mine); };   // a new connection counts as a new
                                                            // voter

async function vote(choice) {
  try {
    const result = await server.call("vote", choice, { timeout: 5000 });
    mine = choice;
    byId("error").textContent = "";
    show(result);
  } catch (error) {
    byId("error").textContent = error instanceof RpcError ? error.message : "The server does not answer.";
  }
}

function show({ question, counts, watching }) {
  byId("question").textContent = question;
  byId("watching").textContent = watching === 1 ? "only you are here" : `${watching} are here`;
  const all = Math.max(1, Object.values(counts).reduce((sum, count) => sum + count, 0));
  byId("choices").replaceChildren(...Object.keys(counts).sort().map(choice => row(choice, counts[choice], all)));
}

function row(choice, count, all) {
  const name = document.createElement("span");
  name.textContent = choice;
  const number = document.createElement("span");
  number.textContent = count;
  const bar = document.createElement("meter");
  bar.max = all;
  bar.value = count;
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.testid = `vote-${choice}`;
  button.setAttribute("aria-pressed", String(choice === mine));
  button.append(name, bar, number);
  button.onclick = () => vote(choice);
  const item = document.createElement("li");
  item.append(button);
  return item;
}

server.open().catch(() => { byId("watching").textContent = "not connected"; });
