#pragma once
// Statistics of tool selection, for one request and since the process started. They contain no text
// of requests.

#include <atomic>
#include <cstdint>
#include <string_view>

namespace signalbox::plugins {

struct Report {
  std::string_view strategy;  // "add", "filter" or "fit"; "": no tools were selected
  double confidence = 0;      // score of the best tool, 0 to 1
  uint32_t offered = 0;       // number of the client's tools
  uint32_t sent = 0;
  // Estimated at four bytes each; negative if more was added than removed.
  int64_t tokens_saved = 0;
  std::string_view fallback;  // "empty" or "unchanged" if no ranking was possible; "" otherwise
};

/// Each counter is exact, but together they are not a snapshot. They outlive configurations,
/// because scraped counters must not decrease.
struct Counters {
  std::atomic<uint64_t> selections{0};    // requests whose tools were selected
  std::atomic<uint64_t> fallbacks{0};     // those of them without a ranking
  std::atomic<uint64_t> offered{0};       // client tools in those requests
  std::atomic<uint64_t> sent{0};          // tools sent upstream
  std::atomic<uint64_t> tokens_saved{0};  // estimated, four bytes each
};

/// Returns the counters for all configurations.
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
