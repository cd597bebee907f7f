// Tests hybrid searches with OpenAI's client: exact words are found although vectors miss them, by /v1/vector_stores and by rag.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import OpenAI, { toFile } from "openai";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

/// The vectors miss the one text that has the number, which is not a word to them.
const kAboutSeal = "What helps against the failure of machine 4711?";
const kManuals = Object.fromEntries([...Array.from({ length: 12 }, (_, i) => [`manual${i}.txt`, `How can I solve the failure of the machine ${i}?`]), ["seal.txt", "Replace seal X/4711."]]);

let model, embedder, folder, daemon;

/// Texts with many common words have similar vectors.
function vectorOf(text) {
  const vector = new Array(64).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? ["nothing"]) vector[createHash("md5").update(word).digest()[0] % 64] += 1;
  return vector;
}

const configuration = (keys) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers: {defaults: {default_model: plain}, models: [{name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}]}
routing: {decisions: [{name: answers, plugins: [{type: rag, configuration: {backend: vectorstore, top_k: 1, similarity_threshold: 0.99, backend_config: {vector_store_id: library${keys}}}}]}]}
global:
  stores: {vector_store: {enabled: true, file_storage_dir: "${folder}"}}
  model_catalog: {embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 64}}}}
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

before(async () => {
  [model, embedder] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
  embedder.answer = ({ input }) => ({ body: { data: [input].flat().map((text, index) => ({ index, embedding: vectorOf(text) })) } });
  model.answer = () => completion({ content: "Replace it." });
});
after(async () => {
  await Promise.all([model, embedder].map((each) => each?.stop()));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-hybrid-"));
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await rm(folder, { recursive: true, force: true });
});

const begin = async (keys = "") => (daemon = await Daemon.start(configuration(keys)));

/// Kills the daemon as a power failure would, and starts another one over the same files.
async function killAndBegin(keys) {
  daemon.process.kill("SIGKILL");
  await daemon.exited;
  await rm(daemon.folder, { recursive: true });
  return begin(keys);
}

const client = (base = daemon.url) => new OpenAI({ apiKey: "unused", baseURL: `${base}/v1`, maxRetries: 0 });
const operator = () => client(daemon.managementUrl);
const fails = (promise, status, message) => assert.rejects(promise, (error) => (assert.equal(error.status, status, error.message), assert.match(error.message, message), true));

/// A store with these files, once they are embedded.
async function storeOf(api, texts) {
  const files = [];
  for (const [name, text] of Object.entries(texts)) files.push(await api.files.create({ file: await toFile(Buffer.from(text), name), purpose: "assistants" }));
  const store = await api.vectorStores.create({ name: "library", file_ids: files.map(({ id }) => id) });
  await until(async () => (await api.vectorStores.retrieve(store.id)).file_counts.completed === files.length, "the files are embedded");
  return { store, files };
}
const search = async (api, id, query, more = {}) => (await api.vectorStores.search(id, { query, ...more })).data;
const namesOf = (found) => found.map(({ filename }) => filename);

async function ask(text) {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: text }] }) });
  return { status: answer.status, rag: answer.headers.get("x-vsr-rag"), body: await answer.text() };
}

describe("hybrid searches", () => {
  test("a hybrid search finds exact words that vectors miss", async () => {
    await begin();
    const api = client();
    const { store, files } = await storeOf(api, kManuals);
    const names = async (more) => namesOf(await search(api, store.id, kAboutSeal, { max_num_results: 3, ...more }));
    const ranked = { ranking_options: { hybrid_search: { embedding_weight: 1, text_weight: 1 } } };
    assert.ok(!(await names({})).includes("seal.txt"));
    assert.equal((await names(ranked))[0], "seal.txt");
    assert.equal((await names({ hybrid: { mode: "rrf" } }))[0], "seal.txt");
    assert.equal((await names({ hybrid: { vector_weight: 0.3, bm25_weight: 0.7, ngram_size: 2, bm25_k1: 1.5, bm25_b: 0.5 } }))[0], "seal.txt");
    assert.ok(!(await names({ hybrid: { bm25_weight: 0, vector_weight: 1 } })).includes("seal.txt"));
    const strict = { ranking_options: { ...ranked.ranking_options, score_threshold: 0.99 } };
    assert.deepEqual(await names(strict), ["seal.txt"]);
    assert.deepEqual(await names({ ...strict, filters: { type: "eq", key: "kind", value: "none" } }), []);
    for (const { score } of await search(api, store.id, kAboutSeal, ranked)) assert.ok(score >= 0 && score <= 1);
    await killAndBegin();
    const again = client();
    assert.equal(namesOf(await search(again, store.id, kAboutSeal, ranked))[0], "seal.txt");
    await again.files.delete(files.at(-1).id);
    assert.deepEqual(namesOf(await search(again, store.id, kAboutSeal, strict)), []);
    for (const [more, message] of [
      [{ hybrid: 1 }, /hybrid: expected an object, found number/],
      [{ hybrid: { mode: "best" } }, /hybrid\.mode: expected weighted or rrf, found "best"/],
      [{ hybrid: { bm25_b: 2 } }, /hybrid\.bm25_b: expected 0 to 1, found "2"/],
      [{ hybrid: { vector_weight: 0 } }, /hybrid: expected a weight above 0/],
      [{ hybrid: { ngram_size: 0 } }, /hybrid\.ngram_size: expected 1 to 16, found "0"/],
      [{ ranking_options: { hybrid_search: { text_weight: -1 } } }, /ranking_options\.hybrid_search\.text_weight: expected 0 to 1000, found "-1"/],
      [{ hybrid: {}, ...ranked }, /hybrid: ranking_options\.hybrid_search is given, too/],
    ])
      await fails(again.vectorStores.search(store.id, { query: "pump", ...more }), 400, message);
  });

  test("the backend vectorstore finds exact words that vectors miss", async () => {
    await begin(", hybrid_search: true");
    await storeOf(operator(), kManuals);
    assert.equal((await ask(kAboutSeal)).rag, "added");
    assert.match(JSON.stringify(model.received), /Replace seal/);
    assert.equal((await ask("penguins")).rag, "nothing");
    await killAndBegin(", hybrid_search: true, hybrid_mode: weighted");
    assert.equal((await ask("4711")).rag, "added");
    assert.match(JSON.stringify(model.received), /Replace seal/);
    await killAndBegin("");
    await ask(kAboutSeal);
    assert.doesNotMatch(JSON.stringify(model.received), /Replace seal/);
  });
});
