// Tests what requests spend: counted for every stream, kept through kill -9, and limited by budgets.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, settled } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kUsage = {
  prompt_tokens: 1000,
  completion_tokens: 100,
  total_tokens: 1100,
  prompt_tokens_details: { cached_tokens: 400 },
  completion_tokens_details: { reasoning_tokens: 60 },
};
// 600 fresh, 400 cached, 40 generated, 60 of reasoning, at the prices of "small" below
const kCost = (600 * 1 + 400 * 0.1 + 40 * 2 + 60 * 4) / 1e6;
const kCostOnLarge = (1000 * 10 + 100 * 20) / 1e6;

let upstream;
let daemon;

const configuration = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - name: small
      pricing: {prompt_per_1m: 1, cached_input_per_1m: 0.1, completion_per_1m: 2, reasoning_per_1m: 4}
      backend_refs: [{name: small, endpoint: "127.0.0.1:${upstream.port}"}]
    - name: large
      pricing: {prompt_per_1m: 10, completion_per_1m: 20}
      backend_refs: [{name: large, endpoint: "127.0.0.1:${upstream.port}"}]
    - name: painter
      pricing: {per_request: 0.04}
      backend_refs: [{name: painter, endpoint: "127.0.0.1:${upstream.port}"}]
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [prove]}
  decisions:
    - name: proofs
      priority: 1
      rules: {type: keyword, name: proof}
      modelRefs: [{model: large}, {model: small}]
global:
  access:
    keys_file: keys.json
  spending:
    budgets:
      - {name: refusing, by: key, of: poor, amount: 0.001, per: day}
      - {name: lasting, by: key, of: lasting, amount: 0.001, per: month}
      - {name: painting, by: key, of: artist, amount: 0.1, per: month}
      - {name: thrifty, by: user, of: thrift, amount: 0.001, then: cheaper}
      - {name: warning, by: group, of: watched, amount: 0.001, per: month, then: warn}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const signalbox = (...words) => execFileSync(process.env.SIGNALBOX, words, { encoding: "utf8", stdio: "pipe" });

async function make(name, ...options) {
  const key = signalbox("keys", "new", name, "--config", daemon.file, ...options).trim();
  const headers = { authorization: `Bearer ${key}` };
  await until(async () => (await fetch(`${daemon.url}/v1/models`, { headers })).status === 200);
  return key;
}

/// The report of the command line, once everything is written.
function report(by, file = daemon.file) {
  return JSON.parse(signalbox("report", "--config", file, "--by", by, "--json"));
}

async function spending(by) {
  const answer = await fetch(`${daemon.managementUrl}/api/v1/spending?by=${by}`);
  assert.equal(answer.status, 200);
  return answer.json();
}

/// The line of a key once it counts as many requests.
const spentByKey = (key, requests = 1) =>
  until(async () => (await spending("key")).lines.find((each) => each.key === key && each.requests >= requests));

const client = (apiKey) => new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
const ask = (from, content = "Hello", more = {}) =>
  from.chat.completions.create({ model: "auto", messages: [{ role: "user", content }], ...more });
const near = (value, expected) => assert.ok(Math.abs(value - expected) < 1e-9, `${value}, expected ${expected}`);

before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = (received) => {
    if (received.messages?.at(-1).content === "fail") return { status: 500, body: { error: { message: "no" } } };
    if (!received.stream) return { body: { ...completion({ content: "Hello" }, "stop", kUsage).body, model: received.model } };
    const all = streamed([{ content: "Hel" }, { content: "lo" }], "stop", kUsage);
    if (!received.stream_options?.include_usage) return { events: all.events.filter((event) => !event.usage) };
    return { events: all.events.map((event) => (typeof event === "string" || event.usage ? event : { ...event, usage: null })) };
  };
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
});

