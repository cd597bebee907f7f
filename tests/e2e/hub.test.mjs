// `signalbox models pull hf:OWNER/NAME` against a server that speaks the hub's HTTP (hub.mjs).

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { Hub } from "./hub.mjs";
import { adapter, kConfig, kTokenizer, kVocabulary, modelFiles, onnx, safetensors, sentencePiece, shards, tensors, torch } from "./hub_models.mjs";

let hub, folder;
beforeEach(async () => {
  hub = await Hub.start();
  folder = await mkdtemp(join(tmpdir(), "hub-"));
});
afterEach(async () => {
  hub.stop();
  await rm(folder, { recursive: true, force: true });
});

const path = (...parts) => join(folder, "models", ...parts);
const environment = (extra = {}) => {
  const { HF_TOKEN, SIGNALBOX_MIRROR, ...rest } = process.env;
  return { ...rest, HF_ENDPOINT: hub.url, ...extra };
};

// Runs the program in the test's folder; returns {status, out, err}.
function run(words, { env = {}, input } = {}) {
  return new Promise((resolve) => {
    const child = execFile(process.env.SIGNALBOX, words, { cwd: folder, env: environment(env), encoding: "utf8" },
      (error, out, err) => resolve({ status: error ? error.code : 0, out, err }));
    child.stdin.end(input ?? "");
  });
}
const pull = (name, env, ...more) => run(["models", "pull", name, ...more], { env });
async function pulled(...args) {
  const result = await pull(...args);
  assert.equal(result.status, 0, result.err);
  return result;
}
async function refused(pattern, ...args) {
  const result = await pull(...args);
  assert.notEqual(result.status, 0, result.err);
  assert.match(result.err, pattern);
  return result;
}
const bytes = (...parts) => readFile(path(...parts));
const same = async (file, expected) => assert.ok((await bytes(...file)).equals(Buffer.from(expected)), file.join("/"));
const nothingInstalled = async () => assert.deepEqual(existsSync(path()) ? await readdir(path()) : [], []);
const record = async (name) => JSON.parse(await readFile(path(name, "pulled.json"), "utf8"));

test("a repository becomes a model directory with only the files that are needed", async () => {
  const commit = hub.add("owner/tiny", modelFiles());
  const { err } = await pulled("hf:owner/tiny");
  assert.match(err, /tiny: 3 files fetched and verified in models\/tiny; the engine opens the model/);
  assert.match(err, /licence: apache-2.0/);
  assert.deepEqual((await readdir(path("tiny"))).sort(), ["config.json", "model.safetensors", "pulled.json", "tokenizer.json"]);
  await same(["tiny", "model.safetensors"], modelFiles()["model.safetensors"]);
  assert.equal((await record("tiny")).commit, commit);
  assert.deepEqual(await readdir(path()), ["tiny"]);
  assert.ok(!hub.requests.some(({ url }) => url.includes("training_state")));
  const embedded = await run(["embed", "--model", "tiny"], { input: '{"text": "the cat"}\n' });
  assert.equal(JSON.parse(embedded.out).embedding.length, 8, embedded.err);
});

test("--to names the folder, and a second pull sends no request", async () => {
  hub.add("owner/tiny", modelFiles());
  await pulled("hf:owner/tiny", {}, "--to", "else where");
  assert.ok(existsSync(join(folder, "else where/tiny/config.json")));
  hub.requests = [];
  const { err } = await pulled("hf:owner/tiny", { HF_ENDPOINT: "http://127.0.0.1:1" }, "--to", "else where");
  assert.match(err, /tiny: nothing to fetch, 3 files verified in else where\/tiny/);
  assert.equal(hub.requests.length, 0);
});

test("a revision is a branch, a tag or a commit", async () => {
  const commit = hub.add("owner/tiny", modelFiles(), { revisions: ["refs/pr/1", "v1.0"] });
  for (const revision of ["v1.0", "refs/pr/1", commit]) {
    await pulled(`hf:owner/tiny@${revision}`);
    assert.equal((await record("tiny")).commit, commit);
  }
  assert.ok(hub.requests.some(({ url }) => url.includes("/revision/refs%2Fpr%2F1?")));
  assert.ok(hub.seen("hub").some(({ url }) => url === `/owner/tiny/resolve/${commit}/config.json`));
  await refused(/hf:owner\/tiny@v9: the repository has no such revision/, "hf:owner/tiny@v9");
});

test("a new version replaces the files, and a branch is followed only when it is named", async () => {
  const old = hub.add("owner/tiny", shardFiles());
  await pulled("hf:owner/tiny");
  const commit = hub.add("owner/tiny", modelFiles());
  assert.notEqual(commit, old);
  assert.match((await pulled("hf:owner/tiny")).err, /nothing to fetch/);
  await pulled("hf:owner/tiny@main");
  assert.equal((await record("tiny")).commit, commit);
  assert.deepEqual((await readdir(path("tiny"))).sort(), ["config.json", "model.safetensors", "pulled.json", "tokenizer.json"]);
});

