// Waits for events, so that no test depends on how fast the machine is.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

const kWithinMs = 180_000; // most events come within a second; the rest is for a sanitizer build on a busy machine

/// Calls `holds` until it returns something true, and returns that. `what` describes the event; a function is called only
/// if the event does not come.
///
/// The router counts, records and logs a reply after the client has received it, so a test that reads a metric, a record
/// or the log must wait for it.
export async function until(holds, what = holds.toString()) {
  for (const end = Date.now() + kWithinMs; Date.now() < end; await pause(20)) {
    const value = await holds();
    if (value) return value;
  }
  assert.fail(`it has not happened in time: ${typeof what === "function" ? what() : what}`);
}
