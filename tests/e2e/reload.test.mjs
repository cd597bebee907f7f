// Changes configurations under continuous traffic: by swapping symbolic links as a kubelet does for a ConfigMap, and
// with the management API. No request may fail, whole or streamed.

import assert from "node:assert/strict";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, request as send } from "node:http";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";

import { Daemon, metric } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kClients = 8;
const kSwaps = 5;
const kRequests = 20; // with each configuration

let upstream;
before(async () => {
  upstream = await ScriptedUpstream.start();
  upstream.answer = (received) => (received.stream ? streamed([{ content: "Yes" }, { content: "." }]) : completion({ content: "Yes." }));
});
after(async () => upstream?.stop());

const configuration = (decision) => (port, managementPort) => `version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream.port}"}]}
routing:
  decisions:
    - {name: ${decision}, modelRefs: [{model: scripted}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

// A ConfigMap volume as a kubelet writes it: config.yaml -> ..data/config.yaml, and ..data -> ..TIME, which contains
// the file. A change writes a new ..TIME, renames a new link over ..data, and removes the old ..TIME.
class Volume {
  #time = 0;
  async put(file, text) {
    this.folder = dirname(file);
    await this.swap(text);
    await symlink(`..data/${basename(file)}`, file);
  }
  async swap(text) {
    const old = this.#time;
    const name = `..2026_11_22_10_00_${String(++this.#time).padStart(2, "0")}.123456789`;
    await mkdir(join(this.folder, name));
    await writeFile(join(this.folder, name, "config.yaml"), text);
    await symlink(name, join(this.folder, "..data_tmp"));
    await rename(join(this.folder, "..data_tmp"), join(this.folder, "..data"));
    if (old) await rm(join(this.folder, this.current), { recursive: true });
    this.current = name;
  }
}

// Clients that send one request after the other, each on one connection; every second request is a stream.
class Traffic {
  #over = false;
  #agent = new Agent({ keepAlive: true, maxSockets: kClients });
  failures = [];
  decisions = new Map();
  constructor(daemon) {
    this.#clients = Promise.all(Array.from({ length: kClients }, (_, i) => this.#run(`${daemon.url}/v1/chat/completions`, i)));
  }
  #clients;
  async #run(url, client) {
    for (let i = client; !this.#over; ++i) {
      const stream = i % 2 === 0;
      const reply = await this.#ask(url, { model: "auto", stream, messages: [{ role: "user", content: "x" }] });
      const whole = stream ? reply.text?.trimEnd().endsWith("data: [DONE]") : reply.text?.includes('"Yes."');
      if (reply.status !== 200 || !whole) this.failures.push(reply);
      this.decisions.set(reply.decision, (this.decisions.get(reply.decision) ?? 0) + 1);
    }
  }
  #ask(url, body) {
    return new Promise((done) => {
      const call = send(url, { method: "POST", agent: this.#agent, headers: { "content-type": "application/json" } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => (text += part));
        response.on("error", (error) => done({ error: `${error}` }));
        response.on("end", () => done({ status: response.statusCode, text, decision: response.headers["x-vsr-selected-decision"] }));
      });
      call.on("error", (error) => done({ error: `${error}` }));
      call.end(JSON.stringify(body));
    });
  }
  async #stop() {
    this.#over = true;
    await this.#clients;
    this.#agent.destroy();
  }
  /// Stops, checks that no request failed, and returns the number of requests.
  async end() {
    await this.#stop();
    assert.deepEqual(this.failures, []);
    return [...this.decisions.values()].reduce((sum, each) => sum + each, 0);
  }
}

const status = async (daemon) => (await fetch(`${daemon.managementUrl}/config/status`)).json();

