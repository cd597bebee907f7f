// A stand-in for Envoy in external processing. It consists of Envoy's own protocol files and gRPC's own client, both
// from npm, and of a small proxy that applies answers as those files describe. It is not Envoy: it checks only the
// rules of the protocol files.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer, request as send } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import protobuf from "protobufjs";

const require = createRequire(import.meta.url);
const kXds = join(dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps");
const kFolders = ["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((name) => join(kXds, name));
const kFile = "envoy/service/ext_proc/v3/external_processor.proto";

const definition = loadSync(kFile, { keepCase: true, enums: String, defaults: false, oneofs: true, includeDirs: kFolders });
const { ExternalProcessor } = grpc.loadPackageDefinition(definition).envoy.service.ext_proc.v3;

const text = (bytes) => Buffer.from(bytes ?? "").toString();

/// Makes a message with headers. Envoy sends values as text; newer versions send bytes.
export const head = (headers, { end_of_stream = false, raw = true } = {}) => ({
  headers: {
    headers: Object.entries(headers).map(([key, value]) => ({ key, [raw ? "raw_value" : "value"]: raw ? Buffer.from(value) : value })),
  },
  end_of_stream,
});

/// One stream of Process.
export class Conversation {
  #call;
  #answers = [];
  #waiting = [];

  constructor(client) {
    this.#call = client.Process();
    this.#call.on("data", (answer) => {
      const waiting = this.#waiting.shift();
      if (waiting) waiting(answer);
      else this.#answers.push(answer);
    });
    this.#call.on("error", () => {}); // next() returns the status of the error
    this.status = new Promise((done) => this.#call.on("status", done));
    this.status.then((status) => this.#waiting.forEach((waiting) => waiting({ over: status })));
    this.status.then((status) => (this.over = status));
  }

  send(message) {
    this.#call.write(message);
  }
  /// Returns the next answer, or {over: status} after the last one.
  next() {
    if (this.#answers.length) return Promise.resolve(this.#answers.shift());
    if (this.over) return Promise.resolve({ over: this.over });
    return new Promise((done) => this.#waiting.push(done));
  }
  async ask(message) {
    this.send(message);
    return this.next();
  }
  end() {
    this.#call.end();
    return this.status;
  }
  cancel() {
    this.#call.cancel();
    return this.status;
  }
}

/// The client side of the protocol; opens any number of conversations.
export class Processor {
  constructor(port, options = {}, credentials = grpc.credentials.createInsecure()) {
    this.client = new ExternalProcessor(`127.0.0.1:${port}`, credentials, options);
  }
  open() {
    return new Conversation(this.client);
  }
  close() {
    this.client.close();
  }
}

/// Applies `mutation` to the headers.
function mutated(headers, mutation) {
  const out = { ...headers };
  for (const name of mutation?.remove_headers ?? []) {
    assert.ok(!name.startsWith(":"), `${name}: cannot be removed`);
    delete out[name];
  }
  // Some versions of Envoy read only `append`, so both members must have the same meaning.
  for (const { header, append, append_action } of mutation?.set_headers ?? []) {
    assert.equal(append?.value ?? false, append_action === "APPEND_IF_EXISTS_OR_ADD", header.key);
    assert.equal(header.key, header.key.toLowerCase());
    assert.ok(![":method", ":authority", ":scheme", "host"].includes(header.key), `${header.key}: not without allow_all_routing`);
    assert.ok(!header.raw_value?.length || !header.value);
    const value = text(header.raw_value);
    const before = out[header.key];
    out[header.key] = append?.value && before ? `${before}, ${value}` : value;
  }
  return out;
}

/// Returns the bytes that replace `bytes`.
function replaced(bytes, mutation) {
  if (!mutation) return bytes;
  return mutation.clear_body ? Buffer.alloc(0) : Buffer.from(mutation.body);
}

/// The statuses of an immediate response that tests expect, by their names in the protocol files.
const kStatuses = { OK: 200, BadRequest: 400, Forbidden: 403, NotFound: 404, TooManyRequests: 429, NotImplemented: 501, BadGateway: 502, GatewayTimeout: 504 };

/// A proxy whose only filter is ours. A route leads to the cluster that x-selected-model names.
export class Envoy {
  /// `clusters` maps models to ports; `modes` are {request, response}, each BUFFERED or STREAMED.
  static async start({ processor, clusters, modes = {}, overrides = true }) {
    const envoy = new Envoy();
    Object.assign(envoy, { processor, clusters, overrides, modes: { request: "BUFFERED", response: "BUFFERED", ...modes } });
    envoy.failures = [];
    envoy.waits = []; // the times in seconds that the processor requested
    envoy.onWait = () => {};
    envoy.calls = 0; // of clusters
    envoy.server = createServer((request, response) => {
      envoy.#exchange(request, response).catch((failure) => {
        envoy.failures.push(failure);
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end();
      });
    });
    await new Promise((done) => envoy.server.listen(0, "127.0.0.1", done));
    envoy.url = `http://127.0.0.1:${envoy.server.address().port}`;
    return envoy;
  }

  async #exchange(request, response) {
    const stream = this.processor.open();
    response.on("close", () => !response.writableFinished && stream.cancel());
    try {
      await this.#proxy(request, response, stream);
    } finally {
      await stream.end();
    }
  }

  // The processor may request more time once for each message.
  async #ask(stream, message) {
    let answer = await stream.ask(message);
    if (answer.override_message_timeout) {
      this.waits.push(Number(answer.override_message_timeout.seconds));
      this.onWait();
      answer = await stream.next();
    }
    assert.ok(!answer.override_message_timeout, "a second request for more time");
    return answer;
  }

  // Returns the answer of the expected kind, or undefined if it was a reply for the client.
  #answer(answer, kind, response) {
    if (answer.immediate_response) {
      const { status, headers, body } = answer.immediate_response;
      const code = kStatuses[status.code] ?? 500;
      response.writeHead(code, mutated({}, headers)).end(body);
      return undefined;
    }
    assert.ok(!answer.over, `the stream has ended: ${answer.over?.code} ${answer.over?.details}`);
    assert.ok(answer[kind], `${kind} was to be answered, not ${Object.keys(answer)}`);
    return answer[kind].response ?? {};
  }

  async #proxy(request, response, stream) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    let body = Buffer.concat(chunks);
    const { host, connection, ...rest } = request.headers;
    let headers = { ":method": request.method, ":path": request.url, ":authority": host, ":scheme": "http", ...rest };
    if (this.modes.request === "STREAMED") delete headers["content-length"];
    const bare = body.length === 0;
    // The route is found before the filter runs, and changes only if the filter clears the route cache.
    let route = this.clusters[headers["x-selected-model"]];
    let reply = this.#answer(await this.#ask(stream, { request_headers: head(headers, { end_of_stream: bare }) }), "request_headers", response);
    if (!reply) return;
    headers = mutated(headers, reply.header_mutation);
    if (reply.clear_route_cache) route = this.clusters[headers["x-selected-model"]];
    const size = this.modes.request === "STREAMED" ? 7 : body.length;
    const parts = [];
    for (let at = 0; at < body.length; at += size) {
      const part = body.subarray(at, at + size);
      const message = { request_body: { body: part, end_of_stream: at + size >= body.length } };
      reply = this.#answer(await this.#ask(stream, message), "request_body", response);
      if (!reply) return;
      parts.push(replaced(part, reply.body_mutation));
      // The headers can still change only if the body was buffered.
      if (this.modes.request === "STREAMED") continue;
      headers = mutated(headers, reply.header_mutation);
      if (reply.clear_route_cache) route = this.clusters[headers["x-selected-model"]];
    }
    body = Buffer.concat(parts);
    route ??= this.clusters.default;
    if (!route) return void response.writeHead(404).end("no route");
    if (headers["content-length"]) assert.equal(Number(headers["content-length"]), body.length);
    await this.#respond(await this.#call(route, headers, body), response, stream);
  }

  #call(port, headers, body) {
    this.calls += 1;
    const { ":method": method, ":path": path, ":authority": host, ":scheme": _, ...fields } = headers;
    if (!fields["content-length"]) fields["transfer-encoding"] = "chunked";
    return new Promise((done, failed) => {
      const call = send({ host: "127.0.0.1", port, method, path, headers: { ...fields, host } }, done);
      call.on("error", failed);
      call.end(body);
    });
  }

  async #respond(answer, response, stream) {
    const { connection, "transfer-encoding": _, ...fields } = answer.headers;
    let headers = { ":status": String(answer.statusCode), ...fields };
    if (this.modes.response === "STREAMED") delete headers["content-length"];
    const given = await stream.ask({ response_headers: head(headers) });
    let reply = this.#answer(given, "response_headers", response);
    if (!reply) return;
    headers = mutated(headers, reply.header_mutation);
    const mode = (this.overrides && given.mode_override?.response_body_mode) || this.modes.response;
    const begin = () => {
      const { ":status": status, ...rest } = headers;
      response.writeHead(Number(status), rest);
    };
    if (mode === "STREAMED") {
      begin();
      for await (const chunk of answer) {
        reply = this.#answer(await stream.ask({ response_body: { body: chunk } }), "response_body", response);
        response.write(replaced(chunk, reply.body_mutation));
      }
      reply = this.#answer(await stream.ask({ response_body: { end_of_stream: true } }), "response_body", response);
      response.end(replaced(Buffer.alloc(0), reply.body_mutation));
      return;
    }
    const chunks = [];
    for await (const chunk of answer) chunks.push(chunk);
    const whole = Buffer.concat(chunks);
    reply = this.#answer(await stream.ask({ response_body: { body: whole, end_of_stream: true } }), "response_body", response);
    if (!reply) return;
    headers = mutated(headers, reply.header_mutation);
    const body = replaced(whole, reply.body_mutation);
    if (headers["content-length"]) assert.equal(Number(headers["content-length"]), body.length);
    begin();
    response.end(body);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    assert.deepEqual(this.failures, []);
  }
}

