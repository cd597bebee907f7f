// Tests answers that are a text with an image, with the official clients. Servers play the chat models and the image
// server; "gone" stands for one that does not listen.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kUrl = "https://images.example/1.png";
const kImage = { type: "image_url", image_url: { url: kUrl } };
const kText = { type: "text", text: "A ship floats." };
const kMarkdown = `${kText.text}\n\n![image](${kUrl})`;
const kContext = "The Harbour Bridge was opened in 1932. Its main span is 503 m long.";
let images, model, daemon, openai, anthropic;

// The decision of a word; its image server may not listen.
const decision = (name, { models = ["painter", "writer"], more = "", port = images.port, seconds = 60 } = {}) => `
    - name: ${name}
      priority: 20
      rules: {operator: AND, conditions: [{type: modality, name: BOTH}, {type: keyword, name: ${name}}]}
      modelRefs: [${models.map((each) => `{model: ${each}}`).join(", ")}]
      plugins:
        - {type: image_gen, configuration: {backend: openai, timeout_seconds: ${seconds}, backend_config: {base_url: "http://127.0.0.1:${port}/v1", api_key: k}}}${more}`;

const kWords = ["plain", "solo", "masks", "strict", "imageless", "wordless", "nothing", "slow", "claude", "talk", "panel", "spare", "deputy"];
const price = (prompt, completion) => `pricing: {prompt_per_1m: ${prompt}, completion_per_1m: ${completion}}`;

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: writer}
  models:
    - {name: writer, ${price(10, 100)}, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: alone, ${price(10, 100)}, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: frail, reliability: {fallback_models: [weak]}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
    - {name: weak, reliability: {fallback_models: [writer]}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
    - {name: gone, backend_refs: [{endpoint: "127.0.0.1:9"}]}
    - {name: painter, ${price(1000, 10000)}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
routing:
  modelCards: [{name: painter, modality: diffusion}]
  signals:
    modality: [{name: BOTH}]
    keywords: ${JSON.stringify(kWords.map((name) => ({ name, keywords: [name] })))}
  decisions:${[
    decision("plain"),
    decision("solo", { models: ["alone"] }),
    decision("masks", { more: "\n        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}" }),
    decision("strict", { more: "\n        - {type: hallucination, configuration: {hallucination_action: block}}" }),
    decision("imageless", { port: 9 }),
    decision("wordless", { models: ["gone", "painter"] }),
    decision("nothing", { models: ["gone", "painter"], port: 9 }),
    decision("slow", { seconds: 1 }),
    decision("claude", { models: ["claude", "painter"] }),
    decision("talk", { models: ["writer", "alone", "painter"] }),
    decision("spare", { models: ["gone", "frail", "painter"] }),
    decision("deputy", { models: ["frail", "painter"] }),
    decision("panel", { models: ["writer", "alone", "painter"], more: "\n      algorithm: {type: ratings, ratings: {}}" }),
  ].join("")}
global:
  router: {learning: {enabled: true, adaptation: {strategy: routing_sampling}}}
  spending: {}
  integrations: {looper: {headers: {x-loop: own}}}
  model_catalog:
    modules:
      modality_detector: {enabled: true, method: keyword, keywords: [draw], both_keywords: [and explain], prompt_prefixes: [Draw]}
  services:
    router_replay: {enabled: true}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

before(async () => {
  images = await ScriptedUpstream.start();
  model = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration);
  openai = new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: "k", maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: daemon.url, apiKey: "k", maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  await images?.stop();
  await model?.stop();
});

beforeEach(() => {
  images.received = model.received = undefined;
  images.answer = () => ({ body: { created: 1, data: [{ url: kUrl }], usage: { input_tokens: 12, output_tokens: 1000 } } });
  model.answer = () => completion({ role: "assistant", content: kText.text });
});

const ask = async (word, more = {}) => {
  const { data, response } = await openai.chat.completions
    .create({ model: "auto", messages: [{ role: "user", content: `Draw a ${word} ship and explain it` }], ...more })
    .withResponse();
  return { data, content: data.choices[0].message.content, headers: response.headers };
};

// A guard checks the reply by the context.
const bridge = [
  { role: "system", content: kContext },
  { role: "user", content: "How long is the bridge? Draw it and explain it, strict" },
];
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

describe("a text with an image", () => {
  test("is one answer of two servers, which are called at the same time and without tools", async () => {
    // Neither server answers before both have received a request.
    let both;
    const arrived = new Promise((done) => (both = done));
    const wait = (answer) => async () => {
      if (images.received && model.received) both();
      await arrived;
      return answer();
    };
    images.answer = wait(images.answer);
    model.answer = wait(model.answer);
    const { data, content, headers } = await ask("plain", { tools, tool_choice: "auto", n: 2, temperature: 0.5 });
    assert.deepEqual(content, [kText, kImage]);
    assert.equal(data.choices.length, 1);
    assert.equal(data.choices[0].finish_reason, "stop");
    assert.deepEqual(data.usage, { prompt_tokens: 19, completion_tokens: 1003, total_tokens: 1022 });
    assert.deepEqual(images.received, { model: "gpt-image-1", prompt: "a plain ship and explain it", n: 1, size: "1024x1024" });
    assert.deepEqual(model.received, { model: "writer", messages: [{ role: "user", content: "Draw a plain ship and explain it" }], temperature: 0.5 });
    assert.deepEqual([model.headers["x-loop"], images.headers["x-loop"]], ["own", undefined]);
    assert.equal(headers.get("x-vsr-selected-modality"), "BOTH");
    assert.equal(headers.get("x-vsr-selected-model"), "writer");
    assert.equal(headers.get("x-vsr-response-path"), "looper");
    assert.equal(headers.get("x-vsr-looper-algorithm"), "image_gen");
    assert.equal(headers.get("x-vsr-looper-models-used"), "writer,painter");
    assert.equal(headers.get("x-vsr-looper-models-failed"), null);
  });

  test("is Markdown for streams and for clients of other APIs", async () => {
    let text = "", usage;
    const stream = await openai.chat.completions.create({
      model: "auto",
      messages: [{ role: "user", content: "Draw a plain ship and explain it" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, kMarkdown);
    assert.equal(usage.total_tokens, 1022);
    assert.equal(model.received.stream, undefined);
    const request = { model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Draw a plain ship and explain it" }] };
    const message = await anthropic.messages.create(request);
    assert.deepEqual(message.content, [{ type: "text", text: kMarkdown }]);
    assert.equal(message.usage.output_tokens, 1003);
    assert.equal(await anthropic.messages.stream(request).finalText(), kMarkdown);
    const response = await openai.responses.create({ model: "auto", input: "Draw a plain ship and explain it" });
    assert.equal(response.output_text, kMarkdown);
    const answer = await fetch(`${daemon.url}/v1/completions`, { method: "POST", body: JSON.stringify({ model: "auto", prompt: "Draw a plain ship and explain it" }) });
    assert.equal(answer.status, 501);
    assert.match((await answer.json()).error.message, /calls an image server, and the answers of this API have no place for an image/);
  });

  test("may come from one model, and from a server of another API", async () => {
    const solo = await ask("solo");
    assert.deepEqual(solo.content, [kText, kImage]);
    assert.equal(solo.headers.get("x-vsr-selected-model"), "alone");
    const usage = { input_tokens: 5, output_tokens: 4 };
    model.answer = () => ({ body: { id: "m", type: "message", role: "assistant", model: "claude", content: [kText], stop_reason: "end_turn", usage } });
    const claude = await ask("claude");
    assert.equal(model.path, "/v1/messages");
    assert.deepEqual(claude.content, [kText, kImage]);
    assert.equal(claude.data.usage.total_tokens, 1021);
  });

  test("is an answer of one model where the algorithm would call several", async () => {
    const { data, content } = await ask("panel");
    assert.deepEqual(content, [kText, kImage]);
    assert.equal(data.choices.length, 1);
  });

  test("comes from the model that answered its conversation, although samples would try another", async () => {
    const one = async (id) => {
      const request = { model: "auto", messages: [{ role: "user", content: "Draw a talk ship and explain it" }] };
      const { response } = await openai.chat.completions.create(request, { headers: { "x-vsr-debug": "true", "x-conversation-id": id } }).withResponse();
      return [response.headers.get("x-vsr-selected-model"), response.headers.get("x-vsr-learning-seed")];
    };
    const tried = new Set();
    for (let i = 0; tried.size < 2; ++i) {
      const [name, seed] = await one(`talk ${i}`);
      assert.notEqual(seed, null);
      tried.add(name);
      assert.deepEqual(await one(`talk ${i}`), [name, null]);
    }
  });

  test("follows a conversation with calls of tools, whose results only the text model gets", async () => {
    const messages = [
      { role: "user", content: "Draw a plain ship and explain it" },
      { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "t", content: "It has three masts." },
    ];
    const { content } = await ask("plain", { messages, tools });
    assert.deepEqual(content, [kText, kImage]);
    assert.deepEqual(model.received.messages, messages);
    assert.equal(model.received.tools, undefined);
    assert.equal(images.received.prompt, "a plain ship and explain it");
  });

  test("has data URLs of megabytes", async () => {
    images.answer = () => ({ body: { data: [{ b64_json: "Q".repeat(5_000_000) }] } });
    const { content } = await ask("plain");
    assert.deepEqual(content, [kText, { type: "image_url", image_url: { url: `data:image/png;base64,${"Q".repeat(5_000_000)}` } }]);
  });

  test("hides personal data from both servers, and only the text gets it back", async () => {
    const mask = (text) => /\[EMAIL[^\]]*\]/.exec(text)[0];
    images.answer = (received) => ({ body: { data: [{ url: `https://images.example/?${mask(received.prompt)}` }] } });
    model.answer = (received) => completion({ role: "assistant", content: `For ${mask(received.messages[0].content)}.` });
    const { content } = await ask("masks", { messages: [{ role: "user", content: "masks: draw it for ada@example.org and explain" }] });
    assert.doesNotMatch(images.body + model.body, /ada@example/);
    assert.equal(content[0].text, "For ada@example.org.");
    assert.match(content[1].image_url.url, /EMAIL/);
  });

  test("is withheld if a guard withholds the text, also from a stream", async () => {
    model.answer = () => completion({ role: "assistant", content: "The bridge is 640 m long." });
    const messages = bridge;
    for (const stream of [false, true]) {
      await assert.rejects(openai.chat.completions.create({ model: "auto", messages, stream }), (error) => error.status === 403 && error.code === "response_blocked");
    }
    model.answer = () => completion({ role: "assistant", content: "The bridge is 503 m long." });
    const { content } = await ask("strict", { messages });
    assert.deepEqual(content, [{ type: "text", text: "The bridge is 503 m long." }, kImage]);
  });
});

describe("an answer with a failed part", () => {
  test("is the text, if no image comes", async () => {
    const { content, headers } = await ask("imageless");
    assert.deepEqual(content, [kText]);
    assert.equal(headers.get("x-vsr-looper-models-used"), "writer");
    assert.equal(headers.get("x-vsr-looper-models-failed"), "painter");
    for (const answer of [{ status: 500, body: {} }, { status: 302, headers: { location: "/x" }, body: {} }, { body: { data: [] } }, { body: "no JSON" }]) {
      images.answer = () => answer;
      assert.deepEqual((await ask("plain")).content, [kText]);
    }
    let text = "";
    const messages = [{ role: "user", content: "Draw a imageless ship and explain it" }];
    for await (const chunk of await openai.chat.completions.create({ model: "auto", messages, stream: true })) text += chunk.choices[0]?.delta.content ?? "";
    assert.equal(text, kText.text);
  });

  test("is the text, if the image is slow", async () => {
    images.answer = () => new Promise(() => {});
    const { content, headers } = await ask("slow");
    assert.deepEqual(content, [kText]);
    assert.equal(headers.get("x-vsr-looper-models-failed"), "painter");
    await images.closed;
  });

  test("is the text, if the time of the request is over", async () => {
    const hasty = await Daemon.start((...ports) => configuration(...ports).replace("timeout: 60s", "timeout: 3s"));
    images.answer = () => new Promise(() => {});
    const client = new OpenAI({ baseURL: `${hasty.url}/v1`, apiKey: "k", maxRetries: 0 });
    const { data, response } = await client.chat.completions
      .create({ model: "auto", messages: [{ role: "user", content: "Draw a plain ship and explain it" }] })
      .withResponse();
    assert.deepEqual(data.choices[0].message.content, [kText]);
    assert.equal(response.headers.get("x-vsr-looper-used-up"), "time");

    // A long text is joined and translated on a pool, and a guard computes, after the time is over.
    const long = "word ".repeat(20_000);
    model.answer = () => completion({ role: "assistant", content: long });
    const messages = [{ role: "user", content: "Draw a plain ship and explain it" }];
    const [whole, message] = await Promise.all([
      client.chat.completions.create({ model: "auto", messages }),
      new Anthropic({ baseURL: hasty.url, apiKey: "k", maxRetries: 0 }).messages.create({ model: "auto", max_tokens: 9, messages }),
    ]);
    assert.deepEqual(whole.choices[0].message.content, [{ type: "text", text: long }]);
    assert.deepEqual(message.content, [{ type: "text", text: long }]);
    model.answer = () => completion({ role: "assistant", content: "The bridge is 640 m long." });
    await assert.rejects(client.chat.completions.create({ model: "auto", messages: bridge }), (error) => error.status === 403 && error.code === "response_blocked");
    model.answer = images.answer;
    await assert.rejects(client.chat.completions.create({ model: "auto", messages }), (error) => error.status === 504 && /neither the text nor the image came/.test(error.message));
    await hasty.stop();
  });

  test("is the image, if no text comes", async () => {
    const { data, content, headers } = await ask("wordless");
    assert.deepEqual(content, [kImage]);
    assert.equal(data.model, "painter");
    assert.equal(data.usage.total_tokens, 1012);
    assert.equal(headers.get("x-vsr-looper-models-failed"), "gone");
    assert.equal(headers.get("x-vsr-selected-model"), "painter");
    model.answer = () => ({ status: 500, body: {} });
    const message = await anthropic.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "Draw a plain ship and explain it" }] });
    assert.deepEqual(message.content, [{ type: "text", text: `![image](${kUrl})` }]);
  });

  test("has the text of the next model, if one fails, and of its fallbacks and theirs", async () => {
    const { content, headers } = await ask("spare"); // adaptation chooses which of both is first
    assert.deepEqual(content, [kText, kImage]);
    assert.equal(model.received.model, "writer");
    assert.equal(headers.get("x-vsr-selected-model"), "writer");
    assert.equal(headers.get("x-vsr-looper-models-used"), "painter,writer");
    assert.deepEqual(headers.get("x-vsr-looper-models-failed").split(",").sort(), ["frail", "gone", "weak"]);
    const other = await ask("deputy");
    assert.deepEqual(other.content, [kText, kImage]);
    assert.equal(model.received.model, "writer");
    assert.equal(other.headers.get("x-vsr-looper-models-failed"), "frail,weak");
  });

  test("is the image, if the server refuses the request, as it would at the next model", async () => {
    let attempts = 0;
    model.answer = () => ((attempts += 1), { status: 400, body: { error: { message: "too long" } } });
    const { content, headers } = await ask("talk");
    assert.deepEqual(content, [kImage]);
    assert.equal(attempts, 1);
    assert.match(headers.get("x-vsr-looper-models-failed"), /^(writer|alone)$/);
  });

  test("is the image, if the text is blank", async () => {
    model.answer = () => completion({ role: "assistant", content: null });
    assert.deepEqual((await ask("plain")).content, [kImage]);
  });

  test("is an error, if both fail", async () => {
    await assert.rejects(ask("nothing"), (error) => error.status === 502 && /neither the text nor the image came/.test(error.message));
    images.answer = model.answer = () => ({ status: 503, body: {} });
    await assert.rejects(ask("plain"), (error) => error.status === 502 && /the text: its server answered 503; the image: its server answered 503/.test(error.message));
  });

  test("is the text, if the limit of the image's model is reached, and an error, if both limits are", async () => {
    const rule = (name, requests) => `{name: ${name}, match: {model: ${name}}, requests_per_unit: ${requests}, unit: hour}`;
    const limits = `services:\n    ratelimit: {providers: [{type: local-limiter, rules: [${rule("painter", 1)}, ${rule("writer", 2)}]}]}`;
    const limited = await Daemon.start((...ports) => configuration(...ports).replace("services:", limits));
    const client = new OpenAI({ baseURL: `${limited.url}/v1`, apiKey: "k", maxRetries: 0 });
    const one = async () => (await client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Draw a plain ship and explain it" }] })).choices[0].message.content;
    assert.deepEqual(await one(), [kText, kImage]);
    assert.deepEqual(await one(), [kText]);
    await assert.rejects(one(), (error) => error.status === 429 && /the text: a rate limit is reached; the image: a rate limit is reached/.test(error.message));
    await limited.stop();
  });

  test("is an error, if the client's key may use only one of both models", async () => {
    const key = "sb-key-of-a-client";
    const hash = createHash("sha256").update(key).digest("hex");
    const keyed = await Daemon.start((...ports) =>
      configuration(...ports).replace("  spending: {}", `  spending: {}\n  access: {keys: [{name: narrow, hash: "sha256:${hash}", models: [writer]}]}`));
    const client = new OpenAI({ baseURL: `${keyed.url}/v1`, apiKey: key, maxRetries: 0 });
    const refused = client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Draw a plain ship and explain it" }] });
    await assert.rejects(refused, (error) => error.status === 403 && error.code === "model_not_allowed");
    assert.deepEqual([model.received, images.received], [undefined, undefined]);
    await keyed.stop();
  });

  test("ends both calls if the client goes away", async () => {
    const aborter = new AbortController();
    let closed;
    images.answer = () => ((closed = images.closed), new Promise(() => {}));
    model.answer = () => new Promise(() => until(() => closed !== undefined).then(() => aborter.abort()));
    await assert.rejects(openai.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "Draw a plain ship and explain it" }] }, { signal: aborter.signal }));
    await closed;
    await model.closed;
  });
});

