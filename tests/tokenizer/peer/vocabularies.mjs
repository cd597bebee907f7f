// Vocabularies in the forms in which encoders were published before tokenizer.json, each with the tokenizer.json that it must become
// (the reference). No package contains the original vocabularies, so they are derived from published tokenizer.json files. For BERT,
// Gemma, GPT-2, Llama, Qwen and T5, the published file is the reference. The other classes take the pieces of such a file under their
// own ids, and their reference is written here in the form of the published files.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { safetensors, sentencePiece } from "../../e2e/hub_models.mjs";

const kMark = "\u2581";
const kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6;

const added = (id, content, flags = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...flags });
const metaspace = { type: "Metaspace", replacement: kMark, prepend_scheme: "always", split: true };
const words = { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, metaspace] };
const precompiled = (charsMap) => ({ type: "Precompiled", precompiled_charsmap: charsMap.toString("base64") });
const replaced = (pattern, content) => ({ type: "Replace", pattern, content });
const sequence = (...normalizers) => ({ type: "Sequence", normalizers });
const special = (id, type_id = 0) => ({ SpecialToken: { id, type_id } });
const text = (id, type_id = 0) => ({ Sequence: { id, type_id } });

function template(single, pair, ids) {
  const tokens = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, { id: name, ids: [id], tokens: [name] }]));
  return { type: "TemplateProcessing", single, pair, special_tokens: tokens };
}
const fairseqTemplate = (begin, end) => {
  const [first, last] = [special("<s>"), special("</s>")];
  return template([first, text("A"), last], [first, text("A"), last, last, text("B"), last], { "<s>": begin, "</s>": end });
};
const bertTemplate = (begin, end) => {
  const [first, last] = [special("[CLS]"), special("[SEP]")];
  return template([first, text("A"), last], [first, text("A"), last, text("B", 1), special("[SEP]", 1)], { "[CLS]": begin, "[SEP]": end });
};

const whole = (model, parts) => ({ version: "1.0", truncation: null, padding: null, decoder: null, ...parts, model });
const unigram = (vocab, unk_id) => ({ type: "Unigram", unk_id, vocab, byte_fallback: false });

// T5's table and its pieces without the special ones.
function t5(source) {
  const vocab = source("t5").model.vocab.filter(([piece]) => !piece.startsWith("<extra_id_"));
  return { vocab, pieces: vocab.slice(3), charsMap: Buffer.from(source("t5").normalizer.precompiled_charsmap, "base64") };
}
const plain = (vocab) => vocab.map(([piece, score]) => [piece, score]);

function t5Form(source) {
  const { vocab, charsMap } = t5(source);
  const types = [kControl, kControl, kUnknown];
  const file = sentencePiece(vocab.map(([piece, score], id) => [piece, score, types[id]]), { charsMap });
  return { files: { "spiece.model": file }, type: "t5", reference: source("t5") };
}

const kFairseqFront = [["<unk>", 0, kUnknown], ["<s>", 0, kControl], ["</s>", 0, kControl]];

// Also with tokens that were added afterwards, one of them in normalised text.
function xlmRoberta(source, extra = false) {
  const { pieces, charsMap } = t5(source);
  const vocab = [["<s>", 0], ["<pad>", 0], ["</s>", 0], ["<unk>", 0], ...pieces, ["<mask>", 0]];
  const mask = vocab.length - 1;
  const tokens = [added(0, "<s>"), added(1, "<pad>"), added(2, "</s>"), added(3, "<unk>"), added(mask, "<mask>", { lstrip: true })];
  const more = extra ? [added(mask + 1, "the tool", { normalized: true, special: false }), added(mask + 2, "<ent>")] : [];
  const files = { "sentencepiece.bpe.model": sentencePiece([...kFairseqFront, ...pieces], { charsMap }) };
  if (extra) {
    files["added_tokens.json"] = JSON.stringify({ "the tool": mask + 1, "<ent>": mask + 2 });
    files["special_tokens_map.json"] = JSON.stringify({ cls_token: "<s>", mask_token: "<mask>", additional_special_tokens: ["<ent>"] });
    files["tokenizer_config.json"] = JSON.stringify({ tokenizer_class: "XLMRobertaTokenizerFast" });
  }
  const parts = { added_tokens: [...tokens, ...more], normalizer: sequence(precompiled(charsMap)), pre_tokenizer: words, post_processor: fairseqTemplate(0, 2) };
  return { files, type: extra ? "bert" : "xlm-roberta", reference: whole(unigram(vocab, 3), parts) };
}

