// Tests Anthropic's own client with the daemon in front of a server that supports only chat completions: the requests
// that the server receives, and the client's view of the reply.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, provider_model_id: claude-x, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
    - name: careful
      api_format: anthropic
      pii_policy: {allow_by_default: false}
      backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]
    - {name: echo, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: greeting, keywords: [greetings]}
      - {name: secret, keywords: [forbidden]}
  decisions:
    - name: refused
      priority: 3
      rules: {type: keyword, name: secret}
      modelRefs: [{model: scripted}]
      plugins: [{type: fast_response, configuration: {message: "I will not."}}]
    - name: greeting
      priority: 2
      rules: {type: keyword, name: greeting}
      modelRefs: [{model: echo}]
    - name: other
      priority: 1
      modelRefs: [{model: scripted}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, client;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  client = new Anthropic({ apiKey: "key-1", baseURL: daemon.url, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const requestOf = (content, more = {}) => ({ model: "auto", max_tokens: 100, messages: [{ role: "user", content }], ...more });
const kTool = {
  name: "weather",
  description: "Says how it is",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

test("a message is routed and answered whole", async () => {
  const { data, response } = await client.messages.create(requestOf("greetings, all")).withResponse();
  assert.equal(response.headers.get("x-vsr-selected-decision"), "greeting");
  assert.equal(response.headers.get("x-vsr-client-protocol"), "anthropic");
  assert.equal(response.headers.get("x-vsr-upstream-protocol"), "openai");
  assert.equal(data.type, "message");
  assert.equal(data.role, "assistant");
  assert.match(data.id, /^msg_/);
  assert.match(data.content[0].text, /You said: greetings, all/);
  assert.equal(data.stop_reason, "end_turn");
  assert.ok(data.usage.output_tokens > 0);
});

test("a message streams", async () => {
  const stream = client.messages.stream(requestOf("greetings, all"));
  let text = "";
  stream.on("text", (delta) => (text += delta));
  const message = await stream.finalMessage();
  assert.match(text, /You said: greetings, all/);
  assert.equal(message.content[0].text, text);
  assert.equal(message.stop_reason, "end_turn");
  assert.ok(message.usage.output_tokens > 0);
});

test("every parameter reaches the server in the terms of its API", async () => {
  upstream.answer = () => completion({ content: "ok" });
  await client.messages.create(
    requestOf(
      [
        { type: "text", text: "What is this?", cache_control: { type: "ephemeral" } },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "All of it." } },
        { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
      ],
      {
        system: [{ type: "text", text: "Be kind." }, { type: "text", text: "Be brief." }],
        stop_sequences: ["END"],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        metadata: { user_id: "u-1" },
        tools: [kTool],
        tool_choice: { type: "any", disable_parallel_tool_use: true },
        thinking: { type: "enabled", budget_tokens: 5000 },
        seed: 7,
      },
    ),
  );
  assert.equal(upstream.path, "/v1/chat/completions");
  assert.equal(upstream.headers.authorization, "Bearer key-1");
  assert.equal(upstream.headers["x-api-key"], undefined);
  assert.equal(upstream.headers["anthropic-version"], undefined);
  assert.deepEqual(upstream.received, {
    model: "scripted",
    messages: [
      { role: "system", content: [{ type: "text", text: "Be kind." }, { type: "text", text: "Be brief." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          { type: "text", text: "All of it." },
          { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
        ],
      },
    ],
    max_tokens: 100,
    tools: [{ type: "function", function: { name: "weather", description: "Says how it is", parameters: kTool.input_schema } }],
    tool_choice: "required",
    parallel_tool_calls: false,
    reasoning_effort: "medium",
    stop: ["END"],
    user: "u-1",
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    seed: 7,
  });
});

const kCalls = [
  { id: "call-a", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
  { id: "call-b", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
];

test("tools are called, and their results go back", async () => {
  upstream.answer = () => completion({ content: "Let me see.", tool_calls: kCalls }, "tool_calls");
  const first = await client.messages.create(requestOf("Weather?", { tools: [kTool] }));
  assert.equal(first.stop_reason, "tool_use");
  assert.deepEqual(first.content, [
    { type: "text", text: "Let me see." },
    { type: "tool_use", id: "call-a", name: "weather", input: { city: "Rome" } },
    { type: "tool_use", id: "call-b", name: "weather", input: { city: "Oslo" } },
  ]);
  upstream.answer = () => completion({ content: "Warm and cold." });
  await client.messages.create({
    ...requestOf("Weather?", { tools: [kTool] }),
    messages: [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: first.content },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call-a", content: "27 degrees" },
          {
            type: "tool_result",
            tool_use_id: "call-b",
            is_error: true,
            content: [
              { type: "text", text: "no station" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
            ],
          },
          { type: "text", text: "Go on." },
        ],
      },
    ],
  });
  const [, assistant, one, two, user] = upstream.received.messages;
  assert.deepEqual(assistant, { role: "assistant", content: "Let me see.", tool_calls: kCalls });
  assert.deepEqual(one, { role: "tool", tool_call_id: "call-a", content: "27 degrees" });
  const texts = [{ type: "text", text: "Error:" }, { type: "text", text: "no station" }];
  assert.deepEqual(two, { role: "tool", tool_call_id: "call-b", content: texts });
  assert.deepEqual(user.content[0], { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } });
  assert.deepEqual(user.content[1], { type: "text", text: "Go on." });
});

test("thinking, text and calls stream as blocks of their own", async () => {
  const part = (index, text, more = {}) => ({ tool_calls: [{ index, ...more, function: { arguments: text, ...more.function } }] });
  upstream.answer = () =>
    streamed(
      [
        { role: "assistant", content: "" },
        { reasoning_content: "Hm, " },
        { reasoning_content: "Rome." },
        { content: "Let me " },
        { content: "see." },
        part(0, "", { id: "call-a", type: "function", function: { name: "weather" } }),
        part(0, '{"city":'),
        part(0, '"Rome"}'),
        part(1, '{"city":"Oslo"}', { id: "call-b", type: "function", function: { name: "weather" } }),
      ],
      "tool_calls",
      { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
    );
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const message = await client.messages.stream(requestOf("Weather?", { tools: [kTool], thinking })).finalMessage();
  assert.deepEqual(message.content, [
    { type: "thinking", thinking: "Hm, Rome.", signature: "" },
    { type: "text", text: "Let me see." },
    { type: "tool_use", id: "call-a", name: "weather", input: { city: "Rome" } },
    { type: "tool_use", id: "call-b", name: "weather", input: { city: "Oslo" } },
  ]);
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.usage.input_tokens, 5);
  assert.equal(message.usage.cache_read_input_tokens, 4);
  assert.equal(message.usage.output_tokens, 5);
});

test("personal data is masked in a message, and comes back in the stream", async () => {
  upstream.answer = () => streamed([{ content: "Mail [EMAIL_ADD" }, { content: "RESS_1]." }]);
  const message = await client.messages.stream(requestOf([{ type: "text", text: "I am ann@example.com" }])).finalMessage();
  assert.equal(upstream.received.messages[0].content, "I am [EMAIL_ADDRESS_1]");
  assert.equal(message.content[0].text, "Mail ann@example.com.");
});

test("text behind the results of tools is decided on, too", async () => {
  const results = [{ type: "tool_result", tool_use_id: "a", content: "nothing here" }];
  const { data, response } = await client.messages
    .create({ ...requestOf("x"), messages: [{ role: "user", content: [...results, { type: "text", text: "forbidden" }] }] })
    .withResponse();
  assert.equal(response.headers.get("x-vsr-selected-decision"), "refused");
  assert.equal(data.content[0].text, "I will not.");
  const streamedToo = await client.messages.stream(requestOf("forbidden")).finalMessage();
  assert.equal(streamedToo.content[0].text, "I will not.");
});

// Such a reply is translated away from the event loop.
test("a reply of a megabyte comes back whole, with its mask restored", async () => {
  const text = `${"A long answer. ".repeat(70_000)}Write to [EMAIL_ADDRESS_1].`;
  upstream.answer = () => completion({ content: text });
  const reply = await client.messages.create(requestOf("Who is ada@example.com?"));
  assert.equal(reply.content[0].text, text.replace("[EMAIL_ADDRESS_1]", "ada@example.com"));
});

test("errors have the form of Anthropic's API", async () => {
  const refused = (request, status, type, message) =>
    assert.rejects(client.messages.create(request), (error) => {
      assert.equal(error.status, status);
      assert.equal(error.error.type, "error");
      assert.equal(error.error.error.type, type);
      assert.match(error.error.error.message, message);
      return true;
    });
  await refused({ ...requestOf("x"), max_tokens: undefined }, 400, "invalid_request_error", /^max_tokens: missing/);
  await refused(requestOf([{ type: "container_upload", file_id: "f" }]), 400, "invalid_request_error", /^messages\[0\]\.content\[0\]\.type: /);
  await refused(requestOf("x", { model: "nobody" }), 404, "not_found_error", /nobody/);
  upstream.answer = () => ({ status: 429, body: { error: { message: "slow down", type: "rate_limit_error" } } });
  await refused(requestOf("x"), 429, "rate_limit_error", /^slow down$/);
  upstream.answer = () => ({ body: "{" });
  await refused(requestOf("x"), 502, "api_error", /not valid JSON/);
});

test("members that a chat completion cannot hold are left out and named", async () => {
  upstream.answer = () => completion({ content: "Fine." });
  const more = { tools: [kTool, { type: "web_search_20250305", name: "web_search" }], context_management: { edits: [] } };
  const { response } = await client.messages.create(requestOf("x", more)).withResponse();
  assert.equal(response.headers.get("x-vsr-dropped"), "tools.web_search_20250305, context_management");
  assert.deepEqual(upstream.received.tools.map(({ function: { name } }) => name), ["weather"]);
  assert.equal(upstream.received.context_management, undefined);
  await until(() => daemon.log.includes("do not get: tools.web_search_20250305, context_management"));
});

test("a reply has the ids that both sides log", async () => {
  upstream.answer = () => ({ ...completion({ content: "Fine." }), headers: { "x-request-id": "theirs" } });
  const { response } = await client.messages.create(requestOf("x")).withResponse();
  assert.equal(response.headers.get("request-id"), response.headers.get("x-request-id"));
  assert.equal(response.headers.get("x-vsr-upstream-request-id"), "theirs");
});

test("models are listed in Anthropic's shape", async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.ok(names.includes("claude"));
  const one = await client.models.retrieve("claude");
  assert.deepEqual([one.type, one.display_name], ["model", "claude"]);
  await assert.rejects(client.models.retrieve("nobody"), (error) => error.error.type === "error");
});

test("a stream that breaks ends in an error event", async () => {
  const broken = async (answer, message) => {
    upstream.answer = () => answer;
    await assert.rejects(client.messages.stream(requestOf("x")).finalMessage(), (error) => {
      assert.match(error.message, message);
      return true;
    });
  };
  await broken({ events: [...streamed([{ content: "Hi" }], null).events, "data: {\n\n"] }, /not valid JSON/);
  await broken(streamed([{ content: "Hi" }], null), /before the reply was complete/);
  await broken({ ...streamed([{ content: "Hi" }], null), dies: true }, /./);
  await broken({ events: [...streamed([{ content: "Hi" }], null).events, { error: { message: "out of memory" } }] }, /out of memory/);
});

test("the log of the daemon for messages holds no texts and no keys", () => {
  assert.doesNotMatch(daemon.log, /ann@|Weather|key-1|forbidden/);
});

test("tokens are counted only by a server that can count them", async () => {
  const question = { model: "claude", system: "Be kind.", messages: [{ role: "user", content: "Good morning" }], tools: [kTool] };
  upstream.answer = () => ({ body: { input_tokens: 403 } });
  const { data, response } = await client.messages.countTokens(question).withResponse();
  assert.deepEqual(data, { input_tokens: 403 });
  assert.match(response.headers.get("x-request-id"), /^req-/);
  assert.equal(upstream.path, "/v1/messages/count_tokens");
  assert.equal(upstream.headers["x-api-key"], "key-1");
  assert.ok(upstream.headers["anthropic-version"]);
  assert.equal(upstream.body, JSON.stringify(question).replace('"claude"', '"claude-x"'));

  await client.beta.messages.countTokens({ ...question, betas: ["b-1"] }, { query: { beta: true } });
  assert.equal(upstream.path, "/v1/messages/count_tokens?beta=true");
  assert.match(upstream.headers["anthropic-beta"], /b-1/);

  upstream.body = "untouched";
  for (const [model, status, message] of [
    ["scripted", 400, /another API/],
    ["auto", 400, /stands for several models/],
    ["careful", 400, /has a pii_policy/],
    ["nobody", 404, /unknown model "nobody"/],
    [7, 400, /model: expected a string/],
  ]) {
    await assert.rejects(client.messages.countTokens({ ...question, model }), (error) => {
      assert.equal(error.status, status);
      assert.equal(error.error.type, "error");
      assert.match(error.error.error.message, message);
      return true;
    });
  }
  assert.equal(upstream.body, "untouched");

  upstream.answer = () => ({ status: 429, body: { type: "error", error: { type: "rate_limit_error", message: "slowly" } } });
  await assert.rejects(client.messages.countTokens(question), (error) => error.status === 429 && /slowly/.test(error.message));
});
