#pragma once
// The layer of a model of inference: whether a sentence of an answer follows from the sentences of
// the context that it shares most with, contradicts them, or neither.

#include <memory>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "router/safety/grounding/match.h"

namespace signalbox::grounding {

struct Inference {
  float entailment = 0;
  float contradiction = 0;
};

/// Immutable and thread-safe.
class InferenceJudge {
 public:
  /// The head classifies texts, and has labels that begin with "entail" and, if it tells them
  /// apart, "contradict", in any order. kInvalid otherwise, naming the labels.
  static Result<InferenceJudge> create(std::shared_ptr<const engine::TextModel> model, size_t head);

  /// Of one sentence of the answer: the highest entailment by any of the premises, and the highest
  /// contradiction. Nothing where no sentence of the context shares a word with it.
  Result<std::optional<Inference>> judge(const ReadText& context, const SentenceIndex& index,
                                         const ReadText& answer, const Sentence& sentence) const;

 private:
  InferenceJudge() = default;

  std::shared_ptr<const engine::TextModel> model_;
  size_t head_ = 0;
  int32_t adapter_ = engine::kNoAdapter;
  size_t entailment_ = 0;
  std::optional<size_t> contradiction_;
};

}  // namespace signalbox::grounding
