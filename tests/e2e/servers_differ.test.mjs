// Tests model servers that differ from the reference of their API, as real ones do: clients of another API must not
// notice.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts, withDaemon } from "./daemon.mjs";
import { Envoy, Processor } from "./envoy.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: chats}
  models:
    - {name: chats, backend_refs: [{name: chats, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gpt, responses_api: true, backend_refs: [{name: gpt, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, api_format: anthropic, reasoning_family: gpt, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords: [{name: hard, keywords: [prove]}, {name: quick, keywords: [guess]}, {name: plain, keywords: [think]}]
  decisions:
    - name: reasoned
      priority: 2
      rules: {type: keyword, name: hard}
      modelRefs: [{model: claude, use_reasoning: true, reasoning_effort: high}]
    - name: unreasoned
      priority: 2
      rules: {type: keyword, name: quick}
      modelRefs: [{model: claude, use_reasoning: false}]
    - name: without_effort
      priority: 2
      rules: {type: keyword, name: plain}
      modelRefs: [{model: claude, use_reasoning: true}]
    - name: kept
      priority: 1
      modelRefs: [{model: chats}]
      plugins: [{type: response_cache, configuration: {mode: exact}}]
global:
  api: {files_model: chats}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, openai, anthropic;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  openai = new OpenAI({ apiKey: "k", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: "k", baseURL: daemon.url, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const kMessages = [{ role: "user", content: "Weather in Rome and the time?" }];
const call = (id, name, city, index) => ({ index, id, type: "function", function: { name, arguments: city } });
const kCalls = [call("a", "weather", '{"city":"Rome"}', 0), call("b", "time", "{}", 0)];
const kExpected = [["a", "weather", { city: "Rome" }], ["b", "time", {}]];

// Ollama 0.20 and versions of NVIDIA Dynamo do this.
const reused = () => streamed(kCalls.map((each) => ({ tool_calls: [each] })), "tool_calls");

const ofMessage = ({ content }) => content.filter(({ type }) => type === "tool_use").map(({ id, name, input }) => [id, name, input]);
const ofResponse = ({ output }) =>
  output.filter(({ type }) => type === "function_call").map(({ call_id, name, arguments: text }) => [call_id, name, JSON.parse(text)]);

test("parallel calls that share an index stay apart in a message and in a response", async () => {
  upstream.answer = reused;
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.deepEqual(ofMessage(message), kExpected);
  const response = await openai.responses.stream({ model: "chats", input: "Weather in Rome and the time?" }).finalResponse();
  assert.deepEqual(ofResponse(response), kExpected);
  upstream.answer = () => completion({ content: null, tool_calls: kCalls }, "tool_calls");
  assert.deepEqual(ofMessage(await anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages })), kExpected);
  assert.deepEqual(ofResponse(await openai.responses.create({ model: "chats", input: "Both, please" })), kExpected);
});

// Older versions of vLLM do this for a tool that the client requires by name.
test("pieces of a call with an id each remain one call", async () => {
  const pieces = ['{"city":', '{"name":"Rome}"}', "}"];
  upstream.answer = () => streamed(pieces.map((piece, i) => ({ tool_calls: [call(`id${i}`, "weather", piece, 0)] })), "tool_calls");
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.deepEqual(ofMessage(message), [["id0", "weather", { city: { name: "Rome}" } }]]);
  const response = await openai.responses.stream({ model: "chats", input: "x" }).finalResponse();
  assert.deepEqual(ofResponse(response), [["id0", "weather", { city: { name: "Rome}" } }]]);
});

test("the empty piece at the end of such a call begins no other, in the cache neither", async () => {
  const pieces = ['{"city":', '"Rome"}'].map((piece, i) => ({ tool_calls: [call(`id${i}`, "weather", piece, 0)] }));
  const { events } = streamed(pieces, "tool_calls");
  events.at(-3).choices[0].delta = { tool_calls: [call("id2", "weather", "", 0)] };
  upstream.answer = () => ({ events });
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.deepEqual(ofMessage(message), [["id0", "weather", { city: "Rome" }]]);
  assert.deepEqual(ofResponse(await openai.responses.stream({ model: "chats", input: "x" }).finalResponse()), [["id0", "weather", { city: "Rome" }]]);
  const request = { model: "auto", messages: [{ role: "user", content: "Only the weather in Rome?" }] };
  await (await openai.chat.completions.create({ ...request, stream: true }).asResponse()).text();
  upstream.answer = () => ({ status: 500, body: "{}" });
  const kept = await until(() => openai.chat.completions.create(request).catch(() => null));
  assert.deepEqual(kept.choices[0].message.tool_calls.map((each) => each.function), [{ name: "weather", arguments: '{"city":"Rome"}' }]);
});

test("an empty piece of a call that is over adds nothing", async () => {
  const pieces = [{ tool_calls: [call("a", "time", "{}", 0)] }, { content: "Wait." }, { tool_calls: [{ index: 0, function: { arguments: "" } }] }];
  upstream.answer = () => streamed(pieces, "tool_calls");
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.deepEqual(ofMessage(message), [["a", "time", {}]]);
  assert.deepEqual(ofResponse(await openai.responses.stream({ model: "chats", input: "x" }).finalResponse()), [["a", "time", {}]]);
});

test("arguments may come as an object", async () => {
  const calls = [{ index: 0, id: "a", type: "function", function: { name: "weather", arguments: { city: "Rome" } } }];
  for (const stream of [false, true]) {
    upstream.answer = () => (stream ? streamed([{ tool_calls: calls }], "tool_calls") : completion({ content: null, tool_calls: calls }, "tool_calls"));
    const message = await anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages, stream });
    if (!stream) assert.deepEqual(ofMessage(message), [["a", "weather", { city: "Rome" }]]);
    else for await (const { delta } of message) if (delta?.partial_json) assert.deepEqual(JSON.parse(delta.partial_json), { city: "Rome" });
  }
});

// Gemini's models refuse a conversation whose calls lack it.
test("a call keeps the signature of Gemini's models in the clients' next turn", async () => {
  for (const thought_signature of ["AbC+/09=", "AbC+/09", "AbC-_09", "AbC-_09=", "CrQBAVSoXO8="]) {
    const extra_content = { google: { thought_signature } };
    const signed = { ...call("function-call-1", "weather", '{"city":"Rome"}', 0), extra_content };
    for (const stream of [false, true]) {
      upstream.answer = () => (stream ? streamed([{ tool_calls: [signed] }], "tool_calls") : completion({ content: null, tool_calls: [signed] }, "tool_calls"));
      const { content } = await (stream
        ? anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage()
        : anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages }));
      assert.match(content[0].id, /^[a-zA-Z0-9_-]+$/);
      const response = await (stream ? openai.responses.stream({ model: "chats", input: "x" }).finalResponse() : openai.responses.create({ model: "chats", input: "x" }));
      upstream.answer = () => completion({ content: "Fine." });
      const result = [{ type: "tool_result", tool_use_id: content[0].id, content: "Rain." }];
      const expected = [[["function-call-1", extra_content]], ["function-call-1"]];
      const read = ({ messages }) => [
        messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id, extra_content: extra }) => [id, extra])),
        messages.filter(({ role }) => role === "tool").map(({ tool_call_id }) => tool_call_id),
      ];
      const next = [...kMessages, { role: "assistant", content }, { role: "user", content: result }];
      await (await fetch(`${daemon.url}/v1/messages`, { method: "POST", body: JSON.stringify({ model: "chats", max_tokens: 9, messages: next }) })).text();
      assert.deepEqual(read(upstream.received), expected);
      const output = { type: "function_call_output", call_id: response.output[0].call_id, output: "Rain." };
      await openai.responses.create({ model: "chats", input: [{ role: "user", content: "x" }, ...response.output, output] });
      assert.deepEqual(read(upstream.received), expected);
      await openai.responses.create({ model: "chats", previous_response_id: response.id, input: [output] });
      assert.deepEqual(read(upstream.received), expected);
      await openai.responses.create({ model: "claude", input: [{ role: "user", content: "x" }, ...response.output, output] }).catch(() => null);
      assert.deepEqual(upstream.received.messages[1].content, [{ type: "tool_use", id: "function-call-1", name: "weather", input: { city: "Rome" } }]);
      await openai.responses.create({ model: "gpt", input: [...response.output, output] }).catch(() => null);
      assert.deepEqual(upstream.received.input.map(({ call_id }) => call_id), ["function-call-1", "function-call-1"]);
    }
  }
});

