// Tests requests of System One: to a model, and to the stages of a cascade. The model servers are doubles that answer as
// the test defines. No official client has this API; OpenAI's client sends the requests by its `post`, and chats beside
// them.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import OpenAI from "openai";

import { Daemon, metric } from "./daemon.mjs";
import { ScriptedUpstream } from "./upstream.mjs";
import { until } from "./until.mjs";

const kKinds = ["choice", "score", "noul"];
const rules = (least) => `[${kKinds.map((kind) => `{question_type: ${kind}, field: top_probability, predicate: {gte: ${least}}}`).join(", ")}]`;

const configuration = (ports) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, systemone: {models: [vllm-sr/auto, kai]}}
providers:
  models:
${["kai", "vega"].map((name) => `    - {name: ${name}, api_format: systemone, provider_model_id: served-${name}, pricing: {prompt_per_1m: 1}, backend_refs: [{name: ${name}, base_url: "http://127.0.0.1:${ports[name]}/v1"}]}`).join("\n")}
    - {name: reader, backend_refs: [{name: reader, endpoint: "127.0.0.1:${ports.reader}"}]}
entrypoints:
  - {api: systemone, model_names: [vllm-sr/auto], recipe: native}
recipes:
  - name: native
    routing:
      signals:
        keywords:
          - {name: appeal, operator: OR, keywords: [appeal]}
          - {name: secret, operator: OR, keywords: [secret]}
          - {name: hurry, operator: OR, keywords: [hurry]}
      decisions:
        - name: refusal
          priority: 300
          rules: {operator: AND, conditions: [{type: keyword, name: secret}]}
          plugins: [{type: fast_response, configuration: {message: "Nobody answers this."}}]
        - name: hurried
          priority: 200
          rules: {operator: AND, conditions: [{type: keyword, name: hurry}]}
          modelRefs: [{model: vega}]
          algorithm:
            type: cascade
            budget: {deadline: 200ms, max_calls: 1}
            quality: {type: uncalibrated, acceptance: {rules: ${rules(0)}}}
            stages: [{name: only, kind: native, model: vega}]
        - name: appeals
          priority: 100
          rules: {operator: AND, conditions: [{type: keyword, name: appeal}]}
          modelRefs: [{model: vega}, {model: kai}, {model: reader}]
          algorithm:
            type: cascade
            budget: {deadline: 60s, max_calls: 3}
            quality: {type: uncalibrated, acceptance: {rules: ${rules(0)}}}
            stages:
              - {name: one, kind: native, model: kai, accept: {rules: ${rules(1)}}}
              - {name: two, kind: native, model: vega, accept: {rules: ${rules(1)}}}
              - {name: review, kind: judge, model: reader, generation: {max_output_tokens: 32}}
        - name: answer
          rules: {}
          modelRefs: [{model: kai}, {model: vega}]
          algorithm:
            type: cascade
            budget: {deadline: 60s, max_calls: 2}
            quality: {type: uncalibrated, acceptance: {rules: ${rules(0)}}}
            stages:
              - {name: fast, kind: native, model: kai, accept: {rules: ${rules(0.9)}}}
              - {name: strong, kind: native, model: vega}
global:
  integrations:
    looper: {headers: {x-loop: "yes"}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const kRequest = {
  model: "vllm-sr/auto",
  state: "I cannot sign into my account.",
  questions: { team: { type: "choice", instructions: "Which team?", criteria: { account: "Access", billing: "Invoices" } } },
};

/// An answer to kRequest with this probability.
const answered = (probability, more = {}) => ({
  body: {
    model: "decider-1", usage: { input_tokens: 11, output_tokens: 0 }, own: { kept: true }, ...more,
    answers: { team: { type: "choice", choice: "account", confidence: probability, probabilities: { account: probability, billing: 1 - probability } } },
  },
});

const servers = {};
let daemon, client;

before(async () => {
  for (const name of ["kai", "vega", "reader"]) servers[name] = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, server.port]))));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  for (const server of Object.values(servers)) await server.stop();
});

let calls, loops;
beforeEach(() => {
  calls = [];
  loops = [];
  script({});
});