const shardFiles = () => ({ "config.json": kConfig, "tokenizer.json": kTokenizer, ...shards(tensors()) });

test("weights in several files are fetched as the index lists them", async () => {
  hub.add("owner/tiny", { ...shardFiles(), "model-00003-of-00002.safetensors": "x".repeat(900) });
  await pulled("hf:owner/tiny");
  assert.equal((await readdir(path("tiny"))).filter((name) => name.startsWith("model-")).length, 2);
});

test("an index that names a file outside, or one that is not there, is refused", async () => {
  for (const [name, pattern] of [["../../etc/passwd", /is not a plain file name/], ["gone.safetensors", /lists gone\.safetensors, which the repository does not have/]]) {
    hub.add("owner/tiny", { ...shardFiles(), "model.safetensors.index.json": JSON.stringify({ weight_map: { a: name } }) });
    await refused(pattern, "hf:owner/tiny");
    await nothingInstalled();
  }
});

test("steps of sentence-transformers and label maps come along", async () => {
  hub.add("owner/tiny", {
    ...modelFiles(), "modules.json": JSON.stringify([{ idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" }, { idx: 1, name: "1", path: "1_Pooling", type: "sentence_transformers.models.Pooling" }]),
    "1_Pooling/config.json": JSON.stringify({ word_embedding_dimension: 8, pooling_mode_cls_token: true }),
    "1_Pooling/notes.txt": "no", "category_mapping.json": JSON.stringify({ idx_to_category: { 0: "law" } }), "sentence_bert_config.json": '{"max_seq_length": 12}',
  });
  await pulled("hf:owner/tiny");
  assert.deepEqual((await readdir(path("tiny"))).sort(), ["1_Pooling", "category_mapping.json", "config.json", "model.safetensors", "modules.json", "pulled.json", "sentence_bert_config.json", "tokenizer.json"]);
  assert.deepEqual(await readdir(path("tiny/1_Pooling")), ["config.json"]);
});

test("PyTorch and ONNX are converted on the way and give the same weights", async () => {
  const { "model.safetensors": _, ...rest } = modelFiles();
  hub.add("owner/tiny", modelFiles());
  await pulled("hf:owner/tiny");
  const embed = async (model) => (await run(["embed", "--model", model], { input: '{"text": "a mat"}\n' })).out;
  for (const [file, content] of [["pytorch_model.bin", torch(tensors())], ["onnx/model.onnx", onnx(tensors())]]) {
    hub.add("owner/old", { ...rest, [file]: content });
    assert.match((await pulled("hf:owner/old")).err, new RegExp(`old: converting ${file}`));
    assert.deepEqual((await readdir(path("old"))).sort(), ["config.json", "model.safetensors", "pulled.json", "tokenizer.json"]);
    assert.equal(await embed("old"), await embed("tiny"));
    assert.equal((await record("old")).converted_from[0].path, file);
    assert.match((await pulled("hf:owner/old")).err, /nothing to fetch/);
    await rm(path("old"), { recursive: true });
  }
});

// A package of npm with a list of its files, as the built-in list has them, and an npm that unpacks it.
async function listedPackage(name, files) {
  const lines = [];
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, "bin", "package"), { recursive: true });
    await writeFile(join(folder, "bin", "package", path), content);
    const bytes = Buffer.from(content);
    lines.push(`          - {name: ${path}, path: ${path}, bytes: ${bytes.length}, sha256: ${createHash("sha256").update(bytes).digest("hex")}}`);
  }
  await writeFile(join(folder, "bin", "npm"), '#!/bin/sh\nwhile [ "$1" != --prefix ]; do shift; done\nmkdir -p "$2/node_modules/@some" && cp -R "$(dirname "$0")/package" "$2/node_modules/@some/"\n', { mode: 0o755 });
  await writeFile(join(folder, "list.yaml"), `default: [${name}]\nmodels:\n  ${name}:\n    summary: s\n    licence: MIT\n    sources:\n      - npm: "@some/package"\n        version: 1.0.0\n        files:\n${lines.join("\n")}\n`);
}

