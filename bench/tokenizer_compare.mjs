// Compares both tokenizers in one run, in alternating turns on the same texts: megabytes per second of processor time
// (user and system, all threads of the process), medians and their ratio; and the time to open a tokenizer. Ids are
// compared before anything is timed. See tokenizer_compare for the usage.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { kTexts } from "../tests/tokenizer/peer/texts.mjs";

const [program, ...names] = process.argv.slice(2);
const kNames = names.length > 0 ? names : ["bert", "modernbert", "gemma2", "gpt2", "t5"];
const kRounds = 7;
const kRunSeconds = 0.4; // of processor time, large compared with the clock resolution
const kLongBytes = 1 << 20;
const kPrompts = 2000;
const kPromptBytesMax = 400;

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "signalbox-compare-"));

class Side {
  constructor(command, ...rest) {
    // One thread: otherwise the peer would distribute its batches over all cores.
    const env = { ...process.env, RAYON_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false" };
    this.child = spawn(command, rest, { env, stdio: ["pipe", "pipe", "inherit"] });
    this.answers = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async send(command) {
    this.child.stdin.write(`${command}\n`);
    const { value, done } = await this.answers.next();
    assert.ok(!done, `${command}: no answer`);
    return value;
  }
  end() {
    this.child.stdin.end();
  }
  static ours = () => new Side(program);
  static peer = () => new Side(process.execPath, path("tokenizer_peer_side.mjs"));
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

// Real prose: labelled prompts from outside the repository if they exist, otherwise the licences installed on every
// Debian.
function sentences() {
  const data = path("../../shared/data/");
  if (existsSync(`${data}halueval_general.jsonl`)) {
    const rows = readFileSync(`${data}halueval_general.jsonl`, "utf8").trimEnd().split("\n").map((row) => JSON.parse(row));
    return { source: "../shared/data/halueval_general.jsonl", list: rows.flatMap((row) => [row.query, row.response]) };
  }
  const licences = ["GPL-3", "GFDL-1.3", "MPL-1.1", "MPL-2.0", "Apache-2.0", "Artistic", "LGPL-2.1", "CC0-1.0"];
  const text = licences.map((name) => readFileSync(`/usr/share/common-licenses/${name}`, "utf8")).join("\n");
  const list = text.split(/(?<=[.;:])\s+/).map((sentence) => sentence.replace(/\s+/g, " "));
  return { source: "/usr/share/common-licenses", list };
}

function corpora() {
  const { source, list } = sentences();
  const prompts = list.filter((text) => text.length > 0 && text.length <= kPromptBytesMax).slice(0, kPrompts);
  let long = "";
  for (let i = 0; long.length < kLongBytes; ++i) long += `${list[i % list.length]}\n`;
  const mixed = Array.from({ length: 8 }, () => kTexts).flat();
  return { source, texts: { "one long document": [long], "short prompts": prompts, "short, many scripts": mixed } };
}

async function timed(side, times) {
  return Number(await side.send(`run ${times}`));
}

// Returns how often the texts must be encoded to take long enough.
async function timesOf(side) {
  await timed(side, 1);
  const once = await timed(side, 1);
  return Math.max(1, Math.ceil(kRunSeconds / Math.max(once, 1e-4)));
}

async function compare(ours, peer, bytes) {
  assert.equal(await ours.send("ids"), await peer.send("ids"), "the ids differ");
  const sides = [ours, peer];
  const times = [];
  for (const side of sides) times.push(await timesOf(side));
  const speeds = [[], []];
  for (let round = 0; round < kRounds; ++round) {
    for (const i of [0, 1]) speeds[i].push((bytes * times[i]) / (await timed(sides[i], times[i])) / 1e6);
  }
  return speeds.map(median);
}

async function openSeconds(start, file) {
  const walls = [];
  const processors = [];
  for (let round = 0; round < 5; ++round) {
    const side = start();
    const [wall, processor] = (await side.send(`open ${file}`)).split(" ").map(Number);
    walls.push(wall);
    processors.push(processor);
    side.end();
  }
  return [median(walls), median(processors)];
}

const milliseconds = ([wall, processor]) => `${(wall * 1e3).toFixed(1)} ms (${(processor * 1e3).toFixed(1)} of processor)`;

async function main() {
  const { source, texts } = corpora();
  console.log(`${cpus()[0].model}; text: ${source}; medians of ${kRounds} turns, MB per second of processor, one thread`);
  console.log("the peer: tokenizers of npm, encodeBatch of all texts in one call, ids taken out untimed");
  for (const name of kNames) {
    const file = path(`../build/tokenizers/${name}.json`);
    if (!existsSync(file)) {
      console.log(`${name}: ${file} does not exist`);
      continue;
    }
    const [ours, peer] = [Side.ours(), Side.peer()];
    for (const side of [ours, peer]) await side.send(`open ${file}`);
    for (const [corpus, list] of Object.entries(texts)) {
      const rows = join(folder, "texts.jsonl");
      writeFileSync(rows, list.map((text) => `${JSON.stringify({ text })}\n`).join(""));
      for (const side of [ours, peer]) await side.send(`texts ${rows}`);
      const bytes = list.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const [mine, theirs] = await compare(ours, peer, bytes);
      const figures = `ours ${mine.toFixed(1).padStart(6)}  peer ${theirs.toFixed(2).padStart(6)}  ratio ${(mine / theirs).toFixed(1).padStart(5)}`;
      console.log(`${name.padEnd(10)} ${corpus.padEnd(20)} ${figures}`);
    }
    const compiled = join(folder, `${name}.compiled`);
    await ours.send(`compile ${file} ${compiled}`);
    for (const side of [ours, peer]) side.end();
    console.log(`${name.padEnd(10)} to open: ours ${milliseconds(await openSeconds(Side.ours, file))}, compiled ${milliseconds(
      await openSeconds(Side.ours, compiled))}, peer ${milliseconds(await openSeconds(Side.peer, file))}`);
  }
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true });
}
