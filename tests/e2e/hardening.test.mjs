// Tests that errors of the management API reveal no files of the machine, and that a router with too little memory reports it.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { withDaemon } from "./daemon.mjs";
import { until } from "./until.mjs";

const kSanitized = /asan|tsan/.test(process.env.SIGNALBOX ?? "") && "a sanitizer reserves most of the address space";

process.env.HARDENING_ADMIN = "admin-secret";
process.env.HARDENING_OPERATOR = "operator-secret";

const configuration = (auth = "", http = "") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: small}
  models:
    - {name: small, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    jailbreak: [{name: attack}]
  decisions:
    - {name: attacks, rules: {type: jailbreak, name: attack}, modelRefs: [{model: small}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}${auth}}
${http}  model_catalog:
    system: {prompt_guard: ""}
    missing_models: ignore
`;
const kAuth = ", auth: {mode: bearer, tokens: [{env: HARDENING_ADMIN, role: admin}, {env: HARDENING_OPERATOR, role: operator}]}";
const kNoToken = ", auth: {token_for_changes: false}";

const kSecret = "hunter2 is the first line";

async function patch(daemon, change, headers = {}) {
  const body = JSON.stringify({ global: change });
  const reply = await fetch(`${daemon.managementUrl}/config/router`, { method: "PATCH", headers, body });
  return { status: reply.status, message: (await reply.json()).error?.message };
}

// Changes that name a file, with the words of the program's own message, which only some may see.
const kFiles = ({ file, lines, large, gone, folder }) => [
  [{ access: { keys_file: file } }, "hunter2", /^: global\.access\.keys_file: cannot/],
  [{ access: { keys_file: lines } }, "hunter2", /^: global\.access\.keys_file: cannot/],
  [{ access: { keys_file: large } }, large, /^: global\.access\.keys_file: cannot/],
  [{ access: { tokens: [{ name: "a", issuer: "https://a.example", audiences: ["b"], jwks_file: file }] } }, file, /^: global\.access\.tokens: cannot/],
  [{ access: { tokens: [{ name: "a", issuer: "https://a.example", audiences: ["b"], jwks_file: gone }] } }, gone, /^: global\.access\.tokens: cannot/],
  [{ model_catalog: { system: { prompt_guard: folder } } }, folder, /^: global\.model_catalog\.system\.prompt_guard: cannot/],
];

for (const [caller, auth, headers] of [
  ["a token without secret_view", kAuth, { authorization: "Bearer operator-secret" }],
  ["a program of the machine without the local token", kNoToken, {}],
]) {
  test(`errors of files are shown with no text of the files to ${caller}`, async () => {
    await withDaemon(configuration(auth), async (daemon) => {
      const names = { file: "secret.txt", lines: "lines.txt", large: "large.txt", gone: "gone.txt", folder: "model" };
      const paths = Object.fromEntries(Object.entries(names).map(([key, name]) => [key, join(daemon.folder, name)]));
      const { file, lines, large, gone, folder } = paths;
      await writeFile(file, `${kSecret}\nand the second\n`);
      await writeFile(lines, "hunter2: {name: x}\nsecond: 2\nglobal.access: 3\n");
      await writeFile(large, "");
      await truncate(large, 300 << 20);
      await mkdir(folder);
      const seen = [];
      for (const [change, own, key] of kFiles(paths)) {
        const { status, message } = await patch(daemon, change, headers);
        assert.equal(status, 400, message);
        assert.match(message, /cannot be used; the router's log has the reason$/);
        for (const hidden of ["hunter2", "second", "\n", file, lines, large, gone, folder, "No such file"]) assert.ok(!message.includes(hidden), message);
        assert.match(message.slice(daemon.file.length), key);
        assert.ok(message.startsWith(daemon.file), message);
        await until(() => daemon.log.includes(own), () => daemon.log);
        seen.push(message);
      }
      for (const [one, other] of [[0, 1], [0, 2], [3, 4]]) assert.equal(seen[one], seen[other], "what the file is");
      const wrong = await patch(daemon, { router: { auto_model_names: 7 } }, headers);
      assert.match(wrong.message, /auto_model_names: expected .*7/, "errors of the text itself are shown");
    });
  });
}

test("the classification API has no text of the files of models that it cannot open", async () => {
  const unused = (...ports) => configuration(kAuth)(...ports).replace(/  decisions:\n.*\n/, "  decisions: []\n").replace(/  signals:\n.*\n/, "");
  await withDaemon(unused, async (daemon) => {
    const folder = join(daemon.folder, "model");
    await mkdir(folder);
    await writeFile(join(folder, "config.json"), '{"model_type": hunter2}');
    const headers = { authorization: "Bearer operator-secret" };
    const seen = new Set();
    for (const path of [folder, join(daemon.folder, "gone"), daemon.file]) {
      const change = { model_catalog: { system: { prompt_guard: path, reranker: path } } };
      const { status, message } = await patch(daemon, change, headers);
      assert.equal(status, 200, message);
      for (const [api, body] of [
        ["api/v1/classify/security", { text: "hello" }],
        ["v1/rerank", { query: "hello", documents: ["a"] }],
      ]) {
        const reply = await fetch(`${daemon.managementUrl}/${api}`, { method: "POST", headers, body: JSON.stringify(body) });
        assert.equal(reply.status, 503, api);
        seen.add((await reply.json()).error.message);
      }
    }
    const keys = ["prompt_guard", "reranker"];
    assert.deepEqual([...seen], keys.map((key) => `global.model_catalog.system.${key}: cannot be used; the router's log has the reason`));
    await until(() => daemon.log.includes("hunter2"), () => daemon.log);
  });
});

