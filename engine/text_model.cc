// A model directory joined: config.json, tokenizer.json and model.safetensors, which know nothing
// of each other below.

#include <algorithm>

#include "engine/engine.h"
#include "engine/entities.h"
#include "engine/heads.h"
#include "engine/pooling_config.h"
#include "engine/precision.h"
#include "engine/scratch.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

struct Parts {
  std::filesystem::path directory;
  const kernels::Table* kernels;
  weights::SafeTensors file;  // the trunk looks into it
  std::unique_ptr<const Trunk> trunk;
  std::unique_ptr<const tokenizer::Tokenizer> tokenizer;  // none without a tokenizer.json
  PoolingConfig pooling;
  std::vector<Head> heads;
};

class Model final : public TextModel {
 public:
  Model(Parts parts, int32_t threads)
      : parts_(std::move(parts)), shape_(parts_.trunk->shape()), threads_(threads) {
    for (const Head& head : parts_.heads) {
      infos_.push_back(head.info());
      readers_.emplace_back(head.info().labels);
    }
  }

  int32_t dim() const override { return shape_.hidden; }
  int32_t hidden() const override { return shape_.hidden; }
  int32_t layers() const override { return shape_.layers; }
  int32_t vocabulary() const override { return shape_.vocabulary; }
  double multiply_adds(int32_t tokens) const override {
    return parts_.trunk->multiply_adds(tokens);
  }
  std::span<const HeadInfo> heads() const override { return infos_; }
  int32_t tokens_max() const override {
    const int32_t said = parts_.pooling.tokens_max;
    return said == 0 ? shape_.tokens_max : std::min(said, shape_.tokens_max);
  }

  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed(texts, {}, out);
  }

  Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                     std::span<float> out) const override {
    SIGNALBOX_TRY(const EmbedOptions chosen, complete(options));
    const size_t dim = chosen.dim;
    SIGNALBOX_CHECK(out.size() == texts.size() * dim);
    std::vector<float> pooled(shape_.hidden);
    return run(
        texts.size(),
        [&](size_t i) {
          return Input{texts[i], {}};
        },
        chosen.layers,
        [&](const Scratch& s, size_t first) {
          for (int32_t i = 0; i < s.batch.sequences(); ++i) {
            pool(*parts_.kernels, *chosen.pooling, s.batch.length(i), shape_.hidden, row_of(s, i),
                 pooled.data());
            float* vector = out.data() + (first + i) * dim;  // (dim)
            std::copy_n(pooled.data(), dim, vector);
            parts_.kernels->l2_normalize(chosen.dim, vector);
          }
        });
  }

  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    std::vector<Answer> out(inputs.size() * parts_.heads.size());
    const auto read = [&](const Scratch& s, size_t first) {
      for (size_t h = 0; h < parts_.heads.size(); ++h) {
        std::vector<float> logits = parts_.heads[h].logits(s.batch, s.x.data());
        for (int32_t i = 0; i < s.batch.sequences(); ++i) {
          Answer& answer = out[(first + i) * parts_.heads.size() + h];
          read_answer(h, s, i, inputs[first + i].text, logits, answer);
        }
      }
    };
    SIGNALBOX_TRY_VOID(run(
        inputs.size(), [&](size_t i) { return inputs[i]; }, shape_.layers, read));
    return out;
  }

  Result<States> states(std::span<const int32_t> ids) const override {
    if (static_cast<int64_t>(ids.size()) > tokens_max()) {
      return fail(Code::kInvalid, "{} ids, the model takes at most {}", ids.size(), tokens_max());
    }
    for (const int32_t id : ids) {
      if (id < 0 || id >= shape_.vocabulary) {
        return fail(Code::kInvalid, "id {} is outside the vocabulary of {}", id, shape_.vocabulary);
      }
    }
    States out;
    if (ids.empty()) return fail(Code::kInvalid, "no ids, expected at least one");
    const auto scratch = pool_.borrow();
    scratch->batch.add(ids, {});
    encode(*scratch, shape_.layers);
    const float* x = scratch->x.data();
    out.last_hidden_state.assign(x, x + ids.size() * shape_.hidden);
    for (const Head& head : parts_.heads) out.logits.push_back(head.logits(scratch->batch, x));
    return out;
  }

  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    SIGNALBOX_TRY_VOID(need_tokenizer());
    tokenizer::Encoding encoding;
    parts_.tokenizer->encode(text, {.tokens_max = tokens_max()}, encoding);
    return std::move(encoding.ids);
  }

 private:
  Result<void> need_tokenizer() const {
    if (parts_.tokenizer != nullptr) return {};
    return fail(Code::kNotFound, "{}: the model directory has none, so it reads ids and no text",
                (parts_.directory / "tokenizer.json").string());
  }

  // Options with every choice made.
  Result<EmbedOptions> complete(EmbedOptions options) const {
    if (options.layers < 0 || options.layers > shape_.layers) {
      return fail(Code::kInvalid, "{} layers, the model has {}", options.layers, shape_.layers);
    }
    if (options.dim < 0 || options.dim > shape_.hidden) {
      return fail(Code::kInvalid, "{} dimensions, the model has {}", options.dim, shape_.hidden);
    }
    if (options.layers == 0) options.layers = shape_.layers;
    if (options.dim == 0) options.dim = shape_.hidden;
    if (!options.pooling) options.pooling = parts_.pooling.pooling;
    return options;
  }

  // The batch of s through the trunk.
  void encode(Scratch& s, int32_t layers) const {
    s.reserve(shape_, threads_);
    Workers workers(threads_);
    parts_.trunk->encode(s, layers, workers);
  }

  // The states of sequence i, (length, hidden).
  const float* row_of(const Scratch& s, int32_t i) const {
    return s.x.data() + int64_t{s.batch.begin(i)} * shape_.hidden;
  }

  // Packs inputs into batches, runs each through the trunk, and calls read(scratch, first) with
  // sequence i of the batch being input first + i.
  template <class InputOf, class Read>
  Result<void> run(size_t count, const InputOf& input_of, int32_t layers, const Read& read) const {
    SIGNALBOX_TRY_VOID(need_tokenizer());
    const auto scratch = pool_.borrow();
    Scratch& s = *scratch;
    size_t first = 0;
    const auto flush = [&] {
      encode(s, layers);
      read(s, first);
      first += s.batch.sequences();
      s.batch.clear();
    };
    tokenizer::Encoding encoding;
    for (size_t i = 0; i < count; ++i) {
      SIGNALBOX_TRY_VOID(encode(input_of(i), encoding));
      const auto tokens = static_cast<int32_t>(encoding.ids.size());
      if (s.batch.sequences() > 0 && s.batch.tokens() + tokens > kBatchTokens) flush();
      const auto place = static_cast<size_t>(s.batch.sequences());
      s.batch.add(encoding.ids, shape_.types > 1 ? std::span<const uint8_t>(encoding.type_ids)
                                                 : std::span<const uint8_t>());
      if (s.encodings.size() <= place) s.encodings.emplace_back();
      std::swap(s.encodings[place], encoding);
    }
    if (s.batch.sequences() > 0) flush();
    return {};
  }

  Result<void> encode(const Input& input, tokenizer::Encoding& encoding) const {
    const tokenizer::EncodeOptions options{.tokens_max = tokens_max()};
    if (input.pair) {
      parts_.tokenizer->encode_pair(input.text, *input.pair, options, encoding);
    } else {
      parts_.tokenizer->encode(input.text, options, encoding);
    }
    if (encoding.ids.empty()) return fail(Code::kInvalid, "a text without tokens has no answer");
    return {};
  }

  // Turns logits of sequence i into scores on the way.
  void read_answer(size_t h, const Scratch& s, int32_t i, std::string_view text,
                   std::span<float> logits, Answer& answer) const {
    const Head& head = parts_.heads[h];
    const auto classes = static_cast<size_t>(head.classes());
    if (head.info().kind == HeadKind::kSequence) {
      const auto scores = logits.subspan(i * classes, classes);
      head.to_scores(scores);
      answer.scores.assign(scores.begin(), scores.end());
      return;
    }
    const auto own = logits.subspan(s.batch.begin(i) * classes, s.batch.length(i) * classes);
    for (size_t at = 0; at < own.size(); at += classes) head.to_scores(own.subspan(at, classes));
    answer.entities = readers_[h].read(text, s.encodings[i], own);
  }

  const Parts parts_;
  const TrunkShape shape_;
  const int32_t threads_;
  std::vector<HeadInfo> infos_;
  std::vector<EntityReader> readers_;  // (heads)
  mutable ScratchPool pool_;
};

