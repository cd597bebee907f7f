// What ten open dashboards cost requests: processor time of the daemon a request, and how long requests take, with the
// polling of ten pages of each kind that poll (Live every 2 s, Decisions every 3 s, Models every 5 s) and without, in turn.
// Pages are played by their requests, since ten browsers would be what is measured.
//
// usage: node bench/dashboards.mjs build/release/signalbox [REQUESTS]

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { freePorts } from "../tests/e2e/daemon.mjs";

const [, , program, count = "20000"] = process.argv;
const kRounds = 5;
const kConnections = 8;
const kPages = 10;
const kTickHz = 100; // of /proc

const [port, managementPort] = await freePorts(2);
const folder = await mkdtemp(join(tmpdir(), "signalbox-bench-"));
const file = join(folder, "config.yaml");
await writeFile(
  file,
  `version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
    - {name: mathematician, backend_refs: [{name: echo, type: echo}]}
routing:
  signals: {keywords: [{name: proof, keywords: [theorem]}]}
  decisions: [{name: maths, rules: {type: keyword, name: proof}, modelRefs: [{model: mathematician}]}]
global:
  services:
    management_api: {port: ${managementPort}}
    router_replay: {enabled: true}
`,
);
const daemon = spawn(program, ["serve", "--config", file, "--log-level", "warn"], { stdio: ["ignore", "ignore", "inherit"] });
const management = `http://127.0.0.1:${managementPort}`;
while (!(await fetch(`${management}/ready`).catch(() => null))?.ok) await pause(50);

const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Which theorem is this?" }] });
const agent = new Agent({ keepAlive: true, maxSockets: kConnections });
const once = () =>
  new Promise((done, failed) => {
    const began = performance.now();
    const asked = request({ port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", agent, headers: { "content-length": body.length } }, (reply) => {
      if (reply.headers["x-vsr-selected-decision"] !== "maths") failed(new Error(`decided ${reply.headers["x-vsr-selected-decision"]}`));
      reply.resume().on("end", () => done(performance.now() - began));
    });
    asked.on("error", failed).end(body);
  });

async function cpuMs() {
  const fields = (await readFile(`/proc/${daemon.pid}/stat`, "utf8")).split(") ")[1].split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / kTickHz;
}

function dashboards() {
  let over = false, polls = 0;
  const poll = async (ms, path) => {
    await pause(Math.random() * ms);
    for (let next = 0; !over; await pause(ms)) {
      const told = await (await fetch(management + path(next))).json();
      next = told.next ?? 0;
      ++polls;
    }
  };
  const all = Array.from({ length: kPages }, () => [
    poll(2000, (next) => `/api/v1/traffic?from=${next}`),
    poll(3000, () => "/v1/router_replay?limit=100"),
    poll(5000, () => "/info/models"),
  ]).flat();
  return async () => ((over = true), await Promise.all(all), polls);
}

async function round() {
  const times = [];
  const before = await cpuMs();
  let left = Number(count);
  await Promise.all(
    Array.from({ length: kConnections }, async () => {
      while (left-- > 0) times.push(await once());
    }),
  );
  const cpu = (await cpuMs()) - before;
  times.sort((a, b) => a - b);
  return { us: (1000 * cpu) / times.length, p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
await round(); // warm
const found = { without: [], with: [] };
let polls = 0;
for (let i = 0; i < kRounds; ++i) {
  found.without.push(await round());
  const close = dashboards();
  found.with.push(await round());
  polls += await close();
}
console.log(`${cpus()[0].model}, ${cpus().length} processors; ${count} requests a round, ${kRounds} rounds in turn, medians; ${polls} polls`);
for (const [name, rounds] of Object.entries(found)) {
  const of = (key) => median(rounds.map((each) => each[key]));
  console.log(`${name.padEnd(8)} ${of("us").toFixed(1)} us of processor a request, p50 ${of("p50").toFixed(2)} ms, p99 ${of("p99").toFixed(2)} ms`);
}
daemon.kill("SIGTERM");
await new Promise((done) => daemon.on("close", done));
await rm(folder, { recursive: true });
