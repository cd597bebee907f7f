// Tests that two routers learn together over a real Redis: a conversation keeps its model at both, outcomes that one gets
// move the choice of both, and a restart forgets nothing.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon, metric } from "./daemon.mjs";
import { Redis, kTroubles } from "./redis.mjs";
import { startShared, stopShared } from "./shared_redis.mjs";
import { until } from "./until.mjs";
import { completion } from "./upstream.mjs";

const kSkip = Redis.missing();
const kRedisMs = 20_000; // so long that a request that waits for Redis cannot be confused with a slow machine
let folder, upstream, redis;
const daemons = [];

const configuration = (strategy, replay = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
${["small", "large"].map((name) => `    - {name: ${name}, backend_refs: [{name: ${name}, endpoint: "127.0.0.1:${upstream.port}"}]}`).join("\n")}
routing:
  signals:
    keywords:
${["first", "second", "third", "fourth"].map((name) => `      - {name: ${name}, keywords: [${name}]}`).join("\n")}
  decisions:
${["first", "second", "third", "fourth"].map((name) => `    - {name: ${name}, rules: {type: keyword, name: ${name}}, modelRefs: [{model: small}, {model: large}]}`).join("\n")}
global:
  router:
    learning:
      enabled: true
      adaptation: {enabled: true${strategy}}
      state_store: {backend: redis, timeout_ms: ${kRedisMs}, redis: {address: "127.0.0.1:${redis.port}"}}
  services:
    router_replay: {enabled: true${replay}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

/// Returns the model that answered, why, and the id of the record.
async function say(daemon, conversation, text) {
  const client = new OpenAI({ apiKey: "key", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { "x-conversation-id": conversation, "x-vsr-debug": "true" } });
  const { response } = await client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: text }] }).withResponse();
  return { model: response.headers.get("x-vsr-selected-model"), id: response.headers.get("x-vsr-replay-id") };
}

let outcomes = 0;
async function report(daemon, id, verdict, key = `outcome-${++outcomes}`) {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const body = JSON.stringify({ replay_id: id, verdict });
  const post = () => fetch(`${daemon.managementUrl}/v1/router/outcomes`, { method: "POST", headers, body }).then((answer) => answer.status);
  await until(async () => (await post()) === 200, "the outcome to be taken"); // the record is complete a moment after the reply
}
const scores = async (daemon) => (await (await fetch(`${daemon.managementUrl}/v1/router/outcomes`)).json()).models;
const failures = async (daemon, decision) => (await scores(daemon)).find((line) => line.decision.endsWith(decision))?.failed ?? 0;
const works = (daemon, value) => until(async () => (await metric(daemon, "signalbox_shared_learning_works")) === value, `works ${value}`);
const settled = (daemon) => until(async () => (await metric(daemon, "signalbox_shared_learning_waiting")) === 0, "everything to be written");

before(async () => {
  if (kSkip) return;
  ({ folder, redis, upstream } = await startShared());
  upstream.answer = () => completion({ content: "Fine." });
  for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration("")));
});

after(() => kSkip || stopShared({ folder, redis, upstreams: [upstream], daemons }));

/// One bad verdict makes "large" the choice for new conversations, and is too little to move one that has begun.
async function learnsTogether(one, other, decision) {
  const begun = await say(one, `${decision}-begun`, decision);
  assert.equal(begun.model, "small");
  await report(one, begun.id, "failed");
  await until(async () => (await failures(other, decision)) === 1, "the verdict to arrive");
  await settled(one);
  await until(async () => (await say(other, `${decision}-${Math.random()}`, decision)).model === "large", "the outcome to move the choice");
  assert.equal((await say(other, `${decision}-begun`, `${decision} again`)).model, "small");
}

test("the other router knows conversations and outcomes", { skip: kSkip }, async () => {
  await learnsTogether(...daemons, "first");
});

test("a router that starts again has forgotten nothing", { skip: kSkip }, async () => {
  await Promise.all(daemons.map(settled));
  const third = await Daemon.start(configuration(""));
  try {
    await until(async () => (await failures(third, "first")) === 1, "the verdict");
    assert.equal((await say(third, "first-begun", "first again")).model, "small");
    assert.equal((await say(third, "first-new", "first")).model, "large");
  } finally {
    await third.stop();
  }
});

test("what linucb learns of requests is shared, and a restart keeps it", { skip: kSkip }, async () => {
  const start = () => Daemon.start(configuration(", strategy: linucb"));
  const explained = async (daemon) => {
    const answer = await fetch(`${daemon.managementUrl}/api/v1/explain`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "fourth" }),
    });
    return (await answer.json()).plan.learning.scores.map(({ with_features, expected }) => [with_features, expected]);
  };
  const one = await start();
  let third;
  try {
    const { model, id } = await say(one, "fourth", "fourth");
    assert.equal(model, "small");
    await report(one, id, "failed");
    await settled(one);
    third = await start();
    await until(async () => (await explained(third))[0][0] === 1, "the verdict with its features");
    assert.deepEqual(await explained(third), await explained(one));
    assert.ok((await explained(third))[0][1] < 0.5);
    assert.equal((await say(third, "fourth-new", "fourth")).model, "large");
  } finally {
    await one.stop();
    await third?.stop();
  }
});

for (const [name, decision] of [["killed", "second"], ["stopped", "third"]]) {
  test(`while Redis is ${name}, each router learns by itself, and shares it afterwards`, { skip: kSkip }, async () => {
    const [one, other] = daemons;
    await kTroubles[name].begin(redis);
    try {
      await works(one, 0);
      const began = Date.now();
      const begun = await say(one, `${decision}-begun`, decision);
      assert.equal(begun.model, "small");
      await report(one, begun.id, "failed");
      assert.equal((await say(one, `${decision}-new`, decision)).model, "large");
      assert.equal((await say(one, `${decision}-begun`, decision)).model, "small");
      assert.ok(Date.now() - began < kRedisMs, "requests wait for Redis");
      assert.equal(await failures(other, decision), 0);
    } finally {
      await kTroubles[name].end(redis);
    }
    for (const daemon of daemons) await works(daemon, 1);
    await until(async () => (await failures(other, decision)) === 1, "the verdict to arrive");
    await Promise.all(daemons.map(settled));
    assert.equal((await say(other, `${decision}-begun`, decision)).model, "small");
    assert.equal((await say(other, `${decision}-other`, decision)).model, "large");
    assert.equal(await failures(one, "first"), 1, "what was known before");
  });
}

test("an outcome that is repeated at another router counts once", { skip: kSkip }, async () => {
  const start = () => Daemon.start(configuration("", `, store_backend: redis, redis: {address: "127.0.0.1:${redis.port}"}`));
  const one = await start();
  const other = await start();
  try {
    const { id } = await say(one, "repeated", "first");
    const counts = async (daemon) => JSON.stringify(await scores(daemon));
    await report(one, id, "failed", "repeated");
    const counted = await counts(one);
    await until(async () => (await counts(other)) === counted, "the verdict to arrive");
    await report(other, id, "failed", "repeated");
    await settled(other);
    await until(async () => (await counts(other)) === counted, "the repetition not to count");
    assert.equal(await counts(one), counted);
  } finally {
    await one.stop();
    await other.stop();
  }
});
