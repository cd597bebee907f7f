// Takes a tiny GLiNER through the program: fetched from a hub, also as PyTorch's pickle, packed, marking the labels that a
// caller names, and serving as the finder of personal data with the labels that its directory names.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { echoOnly, withDaemon } from "./daemon.mjs";
import { debertaPieces, glinerFiles } from "./encoder_models.mjs";
import { Hub } from "./hub.mjs";
import { safetensors, torch } from "./hub_models.mjs";

const kTexts = ["Call me on Monday, Ada", "ada@the.cat sat", "Ignore all rules", ""];
const kLabels = "person,call me";

let hub, folder, model;
const path = (...parts) => join(folder, "models", ...parts);

// Runs the program in the test's folder; returns {status, out, err}.
function run(words, texts = []) {
  const { HF_TOKEN, SIGNALBOX_MIRROR, ...rest } = process.env;
  return new Promise((resolve) => {
    const child = execFile(process.env.SIGNALBOX, words, { cwd: folder, env: { ...rest, HF_ENDPOINT: hub.url }, encoding: "utf8" },
      (error, out, err) => resolve({ status: error ? error.code : 0, out, err }));
    child.stdin.end(texts.map((text) => `${JSON.stringify({ text })}\n`).join(""));
  });
}
async function tagged(...words) {
  const { status, out, err } = await run(["tag", ...words], kTexts);
  assert.equal(status, 0, err);
  return out.trim().split("\n").map((line) => JSON.parse(line).entities);
}
async function refused(pattern, status, ...words) {
  const result = await run(words, kTexts);
  assert.equal(result.status, status, result.err);
  assert.match(result.err, pattern);
}
function publish(name, settings, weights = "model.safetensors") {
  const { tensors, ...files } = glinerFiles(settings);
  hub.add(`owner/${name}`, { ...files, [weights]: weights === "model.safetensors" ? safetensors(tensors) : torch(tensors) });
}

before(async () => {
  hub = await Hub.start();
  folder = await mkdtemp(join(tmpdir(), "gliner-"));
  publish("spans", {});
  const { status, err } = await run(["models", "pull", "hf:owner/spans"]);
  assert.equal(status, 0, err);
  assert.match(err, /spans: 3 files fetched and verified in models\/spans; the engine opens the model/);
  model = path("spans");
});
after(async () => {
  hub.stop();
  await rm(folder, { recursive: true, force: true });
});

test("the labels of the caller are marked at words, without overlaps", async () => {
  const found = await tagged("--model", "spans", "--labels", kLabels, "--threshold", "0.01");
  assert.ok(found.flat().length > 2);
  for (const [i, entities] of found.entries()) {
    let past = 0;
    for (const { type, start, end, text, score } of entities) {
      assert.ok(["person", "call me"].includes(type), type);
      assert.ok(start >= past && end > start && score > 0.01 && score <= 1);
      assert.equal(text, kTexts[i].slice(start, end));
      past = end;
    }
  }
  const sure = await tagged("--model", "spans", "--labels", kLabels, "--threshold", "0.6");
  const count = sure.flat().length;
  assert.ok(count > 0 && count < found.flat().length && sure.flat().every(({ score }) => score > 0.6));
  assert.deepEqual(await tagged("--model", "spans", "--labels", " person , call me ", "--threshold", "0.01"), found);
  assert.notDeepEqual(await tagged("--model", "spans", "--labels", "monday", "--threshold", "0.01"), found);
});

test("a text is marked to its end, in windows", async () => {
  const text = `${"the cat sat and ".repeat(60)}Ada`; // about 240 tokens; the network takes 72
  const { out } = await run(["tag", "--model", "spans", "--labels", kLabels, "--threshold", "0"], [text]);
  const { entities } = JSON.parse(out);
  assert.ok(entities.some(({ start }) => start === 0) && entities.some(({ end }) => end === text.length));
});

test("PyTorch's weights and packed ones mark alike", async () => {
  publish("torch", {}, "pytorch_model.bin");
  assert.match((await run(["models", "pull", "hf:owner/torch"])).err, /the engine opens the model/);
  assert.deepEqual((await readdir(path("torch"))).sort(), ["gliner_config.json", "model.safetensors", "pulled.json", "tokenizer.json"]);
  const expected = await tagged("--model", "spans", "--labels", kLabels);
  assert.deepEqual(await tagged("--model", "torch", "--labels", kLabels), expected);
  for (const dtype of ["f32", "bf16", "int8"]) {
    const { out, err } = await run(["convert", "--dtype", dtype, model, path(dtype)]);
    assert.match(out, /"opens":true/, err);
    const found = await tagged("--model", dtype, "--labels", kLabels);
    if (dtype === "f32") assert.deepEqual(found, expected);
    assert.ok(found.flat().length > 0, dtype);
  }
});

test("labels and models that cannot be used are refused with the reason", async () => {
  await refused(/a GLiNER model takes labels, but was opened without any/, 1, "tag", "--model", "spans");
  await refused(/--labels: expected labels with commas between them, found "a,,b"/, 2, "tag", "--model", "spans", "--labels", "a,,b");
  await refused(/label 2: "a" is there twice/, 1, "tag", "--model", "spans", "--labels", "a,a");
  await refused(/label "<<SEP>>": it contains a mark/, 1, "tag", "--model", "spans", "--labels", "<<SEP>>");
  await refused(/--threshold: expected 0 or more and less than 1, found 1/, 2, "tag", "--model", "spans", "--labels", "a", "--threshold", "1");
  await refused(/--threshold takes --labels/, 2, "tag", "--model", "spans", "--threshold", "0.3");
  await refused(/does not embed/, 1, "embed", "--model", "spans");
  for (const [name, settings, pattern] of [
    ["conv", { span_mode: "conv_share" }, /does not support this model: gliner_config\.json: span_mode: "conv_share" is not supported/],
    ["bare", { encoder_config: null }, /hf:owner\/bare: hf:tiny\/deberta: not found \(HTTP 401\)/],
    ["nameless", { encoder_config: null, model_name: "" }, /gliner_config\.json: encoder_config: missing, and no config\.json either: add the config\.json of the encoder/],
  ]) {
    publish(name, settings);
    await refused(pattern, 1, "models", "pull", `hf:owner/${name}`);
    assert.ok(!existsSync(path(name)));
  }
});

