// Tests the configurations of deploy/integrations in front of stand-ins for their servers (serving.mjs). The router
// chooses the model, and everything else must arrive unchanged in both directions.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { deployed } from "./deployed.mjs";
import { Dynamo, LlamaCpp, ProductionStack, Vllm } from "./serving.mjs";
import { until } from "./until.mjs";

const kAnswer = "It follows at once.";

let running;
beforeEach(() => (running = []));
afterEach(async () => {
  for (const one of running.reverse()) await one.stop();
});

const keep = (one) => (running.push(one), one);
const start = async (...options) => keep(await Daemon.start(await deployed(...options)));

/// Sends a body unchanged, and returns the bytes of the reply.
async function post(daemon, body, headers = {}) {
  const all = { "content-type": "application/json", ...headers };
  const response = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: all, body });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/// Checks that the received body differs from the sent one only in the model.
function assertOnlyModelDiffers(sent, arrived, model) {
  assert.equal(sent.split('"auto"').length, 2, "the test's own body");
  assert.equal(arrived, sent.replace('"auto"', `"${model}"`));
}

const metric = async (daemon, name) => {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
};

// Waits until a metric has a value. A reply is counted after it was sent, so the client may see the reply first.
const counts = (daemon, name, wanted) => until(async () => (await metric(daemon, name)) === wanted, `${name} is ${wanted}`);

// Valid JSON that no client library writes: unusual key order, white space, escapes, big numbers, empty objects.
const kOdd = `{ "stream":true,"messages" :[{"role":"system","content":"You are \\u00e4 \\ud83d\\ude00 <b>&amp;"},\t{"content":[{"type":"text",
  "text":"What is 2 + 2?\\/"}],"role":"user","name":""}], "model":"auto","seed":12345678901234567890123,"temperature":1.0e0,"logit_bias":{},
  "top_p":0.10, "user":null}\n`;

test("Production Stack: the configured header keeps a session on one engine", async () => {
  const stack = keep(await ProductionStack.start(["meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"], "session"));
  const daemon = await start("integrations/production_stack.yaml", { "vllm-router-service:80": stack.port });
  const client = new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const engines = {};
  for (const question of ["Good morning", "Prove that 7 is prime", "And again?"]) {
    for (const user of ["ada", "grace", "edsger", "barbara"]) {
      const messages = [{ role: "user", content: question }];
      const { data, response } = await client.chat.completions
        .create({ model: "auto", messages, stream: true }, { headers: { "x-user-id": user } })
        .withResponse();
      let text = "";
      for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? "";
      assert.equal(text, kAnswer);
      const call = stack.calls.at(-1);
      const large = question.startsWith("Prove");
      assert.equal(call.received.model, `meta-llama/Llama-3.1-${large ? "70B" : "8B"}-Instruct`);
      assert.equal(call.headers["x-vsr-selected-model"], large ? "large" : "small");
      assert.equal(call.headers["x-vsr-selected-decision"], large ? "mathematics" : undefined);
      assert.equal(call.headers["x-user-id"], user);
      assert.equal(call.headers["x-request-id"], response.headers.get("x-request-id"));
      engines[user] ??= call.engine;
      assert.equal(call.engine, engines[user]);
    }
  }
  assert.ok(new Set(Object.values(engines)).size > 1, "one engine had all sessions: nothing was shown");
});

test("Production Stack: a conversation whose prompt grows stays on its engine", async () => {
  const stack = keep(await ProductionStack.start(["meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"], "prefix"));
  const daemon = await start("integrations/production_stack.yaml", { "vllm-router-service:80": stack.port });
  const system = { role: "system", content: "You know the theorems of the house. ".repeat(20) };
  // Three conversations take turns. The last message decides, so the second conversation uses another model from its
  // third turn on.
  const turns = ["Good morning", "What is there to see?", "Prove it"];
  const conversations = Array.from({ length: 3 }, (_, i) => [{ ...system, content: `${i}: ${system.content}` }]);
  const before = conversations.map(() => ({ texts: "", engine: undefined }));
  for (const [turn, question] of turns.entries()) {
    for (const [i, messages] of conversations.entries()) {
      messages.push({ role: "user", content: i === 1 ? question : `Tell me ${turn} "quoted" \u2014 ${i}` });
      // The white space and escapes would be lost in a proxy that serialises bodies again.
      const sent = JSON.stringify({ messages, model: "auto", max_tokens: 5 }, null, i).replaceAll("\u2014", "\\u2014");
      const { status, text } = await post(daemon, sent);
      assert.equal(status, 200, text);
      const call = stack.calls.at(-1);
      assertOnlyModelDiffers(sent, call.body, call.received.model);
      assert.equal(call.received.model, `meta-llama/Llama-3.1-${i === 1 && turn === 2 ? "70B" : "8B"}-Instruct`);
      const texts = call.received.messages.map(({ content }) => content).join("\n");
      assert.ok(texts.startsWith(before[i].texts), `turn ${turn} of conversation ${i} does not go on from the one before`);
      assert.equal(call.engine, before[i].engine ?? call.engine);
      before[i] = { texts, engine: call.engine };
      messages.push({ role: "assistant", content: JSON.parse(text).choices[0].message.content });
    }
  }
  assert.equal(new Set(before.map(({ engine }) => engine)).size, 3);
});

