#pragma once
// What a path to a model stands for. Adapters and their heads are small and lie apart from the
// trunk that they are for; whoever names one of them means all that is needed to run it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// A path names one of four directories:
///   a model      config.json and weights of its own
///   an adapter   adapter_config.json and no config.json: merged into its base model, with the
///                heads that are its subdirectories
///   a head of an adapter, a subdirectory of one: the same model, and this one of its heads
///   a head that lies apart, as `signalbox fit` writes it: `signalbox_trunk` in its config.json
///   names the model or the adapter that it is for, seen from the head; that model with this head
/// The base model of an adapter is the directory that `signalbox_trunk` in its configuration names,
/// seen from the adapter; without that key, `base_model_name_or_path` as a path, or the directory
/// beside the adapter that has the last part of that name.
struct ModelPath {
  std::filesystem::path trunk;               // has config.json and weights
  std::filesystem::path adapter = {};        // to be merged; empty: none
  std::vector<std::filesystem::path> heads;  // of the adapter, by name, and one that lies apart
  std::filesystem::path apart = {};          // a head that does; empty: none
  std::string head = {};                     // the one that was asked for; "": none in particular

  /// What a head is for: the adapter, or the trunk.
  const std::filesystem::path& base() const { return adapter.empty() ? trunk : adapter; }

  /// The same for all paths to one model: the head that lies apart, the adapter, or the trunk.
  const std::filesystem::path& model() const { return !apart.empty() ? apart : base(); }
};

/// Errors name the path: kNotFound when the base model of an adapter is nowhere, with where it was
/// looked for; those of reading adapter_config.json or a head's config.json. A path that is nothing
/// of the above comes back as a model: opening it says what is wrong.
Result<ModelPath> find_model(const std::filesystem::path& path);

/// Whether the head in a directory may answer over `base`, as ModelPath has it: kInvalid when it
/// says that it is for another model, or lies in an adapter that is another. One that says nothing,
/// or whose model is not where it says, is taken at the caller's word.
Result<void> check_head(const std::filesystem::path& head, const std::filesystem::path& base);

/// The place in model.heads() of the last head called `name`, which must be of `kind`: a head that
/// lies apart comes behind those of its trunk. With "", of the first of the kind. Errors: kInvalid,
/// with what heads there are.
Result<size_t> find_head(const TextModel& model, std::string_view name, HeadKind kind);

}  // namespace signalbox::engine
