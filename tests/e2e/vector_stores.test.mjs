// Tests files and vector stores with OpenAI's client: what is uploaded is found, survives a kill, and is nobody else's.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import OpenAI, { toFile } from "openai";

import { Daemon, hashOf } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kShip = "The mast of the ship is 31 metres high. It was built in 1911.";
const kGarden = "Tomatoes need sun and water. Plant them in May.";

let model, embedder, folder, daemon;


/// Texts with many common words have similar vectors. `shift` makes the vectors of another model.
function vectorOf(text, shift = 0) {
  const vector = new Array(64).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? ["nothing"]) vector[(createHash("md5").update(word).digest()[0] + shift) % 64] += 1;
  return vector;
}

const embedded = (texts, shift) => ({ body: { data: texts.map((text, index) => ({ index, embedding: vectorOf(text, shift) })) } });

const configuration = ({ store = "", access = "", decisions = "[]", api = "", name = "e", others = "", services = "", management_more = "" } = {}) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models:
    - {name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    ${others}
routing: {decisions: ${decisions}}
global:
  ${access}
  ${api}
  stores: {vector_store: {enabled: true, file_storage_dir: "${folder}", ${store}}}
  model_catalog: {embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: ${name}, dimensions: 64}}}}
  services: {${services} management_api: {bind_address: 127.0.0.1, port: ${management}${management_more}}}
