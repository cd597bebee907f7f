// Tests the daemon as Envoy's external processor: official clients through a stand-in for Envoy, and raw streams,
// including some that Envoy would never send. The protocol is defined by Envoy's own files.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import Anthropic from "@anthropic-ai/sdk";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { protoPath } from "grpc-health-check";
import OpenAI from "openai";
import { parse, parseAllDocuments } from "yaml";

import { Daemon, freePorts, settled, withDaemon } from "./daemon.mjs";
import { Envoy, faultsOf, head, Processor } from "./envoy.mjs";
import { RepeatingUpstream, ScriptedUpstream, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kService = "envoy.service.ext_proc.v3.ExternalProcessor";
const { INVALID_ARGUMENT, FAILED_PRECONDITION, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, CANCELLED, OK } = grpc.status;

const configuration = (envoyPort, patience = "60s") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: repeat}
  models:
    - {name: repeat, backend_refs: [{name: repeat, endpoint: "models.example:8000"}]}
    - {name: scripted, provider_model_id: scripted-7b, backend_refs: [{name: scripted, endpoint: "10.0.0.7:8000"}]}
routing:
  signals:
    keywords:
      - {name: greeting, keywords: [hello]}
      - {name: contact, keywords: [mail]}
      - {name: script, keywords: [script]}
      - {name: keep, keywords: [keep]}
      - {name: heads, keywords: [heads]}
  decisions:
    - name: greet
      priority: 3
      rules: {type: keyword, name: greeting}
      modelRefs: [{model: repeat}]
      plugins: [{type: fast_response, configuration: {message: "hey"}}]
    - name: masked
      priority: 2
      rules: {type: keyword, name: contact}
      modelRefs: [{model: repeat}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: kept
      priority: 1
      rules: {type: keyword, name: keep}
      modelRefs: [{model: repeat}]
      plugins: [{type: response_cache, configuration: {mode: exact}}]
    - name: headed
      priority: 1
      rules: {type: keyword, name: heads}
      modelRefs: [{model: repeat}]
      plugins: [{type: header_mutation, configuration: {add: [{name: x-beta, value: two}]}}]
    - name: scripted
      priority: 1
      rules: {type: keyword, name: script}
      modelRefs: [{model: scripted}]
global:
  router: {clear_route_cache: true}
  services:
    http: {body_bytes_max: 64KiB, body_timeout: ${patience}, decision_timeout: ${patience}}
    ext_proc: {enabled: true, port: ${envoyPort}, streams_max: 40}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let port, daemon, processor, repeat, scripted, buffered, streaming;

before(async () => {
  [port] = await freePorts(1);
  daemon = await Daemon.start(configuration(port));
  processor = new Processor(port);
  repeat = await RepeatingUpstream.start();
  scripted = await ScriptedUpstream.start();
  const clusters = { repeat: repeat.port, scripted: scripted.port };
  buffered = await Envoy.start({ processor, clusters });
  // The route that the header selected does not change: with streamed bodies, one route must serve all models.
  const one = { default: repeat.port };
  streaming = await Envoy.start({ processor, clusters: one, modes: { request: "STREAMED", response: "STREAMED" }, overrides: false });
});

after(async () => {
  await buffered?.stop();
  await streaming?.stop();
  processor?.close();
  await repeat?.stop();
  await scripted?.stop();
  await daemon?.stop();
});

const openai = (envoy) => new OpenAI({ apiKey: "unused", baseURL: `${envoy.url}/v1`, maxRetries: 0 });
const requestOf = (said, more = {}) => ({ model: "auto", messages: [{ role: "user", content: said }], ...more });
const kMail = "mail ann@example.com";

async function textOf(stream) {
  let out = "";
  for await (const chunk of stream) out += chunk.choices[0]?.delta?.content ?? "";
  return out;
}

for (const [name, envoy] of [["held", () => buffered], ["streamed", () => streaming]]) {
  test(`a completion is routed and answered, bodies ${name}`, async () => {
    const { data, response } = await openai(envoy()).chat.completions.create(requestOf("say this")).withResponse();
    assert.equal(data.choices[0].message.content, "say this");
    assert.equal(JSON.parse(repeat.body).model, "repeat");
    assert.equal(repeat.headers["content-length"], name === "held" ? String(repeat.body.length) : undefined);
    assert.equal(response.headers.get("x-vsr-selected-model"), "repeat");
    assert.equal(response.headers.get("x-vsr-response-path"), "upstream");
  });

  test(`personal data is masked for the server and whole for the client, bodies ${name}`, async () => {
    const reply = await openai(envoy()).chat.completions.create(requestOf(kMail));
    assert.equal(JSON.parse(repeat.body).messages[0].content, "mail [EMAIL_ADDRESS_1]");
    assert.equal(reply.choices[0].message.content, kMail);
    assert.equal(reply.choices[0].message.tool_calls[0].function.arguments, JSON.stringify({ text: kMail }));
  });

  test(`masked data is whole for the client of a stream, too, bodies ${name}`, async () => {
    const stream = await openai(envoy()).chat.completions.create(requestOf(kMail, { stream: true }));
    assert.equal(await textOf(stream), kMail);
  });

  test(`the router's own answer reaches the client, bodies ${name}`, async () => {
    const { data, response } = await openai(envoy()).chat.completions.create(requestOf("hello")).withResponse();
    assert.equal(data.choices[0].message.content, "hey");
    assert.equal(response.headers.get("x-vsr-selected-decision"), "greet");
    assert.equal(await textOf(await openai(envoy()).chat.completions.create(requestOf("hello", { stream: true }))), "hey");
  });

  test(`errors are the same as over HTTP, bodies ${name}`, async () => {
    await assert.rejects(openai(envoy()).chat.completions.create(requestOf("x", { model: "nobody" })), { status: 404, code: "model_not_found" });
    await assert.rejects(openai(envoy()).chat.completions.create({ model: "auto", messages: 7 }), { status: 400 });
  });

  test(`a client cannot choose a server, and its identity stays here, bodies ${name}`, async () => {
    const modes = name === "streamed" ? { request: "STREAMED", response: "STREAMED" } : {};
    const clusters = { default: repeat.port, repeat: repeat.port, evil: scripted.port };
    const own = await Envoy.start({ processor, clusters, modes });
    const said = { "x-selected-model": "evil", "x-vsr-destination-endpoint": "169.254.169.254:80", "x-vsr-debug": "true" };
    const headers = { ...said, cookie: "c=1", "x-authz-user-id": "ann", "x-user-openai-key": "k", "x-own": "kept" };
    scripted.headers = undefined;
    scripted.answer = () => ({ body: {} });
    await openai(own).chat.completions.create(requestOf("say this"), { headers });
    await own.stop();
    assert.equal(scripted.headers, undefined);
    assert.equal(repeat.headers["x-own"], "kept");
    for (const header of ["cookie", "x-authz-user-id", "x-user-openai-key", "x-vsr-debug"]) assert.equal(repeat.headers[header], undefined);
    assert.notEqual(repeat.headers["x-selected-model"], "evil");
    assert.notEqual(repeat.headers["x-vsr-destination-endpoint"], said["x-vsr-destination-endpoint"]);
  });
}

test("the decision chooses the route, and the server's name for the model goes out", async () => {
  scripted.answer = () => streamed([{ content: "as " }, { content: "told" }]);
  const { data, response } = await openai(buffered).chat.completions.create(requestOf("script", { stream: true })).withResponse();
  assert.equal(await textOf(data), "as told");
  assert.equal(scripted.received.model, "scripted-7b");
  assert.equal(scripted.headers["x-selected-model"], "scripted");
  assert.equal(scripted.headers["x-vsr-destination-endpoint"], "10.0.0.7:8000");
  assert.match(scripted.headers.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
  assert.equal(response.headers.get("x-vsr-selected-model"), "scripted");
});

test("embeddings pass through Envoy to the server of their model", async () => {
  const list = { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.5] }], model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } };
  scripted.answer = () => ({ body: list });
  const { data, response } = await openai(buffered).embeddings.create({ model: "scripted", input: "a", encoding_format: "float" }).withResponse();
  assert.deepEqual({ ...data }, list);
  assert.equal(scripted.path, "/v1/embeddings");
  assert.deepEqual(JSON.parse(scripted.body), { model: "scripted-7b", input: "a", encoding_format: "float" });
  assert.equal(response.headers.get("x-vsr-selected-model"), "scripted");
});

