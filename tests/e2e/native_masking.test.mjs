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
    - name: masked
      modelRefs: [{model: claude}]
      plugins:
        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}
        - {type: request_params, configuration: {blocked_params: [user]}}
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

test("a decision removes the id of the user, which all users would share", async () => {
  upstream.answer = () => ({ body: { id: "m", type: "message", role: "assistant", content: [], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } } });
  const request = { model: "auto", max_tokens: 9, messages: [{ role: "user", content: "To ann@a.org" }] };
  await post("/v1/messages", JSON.stringify({ ...request, metadata: { user_id: "bob@a.org" } }));
  assert.deepEqual(JSON.parse(upstream.body), JSON.parse(masked(JSON.stringify({ ...request, model: "claude" }))));
});

const kOwnNames = `{"type":"object","title":"For ann@a.org","properties":{"title":{"type":"string","pattern":"^cid@kept.org$","description":"Such as ann@a.org"},"default":{"$ref":"#/$defs/x@kept.org"},"properties":{"title":"Of ann@a.org","required":["cid@kept.org"]}}}`;

/// Posts the request, and expects that its server gets it with placeholders for all addresses of a.org, and for no others.
async function expectMasked(path, request) {
  upstream.answer = () => ({ body: path === "/v1/messages" ? { id: "m", type: "message", role: "assistant", content: [], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } } : { id: "r", object: "response", status: "completed", output: [] } });
  await post(path, request);
  assert.equal(upstream.body.replaceAll(/\[EMAIL_ADDRESS_\d+\]/g, "[]"), request.replaceAll(/\w+@a\.org/g, "[]"));
}

test("messages: the schema of the reply in both places", async () => {
  for (const format of [`"output_config":{"format":{"type":"json_schema","schema":${kOwnNames}}}`, `"output_format":{"type":"json_schema","schema":${kOwnNames}}`])
    await expectMasked("/v1/messages", `{ "model":"claude", "max_tokens":9,${format},"messages":[{"role":"user","content":"Write to bob@a.org"}] }`);
});

const kBase64 = Buffer.alloc(90, "A picture. ").toString("base64");

test("messages: calls and results of the server's tools; thoughts and encrypted texts stay", async () => {
  const blocks = [
    { type: "thinking", thinking: "From ann@kept.org", signature: "c2ln" },
    { type: "server_tool_use", id: "s", name: "web_search", input: { query: "ann@a.org" } },
    { type: "web_search_tool_result", tool_use_id: "s", content: [{ type: "web_search_result", url: "https://example.org", title: "Of ann@a.org", encrypted_content: kBase64 }] },
    { type: "mcp_tool_use", id: "t", name: "cid@kept.org", server_name: "m@kept.org", input: { to: "bob@a.org" } },
    { type: "mcp_tool_result", tool_use_id: "t", content: [{ type: "text", text: "Sent to bob@a.org" }] },
    { type: "code_execution_tool_result", tool_use_id: "t", content: { type: "code_execution_result", stdout: "bob@a.org", stderr: "", return_code: 0, content: [] } },
    { type: "unheard_of", body: "eve@a.org" },
    { type: "text", text: "To ann@a.org", citations: [{ type: "web_search_result_location", title: "Of ann@a.org", encrypted_index: kBase64 }] },
  ];
  const messages = [{ role: "user", content: "Write" }, { role: "assistant", content: blocks }, { role: "user", content: "Go on" }];
  await expectMasked("/v1/messages", JSON.stringify({ model: "claude", max_tokens: 9, messages }));
});

test("responses: items of every type, metadata and descriptions of servers; thoughts and pictures stay", async () => {
  const input = [
    { role: "user", content: "Write" },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "From ann@kept.org" }], encrypted_content: kBase64 },
    { type: "mcp_list_tools", id: "l", server_label: "m@kept.org", tools: [{ name: "cid@kept.org", description: "To ann@a.org", input_schema: JSON.parse(kOwnNames) }] },
    { type: "mcp_call", id: "c", server_label: "m@kept.org", name: "mail@kept.org", arguments: '{"to":"ann@a.org"}', output: "Sent to ann@a.org" },
    { type: "mcp_approval_request", id: "p", server_label: "m", name: "mail", arguments: '{"to":"ann@a.org"}' },
    { type: "mcp_approval_response", approval_request_id: "p", approve: true, reason: "I am bob@a.org" },
    { type: "code_interpreter_call", id: "i", container_id: "cntr", status: "completed", code: "print('ann@a.org')", outputs: [{ type: "logs", logs: "ann@a.org" }, { type: "image", url: `data:image/png;base64,${kBase64}` }] },
    { type: "file_search_call", id: "f", status: "completed", queries: ["ann@a.org"], results: [{ file_id: "g", filename: "ann@a.org", score: 0.4111111111111111, text: "Of ann@a.org" }] },
    { type: "web_search_call", id: "w", status: "completed", action: { type: "search", query: "ann@a.org" } },
    { type: "image_generation_call", id: "d", status: "completed", revised_prompt: "Draw ann@a.org", result: kBase64 },
    { type: "computer_call", id: "u", call_id: "v", action: { type: "type", text: "ann@a.org" }, pending_safety_checks: [] },
    { type: "computer_call_output", call_id: "v", acknowledged_safety_checks: [{ id: "k", message: "Of ann@a.org" }], output: { type: "computer_screenshot", image_url: `data:image/png;base64,${kBase64}` } },
    { type: "unheard_of", body: "eve@a.org" },
  ];
  const tools = [{ type: "mcp", server_label: "m", server_url: "https://example.org", server_description: "Mail of ann@a.org" }];
  await expectMasked("/v1/responses", JSON.stringify({ model: "gpt", input, tools, client_metadata: { of: "bob@a.org" } }));
});
