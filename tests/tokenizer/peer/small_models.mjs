// Models of a few thousand pieces taken from the real files, so that real text still splits well. Both sides load a
// random configuration for only a few dozen rows, and loading a whole vocabulary would take all of the time.

import { existsSync, readFileSync } from "node:fs";

const kPiecesMax = 3000;
const isOneCodePoint = (piece) => [...piece].length === 1;

const read = (file) => JSON.parse(readFileSync(file, "utf8"));

/// Assigns consecutive ids to pieces.
const numbered = (pieces) => Object.fromEntries(pieces.map((piece, id) => [piece, id]));

function wordPiece(file) {
  const pieces = Object.keys(read(file).model.vocab);
  const special = pieces.filter((piece) => /^\[[A-Z]+\]$/.test(piece));
  const word = /^(##)?[a-z0-9'.,\p{L}\p{M}]+$/u;
  const all = pieces.filter((piece) => word.test(piece));
  const words = all.filter((piece, i) => i < kPiecesMax || piece.startsWith("##"));
  const vocab = numbered([...new Set([...special, ...words])]);
  return {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab,
  };
}

// Merges whose parts and results are all pieces, in order; "a b" or ["a", "b"].
const closed = (merges, vocab) =>
  merges.filter((merge) => {
    const [left, right] = typeof merge === "string" ? merge.split(" ") : merge;
    return [left, right, left + right].every((piece) => Object.hasOwn(vocab, piece));
  });

function bytePairs(file) {
  const { model } = read(file);
  const pieces = Object.keys(model.vocab).sort((a, b) => model.vocab[a] - model.vocab[b]);
  const vocab = numbered(pieces.slice(0, 256 + kPiecesMax));
  return { ...model, type: "BPE", vocab, merges: closed(model.merges, vocab) };
}

function byteFallback(file) {
  const { model } = read(file);
  const pieces = Object.keys(model.vocab).sort((a, b) => model.vocab[a] - model.vocab[b]);
  const first = pieces.filter((piece, id) => id < 259 + kPiecesMax || isOneCodePoint(piece));
  const vocab = numbered(first);
  return { ...model, type: "BPE", vocab, merges: closed(model.merges, vocab) };
}

function unigram(file) {
  const { model } = read(file);
  const some = model.vocab.filter(([piece], id) => id < kPiecesMax || isOneCodePoint(piece) || id % 10 === 0);
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const vocab = some.filter(([piece]) => !piece.startsWith("<extra")).concat(bytes.map((piece) => [piece, -20]));
  return { ...model, type: "Unigram", vocab };
}

const kMakers = {
  wordpiece: ["bert", wordPiece],
  "byte-level": ["gpt2", bytePairs],
  "byte-fallback": ["llama2", byteFallback],
  unigram: ["t5", unigram],
};

export const kFamilies = Object.keys(kMakers);

/// Returns the model of a family, or null if its file is missing from `folder`.
export function smallModel(family, folder) {
  const [name, make] = kMakers[family];
  const file = `${folder}/${name}.json`;
  return existsSync(file) ? make(file) : null;
}

/// Returns the number of ids in a model.
export const size = (model) => (Array.isArray(model.vocab) ? model.vocab.length : Object.keys(model.vocab).length);

/// Returns the id of a piece, or undefined.
export function idOf(model, piece) {
  if (!Array.isArray(model.vocab)) return Object.hasOwn(model.vocab, piece) ? model.vocab[piece] : undefined;
  const id = model.vocab.findIndex(([other]) => other === piece);
  return id < 0 ? undefined : id;
}
