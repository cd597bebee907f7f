// Tests the audit log: what it notes of changes and refusals, its chain after kill -9, and what happens when it cannot be
// written.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";


const configuration = (more = "", contexts = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{name: echo, type: echo}]}
    - {name: careful, pii_policy: {allow_by_default: false}, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: mail, keywords: [mail]}
  decisions:
    - name: mails
      rules: {type: keyword, name: mail}
      modelRefs: [{model: careful}]
global:
  access:
    keys_file: keys.json
${contexts}  services:
    audit: {file: audit/audit.jsonl${more}}
    management_api:
      bind_address: 127.0.0.1
      port: ${managementPort}
      auth: {mode: bearer, tokens: [{env: AUDIT_TEST_ADMIN, role: admin}, {env: AUDIT_TEST_VIEWER, role: viewer}]}
`;

process.env.AUDIT_TEST_ADMIN = "admin-secret";
process.env.AUDIT_TEST_VIEWER = "viewer-secret";

let daemon, contexts;

const folder = (of = daemon) => join(of.folder, "audit");
const logFile = (of = daemon) => join(folder(of), "audit.jsonl");
const refusalsFile = (of = daemon) => join(folder(of), "audit-refusals.jsonl");

async function entries(of = daemon) {
  const texts = await Promise.all([logFile(of), refusalsFile(of)].map((file) => readFile(file, "utf8").catch(() => "")));
  return texts.flatMap((text) => text.split("\n").slice(0, -1)).map((line) => JSON.parse(line));
}

/// Waits for an entry with these members.
const noted = (wanted, of = daemon) =>
  until(
    async () => (await entries(of)).find((entry) => Object.entries(wanted).every(([name, value]) => entry[name] === value)),
    JSON.stringify(wanted),
  );

/// Verifies a chain, whose files begin with the name of `file`.
async function verify(file = logFile(), of = daemon) {
  const files = (await readdir(folder(of))).map((name) => join(folder(of), name)).filter((name) => name.startsWith(file));
  return execFileSync(process.env.SIGNALBOX, ["audit", "verify", ...files], { encoding: "utf8", stdio: "pipe" });
}

function restart(one) {
  one.process = spawn(process.env.SIGNALBOX, ["serve", "--config", one.file], { stdio: ["ignore", "ignore", "pipe"] });
  one.process.stderr.setEncoding("utf8").on("data", (piece) => (one.log += piece));
  one.exited = new Promise((done) => one.process.on("close", (code, signal) => done({ code, signal })));
}

const ready = (one) =>
  until(async () => (await fetch(`${one.managementUrl}/ready`).catch(() => null))?.status === 200, "it is ready");

const manage = (method, path, body, token = "admin-secret", of = daemon) =>
  fetch(`${of.managementUrl}${path}`, { method, body: body && JSON.stringify(body), headers: { authorization: `Bearer ${token}` } });

const chat = (key, content, of = daemon, model = "auto") =>
  fetch(`${of.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content }] }),
  });

async function newKey(members, of = daemon) {
  const answer = await manage("POST", "/api/v1/keys", members, undefined, of);
  assert.equal(answer.status, 201);
  return (await answer.json()).key;
}

before(async () => {
  contexts = await mkdtemp(join(tmpdir(), "signalbox-contexts-"));
  daemon = await Daemon.start(configuration("", `  stores: {contexts: {directory: "${contexts}"}}\n`));
});

after(async () => {
  await daemon?.stop();
  await rm(contexts, { recursive: true });
});

