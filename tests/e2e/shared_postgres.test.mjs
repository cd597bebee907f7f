// Tests stored responses and records of requests that two routers share in a real PostgreSQL over TLS, also while it or a router
// is killed under load.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { issue, makeAuthority } from "./certificates.mjs";
import { Daemon, metric, withDaemon } from "./daemon.mjs";
import { Postgres } from "./postgres.mjs";
import { client, idsOf, manage, say } from "./replays.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";

const kSkip = Postgres.missing();
const kKills = Number(process.env.SIGNALBOX_KILLS ?? 3);
let folder, upstream, postgres;
const daemons = [];

const server = (more = {}) => postgres.section({ host: "localhost", ssl_mode: "verify-full", ssl_root_cert: join(folder, "ca.pem"), ...more });
const configuration = (port, managementPort, section = server()) => `
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
    response_api: {store_backend: postgres, postgres: ${section}}
    router_replay: {enabled: true, store_backend: postgres, ttl_seconds: 600, max_records: 500, postgres: ${section}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const ask = (daemon, input, more = {}) => client(daemon).responses.create({ model: "auto", input, ...more });
async function stream(daemon, input, more = {}) {
  for await (const event of await ask(daemon, input, { stream: true, ...more })) if (event.type === "response.completed") return event.response;
}

const kConversation = ["One", "Fine.", "Two"];
const continued = () => upstream.received.messages.map(({ content }) => content);
const isMissing = (error) => error.status === 404;
const both = (name, value) => until(async () => (await Promise.all(daemons.map((daemon) => metric(daemon, `signalbox_shared_${name}_works`)))).every((works) => works === value), `${name}: ${value}`);
const works = async (value) => (await both("responses", value), await both("replay", value));

/// Signals all processes of the server.
function signalServer(signal) {
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(postgres.process.pid)], { encoding: "utf8" });
  for (const pid of [postgres.process.pid, ...children.split("\n").filter(Boolean).map(Number)]) process.kill(pid, signal);
}

before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-shared-postgres-"));
  makeAuthority(folder, "ca");
  issue(folder, "server", "ca", "DNS:localhost");
  upstream = await ScriptedUpstream.start();
  upstream.answer = (received) => (received.stream ? streamed([{ content: "Fi" }, { content: "ne." }], "stop") : completion({ content: "Fine." }));
  postgres = await Postgres.on(folder, { cert: join(folder, "server.pem"), key: join(folder, "server.key") });
  for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration));
  await works(1);
});

after(async () => {
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  await postgres?.remove();
  await upstream?.stop();
  if (folder) await rm(folder, { recursive: true });
});

test("the other router continues a response, whole or streamed, for its owner only", { skip: kSkip }, async () => {
  for (const make of [ask, stream]) {
    const first = await make(daemons[0], "One");
    const second = await make(daemons[1], "Two", { previous_response_id: first.id });
    assert.deepEqual(continued(), kConversation);
    await make(daemons[0], "Three", { previous_response_id: second.id });
    assert.deepEqual(continued(), [...kConversation, "Fine.", "Three"]);
    assert.equal((await client(daemons[1]).responses.retrieve(first.id)).output[0].content[0].text, "Fine.");
    await assert.rejects(client(daemons[1], "bob").responses.retrieve(first.id), isMissing);
  }
  assert.equal(postgres.ask("SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'signalbox' AND NOT ssl"), "0");
});

test("a deletion applies to all routers", { skip: kSkip }, async () => {
  const { id } = await ask(daemons[0], "One");
  await client(daemons[1]).responses.delete(id);
  for (const daemon of daemons) {
    await assert.rejects(client(daemon).responses.retrieve(id), isMissing);
    await assert.rejects(ask(daemon, "Two", { previous_response_id: id }), (error) => error.status === 400 && error.message.includes("there is no response"));
  }
  assert.equal(postgres.ask(`SELECT count(*) FROM signalbox_responses_responses WHERE id = '${id}' AND record IS NOT NULL`), "0");
});

test("a response survives kill -9 of its router right after the reply", { skip: kSkip }, async () => {
  for (let i = 0; i < kKills; ++i) {
    await withDaemon(configuration, async (third) => {
      const { id } = await (i % 2 === 0 ? ask : stream)(third, "One");
      third.process.kill("SIGKILL");
      await ask(daemons[0], "Two", { previous_response_id: id });
      assert.deepEqual(continued(), kConversation);
    });
  }
});

test("the other router lists, shows and rates what one has recorded, and deletes it by user", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  const plain = await say(one, "ada", "hello");
  const captured = await say(one, "ada", "help me, zebra");
  const kept = await say(one, "eve", "hello");
  await until(async () => (await idsOf(other, "?user=ada")).length === 2 && (await idsOf(other, "?user=eve")).length === 1, "the records");
  assert.deepEqual(await idsOf(other, "?user=ada"), [captured, plain]);
  assert.deepEqual(await idsOf(other, "?user=ada&decision=support"), [captured]);
  const outcome = await manage(other, "POST", "/v1/router/outcomes", { replay_id: captured, verdict: "underpowered" });
  assert.deepEqual([outcome.status, outcome.body.recorded], [200, true], JSON.stringify(outcome.body));
  const { body } = await manage(one, "GET", `/v1/router_replay/${captured}`);
  assert.match(body.request_body, /help me, zebra/);
  assert.equal(body.outcomes[0].verdict, "underpowered");
  const deletion = await manage(other, "DELETE", "/v1/router_replay?user=ada");
  assert.deepEqual([deletion.status, deletion.body.deleted], [200, 2]);
  assert.deepEqual(await idsOf(one, "?user=ada"), []);
  assert.deepEqual(await idsOf(one, "?user=eve"), [kept]);
  assert.equal(postgres.ask("SELECT count(*) FROM signalbox_replay_parts WHERE convert_from(bytes, 'LATIN1') LIKE '%zebra%'"), "0");
});

test("while the server is killed under load, no request fails, and no acknowledged response is lost", { skip: kSkip }, async () => {
  const made = [];
  let runs = true;
  const load = daemons.flatMap((daemon) =>
    Array.from({ length: 4 }, async () => {
      let previous;
      while (runs) {
        const next = await ask(daemon, "One", previous && { previous_response_id: previous });
        made.push(next.id);
        previous = made.length % 3 === 0 ? undefined : next.id;
      }
    }),
  );
  for (let kills = 0; kills < 2; ++kills) {
    const before = made.length;
    await until(() => made.length > before + 40, "requests before");
    await postgres.kill();
    const killed = made.length;
    await until(() => made.length > killed + 100, "requests without the server");
    await works(0);
    await postgres.startAgain();
    await works(1);
  }
  runs = false;
  await Promise.all(load);
  await until(async () => (await Promise.all(daemons.map((daemon) => metric(daemon, "signalbox_shared_responses_waiting")))).every((waiting) => waiting === 0), "all to be written");
  assert.equal(postgres.ask(`SELECT count(*) FROM signalbox_responses_responses WHERE record IS NOT NULL AND id = ANY ('{${made.join(",")}}')`), String(made.length));
  for (const { log } of daemons) {
    assert.match(log, /response_api: postgres localhost:\d+: .*; until this is over, new responses stay in this router/);
    assert.match(log, /router_replay: postgres localhost:\d+: .*; until this is over, new records wait/);
    assert.ok(!log.includes(postgres.password));
  }
});

test("while the server is stopped, requests are served without waiting for it", { skip: kSkip }, async () => {
  const [one, other] = daemons;
  const mine = await ask(one, "One");
  signalServer("SIGSTOP");
  try {
    const during = await ask(one, "One"); // this one may wait for the server
    await works(0);
    const began = Date.now();
    for (let i = 0; i < 20; ++i) {
      await ask(one, "Two", { previous_response_id: i % 2 === 0 ? mine.id : during.id });
      assert.deepEqual(continued(), kConversation);
    }
    assert.ok(Date.now() - began < 30_000, `requests waited: ${Date.now() - began} ms`); // each may wait so long for the server
    const hidesServer = (error) => error.status === 502 && !/postgres|localhost/.test(error.message);
    await assert.rejects(ask(other, "Two", { previous_response_id: during.id }), hidesServer);
    await assert.rejects(client(one).responses.delete(mine.id), (error) => hidesServer(error) && error.message.includes("not deleted"));
    for (const [method, path] of [["GET", ""], ["DELETE", "?all=true"]]) {
      const { status, body } = await manage(one, method, `/v1/router_replay${path}`);
      assert.deepEqual([status, body.error.code], [503, "SERVICE_UNAVAILABLE"]);
    }
  } finally {
    signalServer("SIGCONT");
  }
  await works(1);
  const { id } = await ask(one, "One");
  await ask(other, "Two", { previous_response_id: id });
  assert.deepEqual(continued(), kConversation);
});

test("a router with a wrong password starts and works alone, and its log does not have the password", { skip: kSkip }, async () => {
  const wrong = (...ports) => configuration(...ports, server({ password: "Falsch-8Lu" }));
  await withDaemon(wrong, async (third) => {
    const { id } = await ask(third, "One");
    await ask(third, "Two", { previous_response_id: id });
    assert.deepEqual(continued(), kConversation);
    await until(() => /response_api: postgres localhost:\d+: .*password authentication failed/.test(third.log), "the line of the log");
    assert.doesNotMatch(third.log, /Falsch/);
  });
});

test("config check names the line of a wrong key", { skip: kSkip }, async () => {
  const file = join(folder, "wrong.yaml");
  await writeFile(file, configuration(1, 2, server({ table_name: "x".repeat(49) })));
  assert.throws(() => execFileSync(process.env.SIGNALBOX, ["config", "check", file], { encoding: "utf8", stdio: "pipe" }), (error) => {
    assert.match(error.stdout + error.stderr, /wrong\.yaml:22: global\.services\.response_api\.postgres\.table_name: expected at most 48 bytes/);
    assert.match(error.stdout + error.stderr, /wrong\.yaml:23: global\.services\.router_replay\.postgres\.table_name: expected at most 48 bytes/);
    return true;
  });
});
