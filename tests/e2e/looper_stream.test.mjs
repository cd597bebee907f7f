// Tests streams of clients whose answer takes several calls: they begin before there is an answer, comments keep them
// alive, and they end with the answer or an error. The clients are the unmodified official ones.

import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, before, beforeEach, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts } from "./daemon.mjs";
import { until } from "./until.mjs";
import { completion, ScriptedUpstream, streamed } from "./upstream.mjs";

const kModels = ["small", "large", "third"];
const kWords = ["panel", "cascade", "compared", "masked", "guarded", "absent", "limited", "both", "sealed", "noted"];
const kMail = "ann@example.com";

const configuration = (stream, timeout, absent) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: ${timeout}}
providers:
  defaults: {default_model: small}
  models:
${kModels.map((name) => `    - {name: ${name}, backend_refs: [{endpoint: "127.0.0.1:${servers[name].port}"}]}`).join("\n")}
    - {name: absent, backend_refs: [{endpoint: "127.0.0.1:${absent}"}]}
routing:
  modelCards: [{name: small, param_size: 1b}, {name: large, param_size: 70b}]
  signals:
    modality: [{name: BOTH}]
    keywords: ${JSON.stringify(kWords.map((name) => ({ name, keywords: [name] })))}
  decisions:
    - {name: panel, rules: {type: keyword, name: panel}, modelRefs: [{model: small}, {model: third}], algorithm: {type: fusion, fusion: {model: large}}}
    - {name: cascade, rules: {type: keyword, name: cascade}, modelRefs: [{model: large}, {model: small}], algorithm: {type: confidence, confidence: {threshold: 0.8}}}
    - {name: compared, rules: {type: keyword, name: compared}, modelRefs: [{model: small}, {model: third}], algorithm: {type: ratings}}
    - name: masked
      priority: 2
      rules: {type: keyword, name: masked}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large}}
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: guarded
      rules: {type: keyword, name: guarded}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: ratings}
      plugins: [{type: hallucination, configuration: {hallucination_action: block}}]
    - {name: absent, rules: {type: keyword, name: absent}, modelRefs: [{model: absent}, {model: absent}], algorithm: {type: ratings}}
    - {name: limited, rules: {type: keyword, name: limited}, modelRefs: [{model: third}, {model: third}], algorithm: {type: ratings}}
    - name: both
      priority: 2
      rules: {operator: AND, conditions: [{type: modality, name: BOTH}, {type: keyword, name: both}]}
      modelRefs: [{model: small}]
      plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${servers.images.port}/v1", api_key: k}}}]
    - name: sealed
      priority: 2
      rules: {operator: AND, conditions: [{type: modality, name: BOTH}, {type: keyword, name: sealed}]}
      modelRefs: [{model: small}]
      plugins:
        - {type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${servers.images.port}/v1", api_key: k}}}
        - {type: hallucination, configuration: {hallucination_action: block}}
    - name: noted
      priority: 2
      rules: {operator: AND, conditions: [{type: modality, name: BOTH}, {type: keyword, name: noted}]}
      modelRefs: [{model: small}]
      plugins:
        - {type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${servers.images.port}/v1", api_key: k}}}
        - {type: hallucination, configuration: {hallucination_action: header}}
global:
  integrations: {looper: {stream: ${stream}}}
  model_catalog:
    modules:
      modality_detector: {enabled: true, method: keyword, keywords: [draw], both_keywords: [and explain]}
  services:
    ratelimit:
      providers:
        - type: local-limiter
          rules: [{name: third, match: {user: bob, model: third}, requests_per_unit: 1, unit: day}]
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const servers = {};
let daemon, patient, hurried, release;

before(async () => {
  for (const name of [...kModels, "images"]) servers[name] = await ScriptedUpstream.start();
  const [absent] = await freePorts(1);
  daemon = await Daemon.start(configuration("{open_after: 0ms, keep_alive: 100ms}", "60s", absent));
  patient = await Daemon.start(configuration("{open_after: 1h}", "60s", absent));
  hurried = await Daemon.start(configuration("{open_after: 0ms}", "3s", absent));
});

after(async () => {
  for (const each of [daemon, patient, hurried]) await each?.stop();
  for (const server of Object.values(servers)) await server?.stop();
});

// Every model waits until `release` is called, so that a test decides when there can be an answer.
let answers;
beforeEach(() => {
  const released = new Promise((done) => (release = done));
  answers = {};
  for (const name of [...kModels, "images"]) {
    servers[name].closed = undefined;
    servers[name].answer = async (received) => {
      await released;
      return answers[name]?.(received) ?? completion({ content: `from ${name}` });
    };
  }
});

const kDown = () => ({ status: 500, body: { error: { message: "down" } } });
const sure = (content) => {
  const out = completion({ content });
  out.body.choices[0].logprobs = { content: [{ token: content, logprob: -0.1, bytes: null, top_logprobs: [] }] };
  return out;
};
const words = (...texts) => streamed(texts.map((content) => ({ content })));
const judge = (answer) => (received) => (received.stream ? answer(received) : completion({ content: "{}" }));
const openai = (at = daemon) => new OpenAI({ apiKey: "unused", baseURL: `${at.url}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
const requestOf = (said, more = {}) => ({ model: "auto", stream: true, messages: [{ role: "user", content: said }], ...more });

async function textOf(stream) {
  let out = "";
  for await (const chunk of stream) for (const { delta } of chunk.choices) out += delta.content ?? "";
  return out;
}

/// Returns the error that ends the events of a stream: an exception, or the last event of the responses API.
async function errorOf(stream) {
  let last;
  try {
    for await (const event of stream) last = event;
  } catch (error) {
    return last?.type === "error" ? last : error;
  }
  assert.fail("the stream ended well");
}

/// Sends a request, with its reply as it comes: `until(pattern)` waits until the body has it.
async function open(body, headers = {}) {
  const client = httpRequest(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json", ...headers } });
  const begins = new Promise((done) => client.on("response", done));
  client.on("error", () => {});
  client.end(JSON.stringify(body));
  const response = await begins;
  const out = { client, response, body: "", until: (pattern) => until(() => pattern.test(out.body), () => `${pattern} in ${out.body}`) };
  response.setEncoding("utf8").on("data", (text) => (out.body += text));
  out.ended = new Promise((done) => response.on("close", () => done(response.complete)));
  return out;
}

test("the stream begins and stays alive before any model has answered", async () => {
  answers.large = judge(() => words("the", " verdict"));
  const reply = await open(requestOf("panel"));
  const { statusCode, headers } = reply.response;
  assert.equal(statusCode, 200);
  assert.equal(headers["content-type"], "text/event-stream");
  assert.equal(headers["x-vsr-response-path"], "looper");
  assert.equal(headers["x-vsr-selected-decision"], "panel");
  assert.equal(headers["x-vsr-looper-algorithm"], "fusion");
  assert.ok(headers["x-request-id"]);
  for (const name of ["x-vsr-selected-model", "x-vsr-looper-iterations"]) assert.equal(headers[name], undefined, name);
  await reply.until(/^(: 0 of 2 calls have ended\n\n){2}/);
  release();
  assert.equal(await reply.ended, true);
  assert.match(reply.body, /"content":"the".*"content":" verdict".*data: \[DONE\]\n\n$/s);
  assert.doesNotMatch(reply.body, /\n\n\n/);
});

test("a client of OpenAI reads the answer behind the comments", async () => {
  answers.large = judge(() => words("the", " verdict"));
  const { data, response } = await openai().chat.completions.create(requestOf("panel")).withResponse();
  assert.equal(response.headers.get("x-vsr-looper-algorithm"), "fusion");
  release();
  assert.equal(await textOf(data), "the verdict");
});

test("the first chunk has the replies of the panel, whether the judge answers or not", async () => {
  for (const end of [() => words("the", " verdict"), kDown]) {
    answers.small = () => completion({ content: "first view" });
    answers.large = judge(end);
    const stream = await openai().chat.completions.create(requestOf("panel"));
    release();
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.deepEqual(chunks[0].fusion.responses.map(({ model, content }) => [model, content]), [["small", "first view"], ["third", "from third"]]);
    assert.equal(chunks.filter(({ fusion }) => fusion !== undefined).length, 1);
  }
});

test("the first chunk has them, too, if the judge's server names the length of its stream", async () => {
  release();
  const events = words("the", " verdict").events.map((event) => (typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`));
  answers.large = judge(() => ({ headers: { "content-type": "text/event-stream" }, body: events.join("") }));
  const chunks = [];
  const counted = requestOf("panel", { stream_options: { include_usage: true } });
  for await (const chunk of await openai(patient).chat.completions.create(counted)) chunks.push(chunk);
  assert.equal(chunks[0].fusion.responses.length, 2);
  assert.equal(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join(""), "the verdict");
});