`;

const rag = (keys, more = "") => `[{name: answers, plugins: [{type: rag, configuration: {backend: vectorstore, top_k: 1, ${more} backend_config: {${keys}}}}]}]`;

before(async () => {
  [model, embedder] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
});
after(async () => {
  await Promise.all([model, embedder].map((each) => each?.stop()));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-stores-"));
  embedder.answer = ({ input, model: name }) => embedded([input].flat(), name === "other" ? 7 : 0);
  model.received = undefined;
  model.answer = () => completion({ content: "It is 31 metres high." });
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await rm(folder, { recursive: true, force: true });
});

const begin = async (options) => (daemon = await Daemon.start(configuration(options)));

/// Kills the daemon as a power failure would, and starts another one over the same files.
async function killAndBegin(options) {
  daemon.process.kill("SIGKILL");
  await daemon.exited;
  await rm(daemon.folder, { recursive: true });
  return begin(options);
}

const client = (key = "unused", base = daemon.url) => new OpenAI({ apiKey: key, baseURL: `${base}/v1`, maxRetries: 0 });
const operator = () => client("unused", daemon.managementUrl);
const upload = async (api, text, name = "ship.txt", purpose = "assistants") => api.files.create({ file: await toFile(Buffer.from(text), name), purpose });
const fails = (promise, status, message) => assert.rejects(promise, (error) => (assert.equal(error.status, status, error.message), message === undefined || (assert.match(error.message, message), true)));

/// A store with these files, once they are embedded.
async function storeOf(api, texts, more = {}) {
  const files = [];
  for (const [name, text] of Object.entries(texts)) files.push(await upload(api, text, name));
  const store = await api.vectorStores.create({ name: "library", file_ids: files.map(({ id }) => id), ...more });
  await embeddedAll(api, store.id, files.length);
  return { store, files };
}
const embeddedAll = (api, id, count) => until(async () => (await api.vectorStores.retrieve(id)).file_counts.completed === count, `${count} files are embedded`);
const search = async (api, id, query, more = {}) => (await api.vectorStores.search(id, { query, ...more })).data;
const namesOf = (found) => found.map(({ filename }) => filename);

async function ask(text) {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: text }] }) });
  return { status: answer.status, rag: answer.headers.get("x-vsr-rag"), body: await answer.text() };
}
const metrics = async () => (await fetch(`${daemon.managementUrl}/metrics`)).text();

describe("files", () => {
  test("files can be uploaded, listed, read and deleted", async () => {
    await begin();
    const api = client();
    const made = await upload(api, kShip);
    assert.deepEqual({ ...made, id: "", created_at: 0 }, { id: "", object: "file", bytes: kShip.length, created_at: 0, filename: "ship.txt", purpose: "assistants", status: "processed" });
    assert.match(made.id, /^file-sb-[0-9a-f]{32}$/);
    assert.deepEqual(await api.files.retrieve(made.id), made);
    assert.equal(await (await api.files.content(made.id)).text(), kShip);
    const other = await upload(api, kGarden, "garden.md", "user_data");
    assert.deepEqual((await api.files.list()).data.map(({ id }) => id), [other.id, made.id]);
    assert.deepEqual((await api.files.list({ purpose: "assistants" })).data.map(({ id }) => id), [made.id]);
    const pages = [];
    for await (const file of api.files.list({ limit: 1, order: "asc" })) pages.push(file.id);
    assert.deepEqual(pages, [made.id, other.id]);
    assert.deepEqual(await api.files.delete(made.id), { id: made.id, object: "file", deleted: true });
    await fails(api.files.retrieve(made.id), 404);
    await fails(api.files.delete(made.id), 404);
    assert.deepEqual((await readdir(folder)).length, 1);
  });

  test("unreadable files are refused with the reason", async () => {
    await begin({ store: "max_file_size_mb: 1, supported_formats: [.txt, .pdf]" });
    const api = client();
    await fails(upload(api, "%PDF-1.7", "a.pdf"), 400, /files of the type "\.pdf" are not read \(known: \.txt\)/);
    await fails(upload(api, "text", "noextension"), 400, /type ""/);
    await fails(upload(api, "a\0b", "a.txt"), 400, /expected text in UTF-8/);
    await fails(api.files.create({ file: await toFile(Buffer.from([0xff, 0xfe, 0x41]), "a.txt"), purpose: "assistants" }), 400, /expected text in UTF-8/);
    await fails(upload(api, "  \n", "a.txt"), 400, /there is no text in it/);
    await fails(upload(api, "x".repeat(1024 * 1024 + 1), "a.txt"), 413, /a file may have 1048576/);
    await until(() => /supported_formats: files of the type \.pdf cannot be read/.test(daemon.log), "the notice");
    assert.deepEqual(await readdir(folder), []);
  });

  test("hostile files are refused, and the router goes on", async () => {
    await begin();
    const send = async (body, type = "multipart/form-data; boundary=x") => {
      const answer = await fetch(`${daemon.url}/v1/files`, { method: "POST", headers: { "content-type": type, authorization: "Bearer unused" }, body });
      return [answer.status, (await answer.json()).error?.message];
    };
    const part = (head, text) => `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
    const purpose = part('name="purpose"', "assistants");
    const file = (name) => part(`name="file"; filename="${name}"`, "text");
    const end = "--x--\r\n";
    for (const [body, type] of [
      ["{}", "application/json"],
      ["", undefined],
      [`${purpose}${file("a.txt")}`, undefined], // no end
      [`${purpose}${end}`, undefined],
      [`${file("a.txt")}${end}`, undefined],
      [`${purpose}${purpose}${file("a.txt")}${end}`, undefined],
      [`${purpose}${file("a.txt")}${file("b.txt")}${end}`, undefined],
      [`${purpose}${part('name="file"', "text")}${end}`, undefined],
      [`${purpose}${file("")}${end}`, undefined],
      [`${purpose}${file("a\u0001.txt")}${end}`, undefined],
      [`${purpose}${file(`${"a".repeat(300)}.txt`)}${end}`, undefined],
      [`${purpose}${part("name=\"file\"; filename*=UTF-8''a.txt", "text")}${end}`, undefined],
      [`${part('name="purpose"; filename="p.txt"', "assistants")}${file("a.txt")}${end}`, undefined],
    ]) {
      const [status, message] = await send(body, type);
      assert.equal(status, 400, `${JSON.stringify(body)}: ${message}`);
    }
    assert.equal((await send(purpose + part('name="x"', "y").repeat(300) + end))[0], 413);
    assert.deepEqual(await readdir(folder), []);
    assert.equal((await send(`${purpose}${file('../../etc/pass\\"wd.txt')}${end}`))[0], 200);
    assert.deepEqual((await client().files.list()).data.map(({ filename }) => filename), ['pass"wd.txt']);
  });

  test("files with another purpose go to the model's server", async () => {
    const server = await ScriptedUpstream.start();
    try {
      await begin({ others: `- {name: filer, backend_refs: [{endpoint: "127.0.0.1:${server.port}"}]}`, api: "api: {files_model: filer}" });
      server.answer = () => ({ body: { id: "file-abc", object: "file" } });
      const requests = [];
      server.server.removeAllListeners("request");
      server.server.on("request", (request, response) => {
        requests.push(`${request.method} ${request.url}`);
        request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end('{"id": "file-abc", "object": "list", "data": []}'));
      });
      const api = client();
      assert.equal((await upload(api, "{}", "a.jsonl", "batch")).id, "file-abc");
      await api.files.retrieve("file-abc");
      await api.files.list({ purpose: "batch" });
      assert.match((await upload(api, kShip)).id, /^file-sb-/);
      assert.equal((await api.files.list()).data.length, 1);
      assert.deepEqual(requests, ["POST /v1/files", "GET /v1/files/file-abc", "GET /v1/files?purpose=batch"]);
    } finally {
      await server.stop();
    }
  });
});

