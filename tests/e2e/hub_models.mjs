// Tiny models in the formats that a hub stores: safetensors in one file or several, PyTorch's pickle in a zip file,
// ONNX, and a low-rank adapter. All of them are the same BERT of one layer with weights from a fixed sequence.

export const kVocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "a", "mat"];
const kHidden = 8, kInner = 16, kPositions = 16, kTypes = 2;

export const kConfig = JSON.stringify({
  architectures: ["BertModel"], model_type: "bert", vocab_size: kVocabulary.length, hidden_size: kHidden, num_hidden_layers: 1,
  num_attention_heads: 2, intermediate_size: kInner, max_position_embeddings: kPositions, type_vocab_size: kTypes, hidden_act: "gelu",
  layer_norm_eps: 1e-12,
});

export const kTokenizer = JSON.stringify({
  version: "1.0", truncation: null, padding: null,
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map((content, id) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false })),
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: { type: "BertProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2] },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: Object.fromEntries(kVocabulary.map((word, id) => [word, id])) },
});

// Name to shape.
function shapes() {
  const out = {
    "embeddings.word_embeddings.weight": [kVocabulary.length, kHidden],
    "embeddings.position_embeddings.weight": [kPositions, kHidden],
    "embeddings.token_type_embeddings.weight": [kTypes, kHidden],
  };
  const linear = (name, inputs, outputs) => { out[`${name}.weight`] = [outputs, inputs]; out[`${name}.bias`] = [outputs]; };
  const norm = (name) => { out[`${name}.weight`] = [kHidden]; out[`${name}.bias`] = [kHidden]; };
  norm("embeddings.LayerNorm");
  const at = "encoder.layer.0";
  for (const part of ["query", "key", "value"]) linear(`${at}.attention.self.${part}`, kHidden, kHidden);
  linear(`${at}.attention.output.dense`, kHidden, kHidden);
  norm(`${at}.attention.output.LayerNorm`);
  linear(`${at}.intermediate.dense`, kHidden, kInner);
  linear(`${at}.output.dense`, kInner, kHidden);
  norm(`${at}.output.LayerNorm`);
  return out;
}

// Returns the network's tensors: name to {shape, data}, of which data is little-endian float32.
export function tensors() {
  let state = 1;
  const next = () => { state = (state * 48271) % 2147483647; return state / 2147483647 - 0.5; };
  return Object.fromEntries(Object.entries(shapes()).map(([name, shape]) => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next);
    return [name, { shape, data: Buffer.from(values.buffer) }];
  }));
}

export function safetensors(all) {
  const header = {};
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(all)) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, end += data.length] };
  }
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, Buffer.from(text), ...Object.values(all).map(({ data }) => data)]);
}

// Returns {"model.safetensors.index.json", two files}.
export function shards(all) {
  const names = Object.keys(all);
  const file = (i) => `model-0000${i < names.length / 2 ? 1 : 2}-of-00002.safetensors`;
  const map = Object.fromEntries(names.map((name, i) => [name, file(i)]));
  const part = (path) => safetensors(Object.fromEntries(names.filter((name) => map[name] === path).map((name) => [name, all[name]])));
  return {
    "model.safetensors.index.json": JSON.stringify({ metadata: {}, weight_map: map }),
    [file(0)]: part(file(0)), [file(names.length)]: part(file(names.length)),
  };
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; ++k) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function zip(files) {
  const local = [], central = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(files)) {
    const head = Buffer.alloc(26);  // from "version needed" to the lengths
    head.writeUInt16LE(20, 0);
    head.writeUInt32LE(crc32(bytes), 10);
    head.writeUInt32LE(bytes.length, 14);
    head.writeUInt32LE(bytes.length, 18);
    head.writeUInt16LE(name.length, 22);
    const entry = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), head, Buffer.from(name), bytes]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), head, tail, Buffer.from(name)]));
    local.push(entry);
    offset += entry.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(central.length, 4);
  end.writeUInt16LE(central.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, directory, Buffer.from("PK\x05\x06", "latin1"), end]);
}

