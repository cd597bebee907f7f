// Generates random tokenizer.json files: a small model of one family with random normalizers, pre-tokenizers, added
// tokens and post-processors, in combinations that no published model has.

import { normalForms } from "./answers.mjs";
import { idOf, size } from "./small_models.mjs";

const kBehaviours = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];
const kSchemes = ["always", "first", "never"];
const kMark = "\u2581";

// Patterns from published files, and plain strings.
const kGpt4 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" +
  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const kPatterns = [
  { String: " " },
  { String: kMark },
  { String: "ab" },
  { String: "\u0301" },
  { Regex: "\\s+" },
  { Regex: "\\p{N}{1,3}" },
  { Regex: "[^a-z]" },
  { Regex: " {2,}" },
  { Regex: "\\d+|\\p{L}+" },
  { Regex: kGpt2 },
  { Regex: kGpt4 },
];

const sequence = (random, key, make) => {
  const list = [];
  for (let i = random.below(4); i > 0; --i) list.push(make(random));
  return { type: "Sequence", [key]: list };
};

function oneNormalizer(random, charsMap) {
  switch (random.below(charsMap ? 15 : 14)) {
    case 0:
    case 1:
      return {
        type: "BertNormalizer",
        clean_text: random.flip(),
        handle_chinese_chars: random.flip(),
        strip_accents: random.pick([null, true, false]),
        lowercase: random.flip(),
      };
    case 2:
      return { type: "NFC" };
    case 3:
      return { type: "NFD" };
    case 4:
      return { type: "NFKC" };
    case 5:
      return { type: "NFKD" };
    case 6:
      return { type: "Lowercase" };
    case 7:
      return { type: "StripAccents" };
    case 8:
      return { type: "Strip", strip_left: random.flip(), strip_right: random.flip() };
    case 9:
    case 10:
      return {
        type: "Replace",
        pattern: random.pick(kPatterns.slice(0, 8)),
        content: random.pick([kMark, "", " ", "x", "ab", "\u00E9"]),
      };
    case 11:
    case 12:
      return { type: "Prepend", prepend: random.pick([kMark, " ", "ab"]) };
    case 13:
      return { type: "Nmt" };
    default:
      return { type: "Precompiled", precompiled_charsmap: charsMap };
  }
}

function onePretokenizer(random) {
  switch (random.below(12)) {
    case 0:
      return { type: "BertPreTokenizer" };
    case 1:
      return { type: "Whitespace" };
    case 2:
      return { type: "WhitespaceSplit" };
    case 3:
      return { type: "Digits", individual_digits: random.flip() };
    case 4:
      return { type: "Punctuation", behavior: random.pick(kBehaviours) };
    case 5:
      return { type: "CharDelimiterSplit", delimiter: random.pick(["a", " ", "-", "\u0301", "\u4E2D"]) };
    case 6:
      return { type: "FixedLength", length: 1 + random.below(6) };
    case 7:
    case 8:
      return {
        type: "Metaspace",
        replacement: random.once(5) ? "_" : kMark,
        prepend_scheme: random.pick(kSchemes),
        split: random.flip(),
      };
    default:
      return {
        type: "Split",
        pattern: random.pick(kPatterns),
        behavior: random.pick(kBehaviours),
        invert: random.once(3),
      };
  }
}

const byteLevel = (random) => ({
  type: "ByteLevel",
  add_prefix_space: random.flip(),
  trim_offsets: random.flip(),
  use_regex: random.flip(),
});

// A byte-level model only reads words in GPT-2's alphabet, so ByteLevel comes last there, and is not used elsewhere.
function pretokenizer(random, family) {
  if (family !== "byte-level") {
    if (random.once(4)) return null;
    return random.once(3) ? sequence(random, "pretokenizers", onePretokenizer) : onePretokenizer(random);
  }
  const last = byteLevel(random);
  if (random.flip()) return last;
  const steps = sequence(random, "pretokenizers", onePretokenizer);
  steps.pretokenizers.push(last);
  return steps;
}

const special = (id, type_id) => ({ SpecialToken: { id, type_id } });
const text = (id, type_id) => ({ Sequence: { id, type_id } });

