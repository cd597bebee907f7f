// Tests the masking of everything in a message or a response that is not a message: definitions, stop words, metadata, and
// conversations to compact. The server has the client's API, so that it gets the client's bytes with placeholders.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream } from "./upstream.mjs";

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: claude}
  models:
    - {name: claude, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${upstream.port}"}]}
    - {name: gpt, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  decisions:
    - {name: masked, modelRefs: [{model: claude}], plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
});

async function post(path, body) {
  const reply = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return text;
}

const masked = (text) => text.replaceAll("ann@a.org", "[EMAIL_ADDRESS_1]").replaceAll("bob@a.org", "[EMAIL_ADDRESS_2]");
const kSchema = `{"type":"object","properties":{"to":{"description":"Such as ann@a.org","pattern":"^cid@a[.]org$"}},"required":["eve@a.org"]}`;

test("messages: tools, stop words and metadata", async () => {
  const request = `{ "model":"claude", "max_tokens":9,"tools":[{"name":"mail","description":"Mail to ann@a.org","input_schema":${kSchema}}],
 "messages":[{"role":"user","content":"Write to bob@a.org"}],"stop_sequences":["ann@a.org"],"metadata":{"user_id":"bob@a.org"} }`;
  upstream.answer = () => ({ body: { id: "m", type: "message", role: "assistant", content: [{ type: "text", text: "To [EMAIL_ADDRESS_1]" }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } } });
  const reply = await post("/v1/messages", request);
  // The user's text is numbered first, whatever its place.
  const placed = request.replaceAll("bob@a.org", "[EMAIL_ADDRESS_1]").replace(/ann@a.org/g, "[EMAIL_ADDRESS_2]");
  assert.deepEqual(JSON.parse(upstream.body), JSON.parse(placed));
  assert.match(upstream.body, /"pattern":"\^cid@a\[\.\]org\$"/);
  assert.equal(JSON.parse(reply).content[0].text, "To bob@a.org");
});

test("responses: the schema of the reply, and what the reply repeats", async () => {
  const request = `{ "model":"gpt", "input":"Write to ann@a.org","text":{"format":{"type":"json_schema","name":"x","schema":${kSchema}}},"metadata":{"of":"bob@a.org"},"user":"bob@a.org" }`;
  upstream.answer = (received) => ({ body: { id: "r", object: "response", status: "completed", output: [], metadata: received.metadata, text: received.text, user: received.user } });
  const reply = JSON.parse(await post("/v1/responses", request));
  assert.equal(upstream.body, masked(request));
  const { metadata, text, user } = JSON.parse(request);
  assert.deepEqual({ metadata: reply.metadata, text: reply.text, user: reply.user }, { metadata, text, user });
});

test("a conversation to compact has placeholders that no later request has", async () => {
  const request = `{ "model":"gpt", "input":[{"role":"user","content":"Write to ann@a.org"},{"role":"assistant","content":[{"type":"output_text","text":"To ann@a.org."}]}] }`;
  upstream.answer = (received) => ({ body: { id: "r", object: "response.compaction", output: [received.input[0], { type: "compaction", encrypted_content: "Z2g=" }] } });
  const reply = JSON.parse(await post("/v1/responses/compact", request));
  assert.equal(upstream.path, "/v1/responses/compact");
  const [placeholder] = upstream.body.match(/\[EMAIL_ADDRESS_\d{7}\]/);
  assert.equal(upstream.body, request.replaceAll("ann@a.org", placeholder));
  assert.equal(reply.output[0].content, "Write to ann@a.org");
  const plain = '{ "model":"gpt", "input":"Good morning" }';
  await post("/v1/responses/compact", plain);
  assert.equal(upstream.body, plain);
});
