#pragma once
// The response cache of the process, which outlives configurations.

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "router/cache/memory_store.h"
#include "router/cache/response_cache.h"
#include "router/config/config.h"
#include "router/http/single_flight.h"

namespace signalbox::gateway {

/// True if a decision of the configuration caches answers.
bool caches_answers(const config::Config& config);

/// The cache, its store and the requests that wait for each other. Thread-safe.
class AnswerCache {
 public:
  AnswerCache() { configure({}); }

  /// Takes up the store of a configuration that is about to serve. Returns a notice if that store
  /// cannot be used. Requests that have begun keep the store before.
  std::optional<std::string> configure(const config::ResponseCacheStore& store);

  /// Loads the answers of the previous process. Call once, after configure(). Returns a notice if
  /// the file cannot be read.
  std::optional<std::string> load();
  /// Saves the answers for the next process; logs errors.
  void save();

  /// Shared with the requests that use it.
  std::shared_ptr<cache::ResponseCache> answers() const;
  http::SingleFlight& flights() { return flights_; }

 private:
  /// The store in memory and its file; null if answers lie elsewhere or have no file.
  std::pair<cache::MemoryStore*, std::filesystem::path> kept() const;

  http::SingleFlight flights_;
  mutable std::mutex mutex_;
  config::ResponseCacheStore configured_;
  std::shared_ptr<cache::ResponseCache> answers_;
  cache::MemoryStore* memory_ = nullptr;  // owned by answers_; null: the store is elsewhere
};

}  // namespace signalbox::gateway
