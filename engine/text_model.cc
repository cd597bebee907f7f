// A model directory joined: config.json, tokenizer.json and model.safetensors, which know nothing
// of each other below.

#include <algorithm>

#include "engine/encoder.h"
#include "engine/engine.h"
#include "engine/scratch.h"
#include "tokenizer/tokenizer.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

// Tokens of one forward pass: small texts share it, and the scratch stays within some megabytes.
constexpr int32_t kBatchTokensMin = 512;

class BertTextModel final : public TextModel {
 public:
  BertTextModel(const BertConfig& config, const kernels::Table& kernels, weights::SafeTensors file,
                BertWeights weights, std::unique_ptr<const tokenizer::Tokenizer> tokenizer)
      : config_(config),
        kernels_(kernels),
        file_(std::move(file)),
        weights_(std::move(weights)),
        tokenizer_(std::move(tokenizer)),
        batch_tokens_max_(std::max(kBatchTokensMin, config.positions)),
        pool_(config, batch_tokens_max_) {}

  int32_t dim() const override { return config_.hidden; }
  int32_t hidden() const override { return config_.hidden; }
  int32_t tokens_max() const override { return config_.positions; }

  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    SIGNALBOX_CHECK(out.size() == texts.size() * dim());
    const auto scratch = pool_.borrow();
    size_t done = 0;  // texts whose embeddings are written
    scratch->batch.clear();
    for (size_t i = 0; i < texts.size(); ++i) {
      tokenizer_->encode(texts[i], {.tokens_max = config_.positions}, scratch->encoding);
      const auto tokens = static_cast<int32_t>(scratch->encoding.ids.size());
      if (tokens == 0) return fail(Code::kInvalid, "a text without tokens cannot be embedded");
      if (scratch->batch.tokens() + tokens > batch_tokens_max_) done += flush(*scratch, out, done);
      scratch->batch.add(scratch->encoding.ids);
    }
    flush(*scratch, out, done);
    return {};
  }

  Result<std::vector<float>> last_hidden_state(std::span<const int32_t> ids) const override {
    if (static_cast<int32_t>(ids.size()) > config_.positions) {
      return fail(Code::kInvalid, "{} ids, the model takes at most {}", ids.size(),
                  config_.positions);
    }
    for (const int32_t id : ids) {
      if (id < 0 || id >= config_.vocabulary) {
        return fail(Code::kInvalid, "id {} is outside the vocabulary of {}", id,
                    config_.vocabulary);
      }
    }
    const auto scratch = pool_.borrow();
    scratch->batch.clear();
    scratch->batch.add(ids);
    engine::encode(config_, weights_, kernels_, *scratch);
    const float* x = scratch->x.data();
    return std::vector<float>(x, x + ids.size() * config_.hidden);
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    tokenizer::Encoding encoding;
    tokenizer_->encode(text, {.tokens_max = config_.positions}, encoding);
    return std::move(encoding.ids);
  }

 private:
  // Embeds the batch into out from text `first` on, empties it, and returns how many texts it held.
  size_t flush(Scratch& scratch, std::span<float> out, size_t first) const {
    Batch& batch = scratch.batch;
    if (batch.sequences() == 0) return 0;
    engine::encode(config_, weights_, kernels_, scratch);
    const auto sequences = static_cast<size_t>(batch.sequences());
    for (int32_t i = 0; i < batch.sequences(); ++i) {
      float* vector = out.data() + (first + i) * config_.hidden;  // (hidden)
      kernels_.mean_rows(batch.length(i), config_.hidden,
                         scratch.x.data() + int64_t{batch.begin(i)} * config_.hidden, vector);
      kernels_.l2_normalize(config_.hidden, vector);
    }
    batch.clear();
    return sequences;
  }

  const BertConfig config_;
  const kernels::Table& kernels_;
  const weights::SafeTensors file_;  // weights_ looks into it
  const BertWeights weights_;
  const std::unique_ptr<const tokenizer::Tokenizer> tokenizer_;
  const int32_t batch_tokens_max_;
  mutable ScratchPool pool_;
};

}  // namespace

Result<std::unique_ptr<const TextModel>> TextModel::open(const std::filesystem::path& directory) {
  SIGNALBOX_TRY(const kernels::Table* kernels, kernels::active_table());
  SIGNALBOX_TRY(const weights::HfConfig hf_config,
                weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(const BertConfig config, read_bert_config(hf_config));
  SIGNALBOX_TRY(auto tokenizer, tokenizer::Tokenizer::open(directory / "tokenizer.json"));
  if (tokenizer->vocabulary_size() > config.vocabulary) {
    return fail(Code::kCorrupt, "{}: the tokenizer has {} ids, config.json's vocab_size is {}",
                directory.string(), tokenizer->vocabulary_size(), config.vocabulary);
  }
  SIGNALBOX_TRY(weights::SafeTensors file,
                weights::SafeTensors::open(directory / "model.safetensors"));
  SIGNALBOX_TRY(BertWeights weights, load_bert_weights(file, config, *kernels));
  return std::make_unique<const BertTextModel>(config, *kernels, std::move(file),
                                               std::move(weights), std::move(tokenizer));
}

}  // namespace signalbox::engine
