// Tests replies that servers may send and seldom do: alternating calls, encodings, and errors where a reply is expected.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: chats}
  models:
    - {name: chats, backend_refs: [{name: secret-node, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gpt, responses_api: true, backend_refs: [{name: gpt, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: metered, backend_refs: [{name: metered, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gone, backend_refs: [{name: secret-gone, endpoint: "127.0.0.1:1"}]}
routing:
  signals:
    keywords: [{name: mail, keywords: [mail]}]
  decisions:
    - name: masked
      rules: {type: keyword, name: mail}
      modelRefs: [{model: chats}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: kept
      modelRefs: [{model: chats}]
      plugins: [{type: response_cache, configuration: {mode: exact}}]
global:
  spending: {}
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
const part = (index, more, text) => ({ tool_calls: [{ index, ...more, function: { ...more.function, arguments: text } }] });
const begin = (index, id, name, text = "") => part(index, { id, type: "function", function: { name } }, text);
const ofMessage = ({ content }) => content.filter(({ type }) => type === "tool_use").map(({ id, name, input }) => [id, name, input]);
const ofResponse = ({ output }) =>
  output.filter(({ type }) => type === "function_call").map(({ call_id, name, arguments: text }) => [call_id, name, JSON.parse(text)]);
const ofChat = ({ choices }) => choices[0].message.tool_calls.map(({ id, function: f }) => [id, f.name, JSON.parse(f.arguments)]);

const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const messageStart = event("message_start", { message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 3, output_tokens: 1 } } });
const messageEnd = (reason) => event("message_delta", { delta: { stop_reason: reason }, usage: { output_tokens: 9 } }) + event("message_stop");

test("calls whose pieces alternate arrive whole", async () => {
  const expected = [["a", "weather", { city: "Rome" }], ["b", "time", { zone: "CET" }], ["c", "sun", { city: "Rome" }]];
  upstream.answer = () =>
    streamed([{ role: "assistant" }, begin(0, "a", "weather"), begin(1, "b", "time"), part(0, {}, '{"city":'), part(1, {}, '{"zone":'), begin(2, "c", "sun", '{"city":"Rome"}'), part(0, {}, '"Rome"}'), part(1, {}, '"CET"}')], "tool_calls");
  const message = anthropic.messages.stream({ model: "chats", max_tokens: 99, messages: kMessages });
  assert.deepEqual(ofMessage(await message.finalMessage()), expected);
  const response = openai.responses.stream({ model: "chats", input: "x" });
  assert.deepEqual(ofResponse(await response.finalResponse()), expected);
  const chat = openai.chat.completions.stream({ model: "chats", messages: kMessages });
  assert.deepEqual(ofChat(await chat.finalChatCompletion()), expected);
});

test("blocks of an Anthropic server whose pieces alternate arrive whole", async () => {
  const start = (index, id, name) => event("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } });
  const delta = (index, partial_json) => event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
  const stop = (index) => event("content_block_stop", { index });
  const events = [messageStart, start(0, "a", "weather"), start(1, "b", "time"), start(2, "c", "now"), delta(0, '{"city":'), delta(1, '{"zone":'), delta(0, '"Rome"}'), delta(1, '"CET"}'), stop(0), stop(1), stop(2), messageEnd("tool_use")];
  const expected = [["a", "weather", { city: "Rome" }], ["b", "time", { zone: "CET" }], ["c", "now", {}]];
  const check = async (events) => {
    upstream.answer = () => ({ events });
    const chat = openai.chat.completions.stream({ model: "claude", messages: kMessages });
    assert.deepEqual(ofChat(await chat.finalChatCompletion()), expected);
    const response = openai.responses.stream({ model: "claude", input: "x" });
    assert.deepEqual(ofResponse(await response.finalResponse()), expected);
  };
  await check(events);
  // Some servers give the input at the start, too, or an empty one in their own spelling.
  await check(events.map((each) => each.replace('"weather","input":{}', '"weather","input":{"city":"Rome"}').replace('"time","input":{}', '"time","input":{ }')));
});

const kEncodings = [["gzip", gzipSync], ["x-gzip", gzipSync], ["deflate", deflateSync], ["deflate", deflateRawSync]];

/// The reply of ScriptedUpstream, compressed.
const compressed = ({ body, events }, name, compress) => ({
  headers: { "content-encoding": name, "content-type": events ? "text/event-stream" : "application/json" },
  body: compress(events ? events.map((each) => (typeof each === "string" ? each : `data: ${JSON.stringify(each)}\n\n`)).join("") : JSON.stringify(body)),
});

test("a compressed reply that must be translated or masked is read", async () => {
  const text = "Fine. ".repeat(40_000);
  for (const [name, compress] of kEncodings) {
    upstream.answer = () => compressed(completion({ content: text }), name, compress);
    const message = await anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages });
    assert.equal(message.content[0].text, text, name);
    assert.equal(upstream.headers["accept-encoding"], "identity");
    upstream.answer = () => compressed(streamed([{ content: "Fine. " }, { content: text }]), name, compress);
    const stream = anthropic.messages.stream({ model: "chats", max_tokens: 9, messages: kMessages });
    assert.equal((await stream.finalMessage()).content[0].text, `Fine. ${text}`, name);
    upstream.answer = ({ messages }) => compressed(completion({ content: messages[0].content }), name, compress);
    const masked = await openai.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Mail ann@example.com" }] });
    assert.equal(masked.choices[0].message.content, "Mail ann@example.com", name);
    assert.match(upstream.body, /EMAIL_ADDRESS_1/);
  }
});

test("a compressed reply is kept in the cache", async () => {
  for (const [index, [name, compress]] of kEncodings.entries()) {
    const request = { model: "auto", messages: [{ role: "user", content: `Keep number ${index}, please` }] };
    upstream.answer = () => compressed(completion({ content: "Kept." }), name, compress);
    await openai.chat.completions.create(request);
    upstream.answer = () => ({ status: 500, body: "{}" });
    const kept = await until(() => openai.chat.completions.create(request).catch(() => null), name);
    assert.equal(kept.choices[0].message.content, "Kept.");
  }
});

test("the tokens in a compressed reply are metered", async () => {
  const spent = async () => {
    const { lines } = await (await fetch(`${daemon.managementUrl}/api/v1/spending?by=model`)).json();
    return lines.find(({ model }) => model === "metered")?.prompt_tokens ?? 0;
  };
  const usage = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 };
  let total = 0;
  for (const [name, compress] of kEncodings) {
    upstream.answer = () => compressed({ body: { object: "list", data: [], model: "m", usage } }, name, compress);
    assert.deepEqual((await openai.post("/embeddings", { body: { model: "metered", input: "x" } })).data, []);
    upstream.answer = () => compressed({ body: { ...completion({ content: "x" }).body, usage } }, name, compress);
    await openai.chat.completions.create({ model: "metered", messages: kMessages });
    total += 2000;
    await until(async () => (await spent()) === total, `${total} tokens after ${name}`);
  }
});

test("a compressed reply has a limit, an end, and an encoding that the router knows", async () => {
  const ask = () => anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages });
  const gzipped = (body) => ({ headers: { "content-encoding": "gzip" }, body });
  const fails = (answer, message) => {
    upstream.answer = () => answer;
    return assert.rejects(ask(), { status: 502, message });
  };
  await fails(gzipped(gzipSync(Buffer.alloc(300_000_000, " "))), /longer than 67108864 bytes/);
  await fails(gzipped(gzipSync(JSON.stringify(completion({ content: "x" }).body)).subarray(0, 60)), /ends before its data/);
  await fails(gzipped(Buffer.from("no gzip at all")), /not in the form of gzip/);
  await fails(gzipped(Buffer.concat([gzipSync("x").subarray(0, 10), Buffer.alloc(20, 255)])), /damaged/);
  await fails(compressed(completion({ content: "x" }), "br", brotliCompressSync), /Content-Encoding: br/);
});

test("a server that answers whole although a stream is requested", async () => {
  const call = { id: "t1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } };
  const whole = completion({ content: "Fine.\nWarm.", tool_calls: [call] }, "tool_calls");
  const message = { id: "msg_1", type: "message", role: "assistant", model: "c", content: [{ type: "thinking", thinking: "hm", signature: "c2ln" }, { type: "text", text: "Fine.\nWarm." }, { type: "tool_use", id: "t1", name: "weather", input: { city: "Rome" } }], stop_reason: "tool_use", stop_sequence: null, usage: { input_tokens: 7, output_tokens: 3 } };
  const response = { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "g", output: [{ id: "rs_1", type: "reasoning", summary: [], encrypted_content: "Z2g=" }, { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "Fine.\nWarm.", annotations: [] }, { type: "summary_text", text: "Warm." }] }, { id: "fc_1", type: "function_call", status: "completed", call_id: "t1", name: "weather", arguments: '{"city":"Rome"}' }], usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 } };
  const pretty = (body) => () => ({ body: JSON.stringify(body, null, 1) }); // with line feeds between the members
  for (const [body, chat, claude, gpt] of [[whole.body, "chats", "chats", "chats"], [message, "claude", "claude", "claude"], [response, null, null, "gpt"]]) {
    upstream.answer = pretty(body);
    if (chat) {
      const got = await openai.chat.completions.stream({ model: chat, messages: kMessages, stream_options: { include_usage: true } }).finalChatCompletion();
      assert.equal(got.choices[0].message.content, "Fine.\nWarm.");
      assert.deepEqual(ofChat(got), [["t1", "weather", { city: "Rome" }]]);
      assert.deepEqual([got.choices[0].finish_reason, got.usage.completion_tokens], ["tool_calls", 3]);
    }
    if (claude) {
      const got = await anthropic.messages.stream({ model: claude, max_tokens: 9, messages: kMessages }).finalMessage();
      assert.deepEqual(ofMessage(got), [["t1", "weather", { city: "Rome" }]]);
      assert.deepEqual([got.content.find(({ type }) => type === "text").text, got.stop_reason, got.usage.output_tokens], ["Fine.\nWarm.", "tool_use", 3]);
      if (claude === "claude") assert.deepEqual(got.content, message.content);
    }
    const got = await openai.responses.stream({ model: gpt, input: "x" }).finalResponse();
    assert.deepEqual([got.output_text, got.usage.output_tokens], ["Fine.\nWarm.", 3]);
    assert.deepEqual(ofResponse(got), [["t1", "weather", { city: "Rome" }]]);
    if (gpt === "gpt") assert.deepEqual(got.output.map(({ id }) => id), ["rs_1", "msg_1", "fc_1"]);
  }
});

