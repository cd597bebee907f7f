// Tests answers that are images, with servers that play the image server and the model. Their replies follow the
// documentation of OpenAI's images API and of vLLM-Omni.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kUrl = "https://images.example/1.png";
let images, others, model, daemon, openai, anthropic;

const image_gen = (backend, more = "", port = images.port, seconds = 60) => `
        - type: image_gen
          configuration:
            backend: ${backend}
            default_width: 512
            timeout_seconds: ${seconds}
            max_inference_steps: 28
            backend_config: {base_url: "http://127.0.0.1:${port}/v1"${more}}`;

const decision = (name, word, plugins, type = "keyword", models = "[{model: writer}, {model: painter}]") => `
    - name: ${name}
      priority: 10
      rules: {type: ${type}, name: ${word}}
      modelRefs: ${models}
      plugins:${plugins}`;

// Both stand in one line, as in a file that a program writes.
const recipe = (name, port) =>
  `{name: ${name}, routing: {decisions: [{name: d, modelRefs: [{model: painter}], plugins: [{type: image_gen, configuration: {backend: openai, backend_config: {base_url: "http://127.0.0.1:${port}", api_key: key-of-${name}}}}]}]}}`;

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 300s}]
providers:
  defaults: {default_model: writer}
  models:
    - {name: writer, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: claude, api_format: anthropic, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: artist, pricing: {prompt_per_1m: 1, completion_per_1m: 2}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
    - {name: painter, pricing: {prompt_per_1m: 1, completion_per_1m: 2}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
routing:
  modelCards: [{name: painter, modality: diffusion}, {name: claude, modality: text}]
  signals:
    modality: [{name: DIFFUSION}, {name: BOTH}, {name: AR}]
    keywords: ${JSON.stringify(["omni", "plain", "masks", "gone", "claude", "keyless", "either", "estimate", "slow"].map((name) => ({ name, keywords: [name] })))}
  decisions:${[
    decision("painting", "DIFFUSION", image_gen("openai", ", api_key: secret-of-images, model: brush, quality: hd, style: vivid"), "modality"),
    decision("both", "BOTH", image_gen("openai", ", api_key: k"), "modality"),
    decision("omni", "omni", image_gen("vllm_omni", ", model: Qwen/Qwen-Image, num_inference_steps: 60, cfg_scale: 4.5, seed: 42")),
    decision("plain", "plain", image_gen("openai", ", api_key: k")),
    decision("masks", "masks", `${image_gen("openai", ", api_key: k")}\n        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}`),
    decision("claude", "claude", `${image_gen("openai", ", api_key: k")}\n        - {type: header_mutation, configuration: {add: [{name: x-studio, value: north}]}}`, "keyword", "[{model: claude}]"),
    decision("keyless", "keyless", image_gen("openai", ", model: own")),
    decision("estimate", "estimate", image_gen("openai", ", api_key: k"), "keyword", "[{model: artist}]"),
    decision("either", "either", image_gen("openai", ", api_key: k"), "keyword", "[{model: painter}, {model: writer}]").replace(
      "{type: keyword, name: either}",
      "{operator: AND, conditions: [{type: keyword, name: either}, {operator: OR, conditions: [{type: modality, name: AR}, {type: modality, name: DIFFUSION}]}]}",
    ).replace("priority: 10", "priority: 20"),
    decision("slow", "slow", image_gen("openai", ", api_key: k", images.port, 1)),
    decision("gone", "gone", image_gen("openai", ", api_key: k", 9), "keyword", "[{model: painter}]"),
  ].join("")}
entrypoints: [{model_names: [left], recipe: left}, {model_names: [right], recipe: right}]
recipes: [${recipe("left", images.port)}, ${recipe("right", others.port)}]
global:
  spending: {}
  model_catalog:
    modules:
      modality_detector: {enabled: true, method: keyword, keywords: [draw, paint], both_keywords: [and explain], prompt_prefixes: [Draw an image of]}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

before(async () => {
  images = await ScriptedUpstream.start();
  others = await ScriptedUpstream.start();
  model = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration);
  openai = new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: "k", maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: daemon.url, apiKey: "k", maxRetries: 0 });
});

after(async () => {
  await daemon?.stop();
  await images?.stop();
  await others?.stop();
  await model?.stop();
});

beforeEach(() => {
  images.received = others.received = model.received = undefined;
  images.answer = others.answer = () => ({ body: { created: 1, data: [{ url: kUrl }], usage: { input_tokens: 12, output_tokens: 1000 } } });
  model.answer = () => completion({ content: "A text." });
});

