// Tests the time limits of a model's calls, and the bounds on further attempts, with servers that stall.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Daemon, freePorts } from "./daemon.mjs";

const kReply = JSON.stringify({ id: "c", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "B" }, finish_reason: "stop" }] });

const listen = (answer) => new Promise((done) => { const server = createServer(answer).listen(0, "127.0.0.1", () => done(server)); });

let silent, stalled, refusing, good, daemon;

before(async () => {
  silent = await listen((request) => request.resume()); // never answers
  stalled = await listen((request, reply) => { // begins a stream, and never continues it
    request.resume();
    reply.writeHead(200, { "content-type": "text/event-stream" });
    reply.write('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n');
  });
  refusing = await listen((request, reply) => { request.resume(); reply.writeHead(503, { "retry-after": "1" }).end("no"); });
  good = await listen((request, reply) => { request.resume(); reply.setHeader("content-type", "application/json"); reply.end(kReply); });
  const [closed] = await freePorts(1);
  const model = (name, servers, reliability) =>
    `    - {name: ${name}, reliability: ${reliability}, backend_refs: [${servers.map((port, i) => `{name: s${i}, endpoint: "127.0.0.1:${port}"}`).join(", ")}]}`;
  const port = (server) => server.address().port;
  daemon = await Daemon.start((listener, management) => `
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${listener}}]
providers:
  defaults: {default_model: idle}
  models:
${[
  model("idle", [port(stalled)], "{idle_timeout: 100ms}"),
  model("total", [port(silent), port(good)], "{total_timeout: 100ms}"),
  model("whole", [port(stalled)], "{total_timeout: 100ms}"),
  model("waits", [port(refusing), port(good)], "{retry_after_max: 300ms}"),
  model("cannot_wait", [port(refusing), port(good)], "{retry_after_max: 1s, total_timeout: 500ms}"),
  model("none", [closed, port(good)], "{retry_budget_percent: 0, retry_budget_min_concurrency: 0, connect_timeout: 5s}"),
].join("\n")}
global: {services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}}
`);
});

after(async () => {
  await daemon?.stop();
  for (const server of [silent, stalled, refusing, good]) {
    server?.closeAllConnections();
    server?.close();
  }
});

const send = (model, more = {}) =>
  fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], ...more }) });

test("a stream that pauses for too long, or takes too long, ends with an error", async () => {
  for (const [model, limit] of [["idle", "idle_timeout"], ["whole", "total_timeout"]]) {
    const answer = await send(model, { stream: true });
    assert.equal(answer.status, 200);
    let text = "";
    const read = async () => { for await (const piece of answer.body) text += Buffer.from(piece).toString(); };
    await read().catch(() => {}); // the body may break off
    assert.match(text, new RegExp(`100 ms, the ${limit} of the model`), text);
  }
});

test("a call ends after its total time, and no other server is tried", async () => {
  const answer = await send("total");
  assert.equal(answer.status, 504);
  assert.match(await answer.text(), /100 ms, the total_timeout of the model/);
});

test("another server is tried after a wait, unless the budget has no retry", async () => {
  const began = performance.now();
  assert.equal((await (await send("waits")).json()).choices[0].message.content, "B");
  assert.ok(performance.now() - began >= 299);
  const refused = await send("cannot_wait");
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("retry-after"), "1");
  const answers = await Promise.all(Array.from({ length: 4 }, () => send("none")));
  assert.deepEqual(new Set(answers.map((each) => each.status)), new Set([200, 502])); // they begin at the servers in turn
});

test("a stream that does not end before the router stops ends with an error", async () => {
  const stopping = await Daemon.start((listener, management) => `
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${listener}}]
providers:
  defaults: {default_model: m}
  models: [{name: m, backend_refs: [{name: s, endpoint: "127.0.0.1:${stalled.address().port}"}]}]
global: {services: {management_api: {bind_address: 127.0.0.1, port: ${management}}, http: {drain_timeout: 100ms}}}
`);
  const answer = await fetch(`${stopping.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.equal(answer.status, 200);
  stopping.process.kill("SIGTERM");
  let text = "";
  const read = async () => { for await (const piece of answer.body) text += Buffer.from(piece).toString(); };
  await read().catch(() => {}); // the body may break off
  assert.match(text, /"error".*100 ms, the time to finish when the router stops/s);
  await stopping.stop().catch(() => {});
});