describe("vector stores", () => {
  test("a search finds similar texts", async () => {
    await begin();
    const api = client();
    const { store, files } = await storeOf(api, { "ship.txt": kShip, "garden.html": `<html><style>p {color: mast}</style><p>${kGarden}</p><p>Caf&eacute; &amp; more</p></html>` });
    const found = await search(api, store.id, "How high is the mast of the ship?");
    assert.equal(found[0].filename, "ship.txt");
    assert.equal(found[0].file_id, files[0].id);
    assert.deepEqual(found[0].content, [{ type: "text", text: kShip }]);
    assert.ok(found[0].score > found[1].score && found[0].score <= 1, JSON.stringify(found));
    assert.deepEqual(namesOf(await search(api, store.id, "tomatoes in the sun", { max_num_results: 1 })), ["garden.html"]);
    const [garden] = await search(api, store.id, "tomatoes", { max_num_results: 1 });
    assert.equal(garden.content[0].text, `${kGarden}\nCaf&eacute; & more`);
    assert.equal((await search(api, store.id, ["mast of the ship", "sun and water"])).length, 2);
    assert.deepEqual(namesOf(await search(api, store.id, "mast of the ship", { ranking_options: { score_threshold: 0.4 } })), ["ship.txt"]);
    const rewritten = await api.vectorStores.search(store.id, { query: "mast of the ship", rewrite_query: true });
    assert.deepEqual(rewritten.search_query ?? rewritten.body?.search_query, ["mast of the ship"]);
    await fails(api.vectorStores.search(store.id, { query: "mast", rewrite_query: "yes" }), 400, /rewrite_query: expected a boolean/);
    await until(async () => /signalbox_vector_store_files\{status="completed"\} 2\n/.test(await metrics()));
    assert.match(await metrics(), /signalbox_files 2\nsignalbox|signalbox_files 2\n/);
  });

  test("long files are cut into chunks", async () => {
    await begin({ store: "memory: {max_entries_per_store: 40}" });
    const api = client();
    const lines = Array.from({ length: 60 }, (_, i) => `Line ${i}: ${String.fromCharCode(97 + (i % 26)).repeat(3)}word is here with some more text to fill the line.`);
    const file = await upload(api, lines.join("\n"), "long.md");
    const store = await api.vectorStores.create({});
    const entry = await api.vectorStores.files.createAndPoll(store.id, { file_id: file.id, chunking_strategy: { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } } }, { pollIntervalMs: 20 });
    assert.equal(entry.status, "completed");
    assert.deepEqual(entry.chunking_strategy, { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } });
    const found = await search(api, store.id, "line", { max_num_results: 50 });
    assert.ok(found.length > 8 && found.length < 40, `${found.length}`);
    for (const { content } of found) assert.ok(content[0].text.length <= 400);
    for (const line of lines) assert.ok(found.some(({ content }) => content[0].text.includes(line)), line);
    const large = await upload(api, lines.join("\n").repeat(8), "large.md");
    const failed = await api.vectorStores.files.createAndPoll(store.id, { file_id: large.id, chunking_strategy: { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } }, { pollIntervalMs: 20 });
    assert.equal(failed.status, "failed");
    assert.match(failed.last_error.message, /more than 40 chunks/);
  });

  test("a search filters by attributes", async () => {
    await begin();
    const api = client();
    const store = await api.vectorStores.create({});
    const years = { a: 1990, b: 2000, c: 2010 };
    for (const [name, year] of Object.entries(years)) {
      const { id } = await upload(api, `A text about ships, number ${name}.`, `${name}.txt`);
      await api.vectorStores.files.create(store.id, { file_id: id, attributes: { year, name, old: year < 2000 } });
    }
    await embeddedAll(api, store.id, 3);
    const matching = async (filters) => namesOf(await search(api, store.id, "ships", { filters })).map((name) => name[0]).sort().join("");
    const compare = (type, value, key = "year") => ({ type, key, value });
    assert.equal(await matching(compare("eq", 2000)), "b");
    assert.equal(await matching(compare("eq", "2000")), "");
    assert.equal(await matching(compare("ne", 2000)), "ac");
    assert.equal(await matching(compare("gt", 2000)), "c");
    assert.equal(await matching(compare("gte", 2000)), "bc");
    assert.equal(await matching(compare("lt", 2000)), "a");
    assert.equal(await matching(compare("lte", 2000)), "ab");
    assert.equal(await matching(compare("in", [1990, 2010])), "ac");
    assert.equal(await matching(compare("eq", true, "old")), "a");
    assert.equal(await matching(compare("eq", 1, "missing")), "");
    assert.equal(await matching({ type: "or", filters: [compare("eq", "a", "name"), { type: "and", filters: [compare("gt", 1995), compare("lt", 2005)] }] }), "ab");
    for (const [filters, message] of [[{ type: "like", key: "a", value: 1 }, /filters\.type/], [{ type: "and", filters: [] }, /filters\.filters/], [{ type: "and", filters: [{ type: "eq", value: 1 }] }, /filters\.filters\[0\]\.key/], [compare("in", 1), /expected a list/]])
      await fails(search(api, store.id, "x", { filters }), 400, message);
    const [first] = (await api.vectorStores.files.list(store.id, { order: "asc" })).data;
    await api.vectorStores.files.update(first.id, { vector_store_id: store.id, attributes: { year: 2020 } });
    assert.equal(await matching(compare("gt", 2000)), "ac");
  });

  test("vector stores can be created, listed, changed and deleted", async () => {
    await begin();
    const api = client();
    const { store, files } = await storeOf(api, { "ship.txt": kShip }, { metadata: { kind: "boats" } });
    const shown = await api.vectorStores.retrieve(store.id);
    assert.deepEqual([shown.object, shown.name, shown.status, shown.metadata], ["vector_store", "library", "completed", { kind: "boats" }]);
    assert.deepEqual(shown.file_counts, { in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 });
    assert.ok(shown.usage_bytes > kShip.length);
    const changed = await api.vectorStores.update(store.id, { name: "boats", metadata: null });
    assert.deepEqual([changed.name, changed.metadata], ["boats", { kind: "boats" }]);
    const second = await api.vectorStores.create({ name: "second" });
    assert.deepEqual((await api.vectorStores.list()).data.map(({ name }) => name), ["second", "boats"]);
    assert.deepEqual((await api.vectorStores.list({ order: "asc", limit: 1 })).data.map(({ name }) => name), ["boats"]);
    assert.equal((await api.vectorStores.files.retrieve(files[0].id, { vector_store_id: store.id })).status, "completed");
    await api.vectorStores.files.delete(files[0].id, { vector_store_id: store.id });
    assert.deepEqual(await search(api, store.id, "mast"), []);
    await api.vectorStores.files.createAndPoll(store.id, { file_id: files[0].id }, { pollIntervalMs: 20 });
    assert.equal((await search(api, store.id, "mast")).length, 1);
    await api.files.delete(files[0].id);
    assert.deepEqual((await api.vectorStores.files.list(store.id)).data, []);
    assert.deepEqual(await search(api, store.id, "mast"), []);
    for (const id of [store.id, second.id]) assert.equal((await api.vectorStores.delete(id)).deleted, true);
    assert.deepEqual(await readdir(folder), []);
    await fails(api.vectorStores.retrieve(store.id), 404);
    await fails(api.vectorStores.create({ file_ids: ["file-sb-none"] }), 404);
    await fails(api.vectorStores.create({ expires_after: { anchor: "last_active_at", days: 400 } }), 400, /expires_after.days: expected 1 to 365/);
    await fails(api.vectorStores.create({ name: "x".repeat(300) }), 400, /name/);
    assert.deepEqual((await api.vectorStores.list()).data, []);
  });

  test("a vector store adds a batch of files wholly or not at all", async () => {
    await begin();
    const api = client();
    const ship = await upload(api, kShip);
    const garden = await upload(api, kGarden, "garden.md");
    const store = await api.vectorStores.create({ name: "library" });
    const batches = api.vectorStores.fileBatches;
    const batch = await batches.createAndPoll(store.id, { files: [{ file_id: ship.id, attributes: { kind: "ship" } }, { file_id: garden.id }] }, { pollIntervalMs: 20 });
    assert.match(batch.id, /^vsfb_[0-9a-f]{32}$/);
    assert.deepEqual({ ...batch, id: "", created_at: 0 }, { id: "", object: "vector_store.files_batch", created_at: 0, vector_store_id: store.id, status: "completed", file_counts: { in_progress: 0, completed: 2, failed: 0, cancelled: 0, total: 2 } });
    assert.deepEqual(namesOf(await search(api, store.id, "How high is the mast?", { filters: { type: "eq", key: "kind", value: "ship" }, rewrite_query: true })), ["ship.txt"]);
    await api.vectorStores.files.createAndPoll(store.id, { file_id: garden.id }, { pollIntervalMs: 20 });
    assert.deepEqual((await batches.listFiles(batch.id, { vector_store_id: store.id })).data.map(({ id }) => id), [ship.id]);
    await killAndBegin();
    const again = client();
    assert.equal((await again.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: store.id })).file_counts.total, 1);
    const other = await again.vectorStores.create({});
    await fails(again.vectorStores.fileBatches.create(other.id, { file_ids: [ship.id, "file-sb-none"] }), 404);
    await fails(again.vectorStores.fileBatches.create(other.id, { file_ids: [ship.id, ship.id] }), 400, /occurs twice/);
    await fails(again.vectorStores.fileBatches.create(other.id, { file_ids: [] }), 400, /at least one file/);
    assert.equal((await again.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: store.id })).status, "completed", "it is done");
    await fails(again.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: other.id }), 404);
    await fails(again.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: other.id }), 404);
    assert.deepEqual((await again.vectorStores.files.list(other.id)).data, []);
  });

  test("a cancelled batch keeps the files that are embedded, also after a kill", async () => {
    await begin();
    const api = client();
    const ship = await upload(api, kShip);
    const garden = await upload(api, kGarden, "garden.md");
    const store = await api.vectorStores.create({ name: "library" });
    const works = embedder.answer;
    embedder.answer = (body) => (JSON.stringify(body).includes("Tomatoes") ? { status: 503, body: {} } : works(body));
    const batches = api.vectorStores.fileBatches;
    const batch = await batches.create(store.id, { file_ids: [ship.id, garden.id] });
    await embeddedAll(api, store.id, 1);
    const counts = { in_progress: 0, completed: 1, failed: 0, cancelled: 1, total: 2 };
    const cancelled = await batches.cancel(batch.id, { vector_store_id: store.id });
    assert.deepEqual([cancelled.status, cancelled.file_counts], ["cancelled", counts]);
    embedder.answer = works;
    await killAndBegin({ name: "other" });
    const again = client().vectorStores;
    await embeddedAll(client(), store.id, 1);
    assert.deepEqual((await again.fileBatches.retrieve(batch.id, { vector_store_id: store.id })).file_counts, counts);
    assert.deepEqual((await again.files.list(store.id, { filter: "cancelled" })).data.map(({ id }) => id), [garden.id]);
    assert.equal((await again.files.createAndPoll(store.id, { file_id: garden.id }, { pollIntervalMs: 20 })).status, "completed");
  });

  test("vector stores report their expiry, also after a kill", async () => {
    await begin();
    const kDay = 24 * 60 * 60;
    const made = await client().vectorStores.create({ name: "library", expires_after: { anchor: "last_active_at", days: 3 } });
    assert.deepEqual(made.expires_after, { anchor: "last_active_at", days: 3 });
    assert.equal(made.expires_at, made.last_active_at + 3 * kDay);
    await killAndBegin();
    const api = client();
    const { expires_after: after, expires_at: at } = await api.vectorStores.retrieve(made.id);
    assert.deepEqual([after, at], [made.expires_after, made.expires_at]);
    const changed = await api.vectorStores.update(made.id, { expires_after: { anchor: "last_active_at", days: 9 } });
    assert.equal(changed.expires_at, changed.last_active_at + 9 * kDay);
    assert.equal((await api.vectorStores.update(made.id, { name: "books" })).expires_after.days, 9);
    assert.equal((await api.vectorStores.update(made.id, { expires_after: null })).expires_after, null);
  });

  test("a file that is deleted while it is embedded is dropped", async () => {
    await begin();
    const api = client();
    let release;
    const released = new Promise((done) => (release = done));
    let waits = 0;
    embedder.answer = async ({ input }) => ((waits += 1), await released, embedded([input].flat()));
    const file = await upload(api, kShip);
    const store = await api.vectorStores.create({ file_ids: [file.id] });
    await until(() => waits > 0, "the file is being embedded");
    assert.equal((await api.vectorStores.files.retrieve(file.id, { vector_store_id: store.id })).status, "in_progress");
    assert.equal((await api.vectorStores.retrieve(store.id)).status, "in_progress");
    await api.files.delete(file.id);
    release();
    const other = await upload(api, kGarden);
    await api.vectorStores.files.createAndPoll(store.id, { file_id: other.id }, { pollIntervalMs: 20 });
    assert.deepEqual((await search(api, store.id, "mast")).map(({ file_id: id }) => id), [other.id]);
    await until(async () => (await readdir(folder)).length === 4, "only the store, the other file, its entry and its vectors are left");
  });

  test("embedding is retried when the embedding server fails", async () => {
    await begin();
    const api = client();
    let broken = true;
    const answer = embedder.answer;
    embedder.answer = (received) => (broken ? { status: 500, body: {} } : answer(received));
    const file = await upload(api, kShip);
    const store = await api.vectorStores.create({ file_ids: [file.id] });
    await until(() => /it is tried again/.test(daemon.log), "the failure is in the log");
    assert.doesNotMatch(daemon.log, /mast/);
    broken = false;
    await embeddedAll(api, store.id, 1);
    assert.equal((await search(api, store.id, "mast")).length, 1);
  });
});

