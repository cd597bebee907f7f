// Tests bearer tokens (JWT) of an issuer: which pass, what their groups may use, how refusals look, and what happens while the
// issuer changes its keys or is away.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts } from "./daemon.mjs";
import { Processor } from "./envoy.mjs";
import { Issuer, kAudience, tokenOf } from "./issuer.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";


let upstream, issuer, daemon, envoyPort;

const configuration = (tokens, more = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, pricing: {prompt_per_1m: 1000000, completion_per_1m: 1000000}, backend_refs: [{name: small, endpoint: "127.0.0.1:${upstream.port}"}]}
    - {name: large, backend_refs: [{name: large, endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  signals:
    role_bindings:
      - {name: operators, role: operator, subjects: [{kind: Group, name: ops}]}
  decisions:
    - name: operators
      priority: 9
      rules: {type: authz, name: operator}
      modelRefs: [{model: large}]
global:
  access:
    tokens:
${tokens}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
${more}`;

const login = (more = "", from = issuer) => `      - {name: login, issuer: "${from.url}", audiences: [other, ${kAudience}]${more}}`;

before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = ({ model }) => {
    const answer = completion({ content: "Hello" });
    return { body: { ...answer.body, model } };
  };
  issuer = await Issuer.start();
  [envoyPort] = await freePorts(1);
  const groups = `, groups_claim: realm.roles, groups: [
        {name: interns, models: [small], limits: [{requests_per_unit: 2, unit: hour}]},
        {name: ops}, {name: "*", models: [small, large]}]`;
  const budgets = `  spending:
    budgets:
      - {name: refusing, by: user, of: spender, amount: 0.001, per: day}
      - {name: poor, by: group, of: poor, amount: 0.001, per: day}`;
  const extProc = `    ext_proc: {enabled: true, address: 127.0.0.1, port: ${envoyPort}}\n`;
  daemon = await Daemon.start(configuration(login(groups), extProc + budgets));
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
  await issuer?.down();
});

const client = (token, to = daemon) => new OpenAI({ apiKey: token, baseURL: `${to.url}/v1`, maxRetries: 0 });
const kHello = { model: "auto", messages: [{ role: "user", content: "Hello" }] };
const ask = (token, model = "auto", to = daemon) => client(token, to).chat.completions.create({ ...kHello, model });
const listed = (token, to = daemon) => fetch(`${to.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
const withRoles = (...roles) => ({ realm: { roles } });

async function assertRefused(token, message, to = daemon) {
  const answer = await listed(token, to);
  const { error } = await answer.json();
  assert.equal(answer.status, 401, error?.message);
  assert.equal(error.code, "invalid_token");
  assert.match(error.message, message);
  assert.match(answer.headers.get("www-authenticate"), /^Bearer error="invalid_token", error_description="[^"\\]+"$/);
}

test("tokens pass with every algorithm", async () => {
  for (const algorithm of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"])
    assert.equal((await listed(issuer.token({}, { algorithm }))).status, 200, algorithm);
});

test("official clients send tokens, which go no further and are not logged", async () => {
  const token = issuer.token({ sub: "only-in-tokens" });
  assert.equal((await ask(token)).model, "small");
  for (const name of ["authorization", "x-api-key", "api-key", "x-authz-user-id"]) assert.equal(upstream.headers[name], undefined, name);
  for (const options of [{ apiKey: token }, { apiKey: null, authToken: token }]) {
    const other = new Anthropic({ ...options, baseURL: daemon.url, maxRetries: 0 });
    const reply = await other.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] });
    assert.equal(reply.content[0].text, "Hello");
    assert.equal(upstream.headers["x-api-key"] ?? upstream.headers.authorization, undefined);
  }
  for (const part of token.split(".")) assert.ok(!daemon.log.includes(part), "no part of a token is logged");
  assert.ok(!daemon.log.includes("only-in-tokens"), "no user is logged");
});

test("refusals have the form of the client's API, and the reason", async () => {
  const expired = issuer.token({ exp: Math.floor(Date.now() / 1000) - 330 });
  await assert.rejects(ask(expired), (error) => error instanceof OpenAI.AuthenticationError && error.code === "invalid_token");
  const other = new Anthropic({ apiKey: null, authToken: expired, baseURL: daemon.url, maxRetries: 0 });
  await assert.rejects(
    other.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }),
    (error) => error instanceof Anthropic.AuthenticationError && /expired 5 minutes ago/.test(error.message),
  );
  await assertRefused(expired, /the token expired 5 minutes ago/);
  const answer = await fetch(`${daemon.url}/v1/models`);
  assert.equal(answer.status, 401);
  assert.equal(answer.headers.get("www-authenticate"), "Bearer");
  assert.match((await answer.json()).error.message, /a key or a token is required/);
});