test("a stream under another type passes as it comes, and a reply that is no answer keeps its type", async () => {
  const ask = () => fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: "chats", stream: true, messages: kMessages }) });
  let end;
  const ends = new Promise((done) => (end = done));
  upstream.answer = () => ({ headers: { "content-type": "text/plain" }, ...streamed([{ content: "Fine." }]), ends });
  const stream = await ask();
  assert.equal(stream.headers.get("content-type"), "text/plain");
  const reader = stream.body.getReader();
  assert.match(Buffer.from((await reader.read()).value).toString(), /^data: .*"Fine\."/);
  end();
  while (!(await reader.read()).done);
  for (const [type, body] of [["text/html", "<p>Come back later.</p>"], ["application/problem+json", '{"title":"Come back later."}']]) {
    upstream.answer = () => ({ headers: { "content-type": type }, body });
    const page = await ask();
    assert.deepEqual([page.headers.get("content-type"), await page.text()], [type, body]);
  }
});

test("an error in place of a stream has the server's message", async () => {
  const error = { message: "The engine is asleep.", type: "unavailable", code: 503 };
  const kForms = [
    { body: { error } },
    { status: 503, headers: { "content-type": "text/event-stream" }, body: `data: ${JSON.stringify({ error })}\n\n` },
    { status: 503, headers: { "content-type": "text/event-stream" }, body: event("error", { error }) },
    { status: 503, body: { error } },
  ];
  for (const [index, form] of kForms.entries()) {
    const status = form.status ?? 502;
    const wanted = { status, message: /The engine is asleep\./ };
    for (const stream of index === 0 ? [true] : [true, false]) {
      upstream.answer = () => form;
      await assert.rejects(anthropic.messages.create({ model: "chats", max_tokens: 9, messages: kMessages, stream }), wanted, `${index}`);
      await assert.rejects(openai.responses.create({ model: "chats", input: "x", stream }), wanted, `${index}`);
      await assert.rejects(openai.chat.completions.create({ model: "claude", messages: kMessages, stream }), wanted, `${index}`);
    }
  }
});

