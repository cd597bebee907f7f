// Tests the metrics and the attributes of spans by OpenTelemetry's conventions for generative AI, for every client API, every
// kind of reply and requests that no server answers. Doubles play the servers and the collector.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Collector } from "./collector.mjs";
import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";

const kSecret = "the theorem of Ada";
let collector, chat, claude, daemon;

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: small}
  models:
    - {name: small, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${chat.port}"}]}
    - {name: large, backend_refs: [{endpoint: "127.0.0.1:${chat.port}"}]}
    - {name: opus, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${claude.port}"}]}
    - {name: local, backend_refs: [{type: vllm, endpoint: "127.0.0.1:${chat.port}"}]}
    - {name: repeating, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: keeps, keywords: [keep]}
      - {name: forbids, keywords: [forbidden]}
      - {name: several, keywords: [everybody]}
      - {name: shadows, keywords: [shadow]}
  decisions:
    - {name: kept, rules: {type: keyword, name: keeps}, modelRefs: [{model: small}], plugins: [{type: response_cache, configuration: {mode: exact}}]}
    - {name: refused, rules: {type: keyword, name: forbids}, modelRefs: [{model: small}], plugins: [{type: fast_response, configuration: {message: "no"}}]}
    - name: all
      rules: {type: keyword, name: several}
      modelRefs: [{model: small}, {model: large}]
      algorithm: {type: confidence, confidence: {threshold: 0.8}}
    - name: shadowed
      rules: {type: keyword, name: shadows}
      modelRefs: [{model: small}]
      plugins: [{type: shadow_dispatch, configuration: {sample_rate: 1, arms: [{model: large}]}}]
global:
  stores: {response_cache: {enabled: true, backend_type: memory}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    observability:
      tracing: {enabled: true, exporter: {type: otlp, endpoint: "127.0.0.1:${collector.port}", insecure: true}, sampling: {type: always_on}}
`;

before(async () => {
  collector = await Collector.start();
  chat = await ScriptedUpstream.start();
  claude = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration);
});
after(async () => {
  await daemon?.stop();
  for (const each of [chat, claude, collector]) await each?.stop();
});

/// Returns the lines of the metrics that begin with gen_ai_, without the buckets, as {line: value}.
async function operations() {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("gen_ai_") && !line.includes("_bucket{"));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]));
}

/// Sends a request and returns its answer, the spans of its calls by the model's name, and what it has added to the metrics, with
/// short names of the labels.
async function observe(path, body, calls = 1) {
  const earlier = await operations();
  const answer = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const text = await answer.text();
  const request = answer.headers.get("x-request-id");
  const root = await until(() => collector.spans.find((span) => span.attributes["request.id"] === request), "the span of the request");
  const ofCalls = () => collector.of(root.trace).filter((span) => span.attributes["gen_ai.request.model"]);
  await until(() => ofCalls().length === calls, () => `${calls} spans of calls; there are ${ofCalls().length}`);
  const added = {};
  for (const [line, value] of Object.entries(await operations())) {
    const by = value - (earlier[line] ?? 0);
    if (by === 0) continue;
    const [, name, labels] = line.match(/^gen_ai_(\w+)\{(.*)\}$/);
    const values = [...labels.matchAll(/="([^"]*)"/g)].map(([, value]) => value);
    if (!name.endsWith("seconds_sum")) added[`${name} ${values.join()}`] = by;
  }
  const spans = Object.fromEntries(ofCalls().map(({ attributes }) => [attributes["gen_ai.request.model"], attributes]));
  return { status: answer.status, text, added, spans };
}

/// The figures that one successful call adds, by the labels of the conventions.
const call = (operation, provider, model, response, [input, output], streams = false) => ({
  [`client_token_usage_count ${operation},${provider},input,${model},${response}`]: 1,
  [`client_token_usage_sum ${operation},${provider},input,${model},${response}`]: input,
  ...(output && {
    [`client_token_usage_count ${operation},${provider},output,${model},${response}`]: 1,
    [`client_token_usage_sum ${operation},${provider},output,${model},${response}`]: output,
  }),
  [`client_operation_duration_seconds_count ${operation},${provider},${model},${response},`]: 1,
  ...(streams && {
    [`server_time_to_first_token_seconds_count ${operation},${provider},${model},${response}`]: 1,
    [`server_time_per_output_token_seconds_count ${operation},${provider},${model},${response}`]: 1,
  }),
});
const reported = (attributes) => ["provider.name", "response.model", "response.id", "response.finish_reasons"].map((name) => attributes[`gen_ai.${name}`]);

const user = { role: "user", content: kSecret };
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-opus", content: [{ type: "text", text: "QED" }], stop_reason: "max_tokens", stop_sequence: null, usage: { input_tokens: 5, output_tokens: 2 } };
const response = { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "scripted", output: [{ type: "message", id: "msg", role: "assistant", status: "completed", content: [{ type: "output_text", text: "QED", annotations: [] }] }], usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 } };
const text = { id: "t", object: "text_completion", created: 1, model: "scripted", choices: [{ index: 0, text: "QED", finish_reason: "length" }], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };

const kAnswers = {
  "a chat completion": ["/v1/chat/completions", { model: "small", messages: [user] }, completion({ content: "QED" }), "chat", ["openai", "scripted", "c", ["stop"]]],
  "a chat completion with two choices": [
    "/v1/chat/completions",
    { model: "small", n: 2, messages: [user] },
    { body: { ...completion({ content: "QED" }).body, choices: ["stop", "length"].map((finish_reason, index) => ({ index, message: { role: "assistant", content: "x".repeat(5000) }, finish_reason })) } },
    "chat",
    ["openai", "scripted", "c", ["stop", "length"]],
  ],
  "a stream": ["/v1/chat/completions", { model: "small", stream: true, messages: [user] }, streamed([{ content: "Q" }, { content: "ED" }], "length"), "chat", ["openai", "scripted", "c", ["length"]]],
  "a completion": ["/v1/completions", { model: "small", prompt: kSecret }, { body: text }, "text_completion", ["openai", "scripted", "t", ["length"]]],
  "a message that becomes a chat completion": ["/v1/messages", { model: "small", max_tokens: 9, messages: [user] }, completion({ content: "QED" }), "chat", ["openai", "scripted", "c", ["stop"]]],
  "a response": ["/v1/responses", { model: "small", store: false, input: kSecret }, { body: response }, "chat", ["openai", "scripted", "resp_1", undefined]],
};
for (const [name, [path, request, answer, operation, origin]] of Object.entries(kAnswers)) {
  test(`${name} is an operation of the model that the server names`, async () => {
    chat.answer = () => answer;
    const { status, added, spans } = await observe(path, request);
    assert.equal(status, 200);
    assert.deepEqual(added, call(operation, "openai", "small", "scripted", [7, 3], request.stream));
    assert.deepEqual(reported(spans.small), origin);
    assert.doesNotMatch(JSON.stringify(spans), /Ada/);
  });
}

test("a message of Anthropic's server is an operation of its provider, as it is and translated", async () => {
  claude.answer = () => ({ body: message });
  for (const [path, reason] of [["/v1/messages", "max_tokens"], ["/v1/chat/completions", "length"]]) {
    const { status, text, added, spans } = await observe(path, { model: "opus", max_tokens: 9, messages: [user] });
    assert.equal(status, 200, text);
    assert.deepEqual(added, call("chat", "anthropic", "opus", "claude-opus", [5, 2]));
    assert.deepEqual(reported(spans.opus), ["anthropic", "claude-opus", "msg_1", [reason]]);
  }
});

test("embeddings are an operation without output", async () => {
  chat.answer = () => ({ body: { object: "list", model: "scripted", data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 4, total_tokens: 4 } } });
  const { added, spans } = await observe("/v1/embeddings", { model: "small", input: kSecret });
  assert.deepEqual(added, call("embeddings", "openai", "small", "scripted", [4, 0]));
  assert.equal(spans.small["gen_ai.operation.name"], "embeddings");
});

test("embeddings are of the model that the server names behind long vectors", async () => {
  const embedding = Array.from({ length: 3000 }, (_, i) => i / 7);
  chat.answer = () => ({ body: { object: "list", data: [{ object: "embedding", index: 0, embedding }], model: "scripted", usage: { prompt_tokens: 4, total_tokens: 4 } } });
  const { added, spans } = await observe("/v1/embeddings", { model: "small", input: kSecret });
  assert.deepEqual(added, call("embeddings", "openai", "small", "scripted", [4, 0]));
  assert.equal(spans.small["gen_ai.response.model"], "scripted");
});

test("the type that the file names for a server is its provider", async () => {
  chat.answer = () => completion({ content: "QED" });
  const { added, spans } = await observe("/v1/chat/completions", { model: "local", messages: [user] });
  assert.deepEqual(added, call("chat", "vllm", "local", "scripted", [7, 3]));
  assert.equal(spans.local["gen_ai.provider.name"], "vllm");
});

test("the built-in echo has a provider of its own", async () => {
  const { spans } = await observe("/v1/chat/completions", { model: "repeating", messages: [user] });
  assert.equal(spans.repeating["gen_ai.provider.name"], "signalbox");
});

test("a failed call is an operation with an error and without tokens", async () => {
  chat.answer = () => ({ status: 500, body: { error: { message: "no" } } });
  const { added, spans } = await observe("/v1/chat/completions", { model: "small", messages: [user] });
  assert.deepEqual(added, { "client_operation_duration_seconds_count chat,openai,small,,upstream_5xx": 1 });
  assert.equal(spans.small["error.type"], "upstream_5xx");
  assert.deepEqual(reported(spans.small), ["openai", undefined, undefined, undefined]);
});

test("a cached answer, a fixed answer and a refusal are not operations", async () => {
  const kept = { model: "auto", messages: [{ role: "user", content: "keep this" }] };
  chat.answer = () => completion({ content: "QED" });
  assert.notDeepEqual((await observe("/v1/chat/completions", kept)).added, {});
  assert.deepEqual((await observe("/v1/chat/completions", kept, 0)).added, {});
  assert.deepEqual((await observe("/v1/chat/completions", { model: "auto", messages: [{ role: "user", content: "forbidden" }] }, 0)).added, {});
  const refused = await observe("/v1/chat/completions", { model: "nobody's", messages: [user] }, 0);
  assert.equal(refused.status, 404);
  assert.deepEqual(refused.added, {});
});

test("each call of several models is an operation, and so is a shadow", async () => {
  const logprobs = { content: [{ token: "QED", logprob: -2, top_logprobs: [] }] };
  const unsure = completion({ content: "QED" });
  unsure.body.choices[0].logprobs = logprobs;
  chat.answer = (received) => (received.model === "small" ? unsure : completion({ content: "Q.E.D." }));
  const both = { ...call("chat", "openai", "small", "scripted", [7, 3]), ...call("chat", "openai", "large", "scripted", [7, 3]) };
  for (const content of ["everybody", "shadow"]) {
    const { added, spans, text } = await observe("/v1/chat/completions", { model: "auto", messages: [{ role: "user", content }] }, 2);
    assert.deepEqual(added, both, text);
    for (const model of ["small", "large"]) assert.deepEqual(reported(spans[model]), ["openai", "scripted", "c", ["stop"]]);
  }
});

test("neither a client nor a server makes series without end", async () => {
  for (let i = 0; i < 12; ++i) {
    chat.answer = () => ({ body: { ...completion({ content: "QED" }).body, model: `scripted-${i}` } });
    await observe("/v1/chat/completions", { model: "large", messages: [user] });
  }
  const lines = Object.keys(await operations()).filter((line) => line.startsWith('gen_ai_client_operation_duration_seconds_count{') && line.includes('request_model="large"'));
  assert.equal(lines.length, 9);
  assert.ok(lines.some((line) => line.includes('response_model="other"')));
});
