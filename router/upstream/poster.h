#pragma once
// POSTs for a thread that has nothing else to do and may wait, over the same backend and kept
// connections as requests of the data plane.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::upstream {

struct PostReply {
  int status = 0;
  std::string body;
};

/// One thread's at a time.
class Poster {
 public:
  /// `limit` is of a whole exchange, the name of `to` its request ID, and `api_key` goes out in the
  /// header that `to` names.
  Poster(const config::BackendRef& to, std::chrono::milliseconds limit,
         std::optional<std::string> api_key = std::nullopt);
  ~Poster();

  /// Posts a body of a type and waits for the whole reply. Errors: kUpstream for a status that is
  /// not 2xx too, kDeadline, kUnsupported.
  Result<void> post(std::string_view target, std::string_view type, std::string_view body);
  /// The same with a limit of its own, and the reply of any status. kUpstream for one of more than
  /// `bytes_max`.
  Result<PostReply> ask(std::string_view target, std::string_view type, std::string_view body,
                        std::chrono::milliseconds limit, size_t bytes_max);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::upstream
