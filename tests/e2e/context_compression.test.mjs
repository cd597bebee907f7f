// Tests the plugin context_compression: the model's server must get shorter results of earlier turns, in each API, and
// the reply and the metrics must report it without any of the text.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";

const kMark = "\n[... text left out ...]\n";
const kAnswer = "The mast broke in the storm off Cape Horn.";
const day = (i) => `Nothing of note happened on day ${i} of the voyage, said mate ${i}.`;
const kLog = [...Array(200).keys()].map((i) => (i === 120 ? kAnswer : day(i))).join("\n");
const kQuestion = "Why did the mast break?";

let upstream, daemon;

before(async () => {
  upstream = await ScriptedUpstream.start();
  const model = (name, more) => `{name: ${name}, ${more} backend_refs: [{endpoint: "127.0.0.1:${upstream.port}"}]}`;
  const shortened = `targets: {tool_outputs: {min_tokens: 1000, target_tokens: 200}}`;
  const decision = (name, priority, ref, more) => `
    - name: ${name}
      priority: ${priority}
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: ${ref}}]
      plugins: [{type: context_compression, configuration: {${shortened}${more}}}]`;
  daemon = await Daemon.start(
    (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: chat}
  models: [${model("chat", "")}, ${model("claude", "api_format: anthropic,")}, ${model("responses", "responses_api: true,")}]
routing:
  signals:
    keywords:
      - {name: chat, keywords: [mast]}
      - {name: claude, keywords: [claude]}
      - {name: responses, keywords: [responses]}
      - {name: strict, keywords: [strictly]}
  decisions:${decision("chat", 1, "chat", "")}${decision("claude", 2, "claude", "")}${decision("responses", 3, "responses", "")}${decision("strict", 4, "chat", ", failure_mode: fail_closed, budget: {target_tokens: 100}")}
global: {services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}}
`,
  );
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
});

const ask = (path, body, headers = {}) =>
  fetch(`${daemon.url}${path}`, { method: "POST", headers, body: JSON.stringify({ model: "auto", ...body }) });

const call = { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: { name: "log", arguments: "{}" } }] };
const conversation = (question, log = kLog) => [
  { role: "system", content: kLog },
  { role: "user", content: "Read the log." },
  call,
  { role: "tool", tool_call_id: "1", content: log },
  { role: "assistant", content: "Done." },
  { role: "user", content: question },
];

function isExcerpt(text) {
  assert.ok(text.length <= 800, text);
  assert.ok(text.startsWith(day(0)) && text.includes(kAnswer) && text.endsWith(day(199)) && text.includes(kMark), text);
}

test("a chat completion's earlier results are shortened, and nothing else", async () => {
  upstream.answer = () => completion({ content: "A storm." });
  const messages = [...conversation(kQuestion), call, { role: "tool", tool_call_id: "1", content: kLog }];
  const answer = await ask("/v1/chat/completions", { messages });
  assert.equal(answer.status, 200, await answer.clone().text());
  isExcerpt(upstream.received.messages[3].content);
  const others = (list) => list.filter((_, i) => i !== 3);
  assert.deepEqual(others(upstream.received.messages), others(messages));
  assert.equal(answer.headers.get("x-vsr-context-compression"), "shortened");
  const saved = Number(answer.headers.get("x-vsr-context-tokens-saved"));
  assert.ok(Math.abs(saved - (kLog.length - upstream.received.messages[3].content.length) / 4) < 60, `${saved}`);
  const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();
  await until(async () => (await metrics()).includes('signalbox_context_compression_total{outcome="shortened"} 1'));
  assert.match(await metrics(), new RegExp(`signalbox_context_tokens_saved_total ${saved}`));
  assert.ok(!daemon.log.includes("voyage"), "the log must not have text of requests");
});

test("a message's earlier results are shortened in the client's own form", async () => {
  upstream.answer = () => ({
    body: { id: "m", type: "message", role: "assistant", model: "claude", content: [{ type: "text", text: "A storm." }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
  });
  const result = { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: kLog }], cache_control: { type: "ephemeral" } };
  const messages = [
    { role: "user", content: "Read the log." },
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "log", input: {} }] },
    { role: "user", content: [result] },
    { role: "assistant", content: "Done." },
    { role: "user", content: `${kQuestion} claude` },
  ];
  const answer = await ask("/v1/messages", { max_tokens: 50, messages });
  assert.equal(answer.status, 200, await answer.clone().text());
  const sent = upstream.received.messages[2].content[0];
  isExcerpt(sent.content[0].text);
  assert.deepEqual(sent.cache_control, result.cache_control);
  assert.equal(answer.headers.get("x-vsr-context-compression"), "shortened");
});

test("earlier results of the Responses API are shortened, translated or not", async () => {
  upstream.answer = () => completion({ content: "A storm." });
  const input = (question) => [
    { role: "user", content: "Read the log." },
    { type: "function_call", call_id: "c", name: "log", arguments: "{}" },
    { type: "function_call_output", call_id: "c", output: kLog },
    { role: "user", content: question },
  ];
  const translated = await ask("/v1/responses", { input: input(kQuestion), store: false });
  assert.equal(translated.status, 200, await translated.clone().text());
  isExcerpt(upstream.received.messages.find((message) => message.role === "tool").content);
  upstream.answer = () => ({
    body: { id: "r", object: "response", status: "completed", model: "responses", output: [{ type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "A storm.", annotations: [] }] }], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
  });
  const native = await ask("/v1/responses", { input: input(`${kQuestion} responses`), store: false });
  assert.equal(native.status, 200, await native.clone().text());
  isExcerpt(upstream.received.input.find((item) => item.type === "function_call_output").output);
});

test("a request that stays too long is refused if the file requires it", async () => {
  upstream.received = null;
  const answer = await ask("/v1/chat/completions", { messages: conversation("Be strictly brief.") });
  assert.equal(answer.status, 413);
  const { error } = await answer.json();
  assert.match(error.message, /decision "strict": context_compression allows requests of 100 tokens, and this one has about \d+ after 1 of its results/);
  assert.equal(upstream.received, null);
});
