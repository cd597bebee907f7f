// Measures the cost of an answer from the cache, one request at a time over one kept-alive connection: the same request
// (exact), a question with the same meaning (near: embedded, found in the index, accepted by the guard), and for comparison
// a request that bypasses the cache and goes to the built-in echo backend. Times are measured by the client and include its
// own; processor time is the daemon's, from /proc.
//
// usage: node bench/cache_hits.mjs build/release/signalbox [MODEL-DIRECTORY] [ROUNDS]

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { freePorts } from "../tests/e2e/daemon.mjs";

const [, , program, model = "models/minilm", rounds = "5"] = process.argv;
const kTickHz = 100; // of /proc
const pairs = (await readFile(fileURLToPath(new URL("../tests/router/cache/data/paraphrases.jsonl", import.meta.url)), "utf8"))
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

const [port, managementPort] = await freePorts(2);
const folder = await mkdtemp(join(tmpdir(), "signalbox-bench-"));
const file = join(folder, "config.yaml");
await writeFile(
  file,
  `version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: general}
  models: [{name: general, backend_refs: [{name: echo, type: echo}]}]
routing:
  decisions:
    - name: all
      rules: {operator: AND, conditions: []}
      modelRefs: [{model: general}]
      plugins: [{type: response_cache, configuration: {mode: exact_then_semantic, scope: global, request_controls: {enabled: true, allowed: [bypass]}}}]
global:
  services: {management_api: {port: ${managementPort}}}
  model_catalog: {embeddings: {semantic: {minilm_model_path: ${resolve(model)}}}}
`,
);
const daemon = spawn(program, ["serve", "--config", file, "--log-level", "warn"], { stdio: ["ignore", "ignore", "inherit"] });
while (!(await fetch(`http://127.0.0.1:${managementPort}/ready`).catch(() => null))?.ok) await pause(50);

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const send = (text, headers = {}) =>
  new Promise((done, failed) => {
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: text }] });
    const began = performance.now();
    const fields = { "content-length": Buffer.byteLength(body), "x-vsr-debug": "true", ...headers };
    const call = request({ port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", agent, headers: fields }, (reply) => {
      const { "x-vsr-cache-hit": hit, "x-vsr-cache-similarity": similarity } = reply.headers;
      reply.resume().on("end", () => done({ ms: performance.now() - began, kind: !hit ? "miss" : Number(similarity) === 1 ? "exact" : "near" }));
    });
    call.on("error", failed).end(body);
  });

async function cpuMs() {
  const fields = (await readFile(`/proc/${daemon.pid}/stat`, "utf8")).split(") ")[1].split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / kTickHz;
}

const kept = [], near = [];
for (const { a } of pairs) if ((await send(a)).kind === "miss") kept.push(a);
for (const { b } of pairs) if ((await send(b, { "x-vsr-cache-control": "no-store" })).kind === "near") near.push(b);

async function measure(name, texts, kind, headers) {
  const times = [], before = await cpuMs();
  for (let round = 0; round < Number(rounds); ++round) {
    for (const text of texts) {
      const answer = await send(text, headers);
      if (answer.kind !== kind) throw new Error(`${name}: a ${answer.kind}, expected a ${kind}: ${text}`);
      times.push(answer.ms);
    }
  }
  const cpu = (await cpuMs()) - before;
  times.sort((x, y) => x - y);
  const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(2);
  console.log(`${name.padEnd(7)} ${times.length} requests: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, the daemon's processor time ${(cpu / times.length).toFixed(2)} ms each`);
}

try {
  console.log(`${near.length} of ${pairs.length} questions are near ones`);
  await measure("bypass", near, "miss", { "x-vsr-cache-control": "bypass" });
  await measure("exact", kept, "exact");
  await measure("near", near, "near", { "x-vsr-cache-control": "no-store" });
} finally {
  agent.destroy();
  daemon.kill("SIGTERM");
  await rm(folder, { recursive: true });
}
