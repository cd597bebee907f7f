#pragma once
// Judges with an NLI model whether a sentence of an answer follows from the context sentences that
// share most with it, or contradicts them.

#include <memory>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "router/safety/grounding/sentence_index.h"

namespace signalbox::grounding {

struct Inference {
  float entailment = 0;
  float contradiction = 0;
};

/// Immutable and thread-safe.
class InferenceJudge {
 public:
  /// The head must classify texts and have a label that begins with "entail"; one that begins with
  /// "contradict" is optional. Returns kInvalid with the labels otherwise.
  static Result<InferenceJudge> create(std::shared_ptr<const engine::TextModel> model, size_t head);

  /// The highest entailment and the highest contradiction by any premise. Returns nullopt if no
  /// context sentence shares a word with the answer's sentence.
  Result<std::optional<Inference>> judge(const text::ReadText& context, const SentenceIndex& index,
                                         const text::ReadText& answer,
                                         const text::Sentence& sentence,
                                         const engine::Patience& patience = {}) const;

 private:
  InferenceJudge() = default;

  std::shared_ptr<const engine::TextModel> model_;
  size_t head_ = 0;
  int32_t adapter_ = engine::kNoAdapter;
  size_t entailment_ = 0;
  std::optional<size_t> contradiction_;
};

}  // namespace signalbox::grounding