test("an answer that is composed of several, or that came whole, is sent as chunks", async () => {
  answers.small = () => sure("sure enough");
  for (const [word, text] of [["cascade", "sure enough"], ["compared", "sure enoughfrom third"]]) {
    const stream = await openai().chat.completions.create(requestOf(word));
    release();
    assert.equal(await textOf(stream), text);
  }
});

test("a stream that falls silent in the middle gets comments between its events", async () => {
  let resume;
  const ends = new Promise((done) => (resume = done));
  answers.large = judge(() => ({ ...words("half"), ends }));
  const reply = await open(requestOf("panel"));
  release();
  await reply.until(/"content":"half".*\n\n: the answer is not complete yet\n\n/s);
  resume();
  assert.equal(await reply.ended, true);
  for (const event of reply.body.split("\n\n")) assert.match(event, /^(: [\w ]+|data: .*|)$/);
});

test("trailers name what the headers could not", async () => {
  answers.small = () => sure("sure");
  const reply = await open(requestOf("cascade"), { te: "trailers" });
  assert.match(reply.response.headers.trailer, /x-vsr-selected-model/);
  release();
  await reply.ended;
  const { trailers } = reply.response;
  assert.equal(trailers["x-vsr-selected-model"], "small");
  assert.equal(trailers["x-vsr-looper-models-used"], "small");
  assert.equal(trailers["x-vsr-looper-iterations"], "1");
  assert.equal(trailers["x-vsr-looper-total-tokens"], "10");
  assert.equal(trailers["x-vsr-looper-algorithm"], undefined);
});

