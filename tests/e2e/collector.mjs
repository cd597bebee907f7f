// A collector that stands in for OpenTelemetry's. It accepts OTLP as protobuf over HTTP or gRPC and keeps spans and metrics.
// protobufjs decodes the messages with the fields of opentelemetry/proto/{trace,metrics,resource,common}/v1 that the tests use.
// It also decodes the output of OpenTelemetry's own exporters, which confirms the field numbers and the gRPC method.

import { createServer } from "node:http";

import * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs";

const { root } = protobuf.parse(
  `syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message Response { PartialSuccess partial_success = 1; }
  message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
  message Scope { string name = 1; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; uint32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; Status status = 15;
  }
  message Status { string message = 2; int32 code = 3; }
  message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
  message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
  message Metric {
    string name = 1; string description = 2; string unit = 3;
    oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
  }
  message Gauge { repeated NumberDataPoint data_points = 1; }
  message Sum { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
  message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
  message NumberDataPoint {
    fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; repeated KeyValue attributes = 7;
    oneof value { double as_double = 4; sfixed64 as_int = 6; }
  }
  message HistogramDataPoint {
    fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; optional double sum = 5;
    repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; repeated KeyValue attributes = 9;
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
  }
  message ArrayValue { repeated AnyValue values = 1; }`,
  { keepCase: true },
);
const Request = root.lookupType("Request");
const MetricsRequest = root.lookupType("MetricsRequest");
const Response = root.lookupType("Response");
const service = (name) => ({
  Export: {
    path: `/opentelemetry.proto.collector.${name}/Export`,
    requestStream: false,
    responseStream: false,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: (message) => Response.encode(message).finish(),
  },
});

const hex = (bytes) => Buffer.from(bytes).toString("hex");

function plain(value) {
  if (value.value === "array_value") return value.array_value.values.map(plain);
  return value.value === "int_value" ? Number(value.int_value) : value[value.value];
}
const mapping = (attributes) => Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));

const bigint = (value) => BigInt(value.toString());

/// A data point: {attributes, began, at (bigint, ns)}, with `value`, or with the count, sum, buckets and bounds of a histogram.
function pointOf(point) {
  const { attributes, start_time_unix_nano: began, time_unix_nano: at } = point;
  const common = { attributes: mapping(attributes), began: bigint(began), at: bigint(at) };
  if (point.bucket_counts === undefined) return { ...common, value: point.value === "as_int" ? Number(point.as_int) : point.as_double };
  return { ...common, count: Number(point.count), sum: point.sum, buckets: point.bucket_counts.map(Number), bounds: point.explicit_bounds };
}

export class Collector {
  spans = []; // {service, resource, trace, id, parent, name, kind, began, ended (bigint, ns), attributes, status}
  metrics = []; // of every export that was accepted: {resource, bytes, metrics: [{name, unit, kind, temporality, monotonic, points}]}
  types = new Set(); // content types of request bodies

  static async start() {
    const collector = new Collector();
    collector.server = createServer((request, response) => collector.#take(request, response));
    await new Promise((done) => collector.server.listen(0, "127.0.0.1", done));
    collector.port = collector.server.address().port;
    return collector;
  }

  /// The same over gRPC. `failures` are errors for the next exports, and `partial` is the partial success of all others.
  static async startGrpc(host = "127.0.0.1", port = 0, credentials = grpc.ServerCredentials.createInsecure()) {
    const collector = new Collector();
    collector.exports = []; // {metadata, bytes} of every export, failed ones too
    collector.failures = [];
    collector.rpc = new grpc.Server();
    const takes = (keep) => ({ Export: (call, reply) => collector.#takeRpc(call, reply, keep) });
    collector.rpc.addService(service("trace.v1.TraceService"), takes((bytes) => collector.#keep(bytes)));
    collector.rpc.addService(service("metrics.v1.MetricsService"), takes((bytes) => collector.#keepMetrics(bytes)));
    collector.port = await new Promise((done, failed) =>
      collector.rpc.bindAsync(`${host}:${port}`, credentials, (error, bound) => (error ? failed(error) : done(bound))),
    );
    return collector;
  }

  #takeRpc({ metadata, request: bytes }, reply, keep) {
    this.exports.push({ metadata: metadata.getMap(), bytes });
    const failure = this.failures.shift();
    if (failure) return reply(failure);
    try {
      keep(bytes);
    } catch (error) {
      this.fault = error;
      return reply({ code: grpc.status.INVALID_ARGUMENT, details: "not an export" });
    }
    reply(null, { partial_success: this.partial });
  }

  async #take(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    this.types.add(request.headers["content-type"]);
    if (this.redirects) return response.writeHead(307, { location: "http://127.0.0.1:1/" }).end();
    try {
      if (request.url === "/v1/traces") this.#keep(Buffer.concat(parts));
      else if (request.url === "/v1/metrics") this.#keepMetrics(Buffer.concat(parts));
      else throw new Error(`${request.url}: neither the path of traces nor that of metrics`);
    } catch (error) {
      this.fault = error;
      return response.writeHead(400).end();
    }
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  #keepMetrics(bytes) {
    for (const { resource, scope_metrics } of MetricsRequest.decode(bytes).resource_metrics) {
      const metrics = scope_metrics.flatMap(({ metrics }) => metrics).map((metric) => {
        const { name, unit, data: kind } = metric;
        const { aggregation_temporality: temporality, is_monotonic: monotonic, data_points } = metric[kind];
        return { name, unit, kind, temporality, monotonic, points: data_points.map(pointOf) };
      });
      this.metrics.push({ resource: mapping(resource.attributes), bytes, metrics });
    }
  }

  #keep(bytes) {
    for (const { resource, scope_spans } of Request.decode(bytes).resource_spans) {
      const service = mapping(resource.attributes)["service.name"];
      for (const span of scope_spans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          service,
          resource: mapping(resource.attributes),
          trace: hex(span.trace_id),
          id: hex(span.span_id),
          parent: hex(span.parent_span_id),
          name: span.name,
          kind: span.kind,
          began: bigint(span.start_time_unix_nano),
          ended: bigint(span.end_time_unix_nano),
          attributes: mapping(span.attributes),
          status: span.status ? { code: span.status.code, message: span.status.message } : { code: 0, message: "" },
        });
      }
    }
  }

  of(trace) {
    return this.spans.filter((span) => span.trace === trace);
  }

  async stop() {
    if (this.rpc) return this.rpc.forceShutdown();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
