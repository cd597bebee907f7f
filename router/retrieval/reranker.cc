// A document that was found is worth more than none, so a failure leaves the order of the search.

#include "router/retrieval/reranker.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "engine/model_path.h"
#include "engine/rerank.h"

namespace signalbox::retrieval {
namespace {

constexpr uint32_t kSecondsByDefault = 5;

class Reranker final : public Retriever {
 public:
  Reranker(std::unique_ptr<const Retriever> search, const config::RagPlugin& plugin,
           std::shared_ptr<const engine::TextModel> model, size_t head)
      : search_(std::move(search)),
        most_(plugin.rerank->top_k),
        must_rank_(plugin.on_failure == "block"),
        limit_(plugin.backend_config.timeout_seconds > 0 ? plugin.backend_config.timeout_seconds
                                                         : kSecondsByDefault),
        model_(std::move(model)),
        head_(head) {}

  bool needs_vector() const override { return search_->needs_vector(); }

  Result<std::vector<std::string>> find(const Query& query,
                                        const engine::Patience& patience) const override {
    SIGNALBOX_TRY(std::vector<std::string> found, search_->find(query, patience));
    auto ranked = rank(query, found, patience);
    if (ranked) {
      found = *std::move(ranked);
    } else if (must_rank_ || ranked.error().code == Code::kCancelled) {
      return tl::unexpected<Error>(std::move(ranked).error());
    }
    if (most_ > 0 && found.size() > most_) found.resize(most_);
    return found;
  }

 private:
  Result<std::vector<std::string>> rank(const Query& query, const std::vector<std::string>& found,
                                        engine::Patience patience) const {
    if (model_ == nullptr) return fail(Code::kUpstream, "there is no reranker");
    const std::vector<std::string_view> documents(found.begin(), found.end());
    patience.deadline = std::min(patience.deadline, std::chrono::steady_clock::now() + limit_);
    const auto ranked =
        engine::rerank(*model_, head_, query.text, documents, {.raw = true}, patience);
    if (!ranked) {
      if (ranked.error().code != Code::kCancelled)
        log::warn("rag", "the reranker: {}", ranked.error().message);
      return tl::unexpected<Error>(ranked.error());
    }
    std::vector<std::string> out;
    for (const engine::RankedDocument& each : *ranked) out.push_back(found[each.index]);
    return out;
  }

  const std::unique_ptr<const Retriever> search_;
  const size_t most_;  // 0: all
  const bool must_rank_;
  const std::chrono::seconds limit_;
  const std::shared_ptr<const engine::TextModel> model_;
  const size_t head_;
};

}  // namespace

Result<std::unique_ptr<const Retriever>> rerank(std::unique_ptr<const Retriever> search,
                                                const config::RagPlugin& plugin,
                                                std::shared_ptr<const engine::TextModel> model,
                                                const std::string& directory) {
  size_t head = 0;
  if (model != nullptr) {
    SIGNALBOX_TRY(const engine::ModelPath place, engine::find_model(directory));
    SIGNALBOX_TRY(head, engine::find_head(*model, place.head, engine::HeadKind::kSequence));
    SIGNALBOX_TRY_VOID(engine::check_reranker(model->heads()[head]));
  }
  return std::make_unique<const Reranker>(std::move(search), plugin, std::move(model), head);
}

}  // namespace signalbox::retrieval
