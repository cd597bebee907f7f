// Tests the keys that two routers share over a real PostgreSQL.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Postgres } from "./postgres.mjs";
import { daemons, testSharedKeys } from "./shared_keys.mjs";

testSharedKeys(Postgres);

test("a wrong password is reported without it", { skip: Postgres.missing() }, async () => {
  const [{ file, folder }] = daemons;
  const wrong = join(folder, "wrong.yaml");
  await writeFile(wrong, (await readFile(file, "utf8")).replace(/"password":"[^"]*"/, '"password":"Falsch-8Lu"'));
  assert.throws(() => execFileSync(process.env.SIGNALBOX, ["keys", "list", "--config", wrong], { encoding: "utf8", stdio: "pipe" }), (error) => {
    assert.match(error.stderr, /keys_store: postgres 127\.0\.0\.1:\d+: .*password authentication failed/);
    assert.doesNotMatch(error.stderr, /Falsch/);
    return true;
  });
});
