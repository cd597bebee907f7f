// Tests the site that tools/site builds from the documents.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";

const kRoot = resolve("../..");
const kParts = ["docs", "tools/site", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md"];

/// Runs tools/site in a copy of the documents that `change(folder)` has changed.
async function site(change) {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-site-"));
  try {
    for (const part of kParts) await cp(join(kRoot, part), join(folder, part), { recursive: true });
    await change(folder);
    const { status, stderr } = spawnSync(join(folder, "tools/site"), ["site"], { cwd: folder, encoding: "utf8" });
    const built = status === 0 ? await readdir(join(folder, "site"), { recursive: true }) : [];
    const found = status === 0 ? JSON.parse(await readFile(join(folder, "site/search/search_index.json"), "utf8")).docs : [];
    return { status, stderr, built, found };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const missing = spawnSync("mkdocs", ["--version"]).status !== 0 && "mkdocs is not installed";

describe("the site", { skip: missing }, () => {
  test("the site has every page, and its search finds their words", async () => {
    const { status, stderr, built, found } = await site(() => {});
    assert.equal(status, 0, stderr);
    const pages = (await readdir(join(kRoot, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
    const expected = pages.map((page) => (page === "README.md" ? "index.html" : page.replace(/\.md$/, "/index.html")));
    assert.deepEqual(expected.filter((page) => !built.includes(page)), []);
    assert.ok(found.some(({ location, text }) => location.startsWith("access/") && text.includes("signalbox keys new")));
  });

  test("the site is refused with a broken link", async () => {
    const { status, stderr } = await site((folder) => appendFile(join(folder, "docs/api.md"), "\n[Lost](lost.md)\n"));
    assert.equal(status, 1);
    assert.match(stderr, /api\.md.*lost\.md/);
  });

  test("the site is refused with a page that the index lacks", async () => {
    const { status, stderr } = await site((folder) => appendFile(join(folder, "docs/lost.md"), "# Lost\n"));
    assert.equal(status, 1);
    assert.equal(stderr, "tools/site: docs/README.md does not link to lost.md\n");
  });
});
