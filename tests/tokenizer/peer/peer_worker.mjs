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
  if (cut) truncate(tokenizer, cut);
  return tokenizer;
}

function truncate(tokenizer, { tokensMax, strategy, side, stride }) {
  tokenizer.setTruncation(tokensMax, { strategy: kStrategies[strategy], direction: side, stride: stride ?? 0 });
}

const shape = (encoding) => ({
  ids: encoding.getIds(),
  offsets: encoding.getOffsets(),
  type_ids: encoding.getTypeIds(),
});
const withoutTypes = (encoding) => ({ ids: encoding.getIds(), offsets: encoding.getOffsets() });

// The peer reads no text beyond its limit, so that its windows end there. All of them come of a whole encoding that is
// cut when the special tokens are added. On that way type ids are lost, and "longest first" judges by whole lengths where
// encoding judges by what was read.
async function windows(tokenizer, cut, rows) {
  const whole = async (texts) => tokenizer.encodeBatch(texts, { addSpecialTokens: false });
  tokenizer.disableTruncation();
  const firsts = await whole(rows.map((row) => row.text));
  const seconds = await whole(rows.map((row) => row.pair ?? ""));
  truncate(tokenizer, cut);
  return rows.map((row, i) => {
    try {
      const encoding = tokenizer.postProcess(firsts[i], row.pair === undefined ? null : seconds[i], true);
      return { ...withoutTypes(encoding), overflow: encoding.getOverflowing().map(withoutTypes) };
    } catch (error) {
      return { error: error.message };
    }
  });
}

async function answers(setting, rows) {
  const tokenizer = open(setting);
  if (setting.cut?.stride !== undefined) return windows(tokenizer, setting.cut, rows);
  const inputs = rows.map((row) => (row.pair === undefined ? row.text : [row.text, row.pair]));
  const options = { addSpecialTokens: setting.specialTokens };
  try {
    return (await tokenizer.encodeBatch(inputs, options)).map(shape);
  } catch {
    // Some row has no answer: find out which.
    const list = [];
    for (const { text, pair } of rows) {
      const answer = tokenizer.encode(text, pair ?? null, options);
      list.push(await answer.then(shape, (error) => ({ error: error.message })));
    }
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
