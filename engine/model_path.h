#pragma once
// Resolves a path to a model. Adapters and their heads are small and stored separately from their
// trunk. A path to one of them selects everything needed to run it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// A path names one of four kinds of directories:
///   a model      config.json and its own weights
///   an adapter   adapter_config.json and no config.json: merged into its base model, together with
///                the heads in its subdirectories
///   a head in a subdirectory of an adapter: the same model, with this head selected
///   a separate head written by `signalbox fit`: `signalbox_trunk` in its config.json is the path
///   of its model or adapter, relative to the head; that model plus this head
/// The base model of an adapter is the directory given by `signalbox_trunk` in its configuration,
/// relative to the adapter. Without that key it is `base_model_name_or_path` as a path, or the
/// sibling directory of the adapter named like the last part of that path.
struct ModelPath {
  std::filesystem::path trunk;               // contains config.json and weights
  std::filesystem::path adapter = {};        // adapter to merge; empty: none
  std::vector<std::filesystem::path> heads;  // of the adapter, sorted by name, then a separate head
  std::filesystem::path apart = {};          // a separate head; empty: none
  std::string head = {};                     // the selected head; "": none in particular

  /// The directory that a head belongs to: the adapter, or the trunk.
  const std::filesystem::path& base() const { return adapter.empty() ? trunk : adapter; }

  /// Identifies the model, equal for all paths to it: the separate head, the adapter, or the trunk.
  const std::filesystem::path& model() const { return !apart.empty() ? apart : base(); }
};

/// Errors name the path: kNotFound with the searched locations if an adapter's base model is
/// missing, and errors of reading adapter_config.json or a head's config.json. Any other path is
/// returned as a model; opening it then reports the problem.
Result<ModelPath> find_model(const std::filesystem::path& path);

/// Checks that the head in a directory belongs to `base` (see ModelPath::base()). kInvalid if it is
/// declared for another model or is part of another adapter. A head without a declaration, or whose
/// declared model is missing, is accepted.
Result<void> check_head(const std::filesystem::path& head, const std::filesystem::path& base);

/// Returns the index in model.heads() of the last head called `name`, which must be of `kind`: a
/// separate head follows those of its trunk. For "" returns the first head of the kind. Errors:
/// kInvalid with the list of heads.
Result<size_t> find_head(const TextModel& model, std::string_view name, HeadKind kind);

}  // namespace signalbox::engine
