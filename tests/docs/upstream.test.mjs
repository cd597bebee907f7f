// docs/upstream.md must have a row, with a reason, for each key that the schema marks as without effect.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const page = await readFile("../../docs/upstream.md", "utf8");
const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
  .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));

/// Returns the paths of the keys that have no effect, such as ["global", "integrations", "looper", "endpoint"].
function keysWithoutEffect() {
  const { stdout } = spawnSync(process.env.SIGNALBOX, ["config", "schema"], { encoding: "utf8", maxBuffer: 2 ** 26 });
  const schema = JSON.parse(stdout);
  const found = [];
  const walk = (path, node) => {
    for (const [key, value] of Object.entries(node.properties ?? {})) {
      if (/no effect:/.test(value.description ?? "")) found.push([...path, key]);
      walk([...path, key], value);
    }
    for (const inner of [...(node.anyOf ?? []), node.items, node.additionalProperties]) if (inner) walk(path, inner);
  };
  walk([], schema);
  for (const [name, definition] of Object.entries(schema.$defs)) walk(name.split("."), definition);
  return found;
}

/// Parts of many paths, which show nothing about a key.
const kCommon = new Set(["global", "routing", "decisions", "plugins", "algorithm", "model_catalog", "modules", "services", "stores"]);

/// A row stands for a key if it names the key beside a part of its path, as `...key` if several sections have it, or as the
/// section whose switch the key is.
function standsFor([first], path) {
  const spans = [...first.matchAll(/`([^`]+)`/g)].map(([, text]) => text.split(/[^\w]+/).filter((word) => word !== ""));
  const words = new Set(spans.flat());
  const key = path.at(-1), above = path.slice(0, -1), telling = above.filter((word) => !kCommon.has(word));
  if (key === "enabled" && spans.some((span) => span.at(-1) === above.at(-1))) return true;
  return words.has(key) && ((telling.length === 0 ? above : telling).some((word) => words.has(word)) || above.length === 0 || first.includes(`\`...${key}\``));
}

test("every key without an effect has a row", () => {
  const keys = keysWithoutEffect();
  assert.ok(keys.length > 200, `${keys.length}`);
  assert.deepEqual(keys.filter((path) => !rows.some((row) => standsFor(row, path))).map((path) => path.join(".")), []);
});

test("every row has a reason", () => {
  assert.deepEqual(rows.filter((row) => row.includes("")).map(([first]) => first), []);
});