// A provider refuses thoughts that it has not signed and items that it has not stored.
test("a conversation that goes on with a provider has no thoughts of another model", async () => {
  upstream.answer = () => completion({ reasoning_content: "Hm.", content: "Rain." });
  const request = { max_tokens: 2000, thinking: { type: "adaptive" } };
  const { content } = await anthropic.messages.create({ model: "chats", ...request, messages: kMessages });
  assert.equal(content[0].type, "thinking");
  const signed = { type: "thinking", thinking: "So.", signature: "abc" };
  const messages = (blocks) => [...kMessages, { role: "assistant", content: blocks }, { role: "user", content: "And Paris?" }];
  const send = (path, body) => fetch(`${daemon.url}${path}`, { method: "POST", body: JSON.stringify(body) }).then((reply) => reply.text());
  await send("/v1/messages", { model: "claude", ...request, messages: messages([...content, signed]) });
  assert.deepEqual(upstream.received, { model: "claude", ...request, messages: messages([content[1], signed]) });
  for (const signature of [undefined, null, ""]) {
    const unsigned = { ...content[0], signature };
    await send("/v1/messages", { model: "claude", ...request, messages: messages([unsigned, content[1]]) });
    assert.deepEqual(upstream.received.messages, messages([content[1]]));
    await send("/v1/messages", { model: "claude", ...request, messages: messages([unsigned]) });
    assert.deepEqual(upstream.received.messages, [...kMessages, { role: "user", content: "And Paris?" }]);
  }
  await send("/v1/messages/count_tokens", { model: "claude", messages: messages(content) });
  assert.deepEqual(upstream.received, { model: "claude", messages: messages([content[1]]) });
  const { output } = await openai.responses.create({ model: "chats", input: "x" });
  assert.deepEqual(output.map(({ type }) => type), ["reasoning", "message"]);
  const encrypted = { ...output[0], encrypted_content: "abc" };
  const unencrypted = { ...output[0], encrypted_content: null };
  // vLLM's ids have 32 digits; OpenAI's have 48, which may all be decimal.
  const theirs = ["0123456789abcdef".repeat(2), "0123456789abcdef".repeat(3), "0123456789".repeat(5)].map((digits) => ({ type: "reasoning", id: `rs_${digits}`, summary: [] }));
  const signedCall = { type: "function_call", call_id: "a_sigs_AAAA", name: "time", arguments: "{}" };
  const input = (...items) => [{ role: "user", content: "x" }, ...items, encrypted, ...theirs];
  for (const path of ["/v1/responses", "/v1/responses/input_tokens", "/v1/responses/compact"]) {
    await send(path, { model: "gpt", input: input(...output, unencrypted, signedCall) });
    assert.deepEqual(upstream.received, { model: "gpt", input: input(output[1], { ...signedCall, call_id: "a" }) }, path);
  }
});

