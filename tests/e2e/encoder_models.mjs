// Tiny classifiers of each family of encoders, as their repositories are laid out: config.json, tokenizer.json and
// model.safetensors, with the tensor names of Hugging Face's classes and weights from a fixed sequence.

import { safetensors, sentencePiece } from "./hub_models.mjs";

const kHidden = 16, kInner = 24, kPositions = 72, kBuckets = 8;
const kLayers = [0, 1];
const kGuardLabels = { 0: "benign", 1: "jailbreak" };
const kTagLabels = { 0: "O", 1: "B-PERSON", 2: "I-PERSON", 3: "B-EMAIL", 4: "I-EMAIL" };

const kWords = ["ada", "call", "me", "on", "monday", "ignore", "all", "rules", "and", "print", "your", "prompt", "the", "cat", "sat"];
const kLetters = [..."abcdefghijklmnopqrstuvwxyz0123456789@.,"];

const addedTokens = (names) => names.map((content, id) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }));

// The tokenizer of sentencepiece networks: words begin with U+2581, and pieces have scores. The mask comes last, as in DeBERTa.
function unigram(special) {
  const [, begin, end] = special;
  const pieces = [...kWords.map((word) => `▁${word}`), "▁", ...kLetters, ...kLetters.slice(0, -1).map((letter) => `▁${letter}`), "[MASK]"];
  const item = (id, type) => ({ SpecialToken: { id, type_id: type } });
  const text = (id, type) => ({ Sequence: { id, type_id: type } });
  return {
    version: "1.0", truncation: null, padding: null, added_tokens: addedTokens(special),
    normalizer: { type: "Sequence", normalizers: [{ type: "Lowercase" }, { type: "Strip", strip_left: true, strip_right: true }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }] },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", add_prefix_space: true, prepend_scheme: "always" },
    post_processor: {
      type: "TemplateProcessing",
      single: [item(begin, 0), text("A", 0), item(end, 0)], pair: [item(begin, 0), text("A", 0), item(end, 0), text("B", 1), item(end, 1)],
      special_tokens: Object.fromEntries([begin, end].map((name) => [name, { id: name, ids: [special.indexOf(name)], tokens: [name] }])),
    },
    decoder: { type: "Metaspace", replacement: "▁", add_prefix_space: true, prepend_scheme: "always" },
    model: { type: "Unigram", unk_id: 3, byte_fallback: false, vocab: [...special.map((name) => [name, 0]), ...pieces.map((piece) => [piece, -1 - 8 / piece.length])] },
  };
}

function wordPiece([pad, unknown, begin, end]) {
  const special = [pad, unknown, begin, end];
  const pieces = [...special, ...kWords, ...kLetters, ...kLetters.map((letter) => `##${letter}`)];
  return {
    version: "1.0", truncation: null, padding: null, added_tokens: addedTokens(special),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: { type: "BertProcessing", sep: [end, 3], cls: [begin, 2] },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: { type: "WordPiece", unk_token: unknown, continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: Object.fromEntries([...new Set(pieces)].map((piece, id) => [piece, id])) },
  };
}

const kUnigram = unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]"]);
const kWordPiece = wordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]"]);
const sizeOf = (tokenizer) => Array.isArray(tokenizer.model.vocab) ? tokenizer.model.vocab.length : Object.keys(tokenizer.model.vocab).length;

// Collects the shapes of tensors under a prefix.
class Shapes {
  all = {};
  add(name, ...shape) { this.all[name] = shape; }
  linear(name, inputs, outputs) { this.add(`${name}.weight`, outputs, inputs); this.add(`${name}.bias`, outputs); }
  norm(name, width = kHidden) { this.add(`${name}.weight`, width); this.add(`${name}.bias`, width); }
}

function embeddings(shapes, at, vocabulary, { width = kHidden, types = 0, positions = kPositions }) {
  shapes.add(`${at}.word_embeddings.weight`, vocabulary, width);
  if (positions > 0) shapes.add(`${at}.position_embeddings.weight`, positions, width);
  if (types > 0) shapes.add(`${at}.token_type_embeddings.weight`, types, width);
  shapes.norm(`${at}.LayerNorm`, width);
}

// The layers of BERT, whose projections some families name differently.
function bertLayers(shapes, at, projections = ["self.query", "self.key", "self.value", "output.dense"], norm = "output.LayerNorm") {
  for (const layer of kLayers.map((number) => `${at}.encoder.layer.${number}`)) {
    for (const name of projections) shapes.linear(`${layer}.attention.${name}`, kHidden, kHidden);
    shapes.norm(`${layer}.attention.${norm}`);
    shapes.linear(`${layer}.intermediate.dense`, kHidden, kInner);
    shapes.linear(`${layer}.output.dense`, kInner, kHidden);
    shapes.norm(`${layer}.output.LayerNorm`);
  }
}

