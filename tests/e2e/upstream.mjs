// Model servers for tests: one whose stream never ends by itself, so that a test can check what reaches it and when its
// caller disconnects, and one that repeats its input.

import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export class EndlessUpstream {
  static async start() {
    const upstream = new EndlessUpstream();
    upstream.closed = new Promise((done) => (upstream.onClosed = done));
    upstream.server = createServer((request, response) => upstream.#answer(request, response));
    await new Promise((done) => upstream.server.listen(0, "127.0.0.1", done));
    upstream.port = upstream.server.address().port;
    return upstream;
  }

  #answer(request, response) {
    let body = "";
    response.on("close", this.onClosed);
    request.setEncoding("utf8").on("data", (text) => (body += text));
    request.on("end", () => {
      this.body = body;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const delta = { content: "tick " };
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "endless", choices: [{ index: 0, delta }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    });
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

// A model server that repeats the last user message in deltas of a few characters, and calls a tool with it.
export class RepeatingUpstream {
  static async start() {
    const upstream = new RepeatingUpstream();
    upstream.server = createServer((request, response) => upstream.#answer(request, response));
    await new Promise((done) => upstream.server.listen(0, "127.0.0.1", done));
    upstream.port = upstream.server.address().port;
    return upstream;
  }

  #answer(request, response) {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => (body += text));
    request.on("end", () => {
      this.body = body;
      this.headers = request.headers;
      const received = JSON.parse(body);
      if (received.prompt !== undefined) {
        const choices = [{ index: 0, text: `${received.prompt}${received.suffix ?? ""}`, finish_reason: "stop" }];
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ id: "c", object: "text_completion", created: 1, model: "repeat", choices }));
        return;
      }
      const said = received.messages.at(-1).content;
      const call = JSON.stringify({ text: said });
      const chunk = (delta, reason = null) => {
        const choice = { index: 0, delta, finish_reason: reason };
        const all = { id: "c", object: "chat.completion.chunk", created: 1, model: "repeat", choices: [choice] };
        return `data: ${JSON.stringify(all)}\n\n`;
      };
      if (!received.stream) {
        const calls = [{ id: "t", type: "function", function: { name: "say", arguments: call } }];
        const message = { role: "assistant", content: said, tool_calls: calls };
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "repeat", choices }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk({ role: "assistant", content: "" }));
      for (let at = 0; at < said.length; at += 3) response.write(chunk({ content: said.slice(at, at + 3) }));
      const part = (at) => ({ index: 0, function: { arguments: call.slice(at, at + 3) } });
      response.write(chunk({ tool_calls: [{ index: 0, id: "t", type: "function", function: { name: "say", arguments: "" } }] }));
      for (let at = 0; at < call.length; at += 3) response.write(chunk({ tool_calls: [part(at)] }));
      response.end(`${chunk({}, "tool_calls")}data: [DONE]\n\n`);
    });
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

// A model server whose replies a test defines: `answer(received)` returns {status, headers, body} or {events: [...]},
// where events are texts, which are sent as they are, or objects, which are sent as events. If there is a promise
// `ends`, the stream ends when it resolves. `drop()` ends the connection of the last request. `closed` resolves when
// that connection has ended or its reply was sent.
export class ScriptedUpstream {
  static async start(port = 0) {
    const upstream = new ScriptedUpstream();
    upstream.server = createServer((request, response) => upstream.#receive(request, response));
    await new Promise((done) => upstream.server.listen(port, "127.0.0.1", done));
    upstream.port = upstream.server.address().port;
    return upstream;
  }

  #receive(request, response) {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => (body += text));
    request.on("end", async () => {
      if (request.url === "/v1/traces") return response.end(); // tests may name it as a trace collector, too
      this.path = request.url;
      this.method = request.method;
      this.headers = request.headers;
      this.body = body;
      this.closed = new Promise((done) => response.on("close", done));
      this.drop = () => request.socket.destroy();
      this.received = body === "" ? undefined : JSON.parse(body);
      const { status = 200, headers = {}, body: whole, events, dies, ends } = await this.answer(this.received);
      if (events === undefined) {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(typeof whole === "string" || whole instanceof Uint8Array ? whole : JSON.stringify(whole));
        return;
      }
      response.writeHead(status, { "content-type": "text/event-stream", ...headers });
      for (const event of events) response.write(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
      await ends;
      if (dies) response.write("", () => response.destroy());
      else response.end();
    });
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

// A model server that sends the same tokens each time at fixed intervals in milliseconds, and records when it sent
// each. After a full stop it waits for the promise `released`, if there is one.
export class PacedUpstream {
  static async start(tokens, gapMs) {
    const upstream = new PacedUpstream();
    Object.assign(upstream, { tokens, gapMs, sentAt: {} });
    upstream.server = createServer((request, response) => upstream.#answer(request, response));
    await new Promise((done) => upstream.server.listen(0, "127.0.0.1", done));
    upstream.port = upstream.server.address().port;
    return upstream;
  }

  async #answer(request, response) {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    Object.assign(this, { body, headers: request.headers });
    this.closed = new Promise((done) => response.on("close", done));
    if (!JSON.parse(body).stream) {
      const whole = completion({ content: this.tokens.join("") }).body;
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify(whole));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.sentAt = {};
    const chunks = streamed([{ role: "assistant", content: "" }, ...this.tokens.map((content) => ({ content }))]).events;
    for (const [i, chunk] of chunks.entries()) {
      if (response.destroyed) return;
      response.write(typeof chunk === "string" ? chunk : `data: ${JSON.stringify(chunk)}\n\n`);
      const token = this.tokens[i - 1];
      this.sentAt[token] ??= performance.now();
      if (token === ".") await this.released;
      await pause(this.gapMs);
    }
    response.end();
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

/// Returns a chat completion, or one as a stream, for ScriptedUpstream.
export function completion(message, reason = "stop", usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }) {
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: reason };
  return { body: { id: "c", object: "chat.completion", created: 1, model: "scripted", choices: [choice], usage } };
}

export function streamed(deltas, reason = "stop", usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }) {
  const chunk = (choices, more = {}) => ({ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted", choices, ...more });
  const events = deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }]));
  if (reason) events.push(chunk([{ index: 0, delta: {}, finish_reason: reason }]), chunk([], { usage }), "data: [DONE]\n\n");
  return { events };
}