test("Anthropic's server gets custom tools as functions, and their calls come back as they were", async () => {
  const tools = [{ type: "custom", custom: { name: "patch", description: "Applies it.", format: { type: "grammar", grammar: { syntax: "regex", definition: "x*" } } } }, { type: "function", function: { name: "time" } }];
  const earlier = { role: "assistant", tool_calls: [{ id: "a", type: "custom", custom: { name: "patch", input: 'say "x"' } }] };
  const messages = [...kMessages, earlier, { role: "tool", tool_call_id: "a", content: "done" }];
  const request = { model: "claude", messages, tools, tool_choice: { type: "custom", custom: { name: "patch" } } };
  const content = [{ type: "tool_use", id: "b", name: "patch", input: { input: "*** Begin\n" } }, { type: "tool_use", id: "c", name: "time", input: {} }];
  upstream.answer = () => ({ body: { id: "msg_1", type: "message", role: "assistant", model: "m", content, stop_reason: "tool_use", usage: { input_tokens: 1, output_tokens: 1 } } });
  const { data, response } = await openai.chat.completions.create(request).withResponse();
  const sent = upstream.received;
  const input_schema = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };
  assert.deepEqual(sent.tools[0], { name: "patch", description: "Applies it.", input_schema });
  assert.deepEqual(sent.tool_choice, { type: "tool", name: "patch" });
  assert.deepEqual(sent.messages[1].content, [{ type: "tool_use", id: "a", name: "patch", input: { input: 'say "x"' } }]);
  assert.equal(response.headers.get("x-vsr-dropped"), "tools.format");
  const calls = [{ id: "b", type: "custom", custom: { name: "patch", input: "*** Begin\n" } }, { id: "c", type: "function", function: { name: "time", arguments: "{}" } }];
  assert.deepEqual(data.choices[0].message.tool_calls, calls);

  const start = (index, id, name) => event("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } });
  const delta = (index, partial_json) => event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
  const stop = (index) => event("content_block_stop", { index });
  const events = [messageStart, start(0, "b", "patch"), delta(0, '{"input":"*** Be'), delta(0, 'gin\\n"}'), stop(0), start(1, "c", "time"), stop(1), messageEnd("tool_use")];
  upstream.answer = () => ({ events });
  const streamedCalls = [];
  for await (const { choices } of await openai.chat.completions.create({ ...request, stream: true })) {
    for (const { index, ...piece } of choices[0]?.delta.tool_calls ?? []) {
      const to = (streamedCalls[index] ??= { id: piece.id, type: piece.type, [piece.type]: { ...piece[piece.type], [piece.custom ? "input" : "arguments"]: "" } });
      if (piece.custom?.input) to.custom.input += piece.custom.input;
      if (piece.function?.arguments) to.function.arguments += piece.function.arguments;
    }
  }
  assert.deepEqual(streamedCalls, calls);
});