/// The servers answer by `replies[name](received)`, and their calls are collected.
function script(replies) {
  for (const [name, server] of Object.entries(servers)) {
    server.answer = (received) => {
      calls.push({ name, path: server.path, received });
      loops.push(server.headers["x-loop"]);
      return replies[name]?.(received) ?? { status: 500, body: { error: { message: "unexpected" } } };
    };
  }
}

const ask = (more = {}) => client.post("/systemone", { body: { ...kRequest, ...more } });

test("the first stage answers if it is sure, and gets the request as it is", async () => {
  script({ kai: () => answered(0.97) });
  const { data, response } = await ask({ extra: 12345678901234567890n.toString() }).withResponse();
  assert.deepEqual(data.answers.team.choice, "account");
  assert.deepEqual(data.own, { kept: true });
  assert.deepEqual(data.routing, {
    recipe: "native", decision: "answer", algorithm: "cascade", stage: "fast", selected_model: "kai", quality: "uncalibrated", model_calls: 1,
  });
  assert.deepEqual(calls, [{ name: "kai", path: "/v1/systemone", received: { ...kRequest, extra: "12345678901234567890", model: "served-kai" } }]);
  assert.deepEqual(loops, ["yes"]); // the header for every call of an algorithm
  assert.equal(response.headers.get("x-vsr-selected-model"), "kai");
  assert.equal(response.headers.get("x-vsr-looper-algorithm"), "cascade");
  assert.equal(response.headers.get("x-vsr-looper-total-tokens"), "11");
});

test("an unsure answer and a failure lead to the next stage", async () => {
  script({ kai: () => answered(0.6), vega: () => answered(0.7) });
  const unsure = await ask();
  assert.deepEqual([unsure.routing.stage, unsure.routing.selected_model, unsure.routing.model_calls], ["strong", "vega", 2]);
  script({ kai: () => ({ status: 400, body: {} }), vega: () => answered(0.7) });
  const { data, response } = await ask().withResponse();
  assert.equal(data.routing.selected_model, "vega");
  assert.equal(response.headers.get("x-vsr-looper-models-failed"), "kai");
});

test("without an answer that is accepted, the request is unresolved", async () => {
  script({ kai: () => answered(0.6), vega: () => ({ body: { answers: {} } }) });
  await assert.rejects(ask(), (error) => {
    assert.equal(error.status, 503);
    assert.equal(error.code, "systemone_unresolved");
    assert.match(error.message, /fast: not accepted; strong: not accepted/);
    return true;
  });
});

test("the deadline of the decision ends a call", async () => {
  script({ vega: () => new Promise(() => {}) });
  await assert.rejects(ask({ state: "hurry" }), (error) => {
    assert.equal(error.status, 504);
    assert.equal(error.code, "systemone_deadline_exceeded");
    return true;
  });
});

test("a judge selects an earlier answer", async () => {
  const selection = (selected) => ({
    body: { id: "c", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: JSON.stringify({ selected }) }, finish_reason: "stop" }] },
  });
  script({ kai: () => answered(0.6, { own: "kai" }), vega: () => answered(0.7), reader: () => selection("one") });
  const answer = await ask({ state: "I want to appeal." });
  assert.deepEqual([answer.own, answer.routing.stage, answer.routing.selected_model, answer.routing.model_calls], ["kai", "review", "kai", 3]);
  const judge = calls.at(-1);
  assert.equal(judge.path, "/v1/chat/completions");
  assert.deepEqual([judge.received.model, judge.received.max_tokens, judge.received.temperature], ["reader", 32, 0]);
  assert.deepEqual(judge.received.response_format.json_schema.schema.properties.selected.enum, ["one", "two", "abstain"]);
  assert.deepEqual(Object.keys(JSON.parse(judge.received.messages[1].content).candidates), ["one", "two"]);
});

test("a decision with a fixed answer refuses", async () => {
  await assert.rejects(ask({ state: { note: "the secret" } }), (error) => error.status === 403);
  assert.deepEqual(calls, []);
});