test("a value that a decision adds to a header stands beside the client's", async () => {
  await openai(buffered).chat.completions.create(requestOf("heads"), { headers: { "x-beta": "one" } });
  assert.equal(repeat.headers["x-beta"], "one, two");
});

test("Anthropic's client gets messages whole and as a stream", async () => {
  const client = new Anthropic({ apiKey: "unused", baseURL: buffered.url, maxRetries: 0 });
  scripted.answer = () => ({
    body: { id: "c", object: "chat.completion", created: 1, model: "s", choices: [{ index: 0, message: { role: "assistant", content: "whole" }, finish_reason: "stop" }] },
  });
  const request = { model: "auto", max_tokens: 50, messages: [{ role: "user", content: "script" }] };
  const message = await client.messages.create(request);
  assert.equal(message.content[0].text, "whole");
  assert.equal(scripted.path, "/v1/chat/completions");
  scripted.answer = () => streamed([{ content: "in " }, { content: "parts" }]);
  assert.equal((await client.messages.stream(request).finalMessage()).content[0].text, "in parts");
});

test("a cached answer needs no server, whole or as a stream", async () => {
  const ask = (more) => openai(buffered).chat.completions.create(requestOf("keep this", more)).withResponse();
  const first = await ask();
  assert.equal(first.response.headers.get("x-vsr-cache-hit"), null);
  repeat.body = "nobody asked";
  const second = await ask();
  assert.equal(second.response.headers.get("x-vsr-cache-hit"), "true");
  assert.equal(second.data.choices[0].message.content, "keep this");
  const streamedAgain = await ask({ stream: true });
  assert.equal(await textOf(streamedAgain.data), "keep this");
  assert.equal(repeat.body, "nobody asked");
});

