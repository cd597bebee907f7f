// Cases for the guards as data. evasions.jsonl: personal data and attacks in disguise must be found, and harmless texts in the same
// disguise must pass. turns.jsonl: short requests must be answered before any of the long ones that came first; only the order of
// these events counts, not their times.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Daemon, echoOnly, metric } from "../e2e/daemon.mjs";
import { until } from "../e2e/until.mjs";

const kModel = fileURLToPath(new URL("../../models/attacks/jailbreak", import.meta.url));
const kSkip = existsSync(kModel) ? false : "no model in models/attacks";
const kShorts = 3;

const configuration = (port, managementPort) => `${echoOnly(port)}routing:
  signals:
    pii: [{name: personal, include_history: true}]
${kSkip ? "" : "    jailbreak: [{name: attack}]"}
  decisions:
    - name: personal
      priority: 3
      rules: {type: pii, name: personal}
      plugins: [{type: fast_response, configuration: {message: personal data}}]
${
  kSkip
    ? ""
    : `    - name: attack
      priority: 2
      rules: {type: jailbreak, name: attack}
      plugins: [{type: fast_response, configuration: {message: an attack}}]`
}
    - {name: rest, priority: 1, modelRefs: [{model: echo}]}
global:
  model_catalog: {system: {prompt_guard: ${kModel}, pii_classifier: ""}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    http: {decision_timeout: 300s}
`;

const cases = (file) =>
  readFileSync(new URL(file, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line)
    .map((line) => JSON.parse(line));

let daemon;
before(async () => {
  daemon = await Daemon.start(configuration);
});
after(() => daemon?.stop());

const agent = new Agent({ keepAlive: true });

/// Sends a chat of a user. Returns the request, and its reply as a promise.
function send(chat, user = "someone") {
  const body = Buffer.from(JSON.stringify({ model: "auto", ...chat }));
  const headers = { "content-type": "application/json", "content-length": body.length, "x-authz-user-id": user };
  let sent;
  const reply = new Promise((done, failed) => {
    sent = request(`${daemon.url}/v1/chat/completions`, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.on("data", (more) => (text += more)).on("end", () => done({ status: answer.statusCode, text }));
    });
    sent.on("error", failed).end(body);
  });
  return { sent, reply };
}

const contentOf = ({ text }) => JSON.parse(text).choices?.[0].message.content;

for (const { name, finds, needs_model: needsModel, request: chat } of cases("evasions.jsonl")) {
  test(`evasion: ${name}`, { skip: needsModel && kSkip }, async () => {
    const reply = await send(chat).reply;
    const found = contentOf(reply);
    if (finds === "nothing") assert.ok(found !== "personal data" && found !== "an attack", `it finds ${found}`);
    else assert.equal(found, finds, reply.text.slice(0, 300));
  });
}

/// Returns prose without repetition, which differs by its seed.
function prose(bytes, seed) {
  const words = ["harbour", "morning", "boats", "quiet", "letters", "garden", "winter", "market", "window", "bread", "river", "music"];
  let text = "", at = seed + 1;
  while (text.length < bytes) {
    at = (at * 48271) % 2147483647;
    text += `${words[at % words.length]} ${at % 997} `;
  }
  return text.slice(0, bytes);
}

for (const { name, clients, prompts = 1, bytes } of cases("turns.jsonl")) {
  test(`turn: ${name}`, { skip: kSkip }, async () => {
    const order = [];
    const long = [];
    for (let n = 0; n < clients * prompts; ++n) {
      const each = send({ messages: [{ role: "user", content: prose(bytes, n) }] }, `long-${n % clients}`);
      each.over = each.reply.then(() => order.push("long"), () => {});
      long.push(each);
    }
    await until(async () => (await metric(daemon, "signalbox_requests_in_flight")) >= long.length, "all long requests to be in flight");
    for (let n = 0; n < kShorts; ++n) {
      const reply = await send({ messages: [{ role: "user", content: `What is the capital of country number ${n}?` }] }, "short").reply;
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      order.push("short");
    }
    assert.deepEqual(order, Array(kShorts).fill("short"));
    for (const { sent } of long) sent.destroy();
    await Promise.all(long.map(({ over }) => over));
    await until(async () => (await metric(daemon, "signalbox_requests_in_flight")) === 0, "the end of all long requests");
  });
}
