// These faults happen during the soak: one model server fails at a time, Redis has troubles, and the configurations get
// good and broken changes.

import { rename, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

import { kTroubles } from "../tests/e2e/redis.mjs";
import { until } from "../tests/e2e/until.mjs";
import { decisions } from "./soak_configuration.mjs";
import { kFaults } from "./soak_servers.mjs";

const kFaultMs = 4000;
const kFaultPauseMs = 4000; // longer than reply_timeout, so that calls that hang have ended
const kTroubleMs = 2000; // after the routers have noticed
const kTroublePauseMs = 20_000;
const kChangePauseMs = 3000;

export async function metric(router, name) {
  const text = await (await fetch(`${router.managementUrl}/metrics`)).text();
  return Number(text.split("\n").find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
}

const allFit = async (router) => {
  const { models } = await (await fetch(`${router.managementUrl}/api/v1/servers`)).json();
  return models.every((model) => model.servers.every((server) => server.fit));
};

/// Makes one server at a time fail, each in its turn, because ejections of one server in a row last ever longer. The next fault
/// begins once every router uses all servers again.
export async function failServers(servers, routers, random, counts, isOver) {
  for (let i = 0; !isOver(); ++i) {
    await pause(kFaultPauseMs * (1 + random()));
    while (!isOver() && !(await Promise.all(routers.map(allFit))).every((fit) => fit)) await pause(200);
    const server = servers.all[i % servers.all.length];
    server.fault = kFaults[Math.floor(random() * kFaults.length)];
    counts[`a server: ${server.fault}`] = (counts[`a server: ${server.fault}`] ?? 0) + 1;
    await pause(kFaultMs * (0.5 + random()));
    server.fault = null;
  }
}

/// Redis is stopped for a while, or killed and started again without its data. `redis.isQuiet` is false from the beginning of
/// a trouble until every router has noticed its end and written what waited.
export async function troubleRedis(redis, routers, loops, random, counts, isOver) {
  const are = (works) => async () => (await Promise.all(routers.map((each) => metric(each, "signalbox_shared_responses_works")))).every((value) => value === works);
  const waits = async () => (await Promise.all(routers.map((each) => metric(each, "signalbox_shared_responses_waiting")))).some((value) => value > 0);
  for (let i = 0; ; ++i) {
    const end = Date.now() + kTroublePauseMs * (0.5 + random());
    while (Date.now() < end && !isOver()) await pause(200);
    if (isOver()) return;
    const name = i % 3 === 2 ? "killed" : "stopped";
    counts[`Redis: ${name}`] = (counts[`Redis: ${name}`] ?? 0) + 1;
    redis.isQuiet = false;
    ++redis.troubles;
    const since = Date.now();
    await kTroubles[name].begin(redis);
    await until(are(0), "the routers notice the trouble");
    await pause(kTroubleMs * random());
    await kTroubles[name].end(redis);
    await until(async () => (await are(1)()) && !(await waits()), "the routers notice the end of the trouble");
    if (name === "killed") for (const loop of loops) loop.responses.dataWasLost(since);
    redis.isQuiet = true;
  }
}

/// Changes the configuration of one router: as a file, by the management API, and with mistakes, which must change nothing.
/// `epochs.written` is the newest that may be active, `epochs.active` the newest that certainly is.
export class Changes {
  constructor(router, book, random, counts) {
    Object.assign(this, { router, book, random, counts });
  }

  async run(isOver) {
    const turns = [() => this.#file(), () => this.#patch(), () => this.#brokenFile(), () => this.#brokenPatch(), () => this.#again()];
    for (let i = 0; !isOver(); i = (i + 1) % turns.length) {
      await pause(kChangePauseMs * (0.5 + this.random()));
      await turns[i]();
    }
  }

  #count(name) {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
  async #status() {
    return (await fetch(`${this.router.managementUrl}/config/status`)).json();
  }
  async #put(text) {
    await writeFile(`${this.router.file}.new`, text);
    await rename(`${this.router.file}.new`, this.router.file);
  }
  #text(epoch) {
    return this.router.configuration(epoch);
  }
  async #patchWith(routing) {
    const headers = await this.router.authorization();
    return fetch(`${this.router.managementUrl}/config/router`, { method: "PATCH", headers, body: JSON.stringify({ routing }) });
  }

  async #file() {
    const { epochs } = this.router;
    const { generation } = await this.#status();
    const epoch = ++epochs.written;
    await this.#put(this.#text(epoch));
    await until(async () => (await this.#status()).generation > generation, "a changed file is active");
    epochs.active = epoch;
    this.#count("the configuration: a changed file");
  }

  async #patch() {
    const { epochs } = this.router;
    const epoch = ++epochs.written;
    const reply = await this.#patchWith({ decisions: decisions(epoch) });
    const text = await reply.text();
    if (reply.status !== 200) return this.book.fail("changes", { request: { patch: epoch }, expected: 200, found: text });
    epochs.active = epoch;
    this.#count("the configuration: PATCH");
  }

  async #brokenFile() {
    const { generation } = await this.#status();
    await this.#put(this.#text(1_000_000).replaceAll('"model": "large"', '"model": "nobody"'));
    await until(async () => (await metric(this.router, "signalbox_config_refused")) === 1, "a broken file is refused");
    const status = await this.#status();
    if (status.generation !== generation || !JSON.stringify(status.refused).includes("nobody")) {
      this.book.fail("changes", { request: "a broken file", expected: { generation, refused: "nobody" }, found: status });
    }
    this.#count("the configuration: a broken file, refused");
    await pause(kChangePauseMs * this.random());
    await this.#file();
  }

  async #brokenPatch() {
    const reply = await this.#patchWith({ strategy: "dice" });
    const text = await reply.text();
    if (reply.status !== 400) return this.book.fail("changes", { request: "a broken PATCH", expected: 400, found: text });
    this.#count("the configuration: a broken PATCH, refused");
  }

  async #again() {
    const { generation } = await this.#status();
    this.router.process.kill("SIGHUP");
    await until(async () => (await this.#status()).generation > generation, "the file is read again");
    this.#count("the configuration: SIGHUP");
  }
}
