#pragma once
// Creates the selector for a decision's `algorithm`.

#include "engine/engine.h"
#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// True if the algorithm compares embeddings of requests.
bool compares_meanings(std::string_view algorithm);

struct Selection {
  std::unique_ptr<const Selector> selector;
  std::string notice;           // for the operator; "": none
  bool lacks_embedder = false;  // the reason of the notice
};

/// `decision` belongs to `routing`; `candidates` are all of its models. An algorithm without its
/// embedder or its trained model falls back to `static`, with a notice. An algorithm that is not
/// built does so with on_error `fallback` or `skip`, unless it queries several models. Paths are
/// resolved against the working directory, then against the directory of the configuration. Errors
/// name the decision. The configuration must outlive the result.
Result<Selection> make_selector(const config::Config& config, const config::Routing& routing,
                                const config::Decision& decision,
                                std::span<const Candidate> candidates,
                                const engine::TextEmbedder* embedder);

}  // namespace signalbox::selection
