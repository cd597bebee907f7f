// A search is one POST over a kept connection. A hybrid retriever is two retrievers.

#include "router/retrieval/retriever.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/ascii.h"
#include "base/json.h"
#include "base/log.h"
#include "base/recently_used.h"
#include "base/sha256.h"
#include "router/config/endpoint.h"
#include "router/retrieval/formats.h"
#include "router/retrieval/local_retriever.h"
#include "router/upstream/breaker.h"
#include "router/upstream/poster.h"

namespace signalbox::retrieval {
namespace {

using config::RagBackend;
using config::RagPlugin;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Documents = std::vector<std::string>;

constexpr milliseconds kLimitByDefault{5'000};
constexpr uint32_t kTopKByDefault = 5;
constexpr uint32_t kOpenAiResultsByDefault = 20;
constexpr double kMilvusSimilarityByDefault = 0.7;
constexpr seconds kKeepByDefault{3600};
constexpr size_t kSearchesKept = 1024;
constexpr size_t kBytesKept = size_t{16} << 20;  // of all kept documents of a decision
constexpr seconds kTurnWait{1};
constexpr std::string_view kOpenAi = "https://api.openai.com/v1";

/// Bounds how many threads search one server, so that a server that hangs does not hold them all.
/// Thread-safe.
class Turns {
 public:
  explicit Turns(uint32_t at_once) : left_(at_once) {}

  /// Waits for a turn. Returns false if there is none in time.
  bool take(Clock::time_point until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!free_.wait_until(lock, stop, until, [this] { return left_ > 0; })) return false;
    --left_;
    return true;
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any free_;
  uint32_t left_;
};

/// The turns of a server, which the retrievers of all decisions, and those of the configuration
/// before, own together.
std::shared_ptr<Turns> turns_of(const std::string& server, uint32_t at_once) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Turns>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Turns>& kept = known[server];
  auto out = kept.lock();
  if (out == nullptr) kept = out = std::make_shared<Turns>(at_once);
  return out;
}

size_t bytes_of(const Documents& documents) {
  size_t out = 0;
  for (const std::string& document : documents) out += document.size();
  return out;
}

/// The result of a search.
struct Kept {
  Documents documents;
  Clock::time_point expires;
};

/// Where searches go.
struct Server {
  config::BackendRef to;
  std::string target;
  std::string key;  // "": none
  milliseconds limit = kLimitByDefault;
};

class HttpRetriever final : public Retriever {
 public:
  /// Results are kept for `lifetime`; 0: not at all.
  HttpRetriever(Server server, Search search, seconds lifetime, uint32_t at_once)
      : turns_(turns_of(config::written(server.to.host, server.to.port), at_once)),
        search_(std::move(search)),
        name_(server.to.name),
        target_(std::move(server.target)),
        limit_(server.limit),
        posters_(std::move(server.to), limit_,
                 server.key.empty() ? std::nullopt : std::optional(std::move(server.key))),
        lifetime_(lifetime) {}

  bool needs_vector() const override { return retrieval::needs_vector(search_.format); }

  Result<Documents> find(const Query& query, const engine::Patience& patience) const override {
    const bool keeps = lifetime_ > seconds{0};
    const std::string digest = keeps ? sha256_hex(query.text) : "";
    if (keeps) {
      auto known = recent_.find(digest);
      if (known && known->expires > Clock::now()) return std::move(known->documents);
    }
    auto found = search(query, patience);
    if (!found) return fail_in(name_, std::move(found).error());
    if (found->empty()) return fail(Code::kNotFound, "{}: no document is similar enough", name_);
    if (keeps) recent_.keep(digest, {*found, Clock::now() + lifetime_}, bytes_of(*found));
    return found;
  }

 private:
  Result<Documents> search(const Query& query, const engine::Patience& patience) const {
    if (needs_vector() && query.vector.empty())
      return fail(Code::kUpstream, "there is no embedding of the text");
    if (patience.deadline <= Clock::now()) return fail(Code::kDeadline, "no time is left");
    if (!breaker_.allows(Clock::now()))
      return fail(Code::kUpstream, "it is not called for a second, because {} calls failed",
                  upstream::Breaker::kFailuresMax);
    auto found = ask_in_turn(write_search(search_, query), patience);
    if (!found && (found.error().code == Code::kCancelled || patience.stop.stop_requested()))
      return fail(Code::kCancelled, "the search was given up");
    breaker_.tell(found.has_value(), Clock::now());
    if (!found) log::warn("rag", "{}: {}", name_, found.error().message);
    return found;
  }

