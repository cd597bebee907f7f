// Tests the keys of clients, as the official clients send them: who passes, what a key may use, and how refusals look.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, accepts, hashOf } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";

let upstream;
let daemon;

const configuration = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{name: small, endpoint: "127.0.0.1:${upstream.port}"}]}
    - {name: large, backend_refs: [{name: large, endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [prove]}
      - {name: panel, operator: OR, keywords: [panel]}
    role_bindings:
      - {name: operators, role: operator, subjects: [{kind: Group, name: ops}]}
  decisions:
    - name: operators
      priority: 9
      rules: {type: authz, name: operator}
      modelRefs: [{model: large}]
    - name: proofs
      priority: 1
      rules: {type: keyword, name: proof}
      modelRefs: [{model: large}, {model: small}]
    - name: panels
      rules: {type: keyword, name: panel}
      modelRefs: [{model: small}]
      algorithm:
        type: fusion
        fusion: {analysis_models: [small], analysis_mode: none, quorum_failure_policy: fallback, quorum_fallback_target: large}
recipes:
  - name: plain
    routing:
      decisions: []
entrypoints:
  - {model_names: [plain], recipe: plain}
global:
  access:
    keys_file: secrets/keys.json
    keys:
      - {name: own, hash: "${hashOf("sb-own")}"}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const keys = (...words) =>
  execFileSync(process.env.SIGNALBOX, ["keys", ...words, "--config", daemon.file], { encoding: "utf8", stdio: "pipe" }).trim();

before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = ({ model, messages }) => {
    if (model === "small" && messages?.at(-1).content === "a panel") return { status: 400, body: {} };
    const answer = completion({ content: "Hello" });
    return { body: { ...answer.body, model } };
  };
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
});

const client = (apiKey, headers = {}) =>
  new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: headers });
const ask = (from, content = "Hello", model = "auto") => from.chat.completions.create({ model, messages: [{ role: "user", content }] });

/// Makes a key on the command line and waits until the router has read it.
async function make(name, ...options) {
  const key = keys("new", name, ...options);
  assert.match(key, /^sb-[\w-]{43}$/);
  await accepts(daemon, key);
  return key;
}

// Beyond sixty failures a minute, which waiting may cause, a refusal is 429.
const refused = async (key) => [401, 429].includes((await listed(key)).status);

const listed = (key) => fetch(`${daemon.url}/v1/models`, { headers: key ? { authorization: `Bearer ${key}` } : {} });

test("a balancer checks the port of clients without a key", async () => {
  for (const path of ["/health", "/ready"]) {
    const reply = await fetch(daemon.url + path);
    assert.equal(reply.status, 200);
    assert.deepEqual(await reply.json(), { ready: true });
    assert.equal((await fetch(daemon.url + path, { method: "HEAD" })).status, 200);
    assert.equal((await fetch(daemon.url + path, { method: "POST", body: "{}" })).status, 401);
  }
  assert.equal((await fetch(`${daemon.url}/health/`)).status, 401);
});

test("a header that is there twice is refused", async () => {
  const key = await make("twin");
  const { request } = await import("node:http");
  const answer = await new Promise((done, fail) => {
    const { hostname, port } = new URL(daemon.url);
    const sent = request({ hostname, port, path: "/v1/models", headers: ["host", "here", "authorization", `Bearer ${key}`, "x-authz-user-id", "a", "x-authz-user-id", "b"] });
    sent.on("response", done).on("error", fail).end();
  });
  let body = "";
  for await (const part of answer.setEncoding("utf8")) body += part;
  assert.equal(answer.statusCode, 400);
  assert.equal(JSON.parse(body).error.code, "duplicate_header");
});

test("a request without a key is refused, and no model gets it", async () => {
  upstream.received = undefined;
  for (const [path, method] of [
    ["/v1/models", "GET"],
    ["/v1/chat/completions", "POST"],
    ["/v1/embeddings", "POST"],
    ["/v1/responses/resp_1", "GET"],
    ["/openapi.json", "GET"],
    ["/nowhere", "GET"],
  ]) {
    const answer = await fetch(`${daemon.url}${path}`, { method, body: method === "POST" ? "{}" : undefined });
    assert.equal(answer.status, 401, path);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    assert.ok(answer.headers.get("x-request-id"));
    assert.equal((await answer.json()).error.code, "invalid_api_key");
  }
  assert.equal(upstream.received, undefined);
});

test("the official clients recognise the refusal", async () => {
  await assert.rejects(ask(client("sb-wrong")), (error) => error instanceof OpenAI.AuthenticationError && error.code === "invalid_api_key");
  const other = new Anthropic({ apiKey: "sb-wrong", baseURL: daemon.url, maxRetries: 0 });
  await assert.rejects(
    other.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }),
    (error) => error instanceof Anthropic.AuthenticationError && error.error.error.type === "authentication_error" && Boolean(error.requestID),
  );
});

