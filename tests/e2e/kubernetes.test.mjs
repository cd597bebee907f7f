// Tests models and routes as Kubernetes resources. The daemon follows a double of an API server through every event
// of a watch, under traffic; no request may fail. It also reads resources from files.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { ApiServer } from "./apiserver.mjs";
import { Daemon, metric } from "./daemon.mjs";
import { until } from "./until.mjs";

const configuration = (kubernetes, { wait = "120s", debounce = "50ms" } = {}) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: fallback}
  models:
    - {name: fallback, backend_refs: [{name: echo, type: echo}]}
    - {name: small, backend_refs: [{name: echo, type: echo}]}
    - {name: large, backend_refs: [{name: echo, type: echo}]}
global:
  router: {config_source: kubernetes}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    kubernetes: {debounce: ${debounce}, wait_at_start: ${wait}, ${kubernetes}}
`;

const pool = { defaultModel: "small", models: [{ name: "small", pricing: { inputTokenPrice: 1e-7 } }, { name: "large" }] };
const route = (decision, keyword = "word", model = "large") => ({
  signals: { keywords: [{ name: "k", operator: "OR", keywords: [keyword], caseSensitive: false }] },
  decisions: [{ name: decision, priority: 1, signals: { operator: "OR", conditions: [{ type: "keyword", name: "k" }] }, modelRefs: [{ model }] }],
});

let folder, account;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
  account = join(folder, "account");
  await mkdir(account);
  await writeFile(join(account, "token"), "secret\n");
  await writeFile(join(account, "namespace"), "models");
});
after(async () => rm(folder, { recursive: true }));

const ask = async (daemon, content = "word") => {
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content }] });
  const response = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body });
  await response.arrayBuffer();
  assert.equal(response.status, 200);
  return { decision: response.headers.get("x-vsr-selected-decision"), model: response.headers.get("x-vsr-selected-model") };
};
const decides = (daemon, wanted) => until(async () => (await ask(daemon)).decision === wanted, wanted);
const ready = (server, plural) => server.status(plural, plural === "intelligentpools" ? "p" : "r")?.conditions?.[0];

test("routes follow an API server under traffic, and no request fails", async () => {
  const server = await ApiServer.start();
  server.put("intelligentpools", "p", pool);
  server.put("intelligentroutes", "r", route("one"));
  const daemon = await Daemon.start(configuration(`server: "${server.url}", service_account: "${account}"`));
  // The daemon is ready with its routes.
  assert.deepEqual(await ask(daemon), { decision: "one", model: "large" });
  await until(() => ready(server, "intelligentroutes")?.status === "True" && ready(server, "intelligentpools")?.status === "True", "Ready");
  assert.equal(server.status("intelligentroutes", "r").statistics.decisions, 1);
  assert.equal(server.status("intelligentpools", "p").modelCount, 2);

  let over = false, requests = 0;
  const traffic = Array.from({ length: 4 }, async () => {
    for (; !over; ++requests) await ask(daemon);
  });
  server.put("intelligentroutes", "r", route("two"));
  await decides(daemon, "two");

  // The watch ends, once cleanly and once in the middle of a line, and resumes at the same version.
  const lists = server.counts.list;
  server.bookmark();
  server.endWatches();
  server.put("intelligentroutes", "r", route("three"));
  await decides(daemon, "three");
  assert.equal(server.counts.list, lists, "it was resumed, and nothing listed again");
  server.endWatches(true);
  server.put("intelligentroutes", "r", route("four"));
  await decides(daemon, "four");

  // The watch resumes too late: the server returns 410, and the daemon lists everything.
  server.endWatches();
  server.put("intelligentroutes", "r", route("five"));
  server.compact();
  await decides(daemon, "five");
  assert.ok(server.counts.gone > 0 && server.counts.list > lists);

  // The server is away for a while, and its resources have changed when it returns.
  const port = server.port;
  await server.stop();
  await pause(300);
  server.put("intelligentroutes", "r", route("six"));
  server.compact();
  await server.listen(port);
  await decides(daemon, "six");

  // The token is renewed, and the old one becomes invalid.
  server.token = "renewed";
  server.endWatches();
  server.put("intelligentroutes", "r", route("seven"));
  await until(() => server.counts.refused > 0, "refused");
  await writeFile(join(account, "token"), "renewed");
  await decides(daemon, "seven");

  // An invalid resource changes nothing, and its status reports the error.
  server.put("intelligentroutes", "r", route("eight", "word", "unknown"));
  await until(() => ready(server, "intelligentroutes")?.status === "False", "refused");
  assert.equal(ready(server, "intelligentroutes").reason, "ValidationFailed");
  assert.match(ready(server, "intelligentroutes").message, /unknown/);
  assert.equal((await ask(daemon)).decision, "seven");
  await until(async () => (await metric(daemon, 'llm_config_updates_total{result="failed"}')) >= 1, "the count of failures");
  // A second resource is a conflict. After it is removed, the corrected first one takes effect.
  server.put("intelligentroutes", "another", route("nine"));
  await until(() => ready(server, "intelligentroutes")?.reason === "Conflict", "a conflict");
  assert.equal((await ask(daemon)).decision, "seven");
  server.remove("intelligentroutes", "another");
  server.put("intelligentroutes", "r", route("ten"));
  await decides(daemon, "ten");
  await until(() => ready(server, "intelligentroutes")?.status === "True", "Ready");

  // Without any resource there is no configuration, so the current one stays in effect.
  server.remove("intelligentroutes", "r");
  await until(() => daemon.log.includes("has no IntelligentRoute"));
  assert.equal((await ask(daemon)).decision, "ten");

  // The file may change in the meantime; the routes remain on top of it.
  const text = await readFile(daemon.file, "utf8");
  const generations = () => daemon.log.split(/generation \d+ is active/).length;
  const before = generations();
  await writeFile(`${daemon.file}.new`, text.replace("timeout: 60s", "timeout: 50s"));
  await rename(`${daemon.file}.new`, daemon.file);
  await until(() => generations() > before, "read again");
  assert.equal((await ask(daemon)).decision, "ten");

  await until(() => requests > 100, () => `more than 100 requests; there were ${requests}`);
  over = true;
  await Promise.all(traffic);
  // The daemon's own patches must not trigger work: there are no more patches than verdicts for two resources.
  assert.ok(server.counts.patch < 60, `${server.counts.patch} patches`);
  assert.ok(!daemon.log.includes("secret") && !daemon.log.includes("renewed"));
  await daemon.stop();
  await server.stop();
});

test("a burst of changes is applied together", async () => {
  await writeFile(join(account, "token"), "secret");
  const server = await ApiServer.start();
  server.put("intelligentpools", "p", pool);
  server.put("intelligentroutes", "r", route("first"));
  const daemon = await Daemon.start(configuration(`server: "${server.url}", service_account: "${account}", write_status: false`, { debounce: "2s" }));
  const generations = () => daemon.log.split(/generation \d+ is active/).length;
  const before = generations();
  for (let i = 0; i < 50; ++i) server.put("intelligentroutes", "r", route(`burst-${i}`));
  await decides(daemon, "burst-49");
  assert.ok(generations() - before <= 3, `${generations() - before} generations`);
  assert.equal(server.counts.patch, 0);
  await daemon.stop();
  await server.stop();
});

test("TLS is checked against the service account's authority", async (closing) => {
  const secure = join(folder, "secure");
  await mkdir(secure);
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1",
    "-keyout", join(secure, "key.pem"), "-out", join(secure, "ca.crt")], { stdio: "ignore" });
  await writeFile(join(secure, "token"), "secret");
  const tls = { key: await readFile(join(secure, "key.pem")), cert: await readFile(join(secure, "ca.crt")) };
  const server = await ApiServer.start({ tls });
  closing.after(() => server.stop());
  server.put("intelligentpools", "p", pool);
  server.put("intelligentroutes", "r", route("secure"));
  const daemon = await Daemon.start(configuration(`server: "${server.url}", namespace: models, service_account: "${secure}"`));
  closing.after(() => daemon.stop());
  assert.equal((await ask(daemon)).decision, "secure");
  // Without the authority, the daemon reads no resources, and the file's own routes serve.
  const other = await Daemon.start(configuration(`server: "${server.url}", namespace: models, service_account: "${account}"`, { wait: "500ms" }));
  closing.after(() => other.stop());
  assert.equal((await ask(other)).model, "fallback");
  await until(() => /intelligent\w+: .*certificate verify failed.*stays active/.test(other.log));
});

test("a router that waits for its first resources is starting", async (t) => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const server = `http://127.0.0.1:${silent.address().port}`;
  const daemon = await Daemon.start(
    configuration(`server: "${server}", namespace: models, service_account: "${account}"`, { wait: "600s" }), undefined, undefined, 503);
  t.after(async () => {
    daemon.process.kill("SIGKILL");
    await daemon.exited;
    await rm(daemon.folder, { recursive: true });
    silent.close();
  });
  const phase = async () => (await (await fetch(`${daemon.managementUrl}/startup-status`)).json()).phase;
  await until(async () => (await phase()) !== "loading_models", "the state of the file");
  assert.equal(await phase(), "starting");
  const ready = await fetch(`${daemon.managementUrl}/ready`);
  assert.deepEqual([ready.status, await ready.json()], [503, { ready: false, message: "the router is starting" }]);
});

test("resources may also be files of a folder", async () => {
  const files = join(folder, "resources");
  await mkdir(files);
  const write = async (name, kind, spec) => {
    await writeFile(join(files, `.${name}`), JSON.stringify({ apiVersion: "vllm.ai/v1alpha1", kind, metadata: { name }, spec }));
    await rename(join(files, `.${name}`), join(files, `${name}.yaml`));
  };
  await write("pool", "IntelligentPool", pool);
  await write("route", "IntelligentRoute", route("from-a-file"));
  const daemon = await Daemon.start(configuration(`files: "${files}"`));
  assert.equal((await ask(daemon)).decision, "from-a-file");
  await write("route", "IntelligentRoute", route("changed"));
  await decides(daemon, "changed");
  await write("route", "IntelligentRoute", route("wrong", "word", "unknown"));
  await until(() => daemon.log.includes("unknown"));
  assert.equal((await ask(daemon)).decision, "changed");
  await daemon.stop();
});
