// Tests the parts of a file that lead a request elsewhere: actions of decisions, which hold whatever model the client names,
// rules of entrypoints, which choose a recipe by the path and the headers of a request, and the order of decisions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon, hashOf } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const models = ["small", "safe", "large"];
const servers = {};
let daemon;

const file = (port, management) => `
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: small}
  models:
${models.map((name) => `    - {name: ${name}, backend_refs: [{endpoint: "127.0.0.1:${servers[name].port}"}]}`).join("\n")}
routing:
  signals: {keywords: [{name: secret, keywords: [launchcode]}]}
  modelCards: [{name: safe, context_window_size: 200}]
  decisions:
    - {name: contain, priority: 9, rules: {type: keyword, name: secret}, action: {type: route, destination: safe}}
    - {name: rest, rules: {operator: AND}, modelRefs: [{model: small}]}
recipes:
  - {name: premium, routing: {decisions: [{name: premium, rules: {operator: AND}, modelRefs: [{model: large}]}]}}
  - name: ranked
    routing:
      signals: {keywords: [{name: secret, keywords: [launchcode]}, {name: sum, keywords: [sum]}]}
      decisions:
        - {name: rest, tier: 1, priority: 9, modelRefs: [{model: small}]}
        - {name: tiered, tier: 1, priority: 1, rules: {type: keyword, name: sum}, modelRefs: [{model: large}]}
        - {name: untiered, rules: {type: keyword, name: secret}, modelRefs: [{model: safe}]}
entrypoints:
  - {model_names: [ranked], recipe: ranked}
  - model_names: [assistant]
    rules:
      - {name: tenant, recipe: default, matches: [{headers: [{name: X-Tenant, value: A}]}]}
      - name: user
        recipe: premium
        matches: [{path: {type: exact, value: /v1/chat/completions}, headers: [{name: x-tenant, value: A}, {name: x-user, value: B}]}]
global:
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

before(async () => {
  for (const name of models) {
    servers[name] = await ScriptedUpstream.start();
    servers[name].answer = () => completion({ content: `I am ${name}.` });
  }
  daemon = await Daemon.start(file);
});
after(async () => {
  await daemon?.stop();
  for (const each of Object.values(servers)) await each.stop();
});

async function send(model, content, headers = {}, path = "/v1/chat/completions") {
  const body = { model, max_tokens: 10, messages: [{ role: "user", content }] };
  const answer = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, text, said: /I am (\w+)/.exec(text)?.[1], decision: answer.headers.get("x-vsr-selected-decision") };
}

test("decisions without a tier come first, and those without conditions last in their tier", async () => {
  assert.equal((await send("ranked", "the sum of the launchcode")).decision, "untiered");
  assert.equal((await send("ranked", "the sum")).decision, "tiered");
  assert.equal((await send("ranked", "hello")).decision, "rest");
  const request = { model: "ranked", messages: [{ role: "user", content: "the sum" }] };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", headers, body: JSON.stringify({ request }) });
  const { trace } = await answer.json();
  assert.deepEqual(trace.map((each) => [each.decision, each.tier]), [["rest", 1], ["tiered", 1], ["untiered", undefined]]);
});

// Two keys for the same model; one of them also names a recipe.
const fileOfKeys = (port, management) => `
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: small}
  models: [{name: small, backend_refs: [{type: echo}]}, {name: large, backend_refs: [{type: echo}]}]
routing:
  decisions: [{name: all, action: {type: route, destination: small}}]
recipes: [{name: premium, routing: {decisions: [{name: premium, modelRefs: [{model: small}]}]}}]
entrypoints: [{model_names: [assistant], recipe: premium}]
global:
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
  access:
    keys:
      - {name: plain, hash: "${hashOf("plain")}", models: [small]}
      - {name: bound, hash: "${hashOf("bound")}", models: [small], recipes: [premium]}