test("tokens and money by key, with cached and reasoning tokens apart, and what routing saved", async () => {
  const key = await make("ann", "--user", "anna", "--group", "research");
  await ask(client(key));
  await spentByKey("ann");
  for (const by of ["key", "user", "group", "model", "decision", "day"]) {
    const { lines, totals } = await spending(by);
    const name = { key: "ann", user: "anna", group: "research", model: "small", decision: "", day: new Date().toISOString().slice(0, 10) }[by];
    const line = lines.find((each) => each[by] === name);
    assert.ok(line, `${by}: ${JSON.stringify(lines)}`);
    assert.equal(line.requests, 1);
    assert.deepEqual([line.prompt_tokens, line.cached_tokens, line.completion_tokens, line.reasoning_tokens], [1000, 400, 100, 60]);
    near(line.cost, kCost);
    near(line.saved, kCostOnLarge - kCost);
    assert.equal(totals.length, 1);
  }
  assert.deepEqual(report("key").lines.find((each) => each.key === "ann").requests, 1, "the command line agrees");
  assert.match(signalbox("report", "--config", daemon.file), /^ann +1 +1000 +400 +100 /m);
});

test("a request that its server refuses counts as nothing", async () => {
  const key = await make("unlucky");
  await assert.rejects(ask(client(key), "fail"), OpenAI.InternalServerError);
  await assert.rejects(ask(client(key), "fail", { stream: true }), OpenAI.InternalServerError);
  await ask(client(key));
  await spentByKey("unlucky");
  const { lines, totals } = await spending("key");
  assert.deepEqual(lines.filter((each) => each.key === "unlucky").map((each) => [each.requests, each.currency]), [[1, "USD"]]);
  assert.equal(totals.length, 1);
});

test("a stream is metered without a request for usage, and its client gets no usage", async () => {
  const key = await make("streams");
  const chunks = [];
  for await (const chunk of await ask(client(key), "Hello", { stream: true })) chunks.push(chunk);
  assert.equal(upstream.received.stream_options.include_usage, true);
  assert.equal(chunks.length, 3);
  assert.ok(chunks.every((chunk) => !("usage" in chunk) && chunk.choices.length === 1), JSON.stringify(chunks));
  near((await spentByKey("streams")).cost, kCost);
});

test("a client that requests the usage gets it", async () => {
  const key = await make("curious");
  const chunks = [];
  for await (const chunk of await ask(client(key), "Hello", { stream: true, stream_options: { include_usage: true } })) chunks.push(chunk);
  assert.equal(chunks.at(-1).usage.prompt_tokens, 1000);
});

test("messages are metered, too", async () => {
  const key = await make("claude");
  const other = new Anthropic({ apiKey: key, baseURL: daemon.url, maxRetries: 0 });
  await other.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] });
  const stream = other.messages.stream({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] });
  await stream.finalMessage();
  const line = await spentByKey("claude", 2);
  assert.deepEqual([line.requests, line.prompt_tokens], [2, 2000]);
});

test("a stream that the client leaves is charged by its bytes", async () => {
  const key = await make("leaver");
  const answer = upstream.answer;
  upstream.answer = () => ({ events: streamed([{ content: "Hel" }], null).events, dies: true });
  try {
    for await (const chunk of await ask(client(key), "Hello there, and a few words more", { stream: true })) assert.ok(chunk);
  } catch {
    // the stream ends without its end
  } finally {
    upstream.answer = answer;
  }
  const line = await spentByKey("leaver");
  assert.ok(line.prompt_tokens > 0 && line.cost > 0, JSON.stringify(line));
});

test("a spent budget refuses with the time of its renewal", async () => {
  const poor = client(await make("poor"));
  await assert.rejects(async () => {
    // 0.00096 of 0.001 each. Two are enough, unless a new day begins between them.
    for (let i = 0; i < 4; ++i) await ask(poor).then(() => settled(daemon));
  }, (error) => {
    assert.ok(error instanceof OpenAI.RateLimitError);
    assert.equal(error.code, "budget_exceeded");
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    assert.ok(error.message.includes(`${tomorrow}T00:00:00Z`), error.message);
    const wait = Number(error.headers.get("retry-after"));
    assert.ok(wait > 0 && wait <= 86_400);
    return true;
  });
});

