#pragma once
// A retriever over one server, whatever its protocol.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "router/retrieval/formats.h"
#include "router/retrieval/retriever.h"

namespace signalbox::retrieval {

using Texts = std::vector<std::string>;  // of documents

/// The server of the searches.
struct Server {
  config::BackendRef to;
  std::string target;
  std::optional<std::string> key;
  std::chrono::milliseconds limit{5'000};  // of a search
  size_t reply_bytes_max = kReplyBytesMax;
};

/// Returns kUpstream for the status of a reply that is not 2xx.
Result<void> check_status(int status);

/// Searches one server. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  virtual bool needs_vector() const = 0;
  /// Returns the texts of the documents, the best one first; none if nothing is similar enough.
  /// `query` has a vector if needs_vector(). Blocks for `limit` at most, and for
  /// a second more if it has to end a session with the server. Errors, which contain neither the
  /// query nor the reply: kUpstream, kDeadline, kCancelled.
  virtual Result<Texts> find(const Query& query, std::chrono::milliseconds limit,
                             const std::stop_token& stop) const = 0;
};

struct Bounds {
  std::string name;    // of the server, for messages
  std::string server;  // its address; searches of one server share its slots
  uint32_t at_once = 1;
  std::chrono::milliseconds limit{};  // of a search
  std::chrono::seconds lifetime{0};   // of kept results; 0: none are kept
};

/// See Retriever::find().
std::unique_ptr<const Retriever> make_server_retriever(std::unique_ptr<const Source> source,
                                                       Bounds bounds);

}  // namespace signalbox::retrieval
