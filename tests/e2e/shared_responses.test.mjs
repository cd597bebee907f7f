// Tests stored responses that two routers share over a real Redis, with OpenAI's own client.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon, freePorts, metric, withDaemon } from "./daemon.mjs";
import { Envoy, Processor } from "./envoy.mjs";
import { Redis, kTroubles } from "./redis.mjs";
import { startShared, stopShared } from "./shared_redis.mjs";
import { SlowLink } from "./slow_link.mjs";
import { until } from "./until.mjs";
import { completion, streamed } from "./upstream.mjs";

const kSkip = Redis.missing();
const kKills = Number(process.env.SIGNALBOX_KILLS ?? 5);

let folder, upstream, redis;
const daemons = [];

const configuration = (port, managementPort, { redisPort = redis.port, redisKeys = "" } = {}) => `
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
      - {name: secret, keywords: [forbidden]}
  decisions:
    - name: refused
      rules: {type: keyword, name: secret}
      modelRefs: [{model: scripted}]
      plugins: [{type: fast_response, configuration: {message: "I will not."}}]
global:
  services:
    response_api: {store_backend: redis, redis: {address: "127.0.0.1:${redisPort}"${redisKeys}}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const client = (daemon, apiKey = "key-1") => new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
const ask = (daemon, input, more = {}) => client(daemon).responses.create({ model: "auto", input, ...more });

/// Streams a response, and calls `completed` with it as soon as its last event has been read.
async function stream(daemon, input, more = {}, completed = () => {}) {
  let response;
  for await (const event of await ask(daemon, input, { stream: true, ...more })) {
    if (event.type !== "response.completed") continue;
    response = event.response;
    await completed(response);
  }
  return response;
}

const knowsTrouble = (daemon) => until(async () => (await metric(daemon, "signalbox_shared_responses_works")) === 0, "the trouble");
const isBack = (daemon) => until(async () => (await metric(daemon, "signalbox_shared_responses_works")) === 1 && (await metric(daemon, "signalbox_shared_responses_waiting")) === 0, "the end of the trouble");
const isMissing = (error) => error.status === 404;
// With these timeouts, a reply ends when Redis has its response, however busy the machine is.
const kPatient = ", read_timeout: 30, write_timeout: 30";
const patient = (...ports) => configuration(...ports, { redisKeys: kPatient });

before(async () => {
  if (kSkip) return;
  ({ folder, redis, upstream } = await startShared());
  upstream.answer = (received) => (received.stream ? streamed([{ content: "Fi" }, { content: "ne." }], "stop") : completion({ content: "Fine." }));
  for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration));
});

after(() => kSkip || stopShared({ folder, redis, upstreams: [upstream], daemons }));

const kConversation = ["One", "Fine.", "Two"];
const continued = () => upstream.received.messages.map(({ content }) => content);

test("the other router continues a response, whole or streamed, ours or a model's", { skip: kSkip }, async () => {
  for (const make of [ask, stream]) {
    const first = await make(daemons[0], "One");
    const second = await make(daemons[1], "Two", { previous_response_id: first.id });
    assert.deepEqual(continued(), kConversation);
    await make(daemons[0], "Three", { previous_response_id: second.id });
    assert.deepEqual(continued(), [...kConversation, "Fine.", "Three"]);
    const own = await make(daemons[0], "It is forbidden.");
    assert.equal(own.output[0].content[0].text, "I will not.");
    await make(daemons[1], "Two", { previous_response_id: own.id });
    assert.deepEqual(continued(), ["It is forbidden.", "I will not.", "Two"]);
    const item = first.output[0].id;
    await make(daemons[1], [{ type: "item_reference", id: item }, { role: "user", content: "Two" }]);
    assert.deepEqual(continued(), ["Fine.", "Two"]);
  }
});

test("the other router continues a stream whose last event has just been read", { skip: kSkip }, async () => {
  const answer = upstream.answer;
  let end;
  upstream.answer = (received) => ({ ...answer(received), ends: received.stream && new Promise((done) => (end = done)) });
  try {
    await withDaemon(patient, async (third) => {
      for (let i = 0; i < 20; ++i) {
        await stream(third, "One", {}, async ({ id }) => {
          await ask(daemons[i % 2], "Two", { previous_response_id: id }).finally(end);
          assert.deepEqual(continued(), kConversation);
        });
      }
    });
  } finally {
    upstream.answer = answer;
  }
});

test("the other router shows, lists and deletes a response, for all", { skip: kSkip }, async () => {
  const { id } = await ask(daemons[0], "One");
  assert.equal((await client(daemons[1]).responses.retrieve(id)).output[0].content[0].text, "Fine.");
  assert.equal((await client(daemons[1]).responses.inputItems.list(id)).data[0].content[0].text, "One");
  await client(daemons[1]).responses.delete(id);
  for (const daemon of daemons) {
    await assert.rejects(client(daemon).responses.retrieve(id), isMissing);
    await assert.rejects(ask(daemon, "Two", { previous_response_id: id }), (error) => error.status === 400 && error.message.includes("there is no response"));
  }
});

test("Valkey is read as Redis, with its own keys", { skip: kSkip }, async () => {
  const valkey = (...ports) => configuration(...ports).replace(/store_backend: redis, redis: .*/, `store_backend: valkey, valkey: {host: 127.0.0.1, port: ${redis.port}, timeout: 30}}`);
  await withDaemon(valkey, async (third) => {
    const { id } = await ask(daemons[0], "One");
    await ask(third, "Two", { previous_response_id: id });
    assert.deepEqual(continued(), kConversation);
  });
});

test("a response survives kill -9 of its router right after the reply", { skip: kSkip }, async () => {
  for (let i = 0; i < kKills; ++i) {
    await withDaemon(patient, async (third) => {
      const { id } = await (i % 2 === 0 ? ask : stream)(third, "One");
      third.process.kill("SIGKILL");
      await ask(daemons[0], "Two", { previous_response_id: id });
      assert.deepEqual(continued(), kConversation);
    });
  }
});

test("a response that is too large stays in its router, and holds up no other", { skip: kSkip }, async () => {
  const large = await ask(daemons[0], "x".repeat(9_000_000));
  await ask(daemons[0], "Two", { previous_response_id: large.id });
  await assert.rejects(ask(daemons[1], "Two", { previous_response_id: large.id }), (error) => error.status === 400);
  const { id } = await ask(daemons[0], "One");
  await ask(daemons[1], "Two", { previous_response_id: id });
  assert.equal(await metric(daemons[0], 'signalbox_shared_responses_total{result="refused"}'), 1);
  const kLine = /a response and its conversation have 18\d+ bytes, and at most 16777216 are shared/;
  await until(() => kLine.test(daemons[0].log), "the log line");
});

test("large responses are shared over a slow link", { skip: kSkip }, async () => {
  const link = await SlowLink.to(redis.port, 20_000_000);
  const slow = (...ports) => configuration(...ports, { redisPort: link.port, redisKeys: kPatient });
  const large = "x".repeat(7_500_000);
  try {
    await withDaemon(slow, async (third) =>
      withDaemon(patient, async (fourth) => {
        const { id } = await ask(third, large);
        await until(() => client(fourth).responses.retrieve(id).then(() => true, () => false), "the response");
        const other = await ask(fourth, large);
        await until(() => client(third).responses.retrieve(other.id).then(() => true, () => false), "the other response");
        assert.equal(await metric(third, 'signalbox_shared_responses_total{result="refused"}'), 0);
      }));
  } finally {
    await link.stop();
  }
});

test("a request over its rate limit loads nothing from Redis", { skip: kSkip }, async () => {
  const limited = (...ports) => `${configuration(...ports)}    ratelimit:
      providers:
        - {type: local-limiter, rules: [{name: few, requests_per_unit: 2, unit: hour}]}
