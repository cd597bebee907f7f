// Starts a real Prometheus on a free port that scrapes one daemon every second.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { freePorts } from "../e2e/daemon.mjs";

const kWaitMsMax = 180_000; // a busy machine

/// Returns the reason why Prometheus is unavailable, or false if it is available.
export const missing = () =>
  ["prometheus", "promtool"].some((name) => spawnSync(name, ["--version"]).status !== 0) &&
  "prometheus and promtool are not installed (Debian's prometheus)";

export class Prometheus {
  static async start(target, ruleFiles = []) {
    const it = new Prometheus();
    const [port] = await freePorts(1);
    it.url = `http://127.0.0.1:${port}`;
    it.folder = await mkdtemp(join(tmpdir(), "signalbox-prometheus-"));
    const file = join(it.folder, "prometheus.json"); // JSON is valid YAML
    const job = { job_name: "signalbox", scrape_interval: "1s", scrape_timeout: "1s", static_configs: [{ targets: [target] }] };
    await writeFile(file, JSON.stringify({ global: { evaluation_interval: "1s" }, scrape_configs: [job], rule_files: ruleFiles }));
    const options = [`--config.file=${file}`, `--storage.tsdb.path=${it.folder}/data`, `--web.listen-address=127.0.0.1:${port}`];
    it.log = "";
    it.process = spawn("prometheus", options, { stdio: ["ignore", "ignore", "pipe"] });
    it.process.stderr.setEncoding("utf8").on("data", (text) => (it.log += text));
    it.exited = new Promise((done) => it.process.on("close", done));
    await it.until(async () => (await it.series("up", Date.now() / 1000 - 5))?.some((each) => each.values.at(-1)[1] === "1"), "it scrapes");
    return it;
  }

  async until(holds, what) {
    for (const end = Date.now() + kWaitMsMax; Date.now() < end; await pause(200)) {
      if (await holds().catch(() => false)) return;
    }
    assert.fail(`never came: ${what}; the log of prometheus:\n${this.log}`);
  }

  async get(path, query) {
    const response = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const body = await response.json();
    assert.equal(body.status, "success", `${JSON.stringify(query)}: ${body.error}`);
    return body.data;
  }
  /// Runs a query over the time since `start` (seconds), with one value per second.
  async series(query, start) {
    return (await this.get("query_range", { query, start, end: Date.now() / 1000, step: 1 })).result;
  }
  async now(query) {
    return (await this.get("query", { query })).result;
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.exited;
    await rm(this.folder, { recursive: true });
  }
}
