#pragma once
// Models by the files they were read from, so that a configuration that is read again takes over
// what the one before it has loaded.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/engine.h"

namespace signalbox::models {

/// What says that the files below a directory are the same as before: path, device, inode, size and
/// time of change of each, symbolic links followed. "" when there is no such directory.
std::string identity_of(const std::filesystem::path& directory);

/// Holds nothing alive: what no configuration uses any longer is gone. Thread-safe.
class ModelCache {
 public:
  using Model = std::shared_ptr<const engine::TextModel>;
  using Open = std::function<Result<Model>(const std::string& directory)>;
  /// `open` reads a model; tests bring their own.
  explicit ModelCache(Open open = open_text_model) : open_(std::move(open)) {}

  /// The model of a directory, read only when it is not there or its files are others by now; an
  /// adapter and its heads are one model. Errors are those of `open` and of engine::find_model.
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

/// Models that are opened when they are first asked for, and then kept. Thread-safe; who asks while
/// one is being opened waits.
class ModelShelf {
 public:
  /// An empty `open` opens nothing.
  explicit ModelShelf(ModelCache::Open open) : open_(std::move(open)) {}

  /// Errors: kNotFound for a directory that is not there or when nothing is opened, those of
  /// `open`, which is asked again the next time.
  Result<ModelCache::Model> get(const std::string& directory) const;

 private:
  const ModelCache::Open open_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, ModelCache::Model> models_;
};

}  // namespace signalbox::models
