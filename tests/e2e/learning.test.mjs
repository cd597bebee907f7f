// Tests that a conversation keeps its model, that results of tools go to the model that called them, and that reported
// outcomes move the choice.

import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";
import { until } from "./until.mjs";

let upstream;
let daemon;
let bySession; // the same with sessions instead of conversations
let plain; // the same without learning

// The load decides between models of equal quality: a request that is held at "small" makes the algorithm choose "large".
// "firm" gains 0.1 by that, which is less than a change costs; "nimble" gains 1.
const configuration = (learning) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
${["small", "large", "local", "coder"].map((name) => `    - {name: ${name}, backend_refs: [{name: ${name}, endpoint: "127.0.0.1:${upstream.port}"}]}`).join("\n")}
routing:
  modelCards:
    - {name: small, quality_score: 0.5}
    - {name: large, quality_score: 0.5}
  signals:
    keywords:
      - {name: firm, operator: OR, keywords: [firm]}
      - {name: nimble, operator: OR, keywords: [nimble]}
      - {name: kept, operator: OR, keywords: [kept]}
      - {name: judged, operator: OR, keywords: [judged]}
      - {name: watched, operator: OR, keywords: [watched]}
      - {name: broken, operator: OR, keywords: [broken]}
      - {name: secret, operator: OR, keywords: [secret]}
      - {name: terse, operator: OR, keywords: [terse]}
      - {name: wordy, operator: OR, keywords: [wordy]}
  decisions:
    - name: secrets
      priority: 300
      rules: {type: keyword, name: secret}
      modelRefs: [{model: local}]
      adaptations: {mode: bypass}
    - name: code
      priority: 200
      rules: {type: keyword, name: broken}
      modelRefs: [{model: coder}]
    - name: firm
      priority: 100
      rules: {type: keyword, name: firm}
      modelRefs: [{model: small}, {model: large}]
      algorithm: {type: multi_factor, multi_factor: {weights: {quality: 0.9, latency: 0, cost: 0, load: 0.1}}}
    - name: nimble
      priority: 100
      rules: {type: keyword, name: nimble}
      modelRefs: [{model: small}, {model: large}]
      algorithm: {type: multi_factor, multi_factor: {weights: {quality: 0, latency: 0, cost: 0, load: 1}}}
    - name: kept
      priority: 100
      rules: {type: keyword, name: kept}
      modelRefs: [{model: small}, {model: large}]
      algorithm: {type: multi_factor, multi_factor: {weights: {quality: 0, latency: 0, cost: 0, load: 1}}}
      emits: [{kind: retention, retention: {keep_current_model: true}}]
    - name: judged
      priority: 100
      rules: {type: keyword, name: judged}
      modelRefs: [{model: small}, {model: large}]
    - name: watched
      priority: 100
      rules: {type: keyword, name: watched}
      modelRefs: [{model: small}, {model: large}]
      adaptations: {adaptation: {mode: observe}}
    - name: mixed
      priority: 100
      rules: {operator: OR, conditions: [{type: keyword, name: terse}, {type: keyword, name: wordy}]}
      modelRefs: [{model: small}, {model: large}]
global:
  router: {${learning}}
  services:
    router_replay: {enabled: true}
    response_api: {enabled: true}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const post = (url, body, headers = {}) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });

/// Waits until only the request that the upstream holds is at a model. A request counts as load until a moment after its
/// client has the reply.
async function settled(at) {
  const expected = upstream.held?.at === at ? 1 : 0;
  await until(async () => {
    const text = await (await fetch(`${at.managementUrl}/metrics`)).text();
    const counts = text.matchAll(/^llm_model_inflight_requests\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0) === expected;
  }, "the requests have left the models");
}

/// Sends a request for the model "auto", and returns the reply once the next one meets no load of it.
async function send(path, body, headers = {}, at = daemon) {
  const answer = await post(`${at.url}${path}`, { model: "auto", ...body }, headers);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  await settled(at);
  return { model: answer.headers.get("x-vsr-selected-model"), headers: answer.headers, body: JSON.parse(text) };
}

