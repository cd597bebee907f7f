// A model of one trunk: the passes over texts, and the answers of its heads.

#include <algorithm>
#include <numeric>
#include <set>

#include "base/ascii.h"
#include "engine/engine.h"
#include "engine/entities.h"
#include "engine/gliner_config.h"
#include "engine/gliner_model.h"
#include "engine/model_memory.h"
#include "engine/model_parts.h"
#include "engine/model_path.h"
#include "engine/scratch.h"

namespace signalbox::engine {
namespace {

// The sequences of a batch for which a head produces answers.
struct Share {
  std::vector<int32_t> sequences;  // indices in the whole batch
  const Batch* batch = nullptr;    // only those sequences
  const float* x = nullptr;        // (batch->tokens(), hidden)

  // Memory for the two pointers, unless the head answers for all sequences.
  Batch own_batch = {};
  std::vector<float> own_x = {};
};

bool is_inside_word(std::string_view text, size_t at) {
  return at > 0 && at < text.size() && !ascii::is_space(text[at]) && !ascii::is_space(text[at - 1]);
}

// Returns the beginning or end of the word around byte `at`, or `at` if it is more than 64 bytes
// away.
constexpr size_t kWordMax = 64;
size_t word_begin(std::string_view text, size_t at) {
  for (size_t begin = at; at - begin < kWordMax; --begin) {
    if (!is_inside_word(text, begin)) return begin;
  }
  return at;
}
size_t word_end(std::string_view text, size_t at) {
  for (size_t end = at; end - at < kWordMax; ++end) {
    if (!is_inside_word(text, end)) return end;
  }
  return at;
}

class Model final : public TextModel, public HasMemory {
 public:
  Model(ModelParts parts, int32_t threads)
      : parts_(std::move(parts)), shape_(parts_.trunk->shape()), threads_(threads) {
    for (size_t h = 0; h < parts_.heads.size(); ++h) {
      infos_.push_back(parts_.heads[h].info());
      infos_.back().adapter = parts_.owners[h];
      readers_.emplace_back(infos_.back().labels);
      stops_.insert(infos_.back().layers);
    }
    stops_.insert(shape_.layers);
  }

