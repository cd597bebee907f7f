// Tests signals with known classes that a classifier on a server decides: the field of knowledge, questions of fact, the
// user's opinion and the kind of reply. The servers are doubles that answer as a test scripts them.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { Daemon, withDaemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let servers, model, daemon;
const kTasks = ["fields", "facts", "opinions", "kinds"];

const kDecisions = `    - name: advice
      priority: 9
      rules: {type: domain, name: law, on_error: match}
      plugins: [{type: fast_response, configuration: {message: Ask a lawyer.}}]
    - {name: numbers, priority: 8, rules: {type: domain, name: numbers}}
    - {name: facts, priority: 7, rules: {type: fact_check, name: needs_fact_check}}
    - {name: repair, priority: 6, rules: {type: user_feedback, name: wrong_answer}}
    - {name: draw, priority: 5, rules: {type: modality, name: DIFFUSION}}
    - {name: rest, priority: 1}`;

const configuration = ({ decisions = kDecisions, deadline_ms = 60_000, decision = "60s" } = {}) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models:
    - {name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
routing:
  signals:
    domains: [{name: law}, {name: numbers, mmlu_categories: [math, physics]}]
    fact_check: [{name: needs_fact_check}]
    user_feedbacks: [{name: wrong_answer}]
    modality: [{name: DIFFUSION}]
  decisions:
${decisions}
global:
  model_catalog:
    modules:
      classifier: {domain: {backend: {protocol: http_classify, contract: label_distribution.v1, model: fields, deadline_ms: ${deadline_ms}}}}
      hallucination_mitigation: {fact_check: {variant: http_classify, model_id: facts}}
      feedback_detector: {variant: http_classify, model_id: opinions}
      modality_detector: {method: classifier, classifier: {variant: http_classify, model_path: kinds}}
    external:
${kTasks.map((name) => `      - {name: ${name}, model_role: classification, llm_model_name: m, llm_timeout_seconds: 60, llm_endpoint: {address: 127.0.0.1, port: ${servers[name].port}, protocol: http}}`).join("\n")}
  services: {http: {decision_timeout: ${decision}}, management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

/// A distribution over labels, given as {label: score}.
const distribution = (scores) => ({ body: [Object.entries(scores).map(([label, score]) => ({ label, score }))] });

const kNothing = {
  fields: distribution({ other: 0.9, law: 0.05, math: 0.05 }),
  facts: distribution({ NO_FACT_CHECK_NEEDED: 0.9, FACT_CHECK_NEEDED: 0.1 }),
  opinions: distribution({ SAT: 1, WRONG_ANSWER: 0 }),
  kinds: distribution({ AR: 1, DIFFUSION: 0, BOTH: 0 }),
};

let calls;
function serversSay(answers) {
  calls = Object.fromEntries(kTasks.map((name) => [name, []]));
  for (const name of kTasks) {
    servers[name].answer = async (body) => {
      calls[name].push({ path: servers[name].path, text: body.inputs });
      const answer = answers[name] ?? kNothing[name];
      return typeof answer === "function" ? answer(body) : answer;
    };
  }
}

before(async () => {
  servers = {};
  for (const name of kTasks) servers[name] = await ScriptedUpstream.start();
  model = await ScriptedUpstream.start();
  model.answer = () => completion({ content: "Done." });
  daemon = await Daemon.start(configuration());
});
after(async () => {
  await daemon?.stop();
  for (const server of Object.values(servers ?? {})) await server.stop();
  await model?.stop();
});
beforeEach(() => serversSay({}));

async function send(messages, at = daemon) {
  const list = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  const answer = await fetch(`${at.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages: list }) });
  await answer.text();
  return answer;
}
async function decide(messages) {
  const { headers } = await send(messages);
  return { decision: headers.get("x-vsr-selected-decision"), degraded: headers.get("x-vsr-degraded-reason") };
}

const turns = (text) => [
  { role: "user", content: "How long is the Rhine?" },
  { role: "assistant", content: "Two miles." },
  { role: "user", content: text },
];

test("each signal calls its server, and the labels count as those of a model here", async () => {
  assert.deepEqual(await decide(turns("Thank you.")), { decision: "rest", degraded: null });
  for (const name of kTasks) assert.deepEqual(calls[name], [{ path: "/classify", text: "Thank you." }]);

  serversSay({ fields: distribution({ Math: 0.6, law: 0.3, other: 0.1 }) });
  assert.deepEqual(await decide("What is 2 + 2?"), { decision: "numbers", degraded: null });
  serversSay({ facts: distribution({ FACT_CHECK_NEEDED: 0.9, NO_FACT_CHECK_NEEDED: 0.1 }) });
  assert.deepEqual(await decide("Who built the bridge?"), { decision: "facts", degraded: null });
  serversSay({ opinions: distribution({ SAT: 0.1, WRONG_ANSWER: 0.9 }) });
  assert.deepEqual(await decide(turns("That is wrong.")), { decision: "repair", degraded: null });
  assert.deepEqual(await decide("That is wrong, without an answer before."), { decision: "rest", degraded: null });
  serversSay({ kinds: distribution({ AR: 0.1, DIFFUSION: 0.8, BOTH: 0.1 }) });
  assert.deepEqual(await decide("Draw a river."), { decision: "draw", degraded: null });
});

test("an answer is kept by text, and an error is not", async () => {
  assert.equal((await decide("A text that comes again.")).decision, "rest");
  assert.equal((await decide("A text that comes again.")).decision, "rest");
  assert.equal(calls.fields.length, 1);
  serversSay({ kinds: { body: [] } });
  assert.deepEqual(await decide("A text with an error."), { decision: "rest", degraded: "error" });
  serversSay({});
  assert.deepEqual(await decide("A text with an error."), { decision: "rest", degraded: null });
  assert.equal(calls.kinds.length, 1);
});

test("a reply of another form is an error of the signal, for which the on_error of a condition decides", async () => {
  for (const [i, reply] of [
    distribution({ law: 0.4 }), // not all labels
    distribution({ sports: 0.5, politics: 0.5 }), // those of another task
    { body: { label: "law", score: 1 } },
    { body: "no JSON" },
    { status: 500, body: {} },
  ].entries()) {
    serversSay({ fields: reply });
    assert.deepEqual(await decide(`Another form ${i}`), { decision: "advice", degraded: "error" }, JSON.stringify(reply));
    serversSay({});
    assert.deepEqual(await decide(`Right form ${i}`), { decision: "rest", degraded: null });
  }
  assert.ok(!daemon.log.includes("sports") && !daemon.log.includes("Another form"), "a text is in the log");
});

test("rules with fail_request fail the request, even if another decision matches", async () => {
  const guarded = "{operator: AND, on_unknown: fail_request, conditions: [{type: fact_check, name: needs_fact_check}, {type: domain, name: law, on_error: match}]}";
  const decisions = `
    - {name: route, priority: 9, rules: {type: modality, name: DIFFUSION}}
    - {name: guarded, priority: 1, rules: ${guarded}}`;
  await withDaemon(configuration({ decisions }), async (own) => {
    const ask = (text) => fetch(`${own.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: text }] }) });
    const isFact = distribution({ FACT_CHECK_NEEDED: 0.99, NO_FACT_CHECK_NEEDED: 0.01 });
    const isImage = distribution({ AR: 0, DIFFUSION: 1, BOTH: 0 });
    serversSay({ fields: { status: 500, body: {} }, facts: isFact, kinds: isImage });
    const failed = await ask("Is this legal?");
    assert.equal(failed.status, 503);
    assert.match((await failed.json()).error.message, /decision "guarded" cannot be resolved/);
    serversSay({ fields: { status: 500, body: {} }, kinds: isImage });
    assert.equal((await ask("A question without facts.")).headers.get("x-vsr-selected-decision"), "route", "the other condition settles it");
    serversSay({ facts: isFact, kinds: isImage });
    assert.equal((await ask("Is that legal?")).headers.get("x-vsr-selected-decision"), "route");
  });
});