const ask = async (content, more = {}) => {
  const { data, response } = await openai.chat.completions
    .create({ model: "auto", messages: [{ role: "user", content }], ...more })
    .withResponse();
  return { data, headers: response.headers };
};

describe("images as answers", () => {
  test("OpenAI's server gets the user's last message, and its image is the answer", async () => {
    const { data, headers } = await ask("Draw an image of a ship");
    assert.equal(images.path, "/v1/images/generations");
    assert.deepEqual(images.received, { model: "brush", prompt: "a ship", n: 1, size: "512x1024", quality: "hd", style: "vivid" });
    assert.equal(images.headers.authorization, "Bearer secret-of-images");
    assert.equal(model.received, undefined);
    const [choice] = data.choices;
    assert.deepEqual(choice.message.content, [{ type: "image_url", image_url: { url: kUrl } }]);
    assert.deepEqual([choice.finish_reason, data.object, data.model], ["stop", "chat.completion", "painter"]);
    assert.deepEqual(data.usage, { prompt_tokens: 12, completion_tokens: 1000, total_tokens: 1012 });
    assert.equal(headers.get("x-vsr-selected-model"), "painter");
    assert.equal(headers.get("x-vsr-selected-decision"), "painting");
    assert.equal(headers.get("x-vsr-selected-modality"), "DIFFUSION");
  });

  test("an image without a URL becomes a data URL", async () => {
    images.answer = () => ({ body: { output_format: "webp", data: [{ b64_json: "QUJD" }] } });
    const { data } = await ask("paint a ship");
    assert.equal(data.choices[0].message.content[0].image_url.url, "data:image/webp;base64,QUJD");
    assert.equal(data.usage, undefined);
    images.answer = () => ({ body: { data: [{ b64_json: "Q".repeat(5_000_000) }] } });
    const large = await ask("paint a large ship");
    assert.equal(large.data.choices[0].message.content[0].image_url.url, `data:image/png;base64,${"Q".repeat(5_000_000)}`);
  });

  test("a stream and clients of other APIs get the image as Markdown", async () => {
    const markdown = `![image](${kUrl})`;
    let text = "", usage;
    const stream = await openai.chat.completions.create({
      model: "auto",
      messages: [{ role: "user", content: "paint a ship" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, markdown);
    assert.equal(usage.completion_tokens, 1000);
    const message = await anthropic.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "paint a ship" }] });
    assert.deepEqual(message.content, [{ type: "text", text: markdown }]);
    assert.equal(message.usage.output_tokens, 1000);
    const response = await openai.responses.create({ model: "auto", input: "paint a ship" });
    assert.equal(response.output_text, markdown);
    const events = [];
    for await (const event of await openai.responses.create({ model: "auto", input: "paint a ship", stream: true })) events.push(event);
    assert.equal(events.at(-1).response.output_text ?? events.at(-1).response.output[0].content[0].text, markdown);
  });

  // One event of a translated stream has at most 16 MiB. OpenAI's client needs minutes for an event of this size, and a
  // stream of responses ends with some.
  test("a translated stream carries an image that is larger than one event may be", async () => {
    const image = "Q".repeat(17_000_000), said = "paint a large ship", messages = [{ role: "user", content: said }];
    images.answer = () => ({ body: { data: [{ b64_json: image }] } });
    const apis = {
      messages: { request: { messages, max_tokens: 9 }, piece: (event) => event.delta?.text },
      responses: { request: { input: said }, piece: (event) => event.type === "response.output_text.delta" && event.delta },
    };
    for (const [api, { request, piece }] of Object.entries(apis)) {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${daemon.url}/v1/${api}`, { method: "POST", headers, body: JSON.stringify({ model: "auto", stream: true, ...request }) });
      const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("data: {"));
      const text = lines.map((line) => piece(JSON.parse(line.slice(6))) || "").join("");
      assert.ok(text === `![image](data:image/png;base64,${image})`, `${api}: ${text.length} characters`);
    }
  });

  test("vLLM-Omni gets a chat with its own parameters", async () => {
    images.answer = () => completion({ content: [{ type: "text", text: "x" }, { type: "image_url", image_url: { url: kUrl } }] });
    const { data } = await ask("a ship for omni");
    assert.equal(images.path, "/v1/chat/completions");
    assert.deepEqual(images.received, {
      model: "Qwen/Qwen-Image",
      messages: [{ role: "user", content: "a ship for omni" }],
      extra_body: { width: 512, height: 1024, num_inference_steps: 28, true_cfg_scale: 4.5, seed: 42 },
    });
    assert.equal(data.choices[0].message.content[0].image_url.url, kUrl);
    assert.equal(data.usage.total_tokens, 10);
  });

  test("requests for a text get one, and requests for both get both", async () => {
    const { data } = await ask("Write about ships");
    assert.equal(data.choices[0].message.content, "A text.");
    assert.equal(images.received, undefined);
    const both = await ask("draw a ship and explain it");
    assert.deepEqual(both.data.choices[0].message.content, [
      { type: "text", text: "A text." },
      { type: "image_url", image_url: { url: kUrl } },
    ]);
  });

  test("without a signal for the modality the decision alone counts, and OpenAI's model is the default", async () => {
    const { data } = await ask("plain ship");
    assert.equal(data.choices[0].message.content[0].image_url.url, kUrl);
    assert.deepEqual(images.received, { model: "gpt-image-1", prompt: "plain ship", n: 1, size: "512x1024" });
  });

  test("the image server gets no personal data that the decision masks", async () => {
    await ask("masks: a ship for ada@example.org");
    assert.doesNotMatch(images.body, /ada@example/);
    assert.match(images.received.prompt, /a ship for \[EMAIL/);
  });

  test("failures of the image server are errors, never a text of the model", async () => {
    images.answer = () => ({ status: 400, body: { error: { message: "not allowed", type: "invalid_request_error" } } });
    await assert.rejects(ask("paint it"), (error) => error.status === 400 && /not allowed/.test(error.message));
    images.answer = () => ({ body: { data: [] } });
    await assert.rejects(ask("paint it"), (error) => error.status === 502 && /the image server's reply contains no image/.test(error.message));
    for (const url of ["javascript:alert(1)", 'https://a/"', "https://a/\\", "https://a/)b"]) {
      images.answer = () => ({ body: { data: [{ url }] } });
      await assert.rejects(ask("paint it"), (error) => error.status === 502 && /contains no URL/.test(error.message));
    }
    images.answer = () => ({ body: "no JSON" });
    await assert.rejects(ask("paint it"), (error) => error.status === 502);
    let release;
    images.answer = () => new Promise((done) => (release = () => done({ body: {} })));
    await assert.rejects(ask("slow: a ship"), (error) => error.status === 504 && /did not finish within 1000 ms/.test(error.message));
    release();
    images.answer = () => ({ headers: { "content-type": "application/json" }, events: ['{"data": ['], ends: new Promise(() => {}) });
    await assert.rejects(ask("slow: a ship"), (error) => error.status === 504 && /within 1000 ms/.test(error.message));
    await assert.rejects(ask("gone: a ship"), (error) => error.status === 502);
    assert.equal(model.received, undefined);
  });

  test("no request pays for two images", async () => {
    let calls = 0;
    images.answer = () => {
      ++calls;
      return { status: 503, headers: { "retry-after": "1" }, body: { error: { message: "busy" } } };
    };
    await assert.rejects(ask("plain ship"), (error) => error.status === 503);
    assert.equal(calls, 1);
    images.answer = () => ({ body: { data: [{ url: kUrl }] } });
    await ask("plain ship"); // its connection is kept
    calls = 0;
    images.answer = () => {
      ++calls;
      images.drop();
      return new Promise(() => {});
    };
    await assert.rejects(ask("plain ship"), (error) => error.status === 502);
    assert.equal(calls, 1);
    assert.equal(model.received, undefined);
  });

  test("neither a redirect nor a damaged reply nor a stream counts as an image", async () => {
    const fails = (pattern) => assert.rejects(ask("plain ship"), (error) => error.status === 502 && pattern.test(error.message));
    images.answer = () => ({ status: 302, headers: { location: `http://127.0.0.1:${model.port}/v1/x` }, body: {} });
    await fails(/it redirects to another address \(HTTP 302\)/);
    images.answer = () => ({ headers: { "content-encoding": "gzip" }, body: gzipSync(JSON.stringify({ data: [{ url: kUrl }] })).toString("latin1") });
    await fails(/the compressed reply/);
    images.answer = () => ({ events: [{ type: "image_generation.completed", b64_json: "QUJD" }] });
    await fails(/contains no image/);
    for (const body of [{ data: [7] }, { data: { url: kUrl } }, { data: [{ url: 7 }] }, { data: [{ b64_json: [] }] }, `${"[".repeat(100_000)}`]) {
      images.answer = () => ({ body });
      await fails(/contains no image/);
    }
    images.answer = () => ({ body: { data: [{ url: kUrl }], padding: "x".repeat(70_000_000) } });
    await fails(/longer than 67108864 bytes/);
    images.answer = () => ({ status: 201, body: { data: [{ url: kUrl }] } });
    assert.equal((await ask("plain ship")).data.choices[0].message.content[0].image_url.url, kUrl);
  });

  test("if the client goes away, the call to the image server ends", async () => {
    const aborter = new AbortController();
    images.answer = () => new Promise(() => aborter.abort());
    await assert.rejects(openai.chat.completions.create({ model: "auto", messages: [{ role: "user", content: "omni ship" }] }, { signal: aborter.signal }));
    await images.closed;
  });

  test("a conversation that has images may go on with another one", async () => {
    const { data } = await openai.chat.completions.create({
      model: "auto",
      messages: [
        { role: "user", content: [{ type: "text", text: "claude ship" }, { type: "image_url", image_url: { url: kUrl } }] },
        { role: "assistant", content: "Here." },
        { role: "user", content: "claude ship again" },
      ],
    }).withResponse();
    assert.equal(data.choices[0].message.content[0].image_url.url, kUrl);
    assert.equal(images.received.prompt, "claude ship again");
  });

  test("the model's own API has no effect on the image, and header_mutation has one", async () => {
    const { headers } = await ask("claude ship");
    assert.equal(images.headers["x-studio"], "north");
    assert.equal(headers.get("x-vsr-upstream-protocol"), null);
    const message = await anthropic.messages.create({ model: "auto", max_tokens: 9, messages: [{ role: "user", content: "claude ship" }] });
    assert.deepEqual(message.content, [{ type: "text", text: `![image](${kUrl})` }]);
  });

  test("a decision for texts and images has a model for each", async () => {
    const text = await ask("either of ships");
    assert.equal(text.data.choices[0].message.content, "A text.");
    assert.equal(text.headers.get("x-vsr-selected-model"), "writer");
    assert.equal(text.headers.get("x-vsr-failover-from"), null);
    const image = await ask("either paint ships");
    assert.equal(image.headers.get("x-vsr-selected-model"), "painter");
  });

  test("each recipe's decision calls its own image server with its own key", async () => {
    for (const [name, server, other] of [["left", images, others], ["right", others, images]]) {
      images.received = others.received = undefined;
      await ask("a ship", { model: name });
      assert.equal(server.headers.authorization, `Bearer key-of-${name}`);
      assert.equal(server.path, "/v1/images/generations");
      assert.equal(other.received, undefined);
    }
  });

  test("without a key, the client's own goes to the image server, as for other backends", async () => {
    const credentials = { authorization: "Bearer of-the-client", "x-api-key": "of-the-client" };
    const send = async (content) => {
      const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content }] });
      await (await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: credentials, body })).json();
      return [images.headers.authorization, images.headers["x-api-key"]];
    };
    assert.deepEqual(await send("keyless ship"), ["Bearer of-the-client", "of-the-client"]);
    assert.deepEqual(await send("masks: a ship"), ["Bearer k", undefined]);
    const shown = await (await fetch(`${daemon.managementUrl}/config/router`)).text();
    assert.doesNotMatch(shown, /secret-of-images|key-of-/);
    assert.doesNotMatch(daemon.log, /secret-of-images|key-of-/);
  });

  test("a masked text does not return in the image's URL", async () => {
    images.answer = (received) => ({ body: { data: [{ url: `https://images.example/?${/\[EMAIL[^\]]*\]/.exec(received.prompt)}` }] } });
    const { data } = await ask("masks: a ship for ada@example.org");
    assert.doesNotMatch(data.choices[0].message.content[0].image_url.url, /ada@/);
  });

  test("the bytes of an image do not count as tokens", async () => {
    images.answer = () => ({ body: { data: [{ b64_json: "Q".repeat(4_000_000) }] } });
    await ask("estimate ship");
    const spent = async () => {
      const { lines } = await (await fetch(`${daemon.managementUrl}/api/v1/spending?by=model`)).json();
      return lines.find((line) => line.model === "artist");
    };
    const { completion_tokens: tokens } = await until(spent);
    assert.equal(tokens, 0);
  });

  test("an API without a place for images is refused", async () => {
    const answer = await fetch(`${daemon.url}/v1/completions`, { method: "POST", body: JSON.stringify({ model: "auto", prompt: "paint a ship" }) });
    assert.equal(answer.status, 501);
    assert.match((await answer.json()).error.message, /calls an image server, and the answers of this API have no place for an image/);
  });

  test("tokens and cost count for the decision's model", async () => {
    const total = async () => {
      const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
      return Number(/^llm_model_completion_tokens_total\{.*model="painter".*\} (\d+)/m.exec(text)?.[1] ?? 0);
    };
    const before = await total();
    await ask("paint a ship");
    await until(async () => (await total()) >= before + 1000);
  });
});