  int32_t dim() const override { return parts_.dense_layers.width_after(shape_.hidden); }
  int32_t hidden() const override { return shape_.hidden; }
  int32_t layers() const override { return shape_.layers; }
  int32_t vocabulary() const override { return shape_.vocabulary; }
  double multiply_adds(int32_t tokens) const override {
    return parts_.trunk->multiply_adds(tokens);
  }
  uint64_t memory_bytes() const override { return parts_.trunk->weights_bytes(); }
  std::span<const HeadInfo> heads() const override { return infos_; }
  int32_t tokens_max() const override {
    const int32_t stated = parts_.tokens_max;
    return stated == 0 ? shape_.tokens_max : std::min(stated, shape_.tokens_max);
  }

  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed(texts, {}, out);
  }

  Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                     std::span<float> out) const override {
    SIGNALBOX_TRY(const EmbedOptions chosen, complete(options));
    const size_t dim = chosen.dim;
    SIGNALBOX_CHECK(out.size() == texts.size() * dim);
    std::vector<float> pooled;
    const auto pass = [&](Scratch& s, size_t first) -> Result<void> {
      s.reserve(shape_, threads_);
      Workers workers(threads_);
      parts_.trunk->encode(s, chosen.layers, workers);
      SIGNALBOX_TRY_VOID(check_states(s));
      for (int32_t i = 0; i < s.batch.sequences(); ++i) {
        pooled.resize(shape_.hidden);
        pool(*parts_.kernels, *chosen.pooling, s.batch.length(i), shape_.hidden, row_of(s, i),
             pooled.data());
        parts_.dense_layers.apply(*parts_.kernels, pooled);
        float* vector = out.data() + (first + i) * dim;  // (dim)
        std::copy_n(pooled.data(), dim, vector);
        parts_.kernels->l2_normalize(chosen.dim, vector);
      }
      return {};
    };
    const auto input_of = [&](size_t i) { return Input{texts[i], {}, chosen.adapter}; };
    return run(texts.size(), input_of, pass);
  }

  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    std::vector<Answer> out(inputs.size() * parts_.heads.size());
    std::vector<int32_t> places;  // of the inputs in `inputs`, by sequence
    const auto pass = [&](Scratch& s, size_t first) {
      places.resize(s.batch.sequences());
      std::iota(places.begin(), places.end(), static_cast<int32_t>(first));
      return encode(s, [&](int32_t layers) -> Result<void> {
        SIGNALBOX_TRY_VOID(check_states(s));
        SIGNALBOX_TRY_VOID(read_heads(layers, s, places, inputs, out));
        if (layers < shape_.layers) remove_cleared(layers, s, places, inputs, out);
        return {};
      });
    };
    SIGNALBOX_TRY_VOID(run(
        inputs.size(), [&](size_t i) { return inputs[i]; }, pass));
    return out;
  }

  using TextModel::states;
  Result<States> states(std::span<const int32_t> ids, std::span<const uint8_t> types,
                        int32_t adapter) const override {
    SIGNALBOX_TRY(const Adapter* chosen, find_adapter(adapter));
    SIGNALBOX_TRY_VOID(check_ids(ids, types));
    States out;
    const auto scratch = pool_.borrow();
    scratch->batch.add(ids, types, chosen);
    out.logits.resize(parts_.heads.size());
    SIGNALBOX_TRY_VOID(encode(*scratch, [&](int32_t layers) -> Result<void> {
      SIGNALBOX_TRY_VOID(check_states(*scratch));
      for (size_t h = 0; h < parts_.heads.size(); ++h) {
        if (infos_[h].adapter != adapter || infos_[h].layers != layers) continue;
        out.logits[h] = parts_.heads[h].logits(scratch->batch, scratch->x.data());
        SIGNALBOX_TRY_VOID(check_finite(parts_.directory, out.logits[h], scores_of(h)));
      }
      return {};
    }));
    const float* x = scratch->x.data();
    out.last_hidden_state.assign(x, x + ids.size() * shape_.hidden);
    return out;
  }

  Result<int32_t> tokens(const Input& input) const override { return tokens(input, tokens_max()); }

  Result<bool> is_cut(const Input& input) const override {
    // One token over the limit shows it, so the rest of a long text is not split.
    SIGNALBOX_TRY(const int32_t found, tokens(input, tokens_max() + 1));
    return found > tokens_max();
  }

  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                int32_t overlap) const override {
    SIGNALBOX_CHECK(tokens >= kWindowTokensMin && tokens <= tokens_max() && overlap >= 0 &&
                    overlap < tokens / 2);
    SIGNALBOX_TRY_VOID(need_tokenizer());
    std::vector<std::string_view> out;
    size_t covered = 0;  // bytes
    const auto take = [&](const tokenizer::Encoding& window) {
      const auto [first, past] = window.first_tokens;
      if (first == past) return true;
      const size_t begin = std::min(word_end(text, window.offsets[first].begin), covered);
      const size_t end = window.offsets[past - 1].end;
      covered = word_begin(text, end);
      if (covered <= begin) covered = end;  // inside a long word
      out.push_back(text.substr(begin, covered - begin));
      return true;
    };
    const tokenizer::EncodeOptions options{.tokens_max = tokens, .stride = overlap};
    parts_.tokenizer->encode_windows(text, options, take);
    if (!out.empty()) out.back() = text.substr(out.back().data() - text.data());
    return out;
  }

  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    SIGNALBOX_TRY_VOID(need_tokenizer());
    tokenizer::Encoding encoding;
    parts_.tokenizer->encode(text, {.tokens_max = tokens_max(), .side = side()}, encoding);
    return std::move(encoding.ids);
  }

 private:
  tokenizer::TruncationSide side() const { return parts_.tokenizer->side(); }

  Result<void> check_ids(std::span<const int32_t> ids, std::span<const uint8_t> types) const {
    const int32_t ids_max = std::max(shape_.tokens_max, shape_.ids_max);
    if (static_cast<int64_t>(ids.size()) > ids_max) {
      return fail(Code::kInvalid, "{} ids, the model takes at most {}", ids.size(), ids_max);
    }
    if (ids.empty()) return fail(Code::kInvalid, "no ids, expected at least one");
    if (!types.empty() && types.size() != ids.size()) {
      return fail(Code::kInvalid, "{} types for {} ids, expected as many", types.size(),
                  ids.size());
    }
    for (const int32_t id : ids) {
      if (id < 0 || id >= shape_.vocabulary) {
        return fail(Code::kInvalid, "id {} is outside the vocabulary of {}", id, shape_.vocabulary);
      }
    }
    for (const uint8_t type : types) {
      if (type < shape_.types) continue;
      return fail(Code::kInvalid, "type {} of an id, the model has {} segment type{}", type,
                  shape_.types, shape_.types == 1 ? "" : "s");
    }
    return {};
  }

  Result<void> need_tokenizer() const {
    if (parts_.tokenizer != nullptr) return {};
    return fail(Code::kNotFound,
                "{}: missing from the model directory, so the model takes ids but no text; "
                "`signalbox convert` makes it from a vocabulary",
                (parts_.directory / "tokenizer.json").string());
  }

  // Returns null for kNoAdapter.
  Result<const Adapter*> find_adapter(int32_t adapter) const {
    const auto count = static_cast<int32_t>(parts_.adapters.size());
    if (adapter == kNoAdapter) return nullptr;
    if (adapter >= 0 && adapter < count) return &parts_.adapters[adapter];
    return fail(Code::kInvalid, "adapter {}, the model has {}", adapter, count);
  }

  // Returns the options with all defaults resolved.
  Result<EmbedOptions> complete(EmbedOptions options) const {
    if (options.layers < 0 || options.layers > shape_.layers) {
      return fail(Code::kInvalid, "{} layers, the model has {}", options.layers, shape_.layers);
    }
    if (options.dim < 0 || options.dim > dim()) {
      return fail(Code::kInvalid, "{} dimensions, the model has {}", options.dim, dim());
    }
    if (options.layers == 0) options.layers = shape_.layers;
    if (options.dim == 0) options.dim = dim();
    if (!options.pooling) options.pooling = parts_.pooling.pooling;
    return options;
  }

  // Runs the batch of s through the trunk and calls at_stop(layers) after each number of layers
  // that a head reads, and at the end. at_stop may remove sequences; if none is left, the pass
  // ends.
  template <class AtStop>
  Result<void> encode(Scratch& s, const AtStop& at_stop) const {
    s.reserve(shape_, threads_);
    Workers workers(threads_);
    int32_t done = 0;
    for (const int32_t layers : stops_) {
      if (done == 0) {
        parts_.trunk->encode(s, layers, workers);
      } else {
        parts_.trunk->resume(s, done, layers, workers);
      }
      SIGNALBOX_TRY_VOID(at_stop(layers));
      if (s.batch.sequences() == 0) break;
      done = layers;
    }
    return {};
  }

  // Writes the answers of the heads that read these layers. places (sequences): see answer().
  Result<void> read_heads(int32_t layers, const Scratch& s, std::span<const int32_t> places,
                          std::span<const Input> inputs, std::span<Answer> out) const {
    Share share;
    for (size_t h = 0; h < parts_.heads.size(); ++h) {
      if (infos_[h].layers != layers) continue;
      take_share(s, infos_[h].adapter, share);
      if (share.sequences.empty()) continue;
      std::vector<float> logits = parts_.heads[h].logits(*share.batch, share.x);
      SIGNALBOX_TRY_VOID(check_finite(parts_.directory, logits, scores_of(h)));
      for (int32_t i = 0; i < share.batch->sequences(); ++i) {
        const int32_t sequence = share.sequences[i], place = places[sequence];
        read_answer(h, s.encodings[sequence], inputs[place], logits_of(h, *share.batch, i, logits),
                    out[place * parts_.heads.size() + h]);
      }
    }
    return {};
  }

  // Removes the sequences that a screen after these layers has cleared.
  void remove_cleared(int32_t layers, Scratch& s, std::vector<int32_t>& places,
                      std::span<const Input> inputs, std::span<const Answer> answers) const {
    const auto is_cleared = [&](int32_t place) {
      const Input& input = inputs[place];
      if (!input.screened || input.raw) return false;
      for (size_t h = 0; h < infos_.size(); ++h) {
        if (infos_[h].layers == layers && infos_[h].adapter == input.adapter &&
            clears(infos_[h], answers[place * infos_.size() + h]))
          return true;
      }
      return false;
    };
    std::vector<int32_t> kept;
    for (int32_t i = 0; i < s.batch.sequences(); ++i) {
      if (!is_cleared(places[i])) kept.push_back(i);
    }
    if (static_cast<int32_t>(kept.size()) == s.batch.sequences()) return;
    s.keep(kept, shape_.hidden);
    for (size_t i = 0; i < kept.size(); ++i) places[i] = places[kept[i]];
    places.resize(kept.size());
  }

  // Returns the hidden states of sequence i, (length, hidden).
  const float* row_of(const Scratch& s, int32_t i) const {
    return s.x.data() + int64_t{s.batch.begin(i)} * shape_.hidden;
  }

  // Packs inputs into batches and calls pass(scratch, first) for each, where sequence i of the
  // batch is input first + i.
  template <class InputOf, class Pass>
  Result<void> run(size_t count, const InputOf& input_of, const Pass& pass) const {
    SIGNALBOX_TRY_VOID(need_tokenizer());
    const auto scratch = pool_.borrow();
    Scratch& s = *scratch;
    size_t first = 0;
    const auto flush = [&]() -> Result<void> {
      const int32_t sequences = s.batch.sequences();
      SIGNALBOX_TRY_VOID(pass(s, first));
      first += sequences;
      s.batch.clear();
      return {};
    };
    tokenizer::Encoding encoding;
    for (size_t i = 0; i < count; ++i) {
      const Input input = input_of(i);
      SIGNALBOX_TRY(const Adapter* adapter, find_adapter(input.adapter));
      SIGNALBOX_TRY_VOID(encode(input, tokens_max(), encoding));
      const auto tokens = static_cast<int32_t>(encoding.ids.size());
      if (s.batch.sequences() > 0 && s.batch.tokens() + tokens > kBatchTokens) {
        SIGNALBOX_TRY_VOID(flush());
      }
      const auto place = static_cast<size_t>(s.batch.sequences());
      s.batch.add(encoding.ids,
                  shape_.types > 1 ? std::span<const uint8_t>(encoding.type_ids)
                                   : std::span<const uint8_t>(),
                  adapter);
      if (s.encodings.size() <= place) s.encodings.emplace_back();
      std::swap(s.encodings[place], encoding);
    }
    return s.batch.sequences() > 0 ? flush() : Result<void>();
  }

  Result<void> check_states(const Scratch& s) const {
    const size_t values = static_cast<size_t>(s.batch.tokens()) * shape_.hidden;
    return check_finite(parts_.directory, {s.x.data(), values}, "the model's hidden states");
  }

  std::string scores_of(size_t h) const { return fmt::format("the scores of {}", infos_[h].name); }

  Result<int32_t> tokens(const Input& input, int32_t limit) const {
    SIGNALBOX_TRY_VOID(need_tokenizer());
    SIGNALBOX_TRY_VOID(find_adapter(input.adapter));
    tokenizer::Encoding encoding;
    SIGNALBOX_TRY_VOID(encode(input, limit, encoding));
    return static_cast<int32_t>(encoding.ids.size());
  }

  Result<void> encode(const Input& input, int32_t limit, tokenizer::Encoding& encoding) const {
    const tokenizer::EncodeOptions options{.tokens_max = limit, .side = side()};
    if (input.marked == Marked::kPair && !input.pair)
      return fail(Code::kInvalid, "the pair is to be marked, but the input has no pair");
    if (input.pair) {
      parts_.tokenizer->encode_pair(input.text, *input.pair, options, encoding);
    } else {
      parts_.tokenizer->encode(input.text, options, encoding);
    }
    if (encoding.ids.empty()) return fail(Code::kInvalid, "a text without tokens has no answer");
    return {};
  }

  void take_share(const Scratch& s, int32_t adapter, Share& share) const {
    const Adapter* of = adapter == kNoAdapter ? nullptr : &parts_.adapters[adapter];
    share.sequences.clear();
    for (int32_t i = 0; i < s.batch.sequences(); ++i) {
      if (s.batch.adapters[i] == of) share.sequences.push_back(i);
    }
    share.batch = &s.batch;
    share.x = s.x.data();
    if (static_cast<int32_t>(share.sequences.size()) == s.batch.sequences()) return;
    share.own_batch.clear();
    share.own_x.clear();
    for (const int32_t i : share.sequences) {
      const auto ids = std::span(s.batch.ids).subspan(s.batch.begin(i), s.batch.length(i));
      share.own_batch.add(ids, {}, of);
      share.own_x.insert(share.own_x.end(), row_of(s, i), row_of(s, i + 1));
    }
    share.batch = &share.own_batch;
    share.x = share.own_x.data();
  }

  // Returns a head's logits for sequence i of a batch.
  std::span<float> logits_of(size_t h, const Batch& batch, int32_t i,
                             std::span<float> logits) const {
    const auto classes = static_cast<size_t>(parts_.heads[h].classes());
    if (infos_[h].kind == HeadKind::kSequence) return logits.subspan(i * classes, classes);
    return logits.subspan(batch.begin(i) * classes, batch.length(i) * classes);
  }

  // Converts the logits of a sequence to scores in place.
  void read_answer(size_t h, const tokenizer::Encoding& encoding, const Input& input,
                   std::span<float> logits, Answer& answer) const {
    const Head& head = parts_.heads[h];
    const auto classes = static_cast<size_t>(head.classes());
    const bool raw = input.raw && head.info().kind == HeadKind::kSequence;
    for (size_t at = 0; at < logits.size() && !raw; at += classes)
      head.to_scores(logits.subspan(at, classes));
    if (head.info().kind == HeadKind::kSequence) {
      answer.scores.assign(logits.begin(), logits.end());
    } else if (input.marked == Marked::kText) {
      answer.entities = readers_[h].read(input.text, encoding, encoding.first_tokens, logits);
    } else {
      const tokenizer::Span tokens = encoding.second_tokens;
      answer.entities = readers_[h].read(*input.pair, encoding, tokens, logits);
      for (uint32_t token = tokens.begin; token < tokens.end; ++token) {
        const auto [begin, end] = encoding.offsets[token];
        const auto scores = logits.subspan(token * classes, classes);
        answer.tokens.push_back({begin, end, {scores.begin(), scores.end()}});
      }
    }
  }

  const ModelParts parts_;
  const TrunkShape shape_;
  const int32_t threads_;
  std::vector<HeadInfo> infos_;
  std::vector<EntityReader> readers_;  // (heads)
  std::set<int32_t> stops_;            // numbers of layers after which heads read, and all layers
  mutable ScratchPool pool_;
};

