#pragma once
// The models that signals run.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"
#include "router/models/model_cache.h"

namespace signalbox::models {

/// Each may be absent; signals that need it are then unavailable. Models are shared, so that two
/// configurations that name the same model hold it once.
struct Models {
  std::shared_ptr<const engine::TextEmbedder> embedder = {};
  /// By the directory that the configuration names.
  std::map<std::string, std::shared_ptr<const engine::TextModel>, std::less<>> classifiers = {};
  /// The directories of ours that stand in for missing ones, by the missing one.
  std::map<std::string, std::string, std::less<>> stand_ins = {};
  /// It is an error if decisions depend on a guard whose labels name no attack.
  bool refuses_useless = true;
  /// One line for each stand-in, for the operator.
  std::vector<std::string> notices = {};
  /// False if no directory was opened, although the file names some. Then notices report only the
  /// types for which the file names no model.
  bool are_open = true;
  /// Opens a model that no signal needs, for other users. Empty: no such model can be opened.
  ModelCache::Open open = {};

  bool lacks_embedder() const { return are_open && embedder == nullptr; }
  /// The directory of the model that answers for a configured one: a stand-in, or `directory`.
  const std::string& answering(const std::string& directory) const {
    const auto found = stand_ins.find(directory);
    return found == stand_ins.end() ? directory : found->second;
  }
};

/// Returns whether a condition or a projection of the routing uses signals of the type.
bool uses_type(const config::Routing& routing, std::string_view type);

/// Returns the type and the name of the signal of each condition. The name of a class is
/// NAME:LABEL.
std::vector<std::pair<std::string, std::string>> find_conditions(const config::Routing& routing);

/// Returns the classes of a classifier signal that conditions name, once for each time.
std::vector<std::string> find_condition_labels(const config::Routing& routing,
                                               std::string_view name);

/// Returns the directory of the classifier behind a signal type, behind "nli" (whether one text
/// follows from another) or behind "hallucination" (marks unsupported text); "" if none is
/// configured.
std::string classifier_directory(const config::Config& config, std::string_view type);

/// Returns whether a signal, an algorithm or a cache of the routing compares meanings.
bool needs_embedder(const config::Config& config, const config::Routing& routing);

/// Returns whether a decision of the routing, or the global configuration, selects tools by
/// similarity.
bool selects_tools(const config::Config& config, const config::Routing& routing);

/// Why there is no model at a directory, with the command that fetches it if one does; or, for "",
/// that the file names no directory.
std::string absence(const std::string& directory);

/// A model that a routing can use.
struct ModelNeed {
  std::string directory;
  std::string key;   // the configuration key that names the directory
  std::string what;  // such as "pii signals"
  std::string task;  // such as "pii"; "" if the name of the directory does not show it
  std::vector<std::string> labels = {};  // classes that the configuration names
  // A condition, a score or an algorithm depends on it; otherwise it is only declared.
  bool is_required = false;
  uint32_t line = 0;           // of the key; 0: the file does not have it
  bool may_be_ignored = true;  // by --missing-models ignore
};

/// Returns the classifiers that the routing uses, without those that have no configured directory.
std::vector<ModelNeed> classifier_needs(const config::Config& config,
                                        const config::Routing& routing);

/// Opens one model by its directory.
using OpenModel = ModelCache::Open;
using OpenModels = std::function<Result<Models>(const config::Config& config)>;

/// Opens models that run one request at a time, with the configured model_dtype. Returns the errors
/// of engine::TextModel.
OpenModel open_directly(const config::HttpLimits& limits);

/// The reaction to the missing directory of a classifier.
struct MissingModels {
  bool stand_in = true;  // our own head for the same task answers instead, if it is there
  bool refuse = true;    // otherwise it is an error if a decision depends on the classifier

  /// The reaction that a configuration or an option requests. The daemon refuses to start without a
  /// model, because a guard without it would admit everything. A command that serves nobody
  /// (`serves` is false) refuses only if kFail is requested.
  static MissingModels of(config::MissingModels choice, bool serves);
};

/// Opens the models that all routings of the configuration need, each once. A missing directory
/// that no decision depends on is skipped, and the router reports it; embedding signals always need
/// their model. Returns the errors of `open`; kInvalid with one line per missing directory, which
/// names its key.
Result<Models> open_models(const config::Config& config, const MissingModels& missing,
                           const OpenModel& open);

/// One line for each configured model whose directory does not exist, with its place in the file
/// and what serving would do. It opens nothing.
std::vector<std::string> missing_model_notices(const config::Config& config);

/// Opens models for a process that serves many requests at once. Each model has its own threads
/// (model_threads), which run waiting requests in batches, and a queue (model_queue_max); a request
/// that finds the queue full fails with kOverloaded.
OpenModel open_served(const config::HttpLimits& limits);

}  // namespace signalbox::models