function camembert(source) {
  const { pieces, charsMap } = t5(source);
  const front = [["<s>NOTUSED", 0], ["<pad>", 0], ["</s>NOTUSED", 0], ["<unk>", 0], ["<unk>NOTUSED", -100]];
  const vocab = [...front, ["<s>", 0], ["</s>", 0], ...pieces, ["<mask>", 0]];
  const tokens = [...front.map(([piece], id) => added(id, piece)), added(5, "<s>"), added(6, "</s>"), added(vocab.length - 1, "<mask>", { lstrip: true })];
  const parts = { added_tokens: tokens, normalizer: sequence(precompiled(charsMap)), pre_tokenizer: words, post_processor: fairseqTemplate(5, 6) };
  const files = {
    "sentencepiece.bpe.model": sentencePiece([...kFairseqFront, ...pieces], { charsMap }),
    "tokenizer_config.json": JSON.stringify({ tokenizer_class: "CamembertTokenizer" }),
  };
  return { files, type: "xlm-roberta", reference: whole(unigram(vocab, 3), parts) };
}

const isNumberAndComma = (piece) => /\p{Nd},$/u.test(piece);

// With brackets that users defined, and pieces that end in a digit and a comma.
function albert(source, settings = {}) {
  const { charsMap, pieces } = t5(source);
  const front = [["<pad>", 0, kControl], ["<unk>", 0, kUnknown], ["[CLS]", 0, kControl], ["[SEP]", 0, kControl], ["[MASK]", 0, kControl], ["(", 0, kUserDefined], [")", 0, kUserDefined]];
  const rest = pieces.filter(([piece]) => !/[()]/.test(piece) && !isNumberAndComma(piece));
  const numbers = [["1,", -3], [`${kMark}2,`, -3], ["\u0663,", -3]];
  const all = [...front, ...rest, ...numbers];
  const vocab = all.map(([piece, score]) => [piece, isNumberAndComma(piece) ? score - 100 : score]);
  const { do_lower_case = true, keep_accents = false } = settings;
  const normalizer = sequence(
    replaced({ String: "``" }, '"'), replaced({ String: "''" }, '"'),
    ...(keep_accents ? [] : [{ type: "NFKD" }, { type: "StripAccents" }]),
    ...(do_lower_case ? [{ type: "Lowercase" }] : []), precompiled(charsMap),
  );
  const tokens = front.slice(0, 5).map(([piece], id) => added(id, piece, { lstrip: piece === "[MASK]" }));
  const parts = { added_tokens: tokens, normalizer, pre_tokenizer: words, post_processor: bertTemplate(2, 3) };
  const files = { "spiece.model": sentencePiece(all, { charsMap }), "tokenizer_config.json": JSON.stringify(settings) };
  return { files, type: "albert", reference: whole(unigram(vocab, 1), parts) };
}

