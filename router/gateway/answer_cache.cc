// The store changes with the configuration; requests that have begun go on with the one before.

#include "router/gateway/answer_cache.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "router/cache/store_factory.h"

namespace signalbox::gateway {

bool caches_answers(const config::Config& config) {
  return std::ranges::any_of(config::routings_of(config), [&](const config::Routing* routing) {
    return std::ranges::any_of(routing->decisions, [&](const config::Decision& decision) {
      return config::keeps_answers(config.response_cache, decision);
    });
  });
}

std::optional<std::string> AnswerCache::configure(const config::ResponseCacheStore& store) {
  const std::lock_guard lock(mutex_);
  const cache::MemoryLimits limits = cache::limits_of(store);
  const bool same = answers_ != nullptr && cache::is_same_store(store, configured_);
  configured_ = store;
  if (same) {
    answers_->store().set_limits(limits);
    return std::nullopt;
  }
  auto made = cache::make_remote_store(store);
  std::optional<std::string> notice;
  if (!made) {
    notice = fmt::format("global.stores.response_cache.{}; answers are kept in memory",
                         made.error().message);
  }
  memory_ = nullptr;
  if (!made || *made == nullptr) {
    auto memory = std::make_unique<cache::MemoryStore>(limits);
    memory_ = memory.get();
    made = std::move(memory);
  }
  answers_ = std::make_shared<cache::ResponseCache>(*std::move(made));
  return notice;
}

std::shared_ptr<cache::ResponseCache> AnswerCache::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

std::pair<cache::MemoryStore*, std::filesystem::path> AnswerCache::kept() const {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path file = configured_.snapshot_path;
  return {file.empty() ? nullptr : memory_, file};
}

std::optional<std::string> AnswerCache::load() {
  const auto [store, path] = kept();
  if (store == nullptr) return std::nullopt;
  const auto loaded = store->load(path, cache::clocks_now());
  if (loaded) {
    log::info("cache", "{} answers from {}", *loaded, path.string());
  } else if (loaded.error().code != Code::kNotFound) {
    return fmt::format("{}: none of its answers are used, and it is replaced at the end: {}",
                       path.string(), loaded.error().message);
  }
  return std::nullopt;
}

void AnswerCache::save() {
  const auto [store, path] = kept();
  if (store == nullptr) return;
  if (const auto saved = store->save(path, cache::clocks_now()); !saved)
    log::warn("cache", "answers are not kept: {}", saved.error().message);
}

}  // namespace signalbox::gateway
