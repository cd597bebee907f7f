// Compares our engine with ONNX Runtime on the same networks in one run, in alternating turns. A turn is a separate
// process that loads the model, runs one length untimed and then several times. With one thread, a turn's figure is the
// processor time per text (user and system), which other processes on the machine disturb least. With several threads
// it is the median wall-clock time. ONNX Runtime uses its threads for one text and we use one thread per text, so our
// time is then divided by the number of threads. The table shows the median and minimum of the turns. Our f32 and bf16
// are compared with its fp32, our int8 with its int8. Results are compared before anything is timed. See compare for
// the usage.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.on("uncaughtException", ({ message }) => {
  console.error(`bench/compare: ${message}`);
  process.exit(2);
});

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

const [program, ...rest] = process.argv.slice(2);
const { values: given } = parseArgs({
  args: rest,
  options: {
    models: { type: "string", default: "modernbert-base,deberta-v3-base,minilm" },
    dtypes: { type: "string", default: "f32,bf16,int8" },
    tokens: { type: "string", default: "16,32,64,128,512,2048" },
    threads: { type: "string", default: "1" },
    rounds: { type: "string", default: "3" },
    at: { type: "string", default: path("../build/compare") },
  },
});
const kLengths = given.tokens.split(",").map(Number);
const kThreads = Number(given.threads);
const kRounds = Number(given.rounds);

// tokens_of_turn: tokens processed per turn, which takes one or two seconds. bars: our target speed ratio by length.
const kModels = {
  "modernbert-base": {
    tokens_max: 8192,
    tokens_of_turn: 1280,
    output: "logits",
    bars: {
      f32: { 16: 1, 32: 1, 64: 1, 128: 1, 512: 1.08, 2048: 1.5 },
      bf16: { 32: 3, 128: 2.5, 512: 2.6, 2048: 4 },
      int8: { 16: 2.2, 32: 2.1, 64: 1.9, 128: 1.8, 512: 2.2, 2048: 4, 8192: 8 },
    },
  },
  "deberta-v3-base": {
    tokens_max: 512,
    tokens_of_turn: 1280,
    output: "logits",
    bars: { int8: { 16: 1.5, 32: 1.5, 64: 1.5, 128: 1.5, 512: 1.5 } },
  },
  minilm: {
    tokens_max: 512,
    tokens_of_turn: 6400,
    output: "last_hidden_state",
    bars: { int8: { 16: 2.4, 32: 1.8, 128: 1.8, 512: 2 } },
  },
};

const kCheckedLengths = [32, 300]; // the second is longer than an attention window
const kRelativeMax = 1e-3; // f32, relative to the largest number
const kCosineMin = 0.999; // bf16
const kCosineLoss = 1e-3; // int8: maximum additional distance from fp32 compared with their int8

class Unsupported extends Error {}
class WrongAnswer extends Error {}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

