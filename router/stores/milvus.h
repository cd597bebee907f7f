#pragma once
// A client for version 2 of Milvus's REST interface (Milvus 2.4 or newer). It sends and receives
// JSON over kept connections, each exchange within a time limit. It was written after the
// documentation and has been tested only against a test double.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/upstream/poster.h"

namespace signalbox::stores {

struct MilvusServer {
  std::string host = {};
  uint16_t port = 19530;
  std::string username = {}, password = {};  // "": no login
  bool tls = false;
  std::string ca_path = {};  // CA certificates, PEM; "": the system's

  bool operator==(const MilvusServer&) const = default;
};

/// Returns the content of a reply whose "code" reports success. Errors: kInvalid (the login
/// failed), kNotFound (the collection does not exist or is not loaded), kUnsupported (the request
/// is at fault), kUpstream (another error), kIo (not a reply of Milvus). The message has at most 64
/// bytes of the server's.
Result<json::Document> read_milvus_reply(int status, std::string body);
/// An error of a write without the words of the server, which may repeat what was written.
Error without_quotes(Error error);
/// Returns an integer member, which may also be written as a string. kIo if it is neither.
Result<int64_t> milvus_integer(const json::Value& object, std::string_view name);

/// Thread-safe; calls block. Connects at the first call.
class Milvus {
 public:
  static constexpr size_t kReplyBytesMax = size_t{32} << 20;

  explicit Milvus(MilvusServer server);
  ~Milvus();

  /// Posts to "/v2/vectordb" + `path`. Errors: those of read_milvus_reply(); kDeadline; kUpstream
  /// (refused, broken, over kReplyBytesMax). The message begins with name().
  Result<json::Document> call(std::string_view path, std::string_view body,
                              std::chrono::milliseconds limit);

  /// For log lines: "milvus 127.0.0.1:19530".
  const std::string& name() const { return to_.name; }

 private:
  std::unique_ptr<upstream::Poster> take_idle();

  config::BackendRef to_;
  std::optional<std::string> token_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<upstream::Poster>> idle_;
};

}  // namespace signalbox::stores
