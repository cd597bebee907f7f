#pragma once
// POSTs for a thread that has nothing else to do and may wait, over the same backend and kept
// connections as requests of the data plane.

#include <chrono>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::upstream {

/// One thread's alone.
class Poster {
 public:
  /// `limit` is of a whole exchange.
  Poster(const config::BackendRef& to, std::chrono::milliseconds limit);
  ~Poster();

  /// Posts a body of a type and waits for the whole reply. Errors: kUpstream for a status that is
  /// not 2xx too, kDeadline, kUnsupported.
  Result<void> post(std::string_view target, std::string_view type, std::string_view body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::upstream
