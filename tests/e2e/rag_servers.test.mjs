// Tests the plugin rag with an MCP server, which is the protocol's own SDK, and with doubles of a Qdrant server and of an
// MCP server that fails. A double plays the model.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

/// An MCP server with one tool, which `answer(name, arguments)` plays.
class McpServer {
  static async start(options = {}) {
    const out = new McpServer();
    Object.assign(out, { options, sessions: new Map(), begun: 0, ended: [], requests: [] });
    out.http = createServer((request, response) => out.#receive(request, response));
    await new Promise((done) => out.http.listen(0, "127.0.0.1", done));
    out.port = out.http.address().port;
    return out;
  }

  async #receive(request, response) {
    this.requests.push(request.headers);
    const known = this.sessions.get(request.headers["mcp-session-id"]);
    if (request.method === "DELETE") {
      this.ended.push(request.headers["mcp-session-id"]);
      if (this.options.end) return this.options.end(response);
    }
    if (request.headers["mcp-session-id"] && !known) return response.writeHead(this.options.unknown ?? 404).end();
    const transport = known ?? (await this.#begin());
    await transport.handleRequest(request, response);
  }

  async #begin() {
    const sessionIdGenerator = this.options.stateless ? undefined : randomUUID;
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator,
      enableJsonResponse: this.options.json,
      onsessioninitialized: (id) => ((this.begun += 1), this.sessions.set(id, transport)),
    });
    const server = new Server({ name: "library", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => this.answer(params.name, params.arguments));
    await server.connect(transport);
    return transport;
  }

  forget() {
    this.sessions.clear();
  }

  async stop() {
    this.http.closeAllConnections();
    await new Promise((done) => this.http.close(done));
  }
}

let model, library, embedder;

before(async () => {
  model = await ScriptedUpstream.start();
  library = await ScriptedUpstream.start();
  embedder = await ScriptedUpstream.start();
  embedder.answer = ({ input }) => ({ body: { data: input.map((_, index) => ({ index, embedding: [0.6, 0.8] })) } });
});
after(async () => {
  for (const each of [model, library, embedder]) await each?.stop();
});
beforeEach(() => {
  model.received = undefined;
  model.answer = () => completion({ content: "31 metres" });
});

/// A file whose only decision has the plugin with these keys.
const file = (rag, stores = "") => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models: [{name: plain, responses_api: true, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}]
routing:
  decisions:
    - name: ships
      plugins:
        - type: rag
          configuration: ${rag}
global:
  stores: {${stores}}
  model_catalog: {embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 2}}}}
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

async function withOrderlyDaemon(configuration, run) {
  const daemon = await Daemon.start(configuration);
  try {
    await run(daemon);
  } finally {
    await daemon.stop();
  }
}

async function send(daemon, content) {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }] }),
  });
  return { status: answer.status, rag: answer.headers.get("x-vsr-rag"), body: await answer.text() };
}

describe("documents of a Qdrant server", () => {
  const rag = `{backend: qdrant, top_k: 2, similarity_threshold: 0.5, on_failure: block, backend_config: {collection: ships, content_field: body, filter: {must: [{key: kind, match: {value: ship}}]}}}`;
  const server = (keys) => `response_cache: {qdrant: {host: 127.0.0.1, api_key: secret-of-the-library${keys}}}`;

  test("the model gets documents of a Qdrant server", () =>
    withOrderlyDaemon(file(rag, server(`, port: ${library.port}`)), async (daemon) => {
      library.answer = () => ({ body: { result: { points: [{ id: 1, version: 3, score: 0.8, payload: { body: "31 metres" } }] }, status: "ok", time: 0 } });
      const { status, rag } = await send(daemon, "How high?");
      assert.equal(status, 200);
      assert.equal(rag, "added");
      assert.equal(library.path, "/collections/ships/points/query");
      assert.equal(library.headers["api-key"], "secret-of-the-library");
      assert.equal(library.headers.authorization, undefined);
      const { query, ...others } = library.received;
      assert.deepEqual(query.map((x) => Math.round(x * 10)), [6, 8]);
      assert.deepEqual(others, { limit: 2, score_threshold: 0.5, with_payload: ["body"], filter: { must: [{ key: "kind", match: { value: "ship" } }] } });
      assert.equal(model.received.messages.at(-1).content, "31 metres");
    }));

  test("an error of the Qdrant server is a failed search", () =>
    withOrderlyDaemon(file(rag, server(`, port: ${library.port}`)), async (daemon) => {
      library.answer = () => ({ status: 403, body: { status: { error: "hunter2" } } });
      const { status, body } = await send(daemon, "How high?");
      assert.equal(status, 502);
      assert.match(body, /the search for them failed/);
      await until(() => /qdrant 127\.0\.0\.1:\d+: it returned status 403 \(check its api_key\)/.test(daemon.log));
      assert.doesNotMatch(daemon.log, /How high|hunter2|secret-of/);
    }));
});

