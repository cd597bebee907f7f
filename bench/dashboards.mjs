// Measures the effect of ten open dashboards on requests: the daemon's processor time per request, separately for threads
// that serve requests and threads that serve pages, and the request latency. Alternates between ten polling pages (four
// Live every 2 s, three Decisions every 3 s, three Models every 5 s) and none. The pages are simulated by their requests,
// because real browsers would dominate the measurement. The threads that serve pages are identified while no requests run.
//
// usage: node bench/dashboards.mjs build/release/signalbox [REQUESTS]

import { spawn } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { freePorts } from "../tests/e2e/daemon.mjs";

const [, , program, count = "20000"] = process.argv;
const kRounds = 5;
const kConnections = 8;
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
    const call = request({ port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", agent, headers: { "content-length": body.length } }, (reply) => {
      if (reply.headers["x-vsr-selected-decision"] !== "maths") failed(new Error(`decided ${reply.headers["x-vsr-selected-decision"]}`));
      reply.resume().on("end", () => done(performance.now() - began));
    });
    call.on("error", failed).end(body);
  });

/// Processor time of each thread in milliseconds.
async function cpuMs() {
  const out = new Map();
  for (const thread of await readdir(`/proc/${daemon.pid}/task`)) {
    const fields = (await readFile(`/proc/${daemon.pid}/task/${thread}/stat`, "utf8")).split(") ")[1].split(" ");
    out.set(thread, ((Number(fields[11]) + Number(fields[12])) * 1000) / kTickHz);
  }
  return out;
}

function dashboards() {
  let over = false, polls = 0;
  const poll = async (ms, path) => {
    await pause(Math.random() * ms);
    for (let next = 0; !over; await pause(ms)) {
      const page = await (await fetch(management + path(next))).json();
      next = page.next ?? 0;
      ++polls;
    }
  };
  const pages = (number, ms, path) => Array.from({ length: number }, () => poll(ms, path));
  const all = [
    ...pages(4, 2000, (next) => `/api/v1/traffic?from=${next}`),
    ...pages(3, 3000, () => "/v1/router_replay?limit=100"),
    ...pages(3, 5000, () => "/info/models"),
  ];
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
  const us = { requests: 0, pages: 0 };
  for (const [thread, ms] of await cpuMs())
    us[pageThreads.has(thread) ? "pages" : "requests"] += (1000 * (ms - (before.get(thread) ?? 0))) / times.length;
  times.sort((a, b) => a - b);
  return { ...us, p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const pageThreads = new Set();
{
  const before = await cpuMs();
  for (let i = 0; i < 500; ++i) await (await fetch(`${management}/info/models`)).arrayBuffer();
  for (const [thread, ms] of await cpuMs()) if (ms > (before.get(thread) ?? 0)) pageThreads.add(thread);
}
await round(); // warm-up
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
  console.log(`${name.padEnd(8)} us of processor a request: ${of("requests").toFixed(1)}, for pages ${of("pages").toFixed(1)}; p50 ${of("p50").toFixed(2)} ms, p99 ${of("p99").toFixed(2)} ms`);
}
daemon.kill("SIGTERM");
await new Promise((done) => daemon.on("close", done));
await rm(folder, { recursive: true });