test("a price of each request lets a budget stop pictures and sounds, whose servers count no tokens", async () => {
  const artist = client(await make("artist"));
  const answer = upstream.answer;
  const draw = () => artist.images.generate({ model: "painter", prompt: "a cat" }).then(() => settled(daemon));
  try {
    upstream.answer = () => ({ body: { created: 1, data: [{ b64_json: "AAAA" }] } });
    await draw();
    upstream.answer = () => ({ headers: { "content-type": "audio/mpeg" }, body: "sound" });
    await artist.audio.speech.create({ model: "painter", voice: "alloy", input: "a cat" }).then(() => settled(daemon));
    near((await spentByKey("artist", 2)).cost, 0.08);
    upstream.answer = () => ({ body: { created: 1, data: [{ b64_json: "AAAA" }] } });
    await draw();
    await assert.rejects(draw(), (error) => error instanceof OpenAI.RateLimitError && error.code === "budget_exceeded");
  } finally {
    upstream.answer = answer;
  }
});

test("a spent budget takes the cheaper model", async () => {
  const thrifty = client(await make("saver", "--user", "thrift"));
  assert.equal((await ask(thrifty, "prove it")).model, "large"); // 0.012
  await settled(daemon);
  assert.equal((await ask(thrifty, "prove it")).model, "small");
});

test("a budget warns in a header", async () => {
  const watched = client(await make("watched", "--group", "watched"));
  const first = await ask(watched).withResponse();
  assert.equal(first.response.headers.get("x-vsr-budget"), null);
  await settled(daemon);
  const second = await ask(watched).withResponse();
  assert.match(second.response.headers.get("x-vsr-budget"), /^warning; of=watched; spent=0\.00; amount=0\.00; currency=USD; renewed=/);
});

// --- what survives ---

/// A daemon that a test may kill: its folder stays.
async function revive() {
  daemon.log = "";
  daemon.process = spawn(process.env.SIGNALBOX, ["serve", "--config", daemon.file], { stdio: ["ignore", "ignore", "pipe"] });
  daemon.process.stderr.setEncoding("utf8").on("data", (text) => (daemon.log += text));
  daemon.exited = new Promise((done) => daemon.process.on("close", (code, signal) => done({ code, signal })));
  await until(async () => (await fetch(`${daemon.managementUrl}/ready`).catch(() => null))?.status === 200);
}

test("kill -9 loses at most the last second of spending, and no key", async () => {
  const key = await make("killed");
  const from = client(key);
  const kills = Number(process.env.SIGNALBOX_KILLS ?? 5);
  const answered = []; // when each request ended
  let lost = 0; // by the kills so far
  for (let i = 0; i < kills; ++i) {
    let runs = true;
    const load = Array.from({ length: 8 }, async () => {
      while (runs) {
        const done = await ask(from).catch(() => null);
        if (done) answered.push(performance.now());
      }
    });
    await pause(1200 + Math.random() * 600);
    await until(() => answered.length > 20 * (i + 1), "requests between two kills");
    const name = `made-${i}`;
    const made = signalbox("keys", "new", name, "--config", daemon.file).trim();
    daemon.process.kill("SIGKILL");
    const killedAt = performance.now();
    await daemon.exited;
    runs = false;
    await Promise.all(load);
    await revive();
    const counted = report("key").lines.find((each) => each.key === "killed")?.requests ?? 0;
    const atRisk = answered.filter((at) => at > killedAt - 1000).length;
    const lostNow = answered.length - counted - lost;
    assert.ok(lostNow <= atRisk, `${lostNow} of ${answered.length} lost, ${atRisk} in the last second`);
    lost += lostNow;
    assert.equal((await fetch(`${daemon.url}/v1/models`, { headers: { authorization: `Bearer ${made}` } })).status, 200, name);
  }
});

test("a budget counts what was spent before a restart", async () => {
  const lasting = client(await make("lasting"));
  await ask(lasting); // 0.00096 of 0.001
  await ask(lasting);
  daemon.process.kill("SIGTERM");
  await daemon.exited;
  await revive();
  await assert.rejects(ask(lasting), (error) => error.status === 429 && error.code === "budget_exceeded");
});
