#pragma once
// Decides which refusals get an entry of their own, so that nobody fills the log or hides the
// refusals of others. It uses no clock.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "router/audit/entry.h"

namespace signalbox::audit {

/// The sender of a refused request.
struct Sender {
  /// Kinds do not share their limits.
  enum class Kind : uint8_t { kStranger, kKey, kManagement };
  Kind kind;
  std::string name;  // of a key; otherwise the address
};

/// In each minute, each sender has 60 entries, and each kind a thousand senders. Further refusals
/// are counted. Not thread-safe.
class Refusals {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// True if the refusal gets an entry; otherwise it is counted.
  bool admit(const Sender& sender, TimePoint now);
  void count(const Sender& sender, TimePoint now);

  struct Omitted {
    Entry entry;
    uint64_t count;
  };
  /// Removes and returns the counts of minutes that have ended, or, with `all`, of this one, too:
  /// an entry for each sender, and one for all further senders of a kind.
  std::vector<Omitted> take(TimePoint now, bool all = false);
  bool has_counts() const { return has_counts_; }

 private:
  struct Counts {
    uint32_t entries = 0;
    uint64_t omitted = 0;
  };
  struct Minute {
    std::map<std::string, Counts, std::less<>> senders;
    Counts others;
  };
  static constexpr size_t kKinds = 3;

  Counts& of(const Sender& sender, TimePoint now);
  void end_minute();

  TimePoint begin_{};
  std::array<Minute, kKinds> minutes_;
  std::vector<Omitted> ended_;
  bool has_counts_ = false;
};

}  // namespace signalbox::audit
