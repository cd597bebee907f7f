// Measures how much memory and time a daemon needs for large bodies of many shapes. It prints for each shape:
// - the least bodies_bytes_max with which the daemon answers one body, in multiples of the body, to a quarter;
// - how far the resident memory rises for one body, in multiples of the body, and the processor time;
// - how many of ten bodies that are sent at once are answered, and how long short requests beside them take. A keyword decides
//   these, and the daemon answers them itself, so that no other process keeps them waiting;
// - the peak of the memory with ten bodies, as a share of bodies_bytes_max, which is then 16 times the body.
// Each case has a daemon of its own, so that nothing lies ready from an earlier case. A stub server receives the large requests and
// holds none of them. Some cases store a large conversation first and continue it with a small request. The conversation is then
// the body that counts.
//
// usage: SIGNALBOX=build/release/signalbox node bench/dense_bodies.mjs [PART of a case's name] [BYTES, 30000000]

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import { Daemon } from "../tests/e2e/daemon.mjs";
import { send } from "./short_requests.mjs";

const [wanted = "", bytes = 30_000_000] = process.argv.slice(2);
const kChat = "/v1/chat/completions";
const kUser = '{"model":"auto","messages":[{"role":"user","content":"urgent"}],"x":';
const text = (filling) => ['{"model":"auto","messages":[{"role":"user","content":"urgent ', filling, '"}]}'];
const ignored = (filling, last) => [`${kUser}[`, filling, `${last}]}`];

/// Each case has a name, a path, and the parts of the body: [before, repeated, after]. The last member, if there is one, begins a
/// request that continues the stored answer to that body.
const kCases = [
  ["a member that nobody reads: [],", kChat, ignored("[],", "1")],
  ["a member that nobody reads: 1,", kChat, ignored("1,", "1")],
  ["a member that nobody reads: null,", kChat, ignored("null,", "1")],
  ['a member that nobody reads: "",', kChat, ignored('"",', "1")],
  ['a member that nobody reads: {"a":1},', kChat, ignored('{"a":1},', "1")],
  ['a member that nobody reads: "\\n",', kChat, ignored('"\\n",', "1")],
  ['a member that nobody reads: "\\u0041",', kChat, ignored('"\\u0041",', "1")],
  ['a member that nobody reads: {"\\n":0},', kChat, ignored('{"\\n":0},', "1")],
  ["a member that nobody reads: arrays 100 deep", kChat, ignored(`${"[".repeat(100)}${"]".repeat(100)},`, "1")],
  ["a member that nobody reads: one object of members", kChat, [`${kUser}{`, '"a":1,', '"a":1}}']],
  ["the request's own members", kChat, [`{"model":"auto","messages":[{"role":"user","content":"urgent"}],`, '"a":1,', '"a":1}']],
  ["one text: letters", kChat, text("abcdefg ")],
  ["one text: \\n", kChat, text("\\n")],
  ["one text: \\u0041", kChat, text("\\u0041")],
  ["one text: lines of prose", kChat, text("The quick brown fox jumps over the lazy dog while it rains.\\n")],
  ["one text: U+1F600", kChat, text("\u{1F600}")],
  ["one text of JSON: [],", kChat, ['{"model":"auto","messages":[{"role":"user","content":"[', "[],", '1]"}]}']],
  ["one text of JSON: strings", kChat, ['{"model":"auto","messages":[{"role":"user","content":"[', '\\"ab\\\\n\\",', '1]"}]}']],
  ["messages", kChat, ['{"model":"auto","messages":[', '{"role":"user","content":"urgent"},', '{"role":"user","content":"urgent"}]}']],
  ["messages without content", kChat, ['{"model":"auto","messages":[', '{"role":""},', '{"role":"user","content":"urgent"}]}']],
  ["parts of one message", kChat, ['{"model":"auto","messages":[{"role":"user","content":[', '{"type":"text","text":"a"},', '{"type":"text","text":"urgent"}]}]}']],
  ["tools", kChat, ['{"model":"auto","messages":[{"role":"user","content":"urgent"}],"tools":[', '{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string"}}}}},', '{"type":"function","function":{"name":"a"}}]}']],
  ["tools: \"\\n\",", kChat, ['{"model":"auto","messages":[{"role":"user","content":"urgent"}],"tools":[', '"\\n",', "1]}"]],
  ["tools: one long schema of enumerated values", kChat, ['{"model":"auto","messages":[{"role":"user","content":"urgent"}],"tools":[{"type":"function","function":{"name":"a","parameters":{"enum":[', '"value",', '"b"]}}}]}']],
  ["messages API: one text", "/v1/messages", ['{"model":"auto","max_tokens":9,"messages":[{"role":"user","content":"urgent ', "abcdefg ", '"}]}']],
  ["messages API: blocks", "/v1/messages", ['{"model":"auto","max_tokens":9,"messages":[{"role":"user","content":[', '{"type":"text","text":"a"},', '{"type":"text","text":"urgent"}]}]}']],
  ["messages API: a member that nobody reads", "/v1/messages", ['{"model":"auto","max_tokens":9,"messages":[{"role":"user","content":"urgent"}],"x":[', "[],", "1]}"]],
  ["responses API: one text", "/v1/responses", ['{"model":"auto","input":"urgent ', "abcdefg ", '"}']],
  ["responses API: one text, lines of prose", "/v1/responses", ['{"model":"auto","input":"urgent ', "The quick brown fox jumps over the lazy dog while it rains.\\n", '"}']],
  ["responses API: one text, continued", "/v1/responses", ['{"model":"auto","input":"urgent ', "abcdefg ", '"}'], '{"model":"auto","input":"urgent","previous_response_id":'],
  ["responses API: items", "/v1/responses", ['{"model":"auto","input":[', '{"role":"user","content":"a"},', '{"role":"user","content":"urgent"}]}']],
  ["responses API: a member that nobody reads", "/v1/responses", ['{"model":"auto","input":"urgent","x":[', "[],", "1]}"]],
  ["embeddings: texts", "/v1/embeddings", ['{"model":"m","input":[', '"a",', '"a"]}']],
  ["embeddings: one text", "/v1/embeddings", ['{"model":"m","input":"', "abcdefg ", '"}']],
];

