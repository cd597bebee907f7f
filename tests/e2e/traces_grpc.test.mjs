// Tests traces over gRPC with grpc-js as the collector. OpenTelemetry's own exporter sends to the same collector, which
// confirms its method and its messages. traces.test.mjs tests what the spans contain.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";
import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import protobuf from "protobufjs";

import { Collector } from "./collector.mjs";
import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";

const { RESOURCE_EXHAUSTED, UNAVAILABLE } = grpc.status;

const configuration = (exporter) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: m}
  models: [{name: m, backend_refs: [{name: m, type: echo}]}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    observability:
      tracing:
        exporter: {type: otlp, ${exporter}}
        resource: {service_name: router}
`;

/// Runs a daemon that sends its traces to the collector, and stops both.
async function withDaemon(collector, exporter, body) {
  try {
    const daemon = await Daemon.start(configuration(exporter));
    try {
      await body(daemon);
    } finally {
      await daemon.stop();
    }
  } finally {
    await collector.stop();
  }
}

async function chat(daemon, headers = {}) {
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "hello" }] });
  const response = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  assert.equal(response.status, 200);
  await response.arrayBuffer();
}

async function metric(daemon, series) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line && Number(line.slice(series.length + 1));
}
const reaches = (daemon, series, value) => until(async () => (await metric(daemon, series)) === value, `${series} ${value}`);
const kExported = 'signalbox_spans_total{result="exported"}';
const kFailed = 'signalbox_spans_total{result="failed"}';
const plain = (collector, more = "") => `endpoint: "127.0.0.1:${collector.port}", protocol: grpc, insecure: true${more}`;

test("the router's spans join those of OpenTelemetry's own exporter, and its headers are metadata", async () => {
  const collector = await Collector.startGrpc();
  await withDaemon(collector, plain(collector, ', headers: {X-Api-Key: "k-1"}'), async (daemon) => {
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ "service.name": "client" }),
      spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `http://127.0.0.1:${collector.port}` }))],
    });
    const span = provider.getTracer("client").startSpan("ask", { kind: SpanKind.CLIENT });
    const headers = {};
    new W3CTraceContextPropagator().inject(trace.setSpan(ROOT_CONTEXT, span), headers, { set: (to, name, value) => (to[name] = value) });
    await chat(daemon, headers);
    span.end();
    await provider.shutdown();
    const { traceId, spanId } = span.spanContext();
    await until(() => new Set(collector.of(traceId).map(({ service }) => service)).size === 2, () => `spans of both; fault: ${collector.fault}`);
    const received = collector.of(traceId).find(({ name }) => name === "semantic_router.request.received");
    assert.equal(received.parent, spanId);
    const ours = collector.exports.find(({ metadata }) => metadata["x-api-key"] === "k-1");
    assert.match(ours.metadata["user-agent"], /grpc-c\+\+/);
    await reaches(daemon, kExported, 1);
  });
});

test("an endpoint at port 4317, as files of the vLLM Semantic Router have it, means gRPC", async () => {
  const collector = await Collector.startGrpc("127.0.0.41", 4317); // an address of its own, because the port is fixed
  await withDaemon(collector, 'endpoint: "127.0.0.41:4317", insecure: true', async (daemon) => {
    await chat(daemon);
    await reaches(daemon, kExported, 1);
    assert.equal(collector.spans[0].service, "router");
  });
});

/// The trailer grpc-status-details-bin with a google.rpc.Status that requests a delay.
function retryAfter(seconds) {
  const { root } = protobuf.parse(`syntax = "proto3";
    message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
    message Any { string type_url = 1; bytes value = 2; }
    message RetryInfo { Duration retry_delay = 1; }
    message Duration { int64 seconds = 1; int32 nanos = 2; }`, { keepCase: true });
  const encoded = (type, value) => root.lookupType(type).encode(value).finish();
  const value = encoded("RetryInfo", { retry_delay: { seconds } });
  const details = [{ type_url: "type.googleapis.com/google.rpc.RetryInfo", value }];
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(encoded("Status", { code: RESOURCE_EXHAUSTED, message: "full", details })));
  return metadata;
}