test("a new key counts without a restart, in each of the headers, and goes no further", async () => {
  const key = await make("ann");
  assert.equal((await ask(client(key))).model, "small");
  for (const name of ["authorization", "x-api-key", "api-key"]) assert.equal(upstream.headers[name], undefined, name);
  for (const headers of [{ "x-api-key": key }, { "api-key": key }, { authorization: `bearer ${key}` }]) {
    assert.equal((await fetch(`${daemon.url}/v1/models`, { headers })).status, 200, Object.keys(headers)[0]);
  }
  const other = new Anthropic({ apiKey: key, baseURL: daemon.url, maxRetries: 0 });
  const reply = await other.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] });
  assert.equal(reply.content[0].text, "Hello");
  assert.equal(upstream.headers["x-api-key"], undefined);
  assert.ok(!daemon.log.includes(key), "no key is logged");
});

test("the file holds hashes, and only its owner reads it", async () => {
  const key = await make("file");
  const file = join(daemon.folder, "secrets", "keys.json");
  assert.ok(!(await readFile(file, "utf8")).includes(key));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.match(keys("list"), /^file {2}user file$/m);
  assert.throws(() => keys("new", "file"), /there is a key \\?"file\\?" already/);
  assert.throws(() => keys("new", "odd", "--model", "none"), /no model \\?"none\\?"/);
  assert.throws(() => keys("new", "odd", "--expires", "2020-01-01"), /--expires: expected a time that has not passed, found \\?"2020-01-01\\?"/);
  assert.throws(() => keys("new", "odd", "--expires", "tomorrow"), /--expires: expected a date, .* found \\?"tomorrow\\?"/);
});

test("the list shows the limits of a key, and reports that there is none", async () => {
  await make("slow", "--requests-per-minute", "60", "--tokens-per-minute", "9000", "--expires", "2099-01-31");
  assert.match(keys("list"), /^slow {2}user slow {2}60 requests per minute {2}9000 tokens per minute {2}expires 2099-01-31$/m);
  const file = join(daemon.folder, "without.yaml");
  await writeFile(file, (await readFile(daemon.file, "utf8")).replace(/ {4}keys:\n.*\n/, "").replace("secrets/keys.json", "none.json"));
  const done = spawnSync(process.env.SIGNALBOX, ["keys", "list", "--config", file], { encoding: "utf8" });
  assert.equal(done.stdout, "");
  assert.match(done.stderr, /none\.json has no keys; `signalbox keys new NAME` makes one/);
  assert.equal(done.status, 0);
});