// Mistral's models that think send parts.
test("a reply in parts has its texts and thoughts", async () => {
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm. " }, { type: "text", text: "Rome." }] };
  const content = [thought, { type: "text", text: "Fine" }, { type: "reference", reference_ids: [1] }, { type: "text", text: "." }];
  const request = { model: "chats", max_tokens: 2000, thinking: { type: "adaptive" }, messages: kMessages };
  const read = ({ content: blocks }) => blocks.map(({ thinking, text }) => thinking ?? text);
  upstream.answer = () => completion({ content });
  assert.deepEqual(read(await anthropic.messages.create(request)), ["Hm. Rome.", "Fine."]);
  const whole = await openai.responses.create({ model: "chats", input: "x" });
  assert.deepEqual([whole.output_text, whole.output[0].content[0].text], ["Fine.", "Hm. Rome."]);
  upstream.answer = () => streamed([{ content: [thought] }, { content: content.slice(1) }]);
  assert.deepEqual(read(await anthropic.messages.stream(request).finalMessage()), ["Hm. Rome.", "Fine."]);
});

test("events without data and spaces around it do no harm", async () => {
  const { events } = streamed([{ content: "Fine." }]);
  upstream.answer = () => ({ events: ["data:\n\n", ...events.slice(0, -1), "data: \n\n", "data: [DONE] \n\n"] });
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.equal(message.content[0].text, "Fine.");
  upstream.answer = () => ({ events: ["data:\n\n", ...messageOf([event("content_block_start", { index: 0, content_block: { type: "text", text: "Fine." } })], "end_turn").events] });
  const chat = await openai.chat.completions.stream({ model: "claude", messages: kMessages }).finalChatCompletion();
  assert.equal(chat.choices[0].message.content, "Fine.");
});

test("parallel calls that share an index stay apart in the cache", async () => {
  upstream.answer = reused;
  const request = { model: "auto", messages: kMessages };
  await (await openai.chat.completions.create({ ...request, stream: true }).asResponse()).text();
  upstream.answer = () => ({ status: 500, body: "{}" });
  const kept = await until(() => openai.chat.completions.create(request).catch(() => null));
  assert.deepEqual(kept.choices[0].message.tool_calls.map(({ id, function: f }) => [id, f.name, JSON.parse(f.arguments)]), kExpected);
});

