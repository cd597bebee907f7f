#pragma once
// The models that signals run.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"
#include "router/models/model_cache.h"

namespace signalbox::models {

/// Any may be absent; signals that need one are then unavailable. Shared, so that two
/// configurations that name a model have it once.
struct Models {
  std::shared_ptr<const engine::TextEmbedder> embedder = {};
  /// By the directory that the configuration names.
  std::map<std::string, std::shared_ptr<const engine::TextModel>, std::less<>> classifiers = {};
  /// Opens a model that no signal needs, for those who ask for it by other ways. Empty: none can
  /// be.
  ModelCache::Open open = {};
};

/// Whether a condition or a projection of the routing asks for signals of the type.
bool asks_for(const config::Routing& routing, std::string_view type);

/// The classes of a classifier signal that conditions name, each as often as they do.
std::vector<std::string> labels_asked_of(const config::Routing& routing, std::string_view name);

/// The directory of the classifier behind a type of signals, of "nli", which judges whether one
/// text follows from another, or of "hallucination", which marks what nothing supports; "" when
/// none is configured.
std::string classifier_directory(const config::Config& config, std::string_view type);

/// Whether a signal or an algorithm of the routing compares meanings.
bool needs_embedder(const config::Routing& routing);

/// Whether a decision of the routing, or the configuration for all, selects tools by similarity.
bool selects_tools(const config::Config& config, const config::Routing& routing);

/// A model that a routing has a use for.
struct ModelNeed {
  std::string directory;
  std::string key;     // of the configuration, where the directory is named
  std::string what;    // "pii signals"
  bool asked = false;  // a condition, a score or an algorithm rests on it; else it is only declared
};

/// The classifiers that signals of the routing ask for; those that are configured nowhere are left
/// out.
std::vector<ModelNeed> classifier_needs(const config::Config& config,
                                        const config::Routing& routing);

/// One model by its directory.
using OpenModel = ModelCache::Open;
using OpenModels = std::function<Result<Models>(const config::Config& config)>;

/// Opens models for one request at a time, in the configuration's model_dtype. Errors are
/// engine::TextModel's.
OpenModel open_directly(const config::HttpLimits& limits);

/// What becomes of a configured model that decisions rest on and that is not there. Who serves
/// refuses: a guard without its model lets everything pass.
enum class MissingModels : uint8_t { kRefuse, kLeaveOut };

/// Opens what the configuration's signals need, of every routing, each once. Directories that are
/// not there and that no decision rests on are left out either way, and the router says so;
/// embedding signals insist on their model. Errors are those of `open`, and kInvalid that names
/// every missing directory with the key it stands in, one a line.
Result<Models> open_models(const config::Config& config, MissingModels missing,
                           const OpenModel& open);

/// Opens models for a process that serves many requests at once: each stands behind a queue
/// (model_queue_max; what comes then fails with kOverloaded) and threads of its own
/// (model_threads), which run together what waits together.
OpenModel open_served(const config::HttpLimits& limits);

}  // namespace signalbox::models
