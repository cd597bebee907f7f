#pragma once
// A server that keeps answers for several routers. It knows ids and bytes; what lies near to what
// every router works out for itself, from the heads of the answers that the server's log tells of.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::cache {

/// What has happened to an answer, by any router.
struct RemoteChange {
  std::string id;
  std::string head;  // the entry without its reply, as to_bytes() makes it; "": it has been deleted
};

/// Thread-safe; calls block, each no longer than its limit. Errors: kInvalid (the configuration
/// does not fit the server: its login, its collection), kDeadline, and others (refused, broken, an
/// error of the server). After one the next call begins anew.
class Remote {
 public:
  virtual ~Remote() = default;

  /// Empty when there is none.
  virtual Result<std::optional<std::string>> get(std::string_view id) = 0;
  /// Keeps the bytes for `ttl`, and tells everybody of the head.
  virtual Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                           std::chrono::milliseconds ttl) = 0;
  virtual Result<void> remove(std::span<const std::string> ids) = 0;
  /// What has happened since `cursor` ("": as far back as the server knows), oldest first; moves
  /// the cursor. Waits for something to happen, at most `wait`.
  virtual Result<std::vector<RemoteChange>> follow(std::string& cursor,
                                                   std::chrono::milliseconds wait) = 0;
  /// For log lines: the kind and address of the server, no secret.
  virtual const std::string& name() const = 0;
};

}  // namespace signalbox::cache