test("each change has its user, kind and address, and the state before and after", async () => {
  await noted({ event: "started" });
  await newKey({ name: "ann" });
  const made = await noted({ event: "change", path: "/api/v1/keys" });
  assert.deepEqual({ ...made, entry: 0, time: 0, previous: 0 }, {
    entry: 0, time: 0, previous: 0, event: "change", who: "role admin", token: "AUDIT_TEST_ADMIN", from: "127.0.0.1", method: "POST", path: "/api/v1/keys", what: "ann", status: 201,
  });
  await noted({ event: "key_added", key: "ann" });
  assert.equal((await manage("DELETE", "/api/v1/keys/ann")).status, 200);
  await noted({ event: "change", method: "DELETE", what: "ann", status: 200 });
  await noted({ event: "key_removed", key: "ann" });

  const patch = await manage("PATCH", "/config/router", { providers: { defaults: { default_model: "careful" } } });
  assert.equal(patch.status, 200);
  const { version, hash } = await patch.json();
  const change = await noted({ event: "change", method: "PATCH", after: hash });
  assert.notEqual(change.before, change.after);
  await noted({ event: "configuration", before: change.before, after: hash, generation: 2 });
  assert.equal((await manage("POST", "/config/router/rollback", { version })).status, 200);
  await noted({ event: "change", path: "/config/router/rollback", before: hash });
  assert.equal((await manage("DELETE", "/api/v1/response-cache/entries?all=true")).status, 200);
  await noted({ event: "change", path: "/api/v1/response-cache/entries", what: "all=true" });
  assert.equal((await manage("DELETE", "/v1/router/outcomes")).status, 200);
  await noted({ event: "change", path: "/v1/router/outcomes" });
  assert.equal((await manage("POST", "/config/router/validate", { config: {} })).status, 200);
  await newKey({ name: "validate" });
  assert.equal((await manage("DELETE", "/api/v1/keys/validate")).status, 200);
  await noted({ event: "change", method: "DELETE", what: "validate" });
  assert.ok(!(await entries()).some(({ path }) => path?.startsWith("/config/router/validate")));

  await writeFile(daemon.file, (await readFile(daemon.file, "utf8")).replace("[mail]", "[mail, letter]"));
  await noted({ event: "configuration", generation: 4 });
  await writeFile(daemon.file, "nonsense: [");
  await noted({ event: "configuration_rejected" });
  assert.match(await verify(), /entries are as they were written/);
  const alone = join(folder(), "one");
  await writeFile(alone, `${(await readFile(logFile(), "utf8")).split("\n")[0]}\n`);
  assert.match(await verify(alone), /^1 entry is as it was written$/m);
});

test("each refusal has its reason and no texts", async () => {
  const key = await newKey({ name: "bob", user: "robert", models: ["careful"], limits: [{ requests_per_unit: 3, unit: "hour" }] });
  assert.equal((await chat("sb-wrong", "Hello")).status, 401);
  await noted({ event: "refused", reason: "unknown_key", status: 401, from: "127.0.0.1" });
  const token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
  assert.equal((await chat(token, "Hello")).status, 401);
  assert.equal((await chat(key, "Hello", daemon, "small")).status, 403);
  await noted({ event: "refused", reason: "forbidden", status: 403, key: "bob", user: "robert" });
  const secret = "jo.secretary@example.com";
  const answer = await chat(key, `Please mail ${secret}`);
  const refused = await noted({ event: "refused", reason: "pii_policy_denied", key: "bob" });
  assert.equal(refused.decision, "mails");
  assert.equal(refused.status, answer.status);
  while ((await chat(key, "mail")).status !== 429);
  await noted({ event: "refused", reason: "rate_limited", key: "bob", status: 429 });
  assert.equal((await manage("DELETE", "/api/v1/keys/bob", undefined, "viewer-secret")).status, 403);
  await noted({ event: "refused", who: "role viewer", token: "AUDIT_TEST_VIEWER", method: "DELETE", path: "/api/v1/keys/bob", status: 403 });
  assert.equal((await manage("GET", "/api/v1/keys", undefined, "wrong")).status, 401);
  await noted({ event: "refused", who: "unknown token", path: "/api/v1/keys", status: 401 });
  assert.equal((await fetch(`${daemon.url}/v1/models`, { headers: { origin: "https://elsewhere.example" } })).status, 403);
  await noted({ event: "refused", reason: "foreign_page", status: 403 });
  assert.equal((await manage("GET", "/api/v1/keys?api_key=sb-in-the-query", undefined, "wrong")).status, 401);
  assert.equal((await manage("POST", "/api/v1/chat", {}, "wrong")).status, 401);
  await noted({ event: "refused", path: "/api/v1/chat", status: 401 });
  const lines = (text) => text.split("\n").slice(0, -1).map((line) => JSON.parse(line)).reverse();
  const newest = await (await manage("GET", "/api/v1/audit?limit=1000")).json();
  assert.deepEqual(newest, { file: "audit.jsonl", changes: lines(await readFile(logFile(), "utf8")), refusals: lines(await readFile(refusalsFile(), "utf8")) });
  assert.equal((await (await manage("GET", "/api/v1/audit?limit=2")).json()).refusals.length, 2);
  assert.equal((await manage("GET", "/api/v1/audit", undefined, "viewer-secret")).status, 403);
  const text = (await readFile(logFile(), "utf8")) + (await readFile(refusalsFile(), "utf8"));
  for (const hidden of ["sb-in-the-query", token, "eyJ", secret, "Please", key, "sb-wrong", "admin-secret", "viewer-secret"]) assert.ok(!text.includes(hidden), hidden);
});

