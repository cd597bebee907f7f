// Tests unmodified application frameworks with the daemon: Vercel's ai with its provider for compatible servers, and
// LangChain.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream}"}]}
global:
  model_catalog: {embeddings: {semantic: {minilm_model_path: "${kEmbedder}"}}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, url;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  url = `${daemon.url}/v1`;
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const kSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const kCall = { id: "call-a", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } };
const isAnswering = (received) => received.messages.at(-1).role === "tool";

test("the AI SDK calls a tool and goes on", async () => {
  const provider = createOpenAICompatible({ name: "router", baseURL: url, apiKey: "key-1" });
  upstream.answer = (received) =>
    isAnswering(received) ? completion({ content: "27 degrees." }) : completion({ content: null, tool_calls: [kCall] }, "tool_calls");
  const weather = tool({ description: "Says how it is", inputSchema: jsonSchema(kSchema), execute: async ({ city }) => `${city}: 27` });
  const { text, steps } = await generateText({
    model: provider("auto"),
    prompt: "Weather in Rome?",
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  assert.equal(text, "27 degrees.");
  assert.equal(steps.length, 2);
  assert.match(upstream.received.messages.at(-1).content, /Rome: 27/);
});

test("the AI SDK streams", async () => {
  const provider = createOpenAICompatible({ name: "router", baseURL: url, apiKey: "key-1", includeUsage: true });
  upstream.answer = () => streamed([{ role: "assistant", content: "" }, { reasoning_content: "Hm." }, { content: "Let me " }, { content: "see." }]);
  const result = streamText({ model: provider("auto"), prompt: "Weather?", maxRetries: 0 });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  assert.equal(text, "Let me see.");
  assert.equal(await result.reasoningText, "Hm.");
  assert.equal((await result.usage).outputTokens, 3);
});

test("the AI SDK shows the thoughts of a response as their summary, and sends them back", async () => {
  const model = createOpenAI({ baseURL: url, apiKey: "k" }).responses("scripted");
  const options = { maxRetries: 0, providerOptions: { openai: { reasoningSummary: "detailed", forceReasoning: true } } };
  upstream.answer = ({ stream }) =>
    stream ? streamed([{ reasoning_content: "First " }, { reasoning_content: "Rome." }, { content: "27." }]) : completion({ reasoning_content: "First Rome.", content: "27." });
  const whole = await generateText({ model, prompt: "Weather in Rome?", ...options });
  assert.deepEqual([whole.reasoningText, whole.text], ["First Rome.", "27."]);
  const stream = streamText({ model, prompt: "Weather in Rome?", ...options });
  assert.deepEqual([await stream.reasoningText, await stream.text], ["First Rome.", "27."]);
  const { response } = whole;
  const messages = [{ role: "user", content: "Weather in Rome?" }, ...response.messages, { role: "user", content: "And Oslo?" }];
  await generateText({ model, messages, ...options });
  assert.equal(upstream.received.messages[1].reasoning_content, "First Rome.");
});

test("LangChain calls tools, streams, and uses responses", async () => {
  const options = { model: "auto", apiKey: "key-1", maxRetries: 0, configuration: { baseURL: url } };
  const chat = new ChatOpenAI(options);
  upstream.answer = () => completion({ content: "", tool_calls: [kCall] }, "tool_calls");
  const definition = { type: "function", function: { name: "weather", description: "Says how it is", parameters: kSchema } };
  const called = await chat.bindTools([definition]).invoke("Weather in Rome?");
  assert.deepEqual(called.tool_calls[0].args, { city: "Rome" });
  upstream.answer = () => completion({ content: "27 degrees." });
  const history = [new HumanMessage("Weather in Rome?"), called, new ToolMessage({ tool_call_id: "call-a", content: "27" })];
  assert.equal((await chat.invoke(history)).content, "27 degrees.");
  assert.deepEqual(upstream.received.messages.map((message) => message.role), ["user", "assistant", "tool"]);

  upstream.answer = () => streamed([{ content: "Let me " }, { content: "see." }]);
  let text = "";
  for await (const chunk of await chat.stream("Weather?")) text += chunk.content;
  assert.equal(text, "Let me see.");

  const responses = new ChatOpenAI({ ...options, useResponsesApi: true });
  text = "";
  for await (const chunk of await responses.stream("Weather?")) text += chunk.text;
  assert.equal(text, "Let me see.");
  upstream.answer = () => completion({ content: null, tool_calls: [kCall] }, "tool_calls");
  const again = await responses.bindTools([definition]).invoke("Weather in Rome?");
  assert.deepEqual(again.tool_calls[0].args, { city: "Rome" });
});

test("models are listed", async () => {
  const client = new OpenAI({ apiKey: "key-1", baseURL: url, maxRetries: 0 });
  const names = (await client.models.list()).data.map((model) => model.id);
  assert.ok(names.includes("scripted") && names.includes("claude"), names.join());
  const model = await client.models.retrieve("scripted");
  assert.deepEqual([model.object, typeof model.created, model.owned_by], ["model", "number", "signalbox"]);
});

const kEmbedder = fileURLToPath(new URL("../../models/minilm", import.meta.url));

test("embeddings come in OpenAI's shape, as lists and as base64", { skip: existsSync(kEmbedder) ? false : "no model in models/minilm" }, async () => {
  const client = new OpenAI({ apiKey: "key-1", baseURL: url, maxRetries: 0 });
  // The client requests base64 by default and decodes it.
  const packed = await client.embeddings.create({ model: "auto", input: ["a cat", "a kitten"] });
  const listed = await client.embeddings.create({ model: "auto", input: ["a cat", "a kitten"], encoding_format: "float" });
  assert.equal(packed.object, "list");
  assert.ok(packed.usage.prompt_tokens > 0 && packed.usage.total_tokens > 0);
  assert.deepEqual(packed.data.map((each) => [each.object, each.index, each.embedding.length]), [["embedding", 0, 384], ["embedding", 1, 384]]);
  for (const [i, { embedding }] of listed.data.entries())
    embedding.forEach((x, at) => assert.ok(Math.abs(x - packed.data[i].embedding[at]) < 1e-6));
  const embeddings = new OpenAIEmbeddings({ model: "auto", apiKey: "key-1", maxRetries: 0, configuration: { baseURL: url } });
  assert.equal((await embeddings.embedDocuments(["a cat", "a kitten"]))[1].length, 384);
});

// --- a server with Anthropic's API behind a client with OpenAI's ---

const message = (content, reason, more = {}) => ({
  body: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-x",
    content,
    stop_reason: reason,
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 0 },
    ...more,
  },
});

