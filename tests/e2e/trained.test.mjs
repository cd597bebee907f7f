// Tests the algorithms that read a file of the Semantic Router's training (kmeans, svm, mlp, knn), with OpenAI's client:
// each sends a request to the model that its file has for the request's vector, plain and streamed.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";

const kModel = resolve("../../models/minilm");
const kTexts = { sums: "Add up the numbers of this table.", poems: "Write a poem about the sea." };
const kSettings = ["kmeans", "svm", "mlp", "knn"];

describe("trained selectors", { skip: !existsSync(kModel) && "minilm is not pulled" }, () => {
  let daemon, client, folder;

  const configuration = (port, management) => `version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: poems}
  models:
    - {name: sums, backend_refs: [{name: echo, type: echo}]}
    - {name: poems, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords: [${kSettings.map((name) => `{name: ${name}, keywords: [${name}]}`).join(", ")}]
  decisions:
${kSettings.map((name) => `    - name: ${name}
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: sums}, {model: poems}]
      algorithm: {type: ${name}, ${name}: {pretrained_path: "${folder}/${name}.json"}}`).join("\n")}
global:
  services: {management_api: {port: ${management}}}
  model_catalog: {embeddings: {semantic: {minilm_model_path: "${kModel}"}}}
`;

  // The files are made of the vectors of two texts, which a first router computes.
  async function writeFiles() {
    const names = Object.keys(kTexts);
    const first = await Daemon.start((port, management) => configuration(port, management).replace(/\n +algorithm: .*/g, ""));
    const vectors = [];
    try {
      const reader = new OpenAI({ apiKey: "unused", baseURL: `${first.url}/v1` });
      const { data } = await reader.embeddings.create({ model: "minilm", input: Object.values(kTexts) });
      vectors.push(...data.map(({ embedding }) => embedding));
    } finally {
      await first.stop();
    }
    const files = {
      kmeans: { algorithm: "kmeans", trained: true, num_clusters: 2, centroids: vectors, cluster_models: names },
      svm: {
        algorithm: "svm", kernel_type: "Rbf", gamma: 1,
        rbf_classifiers: names.map((name, i) => ({ model_name: name, alpha: [1], support_vectors: [vectors[i]], rho: 0, gamma: 1 })),
      },
      mlp: { algorithm: "mlp", trained: true, model_names: names, feature_dim: vectors[0].length, layers: [{ type: "linear", weight: vectors }, { type: "relu" }] },
      knn: { algorithm: "knn", k: 1, embeddings: vectors, labels: names },
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, `${name}.json`), JSON.stringify(content));
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
    await writeFiles();
    daemon = await Daemon.start(configuration);
    client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  });
  after(async () => {
    await daemon?.stop();
    await rm(folder, { recursive: true });
  });

  for (const name of kSettings) {
    for (const [wanted, text] of Object.entries(kTexts)) {
      for (const stream of [false, true]) {
        test(`${name} sends a request like one of its examples to "${wanted}", ${stream ? "streamed" : "whole"}`, async () => {
          const messages = [{ role: "user", content: `${text} ${name}` }];
          const { data, response } = await client.chat.completions.create({ model: "auto", messages, stream }).withResponse();
          let answer = "";
          if (stream) for await (const event of data) answer += event.choices[0]?.delta?.content ?? "";
          else answer = data.choices[0].message.content;
          assert.ok(answer.length > 0);
          const header = (key) => response.headers.get(key);
          assert.deepEqual([header("x-vsr-selected-decision"), header("x-vsr-selected-algorithm"), header("x-vsr-selected-model")], [name, name, wanted]);
        });
      }
    }
  }
});
