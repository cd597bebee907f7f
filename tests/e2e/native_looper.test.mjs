// Tests algorithms that call several models for a message or a response, whose servers all have the client's API: the
// calls that may answer have the client's bytes, and the client gets the reply as its server wrote it.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kVerified = "{type: confidence, confidence: {confidence_method: self_verify, escalation_order: declared, threshold: 0.7}}";

let small, large, chat, daemon, grade;

const decision = (name, models, more = "") =>
  `    - {name: ${name}, rules: {type: keyword, name: ${name}}, modelRefs: [${models.map((model) => `{model: ${model}}`).join(", ")}], algorithm: ${kVerified}${more}}`;
const kMasked = ", plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]";

const kBare = ", plugins: [{type: tools, configuration: {mode: none, strip_tool_history: true}}]";
const kCached = ", plugins: [{type: prompt_cache, configuration: {enabled: true, on_unsupported: reject}}]";

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: claude}
  models:
    - {name: claude, provider_model_id: claude-s, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${small.port}"}]}
    - {name: claude_2, provider_model_id: claude-l, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${large.port}"}]}
    - {name: gpt, provider_model_id: gpt-s, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${small.port}"}]}
    - {name: gpt_2, provider_model_id: gpt-l, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${large.port}"}]}
    - {name: chat, backend_refs: [{endpoint: "127.0.0.1:${chat.port}"}]}
routing:
  signals:
    keywords: [${["messages", "responses", "mixed", "bare", "cached"].map((name) => `{name: ${name}, keywords: [${name}]}`).join(", ")}]
  decisions:
${decision("messages", ["claude", "claude_2"], kMasked)}
${decision("responses", ["gpt", "gpt_2"], kMasked)}
${decision("mixed", ["claude", "chat"])}
${decision("bare", ["gpt", "gpt_2"], kBare)}
${decision("cached", ["gpt", "gpt_2"], kCached)}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

before(async () => {
  [small, large, chat] = await Promise.all([1, 2, 3].map(() => ScriptedUpstream.start()));
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await Promise.all([small, large, chat].map((each) => each?.stop()));
});

const apis = {
  messages: {
    path: "/v1/messages",
    models: ["claude-s", "claude-l"],
    request: (stream = "") => `{ "model" : "auto","max_tokens":100, "unheard_of": 12345678901234567890123,${stream}
 "system":[{"type":"text","text":"Be\\u0020brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
 "messages":[{"role":"user","content":"messages for ann@example.org"}] }`,
    whole: (text) => `{ "id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"${text}","citations":[]}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"cache_read_input_tokens":7,"output_tokens":3} }`,
    read: async (body) => {
      const client = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
      const { content } = await client.messages.stream(body).finalMessage();
      assert.equal(content[0].signature, "c2ln");
      return content[1].text;
    },
    // The router asks for a grade in a chat, which becomes a message.
    asksForGrade: ({ messages }) => JSON.stringify(messages).includes("Judge how likely"),
    graded: (text) => ({ body: JSON.parse(apis.messages.whole(text)) }),
    broken: [['"type":"message"', '"type":"other"']],
  },
  responses: {
    path: "/v1/responses",
    models: ["gpt-s", "gpt-l"],
    request: (stream = "") => `{ "model":"auto",${stream} "instructions":"Be\\u0020brief.", "input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Z2g="},
 {"role":"user","content":"responses for ann@example.org"}],"unheard_of":12345678901234567890123 }`,
    whole: (text) => `{ "id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"Z2g="},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"${text}","annotations":[]}]}],"usage":{"input_tokens":18,"output_tokens":3,"total_tokens":21} }`,
    read: async (body) => {
      const client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
      const response = await client.responses.stream(body).finalResponse();
      assert.equal(response.output[0].encrypted_content, "Z2g=");
      return response.output_text;
    },
    asksForGrade: ({ messages }) => messages !== undefined,
    graded: (text) => completion({ content: text }),
    broken: ["failed", "queued"].map((status) => ['"completed"', `"${status}"`]).concat([['"status":"completed",', ""]]),
  },
};

beforeEach(() => (grade = 0.9));

async function post(path, body) {
  const reply = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });
  return { status: reply.status, headers: reply.headers, body: await reply.text() };
}

for (const [name, api] of Object.entries(apis)) {
  const sent = [];
  const answers = (server, text) => (received) => {
    if (api.asksForGrade(received)) return api.graded(`{\\"confidence\\": ${grade}}`);
    sent.push([server.path, server.body]);
    return { body: api.whole(text) };
  };
  const masked = (text, model) => text.replace('"auto"', `"${model}"`).replace("ann@example.org", "[EMAIL_ADDRESS_1]");

  for (const [verdict, wanted] of [[0.9, "small"], [0.1, "large"]]) {
    test(`${name}: the answer of the ${wanted} model is the server's bytes`, async () => {
      grade = verdict;
      sent.length = 0;
      small.answer = answers(small, "From small to [EMAIL_ADDRESS_1].");
      large.answer = answers(large, "From large to [EMAIL_ADDRESS_1].");
      const { status, headers, body } = await post(api.path, api.request());
      assert.equal(status, 200, body);
      assert.equal(body, api.whole(`From ${wanted} to ann@example.org.`));
      assert.equal(headers.get("x-vsr-dropped"), null);
      const calls = wanted === "small" ? api.models.slice(0, 1) : api.models;
      assert.deepEqual(sent, calls.map((model) => [api.path, masked(api.request(), model)]));
    });
  }

  test(`${name}: a stream of an answer that came whole, and one that the last server streams`, async () => {
    small.answer = answers(small, "From small.");
    const request = JSON.parse(api.request());
    assert.equal(await api.read(request), "From small.");
    assert.equal(JSON.parse(sent.at(-1)[1]).stream, undefined);
    grade = 0.1;
    large.answer = answers(large, "From large.");
    assert.equal(await api.read(request), "From large.");
    assert.equal(JSON.parse(sent.at(-1)[1]).stream, true);
  });

  test(`${name}: a reply that is no answer replaces no earlier one`, async () => {
    grade = 0.1;
    small.answer = answers(small, "From small.");
    for (const broken of api.broken) {
      large.answer = () => ({ body: api.whole("From large.").replace(...broken) });
      const { body } = await post(api.path, api.request());
      assert.equal(body, api.whole("From small."), broken);
    }
  });
}

test("a request that only one server knows all of does not go to several as it is", async () => {
  let called = 0;
  small.answer = large.answer = () => ((called += 1), completion({ content: '{"confidence": 0.9}' }));
  const unknown = await post("/v1/responses", JSON.stringify({ model: "auto", input: "responses", previous_response_id: "resp_of_small" }));
  assert.equal(unknown.status, 400, unknown.body);
  assert.match(JSON.parse(unknown.body).error.message, /there is no response/);
  assert.equal(called, 0);
  const { status, headers, body } = await post("/v1/responses", JSON.stringify({ model: "auto", input: "responses", background: true }));
  assert.equal(status, 200, body);
  assert.equal(headers.get("x-vsr-dropped"), "background");
  assert.equal(small.path, "/v1/chat/completions");
});

test("a grade is requested although a chat lacks a part of the request", async () => {
  const paths = [];
  const answers = (name) => (received) => {
    if (apis.messages.asksForGrade(received)) return apis.messages.graded('{\\"confidence\\": 0.9}');
    paths.push(name);
    return { body: apis.messages.whole(`From ${name}.`) };
  };
  small.answer = answers("small");
  large.answer = answers("large");
  const { status, body } = await post("/v1/messages", apis.messages.request(' "inference_geo":"us",'));
  assert.deepEqual([status, body, paths], [200, apis.messages.whole("From small."), ["small"]]);
});

test("a decision that strips the history of tools sends chats, and the reply names what they lack", async () => {
  small.answer = () => completion({ content: '{"confidence": 0.9}' });
  const { status, headers, body } = await post("/v1/responses", JSON.stringify({ model: "auto", input: "bare", tools: [{ type: "web_search" }] }));
  assert.equal(status, 200, body);
  assert.equal(headers.get("x-vsr-dropped"), "tools.web_search");
  assert.equal(small.path, "/v1/chat/completions");
});

test("prompt_cache may refuse a request whose servers do not have Anthropic's API", async () => {
  const { status, body } = await post("/v1/responses", JSON.stringify({ model: "auto", input: "cached" }));
  assert.equal(status, 501);
  assert.match(JSON.parse(body).error.message, /^prompt_cache_target_unsupported: /);
});

test("a decision with a model of another API sends chats, as before", async () => {
  grade = 0.1;
  small.answer = (received) => (apis.messages.asksForGrade(received) ? apis.messages.graded('{\\"confidence\\": 0.1}') : { body: apis.messages.whole("From small.") });
  chat.answer = () => completion({ content: "From chat." });
  const { body } = await post("/v1/messages", apis.messages.request().replace("messages for", "mixed for"));
  assert.equal(JSON.parse(body).content.at(-1).text, "From chat.");
  assert.equal(chat.path, "/v1/chat/completions");
});
