#pragma once
// What choosing tools has done, for one request and since the process began; without a word of what
// was said.

#include <atomic>
#include <cstdint>
#include <string_view>

namespace signalbox::plugins {

struct Report {
  std::string_view strategy;  // "add", "filter" or "fit"; "": no tools were chosen
  double confidence = 0;      // score of the best, 0 to 1
  uint32_t offered = 0;       // of the client
  uint32_t sent = 0;
  int64_t tokens_saved = 0;   // four bytes each; negative where more was added than taken out
  std::string_view fallback;  // "empty" or "unchanged" where nothing could be ranked; "": it was
};

/// Each on its own is exact; together they are not one moment's. They outlive configurations, as
/// counters that are scraped have to.
struct Counters {
  std::atomic<uint64_t> selections{0};    // requests whose tools were chosen
  std::atomic<uint64_t> fallbacks{0};     // of these, those without a ranking
  std::atomic<uint64_t> offered{0};       // tools of clients in them
  std::atomic<uint64_t> sent{0};          // tools that went on
  std::atomic<uint64_t> tokens_saved{0};  // estimated, four bytes each
};

/// Of all configurations.
inline Counters& counters() {
  static Counters all;
  return all;
}

inline void count(const Report& report) {
  Counters& all = counters();
  ++all.selections;
  all.fallbacks += report.fallback.empty() ? 0 : 1;
  all.offered += report.offered;
  all.sent += report.sent;
  if (report.tokens_saved > 0) all.tokens_saved += static_cast<uint64_t>(report.tokens_saved);
}

}  // namespace signalbox::plugins
