// Tests memories that two routers share over a real Redis, which is killed, stopped or full, and which loses its data.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon, metric, withDaemon } from "./daemon.mjs";
import { Redis, kTroubles } from "./redis.mjs";
import { embeddings, has, kAnswer, kAsked, kGreen, listed, memory, rememberingFile, sayOnceTo, sayTo, works } from "./remembering.mjs";
import { startShared, stopShared } from "./shared_redis.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kSkip = Redis.missing();
const kBoat = "The boat of my aunt has two masts and an engine.";

let folder, model, embedder, redis;
const daemons = [];

const redisStore = () => `backend: redis, redis: {address: "127.0.0.1:${redis.port}", key_prefix: "test:", dial_timeout: 30, read_timeout: 30, write_timeout: 30}`;
const valkeyStore = () => `backend: valkey, valkey: {host: 127.0.0.1, port: ${redis.port}, collection_prefix: "test:"}`;
const configuration = ({ store = redisStore, more = "", services = "" } = {}) => (port, management) => rememberingFile({ model, embedder, store: store(), more, services }, port, management);
const sayOnce = (daemon, user, text) => sayOnceTo(model, daemon, user, text);
const say = (daemon, user, text) => sayTo(model, daemon, user, text);

const isBack = (daemon) => until(async () => (await metric(daemon, "signalbox_shared_memories_works")) === 1 && (await metric(daemon, "signalbox_shared_memories_waiting")) === 0, "the end of the trouble");
const keys = async () => (await redis.ask("KEYS", "*")).split("\r\n").filter((line) => line.startsWith("test:")).sort();

before(async () => {
  if (kSkip) return;
  ({ folder, redis, upstream: model } = await startShared());
  embedder = await ScriptedUpstream.start();
  model.answer = () => completion({ content: kAnswer });
  embedder.answer = embeddings;
  for (const store of [redisStore, valkeyStore]) daemons.push(await Daemon.start(configuration({ store })));
});

after(() => kSkip || stopShared({ folder, redis, upstreams: [model, embedder], daemons }));

test("the other router finds what one has stored, for its user alone", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  assert.deepEqual(await say(one, "ann", kGreen), { outcome: "nothing", system: "" });
  await has(other, "ann", 1);
  const { outcome, system } = await say(other, "ann", kAsked);
  assert.equal(outcome, "added");
  assert.match(system, new RegExp(`User: ${kGreen}\nAnswer: ${kAnswer}$`));
  const [{ id, content }] = (await listed(one, "ann")).memories.slice(-1);
  assert.equal(content, `Q: ${kGreen}\nA: ${kAnswer}`);
  await until(async () => (await memory(one, "GET", "ann", `/${id}`)).body.access_count === 1, "the use counts for both");
  for (const daemon of daemons) {
    for (const user of ["bob", "Ann", "ann2", "an"]) {
      assert.equal((await say(daemon, user, "Which colour does my favourite have?")).outcome, "nothing");
      for (const method of ["GET", "DELETE"]) assert.equal((await memory(daemon, method, user, `/${id}`)).status, 404);
    }
  }
  assert.equal((await memory(one, "GET", "ann", `/${id}`)).status, 200);
});

test("keys hold digests of users and no names, and expire", { skip: kSkip }, async () => {
  await say(daemons[0], "carla", kGreen);
  await has(daemons[0], "carla", 1);
  const [{ id }] = (await listed(daemons[0], "carla")).memories;
  const owner = createHash("sha256").update("carla").digest("hex");
  for (const key of [`test:u:${owner}`, `test:m:${id}`]) {
    assert.ok((await keys()).includes(key), key);
    const days = Number((await redis.ask("PTTL", key)).slice(1)) / 86_400_000;
    assert.ok(days > 69 && days < 70, `${key} lasts ${days} days`);
  }
  assert.doesNotMatch(await redis.ask("GET", `test:m:${id}`), /carla/);
});

