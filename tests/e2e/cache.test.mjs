// Tests cached answers with the official client, both whole replies and streams.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { RepeatingUpstream } from "./upstream.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: repeat}
  models:
    - {name: repeat, backend_refs: [{name: repeat, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  decisions:
    - name: kept
      modelRefs: [{model: repeat}]
      plugins:
        - {type: response_cache, configuration: {mode: exact, request_controls: {enabled: true}}}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, client;

before(async () => {
  upstream = await RepeatingUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const requestOf = (text, more = {}) => ({ model: "auto", messages: [{ role: "user", content: text }], ...more });

async function streamed(text) {
  const { data, response } = await client.chat.completions.create(requestOf(text, { stream: true })).withResponse();
  let content = "";
  let call = "";
  let reason = null;
  for await (const chunk of data) {
    const choice = chunk.choices[0];
    content += choice.delta.content ?? "";
    call += choice.delta.tool_calls?.[0]?.function.arguments ?? "";
    reason = choice.finish_reason ?? reason;
  }
  return { content, call, reason, hit: response.headers.get("x-vsr-cache-hit") };
}

test("an answer that came whole is returned whole and as a stream", async () => {
  const first = await client.chat.completions.create(requestOf("Good morning")).withResponse();
  assert.equal(first.response.headers.get("x-vsr-cache-hit"), null);
  const again = await client.chat.completions.create(requestOf("Good morning")).withResponse();
  assert.equal(again.response.headers.get("x-vsr-cache-hit"), "true");
  assert.equal(again.response.headers.get("x-vsr-response-path"), "cache");
  assert.deepEqual(again.data, first.data);
  const stream = await streamed("Good morning");
  assert.equal(stream.hit, "true");
  assert.equal(stream.content, "Good morning");
  assert.deepEqual(JSON.parse(stream.call), { text: "Good morning" });
});

test("an answer that streamed is returned as a stream and whole, calls of tools included", async () => {
  const first = await streamed("Streams \"again\" \u00e9");
  const again = await streamed("Streams \"again\" \u00e9");
  assert.equal(first.hit, null);
  assert.deepEqual(again, { ...first, hit: "true" });
  assert.equal(again.reason, "tool_calls");
  const { data } = await client.chat.completions.create(requestOf("Streams \"again\" \u00e9")).withResponse();
  assert.equal(data.choices[0].message.content, first.content);
  assert.equal(data.choices[0].message.tool_calls[0].function.arguments, first.call);
});

test("a false hit can be deleted, and a client can bypass the cache", async () => {
  await client.chat.completions.create(requestOf("Wrong"));
  const { response } = await client.chat.completions.create(requestOf("Wrong")).withResponse();
  const entry = response.headers.get("x-vsr-cache-entry");
  const deleted = await fetch(`${daemon.managementUrl}/api/v1/response-cache/entries/${entry}`, { method: "DELETE" });
  assert.deepEqual(await deleted.json(), { deleted: 1 });
  const hit = async (headers) => {
    const { response: got } = await client.chat.completions.create(requestOf("Wrong"), { headers }).withResponse();
    return got.headers.get("x-vsr-cache-hit");
  };
  assert.equal(await hit({}), null);
  assert.equal(await hit({ "x-vsr-cache-control": "no-cache" }), null);
  assert.equal(await hit({}), "true");
});