/// Sends the messages and returns the model that answered, with the headers of the reply.
async function ask(messages, headers = {}, at = daemon) {
  const all = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  const { body, ...reply } = await send("/v1/chat/completions", { messages: all }, { "x-vsr-debug": "true", ...headers }, at);
  return { ...reply, message: body.choices[0].message };
}

/// Runs the test while one request waits at the model "small".
async function whileSmallIsBusy(run, at = daemon) {
  let arrived, release;
  const atServer = new Promise((done) => (arrived = done));
  upstream.held = { at, arrived, until: new Promise((done) => (release = done)) };
  const waiting = post(`${at.url}/v1/chat/completions`, { model: "small", messages: [{ role: "user", content: "hold" }] });
  await atServer;
  try {
    return await run();
  } finally {
    release();
    upstream.held = undefined;
    await (await waiting).arrayBuffer();
    await settled(at);
  }
}

async function explain(text, headers = {}, at = daemon) {
  const answer = await post(`${at.managementUrl}/api/v1/explain`, { text }, headers);
  assert.equal(answer.status, 200);
  return (await answer.json()).plan;
}

/// Reports an outcome. The record is complete a moment after the reply.
async function report(replay_id, verdict, key, more = {}, at = daemon) {
  await until(async () => (await fetch(`${at.managementUrl}/v1/router_replay/${replay_id}`)).status === 200);
  const answer = await post(`${at.managementUrl}/v1/router/outcomes`, { replay_id, target: "model", verdict, ...more }, { "idempotency-key": key });
  return { status: answer.status, ...(await answer.json()) };
}

const outcomes = async (method = "GET") => (await fetch(`${daemon.managementUrl}/v1/router/outcomes`, { method })).json();
const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();

const kLearning = "learning: {enabled: true}";
const kCall = { id: "t1", type: "function", function: { name: "build", arguments: "{}" } };

before(async () => {
  upstream = await ScriptedUpstream.start();
  let count = 0;
  upstream.answer = async (received) => {
    if (received.messages.at(-1).content === "hold") {
      const held = upstream.held;
      held.arrived();
      await held.until;
    }
    const calls = String(received.messages.at(-1).content).includes(" call");
    if (calls) return { body: { ...completion({ content: null, tool_calls: [kCall] }, "tool_calls").body, model: received.model } };
    return { body: { ...completion({ content: `answer ${++count}` }).body, model: received.model } };
  };
  daemon = await Daemon.start(configuration(kLearning));
  bySession = await Daemon.start(configuration("learning: {enabled: true, protection: {scope: session}}"));
  plain = await Daemon.start(configuration("auto_model_name: auto"));
});

after(async () => {
  await daemon?.stop();
  await bySession?.stop();
  await plain?.stop();
  await upstream?.stop();
});

test("a conversation stays on its model where the algorithm would have moved it", async () => {
  const headers = { "x-conversation-id": "c-1", "x-session-id": "s-1" };
  assert.equal((await ask("firm one", headers)).model, "small");
  await whileSmallIsBusy(async () => {
    assert.equal((await ask("firm one", { "x-conversation-id": "c-2" })).model, "large", "another conversation");
    const kept = await ask("firm two", headers);
    assert.equal(kept.model, "small");
    assert.equal(kept.headers.get("x-vsr-learning-actions"), "adaptation=keep_base,protection=hold_current");
    assert.equal(kept.headers.get("x-vsr-learning-reasons"), "adaptation=no_outcomes,protection=gain_too_small");
    assert.equal(kept.headers.get("x-vsr-learning-scopes"), "protection=conversation");
  });
  const { learning } = await explain("firm three", headers); // which knows no load
  assert.deepEqual(learning.conversation, { model: "small", decision: "default/firm", turns: 2, switches: 0 });
  assert.deepEqual(learning.protection, { action: "hold_current", reason: "already_best" });
  assert.deepEqual([learning.base, learning.proposal, learning.identity], ["small", "small", "conversation_header"]);
  await until(async () => /signalbox_learning_total\{method="protection",action="hold_current",reason="gain_too_small"\} 1/.test(await metrics()));
});

