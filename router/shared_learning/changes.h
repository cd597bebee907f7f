#pragma once
// The form in Redis of the changes that routers share. Any program may write to Redis, so the
// reader refuses everything that no router writes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/learning/conversations.h"
#include "router/learning/outcomes.h"

namespace signalbox::shared_learning {

/// Names and values in turn.
using Fields = std::vector<std::string>;

inline constexpr size_t kNameBytesMax = 1024;  // of a model or a decision

struct Change {
  enum class Kind : uint8_t { kConversation, kForgotten, kVerdicts, kSums, kReset };
  Kind kind = Kind::kReset;
  std::string key = {};                      // of a conversation
  learning::Conversation conversation = {};  // without `used`
  int64_t used_ms = 0;                       // since 1970
  std::string decision = {}, model = {};     // of verdicts, and of sums
  learning::Tally tally = {};
  int64_t resets = 0;  // how many there have been
};

/// The fields of a conversation, without its key. Nullopt if a name is too long.
std::optional<Fields> fields_of(const learning::Conversation& conversation, int64_t used_ms);
/// The four counts, with a space between them.
std::string counts_of(const learning::Tally& tally);
std::optional<learning::Tally> read_counts(std::string_view text);
/// The name under which verdicts on a model are kept: the decision, a line feed, and the model.
/// Nullopt if it is too long or contains a line feed.
std::optional<std::string> verdicts_name(std::string_view decision, std::string_view model);
std::optional<Change> read_verdicts(std::string_view name, std::string_view counts);

/// The version of the form, the count, and the sums of rewards and of products, with a space
/// between them: at most kSumsBytesMax.
std::string sums_of(const learning::Regression& regression);
/// Returns null for anything that sums_of() does not write, and for sums that cannot result from
/// verdicts.
std::shared_ptr<const learning::Regression> read_sums(std::string_view text);
inline constexpr size_t kSumsBytesMax = 4096;

/// Reads an entry of the stream: "key", KEY, and the fields of a conversation or none; "verdicts",
/// NAME, "counts", COUNTS; "sums", NAME, for sums that changed; or "reset", NUMBER.
std::optional<Change> read_change(const Fields& entry);

// Converts points of the router's steady clock to milliseconds since 1970 and back. Both members
// are the current time.
struct Now {
  learning::TimePoint steady = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point system = std::chrono::system_clock::now();

  int64_t to_ms(learning::TimePoint time) const;
  /// A time in the future becomes the current time.
  learning::TimePoint from_ms(int64_t ms) const;
};

}  // namespace signalbox::shared_learning
