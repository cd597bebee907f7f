// Tests spending and budgets that two routers share in a real PostgreSQL, also while it or a router is killed under load.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Daemon, metric, settled } from "./daemon.mjs";
import { Postgres } from "./postgres.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";

const kSkip = Postgres.missing();
const kUsage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }; // 1.25 dollars
const kCost = 1.25;

let upstream, postgres, folder, keysFile;
const daemons = [];

const configuration = (port, managementPort) => `
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
  spending:
    backend: postgres
    postgres: ${postgres.section()}
    budgets:
      - {name: poor, by: key, of: poor, amount: 12.5, per: day}
      - {name: busy, by: key, of: busy, amount: 12.5, per: day}
      - {name: team, by: group, of: rich, amount: 1000000, per: month, then: warn}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const signalbox = (...words) => execFileSync(process.env.SIGNALBOX, words, { encoding: "utf8", stdio: "pipe" });

async function make(name, ...options) {
  const key = signalbox("keys", "new", name, "--config", daemons[0].file, ...options).trim();
  for (const daemon of daemons) {
    await until(async () => (await fetch(`${daemon.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status === 200, "the key");
  }
  return key;
}

async function ask(daemon, key) {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Hello" }] }),
  });
  const body = await answer.json();
  return { status: answer.status, code: body.error?.code };
}

async function spending(daemon, key) {
  const answer = await fetch(`${daemon.managementUrl}/api/v1/spending?by=key`);
  if (answer.status !== 200) return { status: answer.status, ...(await answer.json()) };
  return { status: 200, ...(await answer.json()).lines.find((each) => each.key === key) };
}

/// The amount that a router knows of a budget's spender.
async function known(daemon, budget, name) {
  const { budgets } = await (await fetch(`${daemon.managementUrl}/api/v1/budgets`)).json();
  return budgets.find((each) => each.name === budget).spenders.find((each) => each.name === name)?.spent ?? 0;
}

const reported = (key, file = daemons[0].file) =>
  JSON.parse(signalbox("report", "--config", file, "--json")).lines.find((each) => each.key === key)?.requests ?? 0;

/// Starts a daemon again with its folder and its ports.
async function revive(daemon) {
  daemon.log = "";
  daemon.process = spawn(process.env.SIGNALBOX, ["serve", "--config", daemon.file], { stdio: ["ignore", "ignore", "pipe"] });
  daemon.process.stderr.setEncoding("utf8").on("data", (text) => (daemon.log += text));
  daemon.exited = new Promise((done) => daemon.process.on("close", (code, signal) => done({ code, signal })));
  await until(async () => (await fetch(`${daemon.managementUrl}/ready`).catch(() => null))?.status === 200, "the router");
}

before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-spending-"));
  keysFile = join(folder, "keys.json");
  upstream = await ScriptedUpstream.start();
  upstream.answer = () => ({ body: completion({ content: "Hello" }, "stop", kUsage).body });
  postgres = await Postgres.on(folder);
  for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration));
});

after(async () => {
  for (const daemon of daemons) await daemon.stop();
  await upstream?.stop();
  await postgres?.remove();
  if (folder) await rm(folder, { recursive: true });
});

test("both routers, the command and the dashboard's figures show the spending of both", { skip: kSkip }, async () => {
  const key = await make("both", "--user", "ann", "--group", "rich");
  for (const daemon of daemons) assert.equal((await ask(daemon, key)).status, 200);
  for (const daemon of daemons) {
    const line = await until(async () => {
      const found = await spending(daemon, "both");
      return found.requests === 2 && found;
    }, "both requests");
    assert.equal(line.cost, 2 * kCost);
    await until(async () => (await known(daemon, "team", "rich")) === 2 * kCost, "the budget of both");
  }
  assert.equal(reported("both"), 2);
  assert.equal(postgres.ask("SELECT sum(requests) FROM signalbox_spending WHERE user_name = 'ann' AND groups = 'rich'"), "2");
});

test("a budget that is spent over one router is spent over the other, too", { skip: kSkip }, async () => {
  const key = await make("poor");
  for (let i = 0; i < 10; ++i) assert.equal((await ask(daemons[0], key)).status, 200);
  await settled(daemons[0]); // the charge comes after the answer
  assert.deepEqual(await ask(daemons[0], key), { status: 429, code: "budget_exceeded" });
  await until(async () => (await known(daemons[1], "poor", "poor")) >= 12.5, "the other router's knowledge");
  assert.deepEqual(await ask(daemons[1], key), { status: 429, code: "budget_exceeded" });
});