Result<void> read_head(const std::filesystem::path& directory, const weights::HfConfig& config,
                       const weights::SafeTensors& file, Parts& parts) {
  SIGNALBOX_TRY(auto head,
                Head::open(directory, config, file, *parts.kernels, parts.trunk->shape()));
  if (head) parts.heads.push_back(*std::move(head));
  return {};
}

// A directory of OpenOptions::heads.
Result<void> read_further_head(const std::filesystem::path& directory, Parts& parts) {
  const size_t before = parts.heads.size();
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(const auto file, weights::SafeTensors::open_directory(directory));
  SIGNALBOX_TRY_VOID(read_head(directory, config, file, parts));
  if (parts.heads.size() != before) return {};
  return fail(Code::kCorrupt, "{}: names no architecture with a head",
              config.root().where("architectures"));
}

Result<void> read_tokenizer(Parts& parts) {
  const auto path = parts.directory / "tokenizer.json";
  if (!std::filesystem::exists(path)) return {};
  SIGNALBOX_TRY(parts.tokenizer, tokenizer::Tokenizer::open(path));
  const int32_t vocabulary = parts.trunk->shape().vocabulary;
  if (parts.tokenizer->vocabulary_size() > vocabulary) {
    return fail(Code::kCorrupt, "{}: the tokenizer has {} ids, config.json's vocab_size is {}",
                parts.directory.string(), parts.tokenizer->vocabulary_size(), vocabulary);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<const TextModel>> TextModel::open(const std::filesystem::path& directory,
                                                         const OpenOptions& options) {
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return fail(Code::kInvalid, "{} threads, expected 1 to {}", options.threads, kThreadsMax);
  }
  Parts parts;
  parts.directory = directory;
  SIGNALBOX_TRY(parts.kernels, kernels::active_table());
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(parts.file, weights::SafeTensors::open_directory(directory));
  SIGNALBOX_TRY(parts.trunk,
                open_trunk(config, parts.file, {*parts.kernels, format_of(options.precision)}));
  SIGNALBOX_TRY_VOID(read_tokenizer(parts));
  SIGNALBOX_TRY(parts.pooling, read_pooling_config(directory, parts.trunk->shape().hidden));
  SIGNALBOX_TRY_VOID(read_head(directory, config, parts.file, parts));
  for (const auto& head : options.heads) SIGNALBOX_TRY_VOID(read_further_head(head, parts));
  return std::make_unique<const Model>(std::move(parts), options.threads);
}

}  // namespace signalbox::engine