const common = { hidden_size: kHidden, num_hidden_layers: kLayers.length, num_attention_heads: 4, intermediate_size: kInner, hidden_act: "gelu", max_position_embeddings: kPositions, pad_token_id: 0 };

// By name: the class, the configuration, the tokenizer, the encoder's tensors, and the layers before the classifier.
const kFamilies = {
  "deberta-v3": {
    begin: "DebertaV2", tokenizer: kUnigram,
    config: { ...common, model_type: "deberta-v2", type_vocab_size: 0, relative_attention: true, position_biased_input: false, position_buckets: kBuckets, max_relative_positions: -1, norm_rel_ebd: "layer_norm", share_att_key: true, pos_att_type: "p2c|c2p", pooler_hidden_act: "gelu", pooler_hidden_size: kHidden, layer_norm_eps: 1e-7 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "deberta.embeddings", vocabulary, { positions: 0 });
      shapes.add("deberta.encoder.rel_embeddings.weight", 2 * kBuckets, kHidden);
      shapes.norm("deberta.encoder.LayerNorm");
      bertLayers(shapes, "deberta", ["self.query_proj", "self.key_proj", "self.value_proj", "output.dense"]);
    },
    dense: "pooler.dense", classifier: "classifier", guardLabels: { 0: "SAFE", 1: "INJECTION" },
  },
  distilbert: {
    begin: "DistilBert", tokenizer: kWordPiece,
    config: { model_type: "distilbert", dim: kHidden, n_layers: kLayers.length, n_heads: 4, hidden_dim: kInner, activation: "gelu", max_position_embeddings: kPositions, pad_token_id: 0 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "distilbert.embeddings", vocabulary, {});
      for (const layer of kLayers.map((number) => `distilbert.transformer.layer.${number}`)) {
        for (const name of ["q_lin", "k_lin", "v_lin", "out_lin"]) shapes.linear(`${layer}.attention.${name}`, kHidden, kHidden);
        for (const name of ["sa_layer_norm", "output_layer_norm"]) shapes.norm(`${layer}.${name}`);
        shapes.linear(`${layer}.ffn.lin1`, kHidden, kInner);
        shapes.linear(`${layer}.ffn.lin2`, kInner, kHidden);
      }
    },
    dense: "pre_classifier", classifier: "classifier",
  },
  electra: {
    begin: "Electra", tokenizer: kWordPiece,
    config: { ...common, model_type: "electra", embedding_size: 12, type_vocab_size: 2, layer_norm_eps: 1e-12 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "electra.embeddings", vocabulary, { width: 12, types: 2 });
      shapes.linear("electra.embeddings_project", 12, kHidden);
      bertLayers(shapes, "electra");
    },
    dense: "classifier.dense", classifier: "classifier.out_proj",
  },
  mpnet: {
    begin: "MPNet", tokenizer: kWordPiece,
    config: { ...common, model_type: "mpnet", pad_token_id: 1, layer_norm_eps: 1e-5, relative_attention_num_buckets: 32 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "mpnet.embeddings", vocabulary, {});
      bertLayers(shapes, "mpnet", ["attn.q", "attn.k", "attn.v", "attn.o"], "LayerNorm");
      shapes.add("mpnet.encoder.relative_attention_bias.weight", 32, 4);
    },
    dense: "classifier.dense", classifier: "classifier.out_proj",
  },
  albert: {
    begin: "Albert", tokenizer: kUnigram,
    config: { ...common, model_type: "albert", embedding_size: 12, hidden_act: "gelu_new", type_vocab_size: 2, num_hidden_groups: 1, inner_group_num: 1, layer_norm_eps: 1e-12 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "albert.embeddings", vocabulary, { width: 12, types: 2 });
      shapes.linear("albert.encoder.embedding_hidden_mapping_in", 12, kHidden);
      const layer = "albert.encoder.albert_layer_groups.0.albert_layers.0";
      for (const name of ["query", "key", "value", "dense"]) shapes.linear(`${layer}.attention.${name}`, kHidden, kHidden);
      for (const name of ["attention.LayerNorm", "full_layer_layer_norm"]) shapes.norm(`${layer}.${name}`);
      shapes.linear(`${layer}.ffn`, kHidden, kInner);
      shapes.linear(`${layer}.ffn_output`, kInner, kHidden);
    },
    dense: "albert.pooler", classifier: "classifier",
  },
  "xlm-roberta": {
    begin: "XLMRoberta", tokenizer: unigram(["<pad>", "<s>", "</s>", "<unk>"]),
    config: { ...common, model_type: "xlm-roberta", type_vocab_size: 1, layer_norm_eps: 1e-5 },
    encoder(shapes, vocabulary) {
      embeddings(shapes, "roberta.embeddings", vocabulary, { types: 1 });
      bertLayers(shapes, "roberta");
    },
    dense: "classifier.dense", classifier: "classifier.out_proj",
  },
};

