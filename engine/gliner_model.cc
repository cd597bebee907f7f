// The encoder reads labels and text in one pass, so the vectors of the labels depend on the text.

#include "engine/gliner_model.h"

#include <algorithm>
#include <cmath>

#include "engine/gliner.h"
#include "engine/gliner_prompt.h"
#include "engine/model_memory.h"
#include "engine/model_tokenizer.h"
#include "engine/precision.h"
#include "engine/scratch.h"
#include "engine/trunk.h"
#include "engine/word_spans.h"
#include "engine/words.h"

namespace signalbox::engine {
namespace {

struct GlinerParts {
  std::filesystem::path directory;
  GlinerConfig config;
  const kernels::Table* kernels;
  weights::SafeTensors file;  // the trunk points into it
  std::unique_ptr<const Trunk> trunk;
  std::unique_ptr<const tokenizer::Tokenizer> tokenizer;
  std::optional<GlinerHead> head;
  std::optional<GlinerPrompt> prompt;  // points to the tokenizer
};

const std::vector<std::string>& labels_of(const GlinerConfig& config, const OpenOptions& options) {
  return options.labels.empty() ? config.labels : options.labels;
}

class GlinerModel final : public TextModel, public HasMemory {
 public:
  GlinerModel(GlinerParts parts, const OpenOptions& options)
      : parts_(std::move(parts)),
        shape_(parts_.trunk->shape()),
        threads_(options.threads),
        least_score_(options.least_score.value_or(parts_.config.least_score)) {
    info_.name = (parts_.directory / "").parent_path().filename().string();
    info_.kind = HeadKind::kTokens;
    info_.scores = Scores::kSigmoid;
    info_.labels = labels_of(parts_.config, options);
    info_.layers = shape_.layers;
  }

  int32_t dim() const override { return shape_.hidden; }
  int32_t hidden() const override { return shape_.hidden; }
  int32_t layers() const override { return shape_.layers; }
  int32_t vocabulary() const override { return shape_.vocabulary; }
  int32_t tokens_max() const override { return parts_.prompt->text_tokens_max(); }
  double multiply_adds(int32_t tokens) const override {
    return parts_.trunk->multiply_adds(tokens + parts_.prompt->label_tokens());
  }
  uint64_t memory_bytes() const override { return parts_.trunk->weights_bytes(); }
  std::span<const HeadInfo> heads() const override { return {&info_, 1}; }