describe("acknowledged files", () => {
  test("acknowledged files survive a kill", async () => {
    await begin();
    const { store, files } = await storeOf(client(), { "ship.txt": kShip, "garden.txt": kGarden });
    const before = await search(client(), store.id, "mast of the ship");
    let calls = 0;
    const answer = embedder.answer;
    embedder.answer = (received) => ((calls += [received.input].flat().length), answer(received));
    await killAndBegin();
    assert.equal(calls, 0);
    assert.deepEqual(await search(client(), store.id, "mast of the ship"), before);
    assert.equal(await (await client().files.content(files[1].id)).text(), kGarden);
    await client().vectorStores.files.delete(files[1].id, { vector_store_id: store.id });
    await client().files.delete(files[1].id);
    await killAndBegin();
    assert.deepEqual((await client().files.list()).data.map(({ id }) => id), [files[0].id]);
    assert.deepEqual(namesOf(await search(client(), store.id, "sun and water")), ["ship.txt"]);
  });

  test("embedding goes on after a kill in the middle of the work", async () => {
    await begin();
    let waits = 0;
    const answer = embedder.answer;
    embedder.answer = () => ((waits += 1), new Promise(() => {}));
    const file = await upload(client(), kShip);
    const store = await client().vectorStores.create({ file_ids: [file.id] });
    await until(() => waits > 0, "the file is being embedded");
    embedder.answer = answer;
    await killAndBegin();
    await embeddedAll(client(), store.id, 1);
    assert.equal((await search(client(), store.id, "mast")).length, 1);
  });

  test("a damaged file is left out and reported", async () => {
    await begin();
    const { store, files } = await storeOf(client(), { "ship.txt": kShip, "garden.txt": kGarden, "third.txt": "A third text." });
    const names = await readdir(folder);
    await writeFile(join(folder, `${files[1].id}.file`), "half");
    for (const name of names.filter((each) => each.endsWith(".vectors"))) {
      const bytes = await readFile(join(folder, name));
      bytes[bytes.length - 3] ^= 0x40;
      await writeFile(join(folder, name), bytes);
    }
    await writeFile(join(folder, "vs_other.store"), '{"id": 1}');
    await writeFile(join(folder, "file-sb-x.file.partial"), "rest of a write");
    await killAndBegin();
    for (const name of [`${files[1].id}.file: `, "vs_other.store: "]) await until(() => daemon.log.includes(name), name);
    await embeddedAll(client(), store.id, 2);
    assert.deepEqual(namesOf(await search(client(), store.id, "mast of the ship")).sort(), ["ship.txt", "third.txt"]);
    assert.ok(!(await readdir(folder)).includes("file-sb-x.file.partial"));
  });

  test("files are embedded again for another model, and vectors of two models are never compared", async () => {
    await begin();
    const { store } = await storeOf(client(), { "ship.txt": kShip });
    await writeFile(daemon.file, (await readFile(daemon.file, "utf8")).replace("model: e,", "model: other,"));
    await until(() => /files of vector stores are embedded by/.test(daemon.log), "the file is embedded anew");
    await embeddedAll(client(), store.id, 1);
    const [found] = await search(client(), store.id, kShip);
    assert.ok(found.score > 0.99, `${found.score}`);
    await killAndBegin({ name: "other" });
    assert.ok((await search(client(), store.id, kShip))[0].score > 0.99);
    await killAndBegin();
    await embeddedAll(client(), store.id, 1);
    assert.ok((await search(client(), store.id, kShip))[0].score > 0.99);
  });
});

