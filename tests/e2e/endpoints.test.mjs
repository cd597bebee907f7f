// Tests the endpoints beside chats: embeddings, rerank, moderations, images, audio, files and batches. The official
// client and plain HTTP send them directly and through the daemon. A server that records what it gets shows that both
// ways are the same.

import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { after, before, test } from "node:test";

import OpenAI, { toFile } from "openai";

import { Daemon, freePorts, hashOf } from "./daemon.mjs";
import { until } from "./until.mjs";

const kBodyBytesMax = 65_536;
const kSound = Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7) % 256)); // every byte occurs
const kKeys = { all: "sk-all-0123456789abcdef", narrow: "sk-narrow-0123456789abcdef", slow: "sk-slow-0123456789abcdef" };
const kAccount = "IBAN DE89370400440532013000";
const kTranscript = [
  { type: "transcript.text.delta", delta: "Good " },
  { type: "transcript.text.delta", delta: "morning" },
  { type: "transcript.text.done", text: "Good morning", usage: { type: "tokens", input_tokens: 14, output_tokens: 2, total_tokens: 16 } },
];
const kUsage = { prompt_tokens: 11, total_tokens: 11 };


/// A model server with the replies of OpenAI's. `requests` are those that came, the newest last.
class MediaServer {
  static async start() {
    const self = new MediaServer();
    self.requests = [];
    self.server = createServer(async (request, response) => {
      const parts = [];
      for await (const part of request) parts.push(part);
      const received = { method: request.method, path: request.url, headers: request.headers, body: Buffer.concat(parts) };
      self.requests.push(received);
      const [status, type, body] = self.reply(received);
      if (Array.isArray(body)) return self.stream(response, body);
      response.writeHead(status, { "content-type": type, "x-request-id": "server-1", "content-length": body.length });
      response.end(body);
    });
    await new Promise((done) => self.server.listen(0, "127.0.0.1", done));
    self.port = self.server.address().port;
    return self;
  }