const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const block = (index, content_block, parts = []) =>
  event("content_block_start", { index, content_block }) +
  parts.map((partial_json) => event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } })).join("") +
  event("content_block_stop", { index });

/// A stream of Anthropic's server with these blocks.
const messageOf = (blocks, stop_reason) => {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 3, output_tokens: 1 } };
  const end = event("message_delta", { delta: { stop_reason }, usage: { output_tokens: 9 } }) + event("message_stop");
  return { events: [event("message_start", { message }), ...blocks, end] };
};

test("a call without arguments has an empty object", async () => {
  const blocks = [
    block(0, { type: "tool_use", id: "a", name: "time", input: {} }, [""]),
    block(1, { type: "tool_use", id: "b", name: "date", input: null }),
    block(2, { type: "tool_use", id: "c", name: "weather", input: {} }, ["", '{"city":', '"Rome"}']),
    block(3, { type: "tool_use", id: "d", name: "place", input: {} }),
  ];
  upstream.answer = () => messageOf(blocks, "tool_use");
  const chat = await openai.chat.completions.stream({ model: "claude", messages: kMessages }).finalChatCompletion();
  const calls = chat.choices[0].message.tool_calls.map(({ id, function: f }) => [id, f.name, f.arguments]);
  assert.deepEqual(calls, [["a", "time", "{}"], ["b", "date", "{}"], ["c", "weather", '{"city":"Rome"}'], ["d", "place", "{}"]]);
  upstream.answer = () => streamed([{ tool_calls: [call("a", "time", "", 0)] }, { tool_calls: [call("b", "date", "", 1)] }], "tool_calls");
  const response = await openai.responses.stream({ model: "chats", input: "x" }).finalResponse();
  assert.deepEqual(ofResponse(response), [["a", "time", {}], ["b", "date", {}]]);
});

test("a call that was cut before its arguments has none, so that nobody runs it", async () => {
  const cut = ["a", "b"].map((id, index) => block(index, { type: "tool_use", id, name: "clean", input: {} }));
  for (const reason of ["max_tokens", "model_context_window_exceeded", "refusal"]) {
    upstream.answer = () => messageOf(cut, reason);
    const texts = ["", ""];
    for await (const { choices } of await openai.chat.completions.create({ model: "claude", messages: kMessages, stream: true }))
      for (const { index, function: f } of choices[0].delta.tool_calls ?? []) texts[index] += f.arguments;
    assert.deepEqual(texts, ["{}", ""], reason);
    const content = ["a", "b"].map((id) => ({ type: "tool_use", id, name: "clean", input: {} }));
    upstream.answer = () => ({ body: { id: "msg_1", type: "message", role: "assistant", model: "m", content, stop_reason: reason } });
    const whole = await openai.chat.completions.create({ model: "claude", messages: kMessages });
    assert.deepEqual(whole.choices[0].message.tool_calls.map((each) => each.function.arguments), ["{}", ""], reason);
  }
  for (const reason of ["length", "content_filter"]) {
    upstream.answer = () => completion({ content: null, tool_calls: [call("a", "clean", "", 0)] }, reason);
    const { status, output } = await openai.responses.create({ model: "chats", input: "x" });
    assert.deepEqual([status, output[0].arguments], ["incomplete", ""], reason);
  }
});

test("a report about the prompt, which Azure sends first, does not name the model", async () => {
  const report = { id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] };
  upstream.answer = () => ({ events: [report, ...streamed([{ role: "assistant", content: "" }, { content: "Fine." }]).events] });
  const message = await anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages }).finalMessage();
  assert.deepEqual([message.model, message.content[0].text], ["scripted", "Fine."]);
  const response = await openai.responses.stream({ model: "chats", input: "x" }).finalResponse();
  assert.deepEqual([response.model, response.output_text], ["scripted", "Fine."]);
});