test("two routers under load exceed a budget by what is in flight and what they do not know yet", { skip: kSkip }, async (t) => {
  const key = await make("busy");
  const load = Promise.all(
    daemons.flatMap((daemon) =>
      [0, 1].map(async () => {
        const sent = []; // when each request that was paid for began
        for (let status = 200; status === 200; ) {
          const began = performance.now();
          ({ status } = await ask(daemon, key));
          if (status === 200) sent.push(began);
          await pause(40);
        }
        return sent;
      }),
    ),
  );
  await until(async () => (await Promise.all(daemons.map((daemon) => known(daemon, "busy", "busy")))).every((amount) => amount >= 12.5), "both to know it");
  const knownAt = performance.now();
  const sent = (await load).flat().sort((left, right) => left - right);
  assert.ok(sent.length >= 10, `${sent.length} requests`);
  assert.equal(sent.filter((each) => each > knownAt).length, 0, "requests that began when both routers knew that the budget was spent");
  t.diagnostic(`the last of ${sent.length} requests began ${Math.round(sent.at(-1) - sent[9])} ms after the tenth`);
});

/// Runs `use` while four clients of each router send requests. Returns when each was answered.
async function underLoad(key, use) {
  const answered = [];
  let runs = true;
  const load = daemons.flatMap((daemon) =>
    Array.from({ length: 4 }, async () => {
      while (runs) {
        const done = await ask(daemon, key).catch(() => undefined); // its router was killed
        if (done) answered.push({ at: performance.now(), ...done });
        else await pause(20);
      }
    }),
  );
  try {
    await use(answered);
  } finally {
    runs = false;
    await Promise.all(load);
  }
  return answered;
}

test("while the server is killed, no request fails, and each counts once when it is back", { skip: kSkip }, async () => {
  const key = await make("steady", "--group", "rich");
  const answered = await underLoad(key, async (done) => {
    for (let kills = 1; kills <= 2; ++kills) {
      const before = done.length;
      await until(() => done.length > before + 20, "requests before");
      await postgres.kill();
      const killed = done.length;
      await until(() => done.length > killed + 50, "requests without the server");
      await until(() => daemons.every((daemon) => /until this is over, sums stay in memory/.test(daemon.log)), "a line in the log");
      await until(async () => (await metric(daemons[0], "signalbox_spending_works")) === 0, "the trouble in the metrics");
      assert.ok((await metric(daemons[0], "signalbox_spending_waiting")) >= 1, "sums that wait");
      const report = await spending(daemons[0], "steady");
      assert.equal(report.status, 502, JSON.stringify(report));
      assert.doesNotMatch(JSON.stringify(report), new RegExp(postgres.password));
      await postgres.startAgain();
      await until(() => daemons.every((daemon) => /the sums are written again/.test(daemon.log)), "the end in the log");
      await until(async () => (await metric(daemons[0], "signalbox_spending_works")) === 1, "the end in the metrics");
      for (const daemon of daemons) daemon.log = "";
    }
  });
  assert.deepEqual(answered.filter((each) => each.status !== 200), []);
  await until(async () => (await spending(daemons[0], "steady")).requests >= answered.length && (await spending(daemons[1], "steady")).requests >= answered.length, "all requests");
  assert.equal(reported("steady"), answered.length);
  for (const daemon of daemons) await until(async () => Math.abs((await known(daemon, "team", "rich")) - (answered.length + 2) * kCost) < 1e-6, "the budget");
});

test("kill -9 of a router loses at most its last second", { skip: kSkip }, async () => {
  const key = await make("killed");
  let killedAt = 0;
  const answered = await underLoad(key, async (done) => {
    await until(() => done.length > 100, "requests");
    await pause(1000);
    daemons[1].process.kill("SIGKILL");
    killedAt = performance.now();
    await daemons[1].exited;
    await until(() => done.length > 150, "requests of the other router");
  });
  await revive(daemons[1]);
  // The router that ran has written everything once it has flushed for its report.
  await settled(daemons[0]);
  const counted = (await spending(daemons[0], "killed")).requests;
  const atRisk = answered.filter(({ at }) => at > killedAt - 1000 && at <= killedAt).length;
  assert.ok(answered.length - counted <= atRisk, `${answered.length - counted} of ${answered.length} lost, ${atRisk} in the last second`);
  // A request may count although its answer did not arrive.
  assert.ok(counted <= answered.length + 4, `${counted} counted of ${answered.length}`);
});

test("tables of another version are refused, and no message has the password", { skip: kSkip }, async () => {
  const table = "other_spending";
  const other = join(folder, "other.yaml");
  const text = await readFile(daemons[0].file, "utf8");
  const run = (section) => {
    writeFileSync(other, text.replace(/postgres: {.*}/, `postgres: ${section}`));
    try {
      return { output: execFileSync(process.env.SIGNALBOX, ["report", "--config", other], { encoding: "utf8", stdio: "pipe" }) };
    } catch (error) {
      return { error: error.stderr };
    }
  };
  assert.match(run(postgres.section({ table_name: table })).output, /^key +requests/);
  postgres.ask(`UPDATE ${table}_state SET version = 2`);
  assert.match(run(postgres.section({ table_name: table })).error, /table other_spending: expected version 1 of its form, found 2/);
  const wrong = run(postgres.section({ password: "Falsch-8Lu" })).error;
  assert.match(wrong, /postgres 127\.0\.0\.1:\d+: .*password authentication failed/);
  assert.doesNotMatch(wrong, /Falsch/);
  assert.match(run(postgres.section({ table_name: "x".repeat(49) })).error, /table_name: expected at most 48 bytes/);
});
