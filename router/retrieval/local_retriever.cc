// Searching here takes milliseconds, so no results are kept and no breaker is needed.

#include "router/retrieval/local_retriever.h"

#include <optional>
#include <unordered_set>

#include "base/log.h"
#include "router/word_search/hybrid.h"

namespace signalbox::retrieval {
namespace {

constexpr uint32_t kTopKOfStores = 5;

class LocalRetriever final : public Retriever {
 public:
  LocalRetriever(const config::RagPlugin& plugin, const config::RagBackend& backend,
                 const vector_stores::VectorStores* stores)
      : store_(backend.vector_store_id),
        files_(backend.file_ids),
        most_(plugin.top_k > 0 ? plugin.top_k : kTopKOfStores),
        stores_(stores) {
    if (plugin.similarity_threshold > 0) similarity_min_ = plugin.similarity_threshold;
    if (!backend.hybrid_search) return;
    hybrid_ = backend.hybrid_mode == "weighted" ? word_search::Hybrid() : word_search::ranks();
  }

  bool needs_vector() const override { return true; }

  Result<std::vector<std::string>> find(const Query& query,
                                        const engine::Patience& patience) const override {
    if (stores_ == nullptr) return fail(Code::kUpstream, "there are no vector stores");
    vector_stores::Search search{store_, {std::string(query.text)}};
    search.files = files_;
    search.most = most_;
    search.similarity_min = similarity_min_;
    search.hybrid = hybrid_ ? &*hybrid_ : nullptr;
    search.vector = query.vector;
    search.vector_space = query.space;
    const auto found = stores_->search(vector_stores::kOperator, search, patience);
    if (!found) {
      if (found.error().code != Code::kCancelled) log::warn("rag", "{}", found.error().message);
      const bool is_missing = found.error().code == Code::kNotFound;
      return fail(is_missing ? Code::kUpstream : found.error().code, "vector store {}: {}", store_,
                  found.error().message);
    }
    std::vector<std::string> out;
    std::unordered_set<std::string_view> known;
    for (const vector_stores::Found& each : *found) {
      if (known.insert(each.text).second) out.push_back(each.text);
    }
    if (out.empty())
      return fail(Code::kNotFound, "vector store {}: no document is similar enough", store_);
    return out;
  }

 private:
  const std::string store_;
  const std::vector<std::string> files_;
  const size_t most_;
  double similarity_min_ = -1;
  std::optional<word_search::Hybrid> hybrid_;
  const vector_stores::VectorStores* const stores_;
};

}  // namespace

std::unique_ptr<const Retriever> make_local_retriever(const config::RagPlugin& plugin,
                                                      const config::RagBackend& backend,
                                                      const vector_stores::VectorStores* stores) {
  return std::make_unique<const LocalRetriever>(plugin, backend, stores);
}

}  // namespace signalbox::retrieval