test("Production Stack: odd bodies, replies and errors pass byte for byte", async () => {
  const stack = keep(await ProductionStack.start(["meta-llama/Llama-3.1-8B-Instruct"], "session"));
  const daemon = await start("integrations/production_stack.yaml", { "vllm-router-service:80": stack.port });
  const good = await post(daemon, kOdd, { "x-user-id": "ada" });
  assert.equal(good.status, 200);
  assertOnlyModelDiffers(kOdd, stack.calls.at(-1).body, "meta-llama/Llama-3.1-8B-Instruct");
  assert.equal(good.text, stack.sent);
  const gone = await post(daemon, '{"model":"auto","messages":[{"role":"user","content":"prove it"}]}');
  assert.equal(gone.status, 404);
  assert.match(gone.text, /Model 'meta-llama\/Llama-3.1-70B-Instruct' not found/);
});

test("Dynamo: nvext, its headers and its events pass untouched", async () => {
  const dynamo = keep(await Dynamo.start(["Qwen/Qwen3-0.6B", "Qwen/Qwen3-32B"]));
  const daemon = await start("integrations/dynamo.yaml", { "dynamo-frontend:8000": dynamo.port });
  const nvext = `{"annotations": ["worker_id", "llm_metrics"], "agent_hints":{"priority":5,"osl":1024, "speculative_prefill": true},
    "extra_fields" :["worker_id","timing"],"backend_instance_id":18446744073709551615,"token_data":[1,2,3],"unheard_of":{"\\u0061":1e400}}`;
  const sent = `{"model":"auto","stream":true,"messages":[{"role":"user","content":"prove it"}],"nvext":${nvext},"stop":[576]}`;
  const headers = { "x-worker-instance-id": "7", "x-prefill-instance-id": "3", "x-dp-rank": "1", "x-dynamo-session-id": "run-42:researcher" };
  const streamed = await post(daemon, sent, headers);
  const call = dynamo.calls.at(-1);
  assertOnlyModelDiffers(sent, call.body, "Qwen/Qwen3-32B");
  for (const [name, value] of Object.entries(headers)) assert.equal(call.headers[name], value);
  assert.equal(call.headers["x-vsr-selected-decision"], "mathematics");
  assert.equal(streamed.text, dynamo.sent);
  assert.match(streamed.text, /^event: worker_id\n: "worker_id of 7"\n\n/);

  // The official client reads the reply, whole and streamed.
  const client = new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const request = { model: "auto", messages: [{ role: "user", content: "hello" }], nvext: { extra_fields: ["timing"], decode_worker_id: 2 } };
  const whole = await client.chat.completions.create(request);
  assert.deepEqual(whole.nvext, { timing: { ttft_ms: 45.2, itl_ms: 12.1 } });
  let text = "";
  let timing;
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
    timing = chunk.nvext?.timing ?? timing;
  }
  assert.equal(text, kAnswer);
  assert.equal(timing.ttft_ms, 45.2);
  await counts(daemon, "llm_model_completion_tokens_total", 9);
});

