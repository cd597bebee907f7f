// Tests budgets and rate limits that two routers share over a real Redis, also while it is killed, stopped or full.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Daemon } from "./daemon.mjs";
import { Redis, kTroubles } from "./redis.mjs";
import { startShared, stopShared } from "./shared_redis.mjs";
import { completion } from "./upstream.mjs";
import { until } from "./until.mjs";

const kSkip = Redis.missing();
const kUsage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }; // 1.25 dollars
const kRouters = 2;

let folder, keysFile, upstream, redis;
let held = []; // requests that the upstream holds back
let holds = false;
let takesMs = 50; // the upstream's time for an answer
const daemons = [];

const configuration = (more = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - name: small
      pricing: {prompt_per_1m: 1000, completion_per_1m: 2500}
      backend_refs: [{name: small, endpoint: "127.0.0.1:${upstream.port}"}]
routing:
  decisions: []
global:
  access:
    keys_file: ${keysFile}
  stores:
    shared_counts:
      redis: {address: "127.0.0.1:${redis.port}"${more}}
  spending:
    budgets:
      - {name: each-key, by: key, amount: 12.5, per: day}
      - {name: team, by: group, of: research, amount: 1000000, per: month, then: warn, warn_at: 0}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    ratelimit:
      providers:
        - type: local-limiter
          rules: [{name: few, match: {group: few}, requests_per_unit: 6, unit: hour}]
`;

const signalbox = (...words) => execFileSync(process.env.SIGNALBOX, words, { encoding: "utf8", stdio: "pipe" });

/// Makes a key and waits until both routers have read it. Both read the same file.
async function make(name, ...options) {
  const key = signalbox("keys", "new", name, "--config", daemons[0].file, ...options).trim();
  for (const daemon of daemons) {
    await until(async () => (await fetch(`${daemon.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status === 200, "the key");
  }
  return key;
}

async function ask(daemon, key, status = undefined) {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Hello" }] }),
  });
  const body = await answer.json();
  if (status !== undefined) assert.equal(answer.status, status, JSON.stringify(body));
  if (answer.status === 200) daemon.paid = (daemon.paid ?? 0) + 1;
  return { status: answer.status, code: body.error?.code, budget: answer.headers.get("x-vsr-budget") };
}

async function metric(daemon, name) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`signalbox_shared_counts_${name} `));
  return Number(line?.split(" ").at(-1));
}

const all = (routers, name, holds) => until(async () => (await Promise.all(routers.map((each) => metric(each, name)))).every(holds), name);
const works = (value) => all(daemons, "works", (each) => each === value);
const kSucceeded = 'exchanges_total{result="succeeded"}';

/// The requests that a router has recorded, which it does after their replies.
async function recorded(daemon) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("llm_model_requests_total{") && line.includes('status="200"'));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/// Waits until every router has counted and reported its requests, and has learnt what the others reported.
async function settle() {
  for (const daemon of daemons) await until(async () => (await recorded(daemon)) >= (daemon.paid ?? 0), "the record");
  await all(daemons, "unreported", (each) => each === 0);
  for (const daemon of daemons) {
    const before = await metric(daemon, kSucceeded);
    await until(async () => (await metric(daemon, kSucceeded)) >= before + 2, "an exchange");
  }
}

/// Sends requests to all routers in turn, `width` at a time, until `isOver(results)`.
async function load(key, width, isOver) {
  const results = [];
  await Promise.all(
    Array.from({ length: width }, async (_, i) => {
      for (let turn = i; !isOver(results); ++turn) results.push(await ask(daemons[turn % kRouters], key));
    }),
  );
  return results;
}

const paidOf = (results) => results.filter((each) => each.status === 200).length;

function release() {
  holds = false;
  for (const go of held.splice(0)) go();
}

async function startDaemon(more = "") {
  const daemon = await Daemon.start(configuration(more));
  daemons.push(daemon);
  return daemon;
}

before(async () => {
  if (kSkip) return;
  ({ folder, redis, upstream } = await startShared());
  keysFile = join(folder, "keys.json");
  upstream.answer = async () => {
    await (holds ? new Promise((go) => held.push(go)) : pause(takesMs));
    return { body: completion({ content: "Hello" }, "stop", kUsage).body };
  };
  for (let i = 0; i < kRouters; ++i) await startDaemon();
});

after(() => kSkip || stopShared({ folder, redis, upstreams: [upstream], daemons }));

test("a budget that is spent by requests in flight ends for both routers", { skip: kSkip }, async () => {
  const key = await make("spender");
  for (let i = 0; i < 9; ++i) await ask(daemons[i % kRouters], key, 200); // 11.25 of 12.50 dollars
  await settle();
  holds = true;
  const inFlight = Array.from({ length: 6 }, (_, i) => ask(daemons[i % kRouters], key, 200));
  await until(() => held.length === 6, "the requests");
  release();
  await Promise.all(inFlight);
  await settle();
  for (const daemon of daemons) assert.equal((await ask(daemon, key, 429)).code, "budget_exceeded");
});

test("a budget holds under load", { skip: kSkip }, async () => {
  const key = await make("busy");
  const width = 4;
  takesMs = 1000; // longer than the routers need for some exchanges
  const results = await load(key, width, (all) => all.length - paidOf(all) >= 12).finally(() => (takesMs = 50));
  assert.ok(results.every((each) => each.status === 200 || each.code === "budget_exceeded"), JSON.stringify(results));
  // 10 requests spend the budget. Then some are in flight, and some begin before the other router knows. Routers that
  // share nothing pay for 20 or more.
  assert.ok(paidOf(results) >= 10 && paidOf(results) <= 10 + 2 * width, `${paidOf(results)} requests were paid`);
});

