// Tests the deletion of what one user has stored, by an operator who must not read it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: small}
  models: [{name: small, backend_refs: [{endpoint: "127.0.0.1:${upstream.port}"}]}]
routing: {decisions: [{name: d, modelRefs: [{model: small}]}]}
global:
  services:
    audit: {file: audit.jsonl}
    management_api:
      bind_address: 127.0.0.1
      port: ${managementPort}
      auth: {mode: bearer, tokens: [{env: SIGNALBOX_ADA_TOKEN, role: operator}, {env: SIGNALBOX_VIEWER_TOKEN, role: viewer}]}
`;

let upstream, daemon;

before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = () => completion({ content: "Green." });
  Object.assign(process.env, { SIGNALBOX_ADA_TOKEN: "token-of-ada", SIGNALBOX_VIEWER_TOKEN: "token-of-vic" });
  daemon = await Daemon.start(configuration);
});

after(async () => {
  await daemon?.stop();
  await upstream?.stop();
});

async function call(user, method, path, body) {
  const reply = await fetch(`${daemon.url}${path}`, { method, headers: { "x-authz-user-id": user, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  return { status: reply.status, body: await reply.json() };
}
async function remove(path, token = "token-of-ada") {
  const reply = await fetch(`${daemon.managementUrl}${path}`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
  return [reply.status, (await reply.json()).deleted];
}

for (const [things, path, store] of [
  ["responses", "/v1/responses", (user, i) => call(user, "POST", "/v1/responses", { model: "small", input: `Number ${i}` })],
  ["contexts", "/v1/contexts", (user, i) => call(user, "POST", "/v1/contexts", { messages: [{ role: "system", content: `Number ${i}` }] })],
]) {
  test(`all ${things} of one user`, async () => {
    const ids = { ann: [], bob: [] };
    for (const user of ["ann", "bob"]) for (let i = 0; i < 3; ++i) ids[user].push((await store(user, i)).body.id);
    const there = async (user) => (await Promise.all(ids[user].map((id) => call(user, "GET", `${path}/${id}`)))).filter(({ status }) => status === 200).length;
    assert.deepEqual([await there("ann"), await there("bob")], [3, 3]);
    assert.deepEqual(await remove(`${path}?user_id=ann`, "token-of-vic"), [403, undefined]);
    assert.deepEqual(await remove(path), [400, undefined]);
    assert.deepEqual(await remove(`${path}?user_id=ann`), [200, 3]);
    assert.deepEqual([await there("ann"), await there("bob")], [0, 3]);
    assert.deepEqual(await remove(`${path}?user_id=ann`), [200, 0]);
    const lines = readFileSync(join(dirname(daemon.file), "audit.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
    const line = lines.find(({ event, what }) => event === "change" && what === `${things} of ann`);
    assert.deepEqual([line.who, line.token, line.status], ["role operator", "SIGNALBOX_ADA_TOKEN", 200]);
  });
}
