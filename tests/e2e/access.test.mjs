// Tests access and rate limits for users that identity headers name. Official clients must understand the refusals.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts, settled } from "./daemon.mjs";
import { until } from "./until.mjs";

// A server that counts tokens as Anthropic's does.
const counter = createServer((request, reply) => {
  request.resume().on("end", () => {
    reply.setHeader("content-type", "application/json");
    reply.end('{"input_tokens": 7}');
  });
});

const configuration = (closed) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{name: echo, type: echo}]}
    - {name: large, backend_refs: [{name: echo, type: echo}]}
    - {name: dead, reliability: {fallback_models: [large]}, backend_refs: [{name: dead, endpoint: "127.0.0.1:${closed}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${counter.address().port}"}]}
routing:
  signals:
    role_bindings:
      - {name: operators, role: operator, subjects: [{kind: Group, name: ops}]}
  decisions:
    - name: operators
      priority: 1
      rules: {type: authz, name: operator}
      modelRefs: [{model: large}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    authz: {fail_open: false}
    ratelimit:
      providers:
        - type: local-limiter
          rules:
            - {name: small-per-hour, match: {model: small}, requests_per_unit: 2, unit: hour}
            - {name: claude-per-hour, match: {model: claude}, requests_per_unit: 1, unit: hour}
            - {name: large-per-hour, match: {model: large}, tokens_per_unit: 1, unit: hour}
`;

let daemon;

before(async () => {
  await new Promise((done) => counter.listen(0, "127.0.0.1", done));
  const [closed] = await freePorts(1);
  daemon = await Daemon.start(configuration(closed));
});

after(async () => {
  await daemon?.stop();
  counter.close();
});

const as = (headers) =>
  new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: headers });
const ask = (client) => client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Hello" }] });

test("a request without a user or group is refused", async () => {
  await assert.rejects(
    ask(as({})),
    (error) =>
      error.status === 403 && error.code === "missing_identity" && /neither x-authz-user-id nor x-authz-user-groups/.test(error.message),
  );
});

test("the decision of a role selects the model", async () => {
  const reply = await ask(as({ "x-authz-user-id": "olga", "x-authz-user-groups": "dev, ops" }));
  assert.equal(reply.model, "large");
});

test("a user over the limit gets the time to retry, and other users are not limited", async () => {
  const ann = as({ "x-authz-user-id": "ann" });
  for (let i = 0; i < 2; ++i) assert.equal((await ask(ann)).model, "small");
  const isHalfAnHour = (seconds) => seconds > 1700 && seconds <= 1800; // since the first request, which has used one of two
  await assert.rejects(
    ask(ann),
    (error) =>
      error instanceof OpenAI.RateLimitError &&
      error.code === "rate_limited" &&
      isHalfAnHour(Number(error.headers.get("retry-after"))) &&
      error.headers.get("x-vsr-response-path") === "rate_limited" &&
      error.headers.get("x-vsr-selected-model") === "small" &&
      /2 requests an hour/.test(error.message),
  );
  assert.equal((await ask(as({ "x-authz-user-id": "bob" }))).model, "small");
});

test("tokens of prompts and answers count, those of streams too", async () => {
  const olga = as({ "x-authz-user-id": "olga-streams", "x-authz-user-groups": "ops" });
  const stream = await olga.chat.completions.create({
    model: "auto",
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "Hello" }],
  });
  for await (const piece of stream) assert.ok(piece);
  await settled(daemon);
  await assert.rejects(ask(olga), (error) => error.status === 429 && /tokens/.test(error.message));
});

test("tokens of streams count, also without usage or if the client leaves", async () => {
  for (const [user, leaves] of [["silent", false], ["leaver", true]]) {
    const client = as({ "x-authz-user-id": user, "x-authz-user-groups": "ops" });
    const stream = await client.chat.completions.create({
      model: "auto",
      stream: true,
      messages: [{ role: "user", content: "Hello there, and a few words more" }],
    });
    for await (const piece of stream) if (piece && leaves) break;
    await settled(daemon);
    await assert.rejects(ask(client), (error) => error.status === 429 && /tokens/.test(error.message), user);
  }
});

test("a fallback model has its own limit", async () => {
  const client = as({ "x-authz-user-id": "faye" });
  const say = () => client.chat.completions.create({ model: "dead", messages: [{ role: "user", content: "Hello" }] });
  assert.equal((await say()).model, "large");
  await settled(daemon);
  await assert.rejects(say(), (error) => error.status === 429 && /tokens/.test(error.message));
});

test("counting tokens needs a user and is limited, too", async () => {
  const count = (headers) =>
    new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0, defaultHeaders: headers }).messages.countTokens({
      model: "claude",
      messages: [{ role: "user", content: "Hello" }],
    });
  await assert.rejects(count({}), (error) => error.status === 403);
  assert.equal((await count({ "x-authz-user-id": "greta" })).input_tokens, 7);
  await assert.rejects(count({ "x-authz-user-id": "greta" }), (error) => error instanceof Anthropic.RateLimitError);
});

test("another API reports a rate limit in its own form", async () => {
  const headers = { "x-authz-user-id": "carl" };
  const client = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0, defaultHeaders: headers });
  const say = () => client.messages.create({ model: "auto", max_tokens: 10, messages: [{ role: "user", content: "Hello" }] });
  await say();
  await say();
  await assert.rejects(say(), (error) => error instanceof Anthropic.RateLimitError);
});

test("a changed configuration keeps the counts", async () => {
  const dora = as({ "x-authz-user-id": "dora" });
  await ask(dora);
  const changed = await fetch(`${daemon.managementUrl}/config/router`, {
    method: "PATCH",
    headers: { "content-type": "application/json", ...(await daemon.authorization()) },
    body: JSON.stringify({ routing: { strategy: "confidence" } }),
  });
  assert.equal(changed.status, 200, await changed.text());
  await ask(dora);
  await assert.rejects(ask(dora), (error) => error.status === 429);
});

test("refusals are counted by their reason", async () => {
  const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();
  await until(async () => /reason="rate_limited"/.test(await metrics()), "the reason in the metrics");
  await until(async () => /reason="missing_identity"/.test(await metrics()), "the reason in the metrics");
  await until(() => daemon.log.match(/"error":"missing_identity"/g)?.length === 2, "two log lines, of a chat and of a count");
});

test("with the ingress none, identity headers of a trusted address give no role", async () => {
  const file = configuration(1);
  const untrusting = await Daemon.start((...ports) => file(...ports).replace("{fail_open: false}", "{identity: {ingress: none}}"));
  try {
    const reply = await fetch(`${untrusting.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-authz-user-id": "olga", "x-authz-user-groups": "ops" },
      body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Hello" }] }),
    });
    assert.equal((await reply.json()).model, "small");
  } finally {
    await untrusting.stop();
  }
});
