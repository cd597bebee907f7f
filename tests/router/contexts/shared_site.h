#pragma once
// The levels through which routers share contexts in tests: a double in memory whose clock can be
// set, and a real Redis.

#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "router/contexts/redis_level.h"
#include "tests/router/contexts/stores.h"
#include "tests/router/redis_process.h"

namespace signalbox::contexts {

/// The double's server.
struct SharedMemory {
  struct Kept {
    Context context;
    std::string content;
    int64_t until = 0;  // 0: no expiry
  };
  std::mutex mutex;
  std::map<Key, Kept> kept;
  std::map<Key, int64_t> dropped;
  std::vector<std::pair<const void*, SharedChange>> log;
  bool is_away = false;
  int64_t now = kNow;
  int puts = 0;
};

class SharedDouble final : public SharedLevel {
 public:
  explicit SharedDouble(SharedMemory& server) : server_(server) {}

  std::string_view name() const override { return "double"; }
  Result<uint64_t> put(const Context& context, std::string_view content, int64_t ttl_s) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    ++server_.puts;
    Context now = context;
    now.shared = true;
    server_.kept[context.key] = {now, std::string(content), until(context, ttl_s)};
    server_.dropped.erase(context.key);
    publish(now, false);
    return 10;
  }
  Result<std::string> get(const Context& context) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    const auto at = server_.kept.find(context.key);
    if (at == server_.kept.end()) return fail(Code::kNotFound, "not there");
    return at->second.content;
  }
  Result<std::optional<Shared>> find(const Key& key) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    const auto at = server_.kept.find(key);
    if (at == server_.kept.end()) return std::nullopt;
    return Shared{at->second.context, 10};
  }
  Result<bool> touch(const Context& context, int64_t ttl_s) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    const auto at = server_.kept.find(context.key);
    if (at != server_.kept.end()) at->second.until = until(context, ttl_s);
    return at != server_.kept.end();
  }
  Result<std::optional<int64_t>> idle(const Context& context, int64_t ttl_s) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    const auto at = server_.kept.find(context.key);
    if (at == server_.kept.end()) return std::nullopt;
    return at->second.until == 0 ? 0 : ttl_s - (at->second.until - server_.now);
  }
  Result<void> drop(const Context& context, int64_t) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    server_.kept.erase(context.key);
    server_.dropped[context.key] = server_.now;
    publish(context, true);
    return {};
  }
  Result<void> pin(const Context& context, int64_t ttl_s) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    const auto at = server_.kept.find(context.key);
    if (at == server_.kept.end()) return {};
    at->second.context.pinned = context.pinned;
    at->second.until = until(context, ttl_s);
    publish(context, false);
    return {};
  }
  Result<Survey> survey() override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    Survey out{std::to_string(server_.log.size()), {}};
    for (const auto& [key, kept] : server_.kept) out.all.push_back({kept.context, 10});
    return out;
  }
  Result<std::vector<std::optional<int64_t>>> dropped(std::span<const Key> keys) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    std::vector<std::optional<int64_t>> out;
    for (const Key& key : keys) {
      const auto at = server_.dropped.find(key);
      out.push_back(at == server_.dropped.end() ? std::nullopt : std::optional(at->second));
    }
    return out;
  }
  Result<std::vector<SharedChange>> follow(std::string& cursor,
                                           std::chrono::milliseconds) override {
    const std::lock_guard lock(server_.mutex);
    SIGNALBOX_TRY_VOID(answers());
    std::vector<SharedChange> out;
    for (size_t i = std::stoul(cursor); i < server_.log.size(); ++i) {
      const auto& [by, change] = server_.log[i];
      if (by != this || change.is_gone) out.push_back(change);
    }
    cursor = std::to_string(server_.log.size());
    return out;
  }

 private:
  Result<void> answers() {
    std::erase_if(server_.kept, [this](const auto& each) {
      return each.second.until != 0 && each.second.until <= server_.now;
    });
    if (server_.is_away) return fail(Code::kUpstream, "away");
    return {};
  }
  int64_t until(const Context& context, int64_t ttl_s) const {
    return context.pinned || ttl_s == 0 ? 0 : server_.now + ttl_s;
  }
  void publish(const Context& context, bool is_gone) {
    server_.log.push_back({this, {{context, 10}, is_gone}});
  }

  SharedMemory& server_;
};

class RedisSite {
 public:
  explicit RedisSite(bool is_secure = false) : process_(is_secure) {}
  /// Starts the server. Its contents are lost when it ends, unless it `writes_down`.
  void start(bool writes_down = false) {
    process_.start({"--appendonly", writes_down ? "yes" : "no", "--appendfsync", "always",
                    "--maxmemory", "16mb"});
  }
  /// Uses the limits of a router, or limits that even a busy machine does not exceed.
  std::unique_ptr<SharedLevel> level(bool is_patient = true) const {
    RedisLevelOptions options;
    options.server = process_.address();
    if (is_patient) {
      options.server.connect_limit = std::chrono::seconds(10);
      options.read_limit = options.write_limit = std::chrono::seconds(10);
    }
    return make_redis_level(std::move(options));
  }
  test::ServerProcess& server() { return process_.server(); }

 private:
  test::RedisProcess process_;
};

}  // namespace signalbox::contexts
