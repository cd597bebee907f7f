// Tests answers that take several calls, or an image server, for requests that come through Envoy: the router makes
// these calls itself and answers in the place of a server. The same daemon answers over HTTP, for comparison.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, beforeEach, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts, settled, withDaemon } from "./daemon.mjs";
import { Envoy, head, Processor } from "./envoy.mjs";
import { until } from "./until.mjs";
import { completion, EndlessUpstream, ScriptedUpstream } from "./upstream.mjs";

const kUrl = "https://images.example/1.png";
const kMail = "ann@example.com";
const kWords = ["panel", "cascade", "ratings", "masked", "stored", "guarded", "hanging", "paint", "both"];
const kModels = ["small", "large", "third"];

const configuration = (envoyPort, seconds = 60) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
${kModels.map((name) => `    - {name: ${name}, pricing: {prompt_per_1m: 1, completion_per_1m: 1}, backend_refs: [{endpoint: "127.0.0.1:${servers[name].port}"}]}`).join("\n")}
    - {name: endless, backend_refs: [{endpoint: "127.0.0.1:${endless.port}"}]}
routing:
  modelCards: [{name: small, param_size: 1b}, {name: large, param_size: 70b}]
  signals:
    modality: [{name: BOTH}]
    keywords: ${JSON.stringify(kWords.map((name) => ({ name, keywords: [name] })))}
  decisions:
    - {name: panel, rules: {type: keyword, name: panel}, modelRefs: [{model: small}, {model: third}], algorithm: {type: fusion, fusion: {model: large}}}
    - {name: cascade, rules: {type: keyword, name: cascade}, modelRefs: [{model: large}, {model: small}], algorithm: {type: confidence, confidence: {threshold: 0.8}}}
    - {name: ratings, rules: {type: keyword, name: ratings}, modelRefs: [{model: small}, {model: large}], algorithm: {type: ratings}}
    - name: masked
      priority: 2
      rules: {type: keyword, name: masked}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large}}
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: stored
      rules: {type: keyword, name: stored}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large}}
      plugins: [{type: response_cache, configuration: {mode: exact}}]
    - name: guarded
      rules: {type: keyword, name: guarded}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large}}
      plugins: [{type: hallucination, configuration: {hallucination_action: block}}]
    - {name: hanging, rules: {type: keyword, name: hanging}, modelRefs: [{model: endless}, {model: endless}], algorithm: {type: ratings}}
    - name: paint
      rules: {type: keyword, name: paint}
      modelRefs: [{model: small}]
      plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${servers.images.port}/v1", api_key: k}}}]
    - name: both
      priority: 2
      rules: {operator: AND, conditions: [{type: modality, name: BOTH}, {type: keyword, name: both}]}
      modelRefs: [{model: small}]
      plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${servers.images.port}/v1", api_key: k}}}]
global:
  router: {clear_route_cache: true}
  spending: {}
  integrations: {looper: {max_response_bytes_mb: 1}}
  model_catalog:
    modules:
      modality_detector: {enabled: true, method: keyword, keywords: [draw], both_keywords: [and explain]}
  services:
    ratelimit:
      providers:
        - type: local-limiter
          rules: [{name: third, match: {user: bob, model: third}, requests_per_unit: 1, unit: day}]
    http: {body_bytes_max: 64KiB, bodies_bytes_max: 2MiB}
    ext_proc: {enabled: true, port: ${envoyPort}, timeout: ${seconds}s}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const servers = {};
let endless, port, daemon, processor, envoy, streaming;

before(async () => {
  for (const name of [...kModels, "images"]) servers[name] = await ScriptedUpstream.start();
  endless = await EndlessUpstream.start();
  [port] = await freePorts(1);
  daemon = await Daemon.start(configuration(port));
  processor = new Processor(port);
  envoy = await Envoy.start({ processor, clusters: {} });
  streaming = await Envoy.start({ processor, clusters: {}, modes: { request: "STREAMED", response: "STREAMED" }, overrides: false });
});

after(async () => {
  await envoy?.stop();
  await streaming?.stop();
  processor?.close();
  await daemon?.stop();
  for (const server of [...Object.values(servers), endless]) await server?.stop();
});

