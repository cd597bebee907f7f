#pragma once
// Signals of type embedding: is the user's last message close in meaning to one of some examples.

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

/// A signal's score is the similarity (cosine) of the text to its candidates: the mean over them
/// for `mean`; for `max` and `any`, as upstream computes both, 0.75 * best + 0.25 * mean of the
/// best two prototypes, a prototype standing for the candidates within cosine 0.9 of it. A signal
/// matches from its threshold up. When none does and soft matching is on, those from soft_threshold
/// up match. Of the matches the top_k best remain. Confidence is the score, cut to [0, 1]. A
/// request without user text matches nothing.
class EmbeddingSignals : public SignalType {
 public:
  /// Embeds all candidates. Errors are the embedder's. Both arguments outlive the result.
  static Result<std::unique_ptr<const SignalType>> create(
      const std::vector<config::EmbeddingSignal>& signals, const config::EmbeddingModel& model,
      const engine::TextEmbedder& embedder);
};

}  // namespace signalbox::signals
