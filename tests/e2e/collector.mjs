// A trace collector that stands in for OpenTelemetry's. It accepts OTLP as protobuf over HTTP and keeps the spans.
// protobufjs decodes the messages with the fields of opentelemetry/proto/{trace,resource,common}/v1 that the tests use.
// It also decodes the output of OpenTelemetry's own exporter, which confirms the field numbers.

import { createServer } from "node:http";

import protobuf from "protobufjs";

const { root } = protobuf.parse(
  `syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
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
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  of(trace) {
    return this.spans.filter((span) => span.trace === trace);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
