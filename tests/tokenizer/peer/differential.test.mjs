// Compares Signalbox with Hugging Face's own tokenizers library: ids, offsets and type ids of generated texts and pairs, for
// the tokenizer files of files.txt, for random configurations, and for vocabularies that `signalbox convert` turns into a
// tokenizer.json. The same seed gives the same strings.
//
// usage: tests/tokenizer/peer/run PROGRAM [--seed N] [--count N] [--only NAME]

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { closePeer, compare, Refused } from "./answers.mjs";
import { configuration, truncation } from "./configurations.mjs";
import { Random } from "./random.mjs";
import { report } from "./report.mjs";
import { kFamilies, smallModel } from "./small_models.mjs";
import { Strings } from "./strings.mjs";
import { converted, kVocabularies } from "./vocabularies.mjs";

const { values: options } = parseArgs({
  options: {
    program: { type: "string" },
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "70000" },
    only: { type: "string" },
  },
});
const kCount = Number(options.count);
assert.ok(Number.isInteger(kCount) && kCount > 0, `--count: expected a positive number, found "${options.count}"`);

const kFolder = fileURLToPath(new URL("../../../build/tokenizers", import.meta.url));
const kWork = `${kFolder}/random-${process.pid}`; // of this run; kept if there were differences
mkdirSync(kWork, { recursive: true });

// Shares of the total; the models used by the project come first.
const kModels = { bert: 0.12, modernbert: 0.12, gemma2: 0.12, gpt2: 0.12, t5: 0.12 };
const kWitnesses = ["cl100k", "deepseek", "llama2", "llama3", "mistral", "o200k", "qwen"];
const kWitnessShare = 0.1 / kWitnesses.length;
const kRandomShare = 0.3 / kFamilies.length;
const kVocabularyShare = 0.3 / Object.keys(kVocabularies).length; // in addition
const kRowsOfOneConfiguration = 50;
const kReportsMax = 3;

const rowsFor = (strings, count) => Array.from({ length: count }, () => strings.row());
// "x.json: model.type: \"WordLevel\" is not supported (supported: BPE)": the component, without the path of the file.
const kUnsupported = /\.json: (.* is not supported)/;
const isChosen = (name) => options.only === undefined || options.only === name;

let isKept = false;
after(() => {
  closePeer();
  if (!isKept) rmSync(kWork, { recursive: true });
});

for (const [name, share] of [...Object.entries(kModels), ...kWitnesses.map((witness) => [witness, kWitnessShare])]) {
  if (!isChosen(name)) continue;
  const file = `${kFolder}/${name}.json`;
  const count = Math.ceil(kCount * share);
  const skip = existsSync(file) ? false : `${file} does not exist`;
  test(`${name}: ${count} texts and pairs`, { skip }, async (t) => {
    const random = new Random(options.seed, name);
    const added = JSON.parse(readFileSync(file, "utf8")).added_tokens.map((token) => token.content);
    const strings = new Strings(random, added);
    // A third is truncated in some way, part of it into windows.
    const [short, long] = [truncation(random, 12), truncation(random, 128)];
    let total = 0;
    const strategy = random.pick(["only_first", "only_first", "only_second"]);
    // Leaves room for text: without any, the peer's second window contains all of it.
    const windows = { ...long, tokensMax: 10 + random.below(24), strategy, stride: random.below(6) };
    for (const [part, cut] of [[2 / 3], [1 / 9, short], [1 / 9, long], [1 / 9, windows]]) {
      const specialTokens = cut?.stride !== undefined || !random.once(4);
      const setting = { program: options.program, file, cut, specialTokens };
      const rows = rowsFor(strings, Math.ceil(count * part));
      const { found, answered, unsupported } = await compared(setting, rows);
      total += answered;
      if (unsupported) return t.skip(unsupported);
      if (found.length > 0) assert.fail(await report(name, setting, found, rows.length));
    }
    // If only the second text may be truncated, a single text has no answer.
    assert.ok(total > count / 2, `the peer answered ${total} of ${count} rows`);
    t.diagnostic(`the peer answered ${total} texts and pairs`);
  });
}

