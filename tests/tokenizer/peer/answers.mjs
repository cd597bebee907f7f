// Collects the answers of the peer and of `signalbox tokenize` to the same rows in the same form: {ids, offsets,
// type_ids}, or {error}.

import { fork, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const kMillisecondsMax = 120_000;
const kWorker = fileURLToPath(new URL("peer_worker.mjs", import.meta.url));

/// Thrown when a side rejects the file.
export class Refused extends Error {
  constructor(side, message) {
    super(message);
    this.side = side;
  }
}

const kFailuresMax = 4;
const kSkipped = "skipped";

// A side answers all rows at once. If a row crashes it, the rows are run one by one; after too many crashes the rest is
// skipped, because each start takes a while.
async function allAnswers(side, setting, rows) {
  const { answers, failure } = await side(setting, rows);
  if (!failure && answers.length === rows.length) return answers;
  if (rows.length === 1) return [{ error: failure || "no answer" }];
  const list = [];
  let failures = 0;
  for (const row of rows) {
    const [answer] = failures < kFailuresMax ? await allAnswers(side, setting, [row]) : [{ error: kSkipped }];
    if (answer.error) ++failures;
    list.push(answer);
  }
  return list;
}

let worker = null;

/// Ends the peer's process.
export function closePeer() {
  worker?.kill("SIGKILL");
  worker = null;
}

function ask(request) {
  worker ??= fork(kWorker, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
  const current = worker;
  return new Promise((done, refuse) => {
    const settle = (then, value) => {
      current.removeAllListeners();
      then(value);
    };
    current.on("message", ({ answers, refused }) => {
      if (refused === undefined) settle(done, { answers });
      else settle(refuse, new Refused("peer", refused));
    });
    current.on("exit", (code, signal) => {
      worker = null;
      settle(done, { failure: `the peer ended: ${signal ?? code}` });
    });
    current.send(request);
  });
}

const peer = ({ file, reference = file, added, cut, specialTokens }, rows) =>
  ask({ setting: { file: reference, added, cut, specialTokens }, rows });

/// Returns the results of the peer's normalizer from a tokenizer.json for texts; undefined where it panics.
export async function normalForms(json, texts) {
  return (await ask({ json: JSON.stringify(json), texts })).answers;
}

async function ours(setting, rows) {
  const outcome = await run(setting, rows);
  if (!outcome.failure) return outcome;
  const alone = await run(setting, []);
  if (alone.failure) throw new Refused("ours", alone.failure);
  return outcome;
}

/// Converts a setting to options of `signalbox tokenize`.
export function asOptions({ file, cut, specialTokens }) {
  const options = ["--tokenizer", file];
  if (cut) {
    options.push("--max-tokens", String(cut.tokensMax));
    options.push("--truncation", cut.strategy, "--truncation-side", cut.side);
  }
  if (cut?.stride !== undefined) options.push("--stride", String(cut.stride));
  if (!specialTokens) options.push("--no-special-tokens");
  return options;
}

function run({ program, ...setting }, rows) {
  const options = ["tokenize", ...asOptions(setting)];
  return new Promise((done) => {
    const child = spawn(program, options, { timeout: kMillisecondsMax, killSignal: "SIGKILL" });
    const out = [];
    let err = "";
    child.stdout.on("data", (bytes) => out.push(bytes));
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
    child.stdin.on("error", () => {}); // the program ended early; its exit status is reported below
    child.on("close", (code, signal) => {
      const lines = Buffer.concat(out).toString("utf8").split("\n").slice(0, -1);
      done({ answers: lines, failure: code === 0 ? "" : `${signal ?? `exit status ${code}`}: ${err.trim()}` });
    });
    child.stdin.end(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  });
}

// Returns true for a row that cannot be compared: the peer has no answer, because it panics or lacks an unknown token, or its
// answer exceeds the limit, because the special tokens alone do. Our answers never exceed the limit.
const isNotComparable = ({ cut }, { error, ids }) => error !== undefined || ids.length > (cut?.tokensMax ?? Infinity);

// Describes the first difference, or returns "" if the answers are equal. Ours may still be JSON text.
function difference(setting, theirs, mine) {
  if (isNotComparable(setting, theirs) || mine.error === kSkipped || JSON.stringify(theirs) === mine) return "";
  const answer = typeof mine === "string" ? JSON.parse(mine) : mine;
  if (answer.error) return answer.error;
  const [left, right] = [theirs, answer].map(({ overflow, ...first }) => [first, ...(overflow ?? [])]);
  if (left.length !== right.length) return `windows: peer ${left.length}, ours ${right.length}`;
  for (const [i, window] of left.entries()) {
    const what = firstOf(window, right[i]);
    if (what) return left.length > 1 ? `windows[${i}].${what}` : what;
  }
  return "";
}

function firstOf(theirs, mine) {
  for (const field of Object.keys(theirs)) {
    const count = Math.max(theirs[field].length, mine[field].length);
    for (let i = 0; i < count; ++i) {
      const [left, right] = [theirs[field][i], mine[field][i]].map((item) => JSON.stringify(item) ?? "none");
      if (left !== right) return `${field}[${i}]: peer ${left}, ours ${right}`;
    }
  }
  return "";
}

/// Compares the answers to rows, {text, pair?}, with the setting {program, file, reference?, cut?, specialTokens}. Our side reads
/// `file`, the peer `reference` or else the same file, and adds the tokens of `added`. `cut` is {tokensMax, strategy, side, stride?}; a stride requests all windows.
/// Returns `found`, the rows whose answers differ: {row, peer, ours, what}; and `answered`, the number of rows that were compared.
/// Throws Refused if a side rejects the file.
export async function compare(setting, rows) {
  const sides = await Promise.allSettled([allAnswers(peer, setting, rows), allAnswers(ours, setting, rows)]);
  for (const { reason } of sides) {
    if (reason) throw reason;
  }
  const [theirs, mine] = sides.map(({ value }) => value);
  const found = [];
  rows.forEach((row, i) => {
    const what = difference(setting, theirs[i], mine[i]);
    if (what) found.push({ row, peer: theirs[i], ours: mine[i], what });
  });
  return { found, answered: theirs.filter((answer) => !isNotComparable(setting, answer)).length };
}
