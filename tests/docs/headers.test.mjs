// docs/headers.md lists every x-vsr-* header that the router's code names, and no other.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

const kRoot = "../.."; // of the folder that tests/docs/run changes to
const kHeader = /\bx-vsr-[a-z]+(?:-[a-z]+)*(?![-\w])/g; // not a prefix such as "x-vsr-selected-"

async function namesInCode() {
  const folder = join(kRoot, "router");
  const sources = (await readdir(folder, { recursive: true })).filter(
    (name) => /\.(h|cc)$/.test(name) && !name.includes("node_modules"),
  );
  const names = new Set();
  for (const name of sources) {
    for (const [found] of (await readFile(join(folder, name), "utf8")).matchAll(kHeader)) names.add(found);
  }
  return names;
}

test("docs/headers.md has the x-vsr-* headers of the code, and no others", async () => {
  const code = await namesInCode();
  const page = new Set((await readFile(join(kRoot, "docs/headers.md"), "utf8")).match(kHeader));
  assert.ok(code.size > 40, `found only ${code.size} names in router/`);
  assert.deepEqual([...code].filter((name) => !page.has(name)).sort(), [], "missing from docs/headers.md");
  assert.deepEqual([...page].filter((name) => !code.has(name)).sort(), [], "unknown to the code");
});
