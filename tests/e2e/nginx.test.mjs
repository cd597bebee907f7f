// Tests deploy/scale/nginx.conf with a real nginx: events arrive at once, large bodies pass, and a router that is away is left out.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Daemon, freePorts, isOpen, kSystemEnv, missingOf } from "./daemon.mjs";
import { kDeploy } from "./deployed.mjs";
import { RepeatingUpstream } from "./upstream.mjs";
import { until } from "./until.mjs";

const missing = missingOf(["nginx"]);
const kSkip = missing !== "" && `${missing} not installed`;
const kFolders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

let folder, steps, step, repeating, router, nginx, url;
let log = "";

const configuration = (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}}]
providers:
  defaults: {default_model: repeating}
  models:
    - {name: repeating, backend_refs: [{name: repeating, endpoint: "127.0.0.1:${repeating.port}"}]}
    - {name: steps, backend_refs: [{name: steps, endpoint: "127.0.0.1:${steps.address().port}"}]}
global: {services: {management_api: {port: ${managementPort}}}}
`;

/// The file of deploy/, with a router that is there, one that is not, and folders that a test may use.
async function configure(port, nobody) {
  let text = await readFile(`${kDeploy}/scale/nginx.conf`, "utf8");
  const folders = kFolders.map((name) => `    ${name}_temp_path ${folder}/${name};\n`).join("");
  const changes = [
    ["listen 8800", `listen 127.0.0.1:${port}`],
    ["http {\n", `http {\n    access_log off;\n${folders}`],
    ["router-1.internal:8801", `127.0.0.1:${nobody}`],
    ["router-2.internal:8801", `127.0.0.1:${new URL(router.url).port}`],
    [/ *server router-3.*\n/, ""],
    ["proxy_connect_timeout 1s", "proxy_connect_timeout 30s"], // a busy machine
  ];
  for (const [from, to] of changes) {
    assert.ok(text.search(from) >= 0, `nginx.conf: ${from} is not in it any more`);
    text = text.replace(from, to);
  }
  const file = join(folder, "nginx.conf");
  await writeFile(file, text);
  return file;
}

before(async () => {
  if (kSkip) return;
  folder = await mkdtemp(join(tmpdir(), "signalbox-nginx-"));
  steps = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    step = (content) => {
      const choices = [{ index: 0, delta: { content } }];
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`);
    };
    step("one");
  });
  await new Promise((done) => steps.listen(0, "127.0.0.1", done));
  repeating = await RepeatingUpstream.start();
  router = await Daemon.start(configuration);
  const [port, nobody] = await freePorts(2);
  const options = `daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;`;
  nginx = spawn("nginx", ["-c", await configure(port, nobody), "-e", "stderr", "-g", options], { env: kSystemEnv, stdio: ["ignore", "ignore", "pipe"] });
  nginx.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  await until(() => isOpen(port), () => `nginx listens: ${log}`);
  url = `http://127.0.0.1:${port}/v1/chat/completions`;
});

after(async () => {
  if (kSkip) return;
  nginx?.kill("SIGKILL");
  await router?.stop();
  steps?.closeAllConnections();
  steps?.close();
  await repeating?.stop();
  await rm(folder, { recursive: true });
});

const post = (model, content, more = {}) =>
  fetch(url, { method: "POST", body: JSON.stringify({ model, messages: [{ role: "user", content }], ...more }) });

test("each event arrives before the next one is sent", { skip: kSkip }, async () => {
  const reply = await post("steps", "Hello", { stream: true });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (const word of ["one", "two", "three"]) {
    let found = "";
    if (word !== "one") step(word);
    while (!found.includes(`"content":"${word}"`)) found += (await reader.read()).value;
  }
  await reader.cancel();
});

test("a body of some megabytes passes", { skip: kSkip }, async () => {
  const reply = await post("repeating", "word ".repeat(600_000));
  assert.equal(reply.status, 200, log);
  assert.equal((await reply.json()).choices[0].message.content.length, 3_000_000);
});

test("no prompt is written to the disk", { skip: kSkip }, () => {
  assert.doesNotMatch(log, /temporary file/);
});

test("three hundred clients at once get their streams", { skip: kSkip }, async () => {
  const replies = await Promise.all(Array.from({ length: 300 }, () => post("steps", "Hello", { stream: true })));
  for (const reply of replies) assert.equal(reply.status, 200);
  await Promise.all(replies.map((reply) => reply.body.cancel()));
});

test("a router that is away costs no request", { skip: kSkip }, async () => {
  for (let i = 0; i < 8; ++i) assert.equal((await post("repeating", `Number ${i}`)).status, 200);
  assert.match(log, /Connection refused/, "the other router was tried");
});