test("errors of files are shown to those who may read them anyway", async () => {
  await withDaemon(configuration(kAuth), async (daemon) => {
    const file = join(daemon.folder, "secret.txt");
    await writeFile(file, kSecret);
    const { message } = await patch(daemon, { access: { keys_file: file } }, { authorization: "Bearer admin-secret" });
    assert.ok(message.includes("global.access.keys_file") && message.includes("hunter2"), message);
  });
  await withDaemon(configuration(), async (daemon) => {
    const file = join(daemon.folder, "secret.txt");
    await writeFile(file, kSecret);
    const { message } = await patch(daemon, { access: { keys_file: file } }, await daemon.authorization());
    assert.ok(message.includes("hunter2"), message);
  });
});

test("the state of a rejected file is shown with no text of other files", async () => {
  await withDaemon(configuration(kAuth), async (daemon) => {
    const file = join(daemon.folder, "secret.txt");
    await writeFile(file, kSecret);
    await writeFile(daemon.file, (await readFile(daemon.file, "utf8")).replace("global:", `global:\n  access: {keys_file: "${file}"}`));
    const refused = async (token) => {
      const reply = await fetch(`${daemon.managementUrl}/config/status`, { headers: { authorization: `Bearer ${token}` } });
      return (await reply.json()).refused?.why;
    };
    await until(() => refused("admin-secret"));
    assert.ok((await refused("admin-secret")).includes("hunter2"));
    assert.equal(await refused("operator-secret"), `${daemon.file}: global.access.keys_file: cannot be used; the router's log has the reason`);
  });
});

test("a start without enough memory ends with a message", { skip: kSanitized }, async () => {
  await withDaemon(configuration(), async (daemon) => {
    const start = spawnSync("bash", ["-c", 'ulimit -v 100000; exec "$SIGNALBOX" serve --config "$0"', daemon.file], { encoding: "utf8" });
    assert.equal(start.status, 1, start.stderr);
    assert.match(start.stderr, /ulimit -v/);
  });
});

/// Begins to send a request of 256 MiB and returns the reply. The router reserves the memory of the whole body once it has
/// 1 MiB of it, so more need not be sent.
async function beginLarge(port) {
  const socket = connect(port, "127.0.0.1");
  let reply = "";
  socket.setEncoding("utf8").on("data", (text) => (reply += text));
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${256 << 20}\r\n\r\n`);
  socket.write(" ".repeat((1 << 20) + (64 << 10)));
  await new Promise((done) => socket.on("end", done).on("error", done));
  socket.destroy();
  return reply;
}

test("a request for which memory is missing gets 500, and the next one its answer", { skip: kSanitized }, async () => {
  await withDaemon(configuration("", "    http: {body_bytes_max: 1GiB, bodies_bytes_max: 8GiB}\n"), async (daemon) => {
    const chat = (text) => {
      const body = JSON.stringify({ model: "small", messages: [{ role: "user", content: text }] });
      return fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body });
    };
    assert.equal((await chat("Hello")).status, 200);
    const size = Number(/VmSize:\s+(\d+) kB/.exec(await readFile(`/proc/${daemon.process.pid}/status`, "utf8"))[1]) * 1024;
    execFileSync("prlimit", ["--pid", `${daemon.process.pid}`, `--as=${size + (64 << 20)}`]);
    assert.match(await beginLarge(new URL(daemon.url).port), /^HTTP\/1.1 500 .*too little memory/s);
    assert.equal((await chat("Hello")).status, 200);
  });
});