test("an error is the last event, in the form of each API", async () => {
  for (const name of kModels) answers[name] = kDown;
  const message = [{ role: "user", content: "compared" }];
  const kReason = /small: its server answered 500; third: its server answered 500/;
  const streams = {
    chat: openai().chat.completions.create(requestOf("compared")),
    completions: openai().completions.create({ model: "auto", stream: true, prompt: "compared" }),
    responses: openai().responses.create({ model: "auto", stream: true, store: false, input: "compared" }),
    messages: anthropic().messages.create({ model: "auto", stream: true, max_tokens: 9, messages: message }),
  };
  const opened = Object.fromEntries(await Promise.all(Object.entries(streams).map(async ([name, stream]) => [name, await stream])));
  const errors = Object.entries(opened).map(async ([name, stream]) => [name, await errorOf(stream)]);
  release();
  for (const [name, error] of await Promise.all(errors)) {
    assert.match(error.message, kReason, name);
    if (name !== "responses") assert.ok(error instanceof (name === "messages" ? Anthropic.APIError : OpenAI.APIError), name);
  }
});

test("other clients get the answer in their own form, too", async () => {
  answers.small = () => sure("for you");
  const messages = await anthropic().messages.create({ model: "auto", stream: true, max_tokens: 9, messages: [{ role: "user", content: "cascade" }] });
  const responses = await openai().responses.create({ model: "auto", stream: true, store: false, input: "cascade" });
  const completions = await openai().completions.create({ model: "auto", stream: true, prompt: "cascade" });
  release();
  const texts = ["", "", ""];
  for await (const event of messages) texts[0] += event.delta?.text ?? "";
  for await (const event of responses) if (event.type === "response.output_text.delta") texts[1] += event.delta;
  for await (const event of completions) texts[2] += event.choices[0]?.text ?? "";
  assert.deepEqual(texts, Array(3).fill("for you"));
});

