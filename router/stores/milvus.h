#pragma once
// Milvus by version 2 of its REST interface (Milvus 2.4 or newer): JSON both ways over kept
// connections, each exchange within a time limit. Made after its documentation; tests have only
// had a double of it.

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
  std::string ca_path = {};  // authorities, PEM; "": those of the system

  bool operator==(const MilvusServer&) const = default;
};

/// What a reply of any server holds; its "code" says that all is well. Errors: kInvalid (the login
/// was refused), kNotFound (there is no such collection, or it is not loaded), kUpstream (another
/// refusal, named by at most 64 bytes of its message), kIo (not what Milvus says).
Result<json::Document> read_milvus_reply(int status, std::string body);
/// A number, which may stand in a string. kIo for what is none.
Result<int64_t> milvus_integer(const json::Value& object, std::string_view name);

/// Thread-safe; calls block. Connects when it is first asked.
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
  std::unique_ptr<upstream::Poster> kept();

  config::BackendRef to_;
  std::optional<std::string> token_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<upstream::Poster>> idle_;
};

}  // namespace signalbox::stores