test("a gain above margin and cost moves a conversation", async () => {
  const headers = { "x-conversation-id": "c-3" };
  assert.equal((await ask("nimble one", headers)).model, "small");
  await whileSmallIsBusy(async () => {
    const moved = await ask("nimble two", headers);
    assert.equal(moved.model, "large");
    assert.match(moved.headers.get("x-vsr-learning-reasons"), /protection=gain_sufficient/);
  });
});

test("keep_current_model keeps the model whatever the gain", async () => {
  const headers = { "x-conversation-id": "c-4" };
  for (const at of [daemon, plain]) {
    assert.equal((await ask("kept one", headers, at)).model, "small");
    await whileSmallIsBusy(async () => {
      assert.equal((await ask("kept two", headers, at)).model, "small");
      assert.equal((await ask("kept two", { "x-conversation-id": "c-5" }, at)).model, "large");
    }, at);
  }
});

test("without headers, a conversation is known by its first messages", async () => {
  const talk = [{ role: "user", content: "firm, by messages" }];
  const first = await ask(talk);
  assert.equal(first.model, "small");
  talk.push(first.message, { role: "user", content: "firm and on" });
  await whileSmallIsBusy(async () => {
    const second = await ask(talk);
    assert.equal(second.model, "small");
    talk.push(second.message, { role: "user", content: "firm and further" });
    assert.equal((await ask(talk)).model, "small");
    assert.equal((await ask("firm, by messages")).model, "large", "a conversation that begins is routed anew");
    assert.equal((await ask(talk)).model, "small", "and does not move the one that began in the same way");
  });
});

test("the chain of previous_response_id is a conversation", async () => {
  const respond = async (input, previous_response_id) => {
    const { model, body } = await send("/v1/responses", { input, previous_response_id });
    return { model, id: body.id };
  };
  let last = await respond("firm, a chain");
  assert.equal(last.model, "small");
  await whileSmallIsBusy(async () => {
    for (let turn = 0; turn < 3; ++turn) {
      last = await respond(`firm, turn ${turn}`, last.id);
      assert.equal(last.model, "small");
    }
  });
});

test("a tool loop never changes its model, even for another decision", async () => {
  const loop = [{ role: "user", content: "nimble, with tools" }, { role: "assistant", content: null, tool_calls: [kCall] }];
  const headers = { "x-conversation-id": "c-6" };
  assert.equal((await ask(loop.slice(0, 1), headers)).model, "small");
  await whileSmallIsBusy(async () => {
    loop.push({ role: "tool", tool_call_id: "t1", content: "done" });
    assert.equal((await ask(loop, headers)).model, "small");
    loop.push({ role: "assistant", content: null, tool_calls: [kCall] }, { role: "tool", tool_call_id: "t1", content: "done" });
    loop.push({ role: "user", content: "nimble and broken" });
    const step = await ask(loop, headers);
    assert.equal(step.headers.get("x-vsr-selected-decision"), "code");
    assert.equal(step.model, "small");
    assert.equal(step.headers.get("x-vsr-learning-reasons"), "protection=tool_loop");
    loop.push({ role: "assistant", content: "Built." }, { role: "user", content: "nimble and broken" });
    assert.equal((await ask(loop, headers)).model, "coder", "the loop is over");
  });
});

