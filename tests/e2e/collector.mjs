// A trace collector that stands in for OpenTelemetry's. It accepts OTLP as protobuf over HTTP or gRPC and keeps the spans.
// protobufjs decodes the messages with the fields of opentelemetry/proto/{trace,resource,common}/v1 that the tests use.
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
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
  }
  message ArrayValue { repeated AnyValue values = 1; }`,
  { keepCase: true },
);
const Request = root.lookupType("Request");
const Response = root.lookupType("Response");
const kService = {
  Export: {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    requestStream: false,
    responseStream: false,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: (message) => Response.encode(message).finish(),
  },
};

const hex = (bytes) => Buffer.from(bytes).toString("hex");

function plain(value) {
  if (value.value === "array_value") return value.array_value.values.map(plain);
  return value.value === "int_value" ? Number(value.int_value) : value[value.value];
}
const mapping = (attributes) => Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));

export class Collector {
  spans = []; // {service, trace, id, parent, name, kind, began, ended (bigint, ns), attributes, status}
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
    collector.rpc.addService(kService, { Export: (call, reply) => collector.#takeRpc(call, reply) });
    collector.port = await new Promise((done, failed) =>
      collector.rpc.bindAsync(`${host}:${port}`, credentials, (error, bound) => (error ? failed(error) : done(bound))),
    );
    return collector;
  }

  #takeRpc({ metadata, request: bytes }, reply) {
    this.exports.push({ metadata: metadata.getMap(), bytes });
    const failure = this.failures.shift();
    if (failure) return reply(failure);
    try {
      this.#keep(Request.decode(bytes));
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
    let message;
    try {
      if (request.url !== "/v1/traces") throw new Error(`${request.url}: not the path of traces`);
      message = Request.decode(Buffer.concat(parts));
    } catch (error) {
      this.fault = error;
      return response.writeHead(400).end();
    }
    this.#keep(message);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  #keep(message) {
    for (const { resource, scope_spans } of message.resource_spans) {
      const service = mapping(resource.attributes)["service.name"];
      for (const span of scope_spans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          service,
          trace: hex(span.trace_id),
          id: hex(span.span_id),
          parent: hex(span.parent_span_id),
          name: span.name,
          kind: span.kind,
          began: BigInt(span.start_time_unix_nano.toString()),
          ended: BigInt(span.end_time_unix_nano.toString()),
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