describe("owners", () => {
  const keys = `access: {keys: [{name: k-ann, hash: "${hashOf("key-a")}", user: ann}, {name: k-bob, hash: "${hashOf("key-b")}", user: bob}]}`;

  test("owners cannot reach files and stores of other owners", async () => {
    await begin({ access: keys });
    const [ann, bob] = [client("key-a"), client("key-b")];
    const { store, files } = await storeOf(ann, { "ship.txt": kShip });
    const [file] = files;
    const own = await upload(bob, kGarden);
    assert.deepEqual((await bob.files.list()).data.map(({ id }) => id), [own.id]);
    assert.deepEqual((await bob.vectorStores.list()).data, []);
    const ownStore = await bob.vectorStores.create({});
    for (const attempt of [
      () => bob.files.retrieve(file.id),
      () => bob.files.content(file.id),
      () => bob.files.delete(file.id),
      () => bob.vectorStores.retrieve(store.id),
      () => bob.vectorStores.update(store.id, { name: "mine" }),
      () => bob.vectorStores.delete(store.id),
      () => search(bob, store.id, "mast"),
      () => bob.vectorStores.files.list(store.id),
      () => bob.vectorStores.files.create(store.id, { file_id: own.id }),
      () => bob.vectorStores.files.create(ownStore.id, { file_id: file.id }),
      () => bob.vectorStores.files.delete(file.id, { vector_store_id: store.id }),
      () => bob.vectorStores.create({ file_ids: [file.id] }),
      () => operator().vectorStores.retrieve(store.id),
      () => operator().files.retrieve(file.id),
    ]) await fails(attempt(), 404);
    await fails(client("wrong").files.list(), 401);
    assert.equal((await search(ann, store.id, "mast")).length, 1);
    for (const name of await readdir(folder)) assert.doesNotMatch(await readFile(join(folder, name), "utf8"), /\bann\b|key-a/);
  });

  test("an operator can delete all files and stores of a user", async () => {
    await begin({ access: keys });
    const [ann, bob] = [client("key-a"), client("key-b")];
    await storeOf(ann, { "ship.txt": kShip });
    const kept = await storeOf(bob, { "garden.txt": kGarden });
    const remove = async (query) => {
      const answer = await fetch(`${daemon.managementUrl}/v1/files${query}`, { method: "DELETE" });
      return [answer.status, await answer.json()];
    };
    assert.equal((await remove(""))[0], 400);
    assert.deepEqual(await remove("?user_id=nobody"), [200, { deleted: true, files: 0, vector_stores: 0 }]);
    assert.deepEqual(await remove("?user_id=ann"), [200, { deleted: true, files: 1, vector_stores: 1 }]);
    assert.deepEqual([(await ann.files.list()).data, (await ann.vectorStores.list()).data], [[], []]);
    assert.deepEqual(namesOf(await search(bob, kept.store.id, "tomatoes")), ["garden.txt"]);
    assert.equal((await readdir(folder)).length, 4);
    assert.equal((await fetch(`${daemon.url}/v1/files?user_id=bob`, { method: "DELETE", headers: { authorization: "Bearer key-a" } })).status, 405);
    await killAndBegin({ access: keys });
    assert.deepEqual((await client("key-a").files.list()).data, []);
  });

  test("owners have limits", async () => {
    await begin({ access: keys, store: "owner_bytes_max: 65536, owner_files_max: 3, owner_stores_max: 2" });
    const [ann, bob] = [client("key-a"), client("key-b")];
    await fails(upload(ann, "x ".repeat(40_000)), 413, /an owner may have 65536/);
    for (let i = 0; i < 3; ++i) await upload(ann, `Text ${i}`);
    await fails(upload(ann, "more"), 413, /an owner may have 3 files/);
    for (let i = 0; i < 2; ++i) await ann.vectorStores.create({});
    await fails(ann.vectorStores.create({}), 413, /an owner may have 2 vector stores/);
    await upload(bob, kGarden);
  });
});

