#pragma once
// From a decision's `algorithm` to a selector.

#include "engine/engine.h"
#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// Whether the algorithm compares requests with something by meaning.
bool compares_meanings(std::string_view algorithm);

struct Selection {
  std::unique_ptr<const Selector> selector;  // nullptr: the algorithm is not built
  std::string notice;                        // what an operator should know; "": nothing
};

/// `decision` is one of the routing's, `candidates` all of its models. An algorithm that lacks its
/// embedder or its trained model chooses like `static`, and says so; one that is not built does
/// with on_error `fallback` or `skip`, unless it asks several models. Files are looked for in the
/// working directory and beside the configuration. Errors name the decision; the configuration
/// outlives the result.
Result<Selection> make_selector(const config::Config& config, const config::Routing& routing,
                                const config::Decision& decision,
                                std::span<const Candidate> candidates,
                                const engine::TextEmbedder* embedder);

}  // namespace signalbox::selection