  /// Sends each event once the client has reported the one before.
  async stream(response, events) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      const seen = new Promise((done) => (this.seen = done));
      response.write(`data: ${JSON.stringify(event)}\n\n`);
      await seen;
    }
    response.end();
  }

  get last() {
    return this.requests.at(-1);
  }

  reply({ method, path, body: received }) {
    const json = (body, status = 200) => [status, "application/json", Buffer.from(JSON.stringify(body))];
    const file = { id: "file-1", object: "file", bytes: 3, created_at: 1, filename: "a.jsonl", purpose: "batch" };
    const batch = { id: "batch_1", object: "batch", endpoint: "/v1/chat/completions", status: "validating" };
    const replies = {
      "POST /v1/embeddings": () =>
        json({ object: "list", data: [{ object: "embedding", index: 0, embedding: [0.25, -0.5] }], model: "e-5", usage: kUsage }),
      // The usage comes first, as vLLM's does.
      "POST /v1/rerank": () =>
        json({ id: "r", model: "r-5", usage: { total_tokens: 21 }, results: [{ index: 0, relevance_score: 0.5, document: { text: "x".repeat(2_000) } }] }),
      "POST /v1/moderations": () => json({ id: "m", model: "m", results: [{ flagged: true, categories: { hate: true }, category_scores: { hate: 0.9 } }] }),
      "POST /v1/images/generations": () =>
        json({ created: 1, data: [{ b64_json: "QUJD".repeat(1_000) }], usage: { input_tokens: 5, output_tokens: 100, total_tokens: 105 } }),
      "POST /v1/images/edits": () => json({ created: 1, data: [{ b64_json: "QUJD" }] }),
      "POST /v1/audio/speech": () => [200, "audio/mpeg", kSound],
      "POST /v1/audio/transcriptions": () => received.includes('name="stream"') ? [200, "", kTranscript] : json({ text: "Good morning", usage: { type: "tokens", input_tokens: 14, output_tokens: 2, total_tokens: 16 } }),
      "POST /v1/responses": () => json({ id: "resp_1", object: "response", status: "completed", output: [] }),
      "POST /v1/responses/compact": () => json({ id: "resp_1", object: "response.compaction", output: [] }),
      "POST /v1/responses/input_tokens": () => json({ object: "response.input_tokens", input_tokens: 5 }),
      "POST /v1/files": () => json(file),
      "GET /v1/files": () => json({ object: "list", data: [file], has_more: false }),
      "GET /v1/files/file-1": () => json(file),
      "DELETE /v1/files/file-1": () => json({ id: "file-1", object: "file", deleted: true }),
      "GET /v1/files/file-1/content": () => [200, "application/octet-stream", kSound],
      "POST /v1/batches": () => json(batch),
      "GET /v1/batches": () => json({ object: "list", data: [batch], has_more: false }),
      "GET /v1/batches/batch_1": () => json(batch),
      "POST /v1/batches/batch_1/cancel": () => json({ ...batch, status: "cancelling" }),
    };
    const found = replies[`${method} ${path.split("?")[0]}`];
    return found ? found() : json({ error: { message: "no such path", type: "invalid_request_error" } }, 404);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

let server, daemon, keyed, direct, routed;

const models = (dead) => `
    - {name: chat, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: embedder, provider_model_id: e-5, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: reranker, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: painter, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: voice, provider_model_id: voice-large, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: moderator, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: dead, backend_refs: [{name: d, endpoint: "127.0.0.1:${dead}"}]}
    - name: private
      pii_policy: {allow_by_default: false}
      backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]
    - {name: thinker, responses_api: true, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{name: s, endpoint: "127.0.0.1:${server.port}"}]}`;

const configuration = (dead, api, access = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: chat}
  models:${models(dead)}
routing:
  signals:
    pii:
      - {name: account, threshold: 0.9, pii_types_allowed: [EMAIL_ADDRESS]}
  decisions:
    - name: no-accounts
      priority: 9
      rules: {type: pii, name: account}
      plugins: [{type: fast_response, configuration: {message: "No accounts."}}]
global:
${access}  api: ${api}
  model_catalog: {system: {pii_classifier: "", prompt_guard: ""}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    http: {body_bytes_max: ${kBodyBytesMax}}
`;

before(async () => {
  server = await MediaServer.start();
  const [dead] = await freePorts(1);
  daemon = await Daemon.start(configuration(dead, "{files_model: chat}"));
  const access = `  spending: {file: spending.db}
  access:
    keys:
      - {name: all, hash: "${hashOf(kKeys.all)}"}
      - {name: narrow, hash: "${hashOf(kKeys.narrow)}", models: [embedder]}
      - {name: slow, hash: "${hashOf(kKeys.slow)}", limits: [{requests_per_unit: 2, unit: hour}]}
`;
  keyed = await Daemon.start(configuration(dead, "{}", access));
  direct = new OpenAI({ apiKey: "unused", baseURL: `http://127.0.0.1:${server.port}/v1`, maxRetries: 0 });
  routed = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await keyed?.stop();
  await daemon?.stop();
  await server?.stop();
});

/// Sends bytes as they are, with a path that fetch would change. Returns {status, headers, body}.
function send(url, method, path, headers = {}, body = "") {
  const { hostname, port } = new URL(url);
  return new Promise((done, failed) => {
    const sent = httpRequest({ hostname, port, method, path, headers, agent: false }, async (reply) => {
      const parts = [];
      for await (const part of reply) parts.push(part);
      done({ status: reply.statusCode, headers: reply.headers, body: Buffer.concat(parts) });
    });
    sent.on("error", failed);
    sent.end(body);
  });
}

const postJson = (path, body, headers = {}, url = daemon.url) =>
  send(url, "POST", path, { "content-type": "application/json", ...headers }, typeof body === "string" ? body : JSON.stringify(body));

/// Makes the call both ways, and returns the reply to the client and the request at the server.
async function bothWays(call) {
  const ways = [];
  for (const client of [direct, routed]) {
    const reply = await call(client);
    ways.push({ reply, ...server.last });
  }
  return ways;
}

const kSentByRouter = ["host", "x-request-id", "traceparent", "connection"];
function withoutOwn(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !kSentByRouter.includes(name)));
}

test("embeddings of a server pass byte for byte, except for the model's name", async () => {
  const [plain, passed] = await bothWays((client) =>
    client.embeddings.create({ model: client === direct ? "e-5" : "embedder", input: ["one", "two \u00e4"], encoding_format: "float" }),
  );
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(passed.path, "/v1/embeddings");
  assert.equal(passed.body.toString(), plain.body.toString());
  assert.deepEqual(withoutOwn(passed.headers), withoutOwn(plain.headers));
});

