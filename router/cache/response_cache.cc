// The store finds similar questions; the guard decides whether they have the same answer.

#include "router/cache/response_cache.h"

#include <utility>

namespace signalbox::cache {
namespace {

bool is_young(const Entry& entry, TimePoint now, std::optional<std::chrono::seconds> max_age) {
  return !max_age || now - entry.created <= *max_age;
}

}  // namespace

Hit ResponseCache::find(const Key& key, TimePoint now,
                        std::optional<std::chrono::seconds> max_age) {
  auto found = store_->find(key.id, now);
  if (!found) return failure();
  if (*found == nullptr || !is_young(**found, now, max_age)) return {};
  ++hits_exact_;
  return {*std::move(found), 1, false};
}

Hit ResponseCache::find_near(const Key& key, std::span<const float> vector, double similarity,
                             TimePoint now, std::optional<std::chrono::seconds> max_age) {
  const auto near = store_->nearest(key.partition, vector, similarity, kCandidatesMax, now);
  if (!near) return failure();
  std::optional<Difference> first;
  for (const Near& each : *near) {
    if (!is_young(*each.entry, now, max_age)) continue;
    const Difference result = difference(key.question, each.entry->question);
    if (result == Difference::kNone) {
      auto stored = store_->find(each.entry->id, now);
      if (!stored) return failure();
      if (*stored == nullptr) continue;  // it has been removed meanwhile
      ++hits_semantic_;
      return {*std::move(stored), each.similarity, false};
    }
    if (!first) first = result;
  }
  if (first) {
    ++refused_;
    ++refused_by_[static_cast<size_t>(*first)];
  }
  return {};
}

Hit ResponseCache::failure() {
  ++failed_;
  return {nullptr, 0, true};
}

void ResponseCache::put(Entry entry, TimePoint now) {
  if (store_->put(std::move(entry), now)) {
    ++stored_;
  } else {
    ++failed_;
  }
}

void ResponseCache::count_miss(bool failed) {
  ++misses_;
  if (failed) ++failed_;
}

Statistics ResponseCache::statistics() const {
  Statistics out{.hits_exact = hits_exact_,
                 .hits_semantic = hits_semantic_,
                 .misses = misses_,
                 .refused = refused_,
                 .refused_by = {},
                 .stored = stored_,
                 .failed = failed_,
                 .store = store_->figures()};
  for (size_t i = 0; i < refused_by_.size(); ++i) out.refused_by[i] = refused_by_[i];
  return out;
}

}  // namespace signalbox::cache
