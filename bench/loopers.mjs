// Measures what it costs to call several models for one request: the daemon's processor time of a fusion (a panel of two, an
// analysis and a verdict: four calls) less that of a request with one call, for each further call, and the memory under
// 1,000 fusions at a time. The models are the built-in echo, so that a call includes everything but a socket.
//
// usage: node bench/loopers.mjs build/release/signalbox [REQUESTS]

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { freePorts } from "../tests/e2e/daemon.mjs";

const [, , program, requests = "3000"] = process.argv;
const kTickUs = 10_000; // of /proc
const kAtATime = 1000;

const [port, managementPort] = await freePorts(2);
const folder = await mkdtemp(join(tmpdir(), "signalbox-bench-"));
const file = join(folder, "config.yaml");
await writeFile(
  file,
  `version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: a}
  models: [${["a", "b", "judge"].map((name) => `{name: ${name}, backend_refs: [{name: echo, type: echo}]}`).join(", ")}]
routing:
  signals: {keywords: [{name: panel, operator: OR, keywords: [panel]}]}
  decisions:
    - name: panel
      rules: {operator: AND, conditions: [{type: keyword, name: panel}]}
      modelRefs: [{model: a}, {model: b}]
      algorithm: {type: fusion, fusion: {model: judge}}
    - {name: one, modelRefs: [{model: a}]}
global: {services: {management_api: {port: ${managementPort}}}}
`,
);
const daemon = spawn(program, ["serve", "--config", file, "--log-level", "warn"], { stdio: ["ignore", "ignore", "inherit"] });
while (!(await fetch(`http://127.0.0.1:${managementPort}/ready`).catch(() => null))?.ok) await pause(50);

const agent = new Agent({ keepAlive: true, maxSockets: kAtATime });
const send = (text) =>
  new Promise((done, failed) => {
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: text + " word".repeat(200) }] });
    const fields = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const call = request({ port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", agent, headers: fields }, (reply) => {
      if (reply.statusCode !== 200) failed(new Error(`status ${reply.statusCode}`));
      reply.resume().on("end", () => done(Number(reply.headers["x-vsr-looper-iterations"] ?? 1)));
    });
    call.on("error", failed).end(body);
  });

async function all(text, count, atATime) {
  let left = count;
  let calls = 0;
  const one = async () => {
    while (left-- > 0) calls = await send(text);
  };
  await Promise.all(Array.from({ length: atATime }, one));
  return calls;
}

async function processorUs() {
  const fields = (await readFile(`/proc/${daemon.pid}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * kTickUs;
}

const residentMib = async () => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${daemon.pid}/status`, "utf8"))[1]) / 1024;

const cost = {};
for (const text of ["one", "panel"]) {
  await all(text, 300, 8);
  const before = await processorUs();
  const calls = await all(text, Number(requests), 8);
  cost[text] = { us: ((await processorUs()) - before) / Number(requests), calls };
  console.log(`${text}: ${calls} call(s), ${cost[text].us.toFixed(0)} us of processor time a request`);
}
const further = (cost.panel.us - cost.one.us) / (cost.panel.calls - cost.one.calls);
console.log(`each further call: ${further.toFixed(0)} us`);
for (let round = 1; round <= 5; ++round) {
  await all("panel", 4 * kAtATime, kAtATime);
  console.log(`round ${round} of ${kAtATime} fusions at a time: ${(await residentMib()).toFixed(0)} MiB resident`);
}
agent.destroy();
daemon.kill("SIGTERM");
await new Promise((done) => daemon.on("close", done));
await rm(folder, { recursive: true });