test("Cohere's newer path for reranking reaches the server, too", async () => {
  const passed = await send(daemon.url, "POST", "/v2/rerank", {}, '{"model": "reranker", "query": "q", "documents": ["a"]}');
  assert.equal(server.last.path, "/v2/rerank");
  assert.equal(passed.headers["x-vsr-selected-model"], "reranker");
});

test("a body whose model keeps its name reaches the server unchanged, and the reply unchanged the client", async () => {
  const body = '{ "model" : "reranker", "query":"q", "documents":["a"], "n": 12345678901234567890123 }';
  const plain = await send(`http://127.0.0.1:${server.port}`, "POST", "/v1/rerank?a=b", { "content-type": "text/plain" }, body);
  const passed = await send(daemon.url, "POST", "/v1/rerank?a=b", { "content-type": "text/plain" }, body);
  assert.equal(server.last.body.toString(), body);
  assert.equal(server.last.path, "/v1/rerank?a=b");
  assert.equal(server.last.headers["content-type"], "application/json");
  assert.ok(passed.body.equals(plain.body));
  assert.equal(passed.headers["x-vsr-upstream-request-id"], "server-1");
  assert.match(passed.headers["x-request-id"], /^req-/);
  assert.equal(passed.headers["x-vsr-selected-model"], "reranker");
  assert.equal(passed.headers["x-vsr-response-path"], "upstream");
});

test("images come from the server", async () => {
  const [plain, passed] = await bothWays((client) => client.images.generate({ model: "painter", prompt: "a lighthouse", size: "1024x1024" }));
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(passed.body.toString(), plain.body.toString());
});

test("a picture is edited by its server", async () => {
  const image = () => toFile(kSound, "a.png", { type: "image/png" });
  await routed.images.edit({ model: "painter", image: await image(), prompt: "more light" });
  assert.equal(server.last.path, "/v1/images/edits");
  assert.match(server.last.headers["content-type"], /^multipart\/form-data; ?boundary=/);
  assert.ok(server.last.body.includes(kSound));
});

test("the client gets the bytes of the server's sound", async () => {
  const [plain, passed] = await bothWays(async (client) => {
    const reply = await client.audio.speech.create({ model: client === direct ? "voice-large" : "voice", voice: "alloy", input: "Good morning" });
    return { type: reply.headers.get("content-type"), bytes: Buffer.from(await reply.arrayBuffer()) };
  });
  assert.equal(passed.reply.type, "audio/mpeg");
  assert.ok(passed.reply.bytes.equals(kSound));
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(passed.body.toString(), plain.body.toString());
});

/// The body of a form with its boundary replaced, which each request draws anew.
function formOf({ headers, body }) {
  const boundary = /boundary=(.*)$/.exec(headers["content-type"])[1];
  return body.toString("latin1").replaceAll(boundary, "BOUNDARY");
}

test("a transcription's form passes whole, wherever the model stands in it", async () => {
  const [plain, passed] = await bothWays(async (client) =>
    client.audio.transcriptions.create({ file: await toFile(kSound, "a.mp3"), model: client === direct ? "voice-large" : "voice", language: "en" }),
  );
  assert.equal(passed.reply.text, "Good morning");
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(formOf(passed), formOf(plain));
  const first = formOf(passed).indexOf('name="file"');
  assert.ok(first > 0 && first < formOf(passed).indexOf('name="model"'), "expected the file before the model");
});

test("a transcription that streams arrives event by event", async () => {
  const events = [];
  const stream = await routed.audio.transcriptions.create({ file: await toFile(kSound, "a.mp3"), model: "voice", stream: true });
  for await (const event of stream) {
    events.push(event);
    server.seen();
  }
  assert.deepEqual(events, kTranscript);
});

test("files are uploaded, listed, read and deleted", async () => {
  const [plain, passed] = await bothWays(async (client) => client.files.create({ file: await toFile(kSound, "a.jsonl"), purpose: "batch" }));
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(formOf(passed), formOf(plain));
  const listed = await routed.files.list({ limit: 2 });
  assert.equal(listed.data[0].id, "file-1");
  assert.equal(server.last.path, "/v1/files?limit=2");
  assert.equal((await routed.files.retrieve("file-1")).filename, "a.jsonl");
  const content = await routed.files.content("file-1");
  assert.ok(Buffer.from(await content.arrayBuffer()).equals(kSound));
  assert.equal((await routed.files.delete("file-1")).deleted, true);
  assert.equal(server.last.method, "DELETE");
});