  using TextModel::embed;
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed(texts, {}, out);
  }
  Result<void> embed(std::span<const std::string_view>, const EmbedOptions&,
                     std::span<float>) const override {
    return fail(Code::kUnsupported, "{}: a GLiNER model marks texts and does not embed them",
                parts_.directory.string());
  }

  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    std::vector<Answer> out(inputs.size());
    const auto scratch = pool_.borrow();
    std::vector<GlinerSequence> sequences;
    size_t first = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      SIGNALBOX_TRY_VOID(check_input(inputs[i]));
      sequences.push_back(parts_.prompt->read(inputs[i].text));
      scratch->batch.add(sequences.back().ids, {});
      if (scratch->batch.tokens() < kBatchTokens && i + 1 < inputs.size()) continue;
      SIGNALBOX_TRY_VOID(run(*scratch, sequences, std::span(out).subspan(first)));
      first = i + 1;
      sequences.clear();
    }
    return out;
  }

  using TextModel::states;
  /// The logits are empty, because ids do not show where words begin.
  Result<States> states(std::span<const int32_t> ids, std::span<const uint8_t> types,
                        int32_t adapter) const override {
    if (adapter != kNoAdapter) return no_adapter(adapter);
    SIGNALBOX_TRY_VOID(check_ids(ids, types));
    const auto scratch = pool_.borrow();
    scratch->batch.add(ids, types);
    Workers workers(threads_);
    encode(*scratch, workers);
    const std::span<const float> x(scratch->x.data(), ids.size() * shape_.hidden);
    SIGNALBOX_TRY_VOID(check_finite(parts_.directory, x, "the model's hidden states"));
    States out;
    out.last_hidden_state.assign(x.begin(), x.end());
    out.logits.resize(1);
    return out;
  }

  Result<int32_t> tokens(const Input& input) const override {
    SIGNALBOX_TRY_VOID(check_input(input));
    const size_t all = parts_.prompt->read(input.text).ids.size();
    return static_cast<int32_t>(all) - parts_.prompt->label_tokens();
  }
  Result<bool> is_cut(const Input& input) const override {
    SIGNALBOX_TRY_VOID(check_input(input));
    return parts_.prompt->read(input.text).is_cut;
  }

  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                int32_t overlap) const override {
    SIGNALBOX_CHECK(tokens >= kWindowTokensMin && tokens <= tokens_max() && overlap >= 0 &&
                    overlap < tokens / 2);
    const std::vector<tokenizer::Span> words = split_words(text);
    const std::vector<int32_t> costs = parts_.prompt->word_tokens(text, words);
    std::vector<std::string_view> out;
    size_t begin = 0;  // word
    while (begin < words.size()) {
      const size_t past = window_end(costs, begin, tokens - parts_.prompt->special_tokens());
      const size_t from = begin == 0 ? 0 : words[begin].begin;
      const size_t to = past == words.size() ? text.size() : words[past].begin;
      out.push_back(text.substr(from, to - from));
      if (past == words.size()) break;
      begin = next_window(costs, begin, past, overlap);
    }
    return out;
  }

  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    return parts_.prompt->read(text).ids;
  }

 private:
  Result<void> check_input(const Input& input) const {
    if (input.adapter != kNoAdapter) return no_adapter(input.adapter);
    if (input.pair || input.marked == Marked::kPair)
      return fail(Code::kInvalid, "a GLiNER model reads one text, not a pair");
    if (!info_.labels.empty()) return {};
    return fail(Code::kInvalid, "{}: a GLiNER model takes labels, but was opened without any",
                parts_.directory.string());
  }

  tl::unexpected<Error> no_adapter(int32_t adapter) const {
    return fail(Code::kInvalid, "adapter {}, the model has 0", adapter);
  }

  Result<void> check_ids(std::span<const int32_t> ids, std::span<const uint8_t> types) const {
    const int32_t ids_max = std::max(shape_.tokens_max, shape_.ids_max);
    const auto is_outside = [&](int32_t id) { return id < 0 || id >= shape_.vocabulary; };
    if (ids.empty() || static_cast<int64_t>(ids.size()) > ids_max)
      return fail(Code::kInvalid, "{} ids, expected 1 to {}", ids.size(), ids_max);
    if (!types.empty()) return fail(Code::kInvalid, "{} types, expected none", types.size());
    if (const auto id = std::ranges::find_if(ids, is_outside); id != ids.end())
      return fail(Code::kInvalid, "id {} is outside the vocabulary of {}", *id, shape_.vocabulary);
    return {};
  }

  void encode(Scratch& s, Workers& workers) const {
    s.reserve(shape_, threads_);
    parts_.trunk->encode(s, shape_.layers, workers);
  }

  // Runs the batch and empties it; writes the answers of its sequences.
  Result<void> run(Scratch& s, std::span<const GlinerSequence> sequences,
                   std::span<Answer> answers) const {
    Workers workers(threads_);
    encode(s, workers);
    const auto labels = static_cast<int32_t>(info_.labels.size());
    for (size_t i = 0; i < sequences.size(); ++i) {
      const GlinerSequence& sequence = sequences[i];
      const float* x = s.x.data() + int64_t{s.batch.begin(static_cast<int32_t>(i))} * shape_.hidden;
      const std::vector<float> logits = parts_.head->logits(x, sequence.layout, workers);
      SIGNALBOX_TRY_VOID(check_finite(parts_.directory, logits, "the scores of spans"));
      const auto words = static_cast<int32_t>(sequence.words.size());
      for (const WordSpan& span :
           choose_spans(logits, words, parts_.config.width_max, labels, least_score_)) {
        answers[i].entities.push_back({info_.labels[span.label], sequence.words[span.first].begin,
                                       sequence.words[span.last].end, span.score});
      }
    }
    s.batch.clear();
    return {};
  }

  // Returns the end of the window of at most `tokens` tokens that begins at a word; it has one word
  // at least.
  size_t window_end(std::span<const int32_t> costs, size_t begin, int32_t tokens) const {
    const size_t words = std::min<size_t>(costs.size(), begin + parts_.config.words_max);
    size_t past = begin;
    for (int64_t sum = 0; past < words; ++past) {
      sum += costs[past];
      if (sum > tokens && past > begin) break;
    }
    return past;
  }

  // Returns the first word of the window after [begin, past), which shares at most `overlap` tokens
  // with it.
  static size_t next_window(std::span<const int32_t> costs, size_t begin, size_t past,
                            int32_t overlap) {
    size_t next = past;
    for (int64_t sum = costs[next - 1]; next > begin + 1 && sum <= overlap; sum += costs[next - 1])
      --next;
    return next;
  }

  const GlinerParts parts_;
  const TrunkShape shape_;
  const int32_t threads_;
  const float least_score_;
  HeadInfo info_;
  mutable ScratchPool pool_;
};