test("deletions of contexts by clients are in the log", async () => {
  const key = await newKey({ name: "carl" });
  const headers = { authorization: `Bearer ${key}` };
  const body = JSON.stringify({ messages: [{ role: "user", content: "A long context" }] });
  const { id } = await (await fetch(`${daemon.url}/v1/contexts`, { method: "POST", headers, body })).json();
  assert.equal((await fetch(`${daemon.url}/v1/contexts/${id}`, { method: "DELETE", headers })).status, 200);
  await noted({ event: "deleted", what: "context", path: `/v1/contexts/${id}`, key: "carl" });
});

test("a changed line is found", async () => {
  const lines = (await readFile(refusalsFile(), "utf8")).split("\n");
  const copy = join(daemon.folder, "copy.jsonl");
  const at = lines.findIndex((line) => line.includes('"status":401'));
  lines[at] = lines[at].replace('"status":401', '"status":200');
  await writeFile(copy, lines.join("\n"));
  assert.throws(
    () => execFileSync(process.env.SIGNALBOX, ["audit", "verify", copy], { encoding: "utf8", stdio: "pipe" }),
    (error) => error.status === 1 && error.stderr.includes(`copy.jsonl:${at + 1}: this line or the next one was changed`),
  );
});

test("refusals beyond the limit are counted, and none of them is a line of the changes", async () => {
  const one = await Daemon.start(configuration());
  await newKey({ name: "early" }, one);
  const statuses = [];
  for (let i = 0; i < 500; ++i) statuses.push((await chat("sb-wrong", "Hello", one)).status);
  one.process.kill("SIGTERM");
  await one.exited;
  const refused = (await entries(one)).filter(({ event }) => event === "refused");
  const counts = (await entries(one)).filter(({ event, from }) => event === "refusals_omitted" && from === "127.0.0.1");
  assert.ok(refused.every(({ status }) => status === 401));
  assert.ok(statuses.includes(429));
  assert.equal(refused.length + counts.reduce((sum, { count }) => sum + count, 0), statuses.length);
  const changes = (await readFile(logFile(one), "utf8")).split("\n").slice(0, -1).map((line) => JSON.parse(line).event);
  assert.deepEqual(changes.sort(), ["change", "key_added", "started"]);
  await rm(one.folder, { recursive: true });
});

test("after kill -9 the chain holds and goes on, and a torn line is cut off", async () => {
  const one = await Daemon.start(configuration(", bytes_max: 64KiB"));
  const remove = async () => {
    for (;;) if ((await manage("DELETE", "/api/v1/response-cache/entries?all=true", undefined, undefined, one).catch(() => null)) === null) return;
  };
  const sending = [remove(), remove()];
  await until(async () => (await readdir(folder(one))).filter((name) => /\d{6}$/.test(name)).length > 0, "the file is full once");
  one.process.kill("SIGKILL");
  await one.exited;
  await Promise.all(sending);
  const size = (await readFile(logFile(one))).length;
  assert.match(await verify(logFile(one), one), /entries are as they were written/);
  await writeFile(logFile(one), `${await readFile(logFile(one), "utf8")}{"entry":1,"ti`);
  assert.match(await verify(logFile(one), one), /the last line is torn/);

  restart(one);
  await noted({ event: "torn_line_cut" }, one);
  assert.ok((await readFile(logFile(one))).length > size);
  assert.match(await verify(logFile(one), one), /entries are as they were written/);
  await ready(one);
  await until(() => one.log.includes("the last line was torn"));
  await one.stop();
});