for (const [name, [needed]] of Object.entries(kVocabularies)) {
  if (!isChosen(name)) continue;
  const source = `${kFolder}/${needed}.json`;
  const count = Math.ceil(kCount * kVocabularyShare);
  const skip = existsSync(source) ? false : `${source} does not exist`;
  test(`${name}: ${count} texts and pairs`, { skip }, async (t) => {
    const { added, ...files } = converted(name, options.program, kFolder, kWork);
    const strings = new Strings(new Random(options.seed, name), added.map((token) => token.content));
    const setting = { program: options.program, ...files, specialTokens: true };
    const rows = rowsFor(strings, count);
    const { found, answered } = await compared(setting, rows);
    isKept ||= found.length > 0;
    if (found.length > 0) assert.fail(await report(name, setting, found, rows.length));
    t.diagnostic(`the peer answered ${answered} texts and pairs`);
  });
}

// The directories of data/settings.jsonl that only add tokens.
if (isChosen("settings")) {
  test("settings: tokens of tokenizer_config.json", async () => {
    const data = new URL("../data/", import.meta.url);
    const small = JSON.parse(readFileSync(new URL("small.json", data), "utf8"));
    let count = 0;
    for (const line of readFileSync(new URL("settings.jsonl", data), "utf8").trim().split("\n")) {
      const { name, files, texts, with: parts } = JSON.parse(line);
      const config = files["tokenizer_config.json"];
      if (Object.keys(config ?? {}).join() !== "added_tokens_decoder") continue;
      const added = Object.values(config.added_tokens_decoder); // by id
      if (added.filter((token) => token.normalized).length > 1) continue; // the peer chooses one of equal tokens at random
      if (!added.every((token) => "lstrip" in token)) continue; // the peer has no defaults
      ++count;
      writeFileSync(`${kWork}/tokenizer.json`, JSON.stringify({ ...small, ...parts }));
      writeFileSync(`${kWork}/tokenizer_config.json`, JSON.stringify(config));
      const setting = { program: options.program, file: kWork, reference: `${kWork}/tokenizer.json`, added, specialTokens: true };
      const { found } = await compare(setting, texts.map((text) => ({ text })));
      assert.deepEqual(found, [], name);
    }
    assert.ok(count >= 3, `${count} rows`);
  });
}

async function compared(setting, rows) {
  try {
    return await compare(setting, rows);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const unsupported = error.side === "ours" && kUnsupported.exec(error.message)?.[1];
    if (!unsupported) throw error;
    return { found: [], answered: 0, unsupported };
  }
}

// T5's table, for normalizers of type Precompiled.
function readCharsMap() {
  const file = `${kFolder}/t5.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).normalizer.precompiled_charsmap : null;
}

for (const family of kFamilies) {
  const name = `random-${family}`;
  if (!isChosen(name)) continue;
  const count = Math.ceil((kCount * kRandomShare) / kRowsOfOneConfiguration);
  const model = smallModel(family, kFolder);
  test(`${name}: ${count} configurations`, { skip: model ? false : "its file does not exist" }, async (t) => {
    const random = new Random(options.seed, name);
    const charsMap = readCharsMap();
    const reports = [];
    const skipped = {};
    let total = 0;
    for (let i = 0; i < count && reports.length < kReportsMax; ++i) {
      const json = await configuration(random, family, model, charsMap);
      const cut = random.once(3) ? truncation(random, 24) : undefined;
      const save = (tried, to = `${family}-${i}-small`) => {
        const file = `${kWork}/${to}.json`;
        writeFileSync(file, JSON.stringify(tried));
        return { file };
      };
      const { file } = save(json, `${family}-${i}`);
      const setting = { program: options.program, file, cut, specialTokens: !random.once(6), json, save };
      const strings = new Strings(random, json.added_tokens.map((token) => token.content));
      const rows = rowsFor(strings, kRowsOfOneConfiguration);
      const { found, answered, unsupported } = await compared(setting, rows);
      total += answered;
      if (unsupported) skipped[unsupported] = (skipped[unsupported] ?? 0) + 1;
      if (found.length > 0) reports.push(await report(`${name} ${i}`, setting, found, rows.length));
    }
    t.diagnostic(`the peer answered ${total} texts and pairs`);
    for (const [what, times] of Object.entries(skipped)) t.diagnostic(`skipped ${times} times: ${what}`);
    isKept ||= reports.length > 0;
    if (reports.length > 0) assert.fail(reports.join("\n"));
  });
}