test("a tool loop keeps its model in the APIs of messages and responses, too", async () => {
  const selected = async (path, request) => {
    const { model, headers, body } = await send(path, request);
    return { ...body, model, decision: headers.get("x-vsr-selected-decision") };
  };
  const talk = [{ role: "user", content: "nimble call, by messages" }];
  const first = await selected("/v1/messages", { max_tokens: 9, messages: talk });
  assert.equal(first.content[0].type, "tool_use");
  const input = "nimble call, by responses";
  const begun = await selected("/v1/responses", { input });
  const call = begun.output.find((item) => item.type === "function_call");
  await whileSmallIsBusy(async () => {
    const result = { type: "tool_result", tool_use_id: first.content[0].id, content: "done" };
    talk.push({ role: "assistant", content: first.content }, { role: "user", content: [result, { type: "text", text: "it is broken" }] });
    const step = await selected("/v1/messages", { max_tokens: 9, messages: talk });
    assert.deepEqual([step.decision, step.model], ["code", "small"]);
    const output = [{ type: "function_call_output", call_id: call.call_id, output: "done" }, { role: "user", content: "it is broken" }];
    const next = await selected("/v1/responses", { input: output, previous_response_id: begun.id });
    assert.deepEqual([next.decision, next.model], ["code", "small"]);
  });
});

test("a decision that bypasses learning changes the model within a tool loop", async () => {
  const headers = { "x-conversation-id": "c-7" };
  await ask("firm, reading files", headers);
  const loop = [{ role: "user", content: "firm, reading files" }, { role: "assistant", content: null, tool_calls: [kCall] }];
  loop.push({ role: "tool", tool_call_id: "t1", content: "read" }, { role: "user", content: "this is secret" });
  const { model, headers: reply } = await ask(loop, headers);
  assert.equal(model, "local");
  assert.equal(reply.get("x-vsr-selected-decision"), "secrets");
  loop.splice(3, 1, { role: "assistant", content: null, tool_calls: [kCall] }, { role: "tool", tool_call_id: "t1", content: "sent" });
  assert.equal((await ask(loop, headers)).model, "local", "and its model goes on with the loop");
});

test("a request without identity is routed as before", async () => {
  const talk = [{ role: "user", content: "firm" }, { role: "assistant", content: "Yes?" }, { role: "user", content: "firm again" }];
  const expected = await ask(talk, {}, plain);
  assert.equal(expected.headers.get("x-vsr-learning-methods"), null);
  const found = await ask(talk, {}, bySession);
  assert.equal(found.model, expected.model);
  assert.match(found.headers.get("x-vsr-learning-reasons"), /protection=missing_identity/);
  await whileSmallIsBusy(async () => assert.equal((await ask(talk, {}, bySession)).model, "large"), bySession);
  const session = { "x-session-id": "s-9" };
  assert.equal((await ask(talk, session, bySession)).model, "small");
  await whileSmallIsBusy(async () => assert.equal((await ask("firm, anew", session, bySession)).model, "small"), bySession);
});

test("clients with different keys do not share conversations", async () => {
  const headers = { "x-conversation-id": "c-8" };
  assert.equal((await ask("firm one", { ...headers, authorization: "Bearer one" })).model, "small");
  await whileSmallIsBusy(async () => {
    assert.equal((await ask("firm two", { ...headers, authorization: "Bearer one" })).model, "small");
    assert.equal((await ask("firm two", { ...headers, authorization: "Bearer two" })).model, "large");
  });
});

