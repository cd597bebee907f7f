// Runs before each test file (`node --import`). A test that fails may leave servers open, which would keep its file, and
// so the whole run, from ending. And "fetch failed" alone does not explain the failure of a test.

import { readFileSync } from "node:fs";
import { after } from "node:test";

// A file ends within milliseconds after its last test unless something is open. Its own hooks, which run after the one below,
// may stop daemons for two minutes.
const kMsToEnd = 150_000;

/// Ends the programs that this process started and did not stop.
function killChildren() {
  let children = "";
  try {
    children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  } catch {
    // Some kernels do not list the children. They then live on.
  }
  for (const child of children.split(" ").filter(Boolean)) {
    try {
      process.kill(Number(child), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

// The process that starts the files has no such variable, and its children end by themselves.
if (process.env.NODE_TEST_CONTEXT) {
  process.on("exit", killChildren);
  process.once("SIGTERM", () => process.exit(143)); // the runner sends it when the time of the file is over
  after(() => {
    const timer = setTimeout(() => {
      process.stderr.write("ended by force: a test left a server, a connection or a timer open\n");
      process.exit(1);
    }, kMsToEnd);
    timer.unref();
  });
}

const original = globalThis.fetch;
globalThis.fetch = async (...request) => {
  try {
    return await original(...request);
  } catch (error) {
    if (error.cause) error.message += ` (${error.cause.code ?? ""} ${error.cause.message})`;
    throw error;
  }
};