// Some of Anthropic's models refuse every effort.
test("Anthropic's server gets the effort that a decision states, from every client, and no other", async () => {
  const content = [{ type: "text", text: "Done." }];
  upstream.answer = () => ({ body: { id: "msg_1", type: "message", role: "assistant", content, stop_reason: "end_turn" } });
  for (const [text, sent] of [["prove it", { effort: "high" }], ["think", undefined], ["guess", undefined]]) {
    const messages = [{ role: "user", content: text }];
    const requests = [
      () => openai.chat.completions.create({ model: "auto", messages }),
      () => openai.chat.completions.create({ model: "auto", messages, reasoning_effort: "low" }),
      () => openai.responses.create({ model: "auto", input: text }),
      () => openai.responses.create({ model: "auto", input: text, reasoning: { effort: "low" } }),
      () => anthropic.messages.create({ model: "auto", max_tokens: 9, messages }),
    ];
    for (const request of requests) {
      await request();
      assert.deepEqual(upstream.received.output_config, sent, upstream.body);
    }
    if (text === "think") continue;  // an effort of the client's own passes
    const format = { type: "json_schema", schema: { type: "object" } };
    await anthropic.messages.create({ model: "auto", max_tokens: 9, messages, output_config: { effort: "low", format } });
    assert.deepEqual(upstream.received.output_config, { ...sent, format }, upstream.body);
    await anthropic.messages.create({ model: "auto", max_tokens: 9, messages, output_config: { effort: "low" } });
    assert.deepEqual(upstream.received.output_config, sent, upstream.body);
  }
});