// In lower case, also with the files that state the mask, which published repositories lack.
function deberta(source, settings = {}) {
  const { charsMap, pieces } = t5(source);
  const front = [["[PAD]", 0, kControl], ["[CLS]", 0, kControl], ["[SEP]", 0, kControl], ["[UNK]", 0, kUnknown]];
  const all = [...front, ...pieces];
  const normalizer = sequence(
    ...(settings.do_lower_case ? [{ type: "Lowercase" }] : []), { type: "Strip", strip_left: true, strip_right: true },
    precompiled(charsMap), replaced({ Regex: " {2,}" }, " "),
  );
  const before = settings.split_by_punct ? [{ type: "Punctuation", behavior: "Isolated" }] : [];
  const mask = added(all.length, "[MASK]");
  const parts = {
    added_tokens: [...front.map(([piece], id) => added(id, piece)), mask], normalizer,
    pre_tokenizer: { type: "Sequence", pretokenizers: [...before, metaspace] }, post_processor: bertTemplate(1, 2),
  };
  const files = { "spm.model": sentencePiece(all, { charsMap }), "tokenizer_config.json": JSON.stringify(settings) };
  if (settings.do_lower_case) {
    files["added_tokens.json"] = JSON.stringify({ "[MASK]": all.length });
    files["special_tokens_map.json"] = JSON.stringify({ mask_token: "[MASK]" });
  }
  return { files, type: "deberta-v2", reference: whole(unigram(plain(all), 3), parts) };
}

// Llama's pieces, whose model joins pairs and spells unknown characters in bytes, under the ids of XLM-R.
function pairs(source) {
  const { model } = source("llama2");
  const joinsNoWords = (piece) => piece.indexOf(kMark, 1) < 0;
  const names = Object.keys(model.vocab).sort((a, b) => model.vocab[a] - model.vocab[b]).slice(3).filter(joinsNoWords);
  const type = (piece) => (/^<0x[0-9A-F]{2}>$/.test(piece) ? kByte : kNormal);
  const pieces = names.map((piece, i) => [piece, type(piece) === kByte ? 0 : -i, type(piece)]);
  const vocab = Object.fromEntries(["<s>", "<pad>", "</s>", "<unk>", ...names, "<mask>"].map((piece, id) => [piece, id]));
  const merges = model.merges.filter((merge) => (Array.isArray(merge) ? merge : merge.split(" ")).every(joinsNoWords));
  const known = merges.filter((merge) => Object.hasOwn(vocab, Array.isArray(merge) ? merge.join("") : merge.replace(" ", "")));
  const mask = Object.keys(vocab).length - 1;
  const tokens = [added(0, "<s>"), added(1, "<pad>"), added(2, "</s>"), added(3, "<unk>"), added(mask, "<mask>", { lstrip: true })];
  const parts = { added_tokens: tokens, normalizer: null, pre_tokenizer: words, post_processor: fairseqTemplate(0, 2) };
  const file = sentencePiece([...kFairseqFront, ...pieces], { kind: 2, byteFallback: true });
  const reference = whole({ type: "BPE", unk_token: "<unk>", fuse_unk: true, byte_fallback: true, vocab, merges: known }, parts);
  return { files: { "sentencepiece.bpe.model": file }, type: "xlm-roberta", reference };
}

// Returns the pieces of a published file as its sentencepiece model has them. The score of a piece is the rank of the merge that makes
// it, and symbols that users defined come before all others.
function piecesOf(json, controls) {
  const { vocab, merges } = json.model;
  const names = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);
  const first = new Map();
  merges.forEach((merge, i) => {
    const made = Array.isArray(merge) ? merge.join("") : merge.replace(" ", "");
    if (!first.has(made)) first.set(made, i);
  });
  const defined = new Set(json.added_tokens.map(({ content }) => content));
  const typeOf = (piece) => {
    if (piece === "<unk>") return kUnknown;
    if (controls.includes(piece)) return kControl;
    if (/^<0x[0-9A-F]{2}>$/.test(piece)) return kByte;
    return defined.has(piece) ? kUserDefined : kNormal;
  };
  return names.map((piece) => [piece, -(first.get(piece) ?? merges.length), typeOf(piece)]);
}