// Adds the path's adapter and heads to the options; its heads come first.
Result<OpenOptions> with_path(const ModelPath& path, const OpenOptions& options) {
  OpenOptions out = options;
  if (!path.adapter.empty() && !options.adapter.empty()) {
    return fail(Code::kInvalid, "{} is already an adapter; {} cannot be merged too",
                path.adapter.string(), options.adapter.string());
  }
  if (!path.adapter.empty()) out.adapter = path.adapter;
  out.heads.insert(out.heads.begin(), path.heads.begin(), path.heads.end());
  return out;
}

}  // namespace

Result<std::unique_ptr<const TextModel>> TextModel::open(const std::filesystem::path& path,
                                                         const OpenOptions& requested) {
  SIGNALBOX_TRY(const ModelPath place, find_model(path));
  SIGNALBOX_TRY(const OpenOptions options, with_path(place, requested));
  const std::filesystem::path& directory = place.trunk;
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return fail(Code::kInvalid, "{} threads, expected 1 to {}", options.threads, kThreadsMax);
  }
  if (is_gliner(directory)) return open_gliner(directory, options);
  if (!options.labels.empty() || options.least_score) {
    return fail(Code::kInvalid, "{}: only a GLiNER model takes labels", directory.string());
  }
  SIGNALBOX_TRY(ModelParts parts, read_model_parts(directory, options));
  return std::make_unique<const Model>(std::move(parts), options.threads);
}

}  // namespace signalbox::engine
