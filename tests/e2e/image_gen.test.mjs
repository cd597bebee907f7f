// Tests answers that are images, with servers that play the image server and the model. Their replies follow the
// documentation of OpenAI's images API and of vLLM-Omni.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kUrl = "https://images.example/1.png";
let images, model, daemon, openai, anthropic;

const image_gen = (backend, more = "", port = images.port) => `
        - type: image_gen
          configuration:
            backend: ${backend}
            default_width: 512
            timeout_seconds: 1
            max_inference_steps: 28
            backend_config: {base_url: "http://127.0.0.1:${port}/v1"${more}}`;

const decision = (name, word, plugins, type = "keyword", models = "[{model: writer}, {model: painter}]") => `
    - name: ${name}
      priority: 10
      rules: {type: ${type}, name: ${word}}
      modelRefs: ${models}
      plugins:${plugins}`;

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: writer}
  models:
    - {name: writer, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: painter, pricing: {prompt_per_1m: 1, completion_per_1m: 2}, backend_refs: [{endpoint: "127.0.0.1:9"}]}
routing:
  modelCards: [{name: painter, modality: diffusion}]
  signals:
    modality: [{name: DIFFUSION}, {name: BOTH}, {name: AR}]
    keywords: ${JSON.stringify(["omni", "plain", "masks", "gone"].map((name) => ({ name, keywords: [name] })))}
  decisions:${[
    decision("painting", "DIFFUSION", image_gen("openai", ", api_key: secret-of-images, model: brush, quality: hd, style: vivid"), "modality"),
    decision("both", "BOTH", image_gen("openai", ", api_key: k"), "modality"),
    decision("omni", "omni", image_gen("vllm_omni", ", model: Qwen/Qwen-Image, num_inference_steps: 60, cfg_scale: 4.5, seed: 42")),
    decision("plain", "plain", image_gen("openai", ", api_key: k")),
    decision("masks", "masks", `${image_gen("openai", ", api_key: k")}\n        - {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}`),
    decision("gone", "gone", image_gen("openai", ", api_key: k", 9), "keyword", "[{model: painter}]"),
  ].join("")}
global:
  model_catalog:
    modules:
      modality_detector: {enabled: true, method: keyword, keywords: [draw, paint], both_keywords: [and explain], prompt_prefixes: [Draw an image of]}
  services:
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
  images.asked = model.asked = undefined;
  images.answer = () => ({ body: { created: 1, data: [{ url: kUrl }], usage: { input_tokens: 12, output_tokens: 1000 } } });
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
    assert.deepEqual(images.asked, { model: "brush", prompt: "a ship", n: 1, size: "512x1024", quality: "hd", style: "vivid" });
    assert.equal(images.headers.authorization, "Bearer secret-of-images");
    assert.equal(model.asked, undefined);
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

  test("a stream and clients of other APIs get it as Markdown", async () => {
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

  test("vLLM-Omni gets a chat with its own parameters", async () => {
    images.answer = () => completion({ content: [{ type: "text", text: "x" }, { type: "image_url", image_url: { url: kUrl } }] });
    const { data } = await ask("a ship for omni");
    assert.equal(images.path, "/v1/chat/completions");
    assert.deepEqual(images.asked, {
      model: "Qwen/Qwen-Image",
      messages: [{ role: "user", content: "a ship for omni" }],
      extra_body: { width: 512, height: 1024, num_inference_steps: 28, true_cfg_scale: 4.5, seed: 42 },
    });
    assert.equal(data.choices[0].message.content[0].image_url.url, kUrl);
    assert.equal(data.usage.total_tokens, 10);
  });

  test("requests for a text get one, and requests for both are refused", async () => {
    const { data } = await ask("Write about ships");
    assert.equal(data.choices[0].message.content, "A text.");
    await assert.rejects(ask("draw a ship and explain it"), (error) => error.status === 501 && /"both": a text and an image/.test(error.message));
    assert.equal(images.asked, undefined);
  });

  test("without a signal for the modality the decision alone counts, and OpenAI's model is the default", async () => {
    const { data } = await ask("plain ship");
    assert.equal(data.choices[0].message.content[0].image_url.url, kUrl);
    assert.deepEqual(images.asked, { model: "gpt-image-1", prompt: "plain ship", n: 1, size: "512x1024" });
  });

  test("the image server gets no personal data that the decision masks", async () => {
    await ask("masks: a ship for ada@example.org");
    assert.doesNotMatch(images.body, /ada@example/);
    assert.match(images.asked.prompt, /a ship for \[EMAIL/);
  });

  test("failures of the image server are errors, never a text of the model", async () => {
    images.answer = () => ({ status: 400, body: { error: { message: "not allowed", type: "invalid_request_error" } } });
    await assert.rejects(ask("paint it"), (error) => error.status === 400 && /not allowed/.test(error.message));
    images.answer = () => ({ body: { data: [] } });
    await assert.rejects(ask("paint it"), (error) => error.status === 502 && /the image server's reply contains no image/.test(error.message));
    images.answer = () => ({ body: { data: [{ url: "javascript:alert(1)" }] } });
    await assert.rejects(ask("paint it"), (error) => error.status === 502 && /contains no URL/.test(error.message));
    images.answer = () => ({ body: "no JSON" });
    await assert.rejects(ask("paint it"), (error) => error.status === 502);
    let release;
    images.answer = () => new Promise((done) => (release = () => done({ body: {} })));
    await assert.rejects(ask("paint it"), (error) => error.status === 504 && /did not finish within 1000 ms/.test(error.message));
    release();
    await assert.rejects(ask("gone: a ship"), (error) => error.status === 502);
    assert.equal(model.asked, undefined);
  });

  test("an API without a place for images is refused", async () => {
    const answer = await fetch(`${daemon.url}/v1/completions`, { method: "POST", body: JSON.stringify({ model: "auto", prompt: "paint a ship" }) });
    assert.equal(answer.status, 501);
    assert.match((await answer.json()).error.message, /calls an image server, which this API does not support/);
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
