// The steps of tests of memories that several routers share: the file of a router that remembers, a conversation with it,
// and the memories of a user.

import { createHash } from "node:crypto";

import OpenAI from "openai";

import { metric } from "./daemon.mjs";
import { until } from "./until.mjs";

export const kGreen = "My favourite colour is green, please remember it.";
export const kAsked = "What is my favourite colour?";
export const kAnswer = "Noted with pleasure.";

/// Texts with many common words have similar vectors.
function vectorOf(text) {
  const vector = new Array(64).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? ["nothing"]) vector[createHash("md5").update(word).digest()[0] % 64] += 1;
  return vector;
}

/// The answer of a scripted embedding model.
export const embeddings = ({ input }) => ({ body: { data: [input].flat().map((text, index) => ({ index, embedding: vectorOf(text) })) } });

export const rememberingFile = ({ model, embedder, store, more = "", services = "" }, port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models: [{name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}]
routing:
  decisions:
    - name: remembers
      plugins: [{type: memory, configuration: {auto_store: true, similarity_threshold: 0.4}}]
global:
  stores: {memory: {${store}${more}}}
  model_catalog: {embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 64}}}}
  services: {${services}management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

/// Sends a text of the user and returns the outcome with the system prompt that the model got.
export async function sayOnceTo(model, daemon, user, text) {
  const client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { "x-authz-user-id": user } });
  const { response } = await client.chat.completions.create({ model: "auto", messages: [{ role: "user", content: text }] }).withResponse();
  return { outcome: response.headers.get("x-vsr-memory"), system: model.received.messages.find(({ role }) => role === "system")?.content ?? "" };
}

/// Like sayOnceTo(), but repeats it while the search fails. On a busy machine the store may take too long, and then no
/// turn is stored.
export const sayTo = (model, daemon, user, text) =>
  until(async () => {
    const said = await sayOnceTo(model, daemon, user, text);
    return said.outcome !== "failed" && said;
  }, `a search for ${user}`);

export async function memory(daemon, method, user, path = "") {
  const answer = await fetch(`${daemon.url}/v1/memory${path}`, { method, headers: { "x-authz-user-id": user } });
  return { status: answer.status, body: await answer.json() };
}
export const listed = async (daemon, user) => (await memory(daemon, "GET", user)).body;
export const has = (daemon, user, count) => until(async () => (await listed(daemon, user)).total === count, `${count} memories of ${user}`);
export const works = (daemon, is) => until(async () => (await metric(daemon, "signalbox_shared_memories_works")) === is, is ? "the end of the trouble" : "the trouble");
