// Tests llama.cpp's real server behind the router, with a model of random weights: a stream through the router must
// equal a direct one. LLAMA_SERVER names the program; the default is llama-server on PATH. Debian 12 has no package for
// it; later releases have llama.cpp-tools.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, freePorts } from "./daemon.mjs";
import { deployed } from "./deployed.mjs";
import { tinyLlama } from "./gguf.mjs";
import { until } from "./until.mjs";

const kProgram = process.env.LLAMA_SERVER ?? "llama-server";
const kSkip = spawnSync(kProgram, ["--version"]).status !== 0 && `${kProgram} is not installed`;
const kOptions = { max_tokens: 24, temperature: 0, seed: 1 };
const kMessages = [{ role: "user", content: "Say something, \u00e4 \ud83d\ude00." }];

let folder, server, serverPort, daemon, direct, routed;
let log = "";

before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-llama-"));
  const model = join(folder, "tiny.gguf");
  await writeFile(model, tinyLlama());
  let other;
  [serverPort, other] = await freePorts(2);
  // The daemon starts first, so that it meets a server that does not listen yet, and one that never will.
  const ports = { "box-1.models.internal:8080": serverPort, "box-2.models.internal:8080": other };
  daemon = await Daemon.start(
    await deployed("integrations/llama_cpp.yaml", ports, ({ providers }) => {
      providers.models[0].reliability.health_check_interval = "100ms";
    }),
  );
  server = spawn(kProgram, ["-m", model, "--port", String(serverPort), "--parallel", "4", "--ctx-size", "2048", "--threads", "1", "--no-webui"]);
  for (const stream of [server.stdout, server.stderr]) stream.setEncoding("utf8").on("data", (text) => (log += text));
  const isReady = async () => (await fetch(`http://127.0.0.1:${serverPort}/health`).catch(() => null))?.status === 200;
  await until(isReady, () => log);
  direct = new OpenAI({ apiKey: "unused", baseURL: `http://127.0.0.1:${serverPort}/v1`, maxRetries: 0 });
  routed = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  if (kSkip) return;
  server?.kill("SIGTERM");
  await daemon?.stop();
  await rm(folder, { recursive: true });
});

async function streamed(client, model, more = {}) {
  const out = { text: "", chunks: 0 };
  const stream = await client.chat.completions.create({ model, messages: kMessages, stream: true, ...kOptions, ...more });
  for await (const chunk of stream) {
    out.text += chunk.choices[0]?.delta.content ?? "";
    out.reason = chunk.choices[0]?.finish_reason ?? out.reason;
    out.usage = chunk.usage ?? out.usage;
    out.timings = chunk.timings ?? out.timings;
    ++out.chunks;
  }
  return out;
}

test("llama-server's answer through the router is its answer", { skip: kSkip }, async () => {
  const ask = (client, model) => client.chat.completions.create({ model, messages: kMessages, ...kOptions });
  const there = await ask(direct, "local");
  const here = await ask(routed, "auto");
  assert.ok(there.choices[0].message.content.length > 10, "it says nothing");
  assert.equal(here.choices[0].message.content, there.choices[0].message.content);
  assert.equal(here.usage.total_tokens, there.usage.total_tokens);
  assert.ok(here.timings.predicted_n > 0);
});

test("llama-server's stream passes unchanged, with usage and timings", { skip: kSkip }, async () => {
  const more = { stream_options: { include_usage: true }, timings_per_token: true, cache_prompt: false, return_progress: true };
  const there = await streamed(direct, "local", more);
  const here = await streamed(routed, "auto", more);
  assert.equal(here.text, there.text);
  assert.equal(here.chunks, there.chunks);
  assert.equal(here.reason, "length");
  assert.deepEqual([here.usage.prompt_tokens, here.usage.completion_tokens], [there.usage.prompt_tokens, 24]);
  assert.equal(here.timings.predicted_n, 24);
  const metrics = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  assert.match(metrics, /llm_model_completion_tokens_total\{model="local"\} 48\n/); // both answers so far
});

test("llama-server obeys a grammar, and its errors come back", { skip: kSkip }, async () => {
  const spoken = await streamed(routed, "auto", { grammar: 'root ::= "yes" | "no"' });
  assert.match(spoken.text, /^(yes|no)$/);
  const long = { model: "auto", messages: [{ role: "user", content: "word ".repeat(2_000) }] };
  await assert.rejects(routed.chat.completions.create(long), (error) => error.status === 400 && /context size/.test(error.message));
});

test("Anthropic's client streams from llama-server, and a client that leaves stops it", { skip: kSkip }, async () => {
  const client = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
  const message = await client.messages.stream({ model: "auto", max_tokens: 8, messages: kMessages }).finalMessage();
  assert.equal(message.usage.output_tokens, 8);
  assert.ok(message.content[0].text.length > 0);

  await pause(50); // wait for the server's log of the previous request
  const leaving = await routed.chat.completions.create({ model: "auto", messages: kMessages, stream: true, max_tokens: 400 });
  const before = log.length;
  for await (const chunk of leaving) if (chunk.choices[0]?.delta.content) break;
  leaving.controller.abort();
  // The server logs the final length of each request's text; without the abort it would exceed 400 tokens.
  const ended = () => log.slice(before).match(/stop processing: n_tokens = (\d+)/);
  await until(ended, "the server stops writing for nobody");
  assert.ok(Number(ended()[1]) < 400, ended()[0]);
});