test("requests that need no model are answered", async () => {
  const models = await openai(buffered).models.list();
  assert.ok(models.data.some((model) => model.id === "auto"));
  assert.equal((await fetch(`${buffered.url}/nowhere`)).status, 404);
});

test("metrics and log lines are the same as over HTTP", async () => {
  const count = async () => {
    const shown = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
    const rows = shown.matchAll(/^llm_model_requests_total\{[^}]*model="repeat"[^}]*\} (\d+)/gm);
    return [...rows].reduce((sum, row) => sum + Number(row[1]), 0);
  };
  await settled(daemon);
  const before = await count();
  await openai(buffered).chat.completions.create(requestOf("count me"), { headers: { "x-request-id": "counted-1" } });
  await until(async () => (await count()) === before + 1, "one more request");
  const line = /"request_id":"counted-1".*"status":200,"response_path":"upstream".*"selected_model":"repeat"/;
  await until(() => line.test(daemon.log), "a line in the log");
  assert.ok(!daemon.log.includes("count me"));
});

// --- raw streams ---

const kHead = { ":method": "POST", ":path": "/v1/chat/completions", ":authority": "test", "content-type": "application/json" };
const json = (value, end_of_stream = true) => ({ request_body: { body: Buffer.from(JSON.stringify(value)), end_of_stream } });
const setOf = (answer) => {
  const part = answer.request_body ?? answer.response_headers;
  const set = part.response.header_mutation?.set_headers ?? [];
  return Object.fromEntries(set.map(({ header }) => [header.key, Buffer.from(header.raw_value).toString()]));
};

async function begun(said, raw = true, at = processor) {
  const stream = at.open();
  assert.ok((await stream.ask({ request_headers: head(kHead, { raw }) })).request_headers);
  return { stream, answer: await stream.ask(json(requestOf(said))) };
}

test("headers are read as text and as bytes", async () => {
  const { stream, answer } = await begun("script", false);
  const set = answer.request_body.response.header_mutation.set_headers.map(({ header }) => header);
  assert.equal(set.find(({ key }) => key === "x-selected-model").value, "scripted");
  assert.ok(set.every(({ raw_value }) => !raw_value?.length));
  assert.equal(answer.request_body.response.clear_route_cache, true);
  stream.end();
});

test("two streams at once do not mix", async () => {
  const [one, two] = [processor.open(), processor.open()];
  one.send({ request_headers: head(kHead) });
  two.send({ request_headers: head(kHead) });
  assert.ok((await two.next()).request_headers);
  assert.ok((await one.next()).request_headers);
  two.send(json(requestOf("script")));
  one.send(json(requestOf("say this")));
  assert.equal(setOf(await one.next())["x-selected-model"], "repeat");
  assert.equal(setOf(await two.next())["x-selected-model"], "scripted");
  one.send({ response_headers: head({ ":status": "200" }, { end_of_stream: true }) });
  two.send({ response_headers: head({ ":status": "200" }, { end_of_stream: true }) });
  assert.equal(setOf(await two.next())["x-vsr-selected-model"], "scripted");
  assert.equal(setOf(await one.next())["x-vsr-selected-model"], "repeat");
  assert.equal((await one.end()).code, OK);
  assert.equal((await two.end()).code, OK);
});