beforeEach(() => {
  servers.images.answer = () => ({ body: { created: 1, data: [{ url: kUrl }], usage: { input_tokens: 12, output_tokens: 1000 } } });
  for (const name of kModels) {
    servers[name].received = undefined;
    servers[name].answer = () => completion({ content: `from ${name}` });
  }
});

const openai = (url) => new OpenAI({ apiKey: "unused", baseURL: `${url}/v1`, maxRetries: 0 });
const requestOf = (said, more = {}) => ({ model: "auto", messages: [{ role: "user", content: said }], ...more });
const ask = (at, said, more) => openai(at.url).chat.completions.create(requestOf(said, more)).withResponse();
const kDown = () => ({ status: 500, body: { error: { message: "down" } } });

async function textOf(stream) {
  let out = "";
  for await (const chunk of stream) out += chunk.choices[0]?.delta?.content ?? chunk.choices[0]?.text ?? "";
  return out;
}

/// Returns the decision headers without those that differ from one request to the next.
const decided = (response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith("x-vsr-") && !/latency|request-id|replay/.test(name)));

/// Returns the counters of tokens, requests, costs and calls.
async function counted() {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const rows = text.matchAll(/^(llm_[a-z_]*(?:requests|tokens|cost|calls|usd)[a-z_]*_total(?:\{.*\})?) (\S+)$/gm);
  return Object.fromEntries([...rows].map(([, name, value]) => [name, Number(value)]));
}

/// Returns how much each counter has grown by `work`.
async function growth(work) {
  await settled(daemon);
  const before = await counted();
  await work();
  await settled(daemon);
  const now = await counted();
  return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, +(value - (before[name] ?? 0)).toFixed(9)]).filter(([, more]) => more !== 0));
}

test("metrics count an answer behind Envoy as one over HTTP", async () => {
  for (const word of ["panel", "paint a ship", "draw both and explain"]) {
    const there = await growth(() => ask(daemon, word));
    assert.ok(Object.keys(there).some((name) => /tokens/.test(name)), JSON.stringify(there));
    assert.deepEqual(await growth(() => ask(envoy, word)), there);
  }
});

for (const [name, at] of [["held", () => envoy], ["streamed", () => streaming]]) {
  for (const word of ["panel", "cascade", "ratings", "paint a ship", "draw both and explain"]) {
    test(`the answer is the same as over HTTP, bodies ${name}: ${word}`, async () => {
      const there = await ask(daemon, word);
      const here = await ask(at(), word);
      const plain = ({ id, created, ...rest }) => JSON.parse(JSON.stringify(rest));
      assert.deepEqual(plain(here.data), plain(there.data));
      assert.deepEqual(decided(here.response), decided(there.response));
      assert.equal(here.response.headers.get("content-type"), there.response.headers.get("content-type"));
      assert.equal(at().calls, 0);
    });
  }

  test(`a client that streams gets events, bodies ${name}`, async () => {
    for (const [word, text] of [["panel", "from large"], ["cascade", "from large"], ["draw both and explain", `from small\n\n![image](${kUrl})`]]) {
      const { data, response } = await ask(at(), word, { stream: true });
      assert.match(response.headers.get("content-type"), /^text\/event-stream/);
      assert.equal(await textOf(data), text);
    }
    assert.equal(servers.large.received.stream, undefined);
  });
}

test("masked data stays here and is whole for the client", async () => {
  servers.large.answer = ({ messages }) => completion({ content: /\[EMAIL_ADDRESS_1\]/.exec(JSON.stringify(messages))[0] });
  const { data } = await ask(envoy, `masked ${kMail}`);
  assert.equal(data.choices[0].message.content, kMail);
  assert.ok(!servers.small.body.includes(kMail));
  const { data: stream } = await ask(envoy, `masked ${kMail}`, { stream: true });
  assert.equal(await textOf(stream), kMail);
});

test("a client's choice of a server and its identity reach no model", async () => {
  const said = { "x-selected-model": "evil", "x-vsr-destination-endpoint": "169.254.169.254:80", cookie: "c=1", "x-user-openai-key": "k", "x-own": "kept" };
  for (const at of [daemon, envoy]) {
    await openai(at.url).chat.completions.create(requestOf("panel"), { headers: said });
    for (const { headers } of [servers.small, servers.third, servers.large]) {
      assert.equal(headers["x-own"], "kept");
      for (const name of Object.keys(said).slice(0, -1)) assert.equal(headers[name], undefined, name);
    }
  }
});