test("a redirect of a model's server does not reach the client", async () => {
  const location = "http://127.0.0.1:1/";
  upstream.answer = () => ({ status: 307, headers: { location }, body: "" });
  for (const [path, more] of [
    ["/v1/chat/completions", { messages: kMessages }],
    ["/v1/messages", { max_tokens: 9, messages: kMessages }],
    ["/v1/responses", { input: "x" }],
    ["/v1/embeddings", { input: "x" }],
    ["/v1/files/a"],
  ]) {
    const init = more ? { method: "POST", body: JSON.stringify({ model: "chats", ...more }) } : { method: "DELETE" };
    const reply = await fetch(`${daemon.url}${path}`, { redirect: "manual", ...init });
    assert.deepEqual([reply.status, reply.headers.get("location")], [502, null], path);
    assert.match((await reply.json()).error.message, /^the model's server: it redirects to another address \(HTTP 307\)/);
  }
  const content = await fetch(`${daemon.url}/v1/files/a/content`, { redirect: "manual" });
  assert.deepEqual([content.status, content.headers.get("location")], [307, location]);
});

test("an error page has a message for clients of another API", async () => {
  upstream.answer = () => ({ status: 503, headers: { "content-type": "text/html" }, body: "<html>Unavailable</html>" });
  const refused = anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages });
  await assert.rejects(refused, { status: 503, message: /the model's server answered with HTTP 503/ });
});

test("a rate limit of Anthropic's server has the type of one", async () => {
  upstream.answer = () => ({ status: 429, headers: { "retry-after": "7" }, body: { type: "error", error: { type: "rate_limit_error", message: "Slow." } } });
  const refused = openai.chat.completions.create({ model: "claude", messages: kMessages });
  await assert.rejects(refused, { status: 429, type: "rate_limit_error" });
});

test("Anthropic's clients read errors of paths and methods in their form", async () => {
  const headers = { "anthropic-version": "2023-06-01" };
  for (const [path, init, status, type] of [
    ["/v1/messages", {}, 405, "invalid_request_error"],
    ["/v1/messages/batches", { method: "POST", body: "{}" }, 404, "not_found_error"],
    ["/v1/nothing", { headers }, 404, "not_found_error"],
  ]) {
    const reply = await fetch(`${daemon.url}${path}`, init);
    const body = await reply.json();
    assert.deepEqual([reply.status, body.type, body.error.type], [status, "error", type], path);
  }
  assert.equal((await (await fetch(`${daemon.url}/v1/nothing`)).json()).type, undefined);
});

test("a count of tokens has the id of its request, and a refused one names what would be counted", async () => {
  upstream.answer = () => ({ body: { input_tokens: 5 } });
  const counted = await anthropic.messages.countTokens({ model: "claude", messages: kMessages }).withResponse();
  assert.equal(counted.data.input_tokens, 5);
  assert.equal(counted.request_id, counted.response.headers.get("x-request-id"));
  for (const model of ["auto", "chats"]) {
    const refused = anthropic.messages.countTokens({ model, messages: kMessages });
    await assert.rejects(refused, { status: 400, message: /name a model with api_format: anthropic/ });
  }
});

// Behind Envoy, the server of the test gets what OpenAI's own would.
test("translated chats have no members that a provider refuses", async () => {
  const [envoyPort] = await freePorts(1);
  const behindEnvoy = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: gpt}
  models:
    - {name: gpt, backend_refs: [{name: openai, base_url: "https://api.openai.com/v1"}]}
    - {name: eu, backend_refs: [{name: eu, base_url: "https://eu.api.openai.com/v1"}]}
    - {name: own, backend_refs: [{name: own, base_url: "https://notapi.openai.com/v1"}]}
    - {name: azure, reasoning_family: gpt, backend_refs: [{name: azure, base_url: "https://x.openai.azure.com/openai/v1"}]}
    - {name: foundry, reasoning_family: gpt, backend_refs: [{name: foundry, base_url: "https://x.services.ai.azure.com/openai/v1"}]}
    - {name: plain, backend_refs: [{name: plain, base_url: "https://x.openai.azure.com/openai/v1"}]}
    - {name: strict, backend_refs: [{name: strict, base_url: "https://api.cerebras.ai/v1"}]}
routing:
  decisions:
    - {name: limited, modelRefs: [{model: gpt}], plugins: [{type: request_params, configuration: {max_tokens_limit: 50}}]}
global:
  services:
    ext_proc: {enabled: true, port: ${envoyPort}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;
  await withDaemon(behindEnvoy, async () => {
    const processor = new Processor(envoyPort);
    let envoy;
    upstream.answer = () => completion({ content: "Fine." });
    const bounds = ({ max_tokens, max_completion_tokens }) => [max_tokens, max_completion_tokens];
    const message = { max_tokens: 900, messages: kMessages };
    const response = { max_output_tokens: 900, input: "x" };
    try {
      envoy = await Envoy.start({ processor, clusters: { default: upstream.port } });
      for (const [path, body, expected] of [
        ["/v1/messages", { model: "gpt", ...message }, [undefined, 900]],
        ["/v1/messages", { model: "auto", ...message }, [undefined, 50]],
        ["/v1/messages", { model: "eu", ...message }, [undefined, 900]],
        ["/v1/messages", { model: "own", ...message }, [900, undefined]],
        ["/v1/messages", { model: "azure", ...message }, [undefined, 900]],
        ["/v1/messages", { model: "foundry", ...message }, [undefined, 900]],
        ["/v1/messages", { model: "plain", ...message }, [900, undefined]],
        ["/v1/responses", { model: "gpt", ...response }, [undefined, 900]],
        ["/v1/responses", { model: "own", ...response }, [900, undefined]],
        ["/v1/chat/completions", { model: "gpt", ...message }, [900, undefined]],
      ]) {
        const reply = await fetch(`${envoy.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
        assert.equal(reply.status, 200, await reply.text());
        assert.deepEqual(bounds(upstream.received), expected, `${path} ${body.model}`);
      }
      const thinking = { type: "enabled", budget_tokens: 2000 };
      for (const model of ["azure", "foundry"]) {
        await (await fetch(`${envoy.url}/v1/messages`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model, thinking, ...message }) })).text();
        assert.deepEqual([upstream.received.reasoning_effort, upstream.received.chat_template_kwargs], ["low", undefined], model);
      }
      const used = { type: "tool_use", id: "a_sigu_AbC", name: "weather", input: {} };
      const thought = { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "" }, { type: "text", text: "Rain." }, used] };
      const messages = [...kMessages, thought, { role: "user", content: [{ type: "tool_result", tool_use_id: used.id, content: "Rain." }] }];
      for (const [model, reasoning_content] of [["strict", undefined], ["gpt", undefined], ["foundry", undefined], ["own", "Hm."]]) {
        const reply = await fetch(`${envoy.url}/v1/messages`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model, max_tokens: 9, messages }) });
        await reply.text();
        assert.equal(reply.headers.get("x-vsr-dropped"), reasoning_content ? null : "messages.thinking");
        const extra_content = reasoning_content && { google: { thought_signature: "AbC" } };
        const tool_calls = [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" }, extra_content }];
        assert.deepEqual(upstream.received.messages[1], JSON.parse(JSON.stringify({ role: "assistant", content: "Rain.", reasoning_content, tool_calls })), model);
      }
      const reasoning = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
      const input = [{ role: "user", content: "x" }, reasoning, { role: "assistant", content: "Rain." }, { role: "user", content: "x" }];
      const reply = await fetch(`${envoy.url}/v1/responses`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: "gpt", input }) });
      assert.deepEqual([reply.headers.get("x-vsr-dropped"), upstream.received.messages[1]], ["input.reasoning", { role: "assistant", content: "Rain." }], await reply.text());
    } finally {
      await envoy?.stop();
      processor.close();
    }
  });
});
