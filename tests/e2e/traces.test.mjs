// Tests one trace from a client through the router to a worker. OpenTelemetry's own SDK traces the client and the
// worker; each sends its spans itself, and the collector (a stand-in, collector.mjs) must receive a single tree.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import OpenAI from "openai";

import { Collector } from "./collector.mjs";
import { Daemon, freePorts } from "./daemon.mjs";
import { completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kSecret = "the theorem of Ada";
const propagator = new W3CTraceContextPropagator();
const kHeaders = { get: (headers, name) => headers[name], keys: (headers) => Object.keys(headers), set: (headers, name, value) => (headers[name] = value) };

/// Returns a tracer of the SDK for a service of its own.
function traced(service, collectorPort) {
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${collectorPort}/v1/traces` });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  return { provider, tracer: provider.getTracer(service) };
}

/// A worker with a span for each request, a child of the span in traceparent, and one for its computation.
class TracedWorker {
  static async start(collectorPort) {
    const worker = new TracedWorker();
    Object.assign(worker, traced("worker", collectorPort));
    worker.server = createServer((request, response) => worker.#answer(request, response));
    await new Promise((done) => worker.server.listen(0, "127.0.0.1", done));
    worker.port = worker.server.address().port;
    return worker;
  }

  async #answer(request, response) {
    this.headers = request.headers;
    const context = propagator.extract(ROOT_CONTEXT, request.headers, kHeaders);
    const span = this.tracer.startSpan("llm_request", { kind: SpanKind.SERVER, attributes: { "request.id": request.headers["x-request-id"] } }, context);
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    const received = JSON.parse(body);
    const within = this.tracer.startSpan("generate", {}, trace.setSpan(context, span));
    await pause(20);
    within.end();
    span.end();
    if (received.messages.at(-1).content.includes("fail")) return response.writeHead(500, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
    const { body: whole, events } = received.stream ? streamed([{ content: "Q" }, { content: "ED" }]) : completion({ content: "QED" });
    response.writeHead(200, { "content-type": received.stream ? "text/event-stream" : "application/json" });
    if (!received.stream) return response.end(JSON.stringify(whole));
    for (const event of events) {
      response.write(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
      await pause(5);
    }
    response.end();
  }

  async stop() {
    await this.provider.shutdown();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

const configuration = (ports, sampling) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: prover}
  models:
    - {name: prover, provider_model_id: prover-7b, backend_refs: [{name: worker, endpoint: "127.0.0.1:${ports.worker}"}]}
    - {name: lost, reliability: {fallback_models: [prover]}, backend_refs: [{name: lost, endpoint: "127.0.0.1:${ports.closed}"}]}
routing:
  signals:
    keywords:
      - {name: proofs, keywords: [theorem]}
      - {name: losses, keywords: [lost]}
  decisions:
    - {name: mathematics, priority: 1, rules: {type: keyword, name: proofs}, modelRefs: [{model: prover}]}
    - {name: losses, priority: 2, rules: {type: keyword, name: losses}, modelRefs: [{model: lost}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    observability:
      tracing:
        enabled: true
        exporter: {type: otlp, endpoint: "127.0.0.1:${ports.collector}", insecure: true}
        sampling: ${sampling}
        resource: {service_name: router, deployment_environment: test}
`;

let collector, worker, closed, daemon, openai, client;

before(async () => {
  collector = await Collector.start();
  worker = await TracedWorker.start(collector.port);
  [closed] = await freePorts(1);
  daemon = await Daemon.start(configuration({ worker: worker.port, collector: collector.port, closed }, "{type: always_on}"));
  openai = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  client = traced("client", collector.port);
});

after(async () => {
  await client?.provider.shutdown();
  await daemon?.stop();
  await worker?.stop();
  await collector?.stop();
});

/// Sends a request within a client span, and waits until the collector has the spans of all services.
async function traceOf(content, more = {}, services = 3) {
  const span = client.tracer.startSpan("ask", { kind: SpanKind.CLIENT });
  const headers = {};
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, kHeaders);
  const messages = [{ role: "user", content }];
  try {
    const answer = await openai.chat.completions.create({ model: "auto", messages, ...more }, { headers });
    if (more.stream) for await (const _ of answer);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: String(error.status) });
  }
  span.end();
  const id = span.spanContext().traceId;
  const isThere = () => new Set(collector.of(id).map(({ service }) => service)).size === services;
  const seen = () => collector.of(id).map(({ service, name }) => `${service} ${name}`);
  await until(isThere, () => `spans of ${services} services; there are ${JSON.stringify(seen())} ${collector.fault ?? ""}`);
  return { id, client: span.spanContext().spanId, spans: collector.of(id) };
}

const named = (spans, name) => {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, `${found.length} spans ${name} of ${spans.map((span) => span.name)}`);
  return found[0];
};
const ours = (spans, name) => named(spans, `semantic_router.${name}`);

/// Checks that every span except the client's has a parent in the same trace, and that those of the router enclose each other
/// in time. The clocks of the client's and the worker's spans start anew with each span, and are off by more on a busy machine.
function assertTree({ id, client: root, spans }) {
  for (const span of spans) {
    assert.equal(span.trace, id);
    assert.ok(span.ended >= span.began, span.name);
    if (span.id === root) {
      assert.equal(span.parent, "");
      continue;
    }
    const parent = spans.find((other) => other.id === span.parent);
    assert.ok(parent, `${span.service} ${span.name} hangs from nothing`);
    if (span.service !== "router" || parent.service !== "router") continue;
    // Times are rounded to a millisecond.
    assert.ok(span.began >= parent.began - 2_000_000n, `${span.name} began before ${parent.name}`);
    assert.ok(span.ended <= parent.ended + 2_000_000n, `${span.name} ended after ${parent.name}`);
  }
  assert.equal(new Set(spans.map((span) => span.id)).size, spans.length);
}

