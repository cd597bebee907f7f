// Redis keeps a state as one text with a lifetime, and bounds the memory of all of them itself.
//
//   PREFIX ID    a state

#include <utility>

#include "router/flow_states/flow_states.h"
#include "router/flow_states/state_id.h"
#include "router/stores/redis_config.h"

namespace signalbox::flow_states {
namespace {

constexpr std::string_view kSection = "global.integrations.looper.flow.state";

class RedisStates final : public FlowStates {
 public:
  RedisStates(stores::RedisServer server, const config::Redis& config, const Limits& limits)
      : redis_(std::move(server)), limits_(limits) {
    if (!config.key_prefix.empty()) prefix_ = config.key_prefix;
    stores::set_seconds(config.read_timeout, read_limit_);
    stores::set_seconds(config.write_timeout, write_limit_);
  }

  Result<void> put(std::string_view id, std::string text) override {
    SIGNALBOX_CHECK(is_id(id));
    if (text.size() > limits_.state_bytes)
      return fail(Code::kTooLarge, "the state has {} bytes, more than {}", text.size(),
                  limits_.state_bytes);
    const std::string lifetime = std::to_string(limits_.lifetime.count());
    const std::string key = prefix_ + std::string(id);
    auto done = redis_.run({"SET", key, text, "EX", lifetime}, write_limit_);
    if (!done) return fail_in(redis_.name(), std::move(done).error());
    return {};
  }

  Result<std::string> get(std::string_view id) override {
    if (!is_id(id)) return fail(Code::kNotFound, "there is no such state");
    const std::string key = prefix_ + std::string(id);
    auto found = redis_.run({"GET", key}, read_limit_);
    if (!found) return fail_in(redis_.name(), std::move(found).error());
    if (!found->is_text()) return fail(Code::kNotFound, "there is no such state");
    return std::move(found->text);
  }

 private:
  stores::Redis redis_;
  const Limits limits_;
  std::string prefix_ = "signalbox:flow:";
  std::chrono::milliseconds read_limit_{500}, write_limit_{500};
};

}  // namespace

Result<std::unique_ptr<FlowStates>> open(const config::Looper::FlowState& config) {
  Limits limits;
  if (config.ttl_seconds > 0) limits.lifetime = std::chrono::seconds(config.ttl_seconds);
  if (config::is_shared(config.store_backend, config.redis)) {
    auto server = stores::redis_server(config.redis);
    if (!server) return fail_in(kSection, std::move(server).error());
    return std::make_unique<RedisStates>(*std::move(server), config.redis, limits);
  }
  const bool has_folder = config.store_backend == "file";
  auto local = open_local(has_folder ? config.file.directory : std::string(), limits);
  if (!local) return fail_in(fmt::format("{}.file.directory", kSection), std::move(local).error());
  return local;
}

}  // namespace signalbox::flow_states
