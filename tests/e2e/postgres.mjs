// A real PostgreSQL for tests, whose login needs a password.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePorts } from "./daemon.mjs";
import { until } from "./until.mjs";

const kFolders = [17, 16, 15, 14, 13, 12].map((version) => `/usr/lib/postgresql/${version}/bin`);
const kPrograms = kFolders.find((folder) => existsSync(join(folder, "postgres")));
const idOf = (option) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));

/// Returns whether the program was built with PostgreSQL. It needs no server.
function hasClient() {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-postgres-"));
  try {
    const file = join(folder, "config.yaml");
    writeFileSync(file, `
version: v0.3
providers: {defaults: {default_model: small}, models: [{name: small, backend_refs: [{name: echo, type: echo}]}]}
routing: {}
global: {access: {keys_store: {backend: postgres, postgres: {host: 127.0.0.1, port: 1}}}}
`);
    execFileSync(process.env.SIGNALBOX, ["keys", "list", "--config", file], { encoding: "utf8", stdio: "pipe" });
    return true;
  } catch (error) {
    return !/built without it/.test(error.stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export class Postgres {
  password = "Geheim-7Kt!9";

  /// The reason to skip a test, or false.
  static missing() {
    if (!kPrograms) return "PostgreSQL is not installed";
    return hasClient() ? false : "the program was built without PostgreSQL";
  }

  /// The server does not run as root.
  static async on() {
    const postgres = new Postgres();
    postgres.user = process.getuid() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
    postgres.folder = mkdtempSync(join(tmpdir(), "signalbox-postgres-"));
    [postgres.port] = await freePorts(1);
    const file = join(postgres.folder, "password");
    writeFileSync(file, postgres.password);
    if (process.getuid() === 0) for (const each of [postgres.folder, file]) chownSync(each, postgres.user.uid, postgres.user.gid);
    const options = ["-D", join(postgres.folder, "empty"), "-U", "tester", "-A", "scram-sha-256", "--pwfile", file, "-N"];
    execFileSync(join(kPrograms, "initdb"), options, { ...postgres.user, stdio: "ignore" });
    await postgres.start();
    return postgres;
  }

  get name() {
    return `postgres 127.0.0.1:${this.port}`;
  }
  keysStore(password = this.password) {
    return `{backend: postgres, postgres: {host: 127.0.0.1, port: ${this.port}, database: postgres, user: tester, password: "${password}"}}`;
  }
  storedKeys() {
    return this.ask("SELECT convert_from(keys, 'UTF8') FROM signalbox_keys");
  }

  /// Every life begins without data.
  async start() {
    this.lives = (this.lives ?? 0) + 1;
    const data = join(this.folder, `life-${this.lives}`);
    execFileSync("cp", ["-a", join(this.folder, "empty"), data], this.user);
    const options = ["-D", data, "-p", this.port, "-h", "127.0.0.1", "-k", this.folder, "-F"];
    this.process = spawn(join(kPrograms, "postgres"), options.map(String), { ...this.user, stdio: "ignore" });
    await until(() => {
      try {
        return this.ask("SELECT 1") === "1";
      } catch {
        return false;
      }
    }, "PostgreSQL");
  }

  ask(statement) {
    const options = ["-h", "127.0.0.1", "-p", String(this.port), "-U", "tester", "-d", "postgres", "-Atc", statement];
    return execFileSync("psql", options, { encoding: "utf8", stdio: "pipe", env: { ...process.env, PGPASSWORD: this.password } }).trim();
  }

  async kill() {
    this.process.kill("SIGKILL");
    await once(this.process, "close");
  }

  async remove() {
    await this.kill();
    rmSync(this.folder, { recursive: true, maxRetries: 20, retryDelay: 100 }); // its processes end a moment later
  }
}