test("a broken stream does not end as a whole one, and counts as failed", async () => {
  for (const name of kModels) answers[name] = kDown;
  const reply = await open(requestOf("compared"));
  release();
  assert.equal(await reply.ended, false);
  assert.match(reply.body, /data: \{"error":\{"message":"[^\n]*\n\n$/);
  const id = reply.response.headers["x-request-id"];
  const line = await until(() => daemon.log.split("\n").find((each) => each.includes(`"request_id":"${id}"`)));
  assert.match(line, /"error":"upstream"/);
  assert.match(line, /"status":502/);
  await until(async () => /^llm_model_requests_total\{.*decision="compared",status="502"\}/m.test(await (await fetch(`${daemon.managementUrl}/metrics`)).text()));
});

test("a client that leaves an open stream ends the calls", async () => {
  const reply = await open(requestOf("compared"));
  await reply.until(/: 0 of 2/);
  await until(() => servers.small.closed !== undefined && servers.third.closed !== undefined, "both calls");
  const closed = [servers.small.closed, servers.third.closed];
  reply.client.destroy();
  await Promise.all(closed);
});

test("a request that no server has got keeps the status of its error", async () => {
  const error = await openai().chat.completions.create(requestOf("absent")).catch((e) => e);
  assert.equal(error.status, 502);
  release();
  const bob = { headers: { "x-authz-user-id": "bob" } };
  const first = await openai().chat.completions.create(requestOf("limited"), bob);
  await textOf(first);
  const second = await openai().chat.completions.create(requestOf("limited"), bob).catch((e) => e);
  assert.equal(second.status, 429, String(second));
});

test("an error that comes before the stream begins keeps its status, and an answer its headers", async () => {
  release();
  answers.small = () => sure("sure");
  const { data, response } = await openai(patient).chat.completions.create(requestOf("cascade")).withResponse();
  assert.equal(response.headers.get("x-vsr-selected-model"), "small");
  assert.equal(await textOf(data), "sure");
  for (const name of kModels) answers[name] = kDown;
  const error = await openai(patient).chat.completions.create(requestOf("compared")).catch((e) => e);
  assert.equal(error.status, 502);
});

test("a client that wants no stream gets the answer whole", async () => {
  const reply = openai().chat.completions.create(requestOf("compared", { stream: false })).withResponse();
  await until(() => servers.small.closed !== undefined && servers.third.closed !== undefined);
  release();
  const { data, response } = await reply;
  assert.equal(data.choices.length, 2);
  assert.equal(response.headers.get("x-vsr-looper-iterations"), "2");
});

test("the timeout of the listener ends an open stream with an error", async () => {
  const stream = await openai(hurried).chat.completions.create(requestOf("compared"));
  assert.match((await errorOf(stream)).message, /did not finish within 3000 ms/);
});

test("masked data returns in an open stream", async () => {
  const quoted = ({ messages }) => /\[EMAIL_ADDRESS_1\]/.exec(JSON.stringify(messages))[0];
  answers.small = (body) => completion({ content: quoted(body) });
  answers.large = judge((body) => words("to ", quoted(body)));
  const reply = await open(requestOf(`masked panel for ${kMail}`));
  release();
  assert.equal(await reply.ended, true);
  assert.match(reply.body, /"responses":\[\{"model":"small","content":"ann@example\.com"\}/);
  assert.match(reply.body, /"content":"to ".*"content":"ann@example\.com"/s);
  assert.doesNotMatch(reply.body, /EMAIL_ADDRESS/);
});

/// A conversation with a context that contradicts kWrong.
const grounded = (said) => [
  { role: "user", content: said },
  { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
  { role: "tool", tool_call_id: "t", content: "The bridge was opened in 1932 and is 503 m long." },
];
const kWrong = "It is 640 m long. It was opened in 1932.";

test("a guard ends an open stream as it ends any other", async () => {
  answers.small = answers.third = () => completion({ content: kWrong });
  const reply = await open(requestOf("", { messages: grounded("How long is the bridge? guarded") }));
  assert.equal(reply.response.statusCode, 200);
  release();
  await reply.ended;
  assert.match(reply.body, /"finish_reason":"content_filter"\}\],"vsr_guard":\{"warnings":\["hallucination"\],"ended":true\}/);
  assert.match(reply.body, /data: \[DONE\]\n\n$/);
  assert.equal(reply.response.headers["x-vsr-response-path"], "looper");
  const line = await until(() => daemon.log.split("\n").find((each) => each.includes('"error":"response_blocked"') && each.includes('"decision":"guarded"')));
  assert.match(line, /"status":200,"response_path":"blocked"/);
});

test("a text with an image comes in an open stream", async () => {
  answers.images = () => ({ body: { created: 1, data: [{ url: "https://images.example/1.png" }] } });
  const stream = await openai().chat.completions.create(requestOf("draw both and explain"));
  release();
  assert.match(await textOf(stream), /^from small.*https:\/\/images\.example\/1\.png/s);
});

test("what a check finds in a text with an image is in the trailers of an open stream", async () => {
  answers.small = () => completion({ content: kWrong });
  answers.images = () => ({ body: { created: 1, data: [{ url: "https://images.example/1.png" }] } });
  const reply = await open(requestOf("", { messages: grounded("draw the bridge, noted, and explain how long it is") }), { te: "trailers" });
  release();
  assert.equal(await reply.ended, true);
  assert.match(reply.body, /640.*images\.example/s);
  assert.equal(reply.response.trailers["x-vsr-response-warnings"], "hallucination");
});

test("a refusal that would have had a status is the error of an open stream", async () => {
  answers.small = () => completion({ content: kWrong });
  answers.images = () => ({ body: { created: 1, data: [{ url: "https://images.example/1.png" }] } });
  const reply = await open(requestOf("", { messages: grounded("draw the bridge, sealed, and explain how long it is") }));
  release();
  assert.equal(await reply.ended, false);
  assert.match(reply.body, /data: \{"error":\{"message":"[^\n]*"code":"response_blocked"\}\}\n\n$/);
  assert.doesNotMatch(reply.body, /640|images\.example/);
  const line = await until(() => daemon.log.split("\n").find((each) => each.includes('"error":"response_blocked"') && each.includes('"decision":"sealed"')));
  assert.match(line, /"status":403/);
  assert.match(line, /"response_path":"blocked"/);
});
