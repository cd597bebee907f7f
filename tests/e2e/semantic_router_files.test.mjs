// Files in forms that the Semantic Router and its tools write: each is read as it is, or `config migrate` prints what it holds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

let folder;
before(async () => (folder = await mkdtemp(join(tmpdir(), "semantic-router-files-"))));
after(() => rm(folder, { recursive: true, force: true }));

/// Runs a command of `signalbox config` on a file with this text.
async function config(command, text) {
  const file = join(folder, "config.yaml");
  await writeFile(file, text);
  const { status, stdout, stderr } = spawnSync(process.env.SIGNALBOX, ["config", ...command, file], { encoding: "utf8" });
  return { status, out: stdout, messages: stdout + stderr };
}
const checked = (text) => config(["check", "--strict"], text);

const kFile = `version: v0.3
providers:
  defaults: {model: m}
  models: [{name: m, backend_refs: [{name: a, type: echo}]}]
routing:
  decisions: [{name: all, rules: {operator: AND}, modelRefs: [{model: m}]}]
`;
const inHelm = (text) => `replicaCount: 1\nconfig:\n${indented(text, 2)}\nresources: {limits: {memory: 6Gi}}\n`;
const inConfigMap = (text) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  config.yaml: |\n${indented(text, 4)}\n`;
const indented = (text, by) => text.replace(/^/gm, " ".repeat(by)).trimEnd();

for (const [what, text] of [
  ["values for Helm", inHelm(kFile)],
  ["a ConfigMap", inConfigMap(kFile)],
  ["values for Helm in a ConfigMap", inConfigMap(inHelm(kFile))],
]) {
  test(`config migrate prints the configuration in ${what}`, async () => {
    const refused = await checked(text);
    assert.equal(refused.status, 1);
    assert.match(refused.messages, /which `signalbox config migrate` prints/);
    const migrated = await config(["migrate"], text);
    assert.equal(migrated.status, 0, migrated.messages);
    const { status, messages } = await checked(migrated.out);
    assert.equal(status, 0, messages);
    assert.match(messages, /ok: 1 model, 1 decision, 0 notices/);
  });
}

test("an error in a ConfigMap names the text and the line in it", async () => {
  const { status, messages } = await config(["migrate"], inConfigMap(kFile.replace("model: m}]}", "model: n}]}")));
  assert.equal(status, 1);
  assert.match(messages, /config\.yaml: data\.config\.yaml:6: routing\.decisions\[0\].*unknown model "n"/);
});

test("anchors and merge keys are read", async () => {
  const decisions = "  decisions:\n    - &all {name: all, rules: {operator: AND}, modelRefs: [{model: m}]}\n    - {<<: *all, name: other}\n";
  const { status, messages } = await checked(kFile.replace(/  decisions: .*\n/, decisions));
  assert.equal(status, 0, messages);
  assert.match(messages, /2 decisions, 0 notices/);
});

test("prices may have the names and the numbers of other files", async () => {
  const prices = "pricing: {input_cost_per_million_tokens: '2', output_cost_per_million_tokens: '12'}";
  const { status, messages } = await checked(kFile.replace("{name: m,", `{name: m, ${prices},`));
  assert.equal(status, 0, messages);
  const twice = await checked(kFile.replace("{name: m,", `{name: m, ${prices.replace("{", "{prompt_per_1m: 3, ")},`));
  assert.equal(twice.status, 1);
  assert.match(twice.messages, /pricing.*"prompt_per_1m" and "input_cost_per_million_tokens" are the same/);
});

test("groups of signals are partitions", async () => {
  const signals = "signals: {keywords: [{name: a, keywords: [x]}, {name: b, keywords: [y]}], signal_groups: [{name: g, semantics: exclusive, members: [a, b], default: a}]}";
  const { status, messages } = await checked(kFile.replace("routing:\n", `routing:\n  ${signals}\n`));
  assert.equal(status, 0, messages);
});

test("a recipe of the catalogue is left out, and a model may be called like the router's choice", async () => {
  const { status, messages } = await config(["check"], kFile.replaceAll("m,", "MoM,").replaceAll("model: m}", "model: MoM}").replace("echo}]}]", "echo}]}, {name: r, catalog: vllm-sr/mom-v1}]"));
  assert.equal(status, 0, messages);
  assert.match(messages, /"vllm-sr\/mom-v1" is a recipe that comes with the Semantic Router/);
  assert.match(messages, /chats cannot name this model/);
});

for (const method of ["", ", method: regex"]) test(`an empty keyword occurs in every text${method}`, async () => {
  const text = kFile.replace("routing:\n", `routing:\n  signals: {keywords: [{name: any, operator: OR, keywords: [""]${method}}]}\n`).replace("rules: {operator: AND}", "rules: {type: keyword, name: any}");
  const { status, messages } = await checked(text);
  assert.equal(status, 0, messages);
  const { stdout } = spawnSync(process.env.SIGNALBOX, ["route", "--config", join(folder, "config.yaml")], { input: '{"text": "Hello"}\n', encoding: "utf8" });
  assert.match(messages, /an empty keyword occurs in every text/);
  assert.equal(JSON.parse(stdout).decision, "all");
});

test("the default model may be an adapter of a model", async () => {
  const card = "modelCards: [{name: m, loras: [{name: poet}]}]";
  const { status, messages } = await config(["check"], kFile.replace("{model: m}\n", "{model: poet}\n").replace("routing:\n", `routing:\n  ${card}\n`));
  assert.equal(status, 0, messages);
  assert.match(messages, /"poet" is an adapter of "m"/);
});