test("claims are checked", async () => {
  const now = Math.floor(Date.now() / 1000);
  await assertRefused(issuer.token({ aud: "elsewhere" }), /audience "elsewhere" is not one of other, signalbox/);
  await assertRefused(issuer.token({ aud: "Signalbox" }), /audience/);
  await assertRefused(issuer.token({ aud: undefined }), /audience none/);
  await assertRefused(issuer.token({ iss: `${issuer.url}/` }), /issuer \(iss\) is not one/);
  await assertRefused(issuer.token({ exp: undefined }), /no exp/);
  await assertRefused(issuer.token({ exp: "tomorrow" }), /exp is not a time/);
  await assertRefused(issuer.token({ nbf: now + 600 }), /valid only in/);
  await assertRefused(issuer.token({ iat: now + 600 }), /from the future/);
  await assertRefused(issuer.token({ sub: undefined }), /no claim sub/);
  await assertRefused(issuer.token({ sub: "ann,ops" }), /sub is not a name/);
  await assertRefused(issuer.token(withRoles("dev,ops")), /one of the token's groups \(realm\.roles\) is not a name/);
  assert.equal((await listed(issuer.token({ exp: now - 30 }))).status, 200, "within the leeway");
  assert.equal((await listed(issuer.token({ aud: ["elsewhere", kAudience] }))).status, 200, "one of several audiences");
});

test("a token with a repeated member is refused", async () => {
  const key = issuer.keys[0];
  const claims = JSON.stringify(issuer.claims()).replace("{", `{"aud":"${kAudience}",`);
  const token = tokenOf({ alg: "RS256", kid: key.kid }, claims, key.privateKey);
  await assertRefused(token, /"aud" twice|'aud' twice/);
});

test("no algorithm without the issuer's signature is accepted", async () => {
  const [{ kid, publicKey }] = issuer.keys;
  await assertRefused(issuer.token({}, { algorithm: "none", kid }), /algorithm "none" is not accepted/);
  await assertRefused(issuer.token({}, { algorithm: "NONE", kid }), /algorithm "NONE" is not accepted/);
  for (const format of ["pem", "der"]) {
    const secret = publicKey.export({ type: "spki", format });
    await assertRefused(issuer.token({}, { algorithm: "HS256", kid, secret }), /algorithm "HS256" is not accepted/);
  }
  await assertRefused(issuer.token({}, { algorithm: "ES256", kid: issuer.keys[2].kid }), /is not one of the issuer "login" for ES256|signature/);
  const token = issuer.token();
  const [head, , tail] = token.split(".");
  const changed = Buffer.from(JSON.stringify(issuer.claims({ sub: "root" }))).toString("base64url");
  await assertRefused(`${head}.${changed}.${tail}`, /signature/);
  await assertRefused(token.slice(0, -6), /signature/);
  await assertRefused(`${token}AAAA`, /signature/);
});

test("no key from the token itself is used or fetched", async () => {
  let visits = 0;
  const foreign = createServer((request, response) => {
    visits += 1;
    response.end();
  });
  await new Promise((done) => foreign.listen(0, "127.0.0.1", done));
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const url = `http://127.0.0.1:${foreign.address().port}/`;
  const header = { jwk: publicKey.export({ format: "jwk" }), jku: url, x5u: url };
  await assertRefused(issuer.token({}, { header, secret: privateKey }), /signature/);
  assert.equal(visits, 0);
  await new Promise((done) => foreign.close(done));
});

test("sizes are bounded", async () => {
  await assertRefused(issuer.token({ sub: "a".repeat(8000) }), /bytes, at most 8192 are read/);
  await assertRefused(issuer.token({}, { header: { crit: ["b64"], b64: false } }), /crit/);
  await assertRefused(issuer.token({}, { header: { typ: "logout+jwt" } }), /typ/);
});

test("a group decides what a token may use", async () => {
  const intern = issuer.token({ sub: "ina", ...withRoles("interns") });
  await assert.rejects(
    ask(intern, "large"),
    (error) => error.status === 403 && error.code === "model_not_allowed" && /token \\?"login\/ina\\?" may not use the model/.test(error.message),
  );
  await ask(intern);
  await ask(intern);
  await assert.rejects(ask(intern), (error) => error.status === 429);
  assert.equal((await ask(issuer.token({ sub: "ingo", ...withRoles("interns") }))).model, "small", "limits count for each user");
  assert.equal((await ask(issuer.token({ sub: "olga", ...withRoles("ops") }))).model, "large", "roles follow from groups");
});

test("the management API lists the issuer, its groups, and whether its keys are known", async () => {
  const { required, has_file, issuers } = await (await fetch(`${daemon.managementUrl}/api/v1/keys`)).json();
  assert.deepEqual([required, has_file, issuers.length], [true, false, 1]);
  const { groups, ...login } = issuers[0];
  assert.deepEqual(login, { name: "login", issuer: issuer.url, audiences: ["other", kAudience], has_keys: true });
  assert.deepEqual(groups[0], { name: "interns", models: ["small"], recipes: [], limits: [{ requests: 2, seconds: 3600 }] });
  assert.deepEqual(groups.map(({ name }) => name), ["interns", "ops", "*"]);
});

test("a token names its user, and no header does", async () => {
  const reply = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${issuer.token()}`, "x-authz-user-groups": "ops" },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.equal((await reply.json()).model, "small");
});

test("budgets of users and groups count for tokens", async () => {
  for (const claims of [{ sub: "spender" }, { sub: "paul", ...withRoles("poor") }]) {
    const token = issuer.token(claims);
    const id = `budget-${claims.sub}`;
    await client(token).chat.completions.create(kHello, { headers: { "x-request-id": id } });
    await until(() => daemon.log.includes(`"request_id":"${id}"`)); // it is counted by then
    await assert.rejects(ask(token), (error) => error.status === 429 && error.code === "budget_exceeded", claims.sub);
  }
  assert.equal((await ask(issuer.token({ sub: "saver" }))).model, "small");
});

test("tokens count for requests from Envoy", async () => {
  const envoy = new Processor(envoyPort);
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Hello" }] });
  const send = async (token) => {
    const talk = envoy.open();
    const headers = { ":method": "POST", ":path": "/v1/chat/completions", authorization: `Bearer ${token}` };
    const list = Object.entries(headers).map(([key, value]) => ({ key, raw_value: Buffer.from(value) }));
    talk.send({ request_headers: { headers: { headers: list }, end_of_stream: false } });
    let answer = await talk.next();
    const removed = answer.request_headers?.response?.header_mutation?.remove_headers;
    if (!answer.immediate_response) answer = await talk.ask({ request_body: { body: Buffer.from(body), end_of_stream: true } });
    await talk.cancel();
    return { answer, removed };
  };
  const refused = await send(issuer.token({ aud: "elsewhere" }));
  assert.equal(refused.answer.immediate_response.status.code, "Unauthorized");
  const passed = await send(issuer.token());
  assert.ok(passed.answer.request_body);
  assert.ok(passed.removed.includes("authorization"));
  envoy.close();
});

test("a new key counts at once, and unknown ones cause one reading", async () => {
  const own = await Issuer.start();
  const one = await Daemon.start(configuration(login("", own)));
  assert.equal((await listed(own.token(), one)).status, 200);
  const before = own.fetches, began = Date.now();
  own.add();
  assert.equal((await listed(own.token(), one)).status, 200, "the request waits for the new key");
  for (let i = 0; i < 5; ++i) await assertRefused(own.token({}, { header: { kid: `unknown-${i}` } }), /key "unknown-\d" is not one/, one);
  assert.ok(own.fetches - before <= 1 + (Date.now() - began) / 30_000, "requests cause one reading in half a minute");
  await one.stop();
  await own.down();
});

test("a key that the issuer withdraws is refused, also for tokens that have passed", async () => {
  const own = await Issuer.start();
  const one = await Daemon.start(configuration(login("", own)));
  const token = own.token();
  assert.equal((await listed(token, one)).status, 200);
  own.keys = own.keys.filter((key) => key.type !== "RS256");
  const kid = own.add();
  assert.equal((await listed(own.token({}, { kid }), one)).status, 200);
  await assertRefused(token, /is not one of the issuer/, one);
  await one.stop();
  await own.down();
});

test("wrong signatures are not verified without end, and do not stop tokens that have passed", async () => {
  const one = await Daemon.start(configuration(login("")));
  const known = issuer.token();
  assert.equal((await listed(known, one)).status, 200);
  const forged = issuer.token({}, { secret: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey });
  let count = 0;
  await until(async () => {
    await Promise.all(Array.from({ length: 10 }, () => listed(forged, one)));
    const answer = await listed(issuer.token({ sub: `user-${(count += 10)}` }), one);
    if (answer.status === 200) return false;
    assert.equal(answer.status, 429);
    assert.ok(answer.headers.get("retry-after"));
    assert.equal((await answer.json()).error.code, "too_many_failures");
    return true;
  });
  assert.ok(count > 50, `${count} wrong signatures`);
  assert.equal((await listed(known, one)).status, 200);
  await one.stop();
});

test("while the issuer is away its keys hold, also through a reload", async () => {
  const own = await Issuer.start();
  const text = configuration(login("", own));
  let written;
  const one = await Daemon.start((...ports) => (written = text(...ports)));
  assert.equal((await listed(own.token(), one)).status, 200);
  await own.down();
  await writeFile(one.file, written.replace("audiences: [other, ", "audiences: ["));
  await until(() => /generation 2 is active/.test(one.log));
  assert.equal((await listed(own.token(), one)).status, 200);
  const unknown = await listed(own.token({}, { header: { kid: "new" } }), one);
  assert.equal(unknown.status, 503, "the key may be a new one");
  await one.stop();
});

test("keys that grew too old while the issuer was away are refused", async () => {
  const own = await Issuer.start();
  const one = await Daemon.start(configuration(login(", keys_age_max: 2s", own)));
  const token = own.token();
  await until(async () => (await listed(token, one)).status === 200);
  await own.down();
  await until(async () => (await listed(token, one)).status === 503);
  const answer = await listed(own.token({ sub: "bob" }), one);
  assert.equal(answer.status, 503);
  assert.ok(answer.headers.get("retry-after"));
  const { error } = await answer.json();
  assert.equal(error.code, "keys_unavailable");
  assert.match(error.message, /keys of its issuer are not available; try again later/, "clients get no details of the network");
  await until(() => /the keys of the issuer .* cannot be read and stay as they were: .*(cannot connect|closed)/.test(one.log));
  await own.up();
  await until(async () => (await listed(token, one)).status === 200);
  await one.stop();
  await own.down();
});

test("the router starts while the issuer is away, and no token passes before it has keys", async () => {
  const own = await Issuer.start();
  await own.down();
  const one = await Daemon.start(configuration(login("", own)));
  assert.equal((await listed(own.token(), one)).status, 503);
  await own.up();
  await until(async () => (await listed(own.token(), one)).status === 200);
  await one.stop();
  await own.down();
});

test("keys may come from a file, which is followed", async () => {
  const own = await Issuer.start();
  const put = async (file, text) => {
    await writeFile(join(file, "..", "keys.json"), JSON.stringify(own.keySet));
    await writeFile(file, text);
  };
  const one = await Daemon.start(configuration(login(", jwks_file: keys.json, algorithms: [ES256]", own)), put);
  assert.equal((await listed(own.token({}, { algorithm: "ES256" }), one)).status, 200);
  await assertRefused(own.token(), /RS256 is not accepted for its issuer/, one);
  own.add("ES256");
  await writeFile(join(one.folder, "keys.json"), JSON.stringify(own.keySet));
  await until(async () => (await listed(own.token({}, { algorithm: "ES256" }), one)).status === 200);
  assert.equal(own.fetches, 0);
  await one.stop();
  await own.down();
});

test("mistakes in the configuration have their reason", async () => {
  const check = async (tokens) => {
    const file = join(daemon.folder, "wrong.yaml");
    await writeFile(file, configuration(tokens)(1, 2));
    try {
      execFileSync(process.env.SIGNALBOX, ["config", "check", file], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      return `${error.stdout}${error.stderr}`;
    }
    return "";
  };
  assert.match(await check("      - {name: a, issuer: \"http://example.com\", audiences: [x]}"), /issuer: expected a URL with https/);
  assert.match(await check("      - {name: a, issuer: \"https://example.com\", audiences: []}"), /audiences: expected at least one/);
  assert.match(await check("      - {name: a, issuer: \"https://example.com\", audiences: [x], algorithms: [HS256]}"), /algorithms: expected names among/);
  assert.match(
    await check("      - {name: a, issuer: \"https://a.com\", audiences: [x]}\n      - {name: b, issuer: \"https://b.com\", audiences: [x]}"),
    /one of the prefixes "" of "a" and "" of "b" begins with the other/,
  );
  assert.match(
    await check(`      - {name: a, issuer: "https://a.com", audiences: [x]}\n      - {name: b, issuer: "https://b.com", audiences: [x], prefix: corp-}`),
    /one of the prefixes "" of "a" and "corp-" of "b" begins with the other/,
  );
  assert.match(await check(`      - {name: a/b, issuer: "https://a.com", audiences: [x]}`), /name: expected a name without slashes/);
});
