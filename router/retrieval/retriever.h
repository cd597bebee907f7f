#pragma once
// Documents for a request, looked up on the server that the plugin `rag` of a decision names.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/patience.h"
#include "router/config/config.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::retrieval {

/// The text to find documents for. `vector`, (dim), is its L2-normalised embedding, and `space` the
/// name of its space; both may be empty unless the retriever needs them.
struct Query {
  std::string_view text;
  std::span<const float> vector = {};
  std::string_view space = {};
};

/// Thread-safe.
class Retriever {
 public:
  virtual ~Retriever() = default;

  virtual bool needs_vector() const = 0;
  /// Returns the texts of the documents, the most similar one first, at most `top_k`. Blocks until
  /// the server has answered, at most for its time limit or until the deadline. If many searches of
  /// the server are running, it first waits a second at most for its turn. After three failures in
  /// a row it fails at once for a second, then tries one call. Errors, which contain neither the
  /// query nor the reply: kNotFound (no document is similar enough), kUpstream, kOverloaded,
  /// kDeadline, kCancelled.
  virtual Result<std::vector<std::string>> find(const Query& query,
                                                const engine::Patience& patience) const = 0;
};

/// Returns the retriever of a plugin that config::supports() accepts. It connects at the first
/// call. `decision` is the name of the plugin's decision. Error: kInvalid, for a backend_config
/// that is incomplete. `stores` are the router's own, which the backend `vectorstore` searches;
/// null: there are none.
Result<std::unique_ptr<const Retriever>> open_retriever(const config::Config& config,
                                                        const config::RagPlugin& plugin,
                                                        std::string_view decision,
                                                        const vector_stores::VectorStores* stores);

/// The retrievers of decisions. One with a session at a server waits at its end until the server
/// has ended the session, a second at most, so several are freed at once.
class Retrievers {
 public:
  Retrievers() = default;
  Retrievers(Retrievers&&) = default;
  ~Retrievers();

  void add(const config::Decision* decision, std::unique_ptr<const Retriever> retriever) {
    all_.emplace(decision, std::move(retriever));
  }
  /// Null if the decision has none.
  const Retriever* find(const config::Decision* decision) const {
    const auto found = all_.find(decision);
    return found == all_.end() ? nullptr : found->second.get();
  }

 private:
  std::map<const config::Decision*, std::unique_ptr<const Retriever>> all_;
};

}  // namespace signalbox::retrieval
