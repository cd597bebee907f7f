#!/usr/bin/env node
// Measures the processor time that keys, limits, metering and the log line add to a request on the keyword path. Two routers
// answer with their built-in echo: one without any of these, one with all of them. Requests go to both in turn, so that the
// load of the machine affects both equally.
//
// With --seconds it measures instead how many requests one core carries: the routers run on the machine's second core, and
// wrk (Debian's package) sends the requests from the first one. This needs an idle machine.
//
// usage: bench/access_cpu.mjs build/release/signalbox [--requests 20000] [--rounds 5] [--seconds 10]

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const [program, ...options] = process.argv.slice(2);
const option = (name, without) => (options.includes(name) ? Number(options[options.indexOf(name) + 1]) : without);
const requests = option("--requests", 20_000);
const rounds = option("--rounds", 5);
const seconds = option("--seconds", 0);
const kClients = 16;
const kBody = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "Which theorem is this, and who has proved it?" }] });

const configuration = (port, more) => `version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: general}
  models:
    - {name: general, pricing: {prompt_per_1m: 1, completion_per_1m: 2}, backend_refs: [{name: e, type: echo}]}
    - {name: mathematician, pricing: {prompt_per_1m: 2, completion_per_1m: 4}, backend_refs: [{name: e, type: echo}]}
routing:
  signals: {keywords: [{name: proof, operator: OR, keywords: [theorem, proof, algebra]}]}
  decisions:
    - {name: math, priority: 5, rules: {type: keyword, name: proof}, modelRefs: [{model: mathematician}]}
global:
${more}
  services: {http: {threads: 1}, management_api: {enabled: false}}
`;
const kEverything = `  access: {keys_file: keys.json}
  spending: {budgets: [{name: all, by: group, amount: 1000000}, {name: each, by: user, amount: 1000000, per: day}]}`;

const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
const running = [];

function start(name, port, more, level) {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, configuration(port, more));
  const log = openSync(join(folder, `${name}.log`), "w");
  const command = [...(seconds > 0 ? ["taskset", "-c", "1"] : []), program, "serve", "--config", file, "--log-level", level];
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", log, log] });
  running.push(child);
  return { name, port, child, file, agent: new Agent({ keepAlive: true, maxSockets: kClients }), headers: {} };
}

function send(to) {
  return new Promise((done, fail) => {
    const headers = { "content-type": "application/json", "content-length": kBody.length, ...to.headers };
    const sent = request({ port: to.port, path: "/v1/chat/completions", method: "POST", agent: to.agent, headers });
    sent.on("response", (answer) => {
      if (answer.statusCode !== 200 || answer.headers["x-vsr-selected-decision"] !== "math") return fail(new Error(`status ${answer.statusCode}`));
      answer.resume().on("end", done);
    });
    sent.on("error", fail).end(kBody);
  });
}

function cpuSeconds({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function measure(to) {
  const before = cpuSeconds(to.child);
  let left = requests;
  await Promise.all(Array.from({ length: kClients }, async () => {
    while (left-- > 0) await send(to);
  }));
  return ((cpuSeconds(to.child) - before) / requests) * 1e6;
}

// Returns the requests a second and the processor time that one took, at the router and at wrk.
async function load(to) {
  const script = join(folder, "post.lua");
  const headers = Object.entries({ "content-type": "application/json", ...to.headers });
  writeFileSync(script, `wrk.method = "POST"\nwrk.body = ${JSON.stringify(kBody)}\n${headers.map(([name, value]) => `wrk.headers["${name}"] = "${value}"\n`).join("")}`);
  const before = cpuSeconds(to.child);
  const wrk = spawn("taskset", ["-c", "0", "wrk", "-t1", `-c${kClients}`, `-d${seconds}s`, "-s", script, `http://127.0.0.1:${to.port}/v1/chat/completions`]);
  let out = "", own = 0;
  wrk.stdout.on("data", (part) => (out += part));
  const watch = setInterval(() => (own = cpuSeconds(wrk)), 100);
  wrk.on("exit", () => clearInterval(watch));
  const status = await new Promise((done) => wrk.on("error", () => done("not found")).on("close", done));
  const count = Number(/(\d+) requests in/.exec(out)?.[1]);
  if (status !== 0 || !(count > 0) || /Non-2xx|Socket errors/.test(out)) throw new Error(`wrk: ${status}\n${out}`);
  return [count / seconds, ((cpuSeconds(to.child) - before) / count) * 1e6, (own / count) * 1e6];
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

try {
  const base = 20_000 + (process.pid % 10_000);
  const sides = [start("plain", base, "", "warn"), start("everything", base + 1, kEverything, "info")];
  const key = execFileSync(program, ["keys", "new", "bench", "--config", sides[1].file, "--group", "g", "--requests-per-minute", "1000000000", "--tokens-per-minute", "1000000000000"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  sides[1].headers = { authorization: `Bearer ${key}` };
  for (const side of sides) {
    for (let i = 0; ; ++i) {
      if (await send(side).then(() => true, () => false)) break;
      if (i > 200) throw new Error(`${side.name} does not answer`);
      await pause(50);
    }
  }
  if (seconds > 0) {
    for (const side of sides) {
      const [rate, router, wrk] = await load(side);
      console.log(`${side.name}: ${rate.toFixed(0)} requests a second; CPU us a request: ${router.toFixed(1)} router, ${wrk.toFixed(1)} wrk`);
    }
  } else {
    const rows = sides.map(() => []);
    for (let round = 0; round < rounds; ++round) {
      for (const [i, side] of sides.entries()) rows[i].push(await measure(side));
    }
    const [plain, everything] = rows.map(median);
    console.log(`CPU us a request: ${plain.toFixed(1)} plain, ${everything.toFixed(1)} with keys, limits, metering and the log line: ${(everything - plain).toFixed(1)} more (medians of ${rounds} rounds of ${requests})`);
  }
} finally {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
}
