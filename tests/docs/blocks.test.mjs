// Tests how pages are parsed and how their output is compared.

import assert from "node:assert/strict";
import { test } from "node:test";

import { missing, read } from "./blocks.mjs";

test("a fence has its language, its line and the options from the comments above it", () => {
  const page = ["# A", "<!-- with a.yaml -->", "<!-- status 1 -->", "```sh", "false", "```", "", "```text", "x", "```"];
  assert.deepEqual(read(page.join("\n")), {
    blocks: [
      { line: 4, language: "sh", text: "false", directives: ["with a.yaml", "status 1"] },
      { line: 8, language: "text", text: "x", directives: [] },
    ],
    problems: [],
  });
});

test("a command that never runs, a comment without a fence and an open fence are problems", () => {
  const page = ["    curl localhost", "<!-- status 1 -->", "Words.", "```bash", "true", "```", "```sh", "true"];
  assert.deepEqual(read(page.join("\n")).problems, [
    "line 1: a command outside of a fence",
    'line 3: "status 1" has no fence below',
    "line 4: commands are in the language sh",
    "line 7: a fence without an end",
  ]);
});

test("shown lines must appear in their order, and three dots stand for anything", () => {
  const printed = "one\ntwo  (2.5 ms)\nthree\n";
  assert.equal(missing("one\n...\nthree", printed), null);
  assert.equal(missing("two (... ms)", printed), null);
  assert.equal(missing("three\none", printed), "one");
  assert.equal(missing("tw", printed), "tw");
  assert.equal(missing("two (2x5 ms)", printed), "two (2x5 ms)");
});
