#pragma once
// The similarities that router_dc and hybrid compare.

#include <map>

#include "engine/engine.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {

/// The embedded cards of candidates. Immutable and thread-safe.
class Cards {
 public:
  /// Errors are those of the embedder and of router_dc().
  static Result<Cards> embed(const config::RouterDc& config, std::span<const Candidate> candidates,
                             const engine::TextEmbedder& embedder);

  /// (candidates), 0 to 1; nullopt for a candidate without a description. `query` is (dim).
  Scores similarities(std::span<const Candidate> candidates, std::span<const float> query) const;

 private:
  double temperature_ = 1;
  std::map<const config::ModelRef*, std::vector<float>> vectors_;  // (dim)
};

}  // namespace signalbox::selection