function gemma(source, settings = {}) {
  const reference = source("gemma2");
  const pieces = piecesOf(reference, ["<pad>", "<eos>", "<bos>"]);
  pieces.find(([piece]) => piece === "\t").splice(0, 3, "<0x09>", 0, kByte);
  if (settings.add_eos_token) {
    const [begin, end] = ["<bos>", "<eos>"];
    reference.post_processor = template(
      [special(begin), text("A"), special(end)],
      [special(begin), text("A"), special(end), special(begin, 1), text("B", 1), special(end, 1)], { [begin]: 2, [end]: 1 },
    );
  }
  const file = sentencePiece(pieces, { kind: 2, byteFallback: true, prefix: false, removesSpaces: false });
  return { files: { "tokenizer.model": file, "tokenizer_config.json": JSON.stringify(settings) }, type: "gemma3_text", reference };
}

// The package's file finds <s> in normalised text, as older versions of the library wrote it; newer ones find it in the text itself.
function llama(source, legacy = true) {
  const reference = source("llama2");
  for (const token of reference.added_tokens) token.normalized = false;
  if (!legacy) Object.assign(reference, { normalizer: null, pre_tokenizer: { ...metaspace, prepend_scheme: "first", split: false } });
  const file = sentencePiece(piecesOf(reference, ["<s>", "</s>"]), { kind: 2, byteFallback: true, removesSpaces: false });
  const settings = { tokenizer_class: "LlamaTokenizer", legacy };
  return { files: { "tokenizer.model": file, "tokenizer_config.json": JSON.stringify(settings) }, type: "bert", reference };
}

const lines = (merges) => `#version: 0.2\n${merges.map((merge) => (Array.isArray(merge) ? merge.join(" ") : merge)).join("\n")}\n`;

function gpt2(source) {
  const { vocab, merges } = source("gpt2").model;
  const files = { "vocab.json": JSON.stringify(vocab), "merges.txt": lines(merges), "tokenizer_config.json": JSON.stringify({ tokenizer_class: "GPT2Tokenizer" }) };
  return { files, type: "roberta", reference: source("gpt2") };
}

function roberta(source, settings = {}) {
  const { vocab, merges } = source("gpt2").model;
  const pieces = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]).filter((piece) => piece !== "<|endoftext|>");
  const ids = Object.fromEntries(["<s>", "<pad>", "</s>", "<unk>", ...pieces, "<mask>"].map((piece, id) => [piece, id]));
  const { add_prefix_space = false, trim_offsets = true } = settings;
  const parts = {
    added_tokens: ["<s>", "<pad>", "</s>", "<unk>", "<mask>"].map((piece) => added(ids[piece], piece, { lstrip: piece === "<mask>" })),
    normalizer: null, pre_tokenizer: { type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex: true },
    post_processor: { type: "RobertaProcessing", sep: ["</s>", 2], cls: ["<s>", 0], trim_offsets, add_prefix_space },
  };
  const model = { ...source("gpt2").model, vocab: ids };
  const files = { "vocab.json": JSON.stringify(ids), "merges.txt": lines(merges), "tokenizer_config.json": JSON.stringify(settings) };
  return { files, type: "roberta", reference: whole(model, parts) };
}

function qwen(source, ends = false) {
  const reference = source("qwen");
  const { vocab, merges } = reference.model;
  const decoder = Object.fromEntries(reference.added_tokens.map(({ id, ...token }) => [id, token]));
  const end = "<|endoftext|>";
  const settings = { added_tokens_decoder: decoder, eos_token: end, add_eos_token: ends };
  if (ends) {
    const id = reference.added_tokens.find(({ content }) => content === end).id;
    reference.post_processor = template([text("A"), special(end)], [text("A"), special(end), text("B", 1), special(end, 1)], { [end]: id });
  }
  const files = { "vocab.json": JSON.stringify(vocab), "merges.txt": lines(merges), "tokenizer_config.json": JSON.stringify(settings) };
  return { files, type: "qwen3", reference };
}

// BERT's pieces under the ids of MPNet.
function mpnet(source) {
  const { model, normalizer, pre_tokenizer } = source("bert");
  const pieces = Object.keys(model.vocab).sort((a, b) => model.vocab[a] - model.vocab[b]);
  const all = ["<s>", "<pad>", "</s>", "<unk>", ...pieces, "<mask>"];
  const vocab = Object.fromEntries(all.map((piece, id) => [piece, id]));
  const tokens = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"].map((piece) => added(vocab[piece], piece, { lstrip: piece === "<mask>" }));
  const parts = { added_tokens: tokens, normalizer, pre_tokenizer, post_processor: fairseqTemplate(0, 2) };
  return { files: { "vocab.txt": `${all.join("\n")}\n` }, type: "mpnet", reference: whole({ ...model, vocab }, parts) };
}

