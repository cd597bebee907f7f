// Stand-ins for the model servers behind the router: a vLLM server, llama.cpp's server, the request router of the vLLM
// Production Stack with its engines, and the frontend of NVIDIA Dynamo. Their replies have the shapes, and their
// routing follows the rules, that the documentation and sources of the real ones give. llama.test.mjs tests the real
// llama.cpp server if it is installed; vLLM, the stack and Dynamo themselves were not tested.

import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/// The common base: a server that records its requests byte for byte.
class Serving {
  calls = []; // {path, headers, body, received} of every POST
  healthy = true;

  static async start(...options) {
    const serving = new this(...options);
    serving.server = createServer((request, response) => serving.#receive(request, response));
    await new Promise((done) => serving.server.listen(0, "127.0.0.1", done));
    serving.port = serving.server.address().port;
    return serving;
  }

  async #receive(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const call = { path: request.url, headers: request.headers, body };
    if (request.method === "POST") {
      call.received = JSON.parse(body);
      this.calls.push(call);
    }
    const { status = 200, headers = {}, type = "application/json", text, events } = this.answer(request.method, call);
    if (!events) {
      response.writeHead(status, { "content-type": type, ...headers });
      return response.end(text);
    }
    response.writeHead(status, { "content-type": "text/event-stream; charset=utf-8", ...headers });
    this.sent = events.join("");
    for (const event of events) {
      response.write(event);
      await pause(1);
    }
    response.end();
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

const json = (value, more = {}) => ({ text: JSON.stringify(value), ...more });
const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const kDone = "data: [DONE]\n\n";
const kWords = ["It ", "follows", " at once."];

/// A vLLM server: its fields in replies and streams, its metrics, and its two shapes of errors.
export class Vllm extends Serving {
  waiting = 0;
  constructor(model, name = "engine") {
    super();
    Object.assign(this, { model, name });
  }

  answer(method, { path, received }) {
    if (path === "/health") return { status: this.healthy ? 200 : 503, text: "" };
    if (path === "/metrics") {
      const gauge = (name, value) => `# TYPE vllm:${name} gauge\nvllm:${name}{engine="0",model_name="${this.model}"} ${value}.0\n`;
      return { type: "text/plain", text: gauge("num_requests_running", 0) + gauge("num_requests_waiting", this.waiting) };
    }
    if (path === "/v1/models")
      return json({ object: "list", data: [{ id: this.model, object: "model", created: 1, owned_by: "vllm", root: this.model, parent: null, max_model_len: 8192, permission: [] }] });
    if (method !== "POST") return json({ detail: "Not Found" }, { status: 404 });
    if (received.model !== this.model)
      return json({ error: { message: `The model \`${received.model}\` does not exist.`, type: "NotFoundError", param: "model", code: 404 } }, { status: 404 });
    if (received.max_tokens > 8192)
      return json({ object: "error", message: "This model's maximum context length is 8192 tokens.", type: "BadRequestError", param: null, code: 400 }, { status: 400 });
    return this.complete(received);
  }

  complete(received) {
    const usage = { prompt_tokens: 11, total_tokens: 14, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } };
    const all = (object, choices, more = {}) => ({ id: "chatcmpl-1", object, created: 1, model: this.model, choices, ...more });
    const transfer = received.kv_transfer_params ? { kv_transfer_params: { remote_engine_id: this.name, ...received.kv_transfer_params } } : {};
    if (!received.stream) {
      const message = { role: "assistant", content: kWords.join(""), refusal: null, annotations: null, reasoning_content: "Hm.", tool_calls: [] };
      const choice = { index: 0, message, logprobs: null, finish_reason: "stop", stop_reason: null, token_ids: null };
      return json(all("chat.completion", [choice], { service_tier: null, usage, prompt_logprobs: null, ...transfer }));
    }
    const chunk = (delta, reason = null, more = {}) =>
      event(all("chat.completion.chunk", [{ index: 0, delta, logprobs: null, finish_reason: reason, ...(reason && { stop_reason: null }) }], more));
    const counts = received.stream_options?.continuous_usage_stats ? { usage } : {};
    const events = [chunk({ role: "assistant", content: "" }), chunk({ reasoning_content: "Hm." }, null, counts)];
    events.push(...kWords.map((content) => chunk({ content }, null, counts)), chunk({ content: "" }, "stop", transfer));
    if (received.stream_options?.include_usage) events.push(event(all("chat.completion.chunk", [], { usage })));
    return { events: [...events, kDone], headers: { "x-engine": this.name } };
  }
}

/// llama.cpp's server: it loads its model first, its last chunk contains usage and timings with a choice, and comments
/// keep a connection open.
export class LlamaCpp extends Serving {
  constructor(name) {
    super();
    this.name = name;
  }

