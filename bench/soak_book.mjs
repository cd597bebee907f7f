// The book counts operations, wrong answers, lost writes, and error replies that are right, by their reason.

import { inspect } from "node:util";

const kShown = 20;

export class Book {
  operations = new Map();
  allowed = new Map();
  wrong = 0;
  lost = 0;
  requests = 0;

  count(kind) {
    this.operations.set(kind, (this.operations.get(kind) ?? 0) + 1);
  }

  /// Counts an error reply that is the right reply to its request.
  allow(status, reason) {
    const key = `${status}\t${reason}`;
    this.allowed.set(key, (this.allowed.get(key) ?? 0) + 1);
  }

  /// Counts a wrong answer, and prints the first one whole. `isLoss` marks an acknowledged write that is gone.
  fail(kind, { request, expected, found, isLoss = false }) {
    isLoss ? ++this.lost : ++this.wrong;
    const all = this.wrong + this.lost;
    if (all > kShown) return;
    const title = `${isLoss ? "LOST WRITE" : "WRONG ANSWER"} ${all} in ${kind}, ${new Date().toISOString()}`;
    const whole = (value) => (typeof value === "string" ? value : inspect(value, { depth: 10, maxStringLength: all === 1 ? null : 200, breakLength: 120 }));
    console.log(`${title}\n  request: ${whole(request)}\n  expected: ${whole(expected)}\n  found: ${whole(found)}`);
  }
}
