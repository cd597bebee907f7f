// Documents are compared by their raw scores, because the sigmoid of large scores rounds to 1.

#include "engine/rerank.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace signalbox::engine {
namespace {

constexpr int32_t kTokensMin = 16;  // of a window

// A query is split into tokens once for each window, so a long one would take seconds. Words have
// far fewer bytes, so that the model would not read the rest.
constexpr size_t kBytesPerTokenMax = 64;

// Makes the inputs that the model reads for documents.
class PairMaker {
 public:
  static Result<PairMaker> make(const TextModel& model, std::string_view query, int32_t adapter) {
    PairMaker out(model, adapter);
    out.query_ = query.substr(0, out.bytes_max());
    out.query_is_whole_ = out.query_.size() == query.size();
    out.short_query_ = out.query_;
    const int32_t half = model.tokens_max() / 2;
    if (half < kTokensMin) return out;
    // A query without tokens is none in a pair either.
    const int32_t tokens = model.tokens({.text = out.query_, .adapter = adapter}).value_or(0);
    out.room_ = model.tokens_max() - std::min(tokens, half);
    if (tokens <= half) return out;
    SIGNALBOX_TRY(const auto windows, model.windows(out.query_, half, 0));
    if (!windows.empty()) out.short_query_ = windows.front();
    // Such a query leaves no room for any document.
    if (tokens == model.tokens_max()) {
      out.query_is_whole_ = false;
      out.query_ = out.short_query_;
    }
    return out;
  }

  /// Appends the inputs for a document. `tokens` and `whole` of `ranked` are set.
  Result<void> add(std::string_view document, RankedDocument& ranked,
                   std::vector<Input>& out) const {
    const std::string_view read = document.substr(0, bytes_max() * kDocumentWindowsMax);
    ranked.whole = query_is_whole_ && read.size() == document.size();
    SIGNALBOX_TRY(const bool is_cut, model_.is_cut(pair_of(query_, read)));
    if (!is_cut || room_ == 0) {
      ranked.whole = ranked.whole && !is_cut;
      return append(pair_of(query_, read), ranked, out);
    }
    SIGNALBOX_TRY(auto windows, model_.windows(read, room_, room_ / 8));
    ranked.whole = ranked.whole && short_query_.size() == query_.size() &&
                   windows.size() <= kDocumentWindowsMax;
    windows.resize(std::min(windows.size(), kDocumentWindowsMax));
    for (const std::string_view window : windows)
      SIGNALBOX_TRY_VOID(append(pair_of(short_query_, window), ranked, out));
    return {};
  }

 private:
  PairMaker(const TextModel& model, int32_t adapter) : model_(model), adapter_(adapter) {}

  size_t bytes_max() const { return static_cast<size_t>(model_.tokens_max()) * kBytesPerTokenMax; }

  Input pair_of(std::string_view query, std::string_view document) const {
    return {.text = query, .pair = document, .adapter = adapter_, .raw = true};
  }

  Result<void> append(const Input& input, RankedDocument& ranked, std::vector<Input>& out) const {
    SIGNALBOX_TRY(const int32_t tokens, model_.tokens(input));
    ranked.tokens += tokens;
    out.push_back(input);
    return {};
  }

  const TextModel& model_;
  const int32_t adapter_;
  std::string_view query_, short_query_;
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
                                           std::span<const std::string_view> documents, bool raw,
                                           const Patience& patience) {
  const HeadInfo& info = model.heads()[head];
  SIGNALBOX_TRY_VOID(check_reranker(info));
  SIGNALBOX_TRY(const PairMaker pairs, PairMaker::make(model, query, info.adapter));
  std::vector<RankedDocument> out(documents.size());
  std::vector<Input> inputs;
  std::vector<size_t> documents_of;  // (inputs)
  for (size_t i = 0; i < documents.size(); ++i) {
    out[i] = {.index = i, .score = -std::numeric_limits<float>::infinity()};
    SIGNALBOX_TRY_VOID(pairs.add(documents[i], out[i], inputs));
    documents_of.resize(inputs.size(), i);
  }
  SIGNALBOX_TRY(const std::vector<Answer> answers, model.answer_within(patience, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    float& score = out[documents_of[i]].score;
    score = std::max(score, answers[i * model.heads().size() + head].scores.front());
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &RankedDocument::score);
  if (raw || info.scores == Scores::kRaw) return out;
  for (RankedDocument& document : out) document.score = 1 / (1 + std::exp(-document.score));
  return out;
}

}  // namespace signalbox::engine