Result<void> check_options(const std::filesystem::path& directory, const OpenOptions& options) {
  if (!options.heads.empty() || !options.adapter.empty() || !options.adapters.empty()) {
    return fail(Code::kInvalid, "{}: a GLiNER model takes neither heads nor adapters",
                directory.string());
  }
  const float least = options.least_score.value_or(0);
  if (least >= 0 && least < 1) return {};
  return fail(Code::kInvalid, "the least score of a span is {}, expected 0 or more and below 1",
              least);
}

}  // namespace

Result<std::unique_ptr<const TextModel>> open_gliner(const std::filesystem::path& directory,
                                                     const OpenOptions& options) {
  SIGNALBOX_TRY_VOID(check_options(directory, options));
  GlinerParts parts;
  parts.directory = directory;
  SIGNALBOX_TRY(parts.kernels, kernels::active_table());
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "gliner_config.json"));
  SIGNALBOX_TRY(parts.config, read_gliner_config(config.root()));
  SIGNALBOX_TRY(parts.file, weights::SafeTensors::open_directory(directory));
  SIGNALBOX_TRY(const auto encoder, open_encoder_config(directory, parts.file));
  SIGNALBOX_TRY(parts.trunk,
                open_trunk(encoder, parts.file,
                           {.kernels = *parts.kernels, .format = format_of(options.precision)}));
  const TrunkShape& shape = parts.trunk->shape();
  SIGNALBOX_TRY(parts.head,
                GlinerHead::open(parts.config, shape.hidden, parts.file, *parts.kernels));
  SIGNALBOX_TRY(parts.tokenizer, open_tokenizer(directory, shape));
  if (parts.tokenizer == nullptr) {
    return fail(Code::kNotFound, "{}: missing; a GLiNER model takes the tokenizer of its encoder",
                (directory / "tokenizer.json").string());
  }
  const int32_t stated = parts.tokenizer->tokens_max();
  const int32_t tokens_max = stated == 0 ? shape.tokens_max : std::min(stated, shape.tokens_max);
  auto prompt =
      GlinerPrompt::create(parts.config, *parts.tokenizer, labels_of(parts.config, options),
                           tokens_max, shape.vocabulary);
  if (!prompt) return fail_in(directory.string(), std::move(prompt).error());
  parts.prompt = *std::move(prompt);
  return std::make_unique<const GlinerModel>(std::move(parts), options);
}

}  // namespace signalbox::engine