test("deleted by one router, a memory is gone in the other at once", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  for (let i = 0; i < 20; ++i) {
    const user = `deletes-${i}`;
    await say(one, user, kGreen);
    await has(other, user, 1);
    // Both have a copy.
    for (const [at, daemon] of daemons.entries()) assert.equal((await say(daemon, user, `${kAsked} ${at}`)).outcome, "added");
    await has(one, user, 3);
    const ids = (await listed(one, user)).memories.map(({ id }) => id);
    for (const id of ids) assert.equal((await memory(i % 2 ? one : other, "DELETE", user, i % 4 < 2 ? `/${id}` : "")).status, 200);
    for (const daemon of daemons) {
      assert.equal((await listed(daemon, user)).total, 0);
      assert.equal((await say(daemon, user, "Whatever is my favourite colour?")).outcome, "nothing", daemon === one ? "one" : "other");
      await memory(daemon, "DELETE", user);
    }
  }
  assert.equal(await metric(one, "signalbox_shared_memories_works"), 1);
});

test("a turn that was under way when the user deleted everything at the other router is not stored", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  const answer = model.answer;
  try {
    let go;
    const came = new Promise((arrives) => {
      model.answer = async () => {
        arrives();
        await new Promise((done) => (go = done));
        return completion({ content: kAnswer });
      };
    });
    const said = sayOnce(one, "dora", kGreen);
    await came;
    assert.deepEqual((await memory(other, "DELETE", "dora")).body, { success: true, deleted: 0 });
    go();
    await said;
  } finally {
    model.answer = answer;
  }
  // A later turn of another user is stored by the same path, and so is one of the same user.
  await say(one, "emil", kBoat);
  await has(one, "emil", 1);
  assert.equal((await listed(one, "dora")).total, 0);
  // One that begins before this router knows of the deletion is not stored, so the user may have to repeat it.
  await until(async () => {
    await say(one, "dora", kBoat);
    return (await listed(other, "dora")).total === 1;
  }, "a new turn is stored");
});

test("memories outlive a restart, and stay within the limits for all routers", { skip: kSkip }, async () => {
  await withDaemon(configuration({ more: ", quality_scoring: {max_memories_per_user: 2}" }), async (third) => {
    for (const text of [kGreen, kBoat, "The garden of my uncle has three trees."]) await say(third, "fred", text);
    await until(async () => (await listed(third, "fred")).memories[0]?.content.includes("uncle"));
    assert.equal((await listed(third, "fred")).total, 2);
    await say(daemons[1], "fred", kBoat);
    await until(async () => (await listed(third, "fred")).memories[0]?.content.includes("boat"), "the turn replaces the one with the same text");
    assert.equal((await listed(third, "fred")).total, 2);
  });
  await withDaemon(configuration({}), async (next) => {
    assert.equal((await say(next, "fred", "Which trees has the garden of my uncle?")).outcome, "added");
    assert.equal(await metric(next, "signalbox_memories"), 2);
  });
});

test("copies are bounded, and searches find everything nevertheless", { skip: kSkip }, async () => {
  await withDaemon(configuration({ more: ", max_memories: 2" }), async (third) => {
    for (const user of ["g1", "g2", "g3", "g4"]) await say(third, user, kGreen);
    for (const user of ["g1", "g2", "g3", "g4"]) {
      await has(third, user, 1);
      assert.equal((await say(third, user, kAsked)).outcome, "added");
      assert.ok((await metric(third, "signalbox_memories")) <= 2);
    }
  });
});

