#pragma once
// The similarities that router_dc and hybrid compare.

#include <map>

#include "engine/engine.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {

/// The cards of candidates as vectors. Immutable and thread-safe.
class Cards {
 public:
  /// Errors: the embedder's, and router_dc's.
  static Result<Cards> embed(const config::RouterDc& config, std::span<const Candidate> candidates,
                             const engine::TextEmbedder& embedder);

  /// (candidates), 0 to 1; nothing for a candidate that nothing is said of. `query` is (dim).
  Scores similarities(std::span<const Candidate> candidates, std::span<const float> query) const;

 private:
  double temperature_ = 1;
  std::map<const config::ModelRef*, std::vector<float>> vectors_;  // (dim)
};

}  // namespace signalbox::selection