// PyTorch's state dict: a pickle that refers to the files of a zip file.
export function torch(all) {
  const out = [Buffer.from([0x80, 2])];
  const op = (code, bytes = Buffer.alloc(0)) => out.push(Buffer.from(code, "latin1"), bytes);
  const integer = (value) => { const b = Buffer.alloc(4); b.writeInt32LE(value); op("J", b); };
  const text = (value) => { const b = Buffer.alloc(4); b.writeUInt32LE(value.length); op("X", Buffer.concat([b, Buffer.from(value)])); };
  const global = (module, name) => op("c", Buffer.from(`${module}\n${name}\n`));
  const tuple = (values) => { op("("); values.forEach(integer); op("t"); };
  const ordered = () => { global("collections", "OrderedDict"); op(")R"); };
  ordered();
  op("(");
  const files = {};
  Object.entries(all).forEach(([name, { shape, data }], i) => {
    text(name);
    global("torch._utils", "_rebuild_tensor_v2");
    op("((");
    text("storage");
    global("torch", "FloatStorage");
    text(String(i));
    text("cpu");
    integer(data.length / 4);
    op("tQ");
    integer(0);
    tuple(shape);
    tuple(shape.map((_, at) => shape.slice(at + 1).reduce((a, b) => a * b, 1)));
    op("\x89");
    ordered();
    op("tR");
    files[`archive/data/${i}`] = data;
  });
  op("u.");
  return zip({ "archive/data.pkl": Buffer.concat(out), "archive/version": Buffer.from("3\n"), ...files });
}

// The fields of protobuf messages.
const varint = (value) => { const out = []; for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128); return Buffer.from([...out, value]); };
export const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
export const bytes = (field, value) => { const content = Buffer.from(value); return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]); };

// A sentencepiece model of pieces [text, score, type]: 1 normal, 2 unknown, 3 control, 4 defined by users, 6 a byte. `kind` is 1
// for unigram and 2 for pairs.
export function sentencePiece(pieces, { charsMap = Buffer.alloc(0), kind = 1, byteFallback = false, prefix = true, removesSpaces = true } = {}) {
  const float = (value) => { const out = Buffer.alloc(5, 2 * 8 + 5); out.writeFloatLE(value, 1); return out; };
  return Buffer.concat([
    ...pieces.map(([piece, score, type = 1]) => bytes(1, Buffer.concat([bytes(1, piece), float(score), number(3, type)]))),
    bytes(2, Buffer.concat([number(3, kind), number(35, byteFallback ? 1 : 0)])), bytes(3, Buffer.concat([bytes(2, charsMap), number(3, prefix ? 1 : 0), number(4, removesSpaces ? 1 : 0)])),
  ]);
}

// ONNX: a protocol buffer whose graph holds the tensors under their names before the export.
export function onnx(all) {
  const initializers = Object.entries(all).map(([name, { shape, data }]) =>
    bytes(5, Buffer.concat([...shape.map((size) => number(1, size)), number(2, 1), bytes(8, name), bytes(9, data)])));
  return Buffer.concat([number(1, 8), bytes(7, Buffer.concat(initializers))]);
}

// A low-rank adapter of the attention's query.
export function adapter(base) {
  const at = "base_model.model.encoder.layer.0.attention.self.query";
  const filled = (shape, value) => ({ shape, data: Buffer.from(new Float32Array(shape[0] * shape[1]).fill(value).buffer) });
  return {
    "adapter_config.json": JSON.stringify({ peft_type: "LORA", base_model_name_or_path: base, r: 2, lora_alpha: 4, target_modules: ["query"], bias: "none", task_type: "FEATURE_EXTRACTION" }),
    "adapter_model.safetensors": safetensors({ [`${at}.lora_A.weight`]: filled([2, kHidden], 0.1), [`${at}.lora_B.weight`]: filled([kHidden, 2], 0.2) }),
  };
}

// The files of a repository with the network in one file.
export const modelFiles = () => ({ "config.json": kConfig, "tokenizer.json": kTokenizer, "model.safetensors": safetensors(tensors()), "README.md": "a model", "training_state.pt": "x".repeat(1000) });