`;
  const loads = async () => Number((await redis.send("INFO", "commandstats")).match(/cmdstat_getrange:calls=(\d+)/)?.[1] ?? 0);
  const { output } = await ask(daemons[0], "One");
  const refer = (daemon) => ask(daemon, [{ type: "item_reference", id: output[0].id }, { role: "user", content: "Two" }]);
  await withDaemon(limited, async (third) => {
    const before = await loads();
    for (let i = 0; i < 2; ++i) await refer(third);
    const after = await loads();
    assert.ok(after > before);
    for (let i = 0; i < 3; ++i) await assert.rejects(refer(third), (error) => error.status === 429);
    assert.equal(await loads(), after);
  });
});

test("a deleted response does not come back when Redis has lost its data, and the others do", { skip: kSkip }, async () => {
  const deleted = await ask(daemons[0], "One");
  const kept = await ask(daemons[0], "One");
  await client(daemons[1]).responses.delete(deleted.id);
  await redis.kill();
  await redis.start();
  await until(() => ask(daemons[1], "Two", { previous_response_id: kept.id }).then(() => true, () => false), "the response");
  for (const daemon of daemons) await assert.rejects(client(daemon).responses.retrieve(deleted.id), isMissing);
});

test("a router that ends writes what waits, or counts it", { skip: kSkip }, async () => {
  for (const returns of [true, false]) {
    const drained = (...ports) => configuration(...ports) + `    http: {drain_timeout: ${returns ? 100 : 1}s}\n`;
    const third = await Daemon.start(drained);
    await redis.kill();
    await knowsTrouble(third);
    const { id } = await ask(third, "One");
    third.process.kill("SIGTERM");
    await until(() => third.log.includes("shutting down"), "the end to begin");
    if (returns) await redis.start();
    assert.deepEqual(await third.exited, { code: 0, signal: null });
    const lost = /response_api: responses that were not written to redis 127.* are lost: 1/.test(third.log);
    assert.equal(lost, !returns, third.log);
    if (!returns) await redis.start();
    await Promise.all(daemons.map(isBack));
    const found = await client(daemons[0]).responses.retrieve(id).then(() => true, () => false);
    assert.equal(found, returns);
    await rm(third.folder, { recursive: true });
  }
});

test("a router that ends counts the responses of Envoy's last streams", { skip: kSkip }, async () => {
  const [envoyPort] = await freePorts(1);
  const drained = (...ports) => `${configuration(...ports)}    http: {drain_timeout: 10s}
    ext_proc: {enabled: true, port: ${envoyPort}}