test("a body that is not UTF-8 is refused", async () => {
  const stream = processor.open();
  await stream.ask({ request_headers: head(kHead) });
  const bytes = Buffer.from('{"model":"auto","messages":[{"role":"user","content":"\xff\xfe"}]}', "latin1");
  const { immediate_response: reply } = await stream.ask({ request_body: { body: bytes, end_of_stream: true } });
  assert.equal(reply.status.code, "BadRequest");
  assert.match(Buffer.from(reply.body).toString(), /invalid_request_error/);
  assert.equal((await stream.end()).code, OK);
});

test("a body that is too long is refused in pieces and as a whole", async () => {
  const stream = processor.open();
  await stream.ask({ request_headers: head(kHead) });
  assert.ok((await stream.ask({ request_body: { body: Buffer.alloc(60 << 10) } })).request_body.response.body_mutation.clear_body);
  const { immediate_response: reply } = await stream.ask({ request_body: { body: Buffer.alloc(60 << 10) } });
  assert.equal(reply.status.code, "PayloadTooLarge");
  stream.end();
  const whole = processor.open();
  await whole.ask({ request_headers: head(kHead) });
  const answer = await whole.ask({ request_body: { body: Buffer.alloc(4 << 20), end_of_stream: true } });
  assert.equal(answer.immediate_response.status.code, "PayloadTooLarge");
  whole.end();
});

test("a reply may be longer than a request", async () => {
  const { stream } = await begun("say this");
  await stream.ask({ response_headers: head({ ":status": "200", "content-type": "application/json" }) });
  assert.ok((await stream.ask({ response_body: { body: Buffer.alloc(4 << 20, "x"), end_of_stream: true } })).response_body);
  assert.equal((await stream.end()).code, OK);
});

test("a compressed reply that nothing changes keeps the name of its encoding", async () => {
  const { stream } = await begun("keep this compressed");
  const { response_headers } = await stream.ask({ response_headers: head({ ":status": "200", "content-type": "application/json", "content-encoding": "gzip" }) });
  const removed = response_headers.response?.header_mutation?.remove_headers ?? [];
  assert.ok(!removed.includes("content-encoding"), removed.join());
  assert.ok((await stream.ask({ response_body: { body: gzipSync("{}"), end_of_stream: true } })).response_body);
  assert.equal((await stream.end()).code, OK);
});

/// Runs `use` with a router that waits for two seconds at most.
async function withHasty(use) {
  const [own] = await freePorts(1);
  await withDaemon(configuration(own, "2s"), async () => {
    const there = new Processor(own);
    await use(there).finally(() => there.close());
  });
}

test("an endless body is not waited for", () =>
  withHasty(async (there) => {
    const stream = there.open();
    await stream.ask({ request_headers: head(kHead) });
    await stream.ask({ request_body: { body: Buffer.from("{") } });
    assert.equal((await stream.status).code, DEADLINE_EXCEEDED);
  }));

test("messages out of turn end the stream with the reason", async () => {
  const wrong = async (...messages) => {
    const stream = processor.open();
    messages.forEach((message) => stream.send(message));
    const { code, details } = await stream.status;
    return { code, details };
  };
  const { code } = await wrong(json(requestOf("x")));
  assert.equal(code, INVALID_ARGUMENT);
  assert.equal((await wrong({})).code, INVALID_ARGUMENT);
  assert.equal((await wrong({ request_headers: head({ ":method": "GET" }) })).code, INVALID_ARGUMENT);
  const unprepared = await wrong({ request_headers: head(kHead) }, { response_headers: head({ ":status": "200" }) });
  assert.equal(unprepared.code, FAILED_PRECONDITION);
  assert.match(unprepared.details, /request_body_mode must be BUFFERED/);
  assert.equal((await wrong({ request_headers: head(kHead), observability_mode: true })).code, FAILED_PRECONDITION);
});

test("an equal request waits for the first no longer than Envoy waits", () =>
  withHasty(async (there) => {
    const first = await begun("keep one of two", true, there);
    assert.ok(first.answer.request_body);
    const at = Date.now();
    const second = await begun("keep one of two", true, there); // the first one never gets its answer
    assert.ok(second.answer.request_body);
    assert.ok(Date.now() - at > 1500, `${Date.now() - at} ms`);
    await Promise.all([first.stream.cancel(), second.stream.cancel()]);
  }));

