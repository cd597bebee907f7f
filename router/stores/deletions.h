#pragma once
// The names of records that were deleted from a store that routers share, until the records would
// have expired.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::stores {

/// The time since 1970 by the clock of this machine.
inline int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Times are in milliseconds since 1970. Forgets expired deletions, and the oldest one when it is
/// full.
class Deletions {
 public:
  static constexpr size_t kMax = 100'000;

  /// Returns false if it was known. Nearly all deletions last equally long, so the oldest one
  /// expires first.
  bool add(std::string id, int64_t until_ms, int64_t now_ms) {
    while (!in_order_.empty() && until_ms_.find(in_order_.front())->second <= now_ms) drop_oldest();
    const auto [entry, is_new] = until_ms_.try_emplace(std::move(id), until_ms);
    if (!is_new) return false;
    in_order_.push_back(entry->first);
    if (in_order_.size() > kMax) drop_oldest();
    return true;
  }
  bool contains(std::string_view id) const { return until_ms_.contains(id); }
  /// Returns the deletions whose records would not have expired yet.
  std::vector<std::pair<std::string, int64_t>> all(int64_t now_ms) const {
    std::vector<std::pair<std::string, int64_t>> out;
    for (const auto& [id, until_ms] : until_ms_) {
      if (until_ms > now_ms) out.emplace_back(id, until_ms);
    }
    return out;
  }

 private:
  void drop_oldest() {
    until_ms_.erase(until_ms_.find(in_order_.front()));
    in_order_.pop_front();
  }

  std::map<std::string, int64_t, std::less<>> until_ms_;
  std::deque<std::string_view> in_order_;  // of the keys
};

}  // namespace signalbox::stores