describe("a ConfigMap", () => {
  let daemon, volume, ports;
  before(async () => {
    volume = new Volume();
    const first = (...free) => configuration("first")(...(ports = free));
    daemon = await Daemon.start(first, (file, text) => volume.put(file, text));
  });
  after(async () => daemon?.stop());

  test("the links of a ConfigMap are followed without a request that fails", async (t) => {
    const traffic = new Traffic(daemon);
    for (let i = 1; i <= kSwaps; ++i) {
      await volume.swap(configuration(`swap-${i}`)(...ports));
      await until(() => traffic.decisions.get(`swap-${i}`) >= kRequests, `the ${i}th swap serves`);
    }
    const requests = await traffic.end();
    t.diagnostic(`${requests} requests, none failed`);
    await until(async () => (await metric(daemon, 'llm_config_updates_total{result="active"}')) === kSwaps, "the count of changes");
    await until(async () => (await metric(daemon, "llm_config_active_version")) === kSwaps + 1, "the version");
  });

  test("a wrong ConfigMap changes nothing, and log, status and metrics report it until it is right", async () => {
    const traffic = new Traffic(daemon);
    await volume.swap(configuration("wrong")(...ports).replace("model: scripted}]", "model: nobody}]"));
    await until(async () => (await metric(daemon, "signalbox_config_refused")) === 1, "it is refused");
    await until(() => daemon.log.includes("rejected; generation 6 stays active"));
    await until(() => daemon.log.includes("routing.decisions[0].modelRefs[0].model"));
    assert.match(JSON.stringify((await status(daemon)).refused), /nobody/);
    await until(async () => (await metric(daemon, 'llm_config_updates_total{result="failed"}')) === 1, "the count of failures");
    assert.equal(traffic.decisions.has("wrong"), false);
    await volume.swap(configuration("right")(...ports));
    await until(async () => traffic.decisions.has("right"), "the right one serves");
    await traffic.end();
    await until(async () => (await metric(daemon, "signalbox_config_refused")) === 0, "the end of the refusal");
    await until(async () => !(await status(daemon)).refused, "the status without a refusal");
  });
});

test("changes through the management API, and undoing them, fail no request", async (t) => {
  const daemon = await Daemon.start(configuration("first"));
  const change = async (method, path, body) =>
    fetch(`${daemon.managementUrl}${path}`, { method, headers: await daemon.authorization(), body: JSON.stringify(body) });
  const traffic = new Traffic(daemon);
  const versions = [];
  for (let i = 1; i <= kSwaps; ++i) {
    const decisions = [{ name: `patch-${i}`, modelRefs: [{ model: "scripted" }] }];
    const response = await change("PATCH", "/config/router", { routing: { decisions } });
    const body = await response.json();
    assert.equal(response.status, 200, JSON.stringify(body));
    versions.push(body.version);
    await until(() => traffic.decisions.get(`patch-${i}`) >= kRequests, `the ${i}th change serves`);
  }
  const wrong = await change("PATCH", "/config/router", { routing: { strategy: "dice" } });
  assert.equal(wrong.status, 400);
  const back = await change("POST", "/config/router/rollback", { version: versions[0] });
  assert.equal(back.status, 200);
  assert.match(await readFile(daemon.file, "utf8"), /name: first/);
  const seen = traffic.decisions.get("first");
  await until(async () => traffic.decisions.get("first") > seen, "the first one serves again");
  const requests = await traffic.end();
  t.diagnostic(`${requests} requests, none failed`);
  await daemon.stop();
});

const kOutranked = (port, managementPort) =>
  configuration("first")(port, managementPort).replace(
    "  decisions:\n",
    `  signals: {pii: [{name: data}], keywords: [{name: word, keywords: [word]}]}
  decisions:
    - {name: above, priority: 9, rules: {type: keyword, name: word}, modelRefs: [{model: scripted}]}
    - name: guard
      priority: 1
      rules: {type: pii, name: data}
      modelRefs: [{model: scripted}]
      plugins: [{type: fast_response, configuration: {message: "no"}}]
`,
  ) + "  model_catalog: {missing_models: ignore}\n";

test("the notices of a start and of a reload are warnings in the log, each once, and in the status", async () => {
  const warned = (daemon) => daemon.log.split("\n").filter((line) => /"warning".*notice: .*the guard \\"guard\\" does not refuse/.test(line)).length;
  const reloads = async (daemon) => (await status(daemon)).reloads.succeeded;
  let ports;
  const daemon = await Daemon.start((...free) => configuration("first")(...(ports = free)));
  try {
    await writeFile(daemon.file, kOutranked(...ports));
    await until(async () => (await reloads(daemon)) === 1, "the reload");
    await until(() => warned(daemon) === 1, "the notice");
    assert.match((await status(daemon)).notices.join(), /the guard "guard" does not refuse/);
    await writeFile(daemon.file, `${kOutranked(...ports)}# changed\n`);
    await until(() => daemon.log.includes("generation 3 is active"), "the second reload");
    assert.equal(warned(daemon), 1, "a notice that was there before is not repeated");
  } finally {
    await daemon.stop();
  }
  const other = await Daemon.start(kOutranked);
  try {
    await until(() => warned(other) === 1, "the notice of the start");
    assert.match((await status(other)).notices.join(), /the guard "guard" does not refuse/);
  } finally {
    await other.stop();
  }
});