`;

test("an action sends a request to its model, whatever model the client names", async () => {
  for (const model of ["auto", "small", "large"]) {
    const answer = await send(model, "The launchcode is 7.");
    assert.equal(answer.said, "safe", model);
    assert.equal(answer.decision, "contain", model);
  }
  assert.equal((await send("large", "Hello.")).said, "large");
  assert.equal((await send("large", "The launchcode is 7.", {}, "/v1/messages")).said, "safe");
});

test("a request that the action's model cannot answer reaches no other one", async () => {
  const answer = await send("large", `The launchcode is 7. ${"And so on. ".repeat(400)}`);
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, /no model of the request's route can serve it/);
  assert.equal(JSON.parse(answer.text).error.code, "context_length_exceeded");
  assert.equal(answer.decision, "contain");
  const claude = await send("large", `The launchcode is 7. ${"And so on. ".repeat(400)}`, {}, "/v1/messages");
  assert.match(JSON.parse(claude.text).error.message, /^prompt is too long/);
});

test("an image that an action keeps from its model reaches no model", async () => {
  const body = JSON.stringify({ model: "large", prompt: "Draw the launchcode." });
  const answer = await fetch(`${daemon.url}/v1/images/generations`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(answer.status, 403, await answer.text());
  assert.equal(answer.headers.get("x-vsr-response-path"), "blocked");
  assert.equal(answer.headers.get("x-vsr-selected-model"), null);
  const id = answer.headers.get("x-request-id");
  const line = await until(() => daemon.log.split("\n").slice(0, -1).find((each) => each.includes(`"request_id":"${id}"`)));
  const { response_path, selected_model, error } = JSON.parse(line);
  assert.deepEqual({ response_path, selected_model, error }, { response_path: "blocked", selected_model: undefined, error: "forbidden" });
});

test("a key is checked by the name in the request, whatever the action", async () => {
  const keyed = await Daemon.start(fileOfKeys);
  const statusOf = async (key, model) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello." }] });
    const answer = await fetch(`${keyed.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${key}` }, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  try {
    assert.equal(await statusOf("plain", "small"), 200);
    assert.equal(await statusOf("plain", "large"), 403);
    assert.equal(await statusOf("bound", "small"), 200);
    assert.equal(await statusOf("bound", "assistant"), 200);
    assert.equal(await statusOf("bound", "auto"), 403);
  } finally {
    await keyed.stop();
  }
});

test("the narrowest rule of an entrypoint chooses the recipe", async () => {
  const ada = { "x-tenant": "A", "x-user": "B" };
  assert.equal((await send("assistant", "Hello.", { "x-tenant": "A" })).said, "small");
  assert.equal((await send("assistant", "Hello.", ada)).said, "large");
  assert.equal((await send("assistant", "Hello.", ada, "/v1/messages")).said, "small", "the rule is for another path");
});

test("an explanation and an evaluation use the recipe that serving uses", async () => {
  const ada = { "content-type": "application/json", "x-tenant": "A", "x-user": "B" };
  const request = { model: "assistant", messages: [{ role: "user", content: "Hello." }] };
  assert.equal((await send("assistant", "Hello.", ada)).decision, "premium");
  for (const [path, body] of Object.entries({ "/api/v1/explain": { request }, "/api/v1/eval": request })) {
    const answer = await fetch(`${daemon.managementUrl}${path}`, { method: "POST", headers: ada, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path}: ${text}`);
    assert.match(text, /"recipe":"premium"/, path);
  }
});

test("without a rule for it, a request gets 404, and the name is not listed", async () => {
  const names = async (headers) => (await (await fetch(`${daemon.url}/v1/models`, { headers })).json()).data.map((each) => each.id);
  const answer = await send("assistant", "Hello.", { "x-tenant": "B" });
  assert.equal(answer.status, 404);
  assert.match(answer.text, /no rule of the entrypoint \\"assistant\\" matches the request/);
  assert.ok(!(await names({ "x-tenant": "B" })).includes("assistant"));
  assert.ok((await names({ "x-tenant": "A" })).includes("assistant"));
});