test("outcomes move the choice within bounds, once for each key, until they are reset", async () => {
  const first = await ask("judged");
  assert.equal(first.model, "small");
  const replay = first.headers.get("x-vsr-replay-id");
  const done = await report(replay, "underpowered", "k-1");
  assert.deepEqual([done.status, done.success, done.updated, done.recorded], [200, true, 1, true]);
  const again = await report(replay, "underpowered", "k-1", { target: null, target_ref: null, reason: null, score: null });
  assert.deepEqual([again.status, again.updated, again.duplicate], [200, 0, true]);
  const other = await report(replay, "good_fit", "k-1");
  assert.deepEqual([other.status, other.error.code], [409, "IDEMPOTENCY_CONFLICT"]);
  assert.deepEqual((await outcomes()).models, [{ decision: "default/judged", model: "small", score: 0.4, underpowered: 1 }]);

  const moved = await ask("judged");
  assert.equal(moved.model, "large");
  assert.equal(moved.headers.get("x-vsr-learning-reasons"), "adaptation=outcomes_win,protection=new_conversation");
  const { learning, method } = await explain("judged");
  assert.equal(method, "adaptation");
  assert.deepEqual(learning.adaptation, { action: "propose_switch", reason: "outcomes_win" });
  assert.ok(Math.abs(learning.scores[0].adjustment + 0.1) < 1e-9, JSON.stringify(learning.scores));
  assert.equal(learning.scores[0].underpowered, 1);

  for (let i = 0; i < 100; ++i) assert.equal((await report(replay, "failed", `many-${i}`)).status, 200);
  const [line] = (await outcomes()).models;
  assert.ok(line.score > 0 && line.score < 0.06 && line.failed <= 64, JSON.stringify(line));
  const record = await (await fetch(`${daemon.managementUrl}/v1/router_replay/${replay}`)).json();
  assert.equal(record.outcomes[0].verdict, "underpowered");
  assert.ok(record.outcomes.length <= 16);
  assert.match(await metrics(), /signalbox_outcomes_total\{verdict="failed"\} 100/);

  assert.deepEqual(await outcomes("DELETE"), { reset: 1 });
  assert.deepEqual((await outcomes()).models, []);
  assert.equal((await ask("judged")).model, "small");
  const anew = await report(replay, "good_fit", "k-1");
  assert.deepEqual([anew.status, anew.updated, anew.duplicate], [200, 1, undefined], "its key is forgotten, too");
  await outcomes("DELETE");
});

test("a reload keeps conversations and outcomes", async () => {
  const headers = { "x-conversation-id": "c-9" };
  assert.equal((await ask("firm one", headers)).model, "small");
  await report((await ask("judged")).headers.get("x-vsr-replay-id"), "good_fit", "r-1");
  const version = async () => (await fetch(`${daemon.managementUrl}/config/router`)).headers.get("etag");
  const before = await version();
  await appendFile(daemon.file, "# changed\n");
  await until(async () => (await version()) !== before);
  await whileSmallIsBusy(async () => assert.equal((await ask("firm two", headers)).model, "small"));
  assert.equal((await outcomes()).models.find((line) => line.decision === "default/judged").good_fit, 1);
  await outcomes("DELETE");
});

test("a decision that only observes keeps its choice and reports another", async () => {
  const first = await ask("watched");
  await report(first.headers.get("x-vsr-replay-id"), "failed", "w-1");
  const next = await ask("watched");
  assert.equal(next.model, "small");
  assert.match(next.headers.get("x-vsr-learning-actions"), /^adaptation=observe,/);
  assert.match(next.headers.get("x-vsr-learning-reasons"), /^adaptation=outcomes_win,/);
});

test("outcomes about something else than the model are only recorded", async () => {
  const replay = (await ask("judged")).headers.get("x-vsr-replay-id");
  const done = await report(replay, "failed", "p-1", { target: "policy", target_ref: null, reason: "too strict", score: 0.5 });
  assert.deepEqual([done.status, done.updated, done.recorded], [200, 0, true]);
  assert.equal((await outcomes()).models.find((line) => line.decision === "default/judged"), undefined);
});

