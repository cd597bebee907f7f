// Tests contexts with official clients: one client stores them and others refer to them. The daemon is killed in
// between, and the server must receive the same bytes throughout.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let upstream, directory;

const configuration = (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream.port}"}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
  stores:
    contexts: {directory: "${join(directory, "contexts")}"}
`;

before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = () => completion({ content: "Yes." });
  directory = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
});

after(async () => {
  await upstream?.stop();
  await rm(directory, { recursive: true });
});

const contract = Array.from({ length: 20_000 }, (_, i) => `clause ${i}: naïve “terms”`).join("\n");
const messages = [{ role: "system", content: contract }];
const clients = (daemon) => ({
  openai: new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 }),
  anthropic: new Anthropic({ authToken: "key-1", apiKey: null, baseURL: daemon.url, maxRetries: 0 }),
});

test("a context survives a kill and begins every prompt that refers to it with the same bytes", async () => {
  let daemon = await Daemon.start(configuration);
  let { openai, anthropic } = clients(daemon);
  const stored = await openai.post("/contexts", { body: { messages, pinned: true } });
  assert.equal(stored.durable, true);
  const other = new OpenAI({ apiKey: "key-2", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const ask = (client, text) =>
    client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: text }], metadata: { context_refs: [stored.id] } });
  await assert.rejects(ask(other, "x"), (error) => {
    assert.equal(error.status, 400);
    assert.equal(error.param, "metadata.context_refs[0]");
    return true;
  });

  await ask(openai, "What of clause 7?");
  assert.deepEqual(upstream.received.messages, [...messages, { role: "user", content: "What of clause 7?" }]);
  assert.equal("metadata" in upstream.received, false);
  const prompt = upstream.body.slice(0, upstream.body.indexOf("What of"));

  daemon.process.kill("SIGKILL");
  await daemon.exited;
  await rm(daemon.folder, { recursive: true });
  daemon = await Daemon.start(configuration);
  ({ openai, anthropic } = clients(daemon));
  assert.deepEqual((await openai.get("/contexts")).data, [stored]);
  await ask(openai, "And of clause 8?");
  assert.equal(upstream.body.slice(0, upstream.body.indexOf("And of")), prompt);

  // The same key with another API.
  const message = { model: "auto", max_tokens: 9, messages: [{ role: "user", content: "x" }], metadata: { context_refs: stored.id } };
  await anthropic.messages.create(message);
  assert.deepEqual(upstream.received.messages, [...messages, { role: "user", content: "x" }]);
  await openai.delete(`/contexts/${stored.id}`);
  await assert.rejects(ask(openai, "x"), { status: 400 });
  await daemon.stop();
});
