// Tests metrics over OTLP, by HTTP and gRPC: that every number is that of /metrics at the same time, when exports are sent, and
// what survives a reload, an outage and the end. The collector is a double; OpenTelemetry's own encoder confirms its decoding.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";
import { ProtobufMetricsSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";

import { Collector } from "./collector.mjs";
import { Daemon, settled } from "./daemon.mjs";
import { until } from "./until.mjs";

const kCumulative = 2;
const kGrpc = "protocol: grpc";

const configuration = (collector, { more = "protocol: http/protobuf", interval = "200ms", traces = false } = {}) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: small}
  models:
    - {name: small, pricing: {currency: EUR, prompt_per_1m: 0.1, completion_per_1m: 0.7}, backend_refs: [{name: e, type: echo}]}
    - {name: gone, backend_refs: [{name: gone, endpoint: "127.0.0.1:1"}]}
routing:
  signals: {keywords: [{name: keeps, keywords: [keep]}]}
  decisions:
    - {name: kept, rules: {type: keyword, name: keeps}, modelRefs: [{model: small}], plugins: [{type: response_cache, configuration: {mode: exact}}]}
global:
  stores: {response_cache: {enabled: true, backend_type: memory}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    observability:
      tracing:
        resource: {service_name: router, deployment_environment: tests}
        ${traces ? `exporter: {type: otlp, endpoint: "127.0.0.1:${collector.port}", insecure: true}` : ""}
      metrics:
        export_interval: ${interval}
        exporter: {type: otlp, endpoint: "127.0.0.1:${collector.port}", insecure: true, ${more}}
`;

/// Runs a daemon that sends its metrics to the collector, and stops both.
async function withDaemon(collector, options, body) {
  try {
    const daemon = await Daemon.start(configuration(collector, options));
    try {
      await body(daemon);
    } finally {
      await daemon.stop();
    }
  } finally {
    await collector.stop();
  }
}

async function chat(daemon, content, model = "auto") {
  const body = JSON.stringify({ model, messages: [{ role: "user", content }] });
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body });
  await answer.arrayBuffer();
  return answer.status;
}

const line = (name, labels) => {
  const all = Object.entries(labels).filter(([, value]) => value !== "").sort().map(([label, value]) => `${label}="${value}"`);
  return all.length ? `${name}{${all.join()}}` : name;
};

/// Returns the numbers of /metrics by line, with sorted labels and without empty ones.
async function scraped(daemon) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const numbers = new Map();
  for (const each of text.split("\n").filter((line) => line && !line.startsWith("#"))) {
    const [, name, labels, value] = each.match(/^(\w+)(?:\{(.*)\})? (\S+)$/);
    const pairs = [...(labels ?? "").matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, label === "le" ? String(Number(value.replace("+Inf", "Infinity"))) : value]);
    numbers.set(line(name, Object.fromEntries(pairs)), Number(value));
  }
  return numbers;
}

const underscored = (name) => name.replaceAll(".", "_");

/// Returns the numbers of an export by the same lines. Names are those of Prometheus, and numbers have 16 digits as in its text.
function exported({ metrics }) {
  const numbers = new Map();
  const keep = (line, value) => numbers.set(line, Number(value.toPrecision(16)));
  for (const { name, unit, points } of metrics) {
    const known = name.includes(".") && unit === "s" ? `${underscored(name)}_seconds` : underscored(name);
    for (const { attributes, value, count, sum, buckets, bounds } of points) {
      const labels = Object.fromEntries(Object.entries(attributes).map(([label, value]) => [underscored(label), value]));
      if (buckets === undefined) {
        keep(line(known, labels), value);
        continue;
      }
      keep(line(`${known}_count`, labels), count);
      keep(line(`${known}_sum`, labels), sum);
      assert.equal(buckets.length, bounds.length + 1);
      let below = 0;
      [...bounds, Infinity].forEach((bound, i) => keep(line(`${known}_bucket`, { ...labels, le: String(bound) }), (below += buckets[i])));
    }
  }
  return numbers;
}

const newest = (collector) => collector.metrics.at(-1);
const named = ({ metrics }, name) => metrics.find((metric) => metric.name === name);

for (const [protocol, start, more] of [["HTTP", () => Collector.start(), undefined], ["gRPC", () => Collector.startGrpc(), kGrpc]]) {
  test(`over ${protocol}, every number is that of /metrics at the same time`, async () => {
    const collector = await start();
    await withDaemon(collector, { more }, async (daemon) => {
      for (const content of ["hello", "keep this", "keep this"]) assert.equal(await chat(daemon, content), 200);
      assert.equal(await chat(daemon, "hello", "gone"), 502);
      assert.equal(await chat(daemon, "hello", "nobody's"), 404);
      await settled(daemon);
      await scraped(daemon); // makes the last series of its own connection
      const before = await scraped(daemon);
      const count = collector.metrics.length;
      await until(() => collector.metrics.length > count + 1, () => `another export; fault: ${collector.fault}`);
      const numbers = exported(newest(collector));
      const after = await scraped(daemon);
      assert.deepEqual([...numbers.keys()].sort(), [...after.keys()].sort());
      let equal = 0;
      for (const [line, value] of after) {
        if (line === "process_resident_memory_bytes") continue; // goes up and down
        const range = [before.get(line), value].sort((a, b) => a - b);
        assert.ok(range[0] <= numbers.get(line) && numbers.get(line) <= range[1], `${line}: ${numbers.get(line)} is not in ${range}`);
        equal += range[0] === range[1];
      }
      assert.ok(equal > after.size - 10 && equal > 200, `${equal} of ${after.size} numbers did not change meanwhile`);
      assert.equal(numbers.get('llm_model_requests_total{decision="kept",model="small",status="200"}'), 2);
      assert.equal(collector.fault, undefined);
    });
  });
}

test("kinds, names and units are those of OpenTelemetry, and traces and metrics have one sender", async () => {
  const collector = await Collector.start();
  await withDaemon(collector, { traces: true }, async (daemon) => {
    await chat(daemon, "hello");
    await chat(daemon, "hello", "gone");
    await until(() => collector.spans.length > 0 && collector.metrics.some((each) => named(each, "gen_ai.client.operation.duration")?.points.length === 2));
    const last = newest(collector);
    assert.deepEqual(last.resource, collector.spans[0].resource);
    assert.equal(last.resource["service.name"], "router");
    assert.equal(last.resource["deployment.environment"], "tests");
    assert.match(last.resource["service.instance.id"], /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const { kind, unit, temporality, points } = named(last, "gen_ai.client.operation.duration");
    assert.deepEqual([kind, unit, temporality], ["histogram", "s", kCumulative]);
    const failed = points.find(({ attributes }) => attributes["error.type"]);
    assert.deepEqual(failed.attributes, { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gone", "error.type": "upstream_error" });
    assert.equal(named(last, "gen_ai.client.token.usage").unit, "{token}");
    const requests = named(last, "llm_model_requests_total");
    assert.deepEqual([requests.kind, requests.temporality, requests.monotonic], ["sum", kCumulative, true]);
    assert.equal(named(last, "signalbox_requests_in_flight").kind, "gauge");
    assert.equal(named(last, "process_resident_memory_bytes").unit, "By");
    assert.deepEqual(last.metrics.filter(({ name }) => name.startsWith("gen_ai_")), []);
  });
});

const began = ({ metrics }) => [...new Set(metrics.filter(({ kind }) => kind !== "gauge").flatMap(({ points }) => points.map(({ began }) => began)))];

test("a reload changes the interval and the collector, and keeps the time at which the counters began", async () => {
  const first = await Collector.startGrpc();
  const second = await Collector.start();
  const port = (url) => new URL(url).port;
  try {
    await withDaemon(first, { more: `${kGrpc}, headers: {X-Api-Key: "k-1"}` }, async (daemon) => {
      await until(() => first.metrics.length > 1);
      assert.equal(first.exports[0].metadata["x-api-key"], "k-1");
      await writeFile(daemon.file, configuration(second, { interval: "100ms" })(port(daemon.url), port(daemon.managementUrl)));
      await until(() => second.metrics.length > 1);
      const [start] = began(first.metrics[0]);
      for (const each of [...first.metrics, ...second.metrics]) assert.deepEqual(began(each), [start]);
      const ended = first.metrics.length;
      await chat(daemon, "hello");
      await until(() => exported(newest(second)).get('llm_model_requests_total{decision="none",model="small",status="200"}') === 1);
      assert.equal(first.metrics.length, ended);
    });
  } finally {
    await second.stop();
  }
});

test("the end sends the last figures, without waiting for the interval", async () => {
  const collector = await Collector.start();
  try {
    const daemon = await Daemon.start(configuration(collector, { interval: "1h" }));
    try {
      for (let i = 0; i < 3; ++i) await chat(daemon, "hello");
      assert.equal(collector.metrics.length, 0);
    } finally {
      await daemon.stop();
    }
    assert.equal(collector.metrics.length, 1);
    assert.equal(exported(newest(collector)).get('llm_model_requests_total{decision="none",model="small",status="200"}'), 3);
  } finally {
    await collector.stop();
  }
});

test("an export that fails for now is sent again as it was; one that the collector refuses is not", async () => {
  const collector = await Collector.startGrpc();
  const refused = { code: grpc.status.INVALID_ARGUMENT, details: "no" };
  collector.failures = [{ code: grpc.status.UNAVAILABLE, details: "restarting" }, refused];
  await withDaemon(collector, { more: kGrpc, interval: "5s" }, async (daemon) => {
    await until(() => collector.metrics.length > 0);
    const [failed, again, next] = collector.exports;
    assert.deepEqual(again.bytes, failed.bytes);
    assert.notDeepEqual(next.bytes, failed.bytes);
    const numbers = await scraped(daemon);
    assert.equal(numbers.get("signalbox_metric_export_retries_total"), 1);
    assert.equal(numbers.get('signalbox_metric_exports_total{result="failed"}'), 1);
    await until(() => /metrics cannot be sent and are kept for a while: gRPC status UNAVAILABLE: restarting/.test(daemon.log), "the line of the log");
  });
});

test("an export that the collector redirects is refused, because it would be redirected again", async () => {
  const collector = await Collector.start();
  collector.redirects = true;
  await withDaemon(collector, {}, (daemon) =>
    until(() => /metrics cannot be sent and are dropped: HTTP status 307/.test(daemon.log), () => `the line of the log:\n${daemon.log}`),
  );
});

test("requests do not wait for a collector that is away", async () => {
  const collector = await Collector.start();
  const { port } = collector;
  await collector.stop();
  const daemon = await Daemon.start(configuration({ port }));
  try {
    await until(async () => (await scraped(daemon)).get('signalbox_metric_exports_total{result="failed"}') >= 1);
    assert.equal(await chat(daemon, "hello"), 200);
    await until(() => daemon.log.match(/metrics cannot be sent/g)?.length === 1, "one line in the log");
  } finally {
    await daemon.stop();
  }
});

test("the collector reads what OpenTelemetry's own encoder writes", async () => {
  class Reader extends MetricReader {
    async onForceFlush() {}
    async onShutdown() {}
  }
  const reader = new Reader();
  const provider = new MeterProvider({ resource: resourceFromAttributes({ "service.name": "client" }), readers: [reader] });
  const meter = provider.getMeter("client");
  meter.createCounter("requests", { unit: "{request}" }).add(1.5, { model: "m" });
  meter.createGauge("depth").record(-2);
  const histogram = meter.createHistogram("time", { unit: "s", advice: { explicitBucketBoundaries: [0.1, 1] } });
  for (const value of [0.05, 0.5, 7]) histogram.record(value);
  const { resourceMetrics } = await reader.collect();
  const collector = await Collector.start();
  try {
    const body = ProtobufMetricsSerializer.serializeRequest(resourceMetrics);
    await fetch(`http://127.0.0.1:${collector.port}/v1/metrics`, { method: "POST", body });
    const last = newest(collector);
    assert.equal(last.resource["service.name"], "client");
    const requests = named(last, "requests");
    assert.deepEqual([requests.kind, requests.unit, requests.temporality, requests.monotonic], ["sum", "{request}", kCumulative, true]);
    assert.deepEqual([requests.points[0].value, requests.points[0].attributes], [1.5, { model: "m" }]);
    assert.ok(requests.points[0].began > 0n && requests.points[0].at >= requests.points[0].began);
    assert.equal(named(last, "depth").points[0].value, -2);
    const { count, sum, buckets, bounds } = named(last, "time").points[0];
    assert.deepEqual([count, sum, buckets, bounds], [3, 7.55, [1, 1, 1], [0.1, 1]]);
  } finally {
    await collector.stop();
    await provider.shutdown();
  }
});
