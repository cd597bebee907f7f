// Tests requests whose client and server have the same API: the server gets the client's bytes with the decision's
// edits and nothing else, and the client gets the server's bytes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream } from "./upstream.mjs";
import { until } from "./until.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: claude}
  models:
    - {name: claude, provider_model_id: claude-x, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gpt, provider_model_id: gpt-x, responses_api: true, backend_refs: [{name: gpt, endpoint: "127.0.0.1:${upstream}"}]}
    - name: careful
      api_format: anthropic
      pii_policy: {allow_by_default: false}
      backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]
    - {name: chats, backend_refs: [{name: chats, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords:
      - {name: edited, keywords: [edited]}
      - {name: edited_gpt, keywords: [response]}
  decisions:
    - name: edited_gpt
      priority: 5
      rules: {type: keyword, name: edited_gpt}
      modelRefs: [{model: gpt, use_reasoning: false}]
      plugins: &edits
        - {type: system_prompt, configuration: {system_prompt: "House rules.", mode: insert}}
        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}
        - {type: tools, configuration: {mode: filtered, block_tools: [unwanted]}}
        - {type: request_params, configuration: {max_tokens_limit: 50}}
    - name: edited
      priority: 4
      rules: {type: keyword, name: edited}
      modelRefs: [{model: claude, use_reasoning: false}]
      plugins: *edits
global:
  api: {untranslatable: refuse}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

async function post(path, body, headers = {}) {
  const response = await fetch(`${daemon.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/// Cuts a stream's bytes where it hurts: in the middle of lines.
const inPieces = (text, size = 7) => text.match(new RegExp(`[^]{1,${size}}`, "g"));

// Everything that has no place in a chat completion, in a form that no writer would produce again.
const kMessages = `{ "model" : "claude",  "max_tokens":100, "unheard_of": 12345678901234567890123,
 "system":[{"type":"text","text":"Be kind.\\u0021","cache_control":{"type":"ephemeral","ttl":"1h"}}],
 "thinking":{"type":"enabled","budget_tokens":2000},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
 "mcp_servers":[{"type":"url","url":"https://example.com","name":"m"}],"inference_geo":"us","speed":"fast",
 "tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"},"defer_loading":true}],
 "messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"d"},"citations":{"enabled":true}},{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"eHh4"},
   {"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"ZQ=="}]},
   {"type":"tool_use","id":"a","name":"f","input":{"n":1.0}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"bad"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}] }`;

const kMessageStream = [
  ["message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x","stop_reason":null,"usage":{"input_tokens":11,"cache_creation_input_tokens":100,"cache_read_input_tokens":7,"output_tokens":1}}}`],
  ["content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"[EMAIL_ADDRESS_1] asks"}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`],
  ["content_block_stop", `{"type":"content_block_stop","index":0}`],
  ["content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Dear [EMAIL"}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"_ADDRESS_1], and [EMAIL"}}`],
  ["content_block_stop", `{"type":"content_block_stop","index":1}`],
  ["content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"to\\":\\"[EMAIL_AD"}}`],
  ["content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"DRESS_1]\\"}"}}`],
  ["content_block_stop", `{"type":"content_block_stop","index":2}`],
  ["message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`],
  ["message_stop", `{"type":"message_stop"}`],
].map(([name, data]) => `event: ${name}\ndata: ${data}\n\n`).join("");

test("Anthropic's server gets the client's bytes and headers, and the client the server's", async () => {
  const whole = '{ "id":"msg_1","type":"message","content":[{"type":"text","text":"Hi","citations":[]}] ,"usage":{"input_tokens":11,"cache_creation_input_tokens":100,"output_tokens":3}}';
  upstream.answer = () => ({ body: whole, headers: { "request-id": "req_theirs", "anthropic-ratelimit-tokens-remaining": "5" } });
  const headers = { "anthropic-beta": "context-management-2025-06-27,mcp-client", "anthropic-version": "2023-06-01", "x-api-key": "k" };
  const reply = await post("/v1/messages?beta=true", kMessages, headers);
  assert.equal(reply.status, 200, reply.body);
  assert.equal(upstream.body, kMessages.replace('"claude"', '"claude-x"'));
  assert.equal(upstream.path, "/v1/messages?beta=true");
  for (const [name, value] of Object.entries(headers)) assert.equal(upstream.headers[name], value);
  assert.equal(reply.body, whole);
  assert.equal(reply.headers.get("x-vsr-dropped"), null);
  assert.equal(reply.headers.get("x-vsr-upstream-request-id"), "req_theirs");
  assert.equal(reply.headers.get("request-id"), reply.headers.get("x-request-id"));
  assert.equal(reply.headers.get("anthropic-ratelimit-tokens-remaining"), "5");
});

