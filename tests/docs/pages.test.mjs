// Has one test per page: runs its commands and compares their output with the page.

import assert from "node:assert/strict";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";

import { completion, ScriptedUpstream, streamed } from "../e2e/upstream.mjs";
import { missing, read } from "./blocks.mjs";
import { completed, errors } from "./fragments.mjs";
import { Session } from "./session.mjs";

const kRoot = "../.."; // relative to the folder of tests/docs/run

async function pages() {
  const found = (await readdir(join(kRoot, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  const wanted = (process.env.PAGES ?? "").split(" ").filter((part) => part !== "");
  const all = ["README.md", ...found.map((name) => join("docs", name)).sort()];
  return all.filter((page) => wanted.length === 0 || wanted.some((part) => page.includes(part)));
}

/// A double of a model server, on the port that stands for 8000 in the page. Its reply names the requested model.
async function modelServer(port) {
  const upstream = await ScriptedUpstream.start(Number(port));
  upstream.answer = ({ model, stream }) => {
    const content = `Here is ${model}.`;
    return stream ? streamed([{ role: "assistant", content: "" }, { content }]) : completion({ content });
  };
  return upstream;
}

const after = (directives, what) => directives.find((comment) => comment.startsWith(what))?.slice(what.length);

async function walk(page, blocks) {
  const session = await Session.open();
  let upstream, serving, printed; // the model server's double; the configuration that is being served; the last output
  try {
    for (const { line, language, text, directives } of blocks) {
      const where = `${page}:${line}`;
      if (language === "text" && printed !== undefined) {
        const lost = missing(text, printed);
        assert.equal(lost, null, `${where}: shows "${lost}"; what came back:\n${printed}`);
      }
      if (language !== "sh") continue;
      if (after(directives, "not run: ")) {
        printed = undefined; // no output to compare the next fence with
        continue;
      }
      if (directives.includes("model server")) upstream ??= await modelServer(session.port(8000));
      const configuration = after(directives, "with ");
      if (configuration && configuration !== serving) {
        const { status, output } = await session.run(`signalbox serve --config ${configuration}`);
        assert.equal(status, 0, `${where}: with ${configuration}:\n${output}`);
        serving = configuration;
      }
      if (/^(\S*\/)?signalbox serve\b/m.test(text)) serving = undefined; // the page's own router replaces it
      const { status, output } = await session.run(text, Number(after(directives, "status ") ?? 0));
      assert.equal(status, 0, `${where}: ended with ${status}:\n${output}`);
      printed = output;
    }
  } finally {
    const { status, output } = await session.close();
    await upstream?.stop();
    assert.equal(status, 0, `${page}: at its end:\n${output}`);
  }
}

const found = await pages();
describe("pages", { concurrency: 2 }, () => {
  for (const page of found) {
    test(page, async () => {
      const { blocks, problems } = read(await readFile(join(kRoot, page), "utf8"));
      assert.deepEqual(problems, []);
      if (blocks.some(({ language }) => language === "sh")) await walk(page, blocks);
    });
  }
});

test("every configuration that is shown can be read", async () => {
  const session = await Session.open();
  const wrong = [];
  for (const page of found) {
    const { blocks } = read(await readFile(join(kRoot, page), "utf8"));
    for (const { line, text } of blocks.filter(({ language }) => language === "yaml")) {
      await writeFile(join(session.folder, "part.yaml"), completed(text));
      const { output } = await session.run("signalbox config check --strict --without-keys part.yaml || true");
      wrong.push(...errors(output).map((error) => `${page}:${line}: ${error}`));
    }
  }
  await session.close();
  assert.deepEqual(wrong, []);
});

test("the index leads to every page", async () => {
  const index = await readFile(join(kRoot, "docs/README.md"), "utf8");
  const pages = found.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  assert.deepEqual(pages.filter((page) => !index.includes(`](${page.slice("docs/".length)})`)), []);
});

test("every link leads to a file", async () => {
  const lost = [];
  for (const page of found) {
    const text = await readFile(join(kRoot, page), "utf8");
    for (const [, target] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const there = await readFile(join(kRoot, page, "..", target)).then(() => true, (error) => error.code === "EISDIR");
      if (!there) lost.push(`${page}: ${target}`);
    }
  }
  assert.deepEqual(lost, []);
});