const kConfiguration = [
  "envoy/config/bootstrap/v3/bootstrap.proto",
  "envoy/extensions/filters/http/ext_proc/v3/ext_proc.proto",
  "envoy/extensions/filters/http/router/v3/router.proto",
  "envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
  "envoy/extensions/upstreams/http/v3/http_protocol_options.proto",
];

/// Returns the members of an Envoy configuration that its protocol files do not define: "listeners.0.adress: no such
/// field". Checks names, enumerators, and which values are mappings or lists, but not which combinations are allowed.
export function faultsOf(configuration) {
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => {
    const found = kFolders.map((folder) => join(folder, target)).find(existsSync);
    return found ?? (protobuf.common.get(target) ? target : join(dirname(require.resolve("protobufjs/package.json")), target));
  };
  root.loadSync(kConfiguration, { keepCase: true }).resolveAll();
  const faults = [];
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const check = (value, type, path) => {
    if (type instanceof protobuf.Enum) {
      if (!(value in type.values)) faults.push(`${path}: ${value} is none of ${Object.keys(type.values)}`);
      return;
    }
    const scalar = type === null || /\.google\.protobuf\.(\w+Value|Duration)$/.test(type.fullName);
    if (scalar !== !isObject(value)) faults.push(`${path}: ${scalar ? "a value" : "a mapping"} was expected`);
    if (scalar || !isObject(value)) return;
    const { "@type": url, ...members } = value;
    const actual = type.fullName === ".google.protobuf.Any" ? root.lookupType(url.split("/")[1]) : type;
    for (const [name, member] of Object.entries(members)) {
      const field = actual.fields[name];
      if (!field) faults.push(`${path}.${name}: no such field of ${actual.fullName}`);
      else if (field.repeated !== Array.isArray(member)) faults.push(`${path}.${name}: a list ${field.repeated ? "was" : "was not"} expected`);
      else if (field.map) Object.entries(member).forEach(([key, one]) => check(one, field.resolvedType, `${path}.${name}.${key}`));
      else [member].flat().forEach((one, i) => check(one, field.resolvedType, `${path}.${name}${field.repeated ? `.${i}` : ""}`));
    }
  };
  check(configuration, root.lookupType("envoy.config.bootstrap.v3.Bootstrap"), "");
  return faults;
}
