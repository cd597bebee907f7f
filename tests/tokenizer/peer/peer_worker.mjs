// Runs the peer in its own process, because its panics end the process. Receives {setting, rows}, or {json, texts} to
// normalise. Sends {answers}, or {refused} if it rejects the file.

import { readFileSync } from "node:fs";

import { AddedToken, Tokenizer } from "tokenizers";

// The last opened file: a real file takes the peer a second, and many rows use the same file.
const opened = { json: Buffer.alloc(0), tokenizer: null };

const kStrategies = { longest_first: "LongestFirst", only_first: "OnlyFirst", only_second: "OnlySecond" };

function open({ file, cut, added }) {
  const json = readFileSync(file);
  if (!opened.json.equals(json) || added) {
    opened.tokenizer = Tokenizer.fromString(json.toString("utf8"));
    opened.json = added ? Buffer.alloc(0) : json;
    for (const { content, special, single_word: singleWord, lstrip: leftStrip, rstrip: rightStrip, normalized } of added ?? [])
      opened.tokenizer.addAddedTokens([new AddedToken(content, special, { singleWord, leftStrip, rightStrip, normalized })]);
  }
  const { tokenizer } = opened;
  // The values stored in the file are settings of the program that saved it.
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

// The peer reads no text beyond its limit, so its windows end there. To get all windows, we encode the whole text and
// truncate when the special tokens are added. This loses the type ids, and "longest first" then compares whole lengths,
// while encoding compares the lengths that were read.
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
    // Some row has no answer; find out which.
    const list = [];
    for (const { text, pair } of rows) {
      const answer = tokenizer.encode(text, pair ?? null, options);
      list.push(await answer.then(shape, (error) => ({ error: error.message })));
    }
    return list;
  }
}

// Returns the results of a tokenizer.json's normalizer for texts.
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
