// Tests that `signalbox config check` reports the errors and notices of a start, in the same words.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { withDaemon } from "./daemon.mjs";
import { until } from "./until.mjs";

const configuration = ({ listener = "", management = "", services = "", others = "", algorithm = "" }) => (port, managementPort) => `version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}${listener}}]
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
    - {name: far, backend_refs: [{name: node, endpoint: "127.0.0.1:9", protocol: https, tls_ca_path: /gone/ca.pem}]}
routing:
  decisions:
    - {name: all, rules: {operator: AND, conditions: []}, modelRefs: [{model: general}, {model: far}]${algorithm}}
global:
  services:
    management_api: {port: ${managementPort}${management}}
${services}
${others}
`;

const run = (...words) => spawnSync(process.env.SIGNALBOX, words, { encoding: "utf8" });
const check = (file) => run("config", "check", file);

// Returns the notices of a start. It leaves out that a model cannot be opened, which only a start knows. The log may end
// in the middle of a line.
function noticesOf(daemon) {
  const lines = daemon.log.split("\n").slice(0, -1).filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const notices = lines.filter((line) => line.component === "config").map((line) => line.message.replace("notice: ", ""));
  return notices.filter((notice) => !notice.includes("needs an embedding model")).sort();
}

test("the check of a file prints the notices of a start", async () => {
  const kParts = {
    algorithm: ", algorithm: {type: kmeans, on_error: skip, kmeans: {pretrained_path: gone.json}}",
    others: `  integrations: {tools: {enabled: true, tools_db_path: /gone/tools.json}}
  router: {learning: {enabled: true, adaptation: {enabled: true}}}
  model_catalog: {missing_models: ignore}`,
  };
  await withDaemon(configuration(kParts), async (daemon) => {
    const { status, stdout } = check(daemon.file);
    assert.equal(status, 0);
    const printed = stdout.trim().split("\n").filter((line) => !line.includes("minilm_model_path")).sort();
    await until(() => noticesOf(daemon).length >= printed.length, "the notices of the start");
    assert.deepEqual(noticesOf(daemon), printed);
    for (const part of ["falls back to static", "no tools database", "/gone/ca.pem", "outcomes refer to records"])
      assert.ok(stdout.includes(part), `${part}:\n${stdout}`);
  });
});

const kFile = process.execPath; // a file, so that no folder can be made below it
const kPem = "tls_cert_path: /gone/cert.pem, tls_key_path: /gone/key.pem";
const kWrong = {
  "the certificate of a listener": { listener: `, ${kPem}` },
  "the certificate of the management API": { management: `, ${kPem}` },
  "the certificate for Envoy": { services: `    ext_proc: {enabled: true, port: 0, ${kPem}}` },
  "a management API that other machines reach": { management: ", bind_address: 0.0.0.0" },
  "the address of the metrics": { services: "    observability: {metrics: {port: 0, bind_address: nowhere}}" },
  "the authorities of a collector": {
    services: '    observability: {tracing: {enabled: true, exporter: {type: otlp, endpoint: "https://127.0.0.1:9", tls_ca_path: /gone/ca.pem}}}',
  },
  "the folder of the audit log": { services: `    audit: {file: ${kFile}/audit.log}` },
  "the folder of workflows": {
    others: `  integrations: {looper: {flow: {state: {store_backend: file, file: {directory: ${kFile}/states}}}}}`,
  },
  "the folder of files": {
    others: `  stores: {vector_store: {enabled: true, backend_type: memory, file_storage_dir: ${kFile}/files}}`,
  },
  "the folder of contexts": { others: `  stores: {contexts: {enabled: true, directory: ${kFile}/contexts}}` },
};

for (const [name, parts] of Object.entries(kWrong)) {
  test(`the check of a file refuses what a start refuses: ${name}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
    const file = join(folder, "config.yaml");
    await writeFile(file, configuration(parts)(0, 0));
    const start = run("serve", "--config", file);
    const checked = check(file);
    await rm(folder, { recursive: true });
    const errors = ({ stderr }) => stderr.split("\n").filter((line) => line.startsWith("signalbox: "));
    assert.equal(start.status, 1, start.stderr);
    assert.equal(checked.status, 1, checked.stdout);
    assert.equal(errors(start).length, 1, start.stderr);
    assert.deepEqual(errors(checked), errors(start));
  });
}

test("a machine without keys reads no certificates", async () => {
  await withDaemon(configuration({}), async ({ file }) => {
    await writeFile(file, configuration({ listener: `, ${kPem}`, management: `, ${kPem}` })(0, 0));
    assert.equal(check(file).status, 1);
    assert.equal(run("config", "check", "--without-keys", file).status, 0);
  });
});
