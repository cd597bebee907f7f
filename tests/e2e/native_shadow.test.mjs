// Tests shadows of messages and responses whose servers have their client's own API: a shadow's server of that API gets
// the client's bytes, and another one a translation.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";

const kSame = "The Danube flows into the Black Sea.";
const kOther = "A river in Europe.";

let client, native, chat, daemon;

const decision = (name, model, arm) => `
    - name: ${name}
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: ${model}}]
      plugins:
        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}
        - type: shadow_dispatch
          configuration: {sample_rate: 1, arms: [{model: ${arm}}], comparison: {}}`;

const decisions = { messages_native: ["claude", "claude_2"], messages_chat: ["claude", "chat"], responses_native: ["gpt", "gpt_2"], responses_chat: ["gpt", "chat"], chat_native: ["chat", "claude_2"] };

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: claude}
  models:
    - {name: claude, provider_model_id: claude-x, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${client.port}"}]}
    - {name: claude_2, provider_model_id: claude-y, api_format: anthropic, pricing: {prompt_per_1m: 1}, backend_refs: [{endpoint: "127.0.0.1:${native.port}"}]}
    - {name: gpt, provider_model_id: gpt-x, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${client.port}"}]}
    - {name: gpt_2, provider_model_id: gpt-y, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${native.port}"}]}
    - {name: chat, backend_refs: [{endpoint: "127.0.0.1:${chat.port}"}]}
routing:
  signals:
    keywords: [${Object.keys(decisions).map((name) => `{name: ${name}, keywords: [${name}]}`).join(", ")}]
  decisions:${Object.entries(decisions).map(([name, models]) => decision(name, ...models)).join("")}
global:
  spending: {}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const events = (list) => ({ events: list.map(([type, more]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`) });
const usage = { input_tokens: 11, output_tokens: 3 };

/// Requests in bytes that no writer would produce again, and replies that call a tool.
const apis = {
  messages: {
    path: "/v1/messages",
    models: ["claude-x", "claude-y"],
    request: (text, stream) => `{ "model" : "auto","max_tokens":100, "unheard_of": 12345678901234567890123,${stream ? ' "stream" : true,' : ""}
 "system":[{"type":"text","text":"Be\\u0020brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
 "tools":[{"name":"f","input_schema":{"type":"object"}}], "messages":[{"role":"user","content":"${text} for ann@example.org"}] }`,
    whole: (text) => ({ id: "msg_1", type: "message", role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "c2ln" }, { type: "text", text }, { type: "tool_use", id: "t", name: "f", input: { n: 1 } }], stop_reason: "tool_use", usage }),
    stream: (text) =>
      events([
        ["message_start", { message: { id: "msg_1", type: "message", role: "assistant", content: [], usage } }],
        ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
        ...text.split(/(?= )/).map((part) => ["content_block_delta", { index: 0, delta: { type: "text_delta", text: part } }]),
        ["content_block_stop", { index: 0 }],
        ["content_block_start", { index: 1, content_block: { type: "tool_use", id: "t", name: "f", input: {} } }],
        ["content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: '{"n":' } }],
        ["content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: "1}" } }],
        ["content_block_stop", { index: 1 }],
        ["message_delta", { delta: { stop_reason: "tool_use" }, usage }],
        ["message_stop", {}],
      ]),
    bound: '"container":"c_1",',
  },
  responses: {
    path: "/v1/responses",
    models: ["gpt-x", "gpt-y"],
    request: (text, stream, more = "") => `{ "model":"auto",${more}${stream ? ' "stream" : true,' : ""} "instructions":"Be\\u0020brief.", "input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Z2g="},
 {"role":"user","content":"${text} for ann@example.org"}],"store":false,"unheard_of":12345678901234567890123 }`,
    whole: (text) => ({ id: "resp_1", object: "response", status: "completed", output: [{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }, { type: "function_call", id: "fc", call_id: "t", name: "f", arguments: '{"n":1}' }], usage }),
    stream: (text) => {
      const response = apis.responses.whole(text);
      return events([
        ["response.created", { response: { ...response, status: "in_progress", output: [] } }],
        ...text.split(/(?= )/).map((delta) => ["response.output_text.delta", { output_index: 0, content_index: 0, delta }]),
        ...response.output.map((item, output_index) => ["response.output_item.done", { output_index, item }]),
        ["response.completed", { response }],
      ]);
    },
    bound: '"previous_response_id":"resp_of_the_server",',
  },
};

before(async () => {
  [client, native, chat] = await Promise.all([1, 2, 3].map(() => ScriptedUpstream.start()));
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await Promise.all([client, native, chat].map((each) => each?.stop()));
});

async function post(path, body) {
  const reply = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json", "x-api-key": "secret" }, body });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return text;
}

async function shadows(decision, outcome) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  return Number(text.match(new RegExp(`^signalbox_shadow_total\\{decision="${decision}",model="[^"]*",outcome="${outcome}"\\} (.*)$`, "m"))?.[1] ?? 0);
}
const seen = (decision, outcome, count = 1) => until(async () => (await shadows(decision, outcome)) >= count);

for (const [name, api] of Object.entries(apis)) {
  test(`${name}: a shadow's server of the same API gets the client's bytes`, async () => {
    for (const [i, stream] of [false, true].entries()) {
      client.answer = () => (stream ? api.stream(kSame) : { body: api.whole(kSame) });
      native.answer = () => ({ body: api.whole(kSame) });
      await post(api.path, api.request(`${name}_native`, stream));
      await seen(`${name}_native`, "agreed", i + 1);
      const masked = (model) => api.request(`${name}_native`, stream).replace('"auto"', `"${model}"`).replace("ann@example.org", "[EMAIL_ADDRESS_1]");
      assert.equal(client.body, masked(api.models[0]));
      assert.equal(native.body, masked(api.models[1]).replace(' "stream" : true,', ""));
      assert.equal(native.path, api.path);
      assert.equal(native.headers["x-api-key"], undefined);
    }
    const { shadows } = await (await fetch(`${daemon.managementUrl}/api/v1/spending`)).json();
    const pair = shadows.find((each) => each.decision === `${name}_native`);
    assert.deepEqual([pair.pairs, pair.shadow_tokens], [2, 28], JSON.stringify(pair));
  });

  test(`${name}: answers of the same API differ`, async () => {
    client.answer = () => ({ body: api.whole(kSame) });
    native.answer = () => ({ body: api.whole(kOther) });
    await post(api.path, api.request(`${name}_native`));
    await seen(`${name}_native`, "not_compared"); // there is no model that compares
  });

  test(`${name}: a shadow's server of chats gets a translation`, async () => {
    client.answer = () => ({ body: api.whole(kSame) });
    const call = { id: "t", type: "function", function: { name: "f", arguments: '{"n":1}' } };
    chat.answer = () => completion({ content: kSame, tool_calls: [call] }, "tool_calls");
    await post(api.path, api.request(`${name}_chat`));
    await seen(`${name}_chat`, "agreed");
    assert.equal(chat.path, "/v1/chat/completions");
    assert.match(chat.received.messages.at(-1).content, /\[EMAIL_ADDRESS_1\]/);
  });

  test(`${name}: a request that only its server knows all of has no shadow`, async () => {
    client.answer = () => ({ body: api.whole(kSame) });
    let called = 0;
    native.answer = chat.answer = () => ((called += 1), { body: api.whole(kSame) });
    for (const arm of ["native", "chat"]) {
      await post(api.path, api.request(`${name}_${arm}`).replace('"model"', `${api.bound}"model"`));
      await seen(`${name}_${arm}`, "other_api");
    }
    assert.equal(called, 0);
  });
}

test("a message whose own server has chats has a shadow at a server of messages", async () => {
  chat.answer = () => completion({ content: "Yes." });
  native.answer = () => ({ body: { ...apis.messages.whole(""), content: [{ type: "text", text: "Yes." }] } });
  await post("/v1/messages", apis.messages.request("chat_native"));
  await seen("chat_native", "agreed");
  assert.equal(native.path, "/v1/messages");
  assert.match(native.body, /"cache_control":\{"type":"ephemeral","ttl":"1h"\}/);
});