test("a message's stream passes untouched and is metered", async () => {
  upstream.answer = () => ({ events: inPieces(kMessageStream) });
  const reply = await post("/v1/messages", { model: "claude", max_tokens: 9, stream: true, messages: [{ role: "user", content: "x" }] });
  assert.equal(reply.body, kMessageStream);
  const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();
  await until(async () => /^llm_model_prompt_tokens_total\{[^}]*claude[^}]*\} (118|229)$/m.test(await metrics()));
});

test("errors of Anthropic's server pass, and ours have its shape", async () => {
  const error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}';
  upstream.answer = () => ({ status: 400, body: error });
  const request = { model: "claude", max_tokens: 9, messages: [{ role: "user", content: "x" }] };
  const reply = await post("/v1/messages", request);
  assert.deepEqual([reply.status, reply.body], [400, error]);
  upstream.answer = () => ({ events: inPieces(kMessageStream.slice(0, 700)), dies: true });
  const broken = await post("/v1/messages", { ...request, stream: true }).catch((failure) => failure);
  assert.ok(broken instanceof Error, "the connection closes");
});

test("a decision edits the client's form of a message and nothing else", async () => {
  const request = {
    model: "auto",
    max_tokens: 900,
    system: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }],
    thinking: { type: "enabled", budget_tokens: 2000 },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }, { type: "clear_tool_uses_20250919" }] },
    tools: [
      { name: "unwanted", input_schema: { type: "object" } },
      { name: "f", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } },
      { type: "web_search_20250305", name: "web_search" },
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    messages: [
      { role: "user", content: "edited" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "The mail asks", signature: "c2ln" },
          { type: "tool_use", id: "t", name: "f", input: { to: "ann@example.com" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content: "ann@example.com bounced, edited" }] },
      { role: "user", content: [{ type: "text", text: "edited again", cache_control: { type: "ephemeral" } }] },
    ],
    stream: true,
  };
  const expected = structuredClone(request);
  expected.model = "claude-x";
  expected.max_tokens = 50;
  expected.system.unshift({ type: "text", text: "House rules." });
  expected.thinking = { type: "disabled" };
  expected.context_management.edits.shift();
  expected.tools.shift();
  expected.messages[1].content[1].input.to = "[EMAIL_ADDRESS_1]";
  expected.messages[2].content[0].content = "[EMAIL_ADDRESS_1] bounced, edited";
  upstream.answer = () => ({ events: inPieces(kMessageStream) });
  const reply = await post("/v1/messages", request);
  assert.equal(reply.status, 200, reply.body);
  assert.equal(upstream.body, JSON.stringify(expected));
  const held = (index, type, key, text) => `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${key}":"${text}"}}\n\n`;
  const restored = kMessageStream
    .replace('"Dear [EMAIL"', '"Dear "')
    .replace('"_ADDRESS_1], and [EMAIL"', '"ann@example.com, and "')
    .replace('event: content_block_stop\ndata: {"type":"content_block_stop","index":1}', `${held(1, "text_delta", "text", "[EMAIL")}$&`)
    .replace('\\"[EMAIL_AD', '\\"')
    .replace('"DRESS_1]', '"ann@example.com');
  assert.equal(reply.body, restored);
});

test("guards read every text of a message, whether a chat completion has a place for it or not", async () => {
  const hidden = [
    [{ type: "mcp_tool_result", tool_use_id: "a", content: [{ type: "text", text: "card 4111 1111 1111 1111" }] }],
    [{ type: "search_result", title: "t", source: "s", content: [{ type: "text", text: "card 4111 1111 1111 1111" }] }],
    [{ type: "tool_result", tool_use_id: "a", content: [{ type: "document", source: { type: "text", data: "card 4111 1111 1111 1111" } }] }],
  ];
  for (const content of hidden) {
    const messages = [{ role: "user", content: [...content, { type: "text", text: "Read it." }] }];
    const reply = await post("/v1/messages", { model: "careful", max_tokens: 9, messages });
    assert.equal(reply.status, 403, JSON.stringify(content));
  }
});

const kResponse = `{ "model":"gpt","input":[{"type":"item_reference","id":"rs_9"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Z2g="},
 {"type":"custom_tool_call","call_id":"c","name":"patch","input":"x"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},
 {"type":"web_search_call","id":"ws_1","status":"completed"},{"role":"user","content":"q"}],
 "previous_response_id":"resp_theirs","conversation":null,"prompt":{"id":"pmpt_1","version":"2"},"include":["reasoning.encrypted_content","web_search_call.action.sources"],
 "tools":[{"type":"web_search"},{"type":"namespace","name":"n","tools":[]},{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"x"}}],
 "truncation":"auto","top_logprobs":3,"client_metadata":{"a":"b"},"background":false,"unheard_of":12345678901234567890123 }`;

