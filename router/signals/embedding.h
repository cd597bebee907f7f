#pragma once
// Signals of type embedding: the user's last message is close in meaning to one of some examples.

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

/// The score of a signal is the cosine similarity of the text to its candidates. For `mean` it is
/// the mean over them. For `max` and `any`, which the Semantic Router computes alike, it is three
/// quarters of the best prototype's similarity and a quarter of the mean of the two best; a
/// prototype represents the candidates within cosine 0.9 of it. The score of the negative
/// candidates is subtracted. A signal matches if its score reaches its threshold. If none does and
/// soft matching is on, the signals that reach soft_threshold match. The confidence is the score,
/// clamped to [0, 1]; decision/leaf_values keeps the top_k best matches, after partitions. A
/// request without user text matches nothing.
class EmbeddingSignals : public SignalType {
 public:
  /// Embeds all candidates. Returns the embedder's errors. `signals` and `model` must outlive the
  /// result.
  static Result<std::unique_ptr<const SignalType>> create(
      const std::vector<config::EmbeddingSignal>& signals, const config::EmbeddingModel& model,
      const engine::TextEmbedder& embedder);
};

}  // namespace signalbox::signals