test("a client that leaves at any step frees its stream", async () => {
  const streams = [];
  for (let i = 0; i < 10; ++i) {
    const { stream } = await begun("say this");
    streams.push(stream);
    const early = processor.open();
    await early.ask({ request_headers: head(kHead) });
    streams.push(early);
  }
  for (const stream of streams) assert.equal((await stream.cancel()).code, CANCELLED);
  await until(() => daemon.log.match(/"error":"cancellation"/g)?.length >= 10, "that all are gone");
  (await begun("say this")).stream.end();
});

test("a reply that must be changed and never arrives is an error", async () => {
  const begin = async (id) => {
    const stream = processor.open();
    await stream.ask({ request_headers: head({ ...kHead, "x-request-id": id }) });
    await stream.ask(json(requestOf(kMail, { stream: true })));
    assert.ok((await stream.ask({ response_headers: head({ ":status": "200", "content-type": "text/event-stream" }) })).response_headers);
    return stream;
  };
  const { code, details } = await (await begin("unseen")).end();
  assert.equal(code, FAILED_PRECONDITION);
  assert.match(details, /response_body_mode must not be NONE/);
  await until(() => /"request_id":"unseen".*Envoy sent no body/.test(daemon.log), "a line in the log");
  await until(() => /refused a stream: a response that must be inspected came without a body/.test(daemon.log), "the reason in the log");
  for (let i = 0; i < 10; ++i) await (await begin(`left-${i}`)).cancel();
  for (let i = 0; i < 10; ++i)
    await until(() => new RegExp(`"request_id":"left-${i}".*"error":"cancellation"`).test(daemon.log), `the end of left-${i}`);
});

test("streams over the limit are refused", async () => {
  const streams = Array.from({ length: 60 }, () => processor.open());
  const answers = streams.map((stream) => stream.ask({ request_headers: head(kHead) }));
  const refused = (await Promise.all(answers)).filter((answer) => answer.over?.code === RESOURCE_EXHAUSTED);
  assert.ok(refused.length >= 20 && refused.length < 60, `${refused.length} of 60 were refused`);
  await Promise.all(streams.map((stream) => stream.cancel()));
  await until(async () => {
    const stream = processor.open();
    const answer = await stream.ask({ request_headers: head(kHead) });
    stream.cancel();
    return answer.request_headers;
  }, "that there is room again");
});

test("compressed messages are not read", async () => {
  const gzip = grpc.compressionAlgorithms.gzip;
  const compressing = new Processor(port, { "grpc.default_compression_algorithm": gzip });
  const stream = compressing.open();
  const { over } = await stream.ask({ request_headers: head({ ...kHead, "x-long": "a".repeat(5000) }) });
  assert.equal(over.code, UNIMPLEMENTED);
  compressing.close();
});

test("other methods are not implemented", async () => {
  const other = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const failure = await new Promise((done) =>
    other.makeUnaryRequest(`/${kService}/Other`, () => Buffer.alloc(0), (x) => x, {}, (error) => done(error)),
  );
  assert.equal(failure.code, UNIMPLEMENTED);
  other.close();
});

const { Health } = grpc.loadPackageDefinition(loadSync(protoPath, { enums: String, defaults: true })).grpc.health.v1;

test("the health service works, and a stream in flight outlives the end of the daemon", async () => {
  const [own] = await freePorts(1);
  const ending = await Daemon.start(configuration(own));
  const there = new Processor(own);
  const health = new Health(`127.0.0.1:${own}`, grpc.credentials.createInsecure());
  const check = (service) => new Promise((done) => health.Check({ service }, (error, answer) => done(error ?? answer)));
  assert.equal((await check("")).status, "SERVING");
  assert.equal((await check(kService)).status, "SERVING");
  assert.equal((await check("nobody")).code, grpc.status.NOT_FOUND);
  const seen = [];
  const watch = health.Watch({ service: kService });
  watch.on("data", ({ status }) => seen.push(status)).on("error", () => {});
  const stream = there.open();
  await stream.ask({ request_headers: head(kHead) });
  assert.ok((await stream.ask(json(requestOf("say this", { stream: true })))).request_body);
  await stream.ask({ response_headers: head({ ":status": "200", "content-type": "text/event-stream" }) });
  await until(() => seen.length > 0, "SERVING");
  const stopped = ending.stop();
  await until(() => seen.at(-1) === "NOT_SERVING", "NOT_SERVING");
  assert.deepEqual(seen, ["SERVING", "NOT_SERVING"]);
  const event = 'data: {"choices":[{"index":0,"delta":{"content":"still"}}]}\n\n';
  assert.ok((await stream.ask({ response_body: { body: Buffer.from(event) } })).response_body);
  assert.ok((await stream.ask({ response_body: { body: Buffer.from("data: [DONE]\n\n"), end_of_stream: true } })).response_body);
  assert.equal((await stream.end()).code, OK);
  watch.cancel();
  await stopped;
  await until(() => ending.log.includes('"status":200,"response_path":"upstream","stream":true'));
  there.close();
  health.close();
});