const responseStream = (text) => {
  const item = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
  const thought = { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "[EMAIL_ADDRESS_1] asks" }], encrypted_content: "Z2g=" };
  const usage = { input_tokens: 20, input_tokens_details: { cached_tokens: 8 }, output_tokens: 5, total_tokens: 25 };
  return (deltas) =>
    [
      ["response.created", { response: { id: "resp_1", output: [] } }],
      ["response.reasoning_summary_text.delta", { item_id: "rs_1", output_index: 0, summary_index: 0, delta: "[EMAIL_ADDRESS_1]" }],
      ["response.output_item.done", { output_index: 0, item: thought }],
      ...deltas.map((delta) => ["response.output_text.delta", { item_id: "msg_1", output_index: 1, content_index: 0, delta }]),
      ["response.output_text.done", { item_id: "msg_1", output_index: 1, content_index: 0, text }],
      ["response.output_item.done", { output_index: 1, item }],
      ["response.completed", { response: { id: "resp_1", output: [thought, item], usage } }],
    ]
      .map(([type, more], sequence_number) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`)
      .join("");
};

test("a responses server gets the client's bytes, and the client the server's", async () => {
  const whole = '{"id":"resp_1","object":"response", "output":[],"usage":{"input_tokens":4,"output_tokens":2}}';
  upstream.answer = () => ({ body: whole });
  const reply = await post("/v1/responses", kResponse);
  assert.equal(reply.status, 200, reply.body);
  assert.equal(upstream.path, "/v1/responses");
  assert.equal(upstream.body, kResponse.replace('"gpt"', '"gpt-x"'));
  assert.equal(reply.body, whole);
  const sent = responseStream("Hello")(["Hel", "lo"]);
  upstream.answer = () => ({ events: inPieces(sent) });
  assert.equal((await post("/v1/responses", { model: "gpt", input: "x", stream: true })).body, sent);
});

test("a decision edits the client's form of a response and nothing else", async () => {
  const request = {
    model: "auto",
    instructions: "Be kind.",
    input: [
      { type: "reasoning", id: "rs_0", summary: [{ type: "summary_text", text: "ann@example.com" }], encrypted_content: "Z2g=" },
      { role: "user", content: [{ type: "input_text", text: "A response to ann@example.com" }] },
    ],
    reasoning: { effort: "high", summary: "auto" },
    tools: [{ type: "function", name: "unwanted" }, { type: "namespace", name: "n", tools: [{ type: "function", name: "f" }] }, { type: "web_search" }],
    max_output_tokens: 900,
    stream: true,
  };
  const expected = structuredClone(request);
  expected.model = "gpt-x";
  expected.instructions = "House rules.\n\nBe kind.";
  expected.input[1].content[0].text = "A response to [EMAIL_ADDRESS_1]";
  expected.tools.shift();
  expected.max_output_tokens = 50;
  upstream.answer = () => ({ events: inPieces(responseStream("Dear [EMAIL_ADDRESS_1][EMAIL")(["Dear [EMAIL", "_ADDRESS_1][EMAIL"])) });
  const reply = await post("/v1/responses", request);
  assert.equal(reply.status, 200, reply.body);
  assert.equal(upstream.body, JSON.stringify(expected));
  assert.equal(reply.body, responseStream("Dear ann@example.com[EMAIL")(["Dear ", "ann@example.com", "[EMAIL"]));
});

test("with untranslatable: refuse, a member without a translation is refused, except for hints", async () => {
  upstream.answer = () => ({ body: { choices: [{ message: { content: "Fine." } }] } });
  const request = { model: "chats", max_tokens: 9, messages: [{ role: "user", content: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] }] };
  const hinted = await post("/v1/messages", request);
  assert.deepEqual([hinted.status, hinted.headers.get("x-vsr-dropped")], [200, "cache_control"]);
  const refused = await post("/v1/messages", { ...request, mcp_servers: [{ url: "u" }] });
  assert.equal(refused.status, 400);
  assert.match(JSON.parse(refused.body).error.message, /^mcp_servers: .*global\.api\.untranslatable is refuse$/);
});

test("a JSON body is sent as application/json, and an account header goes with its own key", async () => {
  upstream.answer = () => ({ body: { choices: [{ message: { content: "Fine." } }] } });
  await post("/v1/chat/completions", { model: "chats", messages: [] }, { "content-type": "text/plain", "openai-organization": "org" });
  assert.equal(upstream.headers["content-type"], "application/json");
  assert.equal(upstream.headers["openai-organization"], "org");
});