test("a request is one tree over client, router and worker", async () => {
  const tree = await traceOf(`Prove ${kSecret}`);
  assertTree(tree);
  const { spans } = tree;
  assert.ok(collector.types.size === 1 && collector.types.has("application/x-protobuf"), [...collector.types].join());

  const received = ours(spans, "request.received");
  assert.equal(received.parent, tree.client);
  assert.equal(received.service, "router");
  assert.equal(received.kind, 2); // kind: server
  assert.equal(received.attributes["http.status_code"], 200);
  assert.equal(received.attributes["http.path"], "/v1/chat/completions");
  assert.equal(received.attributes["model.name"], "prover");
  assert.equal(received.attributes["request.id"], worker.headers["x-request-id"]);
  assert.deepEqual(received.status, { code: 0, message: "" });

  const signals = ours(spans, "signal.evaluation");
  assert.equal(signals.parent, received.id);
  const keyword = ours(spans, "signal.keyword");
  assert.equal(keyword.parent, signals.id);
  assert.deepEqual(keyword.attributes["signal.matched_rules"], ["proofs"]);
  const decision = ours(spans, "decision.evaluation");
  assert.equal(decision.parent, received.id);
  assert.equal(decision.attributes["decision.name"], "mathematics");
  assert.deepEqual(decision.attributes["decision.matched_rules"], ["keyword:proofs"]);
  assert.equal(ours(spans, "routing.decision").attributes["routing.selected_model"], "prover");

  const upstream = ours(spans, "upstream.request");
  assert.equal(upstream.parent, received.id);
  assert.equal(upstream.kind, 3); // kind: client
  assert.equal(upstream.attributes["model.prompt_tokens"], 7);
  assert.equal(upstream.attributes["model.completion_tokens"], 3);
  assert.equal(upstream.attributes["gen_ai.operation.name"], "chat");
  assert.equal(upstream.attributes["gen_ai.request.model"], "prover");
  assert.equal(upstream.attributes["gen_ai.usage.input_tokens"], 7);
  assert.equal(upstream.attributes["gen_ai.usage.output_tokens"], 3);
  const work = named(spans, "llm_request");
  assert.equal(work.service, "worker");
  assert.equal(work.parent, upstream.id);
  assert.equal(named(spans, "generate").parent, work.id);
  // The worker took 20 ms, so the spans that waited for it took at least as long.
  for (const span of [work, upstream, received]) assert.ok(span.ended - span.began >= 15_000_000n, span.name);
});

test("no text of a request is in a span", async () => {
  const { spans } = await traceOf(`Prove ${kSecret}`, { user: "Ada Lovelace" });
  const text = JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? String(value) : value));
  assert.doesNotMatch(text, /Ada/);
});

test("a stream's spans last as long as the stream, and have the time of its first token", async () => {
  const tree = await traceOf(`Prove ${kSecret}`, { stream: true, stream_options: { include_usage: true } });
  assertTree(tree);
  const upstream = ours(tree.spans, "upstream.request");
  assert.ok(upstream.ended - upstream.began >= 35_000_000n);
  assert.ok(upstream.attributes["model.ttft_ms"] >= 15, JSON.stringify(upstream.attributes));
  assert.equal(upstream.attributes["model.completion_tokens"], 3);
});

test("a worker's failure is an error of the router's spans, in the same trace", async () => {
  const tree = await traceOf("The theorem has to fail");
  assertTree(tree);
  for (const name of ["request.received", "upstream.request"]) {
    const span = ours(tree.spans, name);
    assert.deepEqual(span.status, { code: 2, message: "upstream_5xx" });
    assert.equal(span.attributes["http.status_code"], 500);
  }
});

test("a request that another model answers is in one trace with it", async () => {
  const tree = await traceOf("All is lost");
  assertTree(tree);
  assert.equal(ours(tree.spans, "request.received").attributes["model.name"], "prover");
  assert.equal(named(tree.spans, "llm_request").parent, ours(tree.spans, "upstream.request").id);
});

test("a trace that the client does not sample passes on unsampled and is not sent", async () => {
  const other = await Daemon.start(configuration({ worker: worker.port, collector: collector.port, closed }, "{type: always_off}"));
  try {
    const id = "0af7651916cd43dd8448eb211c80319c";
    const headers = { "content-type": "application/json", traceparent: `00-${id}-b7ad6b7169203331-00`, tracestate: "vendor=1" };
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "a theorem" }] });
    const response = await fetch(`${other.url}/v1/chat/completions`, { method: "POST", headers, body });
    assert.equal(response.status, 200);
    await response.arrayBuffer();
    assert.match(worker.headers.traceparent, new RegExp(`^00-${id}-[0-9a-f]{16}-00$`));
    assert.equal(worker.headers.tracestate, "vendor=1");
    await pause(1_500); // longer than the exporter's batch delay
    assert.deepEqual(collector.of(id).filter(({ service }) => service === "router"), []);
  } finally {
    await other.stop();
  }
});
