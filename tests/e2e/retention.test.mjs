// Tests decisions that restrict how long the router keeps their answers (`emits` with `retention`), with the official client.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kVector = [1, 0, 0, 0];

const decision = (name, priority, retention, ttl = 600, model = "plain") => `
    - name: ${name}
      priority: ${priority}
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: ${model}}]
      emits: [{kind: retention, retention: {${retention}}}]
      plugins:
        - {type: response_cache, configuration: {mode: exact, ttl_seconds: ${ttl}}}
        - {type: memory, configuration: {auto_store: true}}`;

const configuration = (model, embedder) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: plain}
  models:
    - {name: plain, backend_refs: [{endpoint: "127.0.0.1:${model}"}]}
    - {name: direct, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${model}"}]}
routing:
  signals:
    keywords:
      - {name: dropped, keywords: [dropped]}
      - {name: brief, keywords: [brief]}
      - {name: hinted, keywords: [hinted]}
      - {name: kept, keywords: [kept]}
      - {name: direct, keywords: [direct]}
      - {name: off, keywords: [off]}
  decisions:${decision("off", 6, "ttl_turns: 2", 0)}${decision("direct", 5, "drop: true", 600, "direct")}${decision("dropped", 4, "drop: true")}${decision("brief", 3, "ttl_turns: 2")}${decision("hinted", 2, "drop: false, ttl_turns: 0, keep_current_model: true, prefer_prefix_retention: true")}${decision("kept", 1, "")}
global:
  model_catalog: {embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder}/v1", model: e, dimensions: 4}}}}
  services:
    response_api: {enabled: true, store_backend: memory}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let model, embedder, daemon, client;

before(async () => {
  [model, embedder] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
  embedder.answer = ({ input }) => ({ body: { data: [input].flat().map((_, index) => ({ index, embedding: kVector })) } });
  daemon = await Daemon.start(configuration(model.port, embedder.port));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { "x-authz-user-id": "ann" } });
});

after(async () => {
  await daemon?.stop();
  await Promise.all([model, embedder].map((each) => each?.stop()));
});

beforeEach(() => {
  model.answer = ({ stream }) => (stream ? streamed([{ content: "An " }, { content: "answer." }]) : completion({ content: "An answer." }));
});

const messages = (text) => ({ model: "auto", messages: [{ role: "user", content: text }] });

/// Returns the headers of the reply to a text.
async function headersOf(text, headers = {}) {
  return (await client.chat.completions.create(messages(text), { headers }).withResponse()).response.headers;
}

async function fetched(url, headers = {}) {
  const reply = await fetch(url, { headers });
  assert.equal(reply.status, 200);
  return reply.json();
}

const memories = async () => (await fetched(`${daemon.url}/v1/memory`, { "x-authz-user-id": "ann" })).memories.map((each) => JSON.stringify(each));

/// A kept turn is stored after those before it, so once it is there, they are, too.
async function memoriesAfter(text) {
  await headersOf(text);
  await until(async () => (await memories()).some((each) => each.includes(text)), "the kept turn is a memory");
  return memories();
}

test("a dropped answer is not cached, whole or streamed, and the next request reaches the model", async () => {
  const text = "dropped: how many masts has the boat?";
  for (const stream of [false, true, false]) {
    const { data, response } = await client.chat.completions.create({ ...messages(text), stream }).withResponse();
    if (stream) for await (const chunk of data) void chunk;
    assert.equal(response.headers.get("x-vsr-cache-hit"), null);
  }
  const kept = "kept: how many masts has the boat?";
  await headersOf(kept);
  assert.equal((await headersOf(kept)).get("x-vsr-cache-hit"), "true");
});

test("a dropped turn becomes no memory", async () => {
  await headersOf("dropped: my favourite colour is green");
  const all = await memoriesAfter("kept: my favourite colour is blue");
  assert.ok(!all.some((each) => each.includes("green")), all.join("\n"));
});

test("a dropped response is not stored, and reports so", async () => {
  for (const stream of [false, true]) {
    const create = async (input) => {
      const made = await client.responses.create({ model: "auto", input, stream });
      if (!stream) return made;
      let last;
      for await (const event of made) last = event;
      return last.response;
    };
    const dropped = await create("dropped: which sea is the deepest?");
    assert.equal(dropped.store, false);
    await assert.rejects(client.responses.retrieve(dropped.id), { status: 404 });
    const kept = await create("kept: which sea is the deepest?");
    assert.equal(kept.store, true);
    assert.equal((await client.responses.retrieve(kept.id)).id, kept.id);
  }
});

test("servers get store: false for a dropped answer, if they would store it", async () => {
  model.answer = () => ({ body: { id: "resp_1", object: "response", status: "completed", model: "direct", store: false, output: [] } });
  for (const more of [{}, { store: true }]) {
    await client.responses.create({ model: "auto", input: "direct: which sea is the deepest?", ...more });
    assert.equal(model.path, "/v1/responses");
    assert.equal(model.received.store, false);
  }
  model.answer = () => completion({ content: "An answer." });
  await client.chat.completions.create({ ...messages("dropped: which sea is the widest?"), store: true });
  assert.equal(model.received.store, false);
  await client.chat.completions.create(messages("dropped: which sea is the widest?"));
  assert.equal("store" in model.received, false);
  await client.chat.completions.create({ ...messages("kept: which sea is the widest?"), store: true });
  assert.equal(model.received.store, true);
});

test("turns give no lifetime to answers where ttl_seconds is 0", async () => {
  for (let i = 0; i < 2; ++i) assert.equal((await headersOf("off: how deep is the sea?")).get("x-vsr-cache-hit"), null);
});

test("an answer for a number of turns is cached for a minute each", async () => {
  const lifetime = async (text) => {
    await headersOf(text);
    const id = (await headersOf(text)).get("x-vsr-cache-entry");
    return (await fetched(`${daemon.managementUrl}/api/v1/response-cache/entries/${id}`)).expires_in_seconds;
  };
  const brief = await lifetime("brief: how deep is the sea?");
  assert.ok(brief > 60 && brief <= 120, `${brief}`);
  const hinted = await lifetime("hinted: how deep is the sea?");
  assert.ok(hinted > 540 && hinted <= 600, `${hinted}`);
});

test("the directives that are set are headers of the reply, on request", async () => {
  const directives = async (text, headers) => Object.fromEntries([...(await headersOf(text, headers))].filter(([name]) => name.startsWith("x-vsr-retention")));
  const debug = { "x-vsr-debug": "true" };
  assert.deepEqual(await directives("hinted: what is a mast?", {}), {});
  assert.deepEqual(await directives("hinted: what is a keel?", debug), {
    "x-vsr-retention-drop": "false",
    "x-vsr-retention-ttl-turns": "0",
    "x-vsr-retention-keep-current-model": "true",
    "x-vsr-retention-prefer-prefix": "true",
  });
  assert.deepEqual(await directives("dropped: what is a keel?", debug), { "x-vsr-retention-drop": "true" });
  assert.deepEqual(await directives("kept: what is a keel?", debug), {});
});
