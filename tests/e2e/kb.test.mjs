// Tests `signalbox kb check`: knowledge bases that are right and wrong, with and without a model.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";

const kModel = resolve("../../models/minilm");
let folder;

before(async () => (folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"))));
after(() => rm(folder, { recursive: true }));

async function check(text, ...options) {
  const file = join(folder, "kb.yaml");
  await writeFile(file, text);
  // There is no default model in this folder.
  const { status, stdout, stderr } = spawnSync(process.env.SIGNALBOX, ["kb", "check", file, ...options], { encoding: "utf8", cwd: folder });
  return { status, stderr, rows: stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)) };
}

const kGood = `threshold: 0.5
groups: {private: [code], public: [trivia]}
labels:
  code: [Review our private repository., Explain the code of our internal repository.]
  trivia: ["What is the capital of Portugal?", "What is the capital of Spain?", Review our private repository now.]
`;

test("a file without a model is read, and its examples are counted", async () => {
  const { status, stderr, rows } = await check(kGood);
  assert.equal(status, 0, stderr);
  assert.deepEqual(rows, [{ label: "code", examples: 2 }, { label: "trivia", examples: 3 }]);
});

test("an example that is nearer to another label is named", { skip: !existsSync(kModel) && "minilm is not pulled" }, async () => {
  const { status, stderr, rows } = await check(kGood, "--model", kModel);
  assert.equal(status, 0, stderr);
  const trivia = rows.find(({ label }) => label === "trivia");
  assert.deepEqual([trivia.nearest_to_own, trivia.nearest_to_others], [2, [{ example: "Review our private repository now.", nearest: "code" }]]);
});

test("a label without examples, a group of unknown labels and a missing model are errors", async () => {
  const kWrong = {
    "labels:\n  code: []\n": /labels: expected at least one with examples/,
    "groups: {private: [codes]}\nlabels:\n  code: [a]\n": /codes/,
    "labels: [code]\n": /labels/,
  };
  for (const [text, named] of Object.entries(kWrong)) {
    const { status, stderr } = await check(text);
    assert.equal(status, 1, text);
    assert.match(stderr, named);
  }
  const { status, stderr } = await check(kGood, "--model", "/gone/model");
  assert.equal(status, 1);
  assert.match(stderr, /\/gone\/model/);
});