describe("documents of a tool", () => {
  const rag = (port, more = "", keys = "") =>
    `{backend: mcp, top_k: 2, on_failure: block${more}, backend_config: {server_name: library, tool_name: search, endpoint: "http://127.0.0.1:${port}/mcp", api_key: secret-of-the-library, headers: {x-tenant: t1, accept: text/plain}, tool_arguments: {query: "find \${user_content}", count: "\${top_k}", by: "\${decision_name}", deep: {list: [1, true, "\${user_content}"]}}${keys}}}`;
  const texts = (...all) => ({ content: all.map((text) => ({ type: "text", text })) });

  for (const [name, options] of Object.entries({ "events": {}, "JSON": { json: true }, "a server without sessions": { stateless: true } })) {
    test(`${name}: the model gets documents of a tool`, async () => {
      const server = await McpServer.start(options);
      try {
        const called = [];
        server.answer = (...call) => (called.push(call), texts("The mast is 31 metres high.", "It is old.", "A third one."));
        await withOrderlyDaemon(file(rag(server.port)), async (daemon) => {
          const { status, rag, body } = await send(daemon, 'How "high"?');
          assert.equal(status, 200, body);
          assert.equal(rag, "added");
          assert.deepEqual(called, [["search", { query: 'find How "high"?', count: 2, by: "ships", deep: { list: [1, true, 'How "high"?'] } }]]);
          assert.equal(model.received.messages.at(-1).content, "The mast is 31 metres high.\n\n---\n\nIt is old.");
          const last = server.requests.at(-1);
          assert.equal(last.authorization, "Bearer secret-of-the-library");
          assert.equal(last["x-tenant"], "t1");
          assert.equal(last.accept, "application/json, text/event-stream");
          assert.equal(last["mcp-protocol-version"], "2025-06-18");
          assert.equal(last["mcp-session-id"] === undefined, options.stateless === true);
        });
      } finally {
        await server.stop();
      }
    });
  }

  for (const unknown of [404, 400]) {
    test(`one session serves all searches, and a new one replaces one forgotten with ${unknown}`, async () => {
      const server = await McpServer.start({ unknown });
      try {
        server.answer = () => texts("31 metres");
        await withOrderlyDaemon(file(rag(server.port)), async (daemon) => {
          assert.equal((await send(daemon, "How high?")).rag, "added");
          assert.equal((await send(daemon, "How old?")).rag, "added");
          assert.equal(server.begun, 1);
          server.forget();
          assert.equal((await send(daemon, "How wide?")).rag, "added");
          assert.equal(server.begun, 2);
        });
        assert.deepEqual(server.ended.filter((id) => server.sessions.has(id)), [...server.sessions.keys()]);
        assert.equal(server.ended.length, unknown === 404 ? 1 : 2);
      } finally {
        await server.stop();
      }
    });
  }

  test("a reload and the end of the program delete the sessions that they end", async () => {
    const server = await McpServer.start();
    try {
      server.answer = () => texts("31 metres");
      await withOrderlyDaemon(file(rag(server.port)), async (daemon) => {
        assert.equal((await send(daemon, "How high?")).rag, "added");
        assert.deepEqual(server.ended, []);
        const [first] = server.sessions.keys();
        const [port, management] = [daemon.url, daemon.managementUrl].map((url) => new URL(url).port);
        await writeFile(daemon.file, file(rag(server.port).replace("top_k: 2", "top_k: 1"))(port, management));
        await until(() => server.ended.length > 0, "the end of the session of the former file");
        assert.deepEqual(server.ended, [first]);
        assert.equal((await send(daemon, "How high?")).rag, "added");
        assert.equal(server.begun, 2);
      });
      assert.deepEqual(server.ended, [...server.sessions.keys()]);
      const last = server.requests.at(-1);
      assert.equal(last.authorization, "Bearer secret-of-the-library");
      assert.equal(last["mcp-protocol-version"], "2025-06-18");
    } finally {
      await server.stop();
    }
  });

  const kept = {
    "does not let clients end sessions": [(response) => response.writeHead(405).end(), false],
    "fails": [(response) => response.writeHead(500).end(), true],
    "hangs": [() => {}, true],
  };
  for (const [name, [end, isLogged]] of Object.entries(kept)) {
    test(`the program ends in order if the server ${name} when its session should end`, async () => {
      const server = await McpServer.start({ end });
      try {
        server.answer = () => texts("31 metres");
        const daemon = await Daemon.start(file(rag(server.port)));
        try {
          assert.equal((await send(daemon, "How high?")).rag, "added");
        } finally {
          await daemon.stop();
        }
        assert.equal(server.ended.length, 1);
        assert.equal(/MCP server library 127\.0\.0\.1:\d+: its session was not ended: /.test(daemon.log), isLogged, daemon.log);
      } finally {
        await server.stop();
      }
    });
  }

  test("an error of the tool is a failed search", async () => {
    const server = await McpServer.start();
    try {
      server.answer = () => ({ ...texts("hunter2"), isError: true });
      await withOrderlyDaemon(file(rag(server.port)), async (daemon) => {
        assert.equal((await send(daemon, "How high?")).status, 502);
        await until(() => /MCP server library 127\.0\.0\.1:\d+: the tool reported an error/.test(daemon.log));
        server.answer = () => {
          throw new Error("hunter2");
        };
        assert.equal((await send(daemon, "How high?")).status, 502);
        await until(() => /: it returned the error -32603/.test(daemon.log));
        assert.doesNotMatch(daemon.log, /How high|hunter2|secret-of/);
      });
    } finally {
      await server.stop();
    }
  });

  test("a result of the tool without text is a search without documents", async () => {
    const server = await McpServer.start();
    try {
      server.answer = () => texts();
      await withOrderlyDaemon(file(rag(server.port)), async (daemon) => assert.equal((await send(daemon, "How high?")).status, 404));
    } finally {
      await server.stop();
    }
  });

  const failures = {
    "a server that hangs": [() => new Promise(() => {}), /it did not finish in time/],
    "a server of another kind": [() => ({ body: { hello: "hunter2" } }), /no response to the request/],
    "a server of another version": [({ id }) => ({ body: { jsonrpc: "2.0", id, result: { protocolVersion: "1999-01-01" } } }), /another version of the protocol/],
    "a session whose name is not a header": [({ id }) => ({ headers: { "mcp-session-id": "hunter2 b" }, body: { jsonrpc: "2.0", id, result: { protocolVersion: "2025-06-18" } } }), /the name of its session is not at most 1024 visible ASCII characters/],
    "a reply that is too large": [() => ({ body: "a".repeat(9 << 20) }), /8388608|more than/],
  };
  for (const [name, [answer, message]] of Object.entries(failures)) {
    test(`${name} (a double) is a failed search`, () =>
      withOrderlyDaemon(file(rag(library.port, "", `, timeout_seconds: ${name === "a server that hangs" ? 1 : 60}`)), async (daemon) => {
        library.answer = answer;
        assert.equal((await send(daemon, "How high?")).status, 502);
        await until(() => new RegExp(`MCP server library.*(${message.source})`).test(daemon.log), () => daemon.log);
        assert.doesNotMatch(daemon.log, /How high|hunter2/);
      }));
  }

  test("without an address of the tool, requests are refused", () =>
    withOrderlyDaemon(file("{backend: mcp, backend_config: {server_name: library, tool_name: search}}"), async (daemon) => {
      await until(() => /rag with the backend mcp, without the key endpoint, is not supported/.test(daemon.log));
      assert.equal((await send(daemon, "How high?")).status, 501);
    }));
});

