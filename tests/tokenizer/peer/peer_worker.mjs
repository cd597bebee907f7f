// The peer in a process of its own, which its panics end. It is sent {setting, rows}, or {json, texts} to be normalised,
// and sends back {answers}, or {refused} where it does not take the file.

import { readFileSync } from "node:fs";

import { Tokenizer } from "tokenizers";

// The one opened last: a real file takes the peer a second, and rows are tried on one file many times.
const opened = { json: Buffer.alloc(0), tokenizer: null };

const kStrategies = { longest_first: "LongestFirst", only_first: "OnlyFirst", only_second: "OnlySecond" };

function open({ file, cut }) {
  const json = readFileSync(file);
  if (!opened.json.equals(json)) {
    opened.tokenizer = Tokenizer.fromString(json.toString("utf8"));
    opened.json = json;
  }
  const { tokenizer } = opened;
  // What a saved file holds of these is the habit of the program that saved it.
  tokenizer.disablePadding();
  tokenizer.disableTruncation();
  if (cut) {
    const { tokensMax, strategy, side } = cut;
    tokenizer.setTruncation(tokensMax, { strategy: kStrategies[strategy], direction: side });
  }
  return tokenizer;
}

const shape = (encoding) => ({
  ids: encoding.getIds(),
  offsets: encoding.getOffsets(),
  type_ids: encoding.getTypeIds(),
});

async function answers(setting, rows) {
  const tokenizer = open(setting);
  const inputs = rows.map((row) => (row.pair === undefined ? row.text : [row.text, row.pair]));
  const options = { addSpecialTokens: setting.specialTokens };
  try {
    return (await tokenizer.encodeBatch(inputs, options)).map(shape);
  } catch {
    // Some row has no answer: find out which.
    const one = (row) => tokenizer.encode(row.text, row.pair ?? null, options).then(shape, (e) => ({ error: e.message }));
    const list = [];
    for (const row of rows) list.push(await one(row));
    return list;
  }
}

// What a tokenizer.json's normalizer makes of texts.
function normalForms(json, texts) {
  const normalizer = Tokenizer.fromString(json).getNormalizer();
  return texts.map((text) => normalizer?.normalizeString(text) ?? text);
}

process.on("message", async ({ setting, rows, json, texts }) => {
  try {
    process.send({ answers: json ? normalForms(json, texts) : await answers(setting, rows) });
  } catch (error) {
    process.send({ refused: error.message });
  }
});