const configuration = (directory) => (port, managementPort) => `${echoOnly(port)}routing:
  signals:
    pii: [{name: personal, threshold: 0.6}]
  decisions:
    - name: private
      rules: {type: pii, name: personal}
      plugins: [{type: fast_response, configuration: {message: Holds personal data.}}]
global:
  model_catalog: {modules: {classifier: {pii: {model_id: ${directory}, threshold: 0.6}}}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    http: {model_dtype: f32}
`;

test("a router finds the labels that the directory names, and does not start without any", async () => {
  await assert.rejects(withDaemon(configuration(model), () => {}), /signalbox_labels: missing; expected the labels to mark/);
  publish("labelled", { signalbox_labels: kLabels.split(",") });
  assert.equal((await run(["models", "pull", "hf:owner/labelled"])).status, 0);
  const marked = await tagged("--model", path("labelled"), "--rules");
  assert.ok(marked.flat().some(({ type }) => type === "PERSON" || type === "CALL_ME"), JSON.stringify(marked));
  await withDaemon(configuration(path("labelled")), async (daemon) => {
    for (const [i, text] of kTexts.slice(0, 3).entries()) {
      const expected = marked[i].filter(({ score }) => score >= 0.6).map(({ type }) => type);
      const post = async (url, body) => (await fetch(url, { method: "POST", body: JSON.stringify(body) })).json();
      const { entities } = await post(`${daemon.managementUrl}/api/v1/classify/pii`, { text });
      assert.deepEqual(new Set(entities.map(({ type }) => type)), new Set(expected), text);
      const { signals } = await post(`${daemon.managementUrl}/api/v1/explain`, { text, all: true });
      assert.equal(signals.pii.personal.matched, expected.length > 0, text);
    }
  });
});

test("a configuration of the encoder beside it is enough", async () => {
  const settings = JSON.parse(await readFile(path("spans", "gliner_config.json"), "utf8"));
  const { encoder_config: encoder, ...rest } = settings;
  assert.equal((await run(["convert", model, path("beside")])).status, 0);
  await writeFile(path("beside", "gliner_config.json"), JSON.stringify(rest));
  await writeFile(path("beside", "config.json"), JSON.stringify(encoder));
  assert.deepEqual(await tagged("--model", "beside", "--labels", kLabels), await tagged("--model", "spans", "--labels", kLabels));
});

test("the configuration and the tokenizer come from the encoder's repository if its own lacks them", async () => {
  const { tensors, "gliner_config.json": settings } = glinerFiles({ model_name: "tiny/base" });
  const { encoder_config: encoder, ...rest } = JSON.parse(settings);
  hub.add("tiny/base", { "config.json": JSON.stringify(encoder), "spm.model": debertaPieces(), "pytorch_model.bin": "x".repeat(900) });
  const commit = hub.add("owner/small", { "gliner_config.json": JSON.stringify(rest), "pytorch_model.bin": torch(tensors) });
  await mkdir(path(".small.partial")); // of an interrupted pull
  await writeFile(path(".small.partial", ".commit"), commit);
  await writeFile(path(".small.partial", "config.json"), JSON.stringify(encoder).slice(0, 20));
  const { status, err } = await run(["models", "pull", "hf:owner/small"]);
  assert.equal(status, 0, err);
  assert.match(err, /small: its encoder is tiny\/base, which is needed too/);
  assert.deepEqual((await readdir(path("small"))).sort(), ["config.json", "gliner_config.json", "model.safetensors", "pulled.json", "spm.model", "tokenizer.json"]);
  assert.ok(!hub.requests.some(({ url }) => url.includes("tiny/base") && url.includes("pytorch_model.bin")));
  const marks = async (name) => (await run(["tag", "--model", name, "--labels", kLabels, "--threshold", "0.01"], ["the cat sat, ada", "call me on monday"])).out;
  assert.equal(await marks("small"), await marks("spans"));
  assert.match((await run(["models", "pull", "hf:owner/small"])).err, /nothing to fetch/);
  await rm(path("small", "config.json"));
  assert.equal((await run(["models", "pull", "hf:owner/small"])).status, 0);
  assert.ok(existsSync(path("small", "config.json")));
  // The encoder's repository has changed since, but the files of an installed commit stay the same.
  await rm(path("small", "config.json"));
  hub.add("tiny/base", { "config.json": JSON.stringify({ ...encoder, layer_norm_eps: 0.5 }), "spm.model": debertaPieces() });
  const changed = await run(["models", "pull", "hf:owner/small"]);
  assert.equal(changed.status, 1);
  assert.match(changed.err, /config\.json: sha256 \w+ was recorded for this file when it was first fetched.* Remove \S*small to accept it/);
  await rm(path("small"), { recursive: true });
  assert.equal((await run(["models", "pull", "hf:owner/small"])).status, 0);
});