function bert(source, settings) {
  const reference = source("bert");
  const { vocab } = reference.model;
  const pieces = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);
  const files = { "vocab.txt": `${pieces.join("\n")}\n` };
  if (!settings) return { files, type: "bert", reference };
  const { do_lower_case, strip_accents, tokenize_chinese_chars } = settings;
  files["tokenizer_config.json"] = JSON.stringify(settings);
  files["added_tokens.json"] = JSON.stringify({ "<ent>": pieces.length });
  reference.added_tokens.push(added(pieces.length, "<ent>", { normalized: true, special: false }));
  Object.assign(reference.normalizer, { lowercase: do_lower_case, strip_accents, handle_chinese_chars: tokenize_chinese_chars });
  return { files, type: "bert", reference };
}

/// The forms: the files of the published tokenizers that they need, and their maker.
export const kVocabularies = {
  "vocab-bert": ["bert", (source) => bert(source)],
  "vocab-bert-cased": ["bert", (source) => bert(source, { do_lower_case: false, strip_accents: true, tokenize_chinese_chars: false })],
  "vocab-t5": ["t5", t5Form],
  "vocab-xlm-roberta": ["t5", xlmRoberta],
  "vocab-xlm-roberta-added": ["t5", (source) => xlmRoberta(source, true)],
  "vocab-xlm-roberta-pairs": ["llama2", pairs],
  "vocab-camembert": ["t5", camembert],
  "vocab-albert": ["t5", albert],
  "vocab-albert-cased": ["t5", (source) => albert(source, { do_lower_case: false, keep_accents: true })],
  "vocab-deberta": ["t5", deberta],
  "vocab-deberta-lower": ["t5", (source) => deberta(source, { do_lower_case: true, split_by_punct: true })],
  "vocab-mpnet": ["bert", mpnet],
  "vocab-gemma": ["gemma2", (source) => gemma(source)],
  "vocab-gemma-end": ["gemma2", (source) => gemma(source, { add_eos_token: true })],
  "vocab-llama": ["llama2", (source) => llama(source)],
  "vocab-llama-first": ["llama2", (source) => llama(source, false)],
  "vocab-qwen": ["qwen", (source) => qwen(source)],
  "vocab-qwen-end": ["qwen", (source) => qwen(source, true)],
  "vocab-gpt2": ["gpt2", gpt2],
  "vocab-roberta": ["gpt2", roberta],
  "vocab-roberta-prefix": ["gpt2", (source) => roberta(source, { add_prefix_space: true, trim_offsets: false })],
};

/// Writes the files of a form below `work` and converts them with the program. Returns the paths of our tokenizer.json and of the
/// reference.
export function converted(name, program, folder, work) {
  const [, make] = kVocabularies[name];
  const source = (one) => JSON.parse(readFileSync(`${folder}/${one}.json`, "utf8"));
  const { files, type, reference } = make(source);
  const from = `${work}/${name}`;
  mkdirSync(from, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(`${from}/${file}`, content);
  writeFileSync(`${from}/config.json`, JSON.stringify({ model_type: type }));
  // The conversion requires a file of weights, but does not check that it fits the vocabulary.
  writeFileSync(`${from}/model.safetensors`, safetensors({ none: { shape: [1], data: Buffer.alloc(4) } }));
  writeFileSync(`${from}/reference.json`, JSON.stringify(reference));
  execFileSync(program, ["convert", from, `${from}/out`], { stdio: ["ignore", "ignore", "pipe"] });
  return { file: `${from}/out/tokenizer.json`, reference: `${from}/reference.json`, added: reference.added_tokens };
}
