// Tests what operators do to a running daemon: they change its file, send signals and use its management API. Also
// tests embeddings with OpenAI's client.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon, metric, settled, withDaemon } from "./daemon.mjs";
import { until } from "./until.mjs";

const kModel = resolve("../../models/minilm"); // relative to the folder of tests/e2e/run

const configuration = (decision) => (port, managementPort) => `# a remark
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: word, operator: OR, keywords: [word]}
  decisions:
    - name: ${decision}
      rules: {operator: OR, conditions: [{type: keyword, name: word}]}
      modelRefs: [{model: general}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
  model_catalog:
    embeddings: {semantic: {minilm_model_path: "${kModel}"}}
`;

let daemon, client;

before(async () => {
  daemon = await Daemon.start(configuration("one"));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});
after(async () => daemon?.stop());

const decision = async () => {
  const messages = [{ role: "user", content: "word" }];
  const { response } = await client.chat.completions.create({ model: "auto", messages }).withResponse();
  return response.headers.get("x-vsr-selected-decision");
};

const management = async (path, options = {}) => {
  const response = await fetch(`${daemon.managementUrl}${path}`, options);
  return { status: response.status, etag: response.headers.get("etag"), body: await response.json() };
};

/// Returns the number of unreadable requests by model.
const errors = async () => {
  const of = async (model) => (await metric(daemon, `llm_request_errors_total{model="${model}",reason="parse_error"}`)) || 0;
  return { general: await of("general"), unknown: await of("unknown") };
};

const becomes = (wanted) => until(async () => (await decision()) === wanted, () => `decision ${wanted}; the log:\n${daemon.log}`);

test("a file that an editor replaces serves within a second or so", async () => {
  assert.equal(await decision(), "one");
  const text = await readFile(daemon.file, "utf8");
  await writeFile(`${daemon.file}.new`, text.replace("name: one", "name: two"));
  await rename(`${daemon.file}.new`, daemon.file);
  await becomes("two");
  await until(() => daemon.log.includes("generation 2 is active"));
});

test("SIGHUP reads the file again and ends nothing", async () => {
  const { generation } = (await management("/config/status")).body;
  daemon.process.kill("SIGHUP");
  await until(async () => (await management("/config/status")).body.generation > generation, () => daemon.log);
  assert.equal(await decision(), "two");
});