test("batches are created, listed, read and cancelled", async () => {
  const batch = { input_file_id: "file-1", endpoint: "/v1/chat/completions", completion_window: "24h" };
  const [plain, passed] = await bothWays((client) => client.batches.create(batch));
  assert.deepEqual(passed.reply, plain.reply);
  assert.equal(passed.body.toString(), plain.body.toString());
  assert.equal((await routed.batches.retrieve("batch_1")).id, "batch_1");
  assert.equal((await routed.batches.list()).data[0].id, "batch_1");
  assert.equal((await routed.batches.cancel("batch_1")).status, "cancelling");
  assert.equal(server.last.body.length, 0);
});

test("moderations of a server pass", async () => {
  const [plain, passed] = await bothWays((client) => client.moderations.create({ model: "moderator", input: "..." }));
  assert.deepEqual(passed.reply, plain.reply);
});

test("a server's error passes as it came", async () => {
  const plain = await send(`http://127.0.0.1:${server.port}`, "POST", "/v1/images/variations", {}, '{"model":"painter"}');
  const passed = await postJson("/v1/images/variations", { model: "painter" });
  assert.equal(passed.status, 404);
  assert.ok(passed.body.equals(plain.body));
});

test("a model that cannot be requested is refused with the reason", async () => {
  const before = server.requests.length;
  const refused = async (body, status, message) => {
    const reply = await postJson("/v1/images/generations", body);
    assert.equal(reply.status, status, reply.body.toString());
    assert.match(JSON.parse(reply.body).error.message, message);
  };
  await refused({ model: "nobody", prompt: "p" }, 404, /unknown model "nobody"/);
  await refused({ prompt: "p" }, 400, /model: expected the name/);
  await refused({ model: "auto", prompt: "p" }, 400, /"auto" stands for several models/);
  await refused({ model: "claude", prompt: "p" }, 400, /another API/);
  await refused({ model: 5, prompt: "p" }, 400, /model: expected a string/);
  await refused('{"model":"painter","model":"voice","prompt":"p"}', 400, /model: there are two/);
  await refused("[1]", 400, /expected a JSON object/);
  await refused("{", 400, /JSON/);
  assert.equal(server.requests.length, before);
});

test("a dead server is an error that names its model", async () => {
  const reply = await postJson("/v1/embeddings", { model: "dead", input: "one" });
  assert.equal(reply.status, 502);
  assert.match(JSON.parse(reply.body).error.message, /cannot connect/);
  assert.equal(reply.headers["x-vsr-selected-model"], "dead");
  assert.equal(reply.headers["x-vsr-response-path"], "error");
});

test("a body over the limit gets 413 before the server sees it", async () => {
  const before = server.requests.length;
  const error = await routed.audio.transcriptions.create({ file: await toFile(Buffer.alloc(2 * kBodyBytesMax), "a.mp3"), model: "voice" }).catch((e) => e);
  assert.equal(error.status, 413, `found: ${error}`);
  assert.equal(server.requests.length, before);
});

const part = (disposition, value = "v", more = "") => `--B\r\nContent-Disposition: ${disposition}${more}\r\n\r\n${value}\r\n`;
const field = (name, value) => part(`form-data; name="${name}"`, value);
const postForm = (body, type = "multipart/form-data; boundary=B") => send(daemon.url, "POST", "/v1/audio/transcriptions", { "content-type": type }, body);

