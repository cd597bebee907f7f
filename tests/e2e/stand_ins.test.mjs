// Tests that the log and explanations name the model of ours that stands in for a missing one, and the command that
// fetches one.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";

import { freePorts } from "./daemon.mjs";
import { until } from "./until.mjs";

const kRoot = resolve("../.."); // models/ lies there
const kSkip = !existsSync(join(kRoot, "models/signals/domain")) && "the models are not pulled";
const kQuestion = "What is the integral of x squared?";

let folder, file, port;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
  file = join(folder, "config.yaml");
  [port] = await freePorts(1);
  await writeFile(file, `version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: 0}]
providers:
  defaults: {default_model: general}
  models: [{name: general, backend_refs: [{name: echo, type: echo}]}]
routing:
  signals: {domains: [{name: math}]}
  decisions:
    - name: numbers
      rules: {type: domain, name: math}
      modelRefs: [{model: general}]
      plugins: [{type: hallucination, configuration: {enabled: true, use_nli: true}}]
global:
  services: {management_api: {port: ${port}}}
  model_catalog: {system: {domain_classifier: /gone/domain, hallucination_explainer: /gone/mom-halugate-explainer}}
`);
});
after(() => rm(folder, { recursive: true }));

const run = (words, input = "") => spawnSync(process.env.SIGNALBOX, words, { encoding: "utf8", cwd: kRoot, input });
const kLine = () => `${file}:15: global.model_catalog.system.domain_classifier: there is no model at "/gone/domain"; models/signals/domain stands in for it`;

test("the log and an explanation name the stand-in", { skip: kSkip }, async () => {
  const daemon = spawn(process.env.SIGNALBOX, ["serve", "--config", file], { cwd: kRoot, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  daemon.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const ended = new Promise((done) => daemon.on("close", done));
  try {
    await until(() => log.includes("ready in"), () => log);
    const messages = log.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).message);
    assert.ok(messages.includes(`notice: ${kLine()}`), log);
    const reply = await fetch(`http://127.0.0.1:${port}/api/v1/explain`, { method: "POST", body: JSON.stringify({ text: kQuestion }) });
    const { signals } = await reply.json();
    assert.deepEqual([signals.domain.math.matched, signals.domain.math.stand_in], [true, "models/signals/domain"]);
  } finally {
    daemon.kill("SIGKILL");
    await ended;
  }
});

test("route explains by the stand-in, or without one does not", { skip: kSkip }, () => {
  const row = `${JSON.stringify({ text: kQuestion })}\n`;
  const { stdout, stderr } = run(["route", "--config", file, "--explain"], row);
  assert.match(stdout, /domain math matches \(.*by the stand-in models\/signals\/domain/);
  assert.ok(stderr.includes(kLine()), stderr);
  const without = run(["route", "--config", file, "--explain", "--missing-models", "ignore"], row);
  assert.ok(!without.stdout.includes("stand-in"), without.stdout);
});

test("a check names the command for a small model that stands in", { skip: kSkip || (existsSync(join(kRoot, "models/pairs")) && "models/pairs is there") }, () => {
  const { stdout } = run(["config", "check", file]);
  assert.ok(stdout.includes(kLine()), stdout);
  assert.match(stdout, /no model at "\/gone\/mom-halugate-explainer" for hallucination signals;.*`signalbox models pull pairs` fetches a small one/);
});
