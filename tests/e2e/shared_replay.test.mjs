// Tests records of requests that two routers share over a real Redis, which is killed, stopped or full meanwhile.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon, metric, settled, withDaemon } from "./daemon.mjs";
import { Redis, kTroubles } from "./redis.mjs";
import { idsOf, list, manage, say } from "./replays.mjs";
import { startShared, stopShared } from "./shared_redis.mjs";
import { until } from "./until.mjs";
import { completion } from "./upstream.mjs";

const kSkip = Redis.missing();
const kRedisSeconds = 30; // so long that a request that waits for Redis cannot be confused with a slow machine
let folder, upstream, redis;
const daemons = [];

const configuration = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  signals:
    keywords:
      - {name: help, keywords: [help]}
  decisions:
    - name: support
      rules: {type: keyword, name: help}
      modelRefs: [{model: scripted}]
      plugins: [{type: router_replay, configuration: {capture_request_body: true}}]
global:
  router:
    learning: {enabled: true, adaptation: {enabled: true}}
  services:
    router_replay: {enabled: true, store_backend: redis, ttl_seconds: 600, max_records: 50, redis: {address: "127.0.0.1:${redis.port}", dial_timeout: ${kRedisSeconds}, read_timeout: ${kRedisSeconds}, write_timeout: ${kRedisSeconds}}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const works = (daemon, value) => until(async () => (await metric(daemon, "signalbox_shared_replay_works")) === value, `works ${value}`);
const dropped = async (daemon) => (await metric(daemon, 'signalbox_shared_replay_total{result="dropped"}')) || 0;

const has = (daemon, id) => until(async () => (await idsOf(daemon))?.includes(id), `the record at ${daemon.url}`);

before(async () => {
  if (kSkip) return;
  ({ folder, redis, upstream } = await startShared());
  upstream.answer = () => completion({ content: "Fine." });
  for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration));
});

after(() => kSkip || stopShared({ folder, redis, upstreams: [upstream], daemons }));

test("the other router lists, shows and rates what one has recorded", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  const plain = await say(one, "ada", "hello");
  await settled(one);
  const captured = await say(one, "ada", "help me, zebra");
  await has(other, captured);
  assert.deepEqual(await idsOf(other, "?user=ada"), [captured, plain]);
  assert.deepEqual(await idsOf(other, "?user=ada&decision=support"), [captured]);
  assert.equal((await list(other, "?user=ada&limit=1")).body.total, 2);
  assert.ok(!JSON.stringify((await list(other)).body).includes("zebra"));
  const outcome = await manage(other, "POST", "/v1/router/outcomes", { replay_id: captured, verdict: "underpowered" });
  assert.deepEqual([outcome.status, outcome.body.recorded], [200, true], JSON.stringify(outcome.body));
  const { status, body } = await manage(one, "GET", `/v1/router_replay/${captured}`);
  assert.equal(status, 200);
  assert.match(body.request_body, /help me, zebra/);
  assert.equal(body.outcomes[0].verdict, "underpowered");
  assert.equal((await manage(one, "GET", "/v1/router_replay/replay-0000000000000000")).status, 404);
});

test("a router that starts again finds its records, and what was deleted stays so", { skip: kSkip }, async () => {
  const third = await Daemon.start(configuration);
  const ids = [await say(third, "eve", "one"), await say(third, "bob", "two")];
  for (const id of ids) await has(daemons[0], id);
  await third.stop();
  const { status, body } = await manage(daemons[1], "DELETE", "/v1/router_replay?user=eve");
  assert.deepEqual([status, body.deleted], [200, 1]);
  const again = await Daemon.start(configuration);
  try {
    assert.deepEqual(await idsOf(again, "?user=bob"), [ids[1]]);
    assert.deepEqual(await idsOf(again, "?user=eve"), []);
  } finally {
    await again.stop();
  }
});

test("a record that was written survives kill -9 of its router", { skip: kSkip }, async () => {
  for (let i = 0; i < 3; ++i) {
    await withDaemon(configuration, async (third) => {
      const id = await say(third, "kim", "hello");
      await until(async () => (await metric(third, 'signalbox_shared_replay_total{result="written"}')) === 1, "the record to be written");
      third.process.kill("SIGKILL");
      await has(daemons[1], id);
    });
  }
});

test("Redis has no names of users in its keys, and all of them expire", { skip: kSkip }, async () => {
  await has(daemons[0], await say(daemons[0], "zelda-the-user", "hello"));
  const keys = (await redis.ask("KEYS", "signalbox:replay:*")).split("\r\n").filter((line) => line.startsWith("signalbox:"));
  assert.ok(keys.length > 3);
  assert.ok(!keys.some((key) => key.includes("zelda")));
  for (const key of keys) assert.match(await redis.ask("PTTL", key), /^:\d+/, key);
});

for (const [name, trouble] of Object.entries(kTroubles)) {
  test(`while Redis is ${name}, requests are served, and their records wait`, { skip: kSkip }, async () => {
    const [one, other] = daemons;
    const before = await dropped(one), during = [];
    await trouble.begin(redis);
    try {
      await say(one, "tom", "during"); // this one may wait for Redis
      await works(one, 0);
      const began = Date.now();
      for (let i = 0; i < 20; ++i) during.push(await say(one, "tom", "during"));
      assert.ok(Date.now() - began < kRedisSeconds * 1000, "requests wait for Redis");
      await until(async () => (await metric(one, "signalbox_shared_replay_waiting")) >= 20, "the records to wait");
      if (name !== "full") {
        for (const [method, path] of [["GET", ""], ["GET", "/replay-0000000000000000"], ["DELETE", "?all=true"]]) {
          const { status, body } = await manage(one, method, `/v1/router_replay${path}`);
          assert.deepEqual([status, body.error.code], [503, "SERVICE_UNAVAILABLE"], `${method} ${path}`);
          assert.match(body.error.message, /the store of records, which routers share, does not respond/);
          assert.doesNotMatch(body.error.message, /127\.0|redis/);
        }
        const outcome = await manage(one, "POST", "/v1/router/outcomes", { replay_id: "replay-0000000000000000", verdict: "failed" });
        assert.equal(outcome.status, 503);
      }
    } finally {
      await trouble.end(redis);
    }
    await works(other, 1);
    await works(one, 1); // because it has written a record
    const id = await say(one, "tom", "after");
    await has(other, id);
    for (const waited of during) await has(other, waited);
    assert.equal((await manage(other, "GET", `/v1/router_replay/${during[0]}`)).status, 200);
    assert.equal(await dropped(one), before);
    await until(() => /router_replay: redis 127.*new records wait/.test(one.log), "the log line");
  });
}

test("the number of records is bounded for all routers together", { skip: kSkip }, async () => {
  for (let i = 0; i < 40; ++i) await Promise.all(daemons.map((daemon) => say(daemon, "max", "hello")));
  const last = await say(daemons[0], "max", "hello");
  await has(daemons[1], last);
  await until(async () => (await list(daemons[1])).body.total === 50, "fifty records");
  await until(async () => (await metric(daemons[1], "signalbox_replay_records")) === 50, "the metric");
});
