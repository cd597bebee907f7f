// One line a key. What is not here (timeouts and keeping of connections to upstreams, the time to
// drain) belongs to the state and changes with it.

#include "router/reload/fixed.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace signalbox::router {
namespace {

template <class T>
std::string shown(const T& value) {
  return fmt::format("{}", value);
}
std::string shown(const std::string& value) {
  return fmt::format("\"{}\"", value);
}
std::string shown(const std::optional<uint16_t>& value) {
  return value ? fmt::format("{}", *value) : "none";
}
std::string shown(std::chrono::milliseconds value) {
  return fmt::format("{}ms", value.count());
}
std::string shown(config::ModelDtype dtype) {
  return dtype == config::ModelDtype::kI8     ? "int8"
         : dtype == config::ModelDtype::kBF16 ? "bf16"
                                              : "f32";
}

class Keeper {
 public:
  template <class T>
  void keep(std::string_view path, const T& running, T& next) {
    if (running == next) return;
    lines.push_back(
        fmt::format("{}: {} takes a restart; {} stays", path, shown(next), shown(running)));
    next = running;
  }

  std::vector<std::string> lines;
};

void keep_listeners(const config::Config& running, config::Config& next, Keeper& keeper) {
  const auto find = [](std::vector<config::Listener>& all, std::string_view name) {
    return std::find_if(all.begin(), all.end(),
                        [&](const config::Listener& each) { return each.name == name; });
  };
  for (const config::Listener& listener : running.listeners) {
    const auto found = find(next.listeners, listener.name);
    if (found == next.listeners.end()) {
      keeper.lines.push_back(
          fmt::format("listeners: to close \"{}\" takes a restart; it stays open", listener.name));
      continue;
    }
    const std::string path = fmt::format("listeners.{}", listener.name);
    keeper.keep(path + ".address", listener.address, found->address);
    keeper.keep(path + ".port", listener.port, found->port);
    keeper.keep(path + ".timeout", listener.timeout, found->timeout);
    next.listeners.erase(found);
  }
  for (const config::Listener& listener : next.listeners) {
    keeper.lines.push_back(
        fmt::format("listeners: to open \"{}\" takes a restart; it stays closed", listener.name));
  }
  next.listeners = running.listeners;
}

void keep_limits(const config::HttpLimits& running, config::HttpLimits& next, Keeper& keeper) {
  const auto keep = [&](std::string_view key, const auto& from, auto& to) {
    keeper.keep(fmt::format("global.services.http.{}", key), from, to);
  };
  keep("header_bytes_max", running.header_bytes_max, next.header_bytes_max);
  keep("body_bytes_max", running.body_bytes_max, next.body_bytes_max);
  keep("header_timeout", running.header_timeout, next.header_timeout);
  keep("body_timeout", running.body_timeout, next.body_timeout);
  keep("idle_timeout", running.idle_timeout, next.idle_timeout);
  keep("connections_max", running.connections_max, next.connections_max);
  keep("threads", running.threads, next.threads);
  keep("model_threads", running.model_threads, next.model_threads);
  keep("model_queue_max", running.model_queue_max, next.model_queue_max);
  keep("model_dtype", running.model_dtype, next.model_dtype);
  keep("bodies_bytes_max", running.bodies_bytes_max, next.bodies_bytes_max);
}

/// Not shown as they are: there is a password among them.
void keep_shared_contexts(const config::ContextStore& running, config::ContextStore& next,
                          Keeper& keeper) {
  if (running.redis == next.redis) return;
  keeper.lines.push_back("global.stores.contexts.redis: a change takes a restart");
  next.redis = running.redis;
}

void keep_kubernetes(const config::Config& running, config::Config& next, Keeper& keeper) {
  keeper.keep("global.router.config_source", running.router.config_source,
              next.router.config_source);
  const auto keep = [&](std::string_view key, const auto& from, auto& to) {
    keeper.keep(fmt::format("global.services.kubernetes.{}", key), from, to);
  };
  const config::Kubernetes& from = running.kubernetes;
  config::Kubernetes& to = next.kubernetes;
  keep("files", from.files, to.files);
  keep("server", from.server, to.server);
  keep("namespace", from.namespace_name, to.namespace_name);
  keep("service_account", from.service_account, to.service_account);
  keep("debounce", from.debounce, to.debounce);
  keep("write_status", from.write_status, to.write_status);
}

}  // namespace

std::vector<std::string> keep_fixed(const config::Config& running, config::Config& next) {
  Keeper keeper;
  keep_listeners(running, next, keeper);
  keep_limits(running.http, next.http, keeper);
  const auto keep_ext_proc = [&](std::string_view key, const auto& from, auto& to) {
    keeper.keep(fmt::format("global.services.ext_proc.{}", key), from, to);
  };
  keep_ext_proc("enabled", running.ext_proc.enabled, next.ext_proc.enabled);
  keep_ext_proc("address", running.ext_proc.address, next.ext_proc.address);
  keep_ext_proc("port", running.ext_proc.port, next.ext_proc.port);
  keep_ext_proc("streams_max", running.ext_proc.streams_max, next.ext_proc.streams_max);
  keep_ext_proc("timeout", running.ext_proc.timeout, next.ext_proc.timeout);
  keep_kubernetes(running, next, keeper);
  const auto keep = [&](std::string_view key, const auto& from, auto& to) {
    keeper.keep(fmt::format("global.services.management_api.{}", key), from, to);
  };
  keep("enabled", running.management.enabled, next.management.enabled);
  keep("bind_address", running.management.bind_address, next.management.bind_address);
  keep("port", running.management.port, next.management.port);
  const auto keep_metrics = [&](std::string_view key, const auto& from, auto& to) {
    keeper.keep(fmt::format("global.services.observability.metrics.{}", key), from, to);
  };
  keep_metrics("bind_address", running.observability.metrics.bind_address,
               next.observability.metrics.bind_address);
  keeper.keep("global.stores.contexts.enabled", running.contexts.enabled, next.contexts.enabled);
  keeper.keep("global.stores.contexts.directory", running.contexts.directory,
              next.contexts.directory);
  keeper.keep("global.stores.contexts.compression", running.contexts.compression,
              next.contexts.compression);
  keep_shared_contexts(running.contexts, next.contexts, keeper);
  keep_metrics("port", running.observability.metrics.port, next.observability.metrics.port);
  return keeper.lines;
}

}  // namespace signalbox::router
