// Tests both stores in PostgreSQL, clients' keys and cached answers, over TLS: with `verify-full`, the router gives its
// password only to a server that has a certificate for the host's name by an authority that it trusts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { issue, makeAuthority } from "./certificates.mjs";
import { Daemon, withDaemon } from "./daemon.mjs";
import { Postgres } from "./postgres.mjs";
import { until } from "./until.mjs";
import { RepeatingUpstream } from "./upstream.mjs";

const skip = Postgres.missing();
let folder, postgres, upstream;
const path = (name) => join(folder, name);
const connections = (condition) =>
  postgres.ask(`SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'signalbox' AND ${condition}`);

const kTrusted = { host: "localhost", ssl_mode: "verify-full" };
const kWrong = {
  "a certificate for another name": { host: "127.0.0.1", authority: "ca.pem", reason: /does not match host name/ },
  "a certificate by an unknown authority": { authority: "stranger.pem", reason: /certificate verify failed/ },
  "TLS without the file of the authorities": { authority: "missing.pem", reason: /root certificate file .* does not exist/ },
};
/// The two places of the authorities' file: the key of the file, and the variable that libpq reads if the key is not there. With
/// the key, the variable names the other authority.
const kPlaces = {
  ssl_root_cert: (authority) => {
    process.env.PGSSLROOTCERT = path(authority === "ca.pem" ? "stranger.pem" : "ca.pem");
    return { ssl_root_cert: path(authority) };
  },
  PGSSLROOTCERT: (authority) => {
    process.env.PGSSLROOTCERT = path(authority);
    return {};
  },
};

const configuration = ({ keys, answers }) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: repeat}
  models: [{name: repeat, backend_refs: [{name: repeat, endpoint: "127.0.0.1:${upstream.port}"}]}]
routing:
  decisions:
    - {name: kept, modelRefs: [{model: repeat}], plugins: [{type: response_cache, configuration: {mode: exact}}]}
global:
  access: ${keys ? `{keys_store: {backend: postgres, postgres: ${postgres.section(keys)}}}` : "{}"}
  stores: ${answers ? `{response_cache: {backend_type: postgres, postgres: ${postgres.section(answers)}}}` : "{}"}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

async function ask(daemon, key) {
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Good morning" }] });
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers, body });
  await answer.arrayBuffer();
  return { status: answer.status, hit: answer.headers.get("x-vsr-cache-hit") };
}
const newKey = (file, name) => execFileSync(process.env.SIGNALBOX, ["keys", "new", name, "--config", file], { encoding: "utf8", stdio: "pipe" }).trim();

before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-postgres-tls-"));
  makeAuthority(folder, "ca");
  makeAuthority(folder, "stranger");
  issue(folder, "server", "ca", "DNS:localhost");
  postgres = await Postgres.on(folder, { cert: path("server.pem"), key: path("server.key") });
  upstream = await RepeatingUpstream.start();
});

after(async () => {
  if (skip) return;
  await postgres?.remove();
  await upstream?.stop();
  await rm(folder, { recursive: true });
});

for (const [place, trust] of Object.entries(kPlaces)) test(`keys and answers lie on a server that proves its name (${place})`, { skip }, async () => {
  const server = { ...kTrusted, ...trust("ca.pem") };
  const both = configuration({ keys: server, answers: server });
  await withDaemon(both, async (first) => {
    const key = newKey(first.file, `ann-${place}`);
    await until(async () => (await ask(first, key)).status === 200, "the key to be accepted");
    await until(() => Number(postgres.ask("SELECT count(*) FROM signalbox_answers")) > 0, "the answer to be stored");
    await withDaemon(both, async (second) => {
      await until(async () => (await ask(second, key)).hit === "true", "the answer of the other router");
    });
    assert.notEqual(connections("ssl"), "0");
    assert.equal(connections("NOT ssl"), "0");
  });
});

for (const [what, { authority, reason, ...more }] of Object.entries(kWrong)) {
  test(`keys are neither read nor written over ${what}`, { skip }, async () => {
    const server = { ...kTrusted, ...more, ...kPlaces.ssl_root_cert(authority) };
    const file = path("keys.yaml");
    await writeFile(file, configuration({ keys: server })(1, 2));
    assert.throws(() => newKey(file, "bob"), (error) => {
      assert.match(error.stderr, reason);
      assert.ok(!error.stderr.includes(postgres.password));
      return true;
    });
    const daemon = await Daemon.start(configuration({ keys: server }), undefined, undefined, 503);
    try {
      const refused = await until(() => ask(daemon, "sb-any").catch(() => null), "the listener");
      assert.equal(refused.status, 503);
    } finally {
      await daemon.stop();
    }
  });

  test(`answers are neither read nor written over ${what}`, { skip }, async () => {
    const server = { ...kTrusted, ...more, ...kPlaces.ssl_root_cert(authority) };
    await withDaemon(configuration({ answers: server }), async (daemon) => {
      const stored = postgres.ask("SELECT count(*) FROM signalbox_answers");
      assert.deepEqual(await ask(daemon, "sb-any"), { status: 200, hit: null });
      await until(() => reason.test(daemon.log), "the line of the log");
      assert.equal(postgres.ask("SELECT count(*) FROM signalbox_answers"), stored);
    });
  });
}
