// Tests replies that a language model on a server compares with their context: what the server gets, what the client
// gets, whole and streamed, and what follows if the server is of no use.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";

const kContext = "The bridge was opened in 1932 by the mayor.";
const kAnswer = "The bridge was opened by a baker in front of the people.";

let detector, guard, model, daemon, client;

const configuration = (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models:
    - {name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
routing:
  signals:
    keywords: [{name: judged, keywords: [judged]}, {name: several, keywords: [several]}]
    jailbreak: [{name: attack, method: classifier}]
  decisions:
    - name: judged
      priority: 9
      rules: {operator: AND, conditions: [{type: keyword, name: judged}, {type: jailbreak, name: attack}]}
      plugins: [{type: fast_response, configuration: {message: Refused.}}]
    - name: several
      priority: 5
      rules: {type: keyword, name: several}
      modelRefs: [{model: plain}, {model: plain}]
      algorithm: {type: ratings}
      plugins: [{type: hallucination, configuration: {hallucination_action: header}}]
    - name: checked
      priority: 1
      modelRefs: [{model: plain}]
      plugins: [{type: hallucination, configuration: {hallucination_action: header, include_hallucination_details: true}}]
global:
  integrations: {looper: {stream: {open_after: 0ms, keep_alive: 100ms}}}
  model_catalog:
    external:
      - {name: guard, model_role: guardrail, llm_endpoint: {address: 127.0.0.1, port: ${guard.port}, protocol: http, path: /check}, llm_model_name: guard-1}
    modules:
      prompt_guard: {variant: external, positive_labels: [INJECTION]}
      hallucination_mitigation:
        enabled: true
        detector: {backend: endpoint, endpoint: "http://127.0.0.1:${detector.port}/v1/", model_id: detector-1}
  services:
    http: {model_threads: 1, decision_timeout: 60s}
    management_api: {bind_address: 127.0.0.1, port: ${management}}
`;

before(async () => {
  detector = await ScriptedUpstream.start();
  guard = await ScriptedUpstream.start();
  guard.answer = () => ({ body: { score: 0.9 } });
  model = await ScriptedUpstream.start();
  model.answer = (received) => (received.stream ? streamed([{ content: kAnswer }]) : completion({ content: kAnswer }));
  daemon = await Daemon.start(configuration);
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  for (const server of [detector, guard, model]) await server?.stop();
});

// Answers are kept by text, so that every test asks another question.
let number = 0;
beforeEach(() => (number += 1));

const requestOf = (more = {}) => ({
  model: "auto",
  messages: [
    { role: "user", content: `Who opened the bridge? (${number})` },
    { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "t", content: kContext },
  ],
  ...more,
});
const detects = (...texts) => completion({ content: JSON.stringify({ hallucinated_spans: texts.map((text) => ({ text })) }) });
const ask = () => client.chat.completions.create(requestOf()).withResponse();

test("the server gets context and answer, and what it quotes is marked, even one word", async () => {
  let seen;
  detector.answer = (body) => ((seen = body), detects("baker"));
  const { data, response } = await ask();
  assert.equal(response.headers.get("x-vsr-response-warnings"), "hallucination");
  assert.deepEqual(data.vsr_guard.spans.map(({ text, verdict }) => [text, verdict]), [["baker", "hallucinated"]]);
  assert.equal(data.choices[0].message.content, kAnswer);
  assert.equal(detector.path, "/v1/chat/completions");
  assert.equal(seen.model, "detector-1");
  assert.equal(seen.response_format.type, "json_schema");
  const said = seen.messages.at(-1).content;
  for (const part of [kContext, `(${number})`, kAnswer]) assert.ok(said.includes(part), part);
});

test("a reply is clean if the server quotes nothing of it", async () => {
  detector.answer = () => detects();
  const { data, response } = await ask();
  for (const name of ["warnings", "unchecked"]) assert.equal(response.headers.get(`x-vsr-response-${name}`), null);
  assert.equal(data.vsr_guard, undefined);
});

test("a stream is marked, too, however long the server takes within its limit", async () => {
  let calls = 0;
  detector.answer = async () => {
    calls += 1;
    await new Promise((done) => setTimeout(done, 700)); // longer than a stream waits for a model here
    return detects("baker");
  };
  const marks = [];
  for await (const chunk of await client.chat.completions.create(requestOf({ stream: true }))) marks.push(...(chunk.vsr_guard?.spans ?? []));
  assert.deepEqual(marks.map(({ text }) => text), ["baker"]);
  assert.ok(calls > 0);
});

test("a reply is unchecked if the server fails or quotes what is not there, and no text reaches the log", async () => {
  const bad = [
    () => ({ status: 500, body: { error: { message: "hunter2" } } }),
    () => completion({ content: "All is well, hunter2." }),
    () => detects("hunter3"),
  ];
  for (const answer of bad) {
    detector.answer = answer;
    number += 100;
    const { data, response } = await ask();
    assert.equal(response.headers.get("x-vsr-response-unchecked"), "hallucination");
    assert.equal(data.choices[0].message.content, kAnswer);
  }
  assert.doesNotMatch(daemon.log, /hunter/);
});

test("a stream of several models stays alive while its end waits for the server", async () => {
  let begin, release;
  const begun = new Promise((done) => (begin = done));
  const released = new Promise((done) => (release = done));
  const answer = model.answer;
  model.answer = async (received) => (await begun, answer(received));
  detector.answer = async () => (await released, detects());
  const { messages } = requestOf();
  messages[0].content += " Ask several.";
  const reply = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(requestOf({ stream: true, messages })) });
  begin();
  let body = "";
  for await (const bytes of reply.body) {
    body += Buffer.from(bytes).toString();
    if (/baker.*: the answer is not complete yet/s.test(body)) release();
  }
  model.answer = answer;
  assert.match(body, /baker.*\n\n: the answer is not complete yet\n\n.*data: \[DONE\]\n\n$/s);
});

test("a client that leaves ends the call of its check", async () => {
  for (const stream of [false, true]) {
    let calls = 0;
    number += 100;
    detector.answer = () => ((calls += 1), new Promise(() => {}));
    const leave = new AbortController();
    const body = JSON.stringify(requestOf({ stream }));
    const left = fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body, signal: leave.signal }).then((reply) => reply.text()).catch(() => {});
    await until(() => calls > 0);
    const began = Date.now();
    leave.abort();
    await Promise.all([left, detector.closed]);
    assert.ok(Date.now() - began < 8_000, "the limit of a call ended it");
  }
});

test("a server that is silent keeps no request from its guard", async () => {
  let calls = 0, release;
  const released = new Promise((done) => (release = done));
  detector.answer = async () => ((calls += 1), await released, detects());
  const checked = Array.from({ length: 10 }, () => ((number += 1), ask()));
  await until(() => calls >= 8); // as many as wait for models here
  const { response } = await client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "to be judged" }] }).withResponse();
  assert.equal(response.headers.get("x-vsr-selected-decision"), "judged");
  assert.equal(response.headers.get("x-vsr-degraded"), null);
  release();
  for (const { data } of await Promise.all(checked)) assert.equal(data.choices[0].message.content, kAnswer);
});

test("a file with a detector on a server gives no notice", async () => {
  assert.doesNotMatch(daemon.log, /has no effect/);
});
