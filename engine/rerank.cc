// Documents are compared by their raw scores, because the sigmoid of large scores rounds to 1.

#include "engine/rerank.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace signalbox::engine {
namespace {

// The model splits the query again for each input, so a long one would take seconds. Words have far
// fewer bytes, so that the model would not read the rest.
constexpr size_t kBytesPerTokenMax = 64;

// Makes the inputs that the model reads for documents. The query's tokens are counted once.
class PairMaker {
 public:
  static Result<PairMaker> make(const TextModel& model, std::string_view query, int32_t adapter) {
    PairMaker out(model, adapter);
    out.query_ = out.short_query_ = query.substr(0, out.bytes_max());
    out.query_is_whole_ = out.query_.size() == query.size();
    out.query_tokens_ = out.short_query_tokens_ = out.tokens_of(out.query_);
    out.more_marks_ = model.tokens(out.pair_of("", "")).value_or(0) - 2 * out.tokens_of("");
    const int32_t half = model.tokens_max() / 2;
    if (half < kWindowTokensMin) return out;
    out.room_ = model.tokens_max() - std::min(out.query_tokens_, half);
    if (out.query_tokens_ <= half) return out;
    SIGNALBOX_TRY(const auto windows, model.windows(out.query_, half, 0));
    if (!windows.empty()) out.short_query_ = windows.front();
    out.short_query_tokens_ = out.tokens_of(out.short_query_);
    // Such a query leaves no room for any document.
    if (out.query_tokens_ == model.tokens_max()) {
      out.query_is_whole_ = false;
      out.query_ = out.short_query_;
      out.query_tokens_ = out.short_query_tokens_;
    }
    return out;
  }

  /// Appends the inputs for a document. `tokens` and `whole` of `ranked` are set.
  Result<void> add(std::string_view document, RankedDocument& ranked,
                   std::vector<Input>& out) const {
    const std::string_view read = document.substr(0, bytes_max() * kDocumentWindowsMax);
    ranked.whole = query_is_whole_ && read.size() == document.size();
    const int32_t tokens = tokens_of(read);
    SIGNALBOX_TRY(const bool is_cut, pair_is_cut(read, tokens));
    if (!is_cut || room_ == 0) {
      ranked.whole = ranked.whole && !is_cut;
      ranked.tokens = tokens_of_pair(query_tokens_, tokens);
      out.push_back(pair_of(query_, read));
      return {};
    }
    SIGNALBOX_TRY(auto windows, model_.windows(read, room_, room_ / 8));
    ranked.whole = ranked.whole && short_query_.size() == query_.size() &&
                   windows.size() <= kDocumentWindowsMax;
    windows.resize(std::min(windows.size(), kDocumentWindowsMax));
    if (windows.empty())
      windows.push_back(read);  // without tokens, beside a query that is too long
    for (const std::string_view window : windows) {
      ranked.tokens += tokens_of_pair(short_query_tokens_, tokens_of(window));
      out.push_back(pair_of(short_query_, window));
    }
    return {};
  }

 private:
  PairMaker(const TextModel& model, int32_t adapter) : model_(model), adapter_(adapter) {}

  size_t bytes_max() const { return static_cast<size_t>(model_.tokens_max()) * kBytesPerTokenMax; }

  Input pair_of(std::string_view query, std::string_view document) const {
    return {.text = query, .pair = document, .adapter = adapter_, .raw = true};
  }

  // A text without tokens is none in a pair either.
  int32_t tokens_of(std::string_view text) const {
    return model_.tokens({.text = text, .adapter = adapter_}).value_or(0);
  }
  int32_t tokens_of_pair(int32_t query, int32_t document) const {
    return std::min(query + document + more_marks_, model_.tokens_max());
  }

  // The numbers of tokens are exact below the model's limit.
  Result<bool> pair_is_cut(std::string_view document, int32_t tokens) const {
    const int32_t limit = model_.tokens_max();
    if (query_tokens_ < limit && tokens < limit)
      return query_tokens_ + tokens + more_marks_ > limit;
    return model_.is_cut(pair_of(query_, document));
  }

  const TextModel& model_;
  const int32_t adapter_;
  std::string_view query_, short_query_;
  int32_t query_tokens_ = 0, short_query_tokens_ = 0;
  int32_t more_marks_ = 0;  // special tokens of a pair less those of two texts; may be negative
  bool query_is_whole_ = true;
  int32_t room_ = 0;  // tokens of a window beside the short query; 0: the model is too small
};

}  // namespace

Result<void> check_reranker(const HeadInfo& head) {
  if (head.kind == HeadKind::kSequence && head.labels.size() == 1) return {};
  return fail(Code::kInvalid, "the head \"{}\" {}; a reranker has one label for a whole text",
              head.name,
              head.kind == HeadKind::kTokens ? "labels tokens"
                                             : fmt::format("has {} labels", head.labels.size()));
}

Result<std::vector<RankedDocument>> rerank(const TextModel& model, size_t head,
                                           std::string_view query,
                                           std::span<const std::string_view> documents,
                                           const RankOptions& options, const Patience& patience) {
  const HeadInfo& info = model.heads()[head];
  SIGNALBOX_TRY_VOID(check_reranker(info));
  SIGNALBOX_TRY(const PairMaker pairs, PairMaker::make(model, query, info.adapter));
  std::vector<RankedDocument> out(documents.size());
  std::vector<Input> inputs;
  std::vector<size_t> documents_of;  // (inputs)
  for (size_t i = 0; i < documents.size(); ++i) {
    // Long documents take seconds to split.
    if (auto error = expiry_error(patience, std::chrono::steady_clock::now()))
      return tl::unexpected<Error>(*std::move(error));
    out[i] = {.index = i, .score = -std::numeric_limits<float>::infinity()};
    SIGNALBOX_TRY_VOID(pairs.add(documents[i], out[i], inputs));
    if (options.only_whole && !out[i].whole) return std::vector<RankedDocument>{out[i]};
    documents_of.resize(inputs.size(), i);
  }
  SIGNALBOX_TRY(const std::vector<Answer> answers, model.answer_within(patience, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    float& score = out[documents_of[i]].score;
    score = std::max(score, answers[i * model.heads().size() + head].scores.front());
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &RankedDocument::score);
  if (options.raw || info.scores == Scores::kRaw) return out;
  for (RankedDocument& document : out) document.score = 1 / (1 + std::exp(-document.score));
  return out;
}

}  // namespace signalbox::engine