test("samples try models, are explained by their seed, and favour the better one", async () => {
  const at = await Daemon.start(configuration("learning: {enabled: true, adaptation: {strategy: routing_sampling}}"));
  const one = async (headers = {}) => {
    const reply = await ask("judged", headers, at);
    return { ...reply, seed: reply.headers.get("x-vsr-learning-seed"), reasons: reply.headers.get("x-vsr-learning-reasons") };
  };
  const models = new Set();
  const replies = [];
  while (models.size < 2) {
    replies.push(await one());
    models.add(replies.at(-1).model);
  }
  const tried = replies.find(({ model }) => model === "large");
  assert.match(tried.reasons, /^adaptation=explored,/);
  const answer = await post(`${at.managementUrl}/api/v1/explain`, { text: "judged", seed: Number(tried.seed) });
  const { plan } = await answer.json();
  assert.deepEqual([plan.model, plan.learning.explored, plan.learning.seed], ["large", true, Number(tried.seed)]);
  assert.equal(plan.learning.scores.every(({ sample }) => sample > 0 && sample < 1), true);
  const greedy = await explain("judged", {}, at);
  assert.deepEqual([greedy.model, greedy.learning.seed], ["small", undefined]);
  const wrong = await post(`${at.managementUrl}/api/v1/explain`, { text: "judged", seed: -1 });
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /seed: expected an integer from 0 to 4294967295, found/);
  await until(async () => /signalbox_learning_total\{method="adaptation",action="propose_switch",reason="explored"\} [1-9]/.test(await (await fetch(`${at.managementUrl}/metrics`)).text()));

  // The conversation keeps the model that was tried or not, without further samples.
  const headers = { "x-conversation-id": "samples" };
  const { model } = await one(headers);
  for (let i = 0; i < 5; ++i) {
    const next = await one(headers);
    assert.deepEqual([next.model, next.seed], [model, null]);
  }

  const replay_id = tried.headers.get("x-vsr-replay-id");
  await until(async () => (await fetch(`${at.managementUrl}/v1/router_replay/${replay_id}`)).status === 200);
  for (let i = 0; i < 60; ++i) {
    const done = await post(`${at.managementUrl}/v1/router/outcomes`, { replay_id, target: "model", verdict: "failed" }, { "idempotency-key": `s-${i}` });
    assert.equal(done.status, 200);
  }
  let large = 0;
  for (let i = 0; i < 20; ++i) large += (await one()).model === "large" ? 1 : 0;
  assert.ok(large <= 3, `${large} of 20 requests went to a model that failed 60 times`);
  await at.stop();
});

for (const strategy of ["linucb", "linear_thompson"]) {
  test(`${strategy} learns which model suits which request, explains it, and can be reset`, async () => {
    const at = await Daemon.start(configuration(`learning: {enabled: true, adaptation: {strategy: ${strategy}}}`));
    const suited = { terse: "small", wordy: "large" };
    let count = 0;
    const once = async (kind) => {
      const { model, headers } = await ask(kind, {}, at);
      assert.equal(headers.has("x-vsr-learning-seed"), strategy === "linear_thompson");
      const id = headers.get("x-vsr-replay-id");
      const verdict = model === suited[kind] ? "good_fit" : "failed";
      const { status, updated } = await report(id, verdict, `${strategy}-${++count}`, {}, at);
      assert.deepEqual([status, updated], [200, 1]);
      return { id, right: model === suited[kind] };
    };
    for (let i = 0; i < 12; ++i) for (const kind in suited) await once(kind);
    let right = 0;
    for (let i = 0; i < 5; ++i) for (const kind in suited) right += (await once(kind)).right ? 1 : 0;
    assert.ok(right >= 9, `${right} of 10 requests went to the model that suits them`);

    const { learning } = await explain("wordy", {}, at);
    const [small, large] = learning.scores;
    assert.ok(small.expected < 0.5 && large.expected > 0.7, JSON.stringify(learning));
    for (const { bonus } of learning.scores) assert.ok(bonus > 0 && bonus <= 0.5);
    assert.equal(small.with_features + large.with_features, 34);
    assert.equal(learning.features.constant, 1);
    assert.equal(Object.keys(learning.features).filter((name) => name.startsWith("signals_")).length, 1);
    assert.equal(small.upper_bound !== undefined, strategy === "linucb");
    const { id } = await once("terse");
    const record = await (await fetch(`${at.managementUrl}/v1/router_replay/${id}`)).json();
    assert.match(record.learning_features, /^1:8[0-8]{23}$/);
    const bypassed = (await ask("secret", {}, at)).headers.get("x-vsr-replay-id");
    await report(bypassed, "good_fit", `${strategy}-bypassed`, {}, at);
    const silent = await (await fetch(`${at.managementUrl}/v1/router_replay/${bypassed}`)).json();
    assert.deepEqual([silent.decision, silent.learning_features], ["secrets", undefined]);

    // A conversation that keeps its model is not an experiment.
    const headers = { "x-conversation-id": strategy };
    const { model } = await ask("wordy", headers, at);
    const later = await explain("wordy", headers, at);
    assert.equal(later.model, model);
    for (const { upper_bound, sample } of later.learning.scores) assert.deepEqual([upper_bound, sample], [undefined, undefined]);

    await fetch(`${at.managementUrl}/v1/router/outcomes`, { method: "DELETE" });
    const after = (await explain("wordy", {}, at)).learning;
    assert.deepEqual([after.adaptation.reason, after.scores.map(({ expected }) => expected)], ["no_outcomes", [0.5, 0.5]]);
    await at.stop();
  });
}