function template(random, ids) {
  const type = () => random.below(4);
  const extra = () => (random.flip() ? [special(random.pick(["X", "Y"]), type())] : []);
  const pair = random.flip() ? ["A", "B"] : ["B", "A"];
  return {
    type: "TemplateProcessing",
    single: [...extra(), text("A", type()), ...extra()],
    pair: [...extra(), text(pair[0], type()), ...extra(), text(pair[1], type()), ...extra()],
    special_tokens: {
      X: { id: "X", ids: ids.slice(0, 3), tokens: ["x", "y", "z"].slice(0, ids.slice(0, 3).length) },
      Y: { id: "Y", ids: ids.slice(0, 1), tokens: ["x"] },
    },
  };
}

function onePostprocessor(random, pieces) {
  const [cls, sep] = pieces;
  switch (random.below(4)) {
    case 0:
      return { type: "BertProcessing", cls, sep };
    case 1:
      return { type: "RobertaProcessing", cls, sep, trim_offsets: random.flip(), add_prefix_space: random.flip() };
    case 2:
      return byteLevel(random);
    default:
      return template(random, pieces.map(([, id]) => id));
  }
}

// A sequence has the order of published files: first offsets, then one step that adds tokens.
function postprocessor(random, pieces) {
  if (random.once(4)) return null;
  const last = onePostprocessor(random, pieces);
  return random.once(3) ? { type: "Sequence", processors: [byteLevel(random), last] } : last;
}

const kContents = [
  ...["ab", "abc", "b c", "a b", "<x>", "X", "[MASK]", "e", "##", "the", "-", "</s>"],
  ...["\u00C9", "\u4E2D", "\u0301", "Stra\u00DFe", "\u0130"],
  ...[" ", "  ", "\n", "\u00A0", kMark, "\u2581a"],
];

// The peer gives a new token the next id, regardless of the file. Two tokens that normalise to the same text, or to
// nothing, are a contradiction that we reject.
async function addedTokens(random, model, normalizer) {
  const contents = random.some(kContents, 6);
  const forms = await normalForms({ version: "1.0", added_tokens: [], normalizer, model }, contents);
  const seen = new Set();
  const tokens = [];
  let next = size(model);
  contents.forEach((content, i) => {
    const normalized = forms !== undefined && random.flip();
    const form = normalized ? forms[i] : content;
    if (form === "" || seen.has(form)) return;
    seen.add(form);
    const id = idOf(model, content) ?? next++;
    tokens.push({
      id,
      content,
      single_word: random.once(4),
      lstrip: random.once(3),
      rstrip: random.once(3),
      normalized,
      special: random.flip(),
    });
  });
  return tokens;
}

function variant(random, family, model) {
  switch (family) {
    case "wordpiece":
      return {
        ...model,
        max_input_chars_per_word: random.pick([100, 100, 5, 0, 1000]),
        continuing_subword_prefix: random.pick(["##", "##", "", "a"]),
      };
    case "byte-level":
      return { ...model, ignore_merges: random.once(3) };
    case "byte-fallback":
      return { ...model, fuse_unk: random.flip(), byte_fallback: !random.once(3), ignore_merges: random.once(3) };
    default:
      return { ...model, byte_fallback: random.once(3) };
  }
}

/// Random truncation: {tokensMax, strategy, side}.
export function truncation(random, tokensMaxMax) {
  return {
    tokensMax: 1 + random.below(tokensMaxMax),
    strategy: random.pick(["longest_first", "longest_first", "only_first", "only_second"]),
    side: random.pick(["right", "right", "left"]),
  };
}

/// Returns a tokenizer.json as an object.
export async function configuration(random, family, smallModel, charsMap) {
  const model = variant(random, family, smallModel);
  const one = (dice) => oneNormalizer(dice, charsMap);
  const normalizer = random.pick([null, one(random), one(random), sequence(random, "normalizers", one)]);
  const pieces = Array.isArray(model.vocab)
    ? model.vocab.slice(0, 3).map(([piece], id) => [piece, id])
    : Object.entries(model.vocab).slice(0, 3);
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: await addedTokens(random, model, normalizer),
    normalizer,
    pre_tokenizer: pretokenizer(random, family),
    post_processor: postprocessor(random, pieces),
    decoder: null,
    model,
  };
}