test("vLLM: its own fields pass both ways, its errors come back, a prompt finds the server that had it", async () => {
  process.env.VLLM_API_KEY = "server-key";
  const model = "meta-llama/Llama-3.1-8B-Instruct";
  const servers = [keep(await Vllm.start(model, "one")), keep(await Vllm.start(model, "two"))];
  const ports = { "gpu-1.models.internal:8000": servers[0].port, "gpu-2.models.internal:8000": servers[1].port };
  const daemon = await start("integrations/vllm.yaml", ports, ({ providers }) => {
    Object.assign(providers.models[0].reliability, { health_check_interval: "100ms", metrics_interval: "100ms" });
  });
  const calls = () => servers.flatMap(({ calls }) => calls);
  const guided = `"structured_outputs":{"json":{"type":"object"}},"guided_json":{"b":1,"a":2},"top_k":20,"min_p":0.05,"ignore_eos":false,
    "chat_template_kwargs":{"enable_thinking":false},"kv_transfer_params":{"do_remote_decode":true},"cache_salt":"s","priority":-1`;
  const sent = `{"model":"auto","messages":[{"role":"user","content":"hello"}],${guided},"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`;
  const reply = await post(daemon, sent, { authorization: "Bearer of-the-client" });
  assertOnlyModelDiffers(sent, calls()[0].body, model);
  assert.equal(calls()[0].headers.authorization, "Bearer server-key");
  assert.equal(calls()[0].headers["x-vsr-selected-model"], undefined);
  assert.equal(reply.text, servers.find(({ sent: events }) => events).sent);
  assert.match(reply.text, /"kv_transfer_params":\{"remote_engine_id"/);

  const client = new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const request = { model: "auto", messages: [{ role: "user", content: "hello" }] };
  const whole = await client.chat.completions.create(request);
  assert.equal(whole.choices[0].message.reasoning_content, "Hm.");
  assert.equal(whole.usage.prompt_tokens_details.cached_tokens, 8);
  let usage;
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } }))
    usage = chunk.usage ?? usage;
  assert.equal(usage.total_tokens, 14);
  await counts(daemon, "llm_model_prompt_tokens_total", 33); // includes a stream that reports usage in every chunk
  const refused = await post(daemon, JSON.stringify({ ...request, max_tokens: 100_000 }));
  assert.equal(refused.status, 400);
  assert.match(refused.text, /^\{"object":"error","message":"This model's maximum context/); // the error has vLLM's own shape, which no client parses

  // Long prompts go to the same server as before, until its metrics report waiting requests.
  const long = { model: "auto", messages: [{ role: "user", content: "A long story. ".repeat(300) }] };
  const asker = async () => {
    const seen = servers.map((server) => server.calls.length);
    await client.chat.completions.create(long);
    return servers.findIndex((server, i) => server.calls.length > seen[i]);
  };
  const first = await asker();
  for (let i = 0; i < 4; ++i) assert.equal(await asker(), first);
  servers[first].healthy = false;
  await until(async () => (await asker()) !== first, "the sick server is left alone");
});

test("llama.cpp: a server that loads its model is left out, its comments, timings and usage pass", async () => {
  const servers = [keep(await LlamaCpp.start("one")), keep(await LlamaCpp.start("two"))];
  const ports = { "box-1.models.internal:8080": servers[0].port, "box-2.models.internal:8080": servers[1].port };
  servers[0].healthy = false; // loading
  const daemon = await start("integrations/llama_cpp.yaml", ports, ({ providers }) => {
    providers.models[0].reliability.health_check_interval = "100ms";
  });
  const client = new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const request = { model: "auto", messages: [{ role: "user", content: "hello" }] };
  let answered = 0;
  await until(async () => {
    const before = servers[0].calls.length;
    for (let i = 0; i < 4; ++i) await client.chat.completions.create(request).then(() => ++answered, () => {});
    return servers[0].calls.length === before;
  }, "the loading server is left alone");
  servers[0].healthy = true;
  await until(async () => {
    const before = servers[0].calls.length;
    for (let i = 0; i < 4; ++i, ++answered) await client.chat.completions.create(request);
    return servers[0].calls.length > before;
  }, "the ready server is called");

  const own = `"cache_prompt":true,"id_slot":0,"n_predict":64,"grammar":"root ::= \\"yes\\" | \\"no\\"","samplers":["top_k","min_p"],"timings_per_token":true,"return_progress":true`;
  const sent = `{"messages":[{"role":"user","content":"hello"}],"model":"auto",${own},"stream":true}`;
  const before = servers.map((server) => server.calls.length);
  const reply = await post(daemon, sent);
  const server = servers.find((one, i) => one.calls.length > before[i]);
  assertOnlyModelDiffers(sent, server.calls.at(-1).body, "local");
  assert.equal(reply.text, server.sent);
  assert.match(reply.text, /^: ping/);
  await counts(daemon, "llm_model_completion_tokens_total", 3 * (answered + 1)); // the chunk with its usage also contains a choice
  let text = "";
  let timings;
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
    timings = chunk.timings ?? timings;
  }
  assert.equal(text, kAnswer);
  assert.equal(timings.predicted_n, 3);
});