test("a keys file that is not there is reported, at the start and when it goes", async () => {
  const lines = (daemon) => daemon.log.split("keys.json does not exist").length - 1;
  const other = await Daemon.start(configuration);
  try {
    await until(() => lines(other) === 1, "the line of the start");
    const file = join(dirname(other.file), "secrets", "keys.json");
    const key = execFileSync(process.env.SIGNALBOX, ["keys", "new", "one", "--config", other.file], { encoding: "utf8", stdio: "pipe" }).trim();
    const listing = () => fetch(`${other.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await until(async () => (await listing()).status === 200, "the new file is read");
    await rm(file);
    await until(() => lines(other) === 2, "the line of the file that went");
  } finally {
    await other.stop();
  }
});

test("a revoked key is refused", async () => {
  const key = await make("gone");
  keys("revoke", "gone");
  await until(() => refused(key));
});

test("a key expires at its time", async () => {
  const end = Math.floor(Date.now() / 1000 + 3) * 1000;
  const key = keys("new", "old", "--expires", `${new Date(end).toISOString().slice(0, 19)}Z`);
  await until(async () => /"old" has expired/.test((await (await listed(key)).json()).error?.message), "the end of the key");
  assert.ok(Date.now() >= end, "before its time");
});

test("a key has only its own groups", async () => {
  const key = await make("olga", "--group", "ops");
  assert.equal((await ask(client(key))).model, "large");
  const ann = await make("anna");
  assert.equal((await ask(client(ann, { "x-authz-user-groups": "ops" }))).model, "small", "no proxy is trusted");
});

test("a key may use its models only, also those that a decision chooses", async () => {
  const key = await make("sam", "--model", "small");
  assert.equal((await ask(client(key), "prove it")).model, "small", "the decision's first model is large");
  assert.equal((await ask(client(key), "Hello", "small")).model, "small");
  await assert.rejects(
    ask(client(key), "Hello", "large"),
    (error) => error instanceof OpenAI.PermissionDeniedError && error.code === "model_not_allowed",
  );
  const names = [];
  for await (const model of client(key).models.list()) names.push(model.id);
  assert.ok(names.includes("small") && names.includes("auto") && !names.includes("large"), String(names));
  const isPanelDown = (error) => error.status >= 500 && error.headers.get("x-vsr-looper-models-failed").includes("large");
  await assert.rejects(ask(client(key), "a panel"), isPanelDown, "the panel's fallback is large");
  assert.equal((await ask(client(await make("freya")), "a panel")).model, "large");
  const large = await make("lars", "--model", "large");
  await assert.rejects(ask(client(large)), (error) => error.status === 403 && error.code === "model_not_allowed");
});

test("a key may use its recipes only", async () => {
  const key = await make("rita", "--recipe", "plain");
  assert.equal((await ask(client(key), "Hello", "plain")).model, "small");
  await assert.rejects(ask(client(key)), (error) => error.status === 403 && /recipe/.test(error.message));
  const names = [];
  for await (const model of client(key).models.list()) names.push(model.id);
  assert.ok(names.includes("plain") && !names.includes("auto"), String(names));
});

test("a key has a limit of its own", async () => {
  const key = await make("lim", "--requests-per-minute", "2");
  await ask(client(key));
  await ask(client(key));
  await assert.rejects(ask(client(key)), (error) => error instanceof OpenAI.RateLimitError && /key lim/.test(error.message));
});

test("the management API adds, lists and revokes keys", async () => {
  const headers = await daemon.authorization();
  const api = (method, path, body) =>
    fetch(`${daemon.managementUrl}/api/v1/keys${path}`, { method, headers, body: body && JSON.stringify(body) });
  const added = await api("POST", "", { name: "api key", groups: ["ops"], expires: "2999-01-01", limits: [{ requests_per_unit: 9, unit: "hour" }] });
  assert.equal(added.status, 201);
  const { key } = await added.json();
  assert.equal((await listed(key)).status, 200, "it counts at once");
  const all = await (await api("GET", "")).json();
  const found = all.keys.find((each) => each.name === "api key");
  const limits = [{ requests: 9, seconds: 3600 }];
  assert.deepEqual(found, { name: "api key", user: "api key", groups: ["ops"], models: [], recipes: [], limits, expires: "2999-01-01", from: "file" });
  for (const [body, why] of [
    [{ name: "api key" }, /already/],
    [{ name: "x", hash: "sha256:0" }, /makes the key/],
    [{ name: "x", expires: "tomorrow" }, /expected a date/],
    [{ nam: "x" }, /nam/],
  ]) {
    const refused = await api("POST", "", body);
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, why);
  }
  assert.equal((await api("DELETE", "/api%20key")).status, 200);
  assert.ok(await refused(key));
  assert.equal((await api("DELETE", "/api%20key")).status, 404);
});

test("the keys of a file are imported only if no other key has their hash", async () => {
  const file = join(daemon.folder, "import.json");
  const write = (...imported) => writeFile(file, JSON.stringify({ keys: imported }));
  const key = await make("original");
  const text = await readFile(join(daemon.folder, "secrets", "keys.json"), "utf8");
  for (const [secret, other] of [[key, "original"], ["sb-own", "own"]]) {
    await write({ name: "sound", hash: hashOf("sb-sound") }, { name: "copy", hash: hashOf(secret) });
    assert.throws(() => keys("import", file), new RegExp(`the keys .*${other}.* and .*copy.* have the same hash`));
    assert.equal(await readFile(join(daemon.folder, "secrets", "keys.json"), "utf8"), text, "all or none");
  }
  await write({ name: "sound", hash: hashOf("sb-sound") });
  keys("import", file);
  await until(async () => (await listed("sb-sound")).status === 200);
  assert.equal((await listed("sb-own")).status, 200);
});

test("a wrong file changes nothing, and without a file no key is valid", async () => {
  const key = await make("last");
  const file = join(daemon.folder, "secrets", "keys.json");
  const text = await readFile(file, "utf8");
  await writeFile(file, '{"keys": [');
  await until(() => /the keys stay as they were/.test(daemon.log));
  assert.equal((await listed(key)).status, 200);
  await rm(file);
  await until(() => refused(key));
  await writeFile(file, text);
  await until(async () => (await listed(key)).status === 200);
});

test("an address that fails too often is refused cheaply, and a valid key still passes", async () => {
  const key = await make("valid");
  const refused = await until(async () => {
    const answer = await listed("sb-wrong");
    return answer.status === 429 && answer;
  });
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.equal((await listed(key)).status, 200);
  const metrics = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  for (const reason of ["missing_key", "unknown_key", "expired_key", "duplicate_header", "too_many_failures"])
    assert.match(metrics, new RegExp(`signalbox_access_denied_total\\{reason="${reason}"\\} [1-9]`));
});
