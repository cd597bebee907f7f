// Tests algorithms that call several models for one request, with the unmodified official clients and model servers
// whose replies the test defines.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, settled } from "./daemon.mjs";
import { EndlessUpstream, ScriptedUpstream } from "./upstream.mjs";

const kModels = ["small", "large", "third"];

const configuration = (ports, endless) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
${kModels.map((name) => `    - {name: ${name}, pricing: {prompt_per_1m: 1, completion_per_1m: 1}, backend_refs: [{name: ${name}, endpoint: "127.0.0.1:${ports[name]}"}]}`).join("\n")}
    - {name: gone, backend_refs: [{name: secret-gone, endpoint: "127.0.0.1:1"}]}
    - {name: endless, backend_refs: [{name: endless, endpoint: "127.0.0.1:${endless}"}]}
routing:
  modelCards:
    - {name: small, param_size: 1b}
    - {name: large, param_size: 70b}
  signals:
    keywords:
${["cascade", "graded", "compared", "rounds", "panel", "steps", "hurried", "hanging", "bounded", "chosen", "mixed", "quorate", "halved"].map((name) => `      - {name: ${name}, operator: OR, keywords: [${name}]}`).join("\n")}
  decisions:
    - name: cascade
      rules: {operator: AND, conditions: [{type: keyword, name: cascade}]}
      modelRefs: [{model: large}, {model: small}]
      algorithm: {type: confidence, confidence: {threshold: 0.8}}
    - name: graded
      rules: {operator: AND, conditions: [{type: keyword, name: graded}]}
      modelRefs: [{model: large}, {model: small}]
      algorithm: {type: confidence, confidence: {confidence_method: self_verify}}
    - name: compared
      rules: {operator: AND, conditions: [{type: keyword, name: compared}]}
      modelRefs: [{model: small}, {model: large}, {model: third}]
      algorithm: {type: ratings, ratings: {max_concurrent: 2}}
    - name: rounds
      rules: {operator: AND, conditions: [{type: keyword, name: rounds}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: remom, remom: {breadth_schedule: [2], model_distribution: round_robin, synthesis_model: large}}
    - name: panel
      rules: {operator: AND, conditions: [{type: keyword, name: panel}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large, max_completion_tokens: 50}}
    - name: steps
      rules: {operator: AND, conditions: [{type: keyword, name: steps}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: workflows, workflows: {mode: dynamic, planner: {model: large}}}
    - name: hurried
      rules: {operator: AND, conditions: [{type: keyword, name: hurried}]}
      modelRefs: [{model: small}, {model: endless}]
      algorithm: {type: fusion, fusion: {model: large}, budget: {max_seconds: 5}}
    - name: hanging
      rules: {operator: AND, conditions: [{type: keyword, name: hanging}]}
      modelRefs: [{model: endless}, {model: endless}]
      algorithm: {type: ratings}
    - name: bounded
      rules: {operator: AND, conditions: [{type: keyword, name: bounded}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: fusion, fusion: {model: large}, budget: {max_calls: 2}}
    - name: chosen
      rules: {operator: AND, conditions: [{type: keyword, name: chosen}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm: {type: prompt, prompt: {model: large, instructions: "Prefer the third one."}}
    - name: quorate
      rules: {operator: AND, conditions: [{type: keyword, name: quorate}]}
      modelRefs: [{model: small}, {model: third}]
      algorithm:
        type: fusion
        fusion:
          analysis_models: [small, third]
          min_successful_responses: 2
          quorum_failure_policy: fallback
          quorum_fallback_target: large
    - name: halved
      rules: {operator: AND, conditions: [{type: keyword, name: halved}]}
      modelRefs: [{model: small}, {model: gone}]
      algorithm: {type: fusion, fusion: {model: large}}
    - name: mixed
      rules: {operator: AND, conditions: [{type: keyword, name: mixed}]}
      modelRefs: [{model: small}, {model: large}]
      algorithm: {type: automix, automix: {enable_cascade: true, max_escalations: 1}}
global:
  integrations: {looper: {headers: {X-Trace-Source: looper}, fusion: {model_names: [vllm-sr/fusion]}}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const servers = {};
let endless, daemon, client, anthropic;

before(async () => {
  for (const name of kModels) servers[name] = await ScriptedUpstream.start();
  endless = await EndlessUpstream.start();
  const ports = Object.fromEntries(kModels.map((name) => [name, servers[name].port]));
  daemon = await Daemon.start(configuration(ports, endless.port));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  for (const server of [...Object.values(servers), endless]) await server?.stop();
});

const kUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/// A whole completion, with a log probability for each of its tokens if there is one.
function whole(content, logprob) {
  const choice = { index: 0, message: { role: "assistant", content }, finish_reason: "stop" };
  if (logprob !== undefined) choice.logprobs = { content: [{ token: content, logprob, bytes: null, top_logprobs: [] }] };
  return { body: { id: "c", object: "chat.completion", created: 1, model: "m", choices: [choice], usage: kUsage } };
}

/// The same as a stream of one event a word.
function streamed(content) {
  const chunk = (delta, finish_reason = null) => ({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] });
  const words = content.split(" ").map((word, i) => chunk({ content: i === 0 ? word : ` ${word}` }));
  return { events: [chunk({ role: "assistant", content: "" }), ...words, chunk({}, "stop"), "data: [DONE]\n\n"] };
}

/// Scripts the models: `replies[name](received)` answers the calls, which are collected.
function script(replies) {
  const calls = [];
  for (const name of kModels) {
    servers[name].answer = (received) => {
      calls.push({ name, received });
      assert.ok(replies[name], `${name} was called`);
      return replies[name](received);
    };
  }
  return calls;
}

/// A model that is not sure of its answer, and grades it accordingly.
const unsure = (request) => whole(/grade|confidence/i.test(JSON.stringify(request.messages)) ? '{"confidence": 0.1}' : "hm", -3);
const kDown = () => ({ status: 500, body: { error: { message: "down" } } });
const requestOf = (text, more = {}) => ({ model: "auto", messages: [{ role: "system", content: "Be kind" }, { role: "user", content: text }], ...more });
const looper = (response, name) => response.headers.get(`x-vsr-looper-${name}`);

async function collect(stream) {
  let text = "";
  let chunks = 0;
  for await (const chunk of stream) {
    ++chunks;
    text += chunk.choices[0]?.delta?.content ?? "";
  }
  return { text, chunks };
}

test("a small model that is sure answers, and the larger one is not called", async () => {
  const calls = script({ small: () => whole("sure", -0.1) });
  const { data, response } = await client.chat.completions.create(requestOf("cascade")).withResponse();
  assert.equal(data.choices[0].message.content, "sure");
  assert.equal(data.choices[0].logprobs, null, "the client did not request log probabilities");
  assert.equal(response.headers.get("x-vsr-selected-model"), "small");
  assert.equal(response.headers.get("x-vsr-selected-algorithm"), "confidence");
  assert.equal(response.headers.get("x-vsr-response-path"), "looper");
  assert.equal(looper(response, "algorithm"), "confidence");
  assert.equal(looper(response, "models-used"), "small");
  assert.equal(looper(response, "iterations"), "1");
  assert.equal(looper(response, "total-tokens"), "15");
  assert.equal(looper(response, "used-up"), null);
  assert.equal(calls[0].received.logprobs, true);
  assert.equal(calls[0].received.stream, undefined);
  assert.equal(servers.small.headers["x-trace-source"], "looper");
});

test("an unsure reply leads to the larger model, and the usage is that of both calls", async () => {
  script({ small: () => whole("hm", -2), large: () => whole("certainly") });
  const { data, response } = await client.chat.completions.create(requestOf("cascade")).withResponse();
  assert.equal(data.choices[0].message.content, "certainly");
  assert.equal(response.headers.get("x-vsr-selected-model"), "large");
  assert.equal(looper(response, "models-used"), "small,large");
  assert.equal(looper(response, "iterations"), "2");
  assert.deepEqual(data.usage, { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
});

test("a client that streams gets the small model's reply as a stream", async () => {
  script({ small: () => whole("sure enough", -0.1) });
  const { data, response } = await client.chat.completions.create(requestOf("cascade", { stream: true })).withResponse();
  assert.equal(looper(response, "models-used"), "small");
  const { text, chunks } = await collect(data);
  assert.equal(text, "sure enough");
  assert.ok(chunks >= 3);
});

test("a client that streams gets the last model's reply as it arrives", async () => {
  const calls = script({ small: () => whole("hm", -2), large: (request) => (request.stream ? streamed("quite certainly so") : whole("no stream")) });
  const { data, response } = await client.chat.completions.create(requestOf("cascade", { stream: true })).withResponse();
  assert.equal(response.headers.get("x-vsr-selected-model"), "large");
  assert.equal(looper(response, "models-used"), "small,large");
  assert.deepEqual(await collect(data), { text: "quite certainly so", chunks: 5 });
  assert.equal(calls[1].received.stream, true);
});

test("a model that fails is passed over", async () => {
  script({ small: kDown, large: () => whole("here") });
  const { data, response } = await client.chat.completions.create(requestOf("cascade")).withResponse();
  assert.equal(data.choices[0].message.content, "here");
  assert.equal(looper(response, "models-failed"), "small");
  assert.equal(looper(response, "models-used"), "large");
});

test("if every model fails, the client gets an error that names them", async () => {
  script({ small: kDown, large: kDown });
  const error = await client.chat.completions.create(requestOf("cascade")).catch((e) => e);
  assert.equal(error.status, 502);
  assert.match(error.message, /small: its server answered 500; large: its server answered 500/);
});

test("a model grades its own reply", async () => {
  const calls = script({ small: (request) => whole(request.messages.length === 1 ? '{"confidence": 0.9}' : "graded well") });
  const { data, response } = await client.chat.completions.create(requestOf("graded")).withResponse();
  assert.equal(data.choices[0].message.content, "graded well");
  assert.equal(looper(response, "iterations"), "2");
  assert.match(calls[1].received.messages[0].content, /graded well/);
});

test("a client of Anthropic's API gets its own shape, whole and streamed", async () => {
  script({ small: () => whole("hm", -2), large: (request) => (request.stream ? streamed("for you") : whole("for you")) });
  const request = { model: "auto", max_tokens: 100, messages: [{ role: "user", content: "cascade" }] };
  const message = await anthropic.messages.create(request);
  assert.equal(message.type, "message");
  assert.equal(message.content[0].text, "for you");
  const stream = anthropic.messages.stream(request);
  assert.equal((await stream.finalMessage()).content[0].text, "for you");
});

test("a client of the responses API gets its own shape, too", async () => {
  script({ small: () => whole("yes", -0.1) });
  const reply = await client.responses.create({ model: "auto", input: "cascade", store: false });
  assert.equal(reply.output_text, "yes");
  const stream = await client.responses.create({ model: "auto", input: "cascade", store: false, stream: true });
  let text = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
  assert.equal(text, "yes");
});

test("a plain completion may come from several models, which get a chat", async () => {
  const calls = script({ small: () => whole("no", -3), large: () => whole("yes") });
  const completion = await client.completions.create({ model: "auto", prompt: "cascade" });
  assert.equal(completion.choices[0].text, "yes");
  assert.deepEqual(calls.map(({ received: { messages } }) => messages), Array(2).fill([{ role: "user", content: "cascade" }]));
});

test("ratings return one choice per model, and none for a model that fails", async () => {
  script({ small: () => whole("a"), large: kDown, third: () => whole("c") });
  const { data, response } = await client.chat.completions.create(requestOf("compared")).withResponse();
  assert.deepEqual(data.choices.map(({ index, model, message }) => [index, model, message.content]), [[0, "small", "a"], [1, "third", "c"]]);
  assert.deepEqual(data.usage, { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
  assert.equal(looper(response, "models-failed"), "large");
});

test("ratings stream all choices", async () => {
  script({ small: () => whole("a"), large: () => whole("b"), third: () => whole("c") });
  const texts = ["", "", ""];
  for await (const chunk of await client.chat.completions.create(requestOf("compared", { stream: true })))
    for (const { index, delta } of chunk.choices) texts[index] += delta.content ?? "";
  assert.deepEqual(texts, ["a", "b", "c"]);
});

const judge = (text) => (request) => {
  const prompt = request.messages.at(-1).content;
  if (/one JSON object/.test(prompt)) return whole('{"contradictions": ["1 and 2"]}');
  return request.stream ? streamed(text) : whole(text);
};

test("a panel answers, and a judge writes the answer from theirs", async () => {
  const calls = script({ small: () => whole("first view"), third: () => whole("second view"), large: judge("the verdict") });
  const { data, response } = await client.chat.completions.create(requestOf("panel")).withResponse();
  assert.equal(data.choices[0].message.content, "the verdict");
  assert.equal(response.headers.get("x-vsr-selected-model"), "large");
  assert.equal(looper(response, "iterations"), "4");
  assert.deepEqual(data.fusion.responses.map(({ content }) => content), ["first view", "second view"]);
  assert.match(data.fusion.analysis, /1 and 2/);
  const last = calls.at(-1).received;
  assert.equal(last.messages[0].content, "Be kind");
  for (const part of ["panel", "first view", "second view", "1 and 2"]) assert.match(last.messages[1].content, new RegExp(part));
  assert.equal(last.max_tokens, 50);
});

test("clients get the failures of a panel without the names of backends", async () => {
  script({ small: () => whole("first view"), large: judge("the verdict") });
  const data = await client.chat.completions.create(requestOf("halved"));
  assert.equal(data.choices[0].message.content, "the verdict");
  assert.match(JSON.stringify(data.fusion.responses), /the model's server: cannot connect/);
  assert.doesNotMatch(JSON.stringify(data), /secret-gone/);
});

test("another model answers for a panel with too few replies, in a stream, too", async () => {
  const answers = { small: () => whole("first view"), third: () => ({ status: 400, body: {} }), large: ({ stream }) => (stream ? streamed("the fallback") : whole("the fallback")) };
  const calls = script(answers);
  const { data, response } = await client.chat.completions.create(requestOf("quorate")).withResponse();
  assert.equal(data.choices[0].message.content, "the fallback");
  assert.equal(data.fusion, undefined);
  assert.equal(response.headers.get("x-vsr-selected-model"), "large");
  assert.equal(looper(response, "models-failed"), "third");
  assert.deepEqual(calls.at(-1).received.messages, requestOf("quorate").messages);
  let text = "";
  for await (const chunk of await client.chat.completions.create(requestOf("quorate", { stream: true }))) text += chunk.choices[0]?.delta?.content ?? "";
  assert.equal(text, "the fallback");
});

test("a model name of its own stands for the decisions of an algorithm", async () => {
  script({ small: () => whole("first view"), third: () => whole("second view"), large: judge("the verdict") });
  const request = { ...requestOf("cascade and panel"), model: "vllm-sr/fusion" };
  const { data, response } = await client.chat.completions.create(request).withResponse();
  assert.equal(data.choices[0].message.content, "the verdict");
  assert.equal(response.headers.get("x-vsr-selected-decision"), "panel");
  const error = await client.chat.completions.create({ ...request, messages: [{ role: "user", content: "cascade" }] }).catch((e) => e);
  assert.equal(error.status, 400);
  assert.match(error.message, /vllm-sr\/fusion.* none of them matches/);
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.ok(names.includes("vllm-sr/fusion"));
});

test("the judge's answer streams as it comes", async () => {
  script({ small: () => whole("first view"), third: kDown, large: judge("the streamed verdict") });
  const { data, response } = await client.chat.completions.create(requestOf("panel", { stream: true })).withResponse();
  assert.equal(looper(response, "models-failed"), "third");
  assert.deepEqual(await collect(data), { text: "the streamed verdict", chunks: 5 });
});

test("a judge that fails leaves the best answer of the panel", async () => {
  script({ small: () => whole("first view"), third: () => whole("second view"), large: kDown });
  for (const stream of [false, true]) {
    const { data, response } = await client.chat.completions.create(requestOf("panel", { stream })).withResponse();
    assert.equal(stream ? (await collect(data)).text : data.choices[0].message.content, "first view");
    assert.equal(response.headers.get("x-vsr-selected-model"), "small");
    assert.equal(looper(response, "models-failed"), "large");
  }
});

test("rounds of replies end in a synthesis", async () => {
  script({ small: () => whole("one"), third: () => whole("two"), large: (request) => whole(`${/one/.test(request.messages.at(-1).content)} ${/two/.test(request.messages.at(-1).content)}`) });
  const completion = await client.chat.completions.create(requestOf("rounds"));
  assert.equal(completion.choices[0].message.content, "true true");
  assert.equal(completion.reasoning_mom_responses[0].breadth, 2);
});

test("the synthesis of rounds streams as it comes", async () => {
  script({ small: () => whole("one"), third: () => whole("two"), large: ({ stream }) => (stream ? streamed("all in one") : whole("no stream")) });
  const { data, response } = await client.chat.completions.create(requestOf("rounds", { stream: true })).withResponse();
  assert.equal(looper(response, "iterations"), "3");
  assert.deepEqual(await collect(data), { text: "all in one", chunks: 5 });
});

const kPlan = { steps: [{ name: "collect", models: ["small"], prompt: "Collect facts" }, { name: "check", models: ["third"], prompt: "Check them" }] };
const planned = (answer) => ({
  small: () => whole("the facts"),
  third: (request) => whole(/the facts/.test(request.messages.at(-1).content) ? "checked" : "blind"),
  large: (request) => (/JSON/.test(request.messages[0].content) ? whole(JSON.stringify(kPlan)) : answer(request)),
});

test("a model plans steps, and they are carried out", async () => {
  const calls = script(planned(() => whole("done")));
  const completion = await client.chat.completions.create(requestOf("steps"));
  assert.equal(completion.choices[0].message.content, "done");
  assert.deepEqual(calls.map(({ name }) => name), ["large", "small", "third", "large"]);
  assert.match(calls.at(-1).received.messages.at(-1).content, /checked/);
});

test("the last step of a plan streams as it comes", async () => {
  const calls = script(planned(({ stream }) => (stream ? streamed("all is done") : whole("no stream"))));
  const { data } = await client.chat.completions.create(requestOf("steps", { stream: true })).withResponse();
  assert.deepEqual(await collect(data), { text: "all is done", chunks: 5 });
  assert.deepEqual(calls.map(({ received: { stream } }) => stream), [undefined, undefined, undefined, true]);
});

test("a model chooses the one that answers, whole and streamed", async () => {
  for (const stream of [false, true]) {
    const calls = script({ large: () => whole('{"model": "third"}'), third: () => (stream ? streamed("my own answer") : whole("my own answer")) });
    const { data, response } = await client.chat.completions.create(requestOf("chosen", { stream })).withResponse();
    assert.equal(stream ? (await collect(data)).text : data.choices[0].message.content, "my own answer");
    assert.equal(response.headers.get("x-vsr-selected-model"), "third");
    assert.deepEqual(calls.map(({ name }) => name), ["large", "third"]);
    assert.match(JSON.stringify(calls[0].received.messages), /Prefer the third one/);
  }
});

test("automix goes on to the next model if the first one is unsure, whole and streamed", async () => {
  for (const stream of [false, true]) {
    const calls = script({ small: unsure, large: () => (stream ? streamed("certainly so") : whole("certainly so")) });
    const { data, response } = await client.chat.completions.create(requestOf("mixed", { stream })).withResponse();
    assert.equal(stream ? (await collect(data)).text : data.choices[0].message.content, "certainly so");
    assert.equal(response.headers.get("x-vsr-selected-algorithm"), "automix");
    assert.equal(response.headers.get("x-vsr-selected-model"), "large");
    assert.equal(calls.at(-1).name, "large");
  }
});

test("a run that has spent its budget of calls returns the replies so far", async () => {
  script({ small: () => whole("first view"), third: () => whole("second view") });
  const { data, response } = await client.chat.completions.create(requestOf("bounded")).withResponse();
  assert.equal(data.choices[0].message.content, "first view");
  assert.equal(looper(response, "used-up"), "calls");
  assert.equal(looper(response, "iterations"), "2");
});

test("a run that has spent its budget of time ends the call that hangs", { timeout: 60_000 }, async () => {
  script({ small: () => whole("first view") });
  const { data, response } = await client.chat.completions.create(requestOf("hurried")).withResponse();
  assert.equal(data.choices[0].message.content, "first view");
  assert.equal(looper(response, "used-up"), "time");
  assert.equal(looper(response, "models-failed"), "endless");
  await endless.closed;
});

test("a client that goes away ends the calls in flight", { timeout: 60_000 }, async () => {
  const gone = new Promise((done) => (endless.onClosed = done));
  const controller = new AbortController();
  const arrived = new Promise((done) => endless.server.once("request", done));
  const reply = client.chat.completions.create(requestOf("hanging"), { signal: controller.signal }).catch((e) => e);
  await arrived;
  controller.abort();
  await gone;
  assert.ok((await reply) instanceof OpenAI.APIUserAbortError);
});

test("each call is in the metrics, and explain names the models", async () => {
  await settled(daemon);
  const metrics = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  assert.match(metrics, /signalbox_looper_calls_total\{model="large",purpose="synthesise",outcome="ok"\} [1-9]/);
  assert.match(metrics, /signalbox_looper_calls_total\{model="small",purpose="answer",outcome="upstream"\} [1-9]/);
  assert.match(metrics, /signalbox_looper_requests_total\{decision="bounded",algorithm="fusion",used_up="calls"\} 1/);
  const explained = await (
    await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", body: JSON.stringify({ text: "cascade" }) })
  ).json();
  assert.equal(explained.plan.reason, "small, then large, until the confidence is 0.8");
});