test("a listed model with ONNX only is converted on the way, and again if its weights change", async () => {
  const { "model.safetensors": _, ...rest } = modelFiles();
  await listedPackage("tiny", { ...rest, "model.onnx": onnx(tensors()) });
  const list = ["--manifest", "list.yaml"], env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  assert.match((await pulled("tiny", env, ...list)).err, /tiny: \d of \d files fetched .*\ntiny: converting model\.onnx/);
  hub.add("owner/same", modelFiles());
  await pulled("hf:owner/same");
  const embed = async (model) => (await run(["embed", "--model", model], { input: '{"text": "a mat"}\n' })).out;
  assert.equal(await embed("tiny"), await embed("same"));
  assert.doesNotMatch((await pulled("tiny", env, ...list)).err, /converting/);
  await writeFile(path("tiny", "model.onnx"), "damaged");
  assert.match((await pulled("tiny", env, ...list)).err, /fetching it again[^]*converting model\.onnx/);
  await rm(path("tiny", "model.safetensors"));
  assert.match((await run(["models", "list", "--json", ...list])).out, /"name":"tiny".*"state":"part"/);
  assert.match((await pulled("tiny", env, ...list)).err, /nothing to fetch[^]*converting model\.onnx/);
  assert.equal(await embed("tiny"), await embed("same"));
  // The weights made from a file that changes do not outlive a pull that ends before their conversion.
  const npm = await readFile(join(folder, "bin", "npm"));
  await writeFile(path("tiny", "model.onnx"), "damaged");
  await writeFile(join(folder, "bin", "npm"), "#!/bin/sh\nexit 1\n");
  await refused(/npm exited with status 1/, "tiny", env, ...list);
  assert.ok(!existsSync(path("tiny", "model.safetensors")));
  await writeFile(join(folder, "bin", "npm"), npm);
  assert.match((await pulled("tiny", env, ...list)).err, /fetching it again[^]*converting model\.onnx/);
  assert.equal(await embed("tiny"), await embed("same"));
});

test("a listed model that the engine cannot open after its conversion fails in every pull", async () => {
  const { "model.safetensors": _, ...rest } = modelFiles();
  const { "embeddings.LayerNorm.bias": __, ...some } = tensors();
  await listedPackage("tiny", { ...rest, "model.onnx": onnx(some) });
  const list = ["--manifest", "list.yaml"], env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  for (const found of [/files fetched/, /nothing to fetch/]) {
    const { err } = await refused(/cannot open this model[^]*embeddings\.LayerNorm\.bias/, "tiny", env, ...list);
    assert.match(err, found);
    assert.ok(!existsSync(path("tiny", "model.safetensors")));
  }
});