test("a form that another reader may read differently is refused", async () => {
  const before = server.requests.length;
  const model = field("model", "voice");
  const forms = {
    "no boundary at the beginning": `preamble\r\n${model}--B--\r\n`,
    "an epilogue": `${model}--B--\r\nepilogue`,
    "no end": model,
    "two models": `${model}${field("model", "painter")}--B--\r\n`,
    "an encoded name": `${part("form-data; name*=utf-8''model", "painter")}${model}--B--\r\n`,
    "two names": `${part('form-data; name="a"; name="model"', "painter")}${model}--B--\r\n`,
    "an escaped name": `${part('form-data; name="mo\\del"', "painter")}${model}--B--\r\n`,
    "no name": `${part("form-data", "v")}${model}--B--\r\n`,
    "two dispositions": `${part('form-data; name="a"', "v", '\r\nContent-Disposition: form-data; name="b"')}${model}--B--\r\n`,
    "a folded line": `${part('form-data; name="a"', "v", "\r\n folded: x")}${model}--B--\r\n`,
    "a bare line feed before a boundary": `${field("a", 'v\n--B\nContent-Disposition: form-data; name="model"\n\npainter')}${model}--B--\r\n`,
    "the boundary inside a value": `${field("a", "x--B")}${model}--B--\r\n`,
    "an encoding": `${part('form-data; name="a"', "v", "\r\nContent-Transfer-Encoding: base64")}${model}--B--\r\n`,
    "a model that is a file": `${part('form-data; name="model"; filename="m"', "voice")}--B--\r\n`,
    "a header without an end": `--B\r\nContent-Disposition: form-data; name="${"a".repeat(20_000)}"\r\n\r\nv\r\n${model}--B--\r\n`,
  };
  for (const [what, body] of Object.entries(forms)) {
    const reply = await postForm(body);
    assert.equal(reply.status, 400, `${what}: ${reply.body}`);
  }
  assert.equal((await postForm(`${Array(300).fill(field("a", "v")).join("")}${model}--B--\r\n`)).status, 413);
  for (const type of ["multipart/form-data", "multipart/form-data; boundary=", 'multipart/form-data; boundary="B"; boundary="C"'])
    assert.equal((await postForm(`${model}--B--\r\n`, type)).status, 400, type);
  assert.equal(server.requests.length, before);
  assert.equal((await postForm(`${model}--B--\r\n`)).status, 200);
  assert.equal((await postForm(`${model}--B--`, 'multipart/form-data; charset=utf-8; boundary="B"')).status, 200);
});

test("no path reaches other resources of the server", async () => {
  const before = server.requests.length;
  for (const path of ["/v1/files/../models", "/v1/files/..", "/v1/files/a/b", "/v1/files/a%2fb", "/v1/files/a/content/b", "/v1/files//content", "/v1/batches/a/delete"])
    assert.equal((await send(daemon.url, "GET", path)).status, 404, path);
  assert.equal((await send(daemon.url, "PUT", "/v1/files/a")).status, 405);
  assert.equal(server.requests.length, before);
});

test("HEAD of a file has no body", async () => {
  const reply = await send(daemon.url, "HEAD", "/v1/files/file-1/content");
  assert.equal(reply.status, 200);
  assert.equal(reply.headers["content-length"], String(kSound.length));
  assert.equal(reply.body.length, 0);
});

test("the body of a GET never reaches the server", async () => {
  const inner = "DELETE /v1/files/victim HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  for (const method of ["GET", "HEAD"]) {
    for (const path of ["/v1/files", "/v1/files/file-1", "/v1/files/file-1/content", "/v1/batches"]) {
      const before = server.requests.length;
      await send(daemon.url, method, path, { "content-length": inner.length }, inner);
      // A server that took the body for a request would have got it before this one.
      assert.equal((await send(daemon.url, "GET", "/v1/files")).status, 200);
      const methods = server.requests.slice(before).map((each) => `${each.method} ${each.body.length}`);
      assert.deepEqual(methods, ["GET 0", "GET 0"], `${method} ${path}`);
    }
  }
});

test("guards read the texts that a model reads, and only these", async () => {
  const before = server.requests.length;
  const image = await postJson("/v1/images/generations", { model: "painter", prompt: `draw ${kAccount}` });
  assert.equal(image.status, 403, image.body.toString());
  assert.equal(JSON.parse(image.body).error.code, "content_policy_violation");
  assert.match(JSON.parse(image.body).error.message, /No accounts/);
  assert.equal((await postJson("/v1/audio/speech", { model: "voice", input: kAccount, voice: "alloy" })).status, 403);
  assert.equal((await postForm(`${field("prompt", kAccount)}${field("model", "voice")}--B--\r\n`)).status, 403);
  const disguised = { model: "painter", prompt: `data: draw ${kAccount}` };
  assert.equal((await postJson("/v1/images/generations", disguised)).status, 403);
  assert.equal((await postJson("/v1/images/generations", { model: "painter", prompt: "a cat", Prompt: kAccount })).status, 400);
  assert.equal(server.requests.length, before);
  assert.equal((await postJson("/v1/embeddings", { model: "embedder", input: kAccount })).status, 200);
});

