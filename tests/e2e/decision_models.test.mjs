// Tests signals that a decision model on a server answers (POST /v1/systemone), the difficulty of requests by a server, and the
// facts of a conversation. The servers are doubles that answer as a test scripts them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let model, decider, rater, scorer, daemon, scored;

const kDecisions = `    - name: risky
      priority: 90
      rules: {type: classifier, name: tool-risk, label: RISKY, predicate: {gte: 0.6}}
      modelRefs: [{model: small}]
    - {name: code, priority: 80, rules: {type: decision, name: kind, label: code}, modelRefs: [{model: small}]}
    - {name: steps, priority: 70, rules: {type: decision, name: steps}, modelRefs: [{model: small}]}
    - {name: unsure, priority: 60, rules: {type: decision, name: unsure, on_error: match}, modelRefs: [{model: small}]}
    - {name: effort, priority: 50, rules: {type: projection, name: much}, modelRefs: [{model: small}]}
    - {name: hard, priority: 40, rules: {type: complexity, name: c:hard}, modelRefs: [{model: large}]}
    - {name: again, priority: 30, rules: {type: session, name: by_large}, modelRefs: [{model: small}]}
    - {name: rest, priority: 1, modelRefs: [{model: small}]}`;

const external = (name, server) => `{name: ${name}, model_role: classification, llm_model_name: judge-1, llm_timeout_seconds: 60, access_key: key, llm_endpoint: {address: 127.0.0.1, port: ${server.port}, protocol: http}}`;

const file = (contract, bounds) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: large, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
routing:
  signals:
    classifiers: [{name: tool-risk, type: systemone, model: judge, instructions: "Does it change state?", labels: [SAFE, RISKY]}]
    decision:
      - {name: steps, deployment: judge, question: {type: noul, instructions: "Does it need steps?"}, predicate: {gte: 0.7}}
      - {name: unsure, deployment: judge, question: {type: noul, instructions: "Is it unclear?"}}
      - name: kind
        question: {type: choice, instructions: "What is it?", choices: [{key: code, description: Programs}, {key: chat}]}
      - {name: level, question: {type: score, instructions: "How difficult is it?", levels: [low, mid, high]}, predicate: {gte: 1.5}}
    complexity: [{name: c${bounds}}]
    session: [{name: by_large, fact: has_previous_model, previous_model: large, predicate: {gte: 1}}]
  projections:
    scores: [{name: effort, inputs: [{type: decision, name: level, weight: 1, value_source: raw}, {type: decision, name: "kind:chat", weight: 1, value_source: raw}]}]
    mappings: [{name: m, source: effort, method: threshold_bands, outputs: [{name: much, gte: 2}]}]
  decisions:
${kDecisions}
global:
  router: {learning: {enabled: true}}
  model_catalog:
    system: {decision_model: {deployment: judge}}
    modules: {complexity: {backend: {protocol: http_classify, contract: ${contract}, model: rater}}}
    deployments: {judge: {provider: http, external_model: judge}}
    external:
      - ${external("judge", decider)}
      - ${external("rater", contract === "score.v1" ? scorer : rater)}
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

const noul = (p) => ({ type: "noul", noul: p });
const choice = (probabilities) => ({ type: "choice", choice: "x", confidence: 1, probabilities });
const kAnswers = {
  "Does it change state?": choice({ SAFE: 0.9, RISKY: 0.1 }),
  "Does it need steps?": noul(0.1),
  "Is it unclear?": noul(0.2),
  "What is it?": choice({ code: 0.3, chat: 0.7 }),
  "How difficult is it?": { type: "score", score: 0, probabilities: { 0: 1, 1: 0, 2: 0 } },
};
let answers, asked, status, level, score;

before(async () => {
  [model, decider, rater, scorer] = await Promise.all([0, 1, 2, 3].map(() => ScriptedUpstream.start()));
  model.answer = () => completion({ content: "Done." });
  decider.answer = (body) => {
    const { instructions } = body.questions.question;
    asked[instructions] = { path: decider.path, authorization: decider.headers.authorization, body };
    return { status, body: { model: body.model, answers: { question: answers[instructions] } } };
  };
  rater.answer = () => ({ body: Object.entries(level).map(([label, share]) => ({ label, score: share })) });
  scorer.answer = () => ({ body: [[{ label: "LABEL_0", score }]] });
  reset();
  daemon = await Daemon.start(file("label_distribution.v1", ""));
  scored = await Daemon.start(file("score.v1", ", hard_below: -10, easy_above: 10"));
});
after(async () => {
  for (const each of [daemon, scored]) await each?.stop();
  for (const each of [model, decider, rater, scorer]) await each?.stop();
});