  answer(method, { path, received }) {
    const loading = { error: { code: 503, message: "Loading model", type: "unavailable_error" } };
    if (!this.healthy) return json(loading, { status: 503 });
    if (path === "/health") return json({ status: "ok" });
    if (path === "/v1/models") {
      const meta = { vocab_type: 1, n_vocab: 32000, n_ctx_train: 4096, n_embd: 4096, n_params: 6738415616, size: 3825065984 };
      return json({ models: [{ name: "m.gguf" }], object: "list", data: [{ id: "m.gguf", object: "model", created: 1, owned_by: "llamacpp", meta }] });
    }
    if (method !== "POST") return json({ error: { code: 404, message: "File Not Found", type: "not_found_error" } }, { status: 404 });
    const timings = { cache_n: 3, prompt_n: 4, prompt_ms: 1.5, prompt_per_second: 2666.67, predicted_n: 3, predicted_ms: 30.25, predicted_per_second: 99.17 };
    const usage = { completion_tokens: 3, prompt_tokens: 7, total_tokens: 10, prompt_tokens_details: { cached_tokens: 3 } };
    const all = (object, choices, more) => ({ choices, created: 1, id: "chatcmpl-x", model: "m.gguf", system_fingerprint: `b1-${this.name}`, object, ...more });
    if (!received.stream) {
      const choice = { finish_reason: "stop", index: 0, message: { role: "assistant", content: kWords.join("") } };
      return json(all("chat.completion", [choice], { usage, timings }));
    }
    const chunk = (delta, reason = null, more = {}) => event(all("chat.completion.chunk", [{ finish_reason: reason, index: 0, delta }], more));
    const progress = received.return_progress ? [chunk({ role: "assistant", content: null }, null, { prompt_progress: { total: 7, cache: 3, processed: 7, time_ms: 2 } })] : [];
    const comment = ": ping - 2026-01-01\n\n";
    const words = kWords.flatMap((content) => [chunk({ content }, null, received.timings_per_token ? { timings } : {}), comment]);
    return { events: [comment, ...progress, chunk({ role: "assistant", content: null }), ...words, chunk({}, "stop", { usage, timings }), kDone] };
  }
}

/// The Production Stack's request router with three engines. `session` routes by a header or member; `prefix` routes by
/// pieces of 128 characters of the text of all messages.
export class ProductionStack extends Serving {
  constructor(models, policy, sessionKey = "x-user-id") {
    super();
    Object.assign(this, { models, policy, sessionKey, prefixes: new Map() });
    this.engines = ["engine-0", "engine-1", "engine-2"].map((name) => new Vllm("", name));
  }

  answer(method, { path, headers, received }) {
    if (path === "/health") return json({ status: "healthy" });
    if (method !== "POST") return json({}, { status: 404 });
    if (!this.models.includes(received.model))
      return json({ error: `Model '${received.model}' not found. Available models can be listed at /v1/models.` }, { status: 404 });
    const engine = this.policy === "session" ? this.#bySession(headers, received) : this.#byPrefix(received);
    this.calls.at(-1).engine = engine.name;
    engine.model = received.model;
    return engine.complete(received);
  }

  #bySession(headers, received) {
    const session = headers[this.sessionKey] ?? received[this.sessionKey];
    if (session === undefined) return this.engines[this.calls.length % this.engines.length];
    const sum = [...session].reduce((all, letter) => (all * 31 + letter.codePointAt(0)) >>> 0, 7);
    return this.engines[sum % this.engines.length];
  }

  #byPrefix({ messages }) {
    const texts = messages.map(({ content }) => (Array.isArray(content) ? content.map(({ text }) => text ?? "").join(" ") : content));
    const prompt = texts.filter((text) => text !== null && text !== undefined).join("\n");
    const pieces = Array.from({ length: Math.ceil(prompt.length / 128) }, (_, i) => prompt.slice(0, 128 * (i + 1)));
    let engine;
    for (const piece of pieces) engine = this.prefixes.get(piece) ?? engine;
    engine ??= this.engines[this.calls.length % this.engines.length];
    for (const piece of pieces) if (!this.prefixes.has(piece)) this.prefixes.set(piece, engine);
    return engine;
  }
}

/// Dynamo's frontend: nvext and headers select the worker, give hints and request extra fields; annotations arrive as
/// named events.
export class Dynamo extends Serving {
  constructor(models) {
    super();
    this.models = models;
  }

  answer(method, { path, headers, received }) {
    if (path === "/health") return json({ status: "healthy", endpoints: [], instances: [] });
    if (method !== "POST") return json({}, { status: 404 });
    if (!this.models.includes(received.model)) return json({ message: "Model not found", type: "Not Found", code: 404 }, { status: 404 });
    const worker = Number(headers["x-worker-instance-id"] ?? received.nvext?.decode_worker_id ?? 0);
    const wanted = received.nvext?.extra_fields ?? [];
    const extras = {};
    if (wanted.includes("worker_id")) extras.worker_id = { decode_worker_id: worker, decode_dp_rank: 0 };
    if (wanted.includes("timing")) extras.timing = { ttft_ms: 45.2, itl_ms: 12.1 };
    const nvext = wanted.length ? { nvext: extras } : {};
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    const all = (object, choices, more = {}) => ({ id: "chatcmpl-d", object, created: 1, model: received.model, choices, ...more });
    if (!received.stream) {
      const choice = { index: 0, message: { role: "assistant", content: kWords.join("") }, finish_reason: "stop" };
      return json(all("chat.completion", [choice], { usage, ...nvext }));
    }
    const chunk = (delta, reason = null, more = {}) => event(all("chat.completion.chunk", [{ index: 0, delta, finish_reason: reason }], more));
    const notes = (received.nvext?.annotations ?? []).map((name) => `event: ${name}\n: "${name} of ${worker}"\n\n`);
    const words = kWords.map((content) => chunk({ role: "assistant", content }));
    return { events: [...notes, ...words, chunk({}, "stop", nvext), event(all("chat.completion.chunk", [], { usage })), kDone] };
  }
}