test("a configuration is read, changed under If-Match and taken back", async () => {
  const { body, etag } = await management("/config/router");
  body.routing.decisions[0].name = "three";
  const authorization = await daemon.authorization();
  const headers = { "Content-Type": "application/json", "If-Match": etag, ...authorization };
  const put = await management("/config/router", { method: "PUT", headers, body: JSON.stringify(body) });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  assert.equal(await decision(), "three");
  const late = await management("/config/router", { method: "PUT", headers, body: JSON.stringify(body) });
  assert.equal(late.status, 412);
  assert.equal(late.body.error.code, "CONFIG_CHANGED");
  const back = await management("/config/router/rollback", {
    method: "POST",
    headers: authorization,
    body: JSON.stringify({ version: put.body.version }),
  });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(await decision(), "two");
  assert.match(await readFile(daemon.file, "utf8"), /^# a remark/);
});

test("a change without the local token is refused, and the token is in no log", async () => {
  const refused = await management("/config/router", { method: "PATCH", body: JSON.stringify({ routing: { strategy: "confidence" } }) });
  assert.equal(refused.status, 401);
  assert.match(refused.body.error.message, /\.signalbox\/config\.yaml\.token/);
  const { authorization } = await daemon.authorization();
  assert.ok(!daemon.log.includes(authorization.replace("Bearer ", "")));
});

test("the error on a wrong patch names line and key, and nothing changes", async () => {
  const patch = await management("/config/router", {
    method: "PATCH",
    headers: await daemon.authorization(),
    body: JSON.stringify({ routing: { strategy: "dice" } }),
  });
  assert.equal(patch.status, 400);
  assert.match(patch.body.error.message, /config\.yaml:\d+: routing\.strategy: expected one of/);
  assert.equal(await decision(), "two");
});

test("OpenAI's client gets embeddings", { skip: !existsSync(kModel) && "minilm is not pulled" }, async () => {
  const reply = await client.embeddings.create({
    model: "minilm",
    input: ["a cat sits on the mat", "a kitten rests on a rug", "interest rates rose"],
  });
  assert.equal(reply.data.length, 3);
  assert.ok(reply.usage.total_tokens > 10);
  const [cat, kitten, rates] = reply.data.map((item) => item.embedding);
  assert.equal(cat.length, 384);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  assert.ok(Math.abs(dot(cat, cat) - 1) < 1e-4);
  assert.ok(dot(cat, kitten) > dot(cat, rates) + 0.3);
  await assert.rejects(client.embeddings.create({ model: "nope", input: "x" }), { status: 404 });
});

test("the check of a file and a start name the lines of an unset variable and of a missing model", async () => {
  const text = `version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: PORT, timeout: 60s}]
providers:
  defaults: {default_model: far}
  models:
    - name: far
      backend_refs:
        - endpoint: "127.0.0.1:1"
          api_key_env: SIGNALBOX_TEST_UNSET
routing:
  signals: {jailbreak: [{name: attack}]}
  decisions: [{name: guarded, rules: {type: jailbreak, name: attack}, modelRefs: [{model: far}]}]
global:
  services: {management_api: {bind_address: 127.0.0.1, port: MANAGEMENT}}
  model_catalog:
    system:
      prompt_guard: /gone/guard
    missing_models: CHOICE
`;
  const kVariable = "9: providers.models[0].backend_refs[0].api_key_env: requests are sent without a key, because the environment variable SIGNALBOX_TEST_UNSET is not set";
  const kModel = '17: global.model_catalog.system.prompt_guard: there is no model at "/gone/guard"';
  const written = (choice) => (port, management) => text.replace("PORT", port).replace("MANAGEMENT", management).replace("CHOICE", choice);
  const daemon = await Daemon.start(written("ignore"));
  try {
    const file = daemon.file;
    await until(() => daemon.log.includes(`notice: ${file}:${kVariable}`), () => daemon.log);
    const check = (...options) => spawnSync(process.env.SIGNALBOX, ["config", "check", ...options, file], { encoding: "utf8" });
    const strict = check();
    assert.equal(strict.status, 1);
    assert.equal(strict.stderr, `${file}:${kVariable}\n`);
    const ignoring = check("--without-keys");
    assert.equal(ignoring.status, 0);
    assert.deepEqual(ignoring.stdout.trim().split("\n"), [`${file}:${kVariable}`, `${file}:${kModel} for jailbreak signals`]);
    assert.match(ignoring.stderr, /2 notices\n$/);
    await writeFile(file, written("fail")(1, 2));
    const failing = check("--without-keys");
    assert.equal(failing.status, 0);
    assert.ok(failing.stdout.includes(`${file}:${kModel}, but decisions depend on jailbreak signals; fetch it with`), failing.stdout);
    const start = spawnSync(process.env.SIGNALBOX, ["serve", "--config", file], { encoding: "utf8" });
    assert.equal(start.status, 1);
    assert.ok(start.stderr.includes(`${file}:${kModel}, but decisions depend on jailbreak signals; fetch it with`), start.stderr);
  } finally {
    await daemon.stop();
  }
});

test("an explanation of a bare chat names the two forms that a request may have", async () => {
  const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "word" }] });
  const { status, body: reply } = await management("/api/v1/explain", { method: "POST", body });
  assert.equal(status, 400);
  assert.match(reply.error.message, /^expected \{"text": .*\} or \{"request": /);
  const wrapped = await management("/api/v1/explain", { method: "POST", body: `{"request": ${body}}` });
  assert.equal(wrapped.status, 200);
});

test("a request that cannot be read counts for the model that it names", async () => {
  const before = await errors();
  for (const [path, body] of [
    ["/v1/chat/completions", { model: "general", messages: "x" }],
    ["/v1/messages", { model: "general", max_tokens: 9, messages: "x" }],
    ["/v1/completions", { model: "general", prompt: 7 }],
    ["/v1/responses", { model: "general", input: 7 }],
    ["/v1/chat/completions", { model: "somebody", messages: "x" }],
  ]) {
    const reply = await fetch(`${daemon.url}${path}`, { method: "POST", body: JSON.stringify(body) });
    assert.equal(reply.status, 400, path);
  }
  await settled(daemon);
  const after = await errors();
  assert.deepEqual([after.general - before.general, after.unknown - before.unknown], [4, 1]);
});

test("a path without its last letter gets the path that was meant", async () => {
  const reply = await (await fetch(`${daemon.url}/v1/chat/completion`, { method: "POST", body: "{}" })).json();
  assert.equal(reply.error.message, "/v1/chat/completion: there is no such path; did you mean /v1/chat/completions?");
});

// The log may end in the middle of a line.
async function lineOfRequest(daemon) {
  const find = () => daemon.log.split("\n").slice(0, -1).find((line) => line.includes('"component":"request"'));
  return JSON.parse(await until(find, () => daemon.log));
}