describe("operators", () => {
  test("operators search with the permission to read, and a search is not a change", async () => {
    Object.assign(process.env, { STORES_TEST_ADMIN: "stores-admin", STORES_TEST_READER: "stores-reader" });
    const auth = "auth: {mode: bearer, roles: {admin: ['*'], reader: [replay.detail]}, tokens: [{env: STORES_TEST_ADMIN, role: admin}, {env: STORES_TEST_READER, role: reader}]}";
    await begin({ services: "audit: {file: audit.log},", management_more: `, ${auth}` });
    const [admin, reader] = ["stores-admin", "stores-reader"].map((token) => client(token, daemon.managementUrl));
    const { store, files } = await storeOf(admin, { "ship.txt": kShip });
    assert.deepEqual(namesOf(await search(reader, store.id, "mast")), ["ship.txt"]);
    assert.equal((await reader.files.list()).data.length, 1);
    for (const attempt of [
      () => reader.vectorStores.create({}),
      () => reader.vectorStores.update(store.id, { name: "search" }),
      () => reader.vectorStores.files.update("search", { vector_store_id: store.id, attributes: {} }),
      () => reader.files.delete(files[0].id),
      () => reader.delete("/files?user_id=ann"),
    ]) await fails(attempt(), 403);
    await admin.delete("/files?user_id=ann");
    const changes = async () => (await readFile(join(daemon.folder, "audit.log"), "utf8")).split("\n").filter((line) => line.includes('"event":"change"'));
    await until(async () => (await changes()).some((line) => line.includes('"what":"files and vector stores of ann"')), "the entry of the deletion");
    assert.deepEqual((await changes()).map((line) => JSON.parse(line)).map(({ method, path }) => `${method} ${path}`), ["POST /v1/files", "POST /v1/vector_stores", "DELETE /v1/files"]);
  });
});