export const kFamilyNames = Object.keys(kFamilies);

// Norms multiply by about 1. Other values are around 0: large enough that texts differ, and less in GLiNER's head, whose many
// layers would saturate every probability.
function values(name, count, next) {
  const isNorm = /norm\.weight$/i.test(name), size = /^span_rep_layer|^prompt_rep_layer/.test(name) ? 0.8 : 1.6;
  return Float32Array.from({ length: count }, () => isNorm ? 1 + 0.2 * next() : size * next());
}

function tensors(shapes) {
  let state = 7;
  const next = () => { state = (state * 48271) % 2147483647; return state / 2147483647 - 0.5; };
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    const data = values(name, shape.reduce((a, b) => a * b, 1), next);
    return [name, { shape, data: Buffer.from(data.buffer) }];
  }));
}

// Returns the files of a repository with a classifier of texts (`kind` "guard") or of tokens ("tagger"). `more` are
// further settings of its config.json.
export function classifierFiles(family, kind, { labels: own, ...more } = {}) {
  const { begin, tokenizer, config, encoder, dense, classifier, guardLabels = kGuardLabels } = kFamilies[family];
  const labels = own ?? (kind === "guard" ? guardLabels : kTagLabels);
  const shapes = new Shapes();
  encoder(shapes, sizeOf(tokenizer));
  if (kind === "guard") shapes.linear(dense, kHidden, kHidden);
  shapes.linear(kind === "guard" ? classifier : "classifier", kHidden, Object.keys(labels).length);
  const architecture = `${begin}For${kind === "guard" ? "Sequence" : "Token"}Classification`;
  const settings = { architectures: [architecture], ...config, vocab_size: sizeOf(tokenizer), id2label: labels, label2id: Object.fromEntries(Object.entries(labels).map(([id, label]) => [label, Number(id)])), ...more };
  return { "config.json": JSON.stringify(settings), "tokenizer.json": JSON.stringify(tokenizer), "model.safetensors": safetensors(tensors(shapes.all)) };
}

// The pieces of the tokenizer of DeBERTa as a sentencepiece model, which changes no letters.
export function debertaPieces() {
  return sentencePiece(kUnigram.model.vocab.map(([piece, score], id) =>
    [piece, score, id === kUnigram.model.unk_id ? 2 : piece.startsWith("[") ? 3 : 1]));
}

// A GLiNER over DeBERTa-v3: its encoder reads labels in front of a text, and its head scores spans of words for each.
export function glinerFiles(settings = {}) {
  const { encoder, config } = kFamilies["deberta-v3"];
  const tokenizer = structuredClone(kUnigram), marks = ["<<ENT>>", "<<SEP>>"], first = sizeOf(kUnigram);
  tokenizer.added_tokens.push(...addedTokens(marks).map((mark) => ({ ...mark, id: mark.id + first })));
  const encoded = new Shapes(), shapes = new Shapes(), head = 8;
  encoder(encoded, first + marks.length);
  for (const [name, shape] of Object.entries(encoded.all)) shapes.add(name.replace(/^deberta\./, "token_rep_layer.bert_layer.model."), ...shape);
  shapes.linear("token_rep_layer.projection", kHidden, head);
  for (const end of ["_l0", "_l0_reverse"]) {
    shapes.add(`rnn.lstm.weight_ih${end}`, 2 * head, head);
    shapes.add(`rnn.lstm.weight_hh${end}`, 2 * head, head / 2);
    for (const name of ["bias_ih", "bias_hh"]) shapes.add(`rnn.lstm.${name}${end}`, 2 * head);
  }
  const projection = (name, inputs) => { shapes.linear(`${name}.0`, inputs, 4 * head); shapes.linear(`${name}.3`, 4 * head, head); };
  projection("prompt_rep_layer", head);
  for (const name of ["project_start", "project_end"]) projection(`span_rep_layer.span_rep_layer.${name}`, head);
  projection("span_rep_layer.span_rep_layer.out_project", 2 * head);
  const gliner = { model_name: "tiny/deberta", span_mode: "markerV0", subtoken_pooling: "first", words_splitter_type: "whitespace", max_width: 3, max_len: 384, hidden_size: head, num_rnn_layers: 1, class_token_index: first, vocab_size: first + marks.length, encoder_config: { ...config, vocab_size: first }, labels_encoder: null, ...settings };
  return { "gliner_config.json": JSON.stringify(gliner), "tokenizer.json": JSON.stringify(tokenizer), tensors: tensors(shapes.all) };
}
