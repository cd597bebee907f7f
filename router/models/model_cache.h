#pragma once
// Caches models by the identity of their files, so that a reloaded configuration reuses the models
// that the previous one has loaded.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/engine.h"

namespace signalbox::models {

/// Returns a string that changes if the files below a directory change: path, device, inode, size
/// and modification time of each, following symbolic links. "" if the directory does not exist.
std::string identity_of(const std::filesystem::path& directory);

/// The cache does not keep models alive: a model that no configuration uses is freed. Thread-safe.
class ModelCache {
 public:
  using Model = std::shared_ptr<const engine::TextModel>;
  using Open = std::function<Result<Model>(const std::string& directory)>;
  /// `open` reads a model; tests pass their own function.
  explicit ModelCache(Open open = open_text_model) : open_(std::move(open)) {}

  /// Returns the model of a directory. Reads it only if it is not cached or its files have changed;
  /// an adapter and its heads are one model. Returns the errors of `open` and of
  /// engine::find_model.
  Result<Model> get(const std::string& directory);

 private:
  static Result<Model> open_text_model(const std::string& directory);

  struct Entry {
    std::string identity;
    std::weak_ptr<const engine::TextModel> model;
  };
  Open open_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by engine::ModelPath::model()
};

/// Opens each model on first use and then keeps it. Thread-safe; other callers wait while a model
/// is being opened.
class ModelShelf {
 public:
  /// With an empty `open`, no model can be opened.
  explicit ModelShelf(ModelCache::Open open) : open_(std::move(open)) {}

  /// Errors: kNotFound if the directory does not exist or `open` is empty; the errors of `open`,
  /// which the next call tries again.
  Result<ModelCache::Model> get(const std::string& directory) const;

 private:
  const ModelCache::Open open_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, ModelCache::Model> models_;
};

}  // namespace signalbox::models