test("a stream with content in parts and arguments as objects is kept in the cache", async () => {
  const call = { index: 0, id: "a", type: "function", function: { name: "time", arguments: { zone: "CET" } } };
  upstream.answer = () => streamed([{ content: [{ type: "text", text: "In " }, { type: "text", text: "parts" }] }, { tool_calls: [call] }], "tool_calls");
  const request = { model: "auto", messages: [{ role: "user", content: "Parts, please" }] };
  await (await openai.chat.completions.create({ ...request, stream: true }).asResponse()).text();
  upstream.answer = () => ({ status: 500, body: "{}" });
  const { message } = (await until(() => openai.chat.completions.create(request).catch(() => null))).choices[0];
  assert.deepEqual([message.content, message.tool_calls[0].function.arguments], ["In parts", '{"zone":"CET"}']);
});

test("a client learns no name of a backend, and the log has it", async () => {
  const ask = (model, more = {}) => fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model, messages: kMessages, ...more }) });
  const refused = await ask("gone");
  assert.equal(refused.status, 502);
  assert.equal((await refused.json()).error.message, "the model's server: cannot connect: Connection refused");
  await until(() => daemon.log.includes('backend \\"secret-gone\\": cannot connect'), () => daemon.log);
  upstream.answer = () => ({ ...streamed([{ content: "x" }], null), dies: true });
  const broken = openai.chat.completions.stream({ model: "chats", messages: kMessages }).finalChatCompletion();
  await assert.rejects(broken, /the model's server: it closed the connection/);
});

test("OPTIONS of a stored response lists its methods", async () => {
  const allowed = async (path) => (await fetch(`${daemon.url}/v1/responses/${path}`, { method: "OPTIONS" })).headers.get("allow");
  assert.equal(await allowed("resp_1"), "GET, HEAD, DELETE, OPTIONS");
  assert.match(await allowed("resp_1/cancel"), /POST/);
  const posted = await fetch(`${daemon.url}/v1/responses/resp_1`, { method: "POST", body: "{}" });
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD, DELETE, OPTIONS"]);
});
