// Starts the real daemon on free ports and stops it, for tests that use real sockets.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { get as getPlain } from "node:http";
import { get } from "node:https";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { until } from "./until.mjs";

const kReadyMsMax = 240_000; // allows for a sanitizer build on a busy machine
const kStopMsMax = 120_000;

// Returns ports below the range that the system assigns to connections, so that no connection takes a port before it is
// used. They are above 10080, the highest port that fetch and browsers refuse.
async function onFreePort() {
  for (;;) {
    const server = createServer();
    const port = 10_081 + Math.floor(Math.random() * 21_900);
    const listens = await new Promise((done) => {
      server.once("error", () => done(false));
      server.listen(port, "127.0.0.1", () => done(true));
    });
    if (listens) return server;
  }
}

/// Returns different ports that were free a moment ago.
export async function freePorts(count) {
  const servers = [];
  for (let i = 0; i < count; ++i) servers.push(await onFreePort());
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/// Returns whether a program listens on a port.
export async function isOpen(port) {
  const socket = connect(port, "127.0.0.1");
  const open = await new Promise((done) => socket.on("connect", () => done(true)).on("error", () => done(false)));
  socket.destroy();
  return open;
}

/// The environment for servers in system folders, which may be missing in the PATH of a user.
export const kSystemEnv = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/// Returns the names of those programs that are not installed, or "".
export function missingOf(programs) {
  return programs.filter((program) => spawnSync(program, ["-v"], { env: kSystemEnv }).error !== undefined).join(", ");
}

/// Returns the status of a GET, or null without a response. Uses HTTPS if there is an authority (PEM).
async function statusOf(url, authority) {
  if (!authority) {
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.status ?? null;
  }
  return new Promise((done) => {
    const call = get(url, { ca: authority, agent: false }, (answer) => answer.resume().on("end", () => done(answer.statusCode)));
    call.on("error", () => done(null));
  });
}

export class Daemon {
  /// `configuration(port, managementPort)` returns the YAML. SIGNALBOX names the program. `put(file, text)` may replace
  /// the function that writes the file, for example to write a link. `authority` (PEM) has signed the management
  /// listener's certificate, if it has one. Waits until `/ready` has the status `wanted`.
  static async start(configuration, put = writeFile, authority = "", wanted = 200) {
    assert.ok(process.env.SIGNALBOX, "SIGNALBOX: expected the path of the program to test");
    const daemon = new Daemon();
    const [port, managementPort] = await freePorts(2);
    daemon.url = `http://127.0.0.1:${port}`;
    daemon.managementUrl = `${authority ? "https" : "http"}://127.0.0.1:${managementPort}`;
    daemon.authority = authority;
    daemon.folder = await mkdtemp(join(tmpdir(), "signalbox-e2e-"));
    const file = join(daemon.folder, "config.yaml");
    daemon.file = file;
    await put(file, configuration(port, managementPort));
    daemon.log = "";
    daemon.process = spawn(process.env.SIGNALBOX, ["serve", "--config", file], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    daemon.process.stderr.setEncoding("utf8").on("data", (text) => (daemon.log += text));
    daemon.exited = new Promise((done) => daemon.process.on("close", (code, signal) => done({ code, signal })));
    await daemon.#ready(wanted);
    return daemon;
  }

  async #ready(wanted) {
    let over = false;
    this.exited.then(() => (over = true));
    for (const end = Date.now() + kReadyMsMax; Date.now() < end; await pause(20)) {
      if (over) break;
      if ((await statusOf(`${this.managementUrl}/ready`, this.authority)) === wanted) return;
    }
    this.process.kill("SIGKILL");
    assert.fail(`the daemon did not become ready; its log:\n${this.log}`);
  }

  /// Returns the header of a change through the management API, with the local token.
  async authorization() {
    const token = await readFile(join(this.folder, ".signalbox", "config.yaml.token"), "utf8");
    return { authorization: `Bearer ${token.trim()}` };
  }

  /// Stops the daemon as an operator would. If a sanitizer found a leak or a race, the exit code makes this fail.
  async stop() {
    this.process.kill("SIGTERM");
    const timer = setTimeout(() => this.process.kill("SIGKILL"), kStopMsMax);
    const { code, signal } = await this.exited;
    clearTimeout(timer);
    await rm(this.folder, { recursive: true });
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `the daemon's log:\n${this.log}`);
  }
}

/// Runs `use` with a router of this configuration, which is killed afterwards.
export async function withDaemon(configuration, use) {
  const daemon = await Daemon.start(configuration);
  try {
    await use(daemon);
  } finally {
    daemon.process.kill("SIGKILL");
    await daemon.exited;
    await rm(daemon.folder, { recursive: true });
  }
}

/// Returns the value of a metric, whose labels stand in its name, or NaN if there is none.
export async function metric(daemon, name) {
  const text = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  return Number(text.split("\n").find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
}

/// Returns the hash of a key as files have it.
export const hashOf = (key) => `sha256:${createHash("sha256").update(key).digest("hex")}`;

/// Waits until the router has counted, charged, logged and recorded every answered request, because the client gets the
/// answer before that.
export const settled = (daemon) => until(async () => (await metric(daemon, "signalbox_requests_in_flight")) === 0, "the end of all requests");

/// Waits until the router accepts a key. This wait may fail many times, and the router refuses an address with many
/// failures, so it sends from an address of its own.
export const accepts = (daemon, key) =>
  until(
    () =>
      new Promise((done, failed) => {
        const options = { localAddress: "127.0.0.2", agent: false, headers: { authorization: `Bearer ${key}` } };
        const sent = getPlain(`${daemon.url}/v1/models`, options, (answer) => answer.resume().on("end", () => done(answer.statusCode === 200)));
        sent.on("error", failed);
      }),
    "the key to be accepted",
  );

/// The beginning of a configuration in which the built-in echo is the only model.
export const echoOnly = (port) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: echo}
  models:
    - {name: echo, backend_refs: [{type: echo}]}
`;
