// Tests coding agents as they come from the registry, with their default settings: each edits a file in three turns of
// a scripted model, directly and through the daemon. The requests that reach the model in both cases are compared.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Daemon } from "../daemon.mjs";
import { AgentModel } from "./model.mjs";

const kPackages = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
const kAsked = "Change beta to gamma in notes.txt";
const kSaid = "The file now reads gamma.";

/// Finds a program of a platform's package; packages are installed without their scripts.
const binary = (...paths) => paths.map((path) => join(kPackages, path)).find(existsSync);
const kClaude = binary(`@anthropic-ai/claude-code-linux-${process.arch}/claude`);
const kCodex = binary(".bin/codex");
const kOpencode = binary(`opencode-linux-${process.arch}-baseline/bin/opencode`);

/// Runs a program in a fresh home and returns what it wrote.
async function run(program, parameters, folder, environment) {
  const child = spawn(program, parameters, {
    cwd: join(folder, "work"),
    env: { PATH: process.env.PATH, HOME: join(folder, "home"), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 300_000);
  let out = "", err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  const code = await new Promise((done) => child.on("close", done));
  clearTimeout(timer);
  return { code, out, err };
}

/// The folder has the same name each time, because agents write it into their prompts.
async function inFolder(use) {
  const outer = await mkdtemp(join(tmpdir(), "signalbox-agent-"));
  const folder = join(tmpdir(), "signalbox-agent");
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "work"), { recursive: true });
  await mkdir(join(folder, "home"));
  await writeFile(join(folder, "work/notes.txt"), "alpha beta\n");
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(outer, { recursive: true, force: true });
  }
}

const kAgents = {
  claude: {
    program: kClaude,
    model: "claude-opus-5-5",
    steps: (folder) => [
      { call: "Read", input: { file_path: join(folder, "work/notes.txt") } },
      { call: "Edit", input: { file_path: join(folder, "work/notes.txt"), old_string: "beta", new_string: "gamma" } },
      { text: kSaid },
    ],
    run: (url, folder) =>
      run(kClaude, ["-p", "--permission-mode", "acceptEdits", kAsked], folder, { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "k" }),
  },
  codex: {
    program: kCodex,
    model: "gpt-5-codex",
    steps: () => [
      { call: "exec_command", input: { cmd: "cat notes.txt" } },
      { call: "exec_command", input: { cmd: "sed -i s/beta/gamma/ notes.txt" } },
      { text: kSaid },
    ],
    run: async (url, folder) => {
      await mkdir(join(folder, "home/.codex"));
      await writeFile(
        join(folder, "home/.codex/config.toml"),
        `model = "gpt-5-codex"\nmodel_provider = "signalbox"\n[model_providers.signalbox]\nname = "Signalbox"\nbase_url = "${url}/v1"\nenv_key = "KEY"\nwire_api = "responses"\n`,
      );
      const parameters = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", kAsked];
      return run(kCodex, parameters, folder, { KEY: "k" });
    },
  },
  opencode: {
    program: kOpencode,
    model: "coder",
    steps: (folder) => [
      { call: "read", input: { filePath: join(folder, "work/notes.txt") } },
      { call: "edit", input: { filePath: join(folder, "work/notes.txt"), oldString: "beta", newString: "gamma" } },
      { text: kSaid },
    ],
    run: async (url, folder) => {
      const options = { baseURL: `${url}/v1`, apiKey: "k" };
      const provider = { signalbox: { npm: "@ai-sdk/openai-compatible", name: "Signalbox", options, models: { coder: {} } } };
      await writeFile(join(folder, "work/opencode.json"), JSON.stringify({ provider, model: "signalbox/coder" }));
      return run(kOpencode, ["run", kAsked], folder, {});
    },
  },
};

const configuration = (agent, upstream, api) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: agents, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, provider_model_id: ${agent.model}, ${api}, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  decisions:
    - {name: everything, priority: 1, modelRefs: [{model: scripted}]}
global:
  router: {auto_model_names: [${agent.model}]}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