test("the log warns that no record can match outcomes", async () => {
  const silent = await Daemon.start((...ports) => configuration(kLearning)(...ports).replace("router_replay: {enabled: true}", "router_replay: {enabled: false}"));
  await until(() => silent.log.includes("global.router.learning.adaptation: outcomes refer to records of requests, and there are none"));
  assert.doesNotMatch(daemon.log, /outcomes refer to records/);
  await silent.stop();
});

test("bad outcomes get clear errors", async () => {
  const replay_id = (await ask("judged")).headers.get("x-vsr-replay-id");
  await report(replay_id, "good_fit", "b-0", { target: "route" });
  const refusal = async (body, headers = { "idempotency-key": "b-1" }, at = daemon) => {
    const answer = await post(`${at.managementUrl}/v1/router/outcomes`, body, headers);
    const { error } = await answer.json();
    return [answer.status, error.code, error.message];
  };
  const good = { replay_id, target: "model", verdict: "good_fit" };
  assert.deepEqual(await refusal({ ...good, replay_id: "replay-0" }), [404, "REPLAY_NOT_FOUND", 'replay_id: there is no record "replay-0", or it has been removed']);
  assert.deepEqual(await refusal({ ...good, verdict: "great" }), [400, "INVALID_OUTCOME", 'verdict: expected good_fit, underpowered, overprovisioned or failed, found "great"']);
  assert.deepEqual(await refusal({ ...good, target: "moon" }), [400, "INVALID_OUTCOME", 'target: expected model, route, policy, stability, provider or router, found "moon"']);
  assert.deepEqual(await refusal({ ...good, score: 2 }), [400, "INVALID_OUTCOME", "score: expected a number from 0 to 1"]);
  assert.deepEqual(await refusal(good, {}), [400, "MISSING_IDEMPOTENCY_KEY", "expected the header Idempotency-Key, which makes a repetition count once"]);
  assert.deepEqual((await refusal(good, { "idempotency-key": "k".repeat(257) })).slice(0, 2), [400, "INVALID_IDEMPOTENCY_KEY"]);
  assert.deepEqual(await refusal({ ...good, target_ref: "large" }), [409, "OUTCOME_OWNERSHIP_MISMATCH", 'target_ref: the model that answered is "small", not "large"']);
  assert.deepEqual((await refusal({ verdict: "good_fit" })).slice(0, 2), [400, "INVALID_OUTCOME"]);
  assert.deepEqual((await refusal(good, { "idempotency-key": "b-2" }, plain)).slice(0, 2), [503, "NO_ROUTER_LEARNING_RUNTIME"]);
  assert.deepEqual((await refusal(good, { "idempotency-key": "b-3", origin: "https://elsewhere.example" })).slice(0, 2), [403, "FORBIDDEN"]);
  assert.equal((await outcomes()).models.find((line) => line.decision === "default/judged"), undefined, "nothing was counted");
});
