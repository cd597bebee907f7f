#pragma once
// A server that keeps the stored responses of several routers.

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/stores/follower.h"

namespace signalbox::shared_responses {

/// The limits of one exchange. Large records get time_for() more.
struct ExchangeLimits {
  std::chrono::milliseconds connect{500}, read{500}, write{500};
};
/// The time that a record of that size may take beside the limit of an exchange.
constexpr std::chrono::milliseconds time_for(size_t bytes) {
  constexpr size_t kBytesPerSecond = size_t{8} << 20;
  return std::chrono::milliseconds(1000 * bytes / kBytesPerSecond);
}

/// The bytes that a look-up reads first. It reads the rest of a longer record once it knows the
/// length.
inline constexpr size_t kFirstBytes = size_t{64} << 10;

inline tl::unexpected<Error> too_large() {
  return fail(Code::kTooLarge, "the stored responses of the request are too large together");
}

/// Thread-safe; calls block. Errors: kUpstream (the server refuses it), others if it did not answer
/// in time.
class ResponseServer {
 public:
  virtual ~ResponseServer() = default;

  /// For log lines.
  virtual const std::string& name() const = 0;
  virtual const ExchangeLimits& limits() const = 0;
  /// Returns the record of a response; "" if there is none, or if `is_here`, because the router
  /// then has it; nullopt if it was removed. Errors: also kTooLarge, if it has more than
  /// `bytes_max`.
  virtual Result<std::optional<std::string>> read(std::string_view id, bool is_here,
                                                  size_t bytes_max) = 0;
  /// The record expires after `left`. It is not written if it was removed.
  virtual Result<void> write(std::string_view id, std::string_view record,
                             std::chrono::milliseconds left) = 0;
  /// Returns the time that a record has left; 0 or less if there is none.
  virtual Result<std::chrono::milliseconds> left(std::string_view id) = 0;
  /// Removes records, and writes the deletions for the feeds of all routers.
  virtual Result<void> remove(std::span<const stores::NamedDeletion> deletions) = 0;
  /// The name of a record for the feed.
  virtual std::string key_of(std::string_view id) const = 0;
  /// Call it once. This object must outlive the feed.
  virtual std::unique_ptr<stores::Feed> feed() = 0;
};

}  // namespace signalbox::shared_responses