function reset(changes = {}) {
  answers = { ...kAnswers, ...changes };
  asked = {};
  status = 200;
  level = { easy: 1, medium: 0, hard: 0 };
  score = 0;
}

let texts = 0; // each text is new, because answers are kept by text
async function decide({ at = daemon, messages = [{ role: "user", content: `text ${++texts}` }] } = {}) {
  const answer = await fetch(`${at.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages }) });
  await answer.text();
  assert.equal(answer.status, 200);
  return answer.headers.get("x-vsr-selected-decision");
}

test("each question is sent in its form, and nothing matches without a reason", async () => {
  reset();
  assert.equal(await decide(), "rest");
  const text = `text ${texts}`;
  const sent = (question) => ({ model: "judge-1", state: text, questions: { question } });
  assert.deepEqual(Object.keys(asked).sort(), Object.keys(kAnswers).sort());
  for (const { path, authorization } of Object.values(asked)) assert.deepEqual([path, authorization], ["/v1/systemone", "Bearer key"]);
  const bodies = Object.values(asked).map(({ body }) => body);
  for (const question of [
    { type: "choice", instructions: "Does it change state?", criteria: { SAFE: null, RISKY: null } },
    { type: "noul", instructions: "Does it need steps?" },
    { type: "choice", instructions: "What is it?", criteria: { code: "Programs", chat: null } },
    { type: "score", instructions: "How difficult is it?", criteria: ["low", "mid", "high"] },
  ])
    assert.deepEqual(bodies.find(({ questions }) => questions.question.instructions === question.instructions), sent(question));
});

test("the answers decide", async () => {
  reset({ "Does it change state?": choice({ SAFE: 0.4, RISKY: 0.6 }) });
  assert.equal(await decide(), "risky", "a score of 0.6 reaches the bound 0.6");
  reset({ "What is it?": choice({ code: 0.6, chat: 0.4 }) });
  assert.equal(await decide(), "code");
  reset({ "Does it need steps?": noul(0.7) });
  assert.equal(await decide(), "steps", "0.7 reaches the bound 0.7");
  reset({ "Does it need steps?": noul(0.69) });
  assert.equal(await decide(), "rest");
  reset({ "Is it unclear?": noul(0.5) });
  assert.equal(await decide(), "unsure", "from 0.5 up without a bound");
  reset({ "How difficult is it?": { type: "score", score: 1.5, probabilities: { 0: 0, 1: 0.5, 2: 0.5 } } });
  assert.equal(await decide(), "effort", "level 1.5 and 0.7 for chat");
});

test("a failure and an incomplete answer leave a question unknown", async () => {
  reset({ "Is it unclear?": { type: "noul" } });
  assert.equal(await decide(), "unsure", "its on_error");
  reset({ "What is it?": choice({ code: 0.9 }) });
  assert.equal(await decide(), "rest", "an option has no probability");
  reset();
  status = 500;
  assert.equal(await decide(), "unsure");
});

test("a server rates the difficulty, by levels or by a number", async () => {
  reset();
  level = { easy: 0.1, medium: 0.3, hard: 0.6 };
  assert.equal(await decide(), "hard");
  level = { easy: 0.1, medium: 0.6, hard: 0.3 };
  assert.equal(await decide(), "rest");
  score = -10.5;
  assert.equal(await decide({ at: scored }), "hard", "lower is harder");
  score = -9.5;
  assert.equal(await decide({ at: scored }), "rest");
});

test("a conversation's last model is a fact", async () => {
  reset();
  level = { easy: 0, medium: 0, hard: 1 };
  const first = [{ role: "user", content: `a long story ${++texts}` }];
  assert.equal(await decide({ messages: first }), "hard");
  level = { easy: 1, medium: 0, hard: 0 };
  const second = [...first, { role: "assistant", content: "Done." }, { role: "user", content: `more ${texts}` }];
  assert.equal(await decide({ messages: second }), "again");
  assert.equal(await decide({ messages: [{ role: "user", content: `another ${texts}` }] }), "rest");
});