// Returns a command's output. The command runs on as many cores as it has threads.
function run(command, input = "") {
  const last = cpus().length - 1;
  const cores = `${Math.max(0, last - kThreads + 1)}-${last}`;
  const options = { input, encoding: "utf8", maxBuffer: 1 << 30 };
  const { status, stdout, stderr } = spawnSync("taskset", ["-c", cores, ...command], options);
  if (status === 2 && command[0] === program) throw new Unsupported(stderr.trim());
  assert.equal(status, 0, `${command.slice(0, 8).join(" ")}: exit status ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

const peerFile = (folder, dtype) => `${folder}/${dtype === "int8" ? "model.int8.onnx" : "model.onnx"}`;
const idsOf = (tokens) => Array.from({ length: tokens }, (_, i) => 100 + ((i * 37) % 20000));
const peerRun = (file, tokens, runs) =>
  run([process.execPath, path("compare_peer/side.mjs"), file, kThreads, runs, JSON.stringify(idsOf(tokens))].map(String));

function answer(folder, output, dtype, tokens) {
  // Without --dtype a program uses f32.
  const choice = dtype === "f32" ? [] : ["--dtype", dtype];
  const command = [program, "run", "--model", folder, ...choice, ...(output === "logits" ? [] : ["--hidden"])];
  return run(command, JSON.stringify({ ids: idsOf(tokens) }))[output].flat();
}

function cosine(x, y) {
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
  return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
}

// Throws unless our result matches the peer's in fp32; returns the difference as text.
function check(folder, output, dtype, tokens) {
  const exact = peerRun(peerFile(folder, "f32"), tokens, 0);
  const found = answer(folder, output, dtype, tokens);
  assert.equal(found.length, exact.length, `${tokens} tokens: numbers in ${output}`);
  const largest = Math.max(...exact.map(Math.abs));
  const relative = Math.max(...found.map((x, i) => Math.abs(x - exact[i]))) / largest;
  const near = cosine(found, exact);
  let words = `${tokens} tokens: relative error ${relative.toExponential(1)}, cosine ${near.toFixed(5)}`;
  let good = dtype === "f32" ? relative <= kRelativeMax : near >= kCosineMin;
  if (dtype === "int8") {
    const theirs = cosine(peerRun(peerFile(folder, "int8"), tokens, 0), exact);
    words += ` (their int8: ${theirs.toFixed(5)})`;
    good = near >= theirs - kCosineLoss;
  }
  if (!good) throw new WrongAnswer(`${output} are not those of their fp32: ${words}`);
  return words;
}

const figure = (times) => (kThreads === 1 ? times.cpu_ms : times.median_ms);

function oursTurn(folder, dtype, tokens, runs) {
  const options = { "--model": folder, "--dtype": dtype, "--tokens": tokens, "--threads": kThreads, "--runs": runs };
  return figure(run([program, "bench", ...Object.entries(options).flat().map(String)])) / kThreads;
}

function timed(folder, dtype, tokens, runs) {
  const turns = {
    ours: () => oursTurn(folder, dtype, tokens, runs),
    peer: () => figure(peerRun(peerFile(folder, dtype), tokens, runs)),
  };
  const out = { ours: [], peer: [] };
  for (let round = 0; round < kRounds; ++round) {
    for (const side of round % 2 === 0 ? ["ours", "peer"] : ["peer", "ours"]) out[side].push(turns[side]());
  }
  return out;
}

const milliseconds = (list) =>
  `${median(list).toFixed(2).padStart(10)} ${Math.min(...list).toFixed(2).padStart(10)}`;

function compare(name, dtype) {
  const { tokens_max, tokens_of_turn, output, bars } = kModels[name];
  const folder = resolve(given.at, name);
  const lengths = kLengths.filter((tokens) => tokens <= tokens_max);
  for (const tokens of kCheckedLengths) console.log(`${name} ${dtype}: checked: ${check(folder, output, dtype, tokens)}`);
  for (const tokens of lengths) {
    const runs = Math.max(1, Math.round(tokens_of_turn / tokens));
    const { ours, peer } = timed(folder, dtype, tokens, runs);
    const ratio = median(peer) / median(ours);
    const bar = bars[dtype]?.[tokens];
    const verdict = bar === undefined ? "-" : `${bar.toFixed(2)} ${ratio >= bar ? "met" : "missed"}`;
    const cells = [name.padEnd(16), dtype.padEnd(5), String(tokens).padStart(6), milliseconds(peer), milliseconds(ours)];
    console.log(`${cells.join(" ")} ${ratio.toFixed(2).padStart(6)}  ${verdict}`);
  }
}

const kHeader =
  "model            dtype tokens  theirs ms    minimum    ours ms    minimum  ratio  bar";

function main() {
  const models = given.models.split(",");
  for (const name of models) assert.ok(name in kModels, `unknown model ${name} (known: ${Object.keys(kModels)})`);
  const fetched = spawnSync(path("compare_peer/fetch"), [given.at], { stdio: ["ignore", "inherit", "inherit"] });
  assert.equal(fetched.status, 0, "bench/compare_peer/fetch failed");
  const clock = kThreads === 1 ? "time of the processor" : "wall clock";
  console.log(`${cpus()[0].model}; threads: ${kThreads}; ms a text: ${clock}, median and minimum of ${kRounds} turns`);
  console.log(kHeader);
  for (const name of models) {
    for (const dtype of given.dtypes.split(",")) {
      try {
        compare(name, dtype);
      } catch (error) {
        if (!(error instanceof Unsupported || error instanceof WrongAnswer)) throw error;
        if (error instanceof WrongAnswer) process.exitCode = 1;
        console.log(`${name} ${dtype}: ${error instanceof Unsupported ? "not supported" : "not timed"}: ${error.message}`);
      }
    }
  }
}

main();