test("a chat completion comes from a server of Anthropic's API", async () => {
  const client = new OpenAI({ apiKey: "key-1", baseURL: url, maxRetries: 0 });
  upstream.answer = () => message([{ type: "text", text: "Let me see." }, { type: "tool_use", id: "a", name: "weather", input: { city: "Rome" } }], "tool_use");
  const request = {
    model: "claude",
    max_tokens: 50,
    messages: [{ role: "system", content: "Be kind." }, { role: "user", content: "Weather in Rome?" }],
    tools: [{ type: "function", function: { name: "weather", description: "Says how it is", parameters: kSchema } }],
  };
  const completed = await client.chat.completions.create(request);
  assert.equal(upstream.path, "/v1/messages");
  assert.equal(upstream.headers["x-api-key"], "key-1");
  assert.equal(upstream.headers.authorization, undefined);
  assert.equal(upstream.headers["anthropic-version"], "2023-06-01");
  assert.deepEqual(upstream.received, {
    model: "claude",
    system: [{ type: "text", text: "Be kind." }],
    messages: [{ role: "user", content: [{ type: "text", text: "Weather in Rome?" }] }],
    max_tokens: 50,
    tools: [{ name: "weather", description: "Says how it is", input_schema: kSchema }],
  });
  assert.equal(completed.choices[0].finish_reason, "tool_calls");
  assert.equal(completed.choices[0].message.content, "Let me see.");
  assert.deepEqual(JSON.parse(completed.choices[0].message.tool_calls[0].function.arguments), { city: "Rome" });
  assert.equal(completed.usage.prompt_tokens, 7);

  upstream.answer = () => ({ status: 529, body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } });
  await assert.rejects(client.chat.completions.create(request), { status: 529, message: "529 Overloaded" });
});

test("a chat completion streams from a server of Anthropic's API", async () => {
  const client = new OpenAI({ apiKey: "key-1", baseURL: url, maxRetries: 0 });
  const events = [
    { type: "message_start", message: { ...message([], null).body } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Let me see." } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "a", name: "weather", input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":' } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '"Rome"}' } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
  const named = (list) => list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  upstream.answer = () => ({ events: named(events) });
  const request = { model: "claude", messages: [{ role: "user", content: "Weather?" }], stream_options: { include_usage: true } };
  const completed = await client.chat.completions.stream(request).finalChatCompletion();
  assert.equal(completed.choices[0].message.content, "Let me see.");
  assert.equal(completed.choices[0].message.tool_calls[0].function.arguments, '{"city":"Rome"}');
  assert.equal(completed.usage.completion_tokens, 9);

  upstream.answer = () => ({ events: named([...events.slice(0, 4), { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }]) });
  await assert.rejects(client.chat.completions.stream(request).finalChatCompletion(), /Overloaded/);
  upstream.answer = () => ({ events: named(events.slice(0, 4)) });
  await assert.rejects(client.chat.completions.stream(request).finalChatCompletion());
});