test("hostile bytes in Redis are not read as memories", { skip: kSkip }, async () => {
  const [one] = daemons;
  await say(one, "hugo", kGreen);
  await say(one, "ines", kGreen);
  for (const user of ["hugo", "ines"]) await has(one, user, 1);
  const digest = (user) => createHash("sha256").update(user).digest("hex");
  const idOf = async (user) => (await listed(one, user)).memories[0].id;
  const entry = (await redis.ask("HGET", `test:u:${digest("hugo")}`, await idOf("hugo"))).split("\r\n")[1];
  // The record of another user, one that is cut off, one that is none, and broken entries.
  await redis.ask("HSET", `test:u:${digest("ines")}`, await idOf("hugo"), `"${entry}"`);
  await redis.ask("SETRANGE", `test:m:${await idOf("ines")}`, "0", "SBM9");
  for (const bad of ["0 0 0", "x", "9999999999999999999 1 1 0123456789abcdef 0", `${entry} `, `-${entry}`])
    await redis.ask("HSET", `test:u:${digest("ines")}`, `mem_${createHash("md5").update(bad).digest("hex")}`, `"${bad}"`);
  await withDaemon(configuration({}), async (third) => {
    assert.deepEqual(await say(third, "ines", kAsked), { outcome: "nothing", system: "" });
    assert.doesNotMatch(JSON.stringify(await listed(third, "ines")), /green/);
    await until(() => third.log.includes("it is not used"), "the line of the log");
    assert.equal(third.log.includes("green"), false);
    assert.equal((await say(third, "hugo", kAsked)).outcome, "added");
  });
  await redis.ask("DEL", `test:u:${digest("ines")}`);
  await redis.ask("SET", `test:u:${digest("ines")}`, "wrong");
  assert.equal((await sayOnce(one, "ines", kAsked)).outcome, "failed");
  await redis.ask("DEL", `test:u:${digest("ines")}`);
  assert.equal((await say(one, "ines", kAsked)).outcome, "nothing");
});

for (const [name, trouble] of Object.entries(kTroubles)) {
  test(`while Redis is ${name}, no request fails, and nothing is lost or comes back`, { skip: kSkip }, async () => {
    const [one, other] = daemons;
    const user = `trouble-${name}`, kept = `${user}-kept`;
    for (const each of [user, kept]) {
      await say(one, each, kGreen);
      await has(one, each, 1);
      await say(other, each, kBoat);
      await has(other, each, 2);
    }
    const deleted = (await listed(one, user)).memories.find(({ content }) => content.includes("green")).id;
    assert.equal((await memory(other, "DELETE", user, `/${deleted}`)).status, 200);
    const forgets = `${user}-forgets`;
    await say(one, forgets, kGreen);
    await has(other, forgets, 1);
    assert.equal((await memory(other, "DELETE", forgets)).status, 200);

    await trouble.begin(redis);
    if (name === "full") {
      assert.equal((await say(one, kept, kAsked)).outcome, "added");
      await works(one, 0);
      assert.equal((await memory(one, "DELETE", `${user}-none`)).status, 200);
      const boat = (await listed(one, user)).memories.find(({ content }) => content.includes("boat")).id;
      assert.equal((await memory(one, "DELETE", user, `/${boat}`)).status, 200);
      assert.equal((await listed(other, user)).total, 0);
    } else {
      for (const daemon of daemons) {
        for (let i = 0; i < 3; ++i) assert.deepEqual(await sayOnce(daemon, kept, kAsked), { outcome: "failed", system: "" });
        await works(daemon, 0);
        for (const method of ["GET", "DELETE"]) {
          const { status, body } = await memory(daemon, method, kept);
          assert.equal(status, 502);
          assert.doesNotMatch(JSON.stringify(body), /127|redis/i);
        }
      }
    }
    await trouble.end(redis);
    await Promise.all(daemons.map(isBack));
    for (const daemon of daemons) {
      const texts = (await listed(daemon, kept)).memories.map(({ content }) => content).join();
      assert.ok(texts.includes("green") && texts.includes("boat"), texts);
      assert.match((await say(daemon, kept, kAsked)).system, /green/);
      assert.equal((await memory(daemon, "GET", user, `/${deleted}`)).status, 404);
      assert.doesNotMatch((await say(daemon, user, kAsked)).system, /green/);
      assert.equal((await say(daemon, forgets, "Which colour is my favourite, then?")).outcome, "nothing");
      await memory(daemon, "DELETE", forgets);
    }
  });
}

