// The engine in Node.js through its C interface and koffi, which calls C functions.
//
//     npm install koffi
//     node signalbox.mjs MODEL TEXT...      prints the length of an embedding and every head's answers
//
// The environment variable SIGNALBOX_LIBRARY names libsignalbox.so if the system does not find it.

import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import koffi from "koffi";

const library = koffi.load(process.env.SIGNALBOX_LIBRARY ?? "libsignalbox.so");
koffi.opaque("signalbox_model");
koffi.opaque("signalbox_answers");
koffi.struct("signalbox_options", {
  precision: "int32_t", threads: "int32_t", heads: "const char **", heads_count: "size_t",
  adapter: "const char *", adapters: "const char **", adapters_count: "size_t",
});
const Head = koffi.struct("signalbox_head", {
  name: "const char *", kind: "int32_t", scores: "int32_t", labels: "const char **", labels_count: "size_t", adapter: "int32_t",
});
koffi.struct("signalbox_text", { bytes: "const uint8_t *", size: "size_t", adapter: "int32_t" });
const Entity = koffi.struct("signalbox_entity", { type: "const char *", begin: "size_t", end: "size_t", score: "float" });

const lastError = library.func("const char *signalbox_last_error()");
const open = library.func("int32_t signalbox_open(const char *directory, const signalbox_options *options, _Out_ signalbox_model **model)");
const close = library.func("void signalbox_close(signalbox_model *model)");
const dim = library.func("int32_t signalbox_dim(const signalbox_model *model)");
const heads = library.func("const signalbox_head *signalbox_heads(const signalbox_model *model, _Out_ size_t *count)");
const embed = library.func("int32_t signalbox_embed(const signalbox_model *model, const signalbox_text *texts, size_t count, const void *options, _Out_ float *out, size_t out_size)");
const answer = library.func("int32_t signalbox_answer(const signalbox_model *model, const signalbox_text *texts, const signalbox_text *pairs, size_t count, _Out_ signalbox_answers **answers)");
const freeAnswers = library.func("void signalbox_answers_free(signalbox_answers *answers)");
const scores = library.func("const float *signalbox_scores(const signalbox_answers *answers, size_t text, size_t head, _Out_ size_t *count)");
const entities = library.func("const signalbox_entity *signalbox_entities(const signalbox_answers *answers, size_t text, size_t head, _Out_ size_t *count)");

function check(status) {
  if (status !== 0) throw new Error(lastError());
}

function structs(texts) {
  return texts.map((text) => {
    const bytes = Buffer.from(text);
    return { bytes, size: bytes.length, adapter: 0 };
  });
}

/** A model directory. Offsets of spans count bytes of the text in UTF-8. */
export class Model {
  static precisions = { f32: 0, bf16: 1, int8: 2 };
  #model;

  constructor(directory, { precision = "f32", threads = 1, heads: paths = [] } = {}) {
    const out = [null];
    check(open(directory, {
      precision: Model.precisions[precision], threads, heads: paths, heads_count: paths.length,
      adapter: null, adapters: null, adapters_count: 0,
    }, out));
    this.#model = out[0];
    const count = [0];
    const found = heads(this.#model, count);
    const all = count[0] === 0 ? [] : koffi.decode(found, Head, count[0]);
    this.names = all.map((head) => head.name);
    this.labels = all.map((head) => koffi.decode(head.labels, "const char *", head.labels_count));
    this.dim = dim(this.#model);
  }

  close() {
    close(this.#model);
    this.#model = null;
  }

  /** Returns a Float32Array for each text, of Euclidean length 1. */
  embed(texts) {
    const out = new Float32Array(texts.length * this.dim);
    check(embed(this.#model, structs(texts), texts.length, null, out, out.length));
    return texts.map((_, i) => out.subarray(i * this.dim, (i + 1) * this.dim));
  }

  /** Returns for each text one answer a head, in the order of `names`: the scores by label, or spans as {type, begin, end, score}. */
  answer(texts, pairs = null) {
    if (pairs && pairs.length !== texts.length) throw new RangeError(`${pairs.length} pairs for ${texts.length} texts`);
    const out = [null];
    check(answer(this.#model, structs(texts), pairs && structs(pairs), texts.length, out));
    try {
      return texts.map((_, text) => this.labels.map((labels, head) => this.#read(out[0], text, head, labels)));
    } finally {
      freeAnswers(out[0]);
    }
  }

  #read(answers, text, head, labels) {
    const count = [0];
    const found = scores(answers, text, head, count);
    if (count[0] > 0) {
      const values = koffi.decode(found, "float", count[0]);
      return Object.fromEntries(labels.map((label, i) => [label, values[i]]));
    }
    const spans = entities(answers, text, head, count);
    return count[0] === 0 ? [] : koffi.decode(spans, Entity, count[0]);
  }
}

function main(directory, ...texts) {
  const model = new Model(directory);
  console.log(model.embed(texts)[0].length);
  for (const answers of model.answer(texts)) {
    for (const [head, found] of answers.entries()) {
      const name = model.names[head];
      if (Array.isArray(found)) {
        for (const { type, begin, end, score } of found) console.log(`${name} ${type} ${begin} ${end} ${score.toFixed(5)}`);
      } else {
        const [label, score] = Object.entries(found).reduce((best, next) => (next[1] > best[1] ? next : best));
        console.log(`${name} ${label} ${score.toFixed(5)}`);
      }
    }
  }
  model.close();
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.argv.length < 4) {
    console.error("usage: signalbox.mjs MODEL TEXT...");
    process.exit(1);
  }
  try {
    main(...process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