test("an export that fails for now is sent again as it was, not before the collector's delay", async () => {
  const collector = await Collector.startGrpc();
  const times = [];
  await withDaemon(collector, plain(collector), async (daemon) => {
    collector.failures = [
      { code: UNAVAILABLE, details: "restarting" },
      { code: RESOURCE_EXHAUSTED, details: "full", metadata: retryAfter(3) },
    ];
    const { push } = collector.exports;
    collector.exports.push = function (each) {
      times.push(performance.now());
      return push.call(this, each);
    };
    await chat(daemon);
    await reaches(daemon, kExported, 1);
    assert.equal(collector.exports.length, 3);
    for (const { bytes } of collector.exports) assert.deepEqual(bytes, collector.exports[0].bytes);
    assert.ok(times[2] - times[1] >= 2_900, `${times[2] - times[1]} ms`);
    assert.equal(await metric(daemon, "signalbox_span_retries_total"), 2);
    assert.equal(await metric(daemon, kFailed), 0);
    for (const line of [/traces cannot be sent and are kept for a while: gRPC status UNAVAILABLE: restarting/, /traces are sent again/])
      await until(() => line.test(daemon.log), String(line));
  });
});

test("an export that the collector refuses is dropped and counted", async () => {
  const collector = await Collector.startGrpc();
  await withDaemon(collector, plain(collector), async (daemon) => {
    collector.failures = [{ code: RESOURCE_EXHAUSTED, details: "quota" }];
    await chat(daemon);
    await reaches(daemon, kFailed, 1);
    await chat(daemon);
    await reaches(daemon, kExported, 1);
    assert.equal(collector.exports.length, 2);
    assert.equal(await metric(daemon, "signalbox_span_retries_total"), 0);
  });
});

test("spans that the collector did not take are counted", async () => {
  const collector = await Collector.startGrpc();
  collector.partial = { rejected_spans: 2, error_message: "too old" };
  await withDaemon(collector, plain(collector), async (daemon) => {
    await chat(daemon);
    await reaches(daemon, "signalbox_spans_rejected_total", 2);
    await reaches(daemon, kExported, 1);
    await until(() => /did not take 2 spans of an export: too old/.test(daemon.log));
  });
});

test("over TLS only a collector whose certificate is trusted gets traces", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-collector-"));
  const path = (name) => join(folder, name);
  const selfSigned = (name) =>
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path(`${name}.key`), "-out",
      path(`${name}.pem`), "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], { stdio: "ignore" });
  try {
    for (const name of ["collector", "stranger"]) selfSigned(name);
    const pair = { private_key: await readFile(path("collector.key")), cert_chain: await readFile(path("collector.pem")) };
    const secured = () => Collector.startGrpc("127.0.0.1", 0, grpc.ServerCredentials.createSsl(null, [pair]));
    const trusting = ({ port }, name) => `endpoint: "https://localhost:${port}", protocol: grpc, tls_ca_path: ${path(`${name}.pem`)}`;
    const trusted = await secured();
    await withDaemon(trusted, trusting(trusted, "collector"), async (daemon) => {
      await chat(daemon);
      await reaches(daemon, kExported, 1);
    });
    const other = await secured();
    await withDaemon(other, trusting(other, "stranger"), async (daemon) => {
      await chat(daemon);
      await until(async () => (await metric(daemon, "signalbox_span_retries_total")) >= 2);
      assert.deepEqual(other.exports, []);
      await until(() => /traces cannot be sent and are kept for a while: gRPC status UNAVAILABLE/.test(daemon.log), "the line of the log");
      const failures = () => daemon.log.match(/Handshake failed/g)?.length ?? 0;
      await until(() => failures() > 0, "the line about the handshake");
      assert.equal(failures(), 1, daemon.log);
    });
    await writeFile(path("empty.pem"), "");
    await assert.rejects(Daemon.start(configuration(trusting({ port: 1 }, "empty"))), /exporter\.tls_ca_path: .*empty\.pem/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
