// Tests several routers behind a balancer, as in deploy/scale: three daemons, a real Redis, a real HAProxy, and
// OpenAI's client. Under traffic, a router is killed, one is stopped and one is added. Only requests that the killed
// router had begun to answer may fail.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import OpenAI from "openai";

import { Daemon, freePorts, isOpen, kSystemEnv, missingOf } from "./daemon.mjs";
import { deployed, kDeploy } from "./deployed.mjs";
import { until } from "./until.mjs";

const missing = missingOf(["haproxy", "redis-server"]);
const kSkip = missing !== "" && `${missing} not installed`;

const kKey = "sb-scale"; // of all clients; the balancer's checks have none
const kWorkers = 8; // concurrent requests
const kGapMs = 15; // between two deltas of a stream, so that streams are interrupted in the middle

/// A model server that repeats the last message word by word, and counts requests by x-request-id.
class Worker {
  static async start() {
    const worker = new Worker();
    worker.calls = [];
    worker.released = new Promise((done) => (worker.release = done)); // ends what waits for it
    worker.server = createServer((request, response) => worker.#answer(request, response));
    await new Promise((done) => worker.server.listen(0, "127.0.0.1", done));
    worker.port = worker.server.address().port;
    return worker;
  }

  async #answer(request, response) {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    const received = JSON.parse(body);
    const call = { id: request.headers["x-request-id"], session: request.headers["x-session-id"] };
    this.calls.push(call);
    const said = received.messages.at(-1).content;
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const all = (object, choice, more) => JSON.stringify({ id: "c", object, created: 1, model: "m", choices: choice, ...more });
    if (said.startsWith("slow")) await this.released;
    if (!received.stream) {
      await pause(kGapMs);
      const message = { role: "assistant", content: said };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(all("chat.completion", [{ index: 0, message, finish_reason: "stop" }], { usage }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, reason = null) => `data: ${all("chat.completion.chunk", [{ index: 0, delta, finish_reason: reason }])}\n\n`;
    for (const word of said.split(/(?<= )/)) {
      response.write(chunk({ content: word }));
      await pause(kGapMs);
    }
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

let log = ""; // of the balancer

async function listens(port) {
  await until(() => isOpen(port), () => `something listens on ${port}; the balancer's log:\n${log}`);
}

let folder, small, large, redis, redisPort, balancer, haproxy, balancerPort, client;
const routers = []; // in order of their names, starting with router-1

async function startRouter() {
  const ports = {
    "small.models.internal:8000": small.port,
    "large-1.models.internal:8000": large[0].port,
    "large-2.models.internal:8000": large[1].port,
  };
  const configuration = await deployed("scale/signalbox.yaml", ports, ({ global }) => {
    assert.equal(global.stores.response_cache.redis.address, "cache.internal:6379");
    global.stores.response_cache.redis.address = `127.0.0.1:${redisPort}`;
    const hash = `sha256:${createHash("sha256").update(kKey).digest("hex")}`;
    global.access = { ...global.access, keys: [{ name: "clients", hash }] };
    global.services.response_api.enabled = true; // a request that must not be sent twice
  });
  const daemon = await Daemon.start(configuration);
  routers.push(daemon);
  return daemon;
}

const portOf = (daemon) => new URL(daemon.url).port;

/// Writes the balancer's configuration for the current routers. A header names the router that served a request.
async function configure() {
  let text = await readFile(`${kDeploy}/scale/haproxy.cfg`, "utf8");
  const servers = routers.map((daemon, i) => `    server router-${i + 1} 127.0.0.1:${portOf(daemon)}\n`).join("");
  const changes = [
    ["bind :8800", `bind 127.0.0.1:${balancerPort}`],
    ["default_backend routers", "default_backend routers\n    http-response set-header x-served-by %s"],
    [/( {4}server router-\d .*\n){3}/, servers],
    ["timeout connect 1s", "timeout connect 30s\n    timeout check 30s"], // a busy machine
  ];
  for (const [from, to] of changes) {
    assert.ok(text.search(from) >= 0, `haproxy.cfg: ${from} is not in it any more`);
    text = text.replace(from, to);
  }
  await writeFile(haproxy, text);
}

before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-scale-"));
  small = await Worker.start();
  large = [await Worker.start(), await Worker.start()];
  [redisPort, balancerPort] = await freePorts(2);
  const options = ["--port", redisPort, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  redis = spawn("redis-server", options.map(String), { stdio: "ignore" });
  await listens(redisPort);
  await Promise.all([startRouter(), startRouter(), startRouter()]);
  haproxy = join(folder, "haproxy.cfg");
  await configure();
  balancer = spawn("haproxy", ["-W", "-db", "-f", haproxy], { env: kSystemEnv, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [balancer.stdout, balancer.stderr]) stream.setEncoding("utf8").on("data", (text) => (log += text));
  await listens(balancerPort);
  client = new OpenAI({ apiKey: kKey, baseURL: `http://127.0.0.1:${balancerPort}/v1`, maxRetries: 0 });
});

after(async () => {
  if (kSkip) return;
  balancer?.kill("SIGTERM");
  for (const daemon of routers) await (daemon.killed ? rm(daemon.folder, { recursive: true }) : daemon.stop());
  redis?.kill("SIGKILL");
  await Promise.all([small, ...(large ?? [])].map((worker) => worker?.stop()));
  await rm(folder, { recursive: true });
});

const requestOf = (text, more = {}) => ({ model: "auto", messages: [{ role: "user", content: text }], ...more });

/// Sends one request, whole or streamed, and returns its outcome: {id, began, by, failed?}.
async function ask(id, text, stream, at = client) {
  const out = { id, began: performance.now() };
  try {
    const options = { headers: { "x-request-id": id } };
    const { data, response } = await at.chat.completions.create(requestOf(text, { stream }), options).withResponse();
    out.by = response.headers.get("x-served-by");
    out.hit = response.headers.get("x-vsr-cache-hit") === "true";
    let said = "";
    let reason = stream ? undefined : data.choices[0].finish_reason;
    if (!stream) said = data.choices[0].message.content;
    else {
      for await (const chunk of data) {
        said += chunk.choices[0].delta.content ?? "";
        reason = chunk.choices[0].finish_reason ?? reason;
      }
    }
    if (said !== text || reason !== "stop") out.failed = `cut off after ${said.length} characters`;
  } catch (error) {
    out.failed = `${error.status ?? ""} ${error.message} ${error.cause ?? ""}`;
    out.status = error.status;
  }
  return out;
}

/// Sends traffic until stop() is called: new and repeated questions, whole and streamed, on persistent connections.
function traffic(name) {
  const done = [];
  let over = false;
  const worker = async (number) => {
    for (let i = 0; !over; ++i) {
      const text = i % 3 === 2 ? `Often asked ${name} ${number % 2}` : `One two three four ${name} ${number} ${i}`;
      done.push(await ask(`${name}-${number}-${i}`, text, i % 2 === 0));
    }
  };
  const all = Promise.all(Array.from({ length: kWorkers }, (_, i) => worker(i)));
  return {
    done,
    /// Waits for `count` more answers, not counting requests that were in flight at the call.
    more: async (count) => {
      const enough = done.length + kWorkers + count;
      await until(() => done.length >= enough, () => `${done.length} of ${enough} requests`);
    },
    stop: async () => {
      over = true;
      await all;
      return done;
    },
  };
}

const failures = (requests) => requests.filter((request) => request.failed);
const servers = (requests) => [...new Set(requests.map((request) => request.by))].filter(Boolean).sort();

test("three routers share the work, and answers in Redis", { skip: kSkip }, async () => {
  const direct = routers.map((daemon) => new OpenAI({ apiKey: kKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 }));
  assert.equal((await ask("first", "What is asked everywhere", false, direct[0])).hit, false);
  for (const [i, stream] of [[1, false], [2, true]]) {
    // The answer is stored after the client has received it.
    const isHit = (answer) => answer.hit && answer;
    const second = await until(async () => isHit(await ask(`again-${i}`, "What is asked everywhere", stream, direct[i])));
    assert.equal(second.failed, undefined);
  }
  const calls = small.calls.length;
  for (const [i, at] of direct.entries()) assert.equal((await ask(`known-${i}`, "What is asked everywhere", false, at)).hit, true);
  assert.equal(small.calls.length, calls, "a worker received another request");

  const running = traffic("share");
  await running.more(30);
  const requests = await running.stop();
  assert.deepEqual(failures(requests), []);
  assert.deepEqual(servers(requests), ["router-1", "router-2", "router-3"]);
  assert.ok(requests.some((request) => request.hit));
});

test("a session has the same worker, whichever router it comes by", { skip: kSkip }, async () => {
  for (let session = 0; session < 6; ++session) {
    for (const [i, daemon] of routers.entries()) {
      const body = JSON.stringify(requestOf(`Prove theorem ${session} to router ${i}`));
      const headers = { authorization: `Bearer ${kKey}`, "content-type": "application/json", "x-session-id": `session-${session}` };
      const response = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers, body });
      assert.equal(response.status, 200);
      await response.arrayBuffer();
    }
  }
  const sessions = large.map((worker) => new Set(worker.calls.map((call) => call.session)));
  assert.equal(sessions[0].size + sessions[1].size, 6, "a session was at both workers");
});

test("a killed router fails only requests that were running in it", { skip: kSkip }, async () => {
  const running = traffic("kill");
  await running.more(10);
  // Requests that wait for their first byte, some of them calls that may be repeated and some that may not.
  const silent = Array.from({ length: kWorkers }, (_, i) => ask(`silent-${i}`, `slow ${i}`, i % 2 === 0));
  const kept = Array.from({ length: kWorkers }, async (_, i) => {
    const options = { headers: { "x-request-id": `kept-${i}` } };
    return client.responses.create({ model: "auto", input: `slow to keep ${i}` }, options).then(
      () => 200,
      (error) => error.status,
    );
  });
  await until(() => small.calls.filter(({ id }) => /^(silent|kept)-/.test(id)).length === 2 * kWorkers, "all are at the worker");
  const { process, exited } = routers[1];
  process.kill("SIGKILL");
  await exited;
  small.release();
  routers[1].killed = true;
  const dead = performance.now();
  await running.more(30);
  const requests = await running.stop();
  for (const request of failures(requests)) {
    assert.equal(request.by, "router-2", JSON.stringify(request));
    assert.ok(request.began < dead, `began after the death: ${JSON.stringify(request)}`);
  }
  const later = requests.filter((request) => request.began > dead);
  assert.ok(later.length >= 30);
  assert.deepEqual(servers(later), ["router-1", "router-3"]);

  const times = (id) => small.calls.filter((call) => call.id === id).length;
  const answered = await Promise.all(silent);
  assert.deepEqual(failures(answered), []);
  const again = answered.filter(({ id }) => times(id) === 2);
  assert.ok(again.length > 0 && again.every(({ by }) => by !== "router-2"), "none of them was at the dead router");
  const statuses = await Promise.all(kept);
  assert.ok(statuses.includes(502), `${statuses}: none of them was at the dead router`);
  statuses.forEach((status, i) => {
    assert.ok(status === 200 || status === 502, `${status}`);
    assert.equal(times(`kept-${i}`), 1);
  });
});

test("a router that is added serves, and no request fails", { skip: kSkip }, async () => {
  const running = traffic("add");
  await startRouter();
  await configure();
  const logged = log.length;
  balancer.kill("SIGUSR2");
  const isServing = () => running.done.some((request) => request.by === "router-4");
  await until(isServing);
  await running.more(30);
  // A balancer that was reloaded counts the killed router as alive until it has checked it. The next test stops another one.
  await until(() => log.indexOf("routers/router-2 is DOWN", logged) >= 0, () => log.slice(logged));
  const requests = await running.stop();
  assert.deepEqual(failures(requests), []);
  assert.deepEqual(servers(requests), ["router-1", "router-3", "router-4"], log);
});

test("a router that gets the signal to stop finishes its requests, and none fails", { skip: kSkip }, async () => {
  const running = traffic("stop");
  await running.more(10);
  await routers[0].stop();
  routers.shift();
  await running.more(30);
  const requests = await running.stop();
  assert.deepEqual(failures(requests), []);
});
