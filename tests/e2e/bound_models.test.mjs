// Models that a file binds to their tasks, in the newest form of the Semantic Router's files: a reranker that orders
// documents for the model, and a classifier of independent labels with the thresholds of its operating point.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { classifierFiles } from "./encoder_models.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kDocuments = ["the cat sat on monday", "print all rules", "call ada", "your prompt and the rules", "me and the cat"];
const kQuestion = "what sat on the cat";
const kHazards = ["violence", "privacy"];

let model, library, folder, reranker;

/// Writes a model into a directory of the test; returns its path.
async function installed(name, files) {
  const path = join(folder, name);
  await mkdir(path);
  for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
  return path;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "bound-models-"));
  model = await ScriptedUpstream.start();
  model.answer = () => completion({ content: "Fine." });
  library = createServer((request, reply) => {
    request.resume().on("end", () => reply.end(JSON.stringify({ results: kDocuments.map((content) => ({ content })) })));
  });
  await new Promise((done) => library.listen(0, "127.0.0.1", done));
  reranker = await installed("reranker", classifierFiles("electra", "guard", { labels: { 0: "LABEL_0" } }));
});
after(async () => {
  model?.stop();
  library?.close();
  await rm(folder, { recursive: true, force: true });
});

const configuration = (routing, deployments, bindings = "") => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {model: plain}
  models: [{name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}]
routing:
  ${routing}
global:
  model_catalog: {deployments: {${deployments}}, bindings: {${bindings}}}
  services: {management_api: {bind_address: 127.0.0.1, port: ${management}}}
`;

async function withRouter(file, use) {
  const daemon = await Daemon.start(file);
  try {
    return await use(daemon);
  } finally {
    await daemon.stop();
  }
}
const post = (url, body) => fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const chat = (daemon, text) => post(`${daemon.url}/v1/chat/completions`, { model: "auto", messages: [{ role: "user", content: text }] });

const answers = (more) => `decisions:
    - name: answers
      rules: {operator: AND}
      modelRefs: [{model: plain}]
      plugins:
        - type: rag
          configuration: {backend: external_api, top_k: 5, ${more} backend_config: {endpoint: "http://127.0.0.1:${library.address().port}/", request_format: custom, request_template: '{"q": "\${user_content}"}'}}`;
const deployment = (artifact) => `r: {provider: candle, artifact: "${artifact}"}`;
const kRanks = "deployment: r, contract: relevance_scores.v1";
const sentDocuments = () => model.received.messages.find(({ role }) => role === "tool").content.split("\n\n---\n\n");

test("the model gets the documents in the order of the reranker", async () => {
  await withRouter(configuration(answers("rerank: {top_k: 3},"), deployment(reranker), `rag.reranker: {${kRanks}}`), async (daemon) => {
    const { results } = await (await post(`${daemon.url}/v1/rerank`, { query: kQuestion, documents: kDocuments })).json();
    const ranked = results.map(({ index }) => kDocuments[index]);
    assert.notDeepEqual(ranked.slice(0, 3), kDocuments.slice(0, 3), "the order of the search would not show the reranker");
    assert.equal((await chat(daemon, kQuestion)).headers.get("x-vsr-rag"), "added");
    assert.deepEqual(sentDocuments(), ranked.slice(0, 3));
  });
});

test("a routing may have a reranker of its own", async () => {
  const routing = `model_bindings: {rag.reranker: {${kRanks}}}\n  ${answers("rerank: {},")}`;
  const recipes = "recipes: [{name: other, routing: {decisions: [{name: e, modelRefs: [{model: plain}]}]}}]\n";
  const file = configuration(routing, deployment(reranker));
  await withRouter((...ports) => file(...ports) + recipes, async (daemon) => {
    assert.equal((await post(`${daemon.url}/v1/rerank`, { query: "a", documents: ["b"] })).status, 503, "the file as a whole has none");
    await chat(daemon, kQuestion);
    assert.equal(sentDocuments().length, 5);
    assert.notDeepEqual(sentDocuments(), kDocuments);
    assert.deepEqual(sentDocuments().toSorted(), kDocuments.toSorted());
  });
});

test("without the reranker's model, the order of the search stays, or the request is refused", async () => {
  const bound = (more) => configuration(answers(`rerank: {top_k: 2}, ${more}`), deployment(join(folder, "missing")), `rag.reranker: {${kRanks}}`);
  await withRouter(bound(""), async (daemon) => {
    await until(() => /rerank: there is no model at .*missing; documents are in the order of their search/.test(daemon.log), () => daemon.log);
    await chat(daemon, kQuestion);
    assert.deepEqual(sentDocuments(), kDocuments.slice(0, 2));
  });
  await assert.rejects(Daemon.start(bound("on_failure: block,")), /there is no model at ".*missing", but decisions depend on the order of documents/);
});

const operatingPoint = (thresholds) => JSON.stringify({
  version: 2, score_type: "independent_sigmoid", comparison: "score >= threshold", labels: kHazards, thresholds,
  input_policy: { strategy: "overlapping_content_windows", aggregation: "per-label maximum sigmoid over all covering windows" },
});

test("independent labels match from the thresholds of the operating point up", async () => {
  // A threshold of 0 is always reached, and one of 1 never.
  const policy = operatingPoint([1, 0]);
  const filesWith = (more) => classifierFiles("distilbert", "guard", { labels: { 0: "violence", 1: "privacy" }, ...more });
  const files = filesWith({ problem_type: "multi_label_classification" });
  const hazard = await installed("hazard", { ...files, "operating_point.json": policy });
  const routing = (sha256) => `model_bindings:
    classifier.risk: {deployment: r, contract: label_scores.v1, adapter: modernbert, operating_point: {path: operating_point.json, sha256: ${sha256}}}
  signals: {classifiers: [{name: risk, type: local, labels: [violence, privacy]}]}
  decisions:
    - {name: violent, priority: 2, rules: {operator: AND, on_unknown: fail_request, conditions: [{type: classifier, name: risk, label: violence}]}, modelRefs: [{model: plain}]}
    - {name: private, priority: 1, rules: {operator: AND, on_unknown: fail_request, conditions: [{type: classifier, name: risk, label: privacy}]}, modelRefs: [{model: plain}]}`;
  const digest = createHash("sha256").update(policy).digest("hex");
  await withRouter(configuration(routing(digest), deployment(hazard)), async (daemon) => {
    assert.equal((await chat(daemon, "call ada on monday")).headers.get("x-vsr-selected-decision"), "private");
  });
  // The scores of the same weights sum to 1 without the problem type.
  const exclusive = await installed("exclusive", { ...filesWith({}), "operating_point.json": policy });
  await assert.rejects(Daemon.start(configuration(routing(digest), deployment(exclusive))), /needs "problem_type": "multi_label_classification"/);
  await assert.rejects(Daemon.start(configuration(routing("0".repeat(64)), deployment(hazard))), /operating_point\.json: expected the SHA-256 0{64}/);
});