/// Reads a file of deploy/gateways and returns its resources.
async function resources(name) {
  const text = await readFile(new URL(`../../deploy/gateways/${name}`, import.meta.url), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS());
}

test("the examples for other gateways name the same models, ports and services as the program's file", async () => {
  const file = new URL("../../deploy/gateways/signalbox.yaml", import.meta.url);
  execFileSync(process.env.SIGNALBOX, ["config", "check", file.pathname]);
  const [{ providers, global }] = await resources("signalbox.yaml");
  const { port } = global.services.ext_proc;
  const hosts = providers.models.map(({ backend_refs: [{ endpoint }] }) => endpoint);
  const only = (all, kind) => all.filter((each) => each.kind === kind);
  const matched = ([route], header) =>
    route.spec.rules.map(({ matches: [{ headers }] }) => {
      assert.deepEqual(headers.map(({ name }) => name), [header]);
      return headers[0].value;
    });

  const agent = await resources("agentgateway.yaml");
  const { phase, extProc } = only(agent, "AgentgatewayPolicy")[0].spec.traffic;
  const [service] = only(agent, "Service");
  assert.equal(phase, "PreRouting");
  assert.deepEqual(extProc.backendRef, { name: service.metadata.name, namespace: service.metadata.namespace, port });
  assert.deepEqual(service.spec.ports, [{ name: "grpc", port, targetPort: port }]);
  assert.deepEqual(matched(only(agent, "HTTPRoute"), "x-selected-model"), providers.models.map(({ name }) => name));
  assert.deepEqual(only(agent, "AgentgatewayBackend").map(({ spec }) => `${spec.ai.provider.host}:${spec.ai.provider.port}`), hosts);

  const ai = await resources("envoy_ai_gateway.yaml");
  assert.deepEqual(matched(only(ai, "AIGatewayRoute"), "x-ai-eg-model"), providers.models.map((model) => model.provider_model_id));
  assert.deepEqual(only(ai, "Backend").map(({ spec: { endpoints: [{ fqdn }] } }) => `${fqdn.hostname}:${fqdn.port}`), hosts);
  const [filter, cluster] = only(ai, "EnvoyPatchPolicy")[0].spec.jsonPatches.map(({ operation }) => operation.value);
  const [address] = cluster.load_assignment.endpoints[0].lb_endpoints.map(({ endpoint }) => endpoint.address.socket_address);
  assert.deepEqual(address, { address: `${service.metadata.name}.${service.metadata.namespace}.svc.cluster.local`, port_value: port });
  const manager = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
  const patched = (http_filters, clusters) => ({
    static_resources: { listeners: [{ filter_chains: [{ filters: [{ name: "http", typed_config: { "@type": manager, http_filters } }] }] }], clusters },
  });
  assert.deepEqual(faultsOf(patched([filter], [cluster])), []);
  assert.equal(faultsOf(patched([{ ...filter, typed: {} }], [{ ...cluster, tipe: 1 }])).length, 2);
});

test("Envoy and the program read the example configurations", async () => {
  const folder = new URL("../../deploy/envoy/", import.meta.url);
  const example = parse(await readFile(new URL("envoy.yaml", folder), "utf8"));
  assert.deepEqual(faultsOf(example), []);
  assert.equal(faultsOf({ ...example, node: { id: { wrong: 1 } }, admin: { adress: {} }, layered_runtime: [] }).length, 3);
  execFileSync(process.env.SIGNALBOX, ["config", "check", new URL("signalbox.yaml", folder).pathname]);
  const routes = example.static_resources.listeners[0].filter_chains[0].filters[0].typed_config.route_config.virtual_hosts[0].routes;
  const models = parse(await readFile(new URL("signalbox.yaml", folder), "utf8")).providers.models.map((model) => model.name);
  assert.deepEqual(routes.slice(0, -1).map((route) => route.match.headers[0].string_match.exact), models);
});
