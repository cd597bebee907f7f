// Runs `signalbox eval` on every set of floors.json and compares its figures with their limits. Prints TAP, with one test
// per figure and one that checks that floors.json names every set.
//
// An entry of floors.json:
//   file       the set, in this folder
//   arguments  the arguments of `signalbox eval`; --data and --json are added
//   floors     figures that must be at least this high, by their place in the JSON that `eval` prints
//   ceilings   figures that must be at most this high
//   measured   the figures when the limits were set; each limit leaves room for less than one row or 0.5 %
//   about      the contents of the set
//
// tests/quality/run selects one tier of the kernels, so the figures do not depend on the machine.

// guards/floors.json is the same for sets that are not in this repository: `rows` selects the rows of ../shared/data/guards
// whose source is in guards/sources.json (training uses all others), by the beginning of the file's name, and by `label`.
// They are skipped where that folder is absent.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, option] = process.argv.slice(2);
const folder = "tests/quality"; // tests/quality/run starts us in the root of the repository
const limitsFile = join(folder, "floors.json");
const sets = JSON.parse(readFileSync(limitsFile, "utf8"));

let passed = 0;
let failed = 0;

function test(isGood, name, ...notes) {
  isGood ? ++passed : ++failed;
  console.log(`${isGood ? "ok" : "not ok"} ${passed + failed} - ${name}`);
  for (const note of notes) console.log(`  # ${note}`);
}

function evaluate({ file, arguments: options }, directory = folder) {
  const args = ["eval", ...options.split(" "), "--data", join(directory, file), "--json"];
  return JSON.parse(execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }));
}

const figureAt = (report, place) => place.split(".").reduce((value, key) => value?.[key], report);
const rounded = (value) => Math.round(value * 1e4) / 1e4;

// Tests the figures of a set, and moves the limits of those that have improved. `sign` is 1 for floors, -1 for ceilings.
function compare(set, report, kind, sign) {
  for (const [place, limit] of Object.entries(set[kind] ?? {})) {
    const figure = figureAt(report, place);
    const isGood = Number.isFinite(figure) && sign * (figure - limit) >= 0;
    const word = sign > 0 ? "floor" : "ceiling";
    const gain = sign * (rounded(figure) - set.measured[place]);
    const notes = gain > 0 ? [`improved from ${set.measured[place]}; tests/quality/run PROGRAM --raise moves the ${word}`] : [];
    test(isGood, `${set.file}: ${place} ${rounded(figure)} (${word} ${limit})`, ...notes);
    if (!(gain > 0)) continue;
    set[kind][place] = rounded(limit + sign * gain);
    set.measured[place] = rounded(figure);
  }
}

// Writes the rows of a set of guards/floors.json to a file, and returns how many they are.
function select(set, directory) {
  const sources = JSON.parse(readFileSync(join(folder, "guards", "sources.json"), "utf8"));
  const isDevelopment = (row) => sources.some((source) => row.source.includes(source));
  const names = readdirSync(guards).filter((name) => set.rows.some((start) => name.startsWith(start)) && name.endsWith(".jsonl"));
  const rows = names.flatMap((name) => readFileSync(join(guards, name), "utf8").trim().split("\n").map(JSON.parse));
  const kept = rows.filter((row) => isDevelopment(row) && row.label === set.label);
  writeFileSync(join(directory, set.file), kept.map(({ text, label, document }) => JSON.stringify({ text, label, document: document === true })).join("\n") + "\n");
  return kept.length;
}

function compareGuards() {
  if (!existsSync(guards)) return console.log(`# skip guards: ${guards} is absent`);
  const directory = mkdtempSync(join(tmpdir(), "guards-"));
  for (const set of guardSets) {
    const count = select(set, directory);
    test(count === set.count, `guards, ${set.file}: ${count} rows (${set.count} expected)`);
    const report = evaluate({ file: set.file, arguments: "--task jailbreak --dtype int8" }, directory);
    compare(set, report, "floors", 1);
    compare(set, report, "ceilings", -1);
  }
  rmSync(directory, { recursive: true });
}

const guards = "../shared/data/guards";
const guardFile = join(folder, "guards", "floors.json");
const guardSets = JSON.parse(readFileSync(guardFile, "utf8"));

console.log("TAP version 13");
const present = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
const missing = present.filter((name) => !sets.some((set) => set.file === name));
test(missing.length === 0, "floors.json names every set", ...missing.map((name) => `${name} is missing`));
for (const set of sets) {
  try {
    const report = evaluate(set);
    compare(set, report, "floors", 1);
    compare(set, report, "ceilings", -1);
  } catch (error) {
    test(false, `${set.file}: ${set.arguments}`, ...String(error.stderr || error).trim().split("\n"));
  }
}
compareGuards();
if (option === "--raise") {
  for (const [file, list] of [[limitsFile, sets], [guardFile, guardSets]]) {
    const lines = list.map((set) => JSON.stringify(set, null, 1).replace(/\n\s*/g, " "));
    writeFileSync(file, `[\n${lines.join(",\n")}\n]\n`);
  }
}
console.log(`1..${passed + failed}\n# tests ${passed + failed}\n# pass ${passed}\n# fail ${failed}`);
process.exitCode = failed === 0 ? 0 : 1;