  Result<Documents> ask_in_turn(const std::string& body, const engine::Patience& patience) const {
    if (!turns_->take(std::min(patience.deadline, Clock::now() + kTurnWait), patience.stop))
      return fail(Code::kOverloaded, "too many searches of it are running");
    auto found = ask(body, patience);
    turns_->give_back();
    return found;
  }

  Result<Documents> ask(const std::string& body, const engine::Patience& patience) const {
    const auto left = patience.deadline - Clock::now();
    const auto limit = left < limit_ ? std::chrono::ceil<milliseconds>(left) : limit_;
    if (limit <= milliseconds{0}) return fail(Code::kDeadline, "no time is left");
    SIGNALBOX_TRY(upstream::PostReply reply, posters_.ask(target_, "application/json", body, limit,
                                                          kReplyBytesMax, patience.stop));
    if (reply.status / 100 != 2)
      return fail(Code::kUpstream, "it returned status {}", reply.status);
    return read_documents(search_, std::move(reply.body));
  }

  const std::shared_ptr<Turns> turns_;
  const Search search_;
  const std::string name_;
  const std::string target_;
  const milliseconds limit_;
  mutable upstream::PosterPool posters_;
  mutable upstream::Breaker breaker_;
  const seconds lifetime_;
  mutable RecentlyUsed<Kept> recent_{kSearchesKept, kBytesKept};  // by the digest of the text
};

/// The second server is searched if the first one finds nothing.
class HybridRetriever final : public Retriever {
 public:
  HybridRetriever(std::unique_ptr<const Retriever> first, std::unique_ptr<const Retriever> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  bool needs_vector() const override { return first_->needs_vector() || second_->needs_vector(); }

  Result<Documents> find(const Query& query, const engine::Patience& patience) const override {
    auto found = first_->find(query, patience);
    if (found || found.error().code == Code::kCancelled) return found;
    auto other = second_->find(query, patience);
    // The first server may have documents if its search failed.
    const bool is_nothing = !other && other.error().code == Code::kNotFound;
    return is_nothing ? std::move(found) : std::move(other);
  }

 private:
  const std::unique_ptr<const Retriever> first_, second_;
};

Result<Server> server_at(std::string_view what, std::string_view url) {
  const size_t question = std::min(url.find('?'), url.size());
  SIGNALBOX_TRY(const config::Endpoint at, config::parse_base_url(url.substr(0, question)));
  Server out;
  out.to.name = fmt::format("{} {}", what, config::written(at.host, at.port));
  out.to.host = at.host;
  out.to.port = at.port;
  out.to.tls = at.tls;
  // The path as the file has it: some servers redirect a path without its last slash.
  const size_t path = std::min(url.find('/', url.find("://") + 3), question);
  out.target = path == question ? "/" : url.substr(path, question - path);
  out.target += url.substr(question);
  return out;
}

Format format_of(std::string_view name) {
  if (name == "elasticsearch") return Format::kElasticsearch;
  if (name == "pinecone") return Format::kPinecone;
  if (name == "weaviate") return Format::kWeaviate;
  return Format::kCustom;
}

Result<Server> open_external(const RagBackend& backend, Search& search) {
  SIGNALBOX_TRY(Server out, server_at("document server", backend.endpoint));
  search.format = format_of(backend.request_format);
  search.request_template = backend.request_template;
  if (search.format == Format::kCustom && !json::Document::parse(write_search(search, {"a text"})))
    return fail(Code::kInvalid,
                "request_template: expected JSON once its places are filled in; ${{user_content}} "
                "belongs between quotes");
  out.key = backend.api_key;
  if (!backend.auth_header.empty() && !ascii::iequals(backend.auth_header, out.to.auth_header)) {
    out.to.auth_header = backend.auth_header;
    out.to.auth_prefix.clear();
  }
  out.to.extra_headers = backend.headers;
  return out;
}

Result<Server> open_openai(const RagBackend& backend, const RagPlugin& plugin, Search& search) {
  std::string base = backend.base_url.empty() ? std::string(kOpenAi) : backend.base_url;
  while (base.ends_with('/')) base.pop_back();
  if (!base.ends_with("/v1")) base += "/v1";
  SIGNALBOX_TRY(Server out, server_at("vector store", base));
  out.target += fmt::format("/vector_stores/{}/search", backend.vector_store_id);
  out.key = backend.api_key;
  search.format = Format::kOpenAi;
  search.filter = backend.filter;
  search.file_ids = backend.file_ids;
  if (backend.max_num_results > 0)
    search.top_k = backend.max_num_results;
  else if (plugin.top_k == 0)
    search.top_k = kOpenAiResultsByDefault;
  return out;
}

Result<Server> open_milvus(const config::Config& config, const RagBackend& backend,
                           Search& search) {
  const config::Milvus& milvus = config.response_cache.milvus.connection.host.empty()
                                     ? config.vector_store.milvus
                                     : config.response_cache.milvus;
  const config::Milvus::Connection& at = milvus.connection;
  if (at.host.empty()) {
    return fail(Code::kNotFound,
                "there is no Milvus server: set global.stores.response_cache.milvus.connection or "
                "global.stores.vector_store.milvus.connection");
  }
  Server out;
  out.to.name = fmt::format("milvus {}", config::written(at.host, at.port));
  out.to.host = at.host;
  out.to.port = at.port;
  out.to.tls = at.tls.enabled;
  out.to.tls_ca_path = at.tls.ca_file;
  out.target = "/v2/vectordb/entities/search";
  if (at.auth.enabled) out.key = fmt::format("{}:{}", at.auth.username, at.auth.password);
  search.format = Format::kMilvus;
  search.database = at.database;
  search.collection = backend.collection;
  search.content_field = backend.content_field.empty() ? "content" : backend.content_field;
  search.filter = backend.filter_expression;
  if (!search.similarity_min) search.similarity_min = kMilvusSimilarityByDefault;
  return out;
}

Result<std::unique_ptr<const Retriever>> open_backend(const config::Config& config,
                                                      const RagPlugin& plugin,
                                                      std::string_view kind,
                                                      const RagBackend& backend,
                                                      const vector_stores::VectorStores* stores) {
  if (kind == "vectorstore") return make_local_retriever(plugin, backend, stores);
  Search search;
  search.top_k = plugin.top_k > 0 ? plugin.top_k : kTopKByDefault;
  if (plugin.similarity_threshold > 0) search.similarity_min = plugin.similarity_threshold;
  auto server = kind == "milvus"   ? open_milvus(config, backend, search)
                : kind == "openai" ? open_openai(backend, plugin, search)
                                   : open_external(backend, search);
  if (!server) return tl::unexpected<Error>(std::move(server).error());
  if (backend.timeout_seconds > 0) server->limit = seconds(backend.timeout_seconds);
  seconds lifetime{0};
  if (plugin.cache_results)
    lifetime = plugin.cache_ttl_seconds > 0 ? seconds(plugin.cache_ttl_seconds) : kKeepByDefault;
  return std::make_unique<const HttpRetriever>(*std::move(server), std::move(search), lifetime,
                                               config::evaluating_threads(config.http) / 2);
}

}  // namespace

Result<std::unique_ptr<const Retriever>> open_retriever(const config::Config& config,
                                                        const RagPlugin& plugin,
                                                        const vector_stores::VectorStores* stores) {
  const RagBackend& backend = plugin.backend_config;
  if (plugin.backend != "hybrid")
    return open_backend(config, plugin, plugin.backend, backend, stores);
  const auto part = [&](std::string_view kind, const std::vector<RagBackend>& keys) {
    RagBackend own = keys.empty() ? RagBackend() : keys.front();
    if (own.timeout_seconds == 0) own.timeout_seconds = backend.timeout_seconds;
    return open_backend(config, plugin, kind, own, stores);
  };
  SIGNALBOX_TRY(auto first, part(backend.primary, backend.primary_config));
  if (backend.fallback.empty()) return first;
  SIGNALBOX_TRY(auto second, part(backend.fallback, backend.fallback_config));
  return std::make_unique<const HybridRetriever>(std::move(first), std::move(second));
}

}  // namespace signalbox::retrieval
