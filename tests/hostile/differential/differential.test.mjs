// Sends hostile requests, byte for byte, to Signalbox, nginx and HAProxy in front of the same server, and compares which
// requests each understands. Then nginx and HAProxy stand in front of Signalbox: no request may reach the model's server
// that the front did not see, and the reply to another client must be its own. differences.jsonl lists the harmless
// differences with their reasons.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon, freePorts, missingOf } from "../../e2e/daemon.mjs";
import { cases as generated, chat, kModel, marker, mutations, post } from "./cases.mjs";
import { idsIn, Recorder, startHaproxy, startNginx } from "./servers.mjs";

const missing = missingOf(["nginx", "haproxy"]);
const kSkip = missing !== "" && `${missing} not installed`;
const kMutations = 60;
const kConcurrent = 50;
const kAnswerMsMax = 15_000;
// Behind the marker, so that a server that waits for more of a body or of a line gets it, and then finds no request.
const kRest = `${"\x01".repeat(2048)}\r\n\r\n`;

const lines = (file) => readFileSync(new URL(file, import.meta.url), "utf8").split("\n").filter((line) => line).map((line) => JSON.parse(line));
const part = (each) => (typeof each === "string" ? each : each.repeat.repeat(each.times));
const listed = lines("../requests.jsonl").map(({ name, send }) => {
  const text = [send].flat().map(part).join("").replaceAll("\r\nHost: ", "\r\nX-Case: urgent\r\nHost: ");
  return { name: `listed: ${name}`, bytes: (id) => text.replaceAll("urgent", id).replaceAll('"auto"', `"${kModel}"`) };
});
const cases = [...listed, ...generated, ...mutations(kMutations).map((each) => ({ ...each, isRandom: true }))];

const configuration = (upstream, idle) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 30s}]
providers:
  defaults: {default_model: ${kModel}}
  models: [{name: ${kModel}, backend_refs: [{name: ${kModel}, endpoint: "127.0.0.1:${upstream}"}]}]
global:
  services:
    management_api: {port: ${managementPort}}
    http: {header_timeout: 2s, body_timeout: 2s, idle_timeout: ${idle}, connections_per_address_max: 5000}