test("a model that the listener names gets its request as it came", async () => {
  script({ kai: () => answered(0.6) });
  const answer = await ask({ model: "kai", questions: { q: { type: "own", preset: "x" } } });
  assert.equal(answer.routing, undefined);
  assert.equal(calls[0].received.model, "served-kai");
});

test("names that are not published and other APIs are refused", async () => {
  for (const model of ["vega", "auto", "reader", "native"])
    await assert.rejects(ask({ model }), (error) => error.status === 404 && /systemone/.test(error.message), model);
  const chat = (model) => client.chat.completions.create({ model, messages: [{ role: "user", content: "Hello" }] });
  await assert.rejects(chat("kai"), (error) => error.status === 400 && /answer \/v1\/systemone/.test(error.message));
  script({ reader: () => ({ body: { id: "c", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }] } }) });
  assert.equal((await chat("vllm-sr/auto")).choices[0].message.content, "yes"); // an automatic name of chats
  const listed = (await client.models.list()).data.map(({ id }) => id);
  assert.equal(listed.includes("vllm-sr/auto"), true);
  assert.equal(listed.includes("kai"), false); // it answers no chats
});

test("a request that is none is refused before any call", async () => {
  const cases = {
    "questions: expected one object": { questions: undefined },
    'questions\\["team"\\].type': { questions: { team: { type: "essay" } } },
    'questions\\["team"\\].criteria': { questions: { team: { type: "choice", criteria: { one: "only" } } } },
    "state: expected": { state: 5 },
    "preset": { questions: { team: { ...kRequest.questions.team, preset: 5 } } },
    "require_full_input: expected": { questions: { team: { ...kRequest.questions.team, require_full_input: "yes" } } },
    'states\\["b"\\].questions': { states: { b: { state: "x" } } },
  };
  for (const [message, more] of Object.entries(cases))
    await assert.rejects(ask(more), (error) => error.status === 400 && new RegExp(message).test(error.message), message);
  const twice = JSON.stringify(kRequest).replace('"type":', '"require_full_input": false, "require_full_input": true, "type":');
  const reply = await fetch(`${daemon.url}/v1/systemone`, { method: "POST", headers: { "content-type": "application/json" }, body: twice });
  assert.equal(reply.status, 400);
  assert.match((await reply.json()).error.message, /require_full_input: there are two/);
  assert.deepEqual(calls, []);
});

test("each call counts in the metrics and in the log", async () => {
  script({ kai: () => answered(0.6), vega: () => answered(0.7) });
  const { response } = await ask().withResponse();
  const id = response.headers.get("x-request-id");
  await until(() => daemon.log.split("\n").some((line) => line.includes(id) && /kai.*vega/.test(line)));
  await until(async () => (await metric(daemon, 'signalbox_looper_calls_total{model="vega",purpose="answer",outcome="ok"}')) >= 1);
  assert.ok((await metric(daemon, 'signalbox_looper_requests_total{decision="answer",algorithm="cascade",used_up="none"}')) >= 1);
});

test("an explanation lists the calls of a cascade in their order, and calls nobody", async () => {
  const explained = await fetch(`${daemon.managementUrl}/api/v1/explain`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ recipe: "native", text: "an appeal" }),
  });
  const { plan } = await explained.json();
  assert.deepEqual(plan.calls, [
    { step: 1, model: "kai", purpose: "answer", label: "one" },
    { step: 2, model: "vega", purpose: "answer", label: "two" },
    { step: 3, model: "reader", purpose: "choose", label: "review" },
  ]);
  assert.deepEqual(calls, []);
});

test("clients find the names of System One apart from those of chats", async () => {
  const found = await (await fetch(`${daemon.url}/v1/systemone/models`)).json();
  assert.deepEqual(found, {
    object: "list",
    data: [
      { id: "vllm-sr/auto", object: "model", api: "systemone", routing: true },
      { id: "kai", object: "model", api: "systemone", routing: false },
    ],
  });
  const chats = await (await fetch(`${daemon.url}/v1/models`)).json();
  assert.ok(!chats.data.some((each) => each.id === "kai"));
});
