#pragma once
// A client for Qdrant's REST interface. It sends and receives JSON over kept connections, each
// exchange within a time limit. It was written after the documentation and has been tested only
// against a test double.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "router/config/stores.h"
#include "router/upstream/poster.h"

namespace signalbox::stores {

inline constexpr size_t kQdrantReplyBytesMax = size_t{32} << 20;

/// The server of these keys, with the port of HTTP where they have that of gRPC.
config::BackendRef qdrant_server(const config::Qdrant& keys);

/// Returns the content of a reply. Errors: kInvalid (the key lacks the permission), kNotFound,
/// kUnsupported (the request is at fault), kUpstream (another error), kIo (not a reply of Qdrant).
/// The message has at most 64 bytes of the server's.
Result<json::Document> read_qdrant_reply(int status, std::string body);

/// Thread-safe; calls block. Connects at the first call.
class Qdrant {
 public:
  explicit Qdrant(const config::Qdrant& keys);

  /// Errors: those of read_qdrant_reply(); kDeadline; kUpstream (refused, broken, over
  /// kQdrantReplyBytesMax). The message begins with name().
  Result<json::Document> call(std::string_view method, std::string_view target,
                              std::string_view body, std::chrono::milliseconds limit);

  /// For log lines: "qdrant 127.0.0.1:6333".
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  upstream::PosterPool posters_;
};

}  // namespace signalbox::stores
