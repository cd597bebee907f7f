// Searches of one server that are bounded in number, kept for a while, and given up while the
// server fails.

#include "router/retrieval/server_retriever.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/recently_used.h"
#include "base/sha256.h"
#include "router/upstream/breaker.h"

namespace signalbox::retrieval {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Documents = std::vector<std::string>;

constexpr size_t kSearchesKept = 1024;
constexpr size_t kBytesKept = size_t{16} << 20;  // of all kept documents of a decision
constexpr seconds kSlotWait{1};

/// Bounds how many threads search one server, so that a server that hangs does not hold them all.
/// Thread-safe.
class SearchSlots {
 public:
  explicit SearchSlots(uint32_t at_once) : left_(at_once) {}

  /// Waits for a free slot. Returns false if there is none in time.
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

/// The slots of a server, which the retrievers of all decisions, and those of the configuration
/// before, own together.
std::shared_ptr<SearchSlots> slots_of(const std::string& server, uint32_t at_once) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SearchSlots>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<SearchSlots>& kept = known[server];
  auto out = kept.lock();
  if (out == nullptr) kept = out = std::make_shared<SearchSlots>(at_once);
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

class ServerRetriever final : public Retriever {
 public:
  ServerRetriever(std::unique_ptr<const Source> source, Bounds bounds)
      : source_(std::move(source)),
        slots_(slots_of(bounds.server, bounds.at_once)),
        name_(std::move(bounds.name)),
        limit_(bounds.limit),
        lifetime_(bounds.lifetime) {}

  bool needs_vector() const override { return source_->needs_vector(); }

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
    auto found = search_in_slot(query, patience);
    if (!found && (found.error().code == Code::kCancelled || patience.stop.stop_requested()))
      return fail(Code::kCancelled, "the search was given up");
    breaker_.record(found.has_value(), Clock::now());
    if (!found) log::warn("rag", "{}: {}", name_, found.error().message);
    return found;
  }

  Result<Documents> search_in_slot(const Query& query, const engine::Patience& patience) const {
    if (!slots_->take(std::min(patience.deadline, Clock::now() + kSlotWait), patience.stop))
      return fail(Code::kOverloaded, "too many searches of it are running");
    auto found = search_within_limit(query, patience);
    slots_->give_back();
    return found;
  }

  Result<Documents> search_within_limit(const Query& query,
                                        const engine::Patience& patience) const {
    const auto left = patience.deadline - Clock::now();
    const auto limit = left < limit_ ? std::chrono::ceil<milliseconds>(left) : limit_;
    if (limit <= milliseconds{0}) return fail(Code::kDeadline, "no time is left");
    return source_->find(query, limit, patience.stop);
  }

  const std::unique_ptr<const Source> source_;
  const std::shared_ptr<SearchSlots> slots_;
  const std::string name_;
  const milliseconds limit_;
  mutable upstream::Breaker breaker_;
  const seconds lifetime_;
  mutable RecentlyUsed<Kept> recent_{kSearchesKept, kBytesKept};  // by the digest of the text
};

}  // namespace

Result<void> check_status(int status) {
  if (status / 100 == 2) return {};
  const bool refuses_key = status == 401 || status == 403;
  return fail(Code::kUpstream, "it returned status {}{}", status,
              refuses_key ? " (check its api_key)" : "");
}

std::unique_ptr<const Retriever> make_server_retriever(std::unique_ptr<const Source> source,
                                                       Bounds bounds) {
  return std::make_unique<const ServerRetriever>(std::move(source), std::move(bounds));
}

}  // namespace signalbox::retrieval