/// Plays an agent's session; with an API of the model's server, through the daemon.
function play(agent, api) {
  return inFolder(async (folder) => {
    const model = await AgentModel.start(agent.steps(folder));
    const daemon = api && (await Daemon.start(configuration(agent, model.port, api)));
    try {
      const result = await agent.run(daemon?.url ?? model.url, folder);
      const notes = await readFile(join(folder, "work/notes.txt"), "utf8");
      const log = daemon?.log ?? "";
      assert.equal(result.code, 0, `${result.out}\n${result.err}\n${log}`);
      assert.match(result.out, /The file now reads gamma\./);
      assert.equal(notes, "alpha gamma\n");
      assert.equal(model.turns().length, 3, `${result.out}\n${result.err}\n${log}`);
      return { turns: model.turns(), log };
    } finally {
      await daemon?.stop();
      await model.stop();
    }
  });
}

/// Replaces what differs from one run to the next: identities, times, and the order of Codex's metadata.
function stable(body) {
  const metadata = JSON.parse(body).client_metadata ?? {};
  const sorted = Object.fromEntries(Object.entries(metadata).sort());
  return body
    .replace(JSON.stringify(metadata), JSON.stringify(sorted))
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/[0-9a-f]{64}/g, "HASH")
    .replaceAll(/cc_version=[^;]*/g, "cc_version=V")
    .replaceAll(/\d+_ms\\*":\d{13}/g, "MS")
    .replaceAll(/unix_ms\\*":\d+/g, "MS")
    .replaceAll(/Chunk ID: [0-9a-f]+/g, "Chunk ID: X")
    .replaceAll(/Wall time: [\d.]+/g, "Wall time: X")
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST");
}

/// Compares long texts, and shows only the place where they differ.
function assertSame(actual, expected, what) {
  if (actual === expected) return;
  let at = 0;
  while (actual[at] === expected[at]) ++at;
  const around = (text) => text.slice(Math.max(0, at - 80), at + 80);
  assert.fail(`${what} differs at ${at}: ${around(actual)}\n  without the router: ${around(expected)}`);
}

const kCases = [
  { name: "claude", native: "api_format: anthropic", path: "/v1/messages" },
  { name: "codex", native: "responses_api: true", path: "/v1/responses" },
  { name: "opencode", native: "api_format: openai", path: "/v1/chat/completions" },
];

for (const { name, native, path } of kCases) {
  const agent = kAgents[name];
  const skip = agent.program ? false : "its program is not installed";
  test(`${name} edits a file, and a server of its own API gets the same bytes as without the router`, { skip }, async () => {
    const direct = await play(agent);
    const routed = await play(agent, native);
    for (const [i, { body, path: used, url, headers }] of routed.turns.entries()) {
      assert.equal(used, path);
      assert.equal(url, direct.turns[i].url);
      assertSame(stable(body), stable(direct.turns[i].body), `turn ${i}`);
      for (const header of ["anthropic-beta", "anthropic-version", "content-type", "user-agent"])
        assert.equal(headers[header], direct.turns[i].headers[header], header);
    }
  });

  if (path === "/v1/chat/completions") {
    test(`${name} edits a file in front of a server of Anthropic's messages`, { skip }, async () => {
      const { turns } = await play(agent, "api_format: anthropic");
      for (const { path: used, received } of turns) {
        assert.equal(used, "/v1/messages");
        assert.ok(received.system.length > 0);
        assert.deepEqual(received.messages.map(({ role }) => role).filter((role) => role !== "user" && role !== "assistant"), []);
      }
    });
    continue;
  }

  test(`${name} edits a file in front of a server of chat completions`, { skip }, async () => {
    const { turns, log } = await play(agent, "api_format: openai");
    for (const { path: used, received } of turns) {
      assert.equal(used, "/v1/chat/completions");
      assert.deepEqual(received.messages.flatMap(({ role }, at) => (role === "system" || role === "developer" ? [at] : [])), [0]);
      assert.ok(received.tools.every(({ type }) => type === "function"));
      assert.equal(received.client_metadata, undefined);
    }
    assert.match(log, /do not get: /);
  });
}
