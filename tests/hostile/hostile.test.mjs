// Each case is data. Strings of a case are bytes as they are sent; {"repeat": "x", "times": 3} stands for "xxx", and {"gzip": PART} for
// the compressed bytes of a part.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, createServer } from "node:net";
import { after, before, test } from "node:test";
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { Daemon } from "../e2e/daemon.mjs";
import { until } from "../e2e/until.mjs";

const kAnswerMsMax = 120_000;
const kSanitized = /asan|tsan/.test(process.env.SIGNALBOX ?? ""); // memory and time are those of the sanitizer

const cases = (file) =>
  readFileSync(new URL(file, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line)
    .map((line) => JSON.parse(line));

const part = (each) => (each.gzip ? gzipSync(part(each.gzip)) : Buffer.from(typeof each === "string" ? each : each.repeat.repeat(each.times), "latin1"));
const bytesOf = (parts) => Buffer.concat([parts].flat().map(part));

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 300s}]
providers:
  defaults: {default_model: echo}
  models:
    - {name: echo, backend_refs: [{name: echo, type: echo}]}
    - {name: hostile, backend_refs: [{name: hostile, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals: {keywords: [{name: urgent, operator: OR, keywords: [urgent]}]}
  decisions:
    - {name: urgent, priority: 1, rules: {type: keyword, name: urgent}, modelRefs: [{model: echo}]}
global:
  services:
    management_api: {port: ${managementPort}}
    http: {header_timeout: 2s, body_timeout: 20s, connections_per_address_max: 200}
`;

/// Sends the bytes of a case. `drips`: each byte by itself; `resets`: the connection does not end regularly.
async function sendReply(socket, { reply, drips, resets }) {
  const bytes = bytesOf(reply);
  for (let at = 0; drips && at < bytes.length; ++at) {
    socket.write(bytes.subarray(at, at + 1));
    await turn();
  }
  if (resets) socket.write(bytes, () => socket.resetAndDestroy());
  else socket.end(drips ? undefined : bytes);
}

let daemon, hostile, current;
before(async () => {
  hostile = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => sendReply(socket, current));
  });
  await new Promise((done) => hostile.listen(0, "127.0.0.1", done));
  daemon = await Daemon.start(configuration(hostile.address().port));
});
after(async () => {
  await daemon?.stop();
  hostile.close();
});

/// Sends bytes on one connection, closes the sending side if asked to, and returns what comes back until the server closes or
/// `statuses` replies have come.
async function exchange(bytes, replies) {
  const socket = connect(Number(new URL(daemon.url).port), "127.0.0.1");
  let text = "", closed = false;
  const over = new Promise((done) => {
    const check = () => statuses(text).length >= replies && done();
    socket.on("data", (more) => { text += more.toString("latin1"); check(); });
    socket.on("close", () => { closed = true; done(); });
    socket.on("error", () => {});
  });
  socket.write(bytes);
  await Promise.race([over, pause(kAnswerMsMax, undefined, { ref: false })]); // keeps no process alive that has its answer
  // A server that means to close does so soon after its last reply.
  for (let i = 0; i < 100 && !closed && /connection: close/i.test(text); ++i) await pause(10);
  socket.destroy();
  return { text, closed };
}

const statuses = (text) => [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map((found) => Number(found[1])).filter((status) => status !== 100);

for (const each of cases("requests.jsonl")) {
  test(`request: ${each.name}`, async () => {
    const expected = [each.status].flat();
    const { text, closed } = await exchange(bytesOf(each.send), expected.length);
    assert.deepEqual(statuses(text), expected, text.slice(0, 500));
    if (each.closes !== undefined) assert.equal(/connection: close/i.test(text) || closed, each.closes, text.slice(0, 500));
    if (each.has) assert.ok(text.includes(each.has), text.slice(0, 500));
  });
}

const agent = new Agent({ keepAlive: true });
const ask = (body, path = "/v1/chat/completions") =>
  new Promise((done, failed) => {
    const began = performance.now();
    const headers = { "content-type": "application/json", "content-length": body.length };
    const sent = request(`${daemon.url}${path}`, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.on("data", (more) => (text += more));
      answer.on("close", () => done({ status: answer.statusCode, headers: answer.headers, text, whole: answer.complete, ms: performance.now() - began }));
      answer.on("error", () => {});
    });
    sent.on("error", failed);
    sent.end(body);
  });

const chat = (model, text, more = {}) => Buffer.from(JSON.stringify({ model, messages: [{ role: "user", content: text }], ...more }));

for (const each of cases("replies.jsonl")) {
  test(`reply: ${each.name}`, async () => {
    current = each;
    const answer = await ask(chat("hostile", "hello", { stream: each.stream, max_tokens: 9 }), each.path);
    assert.equal(answer.status, each.status, answer.text.slice(0, 500));
    if (each.cut !== undefined) assert.equal(answer.whole, !each.cut);
    if (each.has) assert.ok(answer.text.includes(each.has), answer.text.slice(0, 500));
    if (each.lacks) assert.ok(!JSON.stringify(answer.headers).toLowerCase().includes(each.lacks), JSON.stringify(answer.headers));
  });
}

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];

const memory = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${daemon.process.pid}/status`, "utf8"))[1]) * 1024;

for (const each of cases("resources.jsonl")) {
  test(`resource: ${each.name}`, { skip: kSanitized && "a sanitizer has its own memory and time" }, async () => {
    const body = bytesOf(each.body);
    const alone = [];
    for (let i = 0; i < 30; ++i) alone.push((await ask(chat("auto", "urgent"))).ms);
    writeFileSync(`/proc/${daemon.process.pid}/clear_refs`, "5"); // the peak begins anew
    const before = memory("VmRSS");
    let over = false;
    const waits = [];
    const beside = (async () => {
      while (!over) {
        const answer = await ask(chat("auto", "urgent please"));
        assert.equal(answer.status, 200);
        waits.push(answer.ms);
        await pause(5);
      }
    })();
    const answers = await Promise.all(Array.from({ length: each.times ?? 1 }, () => ask(body)));
    over = true;
    await beside;
    for (const answer of answers) assert.equal(answer.status, each.status, answer.text.slice(0, 300));
    // The echo backend, which stands in for a server, holds a copy of its own.
    const factor = (memory("VmHWM") - before) / (body.length * answers.length);
    if (each.memory_factor_max) assert.ok(factor <= each.memory_factor_max, `${factor.toFixed(2)} times the body, at most ${each.memory_factor_max}`);
    if (!each.median_ms_max) return;
    // On a busy machine requests wait also when they are alone.
    const most = Math.max(each.median_ms_max, 5 * median(alone));
    assert.ok(median(waits) <= most, `${median(waits).toFixed(1)} ms at the median, at most ${most.toFixed(1)}`);
  });
}

test("resource: one address cannot hold all connections", async () => {
  const open = [];
  const { port } = new URL(daemon.url);
  for (let i = 0; i < 300; ++i) open.push(connect(Number(port), "127.0.0.1").on("error", () => {}));
  await Promise.all(open.map((socket) => new Promise((done) => socket.on("connect", done).on("error", done))));
  const refused = [];
  for (const socket of open) {
    let text = "";
    socket.on("data", (more) => (text += more));
    socket.on("close", () => refused.push(statuses(text)[0]));
  }
  await until(() => refused.filter((status) => status === 503).length >= 50, () => `50 refusals; there are ${refused}`);
  for (const socket of open) socket.destroy();
});
