// Measures how long a short request for model "auto" takes while other clients send long prompts without a pause. The router
// runs already, for example with deploy/config/default.yaml; it decides on headers of the identity who a client is.
//
// usage: node bench/head_of_line.mjs PORT CLIENTS SECONDS [BYTES of a long prompt, 100000]

import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const [port, clients, seconds, bytes = 100_000] = process.argv.slice(2).map(Number);
if (!(port > 0) || !(clients >= 0) || !(seconds > 0)) {
  console.error("usage: node bench/head_of_line.mjs PORT CLIENTS SECONDS [BYTES]");
  process.exit(2);
}
const kWarmUpMs = 3000;
const kGapMs = 50; // between short requests

const pages = ["api", "decisions", "signals", "guard", "operations"];
const text = pages.map((page) => readFileSync(new URL(`../docs/${page}.md`, import.meta.url), "utf8")).join("\n");
const agent = new Agent({ keepAlive: true, maxSockets: clients + 1 });

/// Resolves to the status of the reply; 0 if there is none.
function send(content, user) {
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content }] });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), "x-authz-user-id": user };
  return new Promise((done) => {
    const call = request({ host: "127.0.0.1", port, method: "POST", path: "/v1/chat/completions", agent, headers }, (reply) => {
      reply.resume().on("end", () => done(reply.statusCode));
    });
    call.on("error", () => done(0)).end(body);
  });
}

const count = (counts, status) => (counts[status] = (counts[status] ?? 0) + 1);
const long = {};
const short = {};

/// Every prompt is another one, so that nothing is answered from the cache.
async function sendLong(client) {
  for (let n = 0; ; ++n) {
    const start = (n * 977 + client * 313) % 5000;
    count(long, await send(`${client} ${n} ${text.slice(start, start + bytes)}`, `long-${client}`));
  }
}

for (let client = 0; client < clients; ++client) void sendLong(client);
await pause(kWarmUpMs);
const times = [];
for (const until = Date.now() + 1000 * seconds; Date.now() < until; await pause(kGapMs)) {
  const began = performance.now();
  count(short, await send(`What is the capital of country number ${times.length}?`, "short"));
  times.push(performance.now() - began);
}
times.sort((a, b) => a - b);
const quantile = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
console.log(`short requests: ${times.length}, statuses ${JSON.stringify(short)}`);
console.log(`ms: median ${quantile(0.5)}, 90 % ${quantile(0.9)}, 99 % ${quantile(0.99)}, longest ${quantile(1)}`);
console.log(`long requests that ended: statuses ${JSON.stringify(long)}`);
process.exit(0);
