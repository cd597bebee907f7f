// Tests the masking of personal data: the model server must receive placeholders, and the official client must receive
// the original values.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, withDaemon } from "./daemon.mjs";
import { RepeatingUpstream } from "./upstream.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: repeat}
  models:
    - {name: repeat, backend_refs: [{name: repeat, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords:
      - {name: names, keywords: [everyone]}
  decisions:
    - name: names
      priority: 2
      rules: {type: keyword, name: names}
      modelRefs: [{model: repeat}]
      plugins: [{type: pii_mask}]
    - name: masked
      priority: 1
      modelRefs: [{model: repeat}]
      plugins:
        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS, CREDIT_CARD, PRIVATE_KEY], on_error: refuse}}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const kKey = "-----BEGIN PRIVATE KEY-----\nMIIEvQ+/=\n-----END PRIVATE KEY-----";
const kText = `Mail ann@example.com and bob@example.com [1], then ann@example.com: 4111 1111 1111 1111. ${kKey} "[EMAIL`;
const kSent =
  'Mail [EMAIL_ADDRESS_1] and [EMAIL_ADDRESS_2] [1], then [EMAIL_ADDRESS_1]: [CREDIT_CARD_1]. [PRIVATE_KEY_1] "[EMAIL';

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

test("a completion goes out with placeholders and comes back with the originals", async () => {
  const data = await client.chat.completions.create(requestOf(kText));
  assert.equal(JSON.parse(upstream.body).messages[0].content, kSent);
  assert.equal(upstream.headers["accept-encoding"], "identity");
  const message = data.choices[0].message;
  assert.equal(message.content, kText);
  assert.equal(JSON.parse(message.tool_calls[0].function.arguments).text, kText);
});

test("a stream comes back with the originals although its deltas split the placeholders", async () => {
  const stream = client.chat.completions.stream(requestOf(kText, { stream: true }));
  const completion = await stream.finalChatCompletion();
  assert.equal(JSON.parse(upstream.body).messages[0].content, kSent);
  const message = completion.choices[0].message;
  assert.equal(message.content, kText);
  assert.equal(JSON.parse(message.tool_calls[0].function.arguments).text, kText);
});

test("members beside the messages go out with placeholders, and all other bytes stay", async () => {
  const request = (mail, name, card) =>
    `{"model": "MODEL",  "big": 12345678901234567890123, "suffix":"${mail}", "documents" : [{"text": "\\u0041 ${mail}", "card": ${card}}],` +
    ` "prediction": {"type": "content", "content": "${mail}"}, "user": "${mail}", "messages": [{"role": "user", "content": ` +
    `[{"type": "file", "file": {"filename": "${name}", "file_data": "${"QUJD".repeat(40)}"}}, {"type": "weird", "body": "${mail}"}]}, {"role": "user", "content": "Sort"}]}`;
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    body: request("ann@example.com", "bob@example.com", "4111111111111111").replace("MODEL", "auto"),
  });
  assert.equal(answer.status, 200, await answer.text());
  const sent = request("[EMAIL_ADDRESS_2]", "[EMAIL_ADDRESS_1]", '"[CREDIT_CARD_1]"').replace("MODEL", "repeat");
  assert.equal(upstream.body, sent.replace("\\u0041", "A"));
});

test("the suffix of a completion goes out with placeholders, too", async () => {
  const data = await client.completions.create({ model: "auto", prompt: "Mail ann@example.com", suffix: " or bob@example.com" });
  const { prompt, suffix } = JSON.parse(upstream.body);
  assert.deepEqual({ prompt, suffix }, { prompt: "Mail [EMAIL_ADDRESS_1]", suffix: " or [EMAIL_ADDRESS_2]" });
  assert.equal(data.choices[0].text, "Mail ann@example.com or bob@example.com");
});

test("without a model that finds names, a decision that masks all types refuses", async () => {
  upstream.body = undefined;
  const refused = client.chat.completions.create(requestOf("everyone: ann@example.com"));
  await assert.rejects(refused, (error) => error.status === 403 && !error.message.includes("ann@"));
  assert.equal(upstream.body, undefined);
});

test("a request that names its model is masked like others, in every API", async () => {
  const kPlain = "Mail ann@example.com, and ann@example.com again.";
  const kPlaced = "Mail [EMAIL_ADDRESS_1], and [EMAIL_ADDRESS_1] again.";
  const sent = () => JSON.parse(upstream.body).messages.at(-1).content;
  const chat = await client.chat.completions.create(requestOf(kPlain, { model: "repeat" }));
  assert.deepEqual([sent(), chat.choices[0].message.content], [kPlaced, kPlain]);
  const stream = client.chat.completions.stream(requestOf(kPlain, { model: "repeat", stream: true }));
  assert.deepEqual([(await stream.finalChatCompletion()).choices[0].message.content, sent()], [kPlain, kPlaced]);
  const response = await client.responses.create({ model: "repeat", input: kPlain });
  assert.deepEqual([sent(), response.output_text], [kPlaced, kPlain]);
  const anthropic = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
  const request = { model: "repeat", max_tokens: 99, messages: [{ role: "user", content: kPlain }] };
  const message = await anthropic.messages.stream(request).finalMessage();
  assert.deepEqual([sent(), message.content[0].text, message.content[1].input.text], [kPlaced, kPlain, kPlain]);
});

test("a count is masked like the request that it stands for", async () => {
  const anthropic = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
  const count = (content) => anthropic.messages.countTokens({ model: "claude", messages: [{ role: "user", content }] });
  await count("Mail ann@example.com");
  assert.equal(JSON.parse(upstream.body).messages[0].content, "Mail [EMAIL_ADDRESS_1]");
  await count("Mail her");
  assert.equal(JSON.parse(upstream.body).messages[0].content, "Mail her");
});

test("the configuration may leave requests that name their model as they are", async () => {
  const without = (...ports) => configuration(upstream.port)(...ports).replace("global:", "global:\n  router: {masks_named_models: false}");
  await withDaemon(without, async (other) => {
    const direct = new OpenAI({ apiKey: "unused", baseURL: `${other.url}/v1`, maxRetries: 0 });
    await direct.chat.completions.create(requestOf("Mail ann@example.com", { model: "repeat" }));
    assert.equal(JSON.parse(upstream.body).messages[0].content, "Mail ann@example.com");
  });
});

test("the log of a daemon that masks holds no personal data", () => {
  assert.doesNotMatch(daemon.log, /ann@|4111|MIIEvQ/);
});