test("a turn whose answer comes while Redis is away is stored when it is back, and a router that ends writes it or counts it", { skip: kSkip }, async () => {
  const answer = model.answer;
  for (const returns of [true, false]) {
    const third = await Daemon.start(configuration({ services: `http: {drain_timeout: ${returns ? 100 : 1}s}, ` }));
    let go;
    const came = new Promise((arrives) => {
      model.answer = async () => {
        arrives();
        await new Promise((done) => (go = done));
        return completion({ content: kAnswer });
      };
    });
    const user = `waits-${returns}`;
    const said = sayOnce(third, user, kGreen);
    await came;
    model.answer = answer;
    await redis.kill();
    await works(third, 0);
    go();
    await said;
    await until(async () => (await metric(third, "signalbox_shared_memories_waiting")) === 1, "the turn waits");
    third.process.kill("SIGTERM");
    await until(() => third.log.includes("shutting down"), "the end to begin");
    if (returns) await redis.start();
    assert.deepEqual(await third.exited, { code: 0, signal: null });
    assert.equal(/global\.stores\.memory: memories that were not written to redis 127.* are lost: 1/.test(third.log), !returns, third.log);
    if (!returns) await redis.start();
    await Promise.all(daemons.map(isBack));
    assert.equal((await listed(daemons[0], user)).total, returns ? 1 : 0);
    await rm(third.folder, { recursive: true });
  }
});

test("deletions come first when Redis returns with older data", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  for (const user of ["old-one", "old-all"]) {
    await say(one, user, kGreen);
    await has(other, user, 1);
  }
  await redis.ask("SET", "marker", "1");
  await redis.ask("SAVE");
  const [{ id }] = (await listed(one, "old-one")).memories;
  assert.equal((await memory(one, "DELETE", "old-one", `/${id}`)).status, 200);
  assert.equal((await memory(other, "DELETE", "old-all")).status, 200);
  await redis.kill();
  await redis.start();
  assert.equal(await redis.ask("EXISTS", "marker"), ":1\r\n");
  await Promise.all(daemons.map(isBack));
  for (const daemon of daemons) {
    for (const user of ["old-one", "old-all"]) assert.equal((await listed(daemon, user)).total, 0);
  }
  await rm(join(folder, "dump.rdb"));
});

test("a router that has missed a deletion serves nothing until the others have repeated it", { skip: kSkip }, async () => {
  const [deletes, misses] = daemons;
  for (const user of ["missed", "missed-first"]) {
    await say(deletes, user, kGreen);
    await has(misses, user, 1);
  }
  await redis.ask("SAVE");
  misses.process.kill("SIGSTOP");
  // The first deletion answers the command with which the stopped router waits for one, so it cannot get the second.
  for (const user of ["missed-first", "missed"]) assert.equal((await memory(deletes, "DELETE", user)).body.deleted, 1);
  await redis.kill();
  deletes.process.kill("SIGSTOP");
  await redis.start();
  misses.process.kill("SIGCONT");
  try {
    await until(async () => (await redis.ask("INFO", "commandstats")).includes("cmdstat_xread"), "the router to follow");
    const { status, body } = await memory(misses, "GET", "missed");
    assert.equal(status, 502, JSON.stringify(body));
    assert.deepEqual(await sayOnce(misses, "missed", kAsked), { outcome: "failed", system: "" });
  } finally {
    deletes.process.kill("SIGCONT");
  }
  await Promise.all(daemons.map(isBack));
  for (const daemon of daemons) assert.equal((await listed(daemon, "missed")).total, 0);
  await rm(join(folder, "dump.rdb"));
});