test("guards read what is compacted, and not what is counted", async () => {
  const input = [{ role: "user", content: [{ type: "input_text", text: kAccount }] }];
  const before = server.requests.length;
  for (const body of [{ input }, { input: "x", instructions: kAccount }])
    assert.equal((await postJson("/v1/responses/compact", { model: "thinker", ...body })).status, 403);
  assert.equal(server.requests.length, before);
  assert.equal((await postJson("/v1/responses/compact", { model: "thinker", input: "Good morning" })).status, 200);
  assert.equal((await postJson("/v1/responses/input_tokens", { model: "thinker", input })).status, 200);
});

test("guards read every member of a shell's or a patch's items that a native server gets", async () => {
  const before = server.requests.length;
  const operation = { type: "update_file", path: "x", diff: kAccount };
  for (const item of [
    { type: "apply_patch_call", call_id: "c", action: "x", operation },
    { type: "shell_call", call_id: "c", action: { commands: ["ls"] }, environment: { type: "local", skills: [{ description: kAccount }] } },
    { type: "shell_call", call_id: "c", action: { commands: ["ls"] }, operation },
    { type: "shell_call_output", call_id: "c", output: [], status: kAccount },
  ]) {
    const reply = await postJson("/v1/responses", { model: "thinker", input: [item] });
    assert.match(reply.body.toString(), /No accounts/, JSON.stringify(item));
  }
  const twice = '{"model":"thinker","input":[{"type":"apply_patch_call","call_id":"c","operation":{},"operation":{}}]}';
  const reply = await postJson("/v1/responses", twice);
  assert.deepEqual([reply.status, /operation: given more than once/.test(reply.body)], [400, true], reply.body.toString());
  assert.equal(server.requests.length, before);
  const input = [{ type: "local_shell_call_output", id: "lsh_1", output: "hello" }];
  assert.equal((await postJson("/v1/responses", { model: "thinker", input })).status, 200);
  assert.deepEqual(JSON.parse(server.last.body).input, input);
});

test("without the Responses API, nothing compacts or counts its conversations", async () => {
  const services = "services:\n    response_api: {enabled: false}\n";
  const without = await Daemon.start((...ports) => configuration(1, "{}")(...ports).replace("services:\n", services));
  try {
    for (const path of ["/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"])
      assert.equal((await postJson(path, { model: "thinker", input: "x" }, {}, without.url)).status, 404, path);
  } finally {
    await without.stop();
  }
});

test("a model with a pii_policy gets only texts that were searched", async () => {
  const before = server.requests.length;
  // Without a model that finds names, nothing is known to hold none.
  const unknown = await postJson("/v1/embeddings", { model: "private", input: "Good morning" });
  assert.equal(unknown.status, 403, unknown.body.toString());
  assert.equal(JSON.parse(unknown.body).error.code, "pii_policy_violation");
  const ids = await postJson("/v1/embeddings", { model: "private", input: [[1, 2, 3]] });
  assert.equal(ids.status, 400);
  assert.match(JSON.parse(ids.body).error.message, /pii_policy/);
  assert.equal((await postForm(`${part('form-data; name="file"; filename="a"', "v")}${field("model", "private")}--B--\r\n`)).status, 400);
  for (const input of [4111111111111111, { card: 4111111111111111 }, { "ada@b.example": 1 }])
    assert.equal((await postJson("/v1/embeddings", { model: "private", input })).status, 403, JSON.stringify(input));
  assert.equal((await postJson("/v1/embeddings?user=ada", { model: "private", input: "a" })).status, 400);
  assert.equal(server.requests.length, before);
});

const asKey = (key) => ({ authorization: `Bearer ${kKeys[key]}` });

