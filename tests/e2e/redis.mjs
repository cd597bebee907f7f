// A real redis-server for tests, and the troubles that may happen to it.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";

import { freePorts } from "./daemon.mjs";
import { until } from "./until.mjs";

export class Redis {
  /// The reason to skip a test, or false.
  static missing() {
    try {
      return execFileSync("sh", ["-c", "command -v redis-server"]).length > 0 ? false : "redis-server is not installed";
    } catch {
      return "redis-server is not installed";
    }
  }

  static async on(folder) {
    const redis = new Redis();
    redis.folder = folder;
    [redis.port] = await freePorts(1);
    await redis.start();
    return redis;
  }

  get name() {
    return `redis 127.0.0.1:${this.port}`;
  }
  keysStore() {
    return `{backend: redis, redis: {address: "127.0.0.1:${this.port}", dial_timeout: 30, read_timeout: 30}}`;
  }
  storedKeys() {
    return this.ask("HGET", "signalbox:keys:set", "text");
  }

  /// Starts the server without data.
  async start() {
    const options = ["--port", this.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", this.folder];
    this.process = spawn("redis-server", options.map(String), { stdio: "ignore" });
    await until(async () => (await this.send("PING").catch(() => "")).startsWith("+PONG"), "Redis");
  }

  /// Sends one command, whose words may be quoted, and returns the whole reply, which must fit in a megabyte.
  async ask(...words) {
    const socket = connect(this.port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write(words.join(" ") + "\r\nPING end\r\n");
      let reply = "";
      for await (const bytes of socket) {
        reply += bytes.toString("latin1");
        if (reply.endsWith("$3\r\nend\r\n")) return reply.slice(0, -"$3\r\nend\r\n".length);
      }
      return reply;
    } finally {
      socket.destroy();
    }
  }

  async kill() {
    this.process.kill("SIGKILL");
    await once(this.process, "close");
  }

  remove() {
    return this.kill();
  }

  /// Sends one command and returns the first bytes of its reply.
  async send(...words) {
    const socket = connect(this.port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write(words.join(" ") + "\r\n");
      const [bytes] = await once(socket, "data");
      return bytes.toString();
    } finally {
      socket.destroy();
    }
  }
}

/// The beginning and the end of each trouble, by its name.
export const kTroubles = {
  killed: { begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  stopped: { begin: (redis) => redis.process.kill("SIGSTOP"), end: (redis) => redis.process.kill("SIGCONT") },
  full: { begin: (redis) => redis.send("CONFIG", "SET", "maxmemory", "1"), end: (redis) => redis.send("CONFIG", "SET", "maxmemory", "0") },
};