`;

const portOf = (daemon) => Number(new URL(daemon.url).port);
const fronts = ["nginx", "haproxy", "loose haproxy"];
let folder, recorder, model, alone, behind, proxies = [], direct, chained;
before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-differential-"));
  [recorder, model] = [await Recorder.start(false), await Recorder.start(true)];
  [alone, behind] = await Promise.all([Daemon.start(configuration(model.port, "2s")), Daemon.start(configuration(model.port, "60s"))]);
  const ports = await freePorts(6);
  direct = Object.fromEntries(fronts.map((name, i) => [name, ports[i]]));
  chained = Object.fromEntries(fronts.map((name, i) => [name, ports[fronts.length + i]]));
  const both = (name) => [[direct[name], recorder.port], [chained[name], portOf(behind)]];
  proxies = await Promise.all([startNginx(folder, both("nginx")), startHaproxy(folder, both("haproxy"), both("loose haproxy"))]);
});
after(async () => {
  if (kSkip) return;
  await Promise.all([alone, behind, ...proxies].map((each) => each?.stop()));
  for (const each of [recorder, model]) each?.stop();
  await rm(folder, { recursive: true });
});

/// Sends bytes on one connection and returns what comes back until the server closes.
async function exchange(port, bytes) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "", timer;
  const over = new Promise((done) => {
    socket.on("data", (more) => (text += more.toString("latin1")));
    for (const event of ["end", "close", "error"]) socket.on(event, () => done(true));
    timer = setTimeout(() => done(false), kAnswerMsMax);
  });
  socket.write(Buffer.from(bytes, "latin1"));
  const closed = await over;
  clearTimeout(timer);
  socket.destroy();
  return { text, closed };
}

let numbers = 0;
const freshId = () => `c${String(++numbers).padStart(5, "0")}`;

const repliesIn = (text) =>
  text.split(/(?=HTTP\/1\.[01] \d{3} )/).filter((reply) => /^HTTP\/1\.[01] [2-5]/.test(reply))
    .map((reply) => ({ passed: reply.includes('"got '), closes: /\r\nconnection: close/i.test(reply) }));

const shown = (id, requests) => requests.map(({ ids, bytes }) => `${ids.replaceAll(id.slice(1), "") || "-"}:${bytes}`);

/// The requests that a server sees in the bytes of a case and the marker, each as its ids and the length of its body.
async function readingOf(port, behindIt, each) {
  const id = freshId();
  const { text, closed } = await exchange(port, each.bytes(id) + marker(id) + kRest);
  assert.ok(closed, `${each.name}: the server closes after its last reply: ${text.slice(0, 300)}`);
  const got = shown(id, behindIt.of(id));
  return { got, text };
}

/// Signalbox answers some requests itself. Each of these is read as "?", because only their number is known.
async function ownReading(each) {
  const { got, text } = await readingOf(portOf(alone), model, each);
  const rest = [...got];
  const all = [];
  for (const { passed, closes } of repliesIn(text)) {
    if (passed && rest.length) all.push(rest.shift());
    else if (!closes) all.push("?");
    else break;
  }
  return [...all, ...rest];
}

/// Compares Signalbox's reading with another one.
function relation(own, other) {
  const same = (a, b) => a === "?" || a === b;
  for (let i = 0; i < Math.min(own.length, other.length); ++i) if (!same(own[i], other[i])) return "otherwise";
  return own.length === other.length ? "same" : own.length < other.length ? "stricter" : "looser";
}

/// The faults of a chain: a front, then Signalbox.
async function faultsOf(front, each, seen) {
  const id = freshId();
  const { text } = await exchange(chained[front], each.bytes(id) + marker(id) + kRest);
  const victim = freshId().replace("c", "v");
  const answer = await exchange(chained[front], post(victim, { head: `Connection: close\r\nContent-Length: ${chat(victim).length}\r\n` }));
  const out = [];
  const left = [...seen];
  for (const request of shown(id, model.of(id))) {
    const at = left.indexOf(request);
    if (at < 0) out.push(`the model's server got ${request}; the front saw ${seen.join(" ") || "nothing"}`);
    else left.splice(at, 1);
  }
  const foreign = [...text.matchAll(/got ([^"]*)/g)].flatMap((got) => idsIn(got[1])).filter((got) => got.slice(1) !== id.slice(1));
  if (foreign.length) out.push(`the client got a reply to ${foreign}`);
  if (repliesIn(answer.text).length !== 1 || !answer.text.includes(`got ${victim}`)) out.push(`the next client got ${JSON.stringify(answer.text.slice(0, 300))}`);
  return out;
}

async function inParallel(all, run) {
  const out = [];
  let next = 0;
  const worker = async () => {
    while (next < all.length) {
      const at = next++;
      out[at] = await run(all[at]);
    }
  };
  await Promise.all(Array.from({ length: kConcurrent }, worker));
  return out;
}

async function differencesOf(each) {
  const reading = ownReading(each);
  const found = [], faults = [];
  const compare = async (front) => {
    const { got } = await readingOf(direct[front], recorder, each);
    const own = await reading;
    const how = relation(own, got);
    if (how !== "same") found.push({ case: each.name, with: front, how, own: own.join(" "), other: got.join(" ") });
    for (const fault of await faultsOf(front, each, got)) faults.push(`${each.name}, behind ${front}: ${fault}`);
  };
  await Promise.all(fronts.map(compare));
  return { found, faults };
}

test("differential: each generated case differs from the others, and each listed difference has a case", () => {
  const bytes = generated.map((each) => each.bytes("c00000"));
  assert.deepEqual(generated.filter((_, i) => bytes.indexOf(bytes[i]) !== i).map(({ name }) => name), []);
  const names = new Set(cases.map(({ name }) => name));
  assert.deepEqual(lines("differences.jsonl").filter((each) => !names.has(each.case)), []);
});

/// Random cases have no list: for them it is enough that nothing is smuggled or read as something else.
test("differential: Signalbox, nginx and HAProxy read the same requests", { skip: kSkip }, async (t) => {
  const all = await inParallel(cases, differencesOf);
  await t.test("no request is smuggled", () => assert.deepEqual(all.flatMap(({ faults }) => faults), []));
  await t.test("the model's server gets well-formed requests", () => assert.deepEqual(model.faults, []));
  const found = all.flatMap((each) => each.found);
  // DIFFERENCES names a file, which gets all differences of this run: what each server read in each case.
  if (process.env.DIFFERENCES) writeFileSync(process.env.DIFFERENCES, found.map((each) => `${JSON.stringify(each)}\n`).join(""));
  await t.test("no bytes are read as two requests by one server and as another request by the other", () =>
    assert.deepEqual(found.filter(({ how }) => how === "otherwise"), []));
  await t.test("every difference is listed with its reason", () => {
    const known = new Set(lines("differences.jsonl").flatMap((each) => each.with.map((front) => `${each.case}|${front}|${each.how}`)));
    const random = new Set(cases.filter(({ isRandom }) => isRandom).map(({ name }) => name));
    assert.deepEqual(found.filter((each) => !random.has(each.case) && !known.has(`${each.case}|${each.with}|${each.how}`)), []);
  });
});