describe("the plugin rag with the backend vectorstore", () => {
  test("the backend vectorstore adds the operators' documents", async () => {
    await begin({ decisions: rag("vector_store_id: library", "similarity_threshold: 0.3,") });
    assert.deepEqual([(await ask("How high is the mast of the ship?")).rag, model.received.messages.length], ["failed", 1]);
    const { store, files } = await storeOf(operator(), { "ship.txt": kShip, "garden.txt": kGarden });
    const { rag: outcome } = await ask("How high is the mast of the ship?");
    assert.equal(outcome, "added");
    assert.equal(model.received.messages.at(-1).content, kShip);
    assert.equal((await ask("penguins")).rag, "nothing");
    await until(async () => /signalbox_rag_total\{[^}]*outcome="added"[^}]*\} 1\n/.test(await metrics()));
    await fails(client().vectorStores.retrieve(store.id), 404);
    await killAndBegin({ decisions: rag(`vector_store_id: ${store.id}, file_ids: [${files[1].id}]`) });
    assert.equal((await ask("How high is the mast of the ship?")).rag, "added");
    assert.equal(model.received.messages.at(-1).content, kGarden);
  });

  test("the backend vectorstore never reads a client's store", async () => {
    await begin({ decisions: rag("vector_store_id: library", "on_failure: block,") });
    await storeOf(client(), { "ship.txt": kShip });
    const { status, body } = await ask("How high is the mast of the ship?");
    assert.equal(status, 502, body);
    assert.equal(model.received, undefined);
  });

  test("the backend vectorstore can be the fallback of another backend", async () => {
    const hybrid = `[{name: answers, plugins: [{type: rag, configuration: {backend: hybrid, top_k: 1, backend_config: {primary: openai, primary_config: {base_url: "http://127.0.0.1:1", vector_store_id: v}, fallback: vectorstore, fallback_config: {vector_store_id: library}}}}]}]`;
    await begin({ decisions: hybrid });
    await storeOf(operator(), { "ship.txt": kShip });
    assert.equal((await ask("How high is the mast?")).rag, "added");
    assert.equal(model.received.messages.at(-1).content, kShip);
  });

  test("the backend vectorstore is refused while no documents are stored", async () => {
    await begin({ store: "backend_type: milvus", decisions: rag("vector_store_id: library") });
    const { status, body } = await ask("anything");
    assert.equal(status, 501, body);
    assert.match(body, /global\.stores\.vector_store is not enabled/);
    await until(() => /milvus is not supported, only memory/.test(daemon.log), "the notice");
    await fails(operator().files.list(), 501, /not enabled/);
    await fails(client().vectorStores.list(), 404);
  });
});
