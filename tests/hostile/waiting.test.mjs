// Tests that requests wait their turn while others hold all the memory for bodies: those that continue a stored response, that refer to
// contexts, and those that call several models. Chats whose server does not answer hold the memory.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Daemon } from "../e2e/daemon.mjs";
import { until } from "../e2e/until.mjs";

const kBodyMs = 4000; // the longest wait at the router `hasty`
const kHolder = 100_000; // bytes of a chat that holds memory
const kSmall = 14_000; // of one that does not wait behind others
const kLarge = 150_000; // bytes of a text that is stored

const kReply = JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "b" }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });

const configuration = (server, bodyMs) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: m}
  models:
    - {name: m, backend_refs: [{name: m, endpoint: "127.0.0.1:${server}"}]}
    - {name: other, backend_refs: [{name: other, endpoint: "127.0.0.1:${server}"}]}
routing:
  signals: {keywords: [{name: several, operator: OR, keywords: [several]}]}
  decisions:
    - name: several
      rules: {type: keyword, name: several}
      modelRefs: [{model: m}, {model: other}]
      algorithm: {type: ratings, ratings: {max_concurrent: 1}}
global:
  services:
    management_api: {port: ${managementPort}}
    http: {body_bytes_max: 1MiB, bodies_bytes_max: 3MiB, body_timeout: ${bodyMs}ms}
    response_api: {enabled: true}
  stores: {contexts: {enabled: true}}
`;

const held = []; // replies of the server that are held back
let server, patient, hasty;
before(async () => {
  server = createServer((received, reply) => {
    let body = "";
    received.setEncoding("utf8").on("data", (text) => (body += text));
    received.on("end", () => {
      reply.writeHead(200, { "content-type": "application/json" });
      if (body.includes("hold on")) held.push(reply);
      else reply.end(kReply);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  patient = await Daemon.start(configuration(server.address().port, 300_000));
  hasty = await Daemon.start(configuration(server.address().port, kBodyMs));
});
after(async () => {
  await patient?.stop();
  await hasty?.stop();
  server.closeAllConnections();
  server.close();
});

const post = async (at, path, body) => {
  const began = performance.now();
  const answer = await fetch(`${at.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), failed: answer.headers.get("x-vsr-looper-models-failed"), body: await answer.text(), ms: performance.now() - began };
};
const chat = (text, more = {}) => ({ model: "auto", messages: [{ role: "user", content: text }], ...more });
const long = (bytes) => "abcdefg ".repeat(bytes / 8);
const send = (at, body) => post(at, "/v1/chat/completions", body);

/// The time within which anything is answered that does not wait for memory, however busy the machine is.
async function aWhile(at) {
  await pause(300);
  for (let i = 0; i < 10; ++i) await (await fetch(`${at.url}/v1/models`)).arrayBuffer();
  return "it waits";
}

/// Sends chats until one of them does not reach the server, because it waits for memory.
async function fill(at, bytes = kHolder) {
  const answers = [];
  for (let i = 0; i < 100; ++i) {
    const before = held.length;
    answers.push(send(at, { ...chat(`hold on ${long(bytes)}`), model: "m" }));
    let over = false;
    aWhile(at).then(() => (over = true));
    while (!over && held.length === before) await pause(10);
    if (held.length === before) return answers;
  }
  assert.fail("the memory never fills");
}

/// Lets the chats that hold memory end, also those that had waited.
async function empty(answers) {
  let over = false;
  const all = Promise.all(answers).finally(() => (over = true));
  while (!over) {
    for (const reply of held.splice(0)) reply.end(kReply);
    await pause(10);
  }
  return all;
}

const prepared = {
  "a request that continues a stored response": async (at) => {
    const stored = await post(at, "/v1/responses", { model: "m", input: long(kLarge) });
    assert.equal(stored.status, 200, stored.body);
    return () => post(at, "/v1/responses", { model: "m", input: "and", previous_response_id: JSON.parse(stored.body).id });
  },
  "a request with an item of a stored response": async (at) => {
    const stored = await post(at, "/v1/responses", { model: "m", input: long(kLarge) });
    const items = await (await fetch(`${at.url}/v1/responses/${JSON.parse(stored.body).id}/input_items`)).json();
    return () => post(at, "/v1/responses", { model: "m", input: [{ type: "item_reference", id: items.data[0].id }] });
  },
  "a request with a stored context": async (at) => {
    const stored = await post(at, "/v1/contexts", { messages: [{ role: "system", content: long(kLarge) }] });
    assert.ok(stored.status < 300, stored.body);
    return () => send(at, { ...chat("and"), model: "m", metadata: { context_refs: [JSON.parse(stored.body).id] } });
  },
};

for (const [name, prepare] of Object.entries(prepared)) {
  test(`${name} waits for memory`, async () => {
    const ask = await prepare(patient);
    const alone = await ask();
    assert.equal(alone.status, 200, alone.body);
    const holders = await fill(patient);
    const answer = ask();
    const first = await Promise.race([answer, aWhile(patient)]);
    const ended = await empty(holders);
    assert.equal(first, "it waits", JSON.stringify(first));
    const late = await answer;
    assert.equal(late.status, 200, late.body);
    for (const each of ended) assert.equal(each.status, 200, each.body);
  });

  test(`${name} gets 429 if it has waited for too long`, async () => {
    const ask = await prepare(hasty);
    const holders = await fill(hasty);
    const { status, retryAfter, body, ms } = await ask();
    await empty(holders);
    assert.equal(status, 429, body);
    assert.equal(retryAfter, "1");
    assert.ok(ms > kBodyMs / 2, `after ${ms} ms`);
  });
}

test("a call of a request that calls several models waits for memory", async () => {
  const answer = send(patient, chat(`several hold on ${long(3 * kSmall)}`));
  await until(() => held.length > 0, "the first call");
  const firstCall = held.shift();
  const holders = [...(await fill(patient)), ...(await fill(patient, kSmall))];
  firstCall.end(kReply);
  const first = await Promise.race([answer, aWhile(patient)]);
  await empty([answer, ...holders]);
  assert.equal(first, "it waits", JSON.stringify(first));
  assert.equal((await answer).status, 200);
  assert.equal((await answer).failed, null, "both models answered");
});

test("a request that exceeds the memory with its stored state gets 413 at once", async () => {
  const stored = await post(patient, "/v1/responses", { model: "m", input: long(2.5 * kLarge) });
  assert.equal(stored.status, 200, stored.body);
  let answer = stored;
  while (answer.status === 200) {
    answer = await post(patient, "/v1/responses", { model: "m", input: long(kLarge), previous_response_id: JSON.parse(answer.body).id });
  }
  assert.equal(answer.status, 413, answer.body);
  assert.match(answer.body, /bodies_bytes_max/);
});
