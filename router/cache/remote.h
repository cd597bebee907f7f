#pragma once
// A server that stores answers for several routers. It handles only ids and bytes. Each router
// searches for similar questions itself, using the heads of answers that it reads from the server's
// log.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::cache {

/// A change to an answer, by any router.
struct RemoteChange {
  std::string id;
  std::string head;  // the entry without its reply, as to_bytes() gives it; "": deleted
};

/// Thread-safe; calls block, but no longer than their limits. Errors: kInvalid (the configuration
/// does not fit the server, for example its login or collection), kDeadline, and others (refused or
/// broken connections, errors of the server). After an error the next call starts afresh.
class Remote {
 public:
  virtual ~Remote() = default;

  /// Returns nullopt if there is none.
  virtual Result<std::optional<std::string>> get(std::string_view id) = 0;
  /// Stores the bytes for `ttl` and publishes the head to all routers.
  virtual Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                           std::chrono::milliseconds ttl) = 0;
  virtual Result<void> remove(std::span<const std::string> ids) = 0;
  /// The changes since `cursor` ("": as far back as the server keeps them), oldest first. Advances
  /// the cursor. Waits at most `wait` for a change.
  virtual Result<std::vector<RemoteChange>> follow(std::string& cursor,
                                                   std::chrono::milliseconds wait) = 0;
  /// For log lines: the kind and address of the server, without secrets.
  virtual const std::string& name() const = 0;
};

}  // namespace signalbox::cache
