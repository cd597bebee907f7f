// What the peer and what `signalbox tokenize` answer to the same rows, in the same shape:
// {ids, offsets, type_ids}, or {error} where there is none.

import { fork, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const kMillisecondsMax = 120_000;
const kWorker = fileURLToPath(new URL("peer_worker.mjs", import.meta.url));

/// Thrown when a side does not take the file.
export class Refused extends Error {
  constructor(side, message) {
    super(message);
    this.side = side;
  }
}

const kFailuresMax = 4;
const kLeft = "not asked";

// A side answers all rows at once. Where some row ends it, they are asked one by one, and the rest is left when it has
// ended too often: each start takes a while.
async function allAnswers(side, setting, rows) {
  const { answers, failure } = await side(setting, rows);
  if (!failure && answers.length === rows.length) return answers;
  if (rows.length === 1) return [{ error: failure || "no answer" }];
  const list = [];
  let failures = 0;
  for (const row of rows) {
    const [answer] = failures < kFailuresMax ? await allAnswers(side, setting, [row]) : [{ error: kLeft }];
    if (answer.error) ++failures;
    list.push(answer);
  }
  return list;
}

let worker = null;

/// Ends the process of the peer.
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

const peer = ({ file, cut, specialTokens }, rows) => ask({ setting: { file, cut, specialTokens }, rows });

/// What the peer's normalizer of a tokenizer.json makes of texts; none where it panics.
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

/// A setting as options of `signalbox tokenize`.
export function asOptions({ file, cut, specialTokens }) {
  const options = ["--tokenizer", file];
  if (cut) options.push("--max-tokens", String(cut.tokensMax), "--truncation", cut.strategy, "--truncation-side", cut.side);
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
    child.stdin.on("error", () => {}); // the program ended early, as its exit status will say
    child.on("close", (code, signal) => {
      const lines = Buffer.concat(out).toString("utf8").split("\n").slice(0, -1);
      done({ answers: lines, failure: code === 0 ? "" : `${signal ?? `exit status ${code}`}: ${err.trim()}` });
    });
    child.stdin.end(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  });
}

const kFields = ["ids", "offsets", "type_ids"];

// A row without an answer of the peer, because it panics or lacks an unknown token; or with one that special tokens alone
// make longer than the limit, which ours always keeps.
const isNoQuestion = ({ cut }, theirs) => theirs.error !== undefined || theirs.ids.length > (cut?.tokensMax ?? Infinity);

// What differs first, in words, or "" where the answers are the same. Ours may still be text.
function difference(setting, theirs, mine) {
  if (isNoQuestion(setting, theirs) || mine.error === kLeft || JSON.stringify(theirs) === mine) return "";
  const answer = typeof mine === "string" ? JSON.parse(mine) : mine;
  if (answer.error) return answer.error;
  for (const field of kFields) {
    const count = Math.max(theirs[field].length, answer[field].length);
    for (let i = 0; i < count; ++i) {
      const [left, right] = [theirs[field][i], answer[field][i]].map((item) => JSON.stringify(item) ?? "none");
      if (left !== right) return `${field}[${i}]: peer ${left}, ours ${right}`;
    }
  }
  return "";
}

/// Tries rows, {text, pair?}, on {program, file, cut?, specialTokens}, where `cut` is {tokensMax, strategy, side}. `found`
/// holds those whose answers differ: {row, peer, ours, what}; `asked` is how many the peer answered. Throws Refused where a
/// side does not take the file.
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
  return { found, asked: theirs.filter((answer) => !isNoQuestion(setting, answer)).length };
}
