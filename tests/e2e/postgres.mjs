// A real PostgreSQL for tests, whose login needs a password.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  settings = [];

  /// The reason to skip a test, or false.
  static missing() {
    if (!kPrograms) return "PostgreSQL is not installed";
    return hasClient() ? false : "the program was built without PostgreSQL";
  }

  /// Starts the server under another user if the test runs as root, because PostgreSQL refuses root. With the PEM files
  /// of a certificate and its key, it accepts connections over TLS only.
  static async on(_folder, certificate) {
    const postgres = new Postgres();
    postgres.user = process.getuid() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
    postgres.folder = mkdtempSync(join(tmpdir(), "signalbox-postgres-"));
    postgres.#give(postgres.folder);
    [postgres.port] = await freePorts(1);
    const data = join(postgres.folder, "empty");
    const options = ["-D", data, "-U", "tester", "-A", "scram-sha-256", "--pwfile", postgres.#put("password", postgres.password), "-N"];
    execFileSync(join(kPrograms, "initdb"), options, { ...postgres.user, stdio: "ignore" });
    if (certificate) {
      writeFileSync(join(data, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n");
      const files = Object.entries({ ssl_cert_file: certificate.cert, ssl_key_file: certificate.key });
      postgres.settings = ["ssl=on", ...files.map(([name, from]) => `${name}=${postgres.#put(name, readFileSync(from))}`)];
    }
    await postgres.start();
    return postgres;
  }

  #give(path) {
    if (process.getuid() === 0) chownSync(path, this.user.uid, this.user.gid);
  }
  #put(name, content) {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    this.#give(path);
    return path;
  }

  get name() {
    return `postgres 127.0.0.1:${this.port}`;
  }
  /// The section of the server; `more` may replace its keys.
  section(more = {}) {
    // On a busy machine, a process of the server may have to wait for its turn.
    const patient = { dial_timeout: 30, read_timeout: 30, write_timeout: 30 };
    return JSON.stringify({ host: "127.0.0.1", port: this.port, database: "postgres", user: "tester", password: this.password, ...patient, ...more });
  }
  keysStore() {
    return `{backend: postgres, postgres: ${this.section()}}`;
  }
  storedKeys() {
    return this.ask("SELECT convert_from(keys, 'UTF8') FROM signalbox_keys");
  }

  /// Starts the server without data.
  async start() {
    this.lives = (this.lives ?? 0) + 1;
    execFileSync("cp", ["-a", join(this.folder, "empty"), this.#data()], this.user);
    await this.startAgain();
  }

  #data() {
    return join(this.folder, `life-${this.lives}`);
  }

  /// Starts the server again with its data. The processes of a killed server end a moment later, and no other server
  /// can start before that.
  async startAgain() {
    const data = this.#data();
    const options = ["-D", data, "-p", this.port, "-h", "127.0.0.1", "-k", this.folder, "-F", ...this.settings.flatMap((each) => ["-c", each])];
    const spawnServer = () => (this.process = spawn(join(kPrograms, "postgres"), options.map(String), { ...this.user, stdio: "ignore" }));
    spawnServer();
    await until(() => {
      if (this.process.exitCode !== null) spawnServer();
      try {
        return this.ask("SELECT 1") === "1";
      } catch {
        return false;
      }
    }, "PostgreSQL");
  }

  ask(statement) {
    const options = ["-h", "127.0.0.1", "-p", String(this.port), "-U", "tester", "-d", "postgres", "-Atc", statement];
    return execFileSync("psql", options, { encoding: "utf8", stdio: "pipe", env: { ...process.env, PGSSLROOTCERT: "", PGPASSWORD: this.password } }).trim();
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
