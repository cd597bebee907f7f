// The bundle in the tree must match its sources byte for byte, and must be small.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const kRoom = resolve("../../router/admin/dashboard");
const kBytesMax = 150_000; // the whole bundle, compressed

test("the sources are well typed", () => {
  execFileSync("npx", ["tsc", "--noEmit"], { cwd: kRoom, stdio: ["ignore", "pipe", "pipe"] });
});

test("the bundle in the tree is the one that the sources build", () => {
  const made = mkdtempSync(join(tmpdir(), "signalbox-dashboard-"));
  try {
    execFileSync("npx", ["vite", "build", "--outDir", made, "--emptyOutDir"], { cwd: kRoom, stdio: ["ignore", "pipe", "pipe"] });
    const kept = join(kRoom, "dist");
    assert.deepEqual(readdirSync(made).sort(), readdirSync(kept).sort());
    for (const name of readdirSync(made)) {
      assert.ok(
        readFileSync(join(made, name)).equals(readFileSync(join(kept, name))),
        `router/admin/dashboard/dist/${name} is not what its sources make: run npm run build in router/admin/dashboard`,
      );
    }
  } finally {
    rmSync(made, { recursive: true });
  }
});

test("the bundle stays under its limit of bytes", (t) => {
  const folder = join(kRoom, "dist");
  const bytes = readdirSync(folder).reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0);
  t.diagnostic(`${bytes} bytes compressed`);
  assert.ok(bytes < kBytesMax, `${bytes} bytes compressed`);
});