`;
  const third = await Daemon.start(drained);
  const processor = new Processor(envoyPort);
  const envoy = await Envoy.start({ processor, clusters: { default: upstream.port } });
  const answer = upstream.answer;
  let end;
  const called = new Promise((done) => {
    upstream.answer = (received) => {
      done();
      return new Promise((answered) => (end = () => answered(answer(received))));
    };
  });
  try {
    await redis.kill();
    await knowsTrouble(third);
    const reply = ask(envoy, "One");
    await called;
    third.process.kill("SIGTERM");
    await until(() => third.log.includes("shutting down"), "the end to begin");
    end();
    assert.equal((await reply).output[0].content[0].text, "Fine.");
    assert.deepEqual(await third.exited, { code: 0, signal: null });
    assert.match(third.log, /response_api: responses that were not written to redis 127.* are lost: 1/);
  } finally {
    upstream.answer = answer;
    processor.close();
    await envoy.stop();
    await redis.start();
    await Promise.all(daemons.map(isBack));
    await rm(third.folder, { recursive: true });
  }
});

for (const [name, trouble] of Object.entries(kTroubles)) {
  test(`while Redis is ${name}, a router continues its own responses, and the others do so afterwards`, { skip: kSkip }, async () => {
    const logged = () => daemons[0].log.match(/global\.services\.response_api: redis 127.*new responses stay in this router/g)?.length ?? 0;
    const before = await ask(daemons[0], "One");
    const loggedBefore = logged();
    await trouble.begin(redis);
    const first = await ask(daemons[0], "One");
    for (const { id } of [before, first]) {
      for (let i = 0; i < 5; ++i) {
        await stream(daemons[0], "Two", { previous_response_id: id });
        assert.deepEqual(continued(), kConversation);
      }
    }
    const hidesServer = (error) => error.status === 502 && !/redis|127/.test(error.message);
    if (name !== "full") {
      await assert.rejects(ask(daemons[1], "Two", { previous_response_id: first.id }), (error) => hidesServer(error) && error.message.includes("previous_response_id: the store that routers share"));
    }
    await assert.rejects(client(daemons[0]).responses.delete(first.id), (error) => hidesServer(error) && error.message.includes("not deleted"));
    await until(() => logged() > loggedBefore, "the log line");
    await trouble.end(redis);
    await Promise.all(daemons.map(isBack));
    assert.equal(logged(), loggedBefore + 1, daemons[0].log);
    for (const { id } of [before, first]) {
      await until(() => ask(daemons[1], "Two", { previous_response_id: id }).then(() => true, () => false), "the response");
      assert.deepEqual(continued(), kConversation);
    }
  });
}