test("a progress bar is drawn on a terminal and nowhere else", async () => {
  hub.add("owner/tiny", modelFiles());
  const onTerminal = await new Promise((resolve) => execFile("script", ["-qec", `${process.env.SIGNALBOX} models pull hf:owner/tiny`, "/dev/null"],
    { cwd: folder, env: environment(), encoding: "utf8" }, (error, out) => resolve(error ? String(error) : out)));
  assert.match(onTerminal, /\r\x1b\[Ktiny \[[#.]{30}\] +\d+ %  .* of 5416 bytes/);
  assert.doesNotMatch((await pulled("hf:owner/tiny", {}, "--to", "other")).err, /\x1b/);
});

const words = ["\u2581the", "\u2581cat", "\u2581", "c", "t"].map((piece) => [piece, -2]);
const settings = (name) => ({ "tokenizer_config.json": JSON.stringify({ tokenizer_class: name }) });
const pairs = { "vocab.json": JSON.stringify(Object.fromEntries(["<s>", "</s>", "t", "h", "e", "th", "the", "\u0120", "c", "a"].map((piece, id) => [piece, id]))), "merges.txt": "#version: 0.2\nt h\nth e\n" };
// The ids of "the cat" with each.
const kVocabularies = {
  bert: [{ "vocab.txt": kVocabulary.join("\n") + "\n" }, [2, 4, 5, 3]],
  fairseq: [{ ...settings("XLMRobertaTokenizer"), "sentencepiece.bpe.model": sentencePiece([["<unk>", 0, 2], ["<s>", 0, 3], ["</s>", 0, 3], ...words]) }, [0, 4, 5, 2]],
  albert: [{ ...settings("AlbertTokenizer"), "spiece.model": sentencePiece([["<pad>", 0, 3], ["<unk>", 0, 2], ["[CLS]", 0, 3], ["[SEP]", 0, 3], ...words]) }, [2, 4, 5, 3]],
  llama: [{ ...settings("LlamaTokenizer"), "tokenizer.model": sentencePiece([["<unk>", 0, 2], ["<s>", 0, 3], ["</s>", 0, 3], ...words], { removesSpaces: false }) }, [1, 3, 4]],
  mpnet: [{ ...settings("MPNetTokenizer"), "vocab.txt": ["<s>", "<pad>", "</s>", "the", "cat", "[UNK]"].join("\n") }, [0, 3, 4, 2]],
  pairs: [{ ...settings("RobertaTokenizer"), ...pairs }, [0, 6, 7, 8, 9, 2, 1]],
  qwen: [{ ...settings("Qwen2Tokenizer"), ...pairs, "vocab.json": pairs["vocab.json"].replace("<s>", "<|endoftext|>") }, [6, 7, 8, 9, 2]],
};

test("a vocabulary alone becomes a tokenizer", async () => {
  const { "tokenizer.json": _, ...rest } = modelFiles();
  for (const [name, [files, ids]] of Object.entries(kVocabularies)) {
    hub.add(`owner/${name}`, { ...rest, ...files });
    const { err } = await pulled(`hf:owner/${name}`);
    assert.match(err, /converting model\.safetensors/);
    const tokens = await run(["tokenize", "--tokenizer", `models/${name}/tokenizer.json`], { input: '{"text": "the cat"}\n' });
    assert.deepEqual(JSON.parse(tokens.out).ids, ids, `${name}: ${tokens.err}`);
    assert.equal(JSON.parse((await run(["embed", "--model", name], { input: '{"text": "the cat"}\n' })).out).embedding.length > 0, true, name);
    assert.match((await pulled(`hf:owner/${name}`)).err, /nothing to fetch/);
  }
});

test("a vocabulary of an unknown class leaves the model without text, with the reason", async () => {
  const { "tokenizer.json": _, ...rest } = modelFiles();
  hub.add("owner/other", { ...rest, ...settings("BertJapaneseTokenizer"), ...pairs });
  const { err } = await pulled("hf:owner/other");
  assert.match(err, /reads token ids but no text \(tokenizer_class: "BertJapaneseTokenizer" is not supported \(supported: AlbertTokenizer, /);
  assert.doesNotMatch(err, /converting/);
  hub.add("owner/none", rest);
  assert.match((await pulled("hf:owner/none")).err, /reads token ids but no text \(there is no vocabulary either\)/);
});

test("a damaged vocabulary is refused with its name and place", async () => {
  const { "tokenizer.json": _, ...rest } = modelFiles();
  hub.add("owner/odd", { ...rest, ...settings("RobertaTokenizer"), ...pairs, "merges.txt": "t h\nx y\n" });
  await refused(/hf:owner\/odd: .*merges\.txt: line 2: "x" is not in vocab\.json/, "hf:owner/odd");
  hub.add("owner/short", { ...rest, ...settings("AlbertTokenizer"), "spiece.model": sentencePiece(words).subarray(0, 20) });
  await refused(/hf:owner\/short: .*spiece\.model: /, "hf:owner/short");
  await nothingInstalled();
});

test("settings beside a tokenizer.json have an effect, and a contradiction is refused", async () => {
  const embedding = async (name, text) => (await run(["embed", "--model", name], { input: JSON.stringify({ text }) + "\n" })).out;
  const config = (keys) => ({ ...modelFiles(), "tokenizer_config.json": JSON.stringify(keys) });
  hub.add("owner/cased", config({ tokenizer_class: "BertTokenizer", do_lower_case: false, model_max_length: 4 }));
  await pulled("hf:owner/cased");
  assert.notEqual(await embedding("cased", "THE cat"), await embedding("cased", "the cat"));
  assert.equal(await embedding("cased", "the cat sat"), await embedding("cased", "the cat"));
  hub.add("owner/other", config({ added_tokens_decoder: { 9: { content: "[CLS]", special: true } } }));
  await refused(/expected the id 2 for "\[CLS\]", found 9 in added_tokens_decoder\.9 of tokenizer_config\.json/, "hf:owner/other");
});

const kEmptyPrompts = '{"prompts": {"query": "", "document": ""}}';

test("a prompt that only the model's card states comes from the list of models", async () => {
  hub.add("intfloat/e5-small-v2", { ...modelFiles(), "config_sentence_transformers.json": kEmptyPrompts });
  await pulled("e5-small-v2");
  const embed = async (text, ...words) => (await run(["embed", "--model", "e5-small-v2", ...words], { input: `${JSON.stringify({ text })}\n` })).out;
  assert.equal(await embed("the cat", "--as", "query"), await embed("query: the cat"));
  assert.equal(await embed("the cat", "--as", "passage"), await embed("passage: the cat"));
  assert.notEqual(await embed("the cat", "--as", "query"), await embed("the cat"));
  hub.add("other/e5-small-v2", modelFiles());
  await pulled("hf:other/e5-small-v2", {}, "--to", "others");
  const other = await run(["embed", "--model", "others/e5-small-v2", "--as", "query"], { input: '{"text": "the cat"}\n' });
  assert.match(other.err, /the model has no prompts in .*, and the list of models has none for it/);
  // Prompts that are stated to be empty are prompts.
  hub.add("owner/plain", { ...modelFiles(), "config_sentence_transformers.json": kEmptyPrompts });
  await pulled("hf:owner/plain");
  const plain = await run(["embed", "--model", "plain", "--as", "query"], { input: '{"text": "the cat"}\n' });
  assert.equal(plain.out, (await run(["embed", "--model", "plain"], { input: '{"text": "the cat"}\n' })).out, plain.err);
});

// Compares the user's text with an example. models/minilm, which would stand in, does not exist here.
const configuration = (catalog) => `version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: 0}]
providers:
  defaults: {default_model: general}
  models: [{name: general, backend_refs: [{name: echo, type: echo}]}]
routing:
  signals: {embeddings: [{name: sitting, threshold: 0.99, candidates: [the cat sat]}]}
  decisions:
    - {name: cats, rules: {type: embedding, name: sitting}, modelRefs: [{model: general}]}
global: {model_catalog: ${catalog}}
`;
const kEmbedders = {
  "a path": "{embeddings: {semantic: {mmbert_model_path: models/mom-embedding-ultra, embedding_config: {model_type: mmbert, target_dimension: 4}}}}",
  "a binding": `{deployments: {text: {provider: candle, artifact: models/mom-embedding-ultra}},
  bindings: {embedding: {deployment: text, contract: embedding.v1, adapter: modernbert}}}`,
};

for (const [form, catalog] of Object.entries(kEmbedders)) {
  test(`a configuration that names its embedder by ${form} finds it after the command of its notice`, async () => {
    hub.add("llm-semantic-router/mmbert-embed-32k-2d-matryoshka", modelFiles());
    await writeFile(join(folder, "config.yaml"), configuration(catalog));
    const check = async () => (await run(["config", "check", "config.yaml"])).out;
    const notice = (await check()).match(/no model at "models\/mom-embedding-ultra"; fetch it with `signalbox (models pull [^`]+)`; the model at "models\/minilm"/);
    assert.ok(notice, await check());
    assert.equal((await run(notice[1].split(" "))).status, 0);
    assert.doesNotMatch(await check(), /no model at/);
    const { out, err } = await run(["route", "--config", "config.yaml"], { input: '{"text": "the cat sat"}\n' });
    assert.equal(JSON.parse(out).decision, "cats", out + err);
  });
}

test("an adapter brings its base model", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.add("other/tuned", { ...adapter("owner/tiny"), "vocab.txt": kVocabulary.join("\n") });
  const { err } = await pulled("hf:other/tuned");
  assert.match(err, /tuned: an adapter of owner\/tiny, which is needed too/);
  assert.deepEqual((await readdir(path())).sort(), ["tiny", "tuned"]);
  const embed = async (model) => JSON.parse((await run(["embed", "--model", model], { input: '{"text": "a mat"}\n' })).out).embedding;
  assert.notDeepEqual(await embed("tuned"), await embed("tiny"));
});

test("a model that the engine does not support is refused before its weights are fetched", async () => {
  hub.add("owner/other", { ...modelFiles(), "config.json": JSON.stringify({ ...JSON.parse(kConfig), model_type: "warbler" }) });
  await refused(/hf:owner\/other: the engine does not support this model: config\.json: model_type: "warbler" is not supported/, "hf:owner/other");
  assert.equal(hub.seen("store").filter(({ url }) => url.includes("model.safetensors")).length, 0);
  await nothingInstalled();
});

test("a model whose tensors do not fit its configuration is refused with the reason", async () => {
  const { "embeddings.LayerNorm.bias": _, ...lacking } = tensors();
  hub.add("owner/tiny", { ...modelFiles(), "model.safetensors": safetensors(lacking) });
  await refused(/hf:owner\/tiny: the engine cannot open this model: .*embeddings\.LayerNorm\.bias/, "hf:owner/tiny");
  await nothingInstalled();
});

test("a repository without usable weights is refused with a list of what it has", async () => {
  hub.add("owner/tiny", { "config.json": kConfig, "flax_model.msgpack": "x" });
  await refused(/no weights that can be read \(expected one of model\.safetensors, .*\); it has config\.json, flax_model\.msgpack/, "hf:owner/tiny");
  await nothingInstalled();
});

test("the token goes to the hub and never to the host of a redirect", async () => {
  hub.add("owner/secret", modelFiles(), { private: true });
  const { err } = await pulled("hf:owner/secret", { HF_TOKEN: Hub.token });
  assert.ok(hub.seen("hub").every(({ token }) => token === Hub.token));
  assert.ok(hub.seen("store").length > 0);
  assert.ok(hub.seen("store").every(({ token }) => token === ""));
  assert.doesNotMatch(err, /hf_secret/);
});

test("the token is not in the arguments of any process", async () => {
  hub.add("owner/secret", modelFiles(), { private: true });
  let seen = "";
  hub.fault.cut = [100];
  hub.fault.hang = async () => {
    for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      seen += await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
    }
    hub.fault.hang = undefined;
    hub.store.server.closeAllConnections();
  };
  await pulled("hf:owner/secret", { HF_TOKEN: Hub.token });
  assert.match(seen, /curl/);
  assert.doesNotMatch(seen, /hf_secret/);
});

test("a token is not sent without TLS to another machine", async () => {
  await refused(/HF_TOKEN would be sent unencrypted to http:\/\/hub\.example; use https/, "hf:owner/tiny", { HF_TOKEN: "t", HF_ENDPOINT: "http://hub.example/" });
  await refused(/HF_TOKEN: expected a token/, "hf:owner/tiny", { HF_TOKEN: 'a"\nurl = "http://x' });
  await refused(/HF_ENDPOINT: expected an address/, "hf:owner/tiny", { HF_ENDPOINT: "ftp://hub.example" });
  await nothingInstalled();
});

test("errors on a missing, a private and a gated repository name the remedy", async () => {
  hub.add("owner/gated", modelFiles(), { gated: "manual" });
  await refused(/hf:owner\/none: not found \(HTTP 401\): the name is misspelt, or the repository is private or gated and HF_TOKEN is not set/, "hf:owner/none");
  await refused(/hf:owner\/none: .* and the token in HF_TOKEN may not read it/, "hf:owner/none", { HF_TOKEN: "hf_other" });
  const gated = new RegExp(`hf:owner/gated: access is restricted \\(HTTP 403\\): accept its conditions at ${hub.url}/owner/gated and set HF_TOKEN`);
  await refused(gated, "hf:owner/gated", { HF_TOKEN: "hf_other" });
  await nothingInstalled();
});

test("a renamed repository is followed on the same host", async () => {
  hub.add("new/tiny", modelFiles());
  hub.repositories["old/tiny"] = { renamed: "new/tiny" };
  await pulled("hf:old/tiny", { HF_TOKEN: Hub.token });
  assert.match((await pulled("hf:old/tiny")).err, /nothing to fetch/);
});

test("a pull waits for a busy hub as long as the hub requests", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.fault = { busy: 2, retryAfter: "1", broken: 1 };
  const start = Date.now();
  const { err } = await pulled("hf:owner/tiny");
  assert.ok(Date.now() - start >= 2000);
  assert.match(err, /tiny: HTTP 429; the hub replied "Too many requests"; trying again in 1\.0 s/);
  assert.match(err, /tiny: HTTP 503; trying again in/);
  hub.fault = { busy: 1, retryAfter: "4000" };
  await refused(/requires a wait of 4000 s, so try again later/, "hf:owner/tiny@main");
});

test("a cut connection is resumed where it ended", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.fault.cut = [700, 900];
  const { err } = await pulled("hf:owner/tiny");
  assert.match(err, /tiny: .*trying again in 0\.5 s/);
  await same(["tiny", "model.safetensors"], modelFiles()["model.safetensors"]);
  assert.deepEqual(hub.seen("store").map(({ range }) => range), [undefined, "bytes=700-", "bytes=1600-"]);
});

test("an interrupted or killed pull is continued by the next one", async () => {
  hub.add("owner/tiny", modelFiles());
  for (const signal of ["SIGINT", "SIGKILL"]) {
    await rm(path(), { recursive: true, force: true });
    const child = spawn(process.env.SIGNALBOX, ["models", "pull", "hf:owner/tiny"], { cwd: folder, env: environment(), stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("exit", (status) => resolve(status)));
    hub.requests = [];
    hub.fault = { cut: [1000], hang: () => child.kill(signal) };
    assert.equal(await ended, signal === "SIGINT" ? 130 : null);
    hub.store.server.closeAllConnections();
    hub.fault = {};
    assert.ok(!existsSync(path("tiny/config.json")));
    await pulled("hf:owner/tiny");
    await same(["tiny", "model.safetensors"], modelFiles()["model.safetensors"]);
    assert.ok(hub.seen("store").some(({ range }) => range === "bytes=1000-"), JSON.stringify(hub.requests));
  }
});

test("a server without ranges sends the file anew", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.fault = { cut: [500], noRanges: true };
  await pulled("hf:owner/tiny");
  await same(["tiny", "model.safetensors"], modelFiles()["model.safetensors"]);
});

test("a pull fails after some attempts if the server always cuts the connection", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.fault = { cut: Array(20).fill(0) };
  const { status, err } = await pull("hf:owner/tiny");
  assert.equal(status, 1);
  assert.match(err, /hf:owner\/tiny: .*: 6 attempts failed; the last: /);
});

test("a wrong sum is refused with both sums, and nothing stays", async () => {
  hub.add("owner/tiny", modelFiles());
  const wrong = Buffer.from(modelFiles()["model.safetensors"]);
  wrong[wrong.length - 1] ^= 1;
  hub.fault.bytes = { "model.safetensors": wrong };
  const sum = (data) => createHash("sha256").update(data).digest("hex");
  await refused(new RegExp(`model\\.safetensors: expected sha256 ${sum(modelFiles()["model.safetensors"])}, found ${sum(wrong)}`), "hf:owner/tiny");
  await nothingInstalled();
});

test("a small file is checked by git's digest", async () => {
  const small = JSON.stringify({ max_seq_length: 12 });
  hub.add("owner/tiny", { ...modelFiles(), "sentence_bert_config.json": small }, {
    edit: (listing) => { listing.siblings.find(({ rfilename }) => rfilename.startsWith("sentence")).blobId = "0".repeat(40); return listing; },
  });
  await refused(/sentence_bert_config\.json: expected git's digest 0{40}, found [0-9a-f]{40}/, "hf:owner/tiny");
});

test("a wrong size is refused, whether it is stated or sent", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.fault.linkedSize = 7;
  await refused(/expected \d+ bytes, the hub now states "7"/, "hf:owner/tiny");
  hub.fault = { etag: "1".repeat(64) };
  await refused(/expected sha256 [0-9a-f]{64}, the hub now states "1{64}"/, "hf:owner/tiny");
  hub.fault = { bytes: { "model.safetensors": Buffer.concat([modelFiles()["model.safetensors"], Buffer.alloc(9)]) } };
  await refused(/model\.safetensors: (the server sends more than the expected|expected) \d+ bytes/, "hf:owner/tiny");
  hub.fault = { bytes: { "model.safetensors": modelFiles()["model.safetensors"].subarray(0, 900) } };
  await refused(/model\.safetensors: expected \d+ bytes, found 900/, "hf:owner/tiny");
  await nothingInstalled();
});

test("names that leave the folder are refused", async () => {
  for (const name of ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "a\0b", "a//b", ".", "1_Pooling/../../x", ""]) {
    hub.add("owner/tiny", modelFiles(), { edit: (listing) => ({ ...listing, siblings: [...listing.siblings, { rfilename: name, size: 1, blobId: "0".repeat(40) }] }) });
    await refused(/hf:owner\/tiny: the hub's answer: \.siblings\[5\]\.rfilename: expected a path inside the repository/, "hf:owner/tiny");
    await nothingInstalled();
  }
});

test("answers that are not metadata are refused", async () => {
  hub.add("owner/tiny", modelFiles());
  const cases = [
    ["<html>", /the hub's answer/], ["[]", /expected an object/], ["{}", /\.sha: expected a commit/], ['{"sha": 7}', /\.sha: expected a string/],
    [`{"sha": "${"0".repeat(40)}"}`, /\.siblings: expected a list of files/],
    [`{"sha": "${"0".repeat(40)}", "siblings": [{"rfilename": "a"}]}`, /\.siblings\[0\]\.size: expected the file's size/],
    [`{"sha": "${"0".repeat(40)}", "siblings": [{"rfilename": "a", "size": -1}]}`, /\.siblings\[0\]\.size: expected a number of bytes, found "-1"/],
    [`{"sha": "${"0".repeat(40)}", "siblings": [{"rfilename": "a", "size": 1}, {"rfilename": "a", "size": 1}]}`, /expected a file that is not listed twice/],
    ["[".repeat(100_000), /the hub's answer/], [`{"sha": "${"0".repeat(40)}", "siblings": [${'{"rfilename":"a","size":1},'.repeat(10)}`, /the hub's answer/],
    [" ".repeat(34 << 20), /the server sends more than the expected|bytes/],
  ];
  for (const [json, pattern] of cases) {
    hub.fault.json = json;
    await refused(pattern, "hf:owner/tiny");
  }
  await nothingInstalled();
});

test("invalid names are refused without a request", async () => {
  for (const name of ["hf:", "hf:a/b/c", "hf:../x", "hf:a/..", "hf:-x/y", "hf:a b/c", "hf:a/b@", "hf:a/b@../c", "hf:a/b@-x", "hf:a/b?c"]) {
    const { status, err } = await pull(name);
    assert.equal(status, 2, err);
    assert.match(err, /expected hf:OWNER\/NAME or hf:OWNER\/NAME@REVISION/);
  }
  assert.equal(hub.requests.length, 0);
});

test("a damaged file is fetched again, and a changed sum of the same commit is refused", async () => {
  hub.add("owner/tiny", modelFiles());
  await pulled("hf:owner/tiny");
  await writeFile(path("tiny/config.json"), "{}");
  hub.requests = [];
  assert.match((await pulled("hf:owner/tiny")).err, /config\.json: expected \d+ bytes, found 2; fetching it again/);
  await same(["tiny", "config.json"], kConfig);
  assert.equal(hub.seen("store").length, 0, "the good files are kept");
  await rm(path("tiny/tokenizer.json"));
  hub.repositories["owner/tiny"].files["tokenizer.json"] = Buffer.from(kTokenizer + " ");
  await refused(/tokenizer\.json: sha256 [0-9a-f]{64} was recorded for this file when it was first fetched; the file that comes now has [0-9a-f]{64}/, "hf:owner/tiny");
});

test("a folder with something else is left alone", async () => {
  hub.add("owner/tiny", modelFiles());
  hub.add("other/tiny", modelFiles());
  await mkdir(path("tiny"), { recursive: true });
  await writeFile(path("tiny/config.json"), "mine");
  await refused(/models\/tiny holds a model that this command has not put there/, "hf:owner/tiny");
  assert.equal(await readFile(path("tiny/config.json"), "utf8"), "mine");
  await rm(path("tiny"), { recursive: true });
  await pulled("hf:owner/tiny");
  await refused(/models\/tiny holds owner\/tiny; choose another folder with --to/, "hf:other/tiny");
});

test("a mirror folder replaces the hub", async () => {
  hub.add("owner/tiny", modelFiles());
  await pulled("hf:owner/tiny", {}, "--to", "mirror/owner");
  hub.requests = [];
  await pulled("hf:owner/tiny", {}, "--mirror", "mirror");
  await same(["tiny", "model.safetensors"], modelFiles()["model.safetensors"]);
  assert.equal(hub.requests.length, 0);
  await rm(path("tiny"), { recursive: true });
  await writeFile(join(folder, "mirror/owner/tiny/tokenizer.json"), kTokenizer + " ");
  await refused(/tokenizer\.json: expected \d+ bytes, found \d+/, "hf:owner/tiny", { SIGNALBOX_MIRROR: "mirror" });
  await refused(/hf:owner\/none: the mirror does not have it; searched: mirror\/owner\/none, mirror\/models--owner--none\/snapshots/, "hf:owner/none", { SIGNALBOX_MIRROR: "mirror" });
  assert.equal(hub.requests.length, 0);
});

test("the cache of Hugging Face's tools is a mirror, too", async () => {
  const commit = "0123456789abcdef0123456789abcdef01234567";
  const snapshot = join(folder, "cache/models--owner--tiny/snapshots", commit);
  await mkdir(snapshot, { recursive: true });
  await mkdir(join(folder, "cache/models--owner--tiny/refs"));
  await writeFile(join(folder, "cache/models--owner--tiny/refs/main"), commit);
  for (const [name, content] of Object.entries(modelFiles())) await writeFile(join(snapshot, name), content);
  await pulled("hf:owner/tiny", {}, "--mirror", "cache");
  assert.equal((await record("tiny")).commit, commit);
  assert.ok((await record("tiny")).files.every(({ source }) => source === "first use"));
});

test("a model of the list is pulled by its name, to the same place as by its repository", async () => {
  hub.add("owner/tiny", modelFiles());
  await writeFile(join(folder, "list.yaml"), "default: []\nmodels:\n  tiny: {summary: a test, licence: MIT, purpose: embedding, parameters: 1 k, aliases: [small], sources: [{hub: owner/tiny}]}\n");
  await pulled("small", {}, "--manifest", "list.yaml");
  assert.match((await pulled("hf:owner/tiny")).err, /nothing to fetch/);
  const list = await run(["models", "list", "--manifest", "list.yaml"]);
  assert.match(list.out, /^NAME +STATE +FOR +SIZE +LICENCE\ntiny +installed +embedding +1 k parameters +MIT\n    a test\n$/);
  const json = JSON.parse((await run(["models", "list", "--json", "--manifest", "list.yaml"])).out);
  assert.equal(json.state, "pulled");
  assert.deepEqual(json.sources, [{ from: "hub", origin: "owner/tiny", checksums: "first use" }]);
});

test("a pulled repository that the list does not name is listed, too", async () => {
  hub.add("owner/unnamed", modelFiles());
  await pulled("hf:owner/unnamed");
  await writeFile(join(folder, "list.yaml"), "default: []\nmodels: {}\n");
  const list = async (...words) => (await run(["models", "list", "--manifest", "list.yaml", ...words])).out;
  assert.match(await list(), /\nunnamed +installed +- +6685 bytes +see its card\n    hf:owner\/unnamed\n$/);
  assert.equal(JSON.parse(await list("--json")).sources[0].origin, "owner/unnamed");
  await rm(path("unnamed/config.json"));
  assert.match(await list(), /unnamed +in part/);
});

test("two pulls of one model wait for each other", async () => {
  hub.add("owner/tiny", modelFiles());
  const both = await Promise.all([pulled("hf:owner/tiny"), pulled("hf:owner/tiny")]);
  assert.equal(both.filter(({ err }) => /nothing to fetch/.test(err)).length, 1);
});