test("a guard withholds an answer, and ends a stream, as over HTTP", async () => {
  servers.large.answer = () => completion({ content: "The bridge is 640 m long." });
  const messages = [
    { role: "system", content: "The Harbour Bridge was opened in 1932. Its main span is 503 m long." },
    { role: "user", content: "How long is the bridge? It is guarded." },
  ];
  await assert.rejects(ask(envoy, "", { messages }), (error) => error.status === 403 && error.code === "response_blocked");
  const reasons = [];
  const { data } = await ask(envoy, "", { messages, stream: true });
  for await (const { choices } of data) reasons.push(choices[0]?.finish_reason);
  assert.equal(reasons.at(-1), "content_filter");
});

test("a rate limit of a model holds for its calls", async () => {
  const headers = { "x-authz-user-id": "bob" };
  const failed = async () => {
    const { response } = await openai(envoy.url).chat.completions.create(requestOf("panel"), { headers }).withResponse();
    return response.headers.get("x-vsr-looper-models-failed");
  };
  assert.equal(await failed(), null);
  assert.equal(await failed(), "third");
});

test("an answer from the cache takes no calls", async () => {
  await ask(envoy, "stored once");
  servers.large.answer = kDown;
  const { data, response } = await ask(envoy, "stored once");
  assert.equal(data.choices[0].message.content, "from large");
  assert.equal(response.headers.get("x-vsr-response-path"), "cache");
});

test("a client of another API gets its form", async () => {
  const client = new Anthropic({ apiKey: "unused", baseURL: envoy.url, maxRetries: 0 });
  const said = { model: "auto", max_tokens: 9, messages: [{ role: "user", content: "panel" }] };
  assert.equal((await client.messages.create(said)).content[0].text, "from large");
  assert.equal(await client.messages.stream(said).finalText(), "from large");
});

test("a model that fails is named, and a failure of all is an error", async () => {
  servers.third.answer = kDown;
  const { data, response } = await ask(envoy, "panel");
  assert.equal(data.choices[0].message.content, "from large");
  assert.equal(response.headers.get("x-vsr-looper-models-failed"), "third");
  servers.small.answer = kDown;
  servers.large.answer = kDown;
  const there = await ask(daemon, "panel").catch((error) => error);
  const here = await ask(envoy, "panel").catch((error) => error);
  assert.equal(here.status, there.status);
  assert.deepEqual(here.error, there.error);
  assert.ok(here.status >= 500, String(here.status));
});

test("an image server that fails is an error", async () => {
  servers.images.answer = kDown;
  const there = await ask(daemon, "paint a ship").catch((error) => error);
  const here = await ask(envoy, "paint a ship").catch((error) => error);
  assert.equal(here.status, there.status);
  assert.ok(here.status >= 500, String(here.status));
});

test("an answer that is too long is an error, whole or as events", async () => {
  servers.large.answer = () => completion({ content: "x".repeat(2 << 20) });
  servers.small.answer = servers.large.answer;
  for (const stream of [false, true]) {
    const failure = await ask(envoy, "cascade", { stream }).catch((error) => error);
    assert.equal(failure.status, 502);
  }
});

test("an answer without room in memory is refused, and the record has the reason", async () => {
  servers.large.answer = () => completion({ content: "x".repeat(900 << 10) });
  const failure = await openai(envoy.url)
    .chat.completions.create(requestOf("cascade"), { headers: { "x-request-id": "roomless" } })
    .catch((error) => error);
  assert.equal(failure.status, 429);
  await until(() => /"request_id":"roomless".*"status":429.*"detail":"there was no room for the reply"/.test(daemon.log), "the record");
  assert.equal((await ask(daemon, "cascade")).data.choices[0].message.content.length, 900 << 10);
});