test("a key may use its models only, and no files unless the configuration names their model", async () => {
  const before = server.requests.length;
  assert.equal((await postJson("/v1/embeddings", { model: "embedder", input: "a" }, {}, keyed.url)).status, 401);
  const painted = await postJson("/v1/images/generations", { model: "painter", prompt: "p" }, asKey("narrow"), keyed.url);
  assert.equal(painted.status, 403);
  assert.equal(JSON.parse(painted.body).error.code, "model_not_allowed");
  const files = await send(keyed.url, "GET", "/v1/files", asKey("all"));
  assert.equal(files.status, 400);
  assert.match(JSON.parse(files.body).error.message, /global\.api\.files_model/);
  assert.equal(server.requests.length, before);
  assert.equal((await postJson("/v1/embeddings", { model: "embedder", input: "a" }, asKey("narrow"), keyed.url)).status, 200);
  assert.equal(server.last.headers.authorization, undefined);
});

test("limits count requests to servers and to the router's own models", async () => {
  const ask = (path, body) => postJson(path, body, asKey("slow"), keyed.url);
  assert.equal((await ask("/v1/moderations", { input: "Good morning" })).status, 200);
  assert.equal((await ask("/v1/embeddings", { model: "embedder", input: "a" })).status, 200);
  const before = server.requests.length;
  for (const [path, body] of [["/v1/moderations", { input: "a" }], ["/v1/images/generations", { model: "painter", prompt: "p" }]]) {
    const reply = await ask(path, body);
    assert.equal(reply.status, 429);
    assert.ok(reply.headers["retry-after"]);
  }
  assert.equal(server.requests.length, before);
});

test("the router's own guards answer moderations in OpenAI's shape", async () => {
  const { data: own, response } = await routed.moderations.create({ input: ["Good morning", kAccount] }).withResponse();
  assert.equal(response.headers.get("x-vsr-response-path"), "own_model");
  assert.match(response.headers.get("x-request-id"), /^req-/);
  assert.match(own.id, /^modr-/);
  assert.equal(own.model, "guards");
  assert.deepEqual(own.results.map((result) => [result.flagged, result.categories, result.category_scores]), [
    [false, { pii: false }, { pii: 0 }],
    [true, { pii: true }, { pii: 1 }],
  ]);
});

test("a request that the server may have carried out is not repeated", async () => {
  const counts = { "/v1/files": 0, "/v1/embeddings": 0 };
  const closing = createServer((request, response) => {
    if (request.method === "GET") return response.end("{}"); // and the connection stays
    counts[request.url] += 1;
    request.resume().on("end", () => request.socket.destroy());
  });
  await new Promise((done) => closing.listen(0, "127.0.0.1", done));
  const alone = await Daemon.start((port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: only}
  models: [{name: only, backend_refs: [{name: s, endpoint: "127.0.0.1:${closing.address().port}"}]}]
routing: {}
global: {services: {management_api: {bind_address: 127.0.0.1, port: ${managementPort}}, http: {threads: 1}}}
`);
  try {
    for (const [path, body] of [["/v1/embeddings", { model: "only", input: "a" }], ["/v1/files", { purpose: "batch" }]]) {
      assert.equal((await send(alone.url, "GET", "/v1/files")).status, 200);
      assert.equal((await postJson(path, body, {}, alone.url)).status, 502);
    }
    assert.deepEqual(counts, { "/v1/files": 1, "/v1/embeddings": 2 });
  } finally {
    await alone.stop();
    closing.closeAllConnections();
    await new Promise((done) => closing.close(done));
  }
});

test("the usage that the server reports is counted", async () => {
  const spent = async () => {
    const report = await (await fetch(`${keyed.managementUrl}/api/v1/spending?by=model`)).json();
    return Object.fromEntries(report.lines.map((row) => [row.model, row]));
  };
  const ask = (path, body) => postJson(path, body, asKey("all"), keyed.url);
  await ask("/v1/rerank", { model: "reranker", query: "q", documents: ["x"] });
  await ask("/v1/images/generations", { model: "painter", prompt: "p" });
  await ask("/v1/audio/speech", { model: "voice", input: "x".repeat(4_000), voice: "alloy" });
  const counted = ["reranker", "painter", "voice"];
  const rows = await until(async () => {
    const found = await spent();
    return counted.every((model) => found[model]) && found;
  });
  assert.equal(rows.reranker.prompt_tokens, 21);
  assert.equal(rows.painter.prompt_tokens, 5);
  assert.equal(rows.painter.completion_tokens, 100);
  assert.equal(rows.voice.completion_tokens, 0);
  assert.ok(Math.abs(rows.voice.prompt_tokens - 1_000) < 30, `${rows.voice.prompt_tokens}`);
});