test("a slow server ends at deadline_ms", async () => {
  let release;
  const held = new Promise((done) => (release = done));
  serversSay({ fields: async () => (await held, kNothing.fields) });
  // The decision would refuse, and a late reply is not a finding. Without deadline_ms the request would end at its listener's limit,
  // which is another error.
  await withDaemon(configuration({ deadline_ms: 700 }), async (hasty) => {
    const late = await send("A slow question.", hasty);
    release();
    assert.equal(late.status, 503);
    assert.ok(late.headers.get("retry-after"));
  });
});

test("the classification API waits for a server no longer than a decision does", async () => {
  const kPause = 100; // the windows of the text take 6 seconds together
  serversSay({ facts: async () => (await new Promise((done) => setTimeout(done, kPause)), kNothing.facts) });
  const text = Array.from({ length: 12000 }, (_, i) => `w${i}`).join(" ");
  await withDaemon(configuration({ decision: "3s" }), async (hasty) => {
    const answer = await fetch(`${hasty.managementUrl}/api/v1/classify/fact-check`, { method: "POST", body: JSON.stringify({ text }) });
    assert.equal(answer.status, 500, await answer.text());
  });
  assert.ok(calls.facts.length < 40, `${calls.facts.length} calls`);
});

test("explanations name the server that answered", async () => {
  serversSay({ fields: distribution({ physics: 0.7, other: 0.3 }) });
  const answer = await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", body: JSON.stringify({ text: "Why is the sky blue?", all: true }) });
  const { signals } = await answer.json();
  assert.equal(signals.domain.numbers.matched, true);
  assert.equal(signals.domain.numbers.server, "fields");
  assert.equal(signals.fact_check.needs_fact_check.server, "facts");
  const classified = await fetch(`${daemon.managementUrl}/api/v1/classify/intent`, { method: "POST", body: JSON.stringify({ text: "Why is the sky blue?" }) });
  assert.equal((await classified.json()).classification.category, "physics");
});

test("a server that is gone is an error, is left alone for a while, and nothing passes", async () => {
  await servers.fields.stop();
  for (let i = 0; i < 5; ++i) assert.deepEqual(await decide(`Nobody is there ${i}`), { decision: "advice", degraded: "error" });
  await until(() => daemon.log.includes("it is not called for a second, because 3 calls failed"));
  const answer = await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", body: JSON.stringify({ text: "Nobody is there at all.", all: true }) });
  const { signals } = await answer.json();
  assert.deepEqual(signals.domain.law, { matched: null, why: "the model failed", server: "fields" });
});
