// Documents are compared by their raw scores, because the sigmoid of large scores rounds to 1.

#include "engine/rerank.h"

#include <algorithm>
#include <cmath>

namespace signalbox::engine {
namespace {

// The query is split into tokens once for each document, so a long one would take seconds. Words
// have far fewer bytes, so that the model would not read the rest.
constexpr size_t kBytesPerTokenMax = 64;

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
  const auto bytes_max = static_cast<size_t>(model.tokens_max()) * kBytesPerTokenMax;
  std::vector<Input> inputs;
  for (const std::string_view document : documents)
    inputs.push_back({.text = query.substr(0, bytes_max),
                      .pair = document.substr(0, bytes_max),
                      .adapter = info.adapter,
                      .raw = true});
  SIGNALBOX_TRY(const std::vector<Answer> answers, model.answer_within(patience, inputs));
  std::vector<RankedDocument> out;
  for (size_t i = 0; i < documents.size(); ++i)
    out.push_back({i, answers[i * model.heads().size() + head].scores.front()});
  std::ranges::stable_sort(out, std::ranges::greater{}, &RankedDocument::score);
  if (raw || info.scores == Scores::kRaw) return out;
  for (RankedDocument& document : out) document.score = 1 / (1 + std::exp(-document.score));
  return out;
}

}  // namespace signalbox::engine