test("Envoy gets a longer timeout before the first call, once for each request", async () => {
  envoy.waits = [];
  const waits = new Promise((done) => (envoy.onWait = done));
  servers.small.answer = async () => {
    await waits;
    return completion({ content: "late" });
  };
  await ask(envoy, "panel");
  assert.deepEqual(envoy.waits, [60]);
  await ask(envoy, "nothing special").catch(() => {});
  assert.deepEqual(envoy.waits, [60]);
  envoy.onWait = () => {};
});

// --- raw streams ---

const kHead = { ":method": "POST", ":path": "/v1/chat/completions", ":authority": "test", "content-type": "application/json" };

async function begun(said, id, at = processor) {
  const stream = at.open();
  assert.ok((await stream.ask({ request_headers: head({ ...kHead, "x-request-id": id }) })).request_headers);
  const body = Buffer.from(JSON.stringify(requestOf(said)));
  const answer = await stream.ask({ request_body: { body, end_of_stream: true } });
  assert.ok(answer.override_message_timeout, JSON.stringify(answer));
  return stream;
}

for (const way of ["cancel", "end"]) {
  test(`a client that leaves ends the calls: ${way}`, async () => {
    endless.closed = new Promise((done) => (endless.onClosed = done));
    const arrived = new Promise((done) => endless.server.once("request", done));
    const stream = await begun("hanging", `left-${way}`);
    await arrived; // a client that leaves earlier prevents the calls
    await stream[way]();
    await endless.closed;
    await until(() => new RegExp(`"request_id":"left-${way}".*"error":"cancellation"`).test(daemon.log), "the record");
  });
}

test("the time limit of a request holds for the calls", async () => {
  const [own] = await freePorts(1);
  await withDaemon(configuration(own, 2), async (hasty) => {
    const there = new Processor(own);
    try {
      const stream = await begun("hanging", "late", there);
      const { immediate_response: reply } = await stream.next();
      assert.equal(reply.status.code, "GatewayTimeout");
      await until(() => /"request_id":"late".*"status":504/.test(hasty.log), "the record");
    } finally {
      there.close();
    }
  });
});

test("config check names the decisions whose calls the router makes itself", () => {
  const said = execFileSync(process.env.SIGNALBOX, ["config", "check", daemon.file], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const named = [...said.matchAll(/decision "(\w+)": for requests from Envoy, too, the router itself calls/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), [...kWords].sort());
});

// --- legacy completions ---

test("several models answer a legacy completion, whole and as events", async () => {
  for (const at of [daemon, envoy]) {
    const client = openai(at.url);
    for (const prompt of ["panel", ["panel"]]) {
      const { data, response } = await client.completions.create({ model: "auto", prompt, best_of: 1, echo: false, suffix: null }).withResponse();
      assert.equal(data.object, "text_completion");
      assert.deepEqual(data.choices, [{ text: "from large", index: 0, logprobs: null, finish_reason: "stop" }]);
      assert.equal(data.usage.total_tokens, 40);
      assert.equal(response.headers.get("x-vsr-looper-models-used"), "small,third,large");
      assert.equal(servers.small.path, "/v1/chat/completions");
      assert.deepEqual(Object.keys(servers.small.received).sort(), ["messages", "model"]);
      assert.deepEqual(servers.small.received.messages, [{ role: "user", content: "panel" }]);
    }
    assert.equal(await textOf(await client.completions.create({ model: "auto", prompt: "cascade", stream: true })), "from large");
  }
});

test("a legacy completion that no chat can answer is refused with the parameter", async () => {
  const client = openai(daemon.url);
  for (const [name, more] of [["suffix", { suffix: "end" }], ["echo", { echo: true }], ["best_of", { best_of: 3 }], ["n", { n: 2 }], ["logprobs", { logprobs: 1 }], ["prompt", { prompt: ["panel", "panel too"] }]]) {
    const error = await client.completions.create({ model: "auto", prompt: "panel", ...more }).catch((e) => e);
    assert.equal(error.status, 400, name);
    assert.match(error.message, new RegExp(`${name}: `));
  }
});

test("an image is not a legacy completion", async () => {
  for (const prompt of ["paint a ship", "draw both and explain"]) {
    const error = await openai(envoy.url).completions.create({ model: "auto", prompt }).catch((e) => e);
    assert.equal(error.status, 501);
    assert.match(error.message, /the answers of this API have no place for an image/);
  }
});
