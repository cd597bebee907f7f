// Reading, unpacking and parsing a context takes too long for an event loop, so all of it runs on
// the thread pool.

#include "router/gateway/contexts.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "router/access/owner.h"
#include "router/contexts/disk_level.h"
#include "router/contexts/packed_level.h"
#include "router/contexts/redis_level.h"
#include "router/contexts/refs.h"
#include "router/gateway/read_request.h"
#include "router/stores/redis_config.h"

namespace signalbox::gateway {
namespace {

/// How often the pager runs. An idle context stays in memory for at most this much longer.
constexpr std::chrono::seconds kPagingInterval{5};

/// The bytes that the smallest context counts as, because a file takes at least that much.
constexpr uint64_t kContextBytesLeast = 4096;

contexts::Limits limits_of(const config::ContextStore& config) {
  const auto whole_seconds = [](std::chrono::milliseconds time) {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
  };
  return {.memory_bytes = config.memory_bytes,
          .bytes_max = config.bytes_max,
          .contexts_max = std::max<uint64_t>(1, config.bytes_max / kContextBytesLeast),
          .context_bytes_max = config.context_bytes_max,
          .tenant_bytes_max = config.tenant_bytes_max,
          .tenant_contexts_max = config.tenant_contexts_max,
          .tenant_pinned_bytes = config.tenant_pinned_bytes,
          .idle_s = whole_seconds(config.idle),
          .ttl_s = whole_seconds(config.ttl),
          .local_bytes = config.local_bytes,
          .local_idle_s = whole_seconds(config.local_idle)};
}

/// Null if no store is shared.
Result<std::unique_ptr<contexts::SharedLevel>> shared_level(const config::ContextStore& config) {
  if (!config.is_shared()) return nullptr;
  contexts::RedisLevelOptions options;
  auto set = stores::set_redis(config.redis, options);
  if (!set) return fail_in("global.stores.contexts", std::move(set).error());
  options.compression = static_cast<int>(config.compression);
  return contexts::make_redis_level(std::move(options));
}

/// The error of one reference for the client, with its place and id.
tl::unexpected<Error> refusal(size_t index, Error error) {
  const bool is_gone = error.code == Code::kNotFound || error.code == Code::kCorrupt;
  if (!is_gone && error.code != Code::kUpstream) return tl::unexpected(std::move(error));
  return fail(is_gone ? Code::kInvalid : Code::kUpstream, "metadata.context_refs[{}]: {}", index,
              error.message);
}

/// `room` is what the request may hold.
Result<void> expand_now(contexts::Store& from, const std::string& tenant, Room& room,
                        request::ChatRequest& chat, const config::Config& config) {
  SIGNALBOX_TRY(const std::vector<std::string> ids,
                contexts::read_refs(chat.document, config.contexts.refs_max));
  std::vector<contexts::Store::Content> contents;
  size_t bytes = chat.document.source().size();
  for (size_t i = 0; i < ids.size(); ++i) {
    Result<contexts::Store::Content> content = from.get({tenant, ids[i]}, wall_seconds());
    if (!content) return refusal(i, std::move(content).error());
    bytes += (*content)->size();
    contents.push_back(*std::move(content));
  }
  // A request that is too large by itself gets kTooLarge: trying again would not help.
  const bool is_wide = bytes > config.http.body_bytes_max;
  if (!is_wide) {
    SIGNALBOX_TRY_VOID(room.raise(chat.memory_bytes() + bytes));
  }
  SIGNALBOX_TRY(std::string body,
                contexts::expand(chat.document, contents, config.http.body_bytes_max));
  const size_t parsing = request::ChatRequest::parsing_bytes(body);
  SIGNALBOX_TRY_VOID(room.raise(chat.memory_bytes() + parsing));
  SIGNALBOX_TRY(chat, request::ChatRequest::parse(std::move(body)));
  return {};
}

}  // namespace

int64_t wall_seconds() {
  return static_cast<int64_t>(std::time(nullptr));
}

Result<void> Contexts::open(const config::Config& config) {
  const config::ContextStore& wanted = config.contexts;
  if (!wanted.enabled) return {};
  const auto compression = static_cast<int>(wanted.compression);
  std::unique_ptr<contexts::Level> below;
  if (wanted.directory.empty()) {
    below = std::make_unique<contexts::PackedLevel>(compression);
  } else {
    auto disk = contexts::DiskLevel::open(wanted.directory, compression);
    if (!disk) return fail_in("global.stores.contexts.directory", std::move(disk).error());
    below = *std::move(disk);
  }
  SIGNALBOX_TRY(auto shared, shared_level(wanted));
  store_ = std::make_unique<contexts::Store>(limits_of(wanted), std::move(below), wall_seconds(),
                                             std::move(shared));
  for (const std::string& line : store_->rejected()) log::warn("context", "{}; left out", line);
  pager_ = std::make_unique<contexts::Pager>(*store_, kPagingInterval);
  if (!store_->shared().empty()) follower_ = std::make_unique<contexts::Follower>(*store_);
  opened_ = store_.get();
  return {};
}

void Contexts::configure(const config::ContextStore& config) {
  if (store_) store_->set_limits(limits_of(config));
}

http::Task<Result<void>> Contexts::expand(http::Exchange exchange, request::ChatRequest& chat,
                                          const config::Config& config, http::ThreadPool& pool) {
  contexts::Store* const from = store();
  if (from == nullptr)
    co_return fail(Code::kInvalid, "metadata.context_refs: this router stores no contexts");
  const std::string tenant = access::owner_of(exchange.request.headers, config);
  Result<void> outcome;
  Room room(exchange.request.memory);
  const std::function<void()> work = [&] {
    outcome = expand_now(*from, tenant, room, chat, config);
  };
  for (;;) {
    std::stop_source given_up;  // never stopped, because the work is short
    const bool ran = co_await http::run_within(pool, exchange.interrupt, given_up, work);
    if (exchange.interrupt.raised()) co_return tl::unexpected<Error>(exchange.interrupt.error());
    if (!ran) co_return fail(Code::kOverloaded, "too many requests are waiting");
    if (!room.is_lacking()) co_return outcome;
    Result<void> raised =
        co_await room.wait(chat.memory_bytes(), exchange.interrupt, config.http.body_timeout);
    if (!raised) co_return raised;
  }
}

}  // namespace signalbox::gateway
