// Tests promptfoo as it comes from the registry: one evaluation uses its providers for chat completions, responses and
// messages, directly and through the daemon, in front of servers of these APIs and of chat completions. Its telemetry is
// off, so that it calls only the model.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Daemon } from "../daemon.mjs";
import { AgentModel } from "./model.mjs";
import { configuration } from "./three_apis.mjs";

const kProgram = join(dirname(fileURLToPath(import.meta.url)), "promptfoo/node_modules/.bin/promptfoo");
const [kMajor, kMinor] = process.versions.node.split(".").map(Number);
const kRuns = kMajor > 20 || (kMajor === 20 && kMinor >= 20);
const skip = kRuns ? !existsSync(kProgram) && "promptfoo is not installed" : "promptfoo needs Node.js 20.20";
const kOwnServers = { chat: "chats", responses: "gpt", messages: "claude" };
const kPaths = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" };

/// Returns the results of an evaluation, whose only check is the text of the answers.
async function evaluate(url, models, folder) {
  const options = { apiBaseUrl: `${url}/v1`, apiKey: "k" };
  const providers = [
    { id: `openai:chat:${models.chat}`, config: options },
    { id: `openai:responses:${models.responses}`, config: options },
    { id: `anthropic:messages:${models.messages}`, config: { ...options, apiBaseUrl: url } },
  ];
  const tests = [{ vars: { city: "Rome" }, assert: [{ type: "contains", value: "A small change" }] }];
  const file = join(folder, "evaluation.json"), out = join(folder, "results.json");
  await writeFile(file, JSON.stringify({ prompts: ["Where is {{city}}?"], providers, tests }));
  const child = spawn(kProgram, ["eval", "--config", file, "--output", out, "--no-cache"], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PROMPTFOO_DISABLE_TELEMETRY: "1", PROMPTFOO_DISABLE_UPDATE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const code = await new Promise((done) => child.on("close", done));
  assert.equal(code, 0, said);
  return JSON.parse(await readFile(out, "utf8")).results;
}

test("promptfoo evaluates over three APIs, and their servers get the same bytes as without the router", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-promptfoo-"));
  const model = await AgentModel.start([]);
  const daemon = await Daemon.start(configuration(model.port));
  try {
    const received = async (url, models) => {
      model.requests = [];
      const home = await mkdtemp(join(folder, "home-"));
      const { stats } = await evaluate(url, models, home);
      assert.deepEqual([stats.successes, stats.failures, stats.errors], [3, 0, 0]);
      return model.requests.map(({ url, body }) => ({ url, body })).sort((a, b) => (a.url + a.body < b.url + b.body ? -1 : 1));
    };
    const direct = await received(model.url, kOwnServers);
    assert.deepEqual(direct.map(({ url }) => url), Object.values(kPaths).sort());
    assert.deepEqual(await received(daemon.url, kOwnServers), direct);
    const translated = await received(daemon.url, { chat: "claude", responses: "chats", messages: "chats" });
    assert.deepEqual(translated.map(({ url }) => url), [kPaths.chat, kPaths.chat, kPaths.messages]);
  } finally {
    await daemon.stop();
    await model.stop();
    await rm(folder, { recursive: true });
  }
});
