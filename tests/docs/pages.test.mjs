// One test a page: its commands run, and what the page shows comes back.

import assert from "node:assert/strict";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";

import { completion, ScriptedUpstream, streamed } from "../e2e/upstream.mjs";
import { missing, read } from "./blocks.mjs";
import { completed, errors } from "./fragments.mjs";
import { Session } from "./session.mjs";

const kRoot = "../.."; // of the folder that tests/docs/run changes to

async function pages() {
  const found = (await readdir(join(kRoot, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  const wanted = (process.env.PAGES ?? "").split(" ").filter((part) => part !== "");
  const all = ["README.md", ...found.map((name) => join("docs", name)).sort()];
  return all.filter((page) => wanted.length === 0 || wanted.some((part) => page.includes(part)));
}

/// A double of a model server, on the port that the page names 8000. It says which model it was asked for.
async function modelServer(port) {
  const upstream = await ScriptedUpstream.start(Number(port));
  upstream.answer = ({ model, stream }) => {
    const content = `Here is ${model}.`;
    return stream ? streamed([{ role: "assistant", content: "" }, { content }]) : completion({ content });
  };
  return upstream;
}

const after = (told, what) => told.find((comment) => comment.startsWith(what))?.slice(what.length);

async function walk(page, blocks) {
  const session = await Session.open();
  let upstream, serving, printed; // the double, the configuration that a comment asked for, the last output
  try {
    for (const { line, language, text, told } of blocks) {
      const where = `${page}:${line}`;
      if (language === "text" && printed !== undefined) {
        const lost = missing(text, printed);
        assert.equal(lost, null, `${where}: shows "${lost}"; what came back:\n${printed}`);
      }
      if (language !== "sh") continue;
      if (after(told, "not run: ")) {
        printed = undefined; // what follows cannot be held against anything
        continue;
      }
      if (told.includes("model server")) upstream ??= await modelServer(session.port(8000));
      const configuration = after(told, "with ");
      if (configuration && configuration !== serving) {
        const { status, output } = await session.run(`signalbox serve --config ${configuration}`);
        assert.equal(status, 0, `${where}: with ${configuration}:\n${output}`);
        serving = configuration;
      }
      if (/^(\S*\/)?signalbox serve\b/m.test(text)) serving = undefined; // the page's own takes its place
      const { status, output } = await session.run(text, Number(after(told, "status ") ?? 0));
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
      const { output } = await session.run("signalbox config check --strict part.yaml || true");
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