describe("documents that the model searches by itself", () => {
  const rag = "{backend: openai, backend_config: {vector_store_id: vs_1, api_key: k, workflow_mode: tool_based, max_num_results: 4}}";
  const response = { id: "r", object: "response", status: "completed", model: "m", output: [], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };

  test("a request of the responses API gets the tool", () =>
    withOrderlyDaemon(file(rag), async (daemon) => {
      model.answer = () => ({ body: response });
      const request = { model: "auto", input: "How high?", store: false, tools: [{ type: "function", name: "f", parameters: {} }] };
      const answer = await fetch(`${daemon.url}/v1/responses`, { method: "POST", body: JSON.stringify(request) });
      assert.equal(answer.status, 200, await answer.clone().text());
      assert.deepEqual(await answer.json(), response);
      assert.equal(model.path, "/v1/responses");
      assert.deepEqual(model.received, { ...request, model: "plain", tools: [...request.tools, { type: "file_search", vector_store_ids: ["vs_1"], max_num_results: 4 }] });
      await until(() => /api_key: has no effect: with workflow_mode tool_based/.test(daemon.log));
    }));

  test("any other request is refused", () =>
    withOrderlyDaemon(file(rag), async (daemon) => {
      const { status, body } = await send(daemon, "How high?");
      assert.equal(status, 501);
      assert.match(body, /answers only requests of the responses API/);
      assert.equal(model.received, undefined);
    }));
});