/// Uses up a limit of `count` requests at all routers in turn.
async function useUp(key, count) {
  for (let i = 0; i < count; ++i) {
    await ask(daemons[i % kRouters], key, 200);
    await settle();
  }
  for (const daemon of daemons) assert.equal((await ask(daemon, key, 429)).code, "rate_limited");
}

test("a rate limit holds for both routers together", { skip: kSkip }, async () => {
  await useUp(await make("person", "--group", "few"), 6);
});

test("the limit of a key holds for both routers together", { skip: kSkip }, async () => {
  await useUp(await make("limited", "--requests-per-minute", "3"), 3);
});

for (const [name, trouble] of Object.entries(kTroubles)) {
  test(`while Redis is ${name}, no request fails, and what is counted arrives once afterwards`, { skip: kSkip }, async () => {
    const [key, limited] = [await make(`${name}-spender`), await make(`${name}-limited`, "--group", "few")];
    const first = await load(key, 2, (results) => results.length >= 2);
    assert.equal(paidOf(first), first.length);
    await ask(daemons[0], limited, 200);
    await settle();
    await trouble.begin(redis);
    const during = [await ask(daemons[0], key), await ask(daemons[1], key), await ask(daemons[1], limited), await ask(daemons[0], limited)];
    await works(0);
    during.push(await ask(daemons[0], key), await ask(daemons[1], key), await ask(daemons[1], limited));
    assert.equal(paidOf(during), during.length, JSON.stringify(during));
    for (const daemon of daemons) {
      const reported = /global\.stores\.shared_counts: redis 127\.0\.0\.1:\d+: .*; until this is over/;
      await until(() => reported.test(daemon.log), () => daemon.log);
    }
    await trouble.end(redis);
    await works(1);
    await settle();
    // 12.50 dollars are 10 requests, and the rule allows 6.
    const spenders = paidOf(first) + 4;
    for (let i = spenders; i < 10; ++i) {
      await ask(daemons[i % kRouters], key, 200);
      await settle();
    }
    for (let i = 4; i < 6; ++i) {
      await ask(daemons[i % kRouters], limited, 200);
      await settle();
    }
    for (const daemon of daemons) {
      assert.equal((await ask(daemon, key, 429)).code, "budget_exceeded");
      assert.equal((await ask(daemon, limited, 429)).code, "rate_limited");
    }
  });
}

let researched = 0; // requests of the group so far

for (const [name, trouble] of Object.entries(kTroubles)) {
  test(`under load, nothing is lost or counted twice while Redis is ${name}`, { skip: kSkip }, async () => {
    const keys = [];
    for (let i = 0; i < 12; ++i) keys.push(await make(`${name}-${i}`, "--group", "research"));
    let isOver = false;
    // Each key pays for 8 of its 10 requests, one after the other.
    const loads = keys.map(async (key, i) => {
      const results = [];
      for (let turn = i; results.length < 8 && !(isOver && results.length > 3); ++turn) {
        results.push(await ask(daemons[turn % kRouters], key));
        if (!isOver) await pause(50);
      }
      return results;
    });
    await trouble.begin(redis);
    await works(0);
    await trouble.end(redis);
    await works(1);
    isOver = true;
    const results = (await Promise.all(loads)).flat();
    assert.equal(paidOf(results), results.length, JSON.stringify(results));
    researched += results.length;
    await settle();
    for (const daemon of daemons) {
      const { budget } = await ask(daemon, await make(`${name}-reader-${daemons.indexOf(daemon)}`, "--group", "research"), 200);
      assert.ok(budget.includes(`spent=${(researched++ * 1.25).toFixed(2)};`), `${budget} after ${researched - 1} requests`);
      await settle();
    }
  });
}

test("a router that is killed leaves what it has spent", { skip: kSkip }, async () => {
  const key = await make("orphan");
  const third = await startDaemon();
  await until(async () => (await fetch(`${third.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status === 200, "the key");
  for (let i = 0; i < 9; ++i) await ask(third, key, 200);
  await settle();
  third.process.kill("SIGKILL");
  await third.exited;
  await rm(third.folder, { recursive: true });
  daemons.pop();
  await ask(daemons[0], key, 200);
  await settle();
  for (const daemon of daemons) assert.equal((await ask(daemon, key, 429)).code, "budget_exceeded");
});

test("a router that starts without Redis serves and reports why", { skip: kSkip }, async () => {
  await redis.send("ACL", "SETUSER", "limited", "on", ">right", "~*", "+@all");
  const daemon = await Daemon.start(configuration(", username: limited, password: wrong"));
  try {
    await until(() => /redis 127\.0\.0\.1:\d+: AUTH: WRONGPASS/.test(daemon.log), () => daemon.log);
    assert.ok(!daemon.log.includes("wrong,") && !daemon.log.includes('"wrong"'));
    const key = await make("early");
    await until(async () => (await ask(daemon, key)).status === 200, "the key");
  } finally {
    await daemon.stop();
  }
});

test("routers with different budgets log a warning", { skip: kSkip }, async () => {
  const other = await Daemon.start((port, managementPort) => configuration()(port, managementPort).replace("amount: 12.5", "amount: 13"));
  daemons.push(other);
  try {
    await until(() => daemons.every((each) => each.log.includes("have different budgets or rate limits")), "the warning");
  } finally {
    daemons.pop();
    await other.stop();
  }
});
