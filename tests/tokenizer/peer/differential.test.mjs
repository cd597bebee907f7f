// Signalbox against Hugging Face's own tokenizers library: ids, offsets and type ids of generated texts and pairs, over the
// tokenizer files of files.txt and over random configurations. The same seed gives the same strings.
//
// usage: tests/tokenizer/peer/run PROGRAM [--seed N] [--count N] [--only NAME]

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { closePeer, compare, Refused } from "./answers.mjs";
import { configuration, truncation } from "./configurations.mjs";
import { Random } from "./random.mjs";
import { report } from "./report.mjs";
import { kFamilies, smallModel } from "./small_models.mjs";
import { Strings } from "./strings.mjs";

const { values: options } = parseArgs({
  options: {
    program: { type: "string" },
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "60000" },
    only: { type: "string" },
  },
});
const kCount = Number(options.count);
assert.ok(Number.isInteger(kCount) && kCount > 0, `--count: expected a positive number, found "${options.count}"`);

const kFolder = fileURLToPath(new URL("../../../build/tokenizers", import.meta.url));
const kWork = `${kFolder}/random`;
mkdirSync(kWork, { recursive: true });

// Shares of the whole: those that the project's own models use come first.
const kModels = { bert: 0.12, modernbert: 0.12, gemma2: 0.12, gpt2: 0.12, t5: 0.12 };
const kWitnesses = { cl100k: 0.015, deepseek: 0.015, llama2: 0.015, llama3: 0.015, mistral: 0.015, o200k: 0.015, qwen: 0.015 };
const kRandomShare = 0.3 / kFamilies.length;
const kRowsOfOneConfiguration = 50;
const kReportsMax = 3;

const rowsFor = (strings, count) => Array.from({ length: count }, () => strings.row());
// "x.json: model.type: \"WordLevel\" is not built (built: BPE)": the component, without the path of the file.
const kNotBuilt = /\.json: (.* is not built)/;
const isChosen = (name) => options.only === undefined || options.only === name;

after(closePeer);

for (const [name, share] of Object.entries({ ...kModels, ...kWitnesses })) {
  if (!isChosen(name)) continue;
  const file = `${kFolder}/${name}.json`;
  const count = Math.ceil(kCount * share);
  const skip = existsSync(file) ? false : `${file} is not there`;
  test(`${name}: ${count} texts and pairs`, { skip }, async (t) => {
    const random = new Random(options.seed, name);
    const added = JSON.parse(readFileSync(file, "utf8")).added_tokens.map((token) => token.content);
    const strings = new Strings(random, added);
    // A third is cut, somehow.
    for (const [part, cut] of [[2 / 3], [1 / 6, truncation(random, 12)], [1 / 6, truncation(random, 128)]]) {
      const setting = { program: options.program, file, cut, specialTokens: !(cut && random.once(4)) };
      const rows = rowsFor(strings, Math.ceil(count * part));
      const { found, notBuilt } = await compared(setting, rows);
      if (notBuilt) return t.skip(notBuilt);
      if (found.length > 0) assert.fail(await report(name, setting, found, rows.length));
    }
  });
}

async function compared(setting, rows) {
  try {
    return await compare(setting, rows);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const notBuilt = error.side === "ours" && kNotBuilt.exec(error.message)?.[1];
    if (!notBuilt) throw error;
    return { found: [], asked: 0, notBuilt };
  }
}

const charsMapOf = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).normalizer.precompiled_charsmap : null);

for (const family of kFamilies) {
  const name = `random-${family}`;
  if (!isChosen(name)) continue;
  const count = Math.ceil((kCount * kRandomShare) / kRowsOfOneConfiguration);
  const model = smallModel(family, kFolder);
  test(`${name}: ${count} configurations`, { skip: model ? false : "its file is not there" }, async (t) => {
    const random = new Random(options.seed, name);
    const charsMap = charsMapOf(`${kFolder}/t5.json`);
    const reports = [];
    const passedOver = {};
    let total = 0;
    for (let i = 0; i < count && reports.length < kReportsMax; ++i) {
      const json = await configuration(random, family, model, charsMap);
      const cut = random.once(3) ? truncation(random, 24) : undefined;
      const save = (tried, to = `${family}-${i}-small`) => {
        const file = `${kWork}/${to}.json`;
        writeFileSync(file, JSON.stringify(tried));
        return { file };
      };
      const setting = { program: options.program, cut, specialTokens: !random.once(6), json, save, ...save(json, `${family}-${i}`) };
      const strings = new Strings(random, json.added_tokens.map((token) => token.content));
      const rows = rowsFor(strings, kRowsOfOneConfiguration);
      const { found, asked, notBuilt } = await compared(setting, rows);
      total += asked;
      if (notBuilt) passedOver[notBuilt] = (passedOver[notBuilt] ?? 0) + 1;
      if (found.length > 0) reports.push(await report(`${name} ${i}`, setting, found, rows.length));
    }
    t.diagnostic(`${total} texts and pairs that the peer had an answer to`);
    for (const [what, times] of Object.entries(passedOver)) t.diagnostic(`${times} configurations passed over: ${what}`);
    if (reports.length > 0) assert.fail(reports.join("\n"));
  });
}
