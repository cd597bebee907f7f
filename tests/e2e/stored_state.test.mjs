// Tests the paths of OpenAI's and Anthropic's APIs around a chat: counts of tokens, compaction, cancellation, and state
// that only a provider keeps.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: chats}
  models:
    - {name: chats, backend_refs: [{name: chats, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gpt, provider_model_id: gpt-large, responses_api: true, backend_refs: [{name: gpt, endpoint: "127.0.0.1:${upstream}"}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, openai;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  openai = new OpenAI({ apiKey: "k", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

test("the server of the Responses API compacts a conversation and counts its tokens", async () => {
  const compacted = { id: "resp_1", object: "response.compaction", output: [{ type: "compaction", encrypted_content: "x" }], usage: { input_tokens: 9, output_tokens: 2, total_tokens: 11 } };
  upstream.answer = () => ({ body: compacted });
  const input = [{ role: "user", content: "Good morning" }];
  const reply = await openai.responses.compact({ model: "gpt", input });
  assert.deepEqual([reply.id, reply.output, upstream.path], ["resp_1", compacted.output, "/v1/responses/compact"]);
  assert.deepEqual(upstream.received, { model: "gpt-large", input });
  upstream.answer = () => ({ body: { object: "response.input_tokens", input_tokens: 5 } });
  assert.equal((await openai.responses.inputTokens.count({ model: "gpt", input: "x" })).input_tokens, 5);
  assert.deepEqual([upstream.path, upstream.received], ["/v1/responses/input_tokens", { model: "gpt-large", input: "x" }]);
});

test("a model without that API is refused with what it needs", async () => {
  for (const model of ["chats", "claude", "auto"]) {
    const wanted = { status: 400, message: /name a model with responses_api: true/ };
    await assert.rejects(openai.responses.compact({ model, input: "x" }), wanted);
    await assert.rejects(openai.responses.inputTokens.count({ model, input: "x" }), wanted);
  }
});

test("a stored response cannot be cancelled, because it has ended", async () => {
  upstream.answer = () => completion({ content: "Fine." });
  const { id } = await openai.responses.create({ model: "chats", input: "x" });
  await assert.rejects(openai.responses.cancel(id), { status: 400, message: /has ended: there is nothing to cancel/ });
  await assert.rejects(openai.responses.cancel("resp_other"), { status: 404, code: "response_not_found" });
  for (const path of [id, "", "compact/", "cancel"]) {
    const posted = await fetch(`${daemon.url}/v1/responses/${path}`, { method: "POST", headers: { authorization: "Bearer k" }, body: "{}" });
    assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD, DELETE, OPTIONS"]);
    assert.match((await posted.json()).error.message, /: POST is not a method of this path$/);
  }
  assert.equal((await openai.responses.retrieve(id)).output_text, "Fine.");
});

test("paths of state that only a provider keeps say what to use instead", async () => {
  const wanted = { message: /use|send|continue|stores/ };
  for (const request of [
    () => openai.conversations.create({}),
    () => openai.conversations.items.list("conv_1"),
    () => openai.chat.completions.retrieve("chatcmpl-1"),
    () => openai.chat.completions.list(),
    () => openai.chat.completions.delete("chatcmpl-1"),
  ])
    await assert.rejects(request, wanted);
  const batch = await fetch(`${daemon.url}/v1/messages/batches`, { method: "POST", body: "{}" });
  assert.match((await batch.json()).error.message, /send the messages one by one/);
  const message = async (method, path) => (await (await fetch(`${daemon.url}${path}`, { method })).json()).error.message;
  assert.equal(await message("POST", "/v1/chat/completions/"), "/v1/chat/completions/: there is no such path; did you mean /v1/chat/completions?");
  assert.equal(await message("PUT", "/v1/chat/completions"), "/v1/chat/completions: PUT is not a method of this path");
  const unknown = await (await fetch(`${daemon.url}/v1/conversationsx`)).json();
  assert.equal(unknown.error.message, "/v1/conversationsx: there is no such path");
});
