// Tests that two routers share clients' keys over a real server. A key that one router makes is accepted by the other.
// A revoked key is refused by both. If the server is killed and comes back empty, valid keys stay valid and revoked
// keys stay revoked.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon, accepts, metric } from "./daemon.mjs";
import { until } from "./until.mjs";
import { completion, ScriptedUpstream } from "./upstream.mjs";

let folder, upstream, server;
export const daemons = [];
const secrets = [];

const configuration = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{name: small, endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  decisions: []
global:
  access:
    keys_store: ${server.keysStore()}
  services:
    audit: {file: audit.jsonl}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const ask = (daemon, apiKey) =>
  new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 }).chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Hello" }] });
const listed = async (daemon, key) => {
  const answer = await fetch(`${daemon.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return answer.status;
};
// Accepts 429, too, because repeated attempts may exceed sixty failures a minute.
const refused = (daemon, key) => until(async () => [401, 429].includes(await listed(daemon, key)), "the key to be refused");
const works = (daemon, value) => until(async () => (await metric(daemon, "signalbox_shared_keys_works")) === value, `works ${value}`);

async function api(daemon, method, path, body) {
  const headers = await daemon.authorization();
  const answer = await fetch(`${daemon.managementUrl}/api/v1/keys${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}
async function make(daemon, name, more = {}) {
  const made = await api(daemon, "POST", "", { name, ...more });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  secrets.push(made.body.key);
  return made.body.key;
}
const keys = (...words) => {
  const out = execFileSync(process.env.SIGNALBOX, ["keys", ...words, "--config", daemons[0].file], { encoding: "utf8", stdio: "pipe" }).trim();
  if (words[0] === "new") secrets.push(out);
  return out;
};
const noted = async (daemon, part) => (await readFile(join(daemon.folder, "audit.jsonl"), "utf8")).split(part).length - 1;

/// Defines the tests over a server of this class.
export function testSharedKeys(Server) {
  const kSkip = Server.missing();

  before(async () => {
    if (kSkip) return;
    folder = await mkdtemp(join(tmpdir(), "signalbox-shared-"));
    server = await Server.on(folder);
    if (server.password) secrets.push(server.password);
    upstream = await ScriptedUpstream.start();
    upstream.answer = () => completion({ content: "Hello" });
    for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration));
  });

  after(async () => {
    if (kSkip) return;
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    await server.remove();
    await upstream.stop();
    await rm(folder, { recursive: true });
  });

  test("a key that one router makes is accepted by the other, and one that is revoked is refused", { skip: kSkip }, async () => {
    const [a, b] = daemons;
    await assert.rejects(ask(a, "sb-wrong"), (error) => error instanceof OpenAI.AuthenticationError);
    const key = await make(a, "ann", { limits: [{ requests_per_unit: 1000, unit: "minute" }] });
    assert.equal((await ask(a, key)).choices[0].message.content, "Hello", "it counts at once");
    await accepts(b, key);
    assert.equal((await ask(b, key)).choices[0].message.content, "Hello");
    const found = (await api(b, "GET", "")).body;
    assert.equal(found.store.works, true);
    assert.deepEqual(found.keys.map(({ name, from }) => ({ name, from })), [{ name: "ann", from: "store" }]);
    assert.equal((await api(b, "DELETE", "/ann")).status, 200);
    assert.equal(await listed(b, key), 401, "it ends at once");
    await refused(a, key);
    await assert.rejects(ask(a, key), (error) => error.status === 401 || error.status === 429);
  });

  test("commands change the keys of both routers", { skip: kSkip }, async () => {
    const key = keys("new", "bob");
    for (const daemon of daemons) await accepts(daemon, key);
    assert.match(keys("list"), /^bob {2}user bob$/m);
    assert.throws(() => keys("new", "bob"), /there is a key \\?"bob\\?" already/);
    const limited = keys("new", "lim", "--requests-per-minute", "1");
    for (const daemon of daemons) await accepts(daemon, limited);
    await ask(daemons[0], limited);
    await assert.rejects(ask(daemons[0], limited), (error) => error instanceof OpenAI.RateLimitError && /key lim/.test(error.message));
    keys("revoke", "bob");
    for (const daemon of daemons) await refused(daemon, key);
  });

  test("keys of a file are imported", { skip: kSkip }, async () => {
    const file = join(folder, "old.yaml");
    await writeFile(file, configuration(1, 2).replace(/keys_store: .*/, "keys_file: old.json"));
    const key = execFileSync(process.env.SIGNALBOX, ["keys", "new", "old", "--config", file], { encoding: "utf8", stdio: "pipe" }).trim();
    keys("import", join(folder, "old.json"));
    for (const daemon of daemons) await accepts(daemon, key);
    assert.throws(() => keys("import", join(folder, "old.json")), /already/);
    const copy = join(folder, "copy.json");
    await writeFile(copy, (await readFile(join(folder, "old.json"), "utf8")).replace('"old"', '"copy"'));
    assert.throws(() => keys("import", copy), /same hash/);
  });

  test("changes at once from both routers are not lost", { skip: kSkip }, async () => {
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => make(daemons[i % 2], `many-${i}`)));
    for (const key of made) for (const daemon of daemons) await accepts(daemon, key);
  });

  test("while the server is away, known keys pass and no key is changed; an empty server gets them again", { skip: kSkip }, async () => {
    const [a, b] = daemons;
    const key = await make(a, "stays"), gone = await make(b, "gone");
    for (const daemon of daemons) for (const each of [key, gone]) await accepts(daemon, each);
    assert.equal((await api(a, "DELETE", "/gone")).status, 200);
    await refused(b, gone);
    await server.kill();
    for (const daemon of daemons) {
      await works(daemon, 0);
      assert.equal((await ask(daemon, key)).choices[0].message.content, "Hello");
      for (const [method, path, body] of [["POST", "", { name: "no" }], ["DELETE", "/stays", undefined]]) {
        const answer = await api(daemon, method, path, body);
        assert.equal(answer.status, 503, JSON.stringify(answer.body));
        assert.equal(answer.body.error.code, "KEYS_UNAVAILABLE");
      }
      const { store, keys: all } = (await api(daemon, "GET", "")).body;
      assert.equal(store.works, false);
      assert.ok(store.trouble && all.some((each) => each.name === "stays"));
      await until(() => /the keys that were read last go on working for 86400 s/.test(daemon.log), "the line of the log");
    }
    assert.throws(() => keys("list"), (error) => error.stderr.includes(`global.access.keys_store: ${server.name}`) && !secrets.some((each) => error.stderr.includes(each)));
    const late = await Daemon.start(configuration, undefined, undefined, 503);
    try {
      const readiness = async () => await (await fetch(`${late.managementUrl}/ready`)).json();
      await until(async () => /could not read the clients' keys/.test((await readiness()).message), "the reason in /ready");
      await assert.rejects(ask(late, key), (error) => error.status === 503 && error.code === "keys_unavailable");
      assert.equal((await fetch(`${late.url}/v1/models`)).status, 401, "without a key, nobody passes");
      const hash = createHash("sha256").update("sb-own").digest("hex");
      const text = await readFile(late.file, "utf8");
      await writeFile(late.file, text.replace("  access:", `  access:\n    keys: [{name: own, hash: "sha256:${hash}"}]`));
      await accepts(late, "sb-own"); // a reload with the same store succeeds although the store is away
      assert.equal((await readiness()).ready, false);
      await server.start(); // without its data
      for (const daemon of [...daemons, late]) {
        await works(daemon, 1);
        await accepts(daemon, key);
        await refused(daemon, gone);
      }
      await until(async () => (await noted(late, '"event":"keys_read"')) === 1, "keys_read");
      await until(async () => (await readiness()).ready, "/ready to succeed");
    } finally {
      await late.stop();
    }
    await until(() => daemons.some((daemon) => /had lost keys; it has the \d+ that this router knows again/.test(daemon.log)), "the line of the log");
    await accepts(a, await make(b, "after"));
    assert.equal(await metric(b, "signalbox_shared_keys_known"), (await api(b, "GET", "")).body.keys.length);
  });

  test("the audit log of each router has each change once, and nothing has a key", { skip: kSkip }, async () => {
    for (const daemon of daemons) {
      for (const [event, name] of [["key_added", "ann"], ["key_removed", "ann"], ["key_added", "bob"], ["key_added", "stays"], ["key_removed", "gone"], ["key_added", "after"]])
        await until(async () => (await noted(daemon, `"event":"${event}","key":"${name}"`)) === 1, `${event} ${name}`);
      for (const name of ["stays", "bob"]) assert.equal(await noted(daemon, `"event":"key_added","key":"${name}"`), 1);
      const audit = await readFile(join(daemon.folder, "audit.jsonl"), "utf8");
      for (const secret of secrets) assert.ok(!daemon.log.includes(secret) && !audit.includes(secret));
    }
    const stored = await server.storedKeys();
    assert.match(stored, /sha256:/);
    for (const secret of secrets) assert.ok(!stored.includes(secret));
  });
}