test("after kill -9 each change that was answered has its line", async () => {
  const kills = Number(process.env.SIGNALBOX_KILLS ?? 4);
  const one = await Daemon.start(configuration());
  for (let i = 0; i < kills; ++i) {
    const answered = [];
    const load = Array.from({ length: 4 }, async (_, sender) => {
      for (let n = 0; ; ++n) {
        const name = `key-${i}-${sender}-${n}`;
        const reply = await manage("POST", "/api/v1/keys", { name }, undefined, one).catch(() => null);
        if (reply === null) return;
        assert.equal(reply.status, 201);
        answered.push(name);
        if (answered.length === 5 + i % 5) one.process.kill("SIGKILL");
      }
    });
    await one.exited;
    await Promise.all(load);
    const changes = (await entries(one)).filter(({ event }) => event === "change").map(({ what }) => what);
    assert.deepEqual(answered.filter((name) => !changes.includes(name)), [], "without a line");
    const keys = JSON.parse(await readFile(join(one.folder, "keys.json"), "utf8")).keys.map(({ name }) => name);
    assert.deepEqual(answered.filter((name) => !keys.includes(name)), [], "without a key");
    restart(one);
    await ready(one);
  }
  assert.match(await verify(logFile(one), one), /entries are as they were written/);
  await one.stop();
});

test("changes while the router is stopped show in the digests of its start", async () => {
  const one = await Daemon.start(configuration());
  await newKey({ name: "ann" }, one);
  const { after } = await noted({ event: "key_added", key: "ann" }, one);
  one.process.kill("SIGTERM");
  await one.exited;
  const [first] = await entries(one);
  assert.equal(first.event, "started");
  assert.notEqual(first.keys, after);
  await writeFile(one.file, `${await readFile(one.file, "utf8")}# another text\n`);
  restart(one);
  const second = await until(async () => (await entries(one)).filter(({ event }) => event === "started")[1], "it has started again");
  assert.equal(second.keys, after);
  assert.notEqual(second.configuration, first.configuration);
  await ready(one);
  await one.stop();
});

test("a log that cannot be written refuses changes if the configuration requires it", async () => {
  // The router makes a folder that is gone anew within a second. A file replaces a link in one step, before it can.
  const put = async (file, text) => {
    await mkdir(join(file, "..", "audit-first"));
    await symlink("audit-first", join(file, "..", "audit"));
    await writeFile(file, text);
  };
  for (const [mode, status] of [["refuse_changes", 503], ["report", 201]]) {
    const one = await Daemon.start(configuration(`, unwritable: ${mode}`), put);
    await newKey({ name: "first" }, one);
    await noted({ event: "change", what: "first" }, one);
    await writeFile(`${folder(one)}-file`, "in the way");
    await rename(`${folder(one)}-file`, folder(one));
    const answer = await manage("POST", "/api/v1/keys", { name: "second" }, undefined, one);
    assert.equal(answer.status, status, mode);
    if (status === 503) assert.match((await answer.json()).error.message, /the audit log cannot be written: .*Not a directory/);
    await until(() => /the audit log cannot be written/.test(one.log), "it is logged");
    const listed = await (await manage("GET", "/api/v1/keys", undefined, undefined, one)).json();
    assert.equal(listed.keys.some(({ name }) => name === "second"), status === 201, "reading goes on");
    await writeFile(one.file, (await readFile(one.file, "utf8")).replace("[mail]", "[mail, letter]"));
    const active = mode === "report" ? /generation 2 is active/ : /rejected; generation 1 stays active/;
    await until(() => active.test(one.log), "the configuration was tried");
    await rm(folder(one)); // the router makes the folder
    await until(() => /the audit log is written again/.test(one.log), "it goes on");
    await newKey({ name: "third" }, one);
    await noted({ event: "change", what: "third" }, one);
    await noted({ event: "configuration", generation: 2 }, one);
    assert.ok((one.log.match(/stays active/g) ?? []).length <= 1, "a configuration that waits is reported once");
    await one.stop();
  }
});

test("the router does not start on a file that is not an audit log", async () => {
  const put = async (file, text) => {
    await mkdir(join(file, "..", "audit"));
    await writeFile(join(file, "..", "audit", "audit.jsonl"), "Dear diary,\n");
    await writeFile(file, text);
  };
  await assert.rejects(Daemon.start(configuration(), put), /global.services.audit.file: .*the last line is not an entry/);
});