// Runs `use` with a router whose model has this server. `change` may change its file.
async function withServer(server, use, change = (text) => text) {
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const ref = `{name: node-7, endpoint: "127.0.0.1:${server.address().port}"}`;
  try {
    await withDaemon((...ports) => change(configuration("one")(...ports).replace("{name: echo, type: echo}", ref)), use);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

for (const data of ["data: ", "data:"]) {
  test(`a stream that its server ends with an error counts as failed, after "${data}"`, async () => {
    const events = ['{"choices":[{"index":0,"delta":{"content":"a"}}]}', '{"error":{"message":"out of memory"}}', "[DONE]"];
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(events.map((event) => `${data}${event}\n\n`).join(""));
    });
    await withServer(server, async (daemon) => {
      const body = JSON.stringify({ model: "auto", stream: true, messages: [{ role: "user", content: "hello" }] });
      const reply = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body });
      assert.match(await reply.text(), /out of memory/);
      const line = await lineOfRequest(daemon);
      assert.deepEqual([line.level, line.error, line.backend], ["warning", "upstream_error", "node-7"]);
    });
  });
}

test("the log names the server that has answered, also with an error", async () => {
  const server = createServer((_, response) => response.writeHead(500).end("out of memory"));
  await withServer(server, async (daemon) => {
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "hello" }] });
    const reply = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body });
    assert.deepEqual([reply.status, await reply.text()], [500, "out of memory"]);
    const line = await lineOfRequest(daemon);
    assert.deepEqual([line.error, line.backend], ["upstream_5xx", "node-7"]);
  });
});

test("the log warns if a server refuses the router's own key, and shows no key", async () => {
  const server = createServer((_, response) => response.writeHead(401).end("no"));
  const lineWith = async (key, path = "/v1/chat/completions", change = (text) => text, status = 401) => {
    let found;
    await withServer(server, async (daemon) => {
      const model = path.endsWith("completions") ? "auto" : "general";
      const body = JSON.stringify({ model, input: "word", messages: [{ role: "user", content: "word" }] });
      assert.equal((await fetch(`${daemon.url}${path}`, { method: "POST", body })).status, status);
      found = await lineOfRequest(daemon);
      assert.ok(!daemon.log.includes("sk-wrong"));
    }, (text) => change(text.replace("node-7,", `node-7,${key}`)));
    return [found.level, found.error, found.detail];
  };
  const kKey = " api_key: sk-wrong,", kUnset = " api_key_env: SIGNALBOX_TEST_UNSET,";
  const kWarning = 'backend "node-7" answered 401 to the router\'s own key (api_key)';
  assert.deepEqual(await lineWith(kKey), ["warning", "upstream_4xx", kWarning]);
  assert.deepEqual(await lineWith(kKey, "/v1/embeddings"), ["warning", "upstream_4xx", kWarning]);
  const loops = (text) => text
    .replace("modelRefs: [{model: general}]", "modelRefs: [{model: general}, {model: spare}]\n      algorithm: {type: confidence}")
    .replace("routing:", "    - {name: spare, backend_refs: [{name: echo, type: echo}]}\nrouting:");
  assert.deepEqual(await lineWith(kKey, undefined, loops, 200), ["warning", undefined, kWarning], "another model answers");
  assert.equal((await lineWith(`${kUnset}${kKey}`))[2], kWarning);
  assert.equal((await lineWith(kUnset))[2], 'backend "node-7" answered 401: api_key_env SIGNALBOX_TEST_UNSET holds no key');
  assert.deepEqual(await lineWith(""), ["info", "upstream_4xx", undefined], "the client's own key");
});

test("a status that the file lists leads to another model", async () => {
  const server = createServer((_, response) => response.writeHead(429).end("busy"));
  const answered = async (reliability) => {
    let model;
    await withServer(server, async (daemon) => {
      const body = JSON.stringify({ model: "general", messages: [{ role: "user", content: "hello" }] });
      const reply = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body });
      model = `${reply.status} ${reply.headers.get("x-vsr-selected-model")}`;
    }, (text) => text.replace("general, backend", `general, reliability: {${reliability}fallback_models: [spare]}, backend`)
      .replace("routing:", "    - {name: spare, backend_refs: [{name: echo, type: echo}]}\nrouting:"));
    return model;
  };
  assert.equal(await answered("retriable_status_codes: [408, 429], "), "200 spare");
  assert.equal(await answered(""), "429 general");
});

test("the log has the reason for another model", async () => {
  const server = createServer((_, response) => response.writeHead(503).end("busy"));
  await withServer(server, async (daemon) => {
    const body = JSON.stringify({ model: "general", messages: [{ role: "user", content: "hello" }] });
    const reply = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", body });
    assert.equal(reply.headers.get("x-vsr-selected-model"), "spare");
    const line = /model \\"general\\" failed: backend \\"node-7\\" answered 503; trying \\"spare\\" instead/;
    await until(() => line.test(daemon.log), () => daemon.log);
  }, (text) => text.replace("general, backend", "general, reliability: {retry_on: gateway-error, fallback_models: [spare]}, backend")
    .replace("routing:", "    - {name: spare, backend_refs: [{name: echo, type: echo}]}\nrouting:"));
});