const kShort = '{"model":"auto","messages":[{"role":"user","content":"a short text"}]}';
const kReply = JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "b" }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });

const server = createServer((received, reply) => {
  received.resume().on("end", () => reply.writeHead(200, { "content-type": "application/json" }).end(kReply));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const configuration = (bound) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: m}
  models:
    - {name: m, backend_refs: [{name: m, endpoint: "127.0.0.1:${server.address().port}"}]}
    - {name: echo, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: urgent, operator: OR, keywords: [urgent]}
      - {name: short, operator: OR, keywords: [short]}
  decisions:
    - {name: urgent, priority: 1, rules: {type: keyword, name: urgent}, modelRefs: [{model: m}]}
    - {name: short, priority: 1, rules: {type: keyword, name: short}, modelRefs: [{model: echo}]}
global:
  services:
    management_api: {port: ${managementPort}}
    http: {body_bytes_max: 64MiB, bodies_bytes_max: ${bound}}
`;

const kBoundTimes = 16;
const kShortBytes = 1 << 20; // for the short requests

/// Returns the body that is measured. If it continues a conversation, sends the conversation first.
async function bodyOf(daemon, path, large, continues) {
  if (!continues) return large;
  const { status, answer } = await send(daemon.url, path, large);
  if (status !== 200) return large;
  return Buffer.from(`${continues}${JSON.stringify(JSON.parse(answer).id)}}`);
}

const lacksRoom = ({ status, answer }) => status === 429 || answer.includes("bodies_bytes_max");

/// Returns the least bound, in multiples of the body, with which a daemon answers the request. Refusals for other reasons are answers,
/// too.
async function reserved(path, large, continues) {
  let low = continues ? 0 : 4, high = 4 * kBoundTimes;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    const daemon = await Daemon.start(configuration(Math.ceil((middle * large.length) / 4)));
    try {
      const reply = await send(daemon.url, path, await bodyOf(daemon, path, large, continues));
      if (lacksRoom(reply)) low = middle;
      else high = middle;
    } finally {
      await daemon.stop();
    }
  }
  return high / 4;
}

/// Returns the times of short requests while `body` is sent ten times.
async function besideTen(url, path, body) {
  const worker = new Worker(new URL("short_requests.mjs", import.meta.url), { workerData: { url, path: kChat, body: kShort } });
  await pause(300);
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(url, path, body)));
  worker.postMessage("stop");
  const times = await new Promise((done, failed) => worker.once("message", done).once("error", failed));
  return { times: times.sort((a, b) => a - b), answered: answers.filter((answer) => !lacksRoom(answer)).length };
}

const memory = (pid, name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
const ticks = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).reduce((a, b) => a + Number(b), 0);

for (const [name, path, [before, filling, after], continues] of kCases) {
  if (!name.includes(wanted)) continue;
  const large = Buffer.concat([Buffer.from(before), Buffer.alloc(Math.floor(bytes / Buffer.byteLength(filling)) * Buffer.byteLength(filling), filling), Buffer.from(after)]);
  const least = await reserved(path, large, continues);
  const bound = kBoundTimes * large.length + kShortBytes;
  const daemon = await Daemon.start(configuration(bound));
  const { pid } = daemon.process;
  for (let i = 0; i < 3; ++i) await send(daemon.url, path, Buffer.from(`${before}${filling}${after}`));
  const body = await bodyOf(daemon, path, large, continues);
  writeFileSync(`/proc/${pid}/clear_refs`, "5"); // the peak begins anew
  const held = memory(pid, "VmRSS"), began = ticks(pid);
  const { status, answer } = await send(daemon.url, path, body);
  const factor = (memory(pid, "VmHWM") - held) / large.length;
  const took = ((ticks(pid) - began) / 100).toFixed(2);
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const { times, answered } = await besideTen(daemon.url, path, body);
  const share = (memory(pid, "VmHWM") - held) / bound;
  const quantile = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1).padStart(5);
  const beside = `${quantile(0.5)} ${quantile(0.99)} ${quantile(1)} ms of ${times.length}`;
  console.log(`${least.toFixed(2).padStart(6)} ${factor.toFixed(2).padStart(6)}  ${took} s  ${answered} ${share.toFixed(2)}  ${beside}  ${status}  ${name}${status === 200 ? "" : `: ${answer.slice(0, 200)}`}`);
  await daemon.stop();
}
server.close();
