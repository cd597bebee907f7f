// The example for Node.js loads the shared library and gives the answers of the program.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";

const kLibrary = join(dirname(process.env.SIGNALBOX), "libsignalbox.so");
const kModel = resolve("../../models/signals/domain");
const kText = "Is a contract without a signature valid?";
const skip =
  (!existsSync(kLibrary) && "libsignalbox.so is not built") || (!existsSync(kModel) && "models are not pulled");

let folder;

function example(...args) {
  const env = { ...process.env, SIGNALBOX_LIBRARY: kLibrary };
  return spawnSync("node", [join(folder, "signalbox.mjs"), ...args], { encoding: "utf8", env });
}

// The example finds its package beside itself.
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "library-"));
  await copyFile("../../examples/signalbox.mjs", join(folder, "signalbox.mjs"));
  await symlink(resolve("node_modules"), join(folder, "node_modules"));
});

after(() => rm(folder, { recursive: true }));

test("the library classifies like the program", { skip }, () => {
  const done = example(kModel, kText);
  assert.equal(done.status, 0, done.stderr);
  const [dim, ...heads] = done.stdout.split("\n");
  assert.equal(dim, "384");
  const best = heads.find((line) => line.startsWith("domain "));
  const input = JSON.stringify({ text: kText });
  const program = spawnSync(process.env.SIGNALBOX, ["classify", "--model", kModel], { input, encoding: "utf8" });
  const { label, score } = JSON.parse(program.stdout);
  assert.equal(best, `domain ${label} ${score.toFixed(5)}`);
});

test("fewer second texts than texts are refused", { skip }, () => {
  const program = `import { Model } from "./signalbox.mjs"; new Model(${JSON.stringify(kModel)}).answer(["a", "b"], ["c"]);`;
  const done = spawnSync("node", ["--input-type=module", "-e", program], {
    cwd: folder, encoding: "utf8", env: { ...process.env, SIGNALBOX_LIBRARY: kLibrary },
  });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /RangeError: 1 pairs for 2 texts/);
});

test("the library reports a missing model", { skip }, () => {
  const done = example("nowhere", kText);
  assert.equal(done.status, 1);
  assert.equal(done.stderr, "nowhere/config.json: No such file or directory\n");
});
