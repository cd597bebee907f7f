// Makes a llama model of random weights as a GGUF file of half a megabyte, for a real llama.cpp server. It generates
// random letters. The vocabulary is of sentencepiece's kind with one token per byte, so it can read any text.

const kWidth = 64;
const kLayers = 2;
const kHeads = 4;
const kInner = 128;
const kAlignment = 32;
const kTypes = { u32: 4, i32: 5, f32: 6, string: 8, array: 9 }; // type numbers of metadata values

class Bytes {
  parts = [];
  size = 0;
  add(buffer) {
    this.parts.push(buffer);
    this.size += buffer.length;
  }
  u32(value) {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32LE(value);
    this.add(buffer);
  }
  u64(value) {
    const buffer = Buffer.alloc(8);
    buffer.writeBigUInt64LE(BigInt(value));
    this.add(buffer);
  }
  f32s(values) {
    this.add(Buffer.from(Float32Array.from(values).buffer));
  }
  string(text) {
    this.u64(Buffer.byteLength(text));
    this.add(Buffer.from(text));
  }
  align() {
    this.add(Buffer.alloc((kAlignment - (this.size % kAlignment)) % kAlignment));
  }
  value(type, value) {
    if (type === "string") this.string(value);
    else if (type === "f32") this.f32s([value]);
    else this.u32(value);
  }
}

/// Returns a repeatable sequence of numbers from -1 to 1.
function random(seed) {
  let state = seed;
  return () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1) * 0.5;
}

export function tinyLlama() {
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, "0")}>`);
  // The tokens that it can generate: letters, each with or without a leading space. All other tokens have an output row
  // of zeros.
  const letters = [..."abcdefghijklmnopqrstuvwxyz"].flatMap((letter) => [letter, `\u2581${letter}`]);
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...letters];
  const kinds = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 3 + bytes.length ? 6 : 1)); // unknown, control, byte, normal
  const metadata = [
    ["general.architecture", "string", "llama"],
    ["general.alignment", "u32", kAlignment],
    ["llama.context_length", "u32", 512],
    ["llama.embedding_length", "u32", kWidth],
    ["llama.block_count", "u32", kLayers],
    ["llama.feed_forward_length", "u32", kInner],
    ["llama.attention.head_count", "u32", kHeads],
    ["llama.attention.head_count_kv", "u32", kHeads],
    ["llama.attention.layer_norm_rms_epsilon", "f32", 1e-5],
    ["llama.rope.dimension_count", "u32", kWidth / kHeads],
    ["llama.vocab_size", "u32", tokens.length],
    ["tokenizer.ggml.model", "string", "llama"],
    ["tokenizer.ggml.tokens", "array", ["string", tokens]],
    ["tokenizer.ggml.scores", "array", ["f32", tokens.map((_, i) => -i)]],
    ["tokenizer.ggml.token_type", "array", ["i32", kinds]],
    ["tokenizer.ggml.bos_token_id", "u32", 1],
    ["tokenizer.ggml.eos_token_id", "u32", 2],
    ["tokenizer.ggml.unknown_token_id", "u32", 0],
  ];
  const next = random(7);
  const filled = (count) => Array.from({ length: count }, next);
  const ones = Array.from({ length: kWidth }, () => 1);
  const tensors = [["token_embd.weight", [kWidth, tokens.length], filled(kWidth * tokens.length)]];
  for (let i = 0; i < kLayers; ++i) {
    tensors.push([`blk.${i}.attn_norm.weight`, [kWidth], ones], [`blk.${i}.ffn_norm.weight`, [kWidth], ones]);
    for (const name of ["attn_q", "attn_k", "attn_v", "attn_output"])
      tensors.push([`blk.${i}.${name}.weight`, [kWidth, kWidth], filled(kWidth * kWidth)]);
    for (const name of ["ffn_gate", "ffn_up"]) tensors.push([`blk.${i}.${name}.weight`, [kWidth, kInner], filled(kWidth * kInner)]);
    tensors.push([`blk.${i}.ffn_down.weight`, [kInner, kWidth], filled(kWidth * kInner)]);
  }
  const said = tokens.flatMap((_, i) => (kinds[i] === 1 ? filled(kWidth) : Array.from({ length: kWidth }, () => 0)));
  tensors.push(["output_norm.weight", [kWidth], ones], ["output.weight", [kWidth, tokens.length], said]);

  const out = new Bytes();
  out.add(Buffer.from("GGUF"));
  out.u32(3);
  out.u64(tensors.length);
  out.u64(metadata.length);
  for (const [key, type, value] of metadata) {
    out.string(key);
    out.u32(kTypes[type]);
    if (type !== "array") out.value(type, value);
    else {
      const [of, items] = value;
      out.u32(kTypes[of]);
      out.u64(items.length);
      items.forEach((item) => out.value(of, item));
    }
  }
  let offset = 0;
  for (const [name, shape, values] of tensors) {
    out.string(name);
    out.u32(shape.length);
    shape.forEach((size) => out.u64(size));
    out.u32(0); // float32
    out.u64(offset);
    offset += Math.ceil((values.length * 4) / kAlignment) * kAlignment;
  }
  for (const [, , values] of tensors) {
    out.align();
    out.f32s(values);
  }
  return Buffer.concat(out.parts);
}
