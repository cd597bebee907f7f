// Tests the colours of YAML, and the switch of the record of requests in a configuration file, without a browser.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const kSource = new URL("../../router/admin/dashboard/src/yaml.ts", import.meta.url);
const kFiles = new URL("../../deploy/config/", import.meta.url);

// Vite's compiler, which is there because it builds the bundle.
const { transformSync } = createRequire(new URL("../../router/admin/dashboard/package.json", import.meta.url))("esbuild");
const { code } = transformSync(readFileSync(kSource, "utf8"), { loader: "ts", format: "esm" });
const { tokensOf, withRecording } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const kinds = (line) => tokensOf(line).filter((each) => each.kind !== "plain").map((each) => `${each.kind} ${each.text}`);

test("the tokens of a line join to its text, in every configuration of the tree", () => {
  const files = readdirSync(kFiles).filter((name) => name.endsWith(".yaml"));
  assert.ok(files.length > 0);
  for (const name of files) {
    for (const line of readFileSync(new URL(name, kFiles), "utf8").split("\n"))
      assert.equal(tokensOf(line).map((each) => each.text).join(""), line, name);
  }
});

test("keys, texts, numbers and comments have kinds of their own", () => {
  for (const [line, expected] of [
    ["  port: 8801 # of clients", ["key port", "mark :", "number 8801", "comment # of clients"]],
    ['- {name: "a: #1", weight: 0.5}', ["mark -", "mark {", "key name", "mark :", 'string "a: #1"', "mark ,", "key weight", "mark :", "number 0.5", "mark }"]],
    ["timeout: 30s", ["key timeout", "mark :", "number 30s"]],
    ["api_key: ${OPENAI_KEY}", ["key api_key", "mark :", "reference ${OPENAI_KEY}"]],
    ["model: qwen3-32b", ["key model", "mark :"]],
    ["endpoint: 10.0.0.1:8000", ["key endpoint", "mark :"]],
    ["it's: 'it''s'", ["mark :", "string 'it''s'"]],
    ["", []],
  ]) assert.deepEqual(kinds(line), expected, line);
});

/// A file with the section router_replay and what stands in it.
const section = (inside, open = "\n") => `global:\n  services:\n    router_replay:${open}${inside}`;

test("recording is switched by one line, or not at all", () => {
  const on = "    router_replay: {enabled: true}\n";
  for (const [before, after] of [
    ["version: v0.3\n", `version: v0.3\nglobal:\n  services:\n${on}`],
    ["version: v0.3", `version: v0.3\nglobal:\n  services:\n${on}`],
    ["global:\n  # why\n  spending: {}\nrouting: {}\n", `global:\n  services:\n${on}  # why\n  spending: {}\nrouting: {}\n`],
    ["global: # all\n    services:\n        http: {}\n", "global: # all\n    services:\n        router_replay: {enabled: true}\n        http: {}\n"],
    [`global:\n  services:\n${on.replace("true", "false # not yet")}`, `global:\n  services:\n${on.replace("true", "true # not yet")}`],
    ["global:\n  services:\n    router_replay:\n      max_records: 5\n\n      enabled: false\n    http: {enabled: false}\n", "global:\n  services:\n    router_replay:\n      max_records: 5\n\n      enabled: true\n    http: {enabled: false}\n"],
    [`global:\n  services:\n${on}`, `global:\n  services:\n${on}`],
    // Comments and deeper settings keep theirs.
    [section("      # enabled: false in production\n      enabled: false\n"), section("      # enabled: false in production\n      enabled: true\n")],
    [section("      redis:\n        enabled: false\n      enabled: false # now\n"), section("      redis:\n        enabled: false\n      enabled: true # now\n")],
    [section(" {max_records: 5, enabled: false, x: {enabled: false}}\n", ""), section(" {max_records: 5, enabled: true, x: {enabled: false}}\n", "")],
    [section("\n      # enabled: true costs memory\n", ""), null],
    [section("      redis:\n        enabled: false\n"), null],
    [section(" {x: {enabled: false}, enabled: false}\n", ""), null],
    ...["no", "False", '"false"', "false_", "${ON}", ""].map((value) => [section(`      enabled: ${value}\n`), null]),
    // Not of a form that a line could change.
    ["global: {services: {}}\n", null],
    ["global:\n  services: {http: {}}\n", null],
    ["global:\n  services:\n    router_replay:\n      max_records: 5\n    http: {enabled: false}\n", null],
  ]) assert.equal(withRecording(before, true), after, before);
  assert.equal(withRecording(`global:\n  services:\n${on}`, false), `global:\n  services:\n${on.replace("true", "false")}`);
});