describe("the accounts of a text with an image", () => {
  const json = async (path) => (await fetch(`${daemon.managementUrl}${path}`)).json();

  test("have the tokens and the money of both in the record of the request", async () => {
    const id = (await ask("plain")).headers.get("x-vsr-replay-id");
    const record = await until(async () => {
      const answer = await fetch(`${daemon.managementUrl}/v1/router_replay/${id}`);
      return answer.status === 200 && (await answer.json());
    });
    assert.deepEqual(record.calls.map(({ model: name, purpose }) => [name, purpose]), [["writer", "answer"], ["painter", "draw"]]);
    // 7 and 3 tokens of the writer, 12 and 1000 of the painter
    const cost = (7 * 10 + 3 * 100 + 12 * 1000 + 1000 * 10_000) / 1e6;
    assert.ok(Math.abs(record.cost - cost) < 1e-9, JSON.stringify(record));
  });

  test("have an estimate if the image server reports no tokens", async () => {
    images.answer = () => ({ body: { data: [{ url: kUrl }] } });
    const id = (await ask("plain")).headers.get("x-vsr-replay-id");
    const record = await until(async () => {
      const answer = await fetch(`${daemon.managementUrl}/v1/router_replay/${id}`);
      return answer.status === 200 && (await answer.json());
    });
    const [, image] = record.calls;
    assert.ok(image.prompt_tokens > 0 && image.completion_tokens === 0, JSON.stringify(record.calls));
    const cost = (7 * 10 + 3 * 100 + image.prompt_tokens * 1000) / 1e6;
    assert.ok(Math.abs(record.cost - cost) < 1e-9, JSON.stringify(record));
  });

  test("have the metrics of each model", async () => {
    const text = await until(async () => {
      const all = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
      return /signalbox_looper_calls_total\{model="painter",purpose="draw",outcome="ok"\} [1-9]/.test(all) && all;
    });
    assert.match(text, /signalbox_looper_calls_total\{model="writer",purpose="answer",outcome="ok"\} [1-9]/);
    assert.match(text, /signalbox_looper_requests_total\{decision="panel",algorithm="image_gen",used_up="none"\} 1\n/);
    assert.ok((await json("/api/v1/spending?by=model")).lines.length > 0);
  });
});
