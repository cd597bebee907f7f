// One line per key. Settings that are missing here (timeouts and idle connections of upstreams, the
// drain time) belong to the state and change with it.

#include "router/serving/restart_only.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace signalbox::serving {
namespace {

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of(const std::string& value) {
  return fmt::format("\"{}\"", value);
}
std::string text_of(const std::optional<uint16_t>& value) {
  return value ? fmt::format("{}", *value) : "none";
}
std::string text_of(std::chrono::milliseconds value) {
  return fmt::format("{}ms", value.count());
}
std::string text_of(config::ModelDtype dtype) {
  return dtype == config::ModelDtype::kI8     ? "int8"
         : dtype == config::ModelDtype::kBF16 ? "bf16"
                                              : "f32";
}

/// Collects the lines for the keys of one section. All sections share the lines.
class SettingKeeper {
 public:
  explicit SettingKeeper(std::vector<std::string>& to, std::string section = "")
      : lines(to), section_(std::move(section)) {}
  SettingKeeper in(std::string_view section) const {
    return SettingKeeper(lines, fmt::format("{}{}.", section_, section));
  }
  template <class T>
  void keep(std::string_view key, const T& running, T& next) {
    if (running == next) return;
    lines.push_back(fmt::format("{}{}: {} requires a restart; {} stays", section_, key,
                                text_of(next), text_of(running)));
    next = running;
  }
  /// Its values are not shown, because they contain a password.
  template <class T>
  void keep_server(std::string_view key, const T& running, T& next) {
    if (running == next) return;
    lines.push_back(fmt::format("{}{}: a change requires a restart", section_, key));
    next = running;
  }

  std::vector<std::string>& lines;

 private:
  std::string section_;
};

void keep_listeners(const config::Config& running, config::Config& next,
                    const SettingKeeper& keeper) {
  const auto find = [](std::vector<config::Listener>& all, std::string_view name) {
    return std::find_if(all.begin(), all.end(),
                        [&](const config::Listener& each) { return each.name == name; });
  };
  for (const config::Listener& listener : running.listeners) {
    const auto found = find(next.listeners, listener.name);
    if (found == next.listeners.end()) {
      keeper.lines.push_back(fmt::format(
          "listeners: closing \"{}\" requires a restart; it stays open", listener.name));
      continue;
    }
    SettingKeeper keys = keeper.in(fmt::format("listeners.{}", listener.name));
    keys.keep("address", listener.address, found->address);
    keys.keep("port", listener.port, found->port);
    keys.keep("timeout", listener.timeout, found->timeout);
    keys.keep("tls_cert_path", listener.tls_cert_path, found->tls_cert_path);
    keys.keep("tls_key_path", listener.tls_key_path, found->tls_key_path);
    next.listeners.erase(found);
  }
  for (const config::Listener& listener : next.listeners) {
    keeper.lines.push_back(fmt::format(
        "listeners: opening \"{}\" requires a restart; it stays closed", listener.name));
  }
  next.listeners = running.listeners;
}

void keep_limits(const config::HttpLimits& running, config::HttpLimits& next, SettingKeeper keys) {
  keys.keep("header_bytes_max", running.header_bytes_max, next.header_bytes_max);
  keys.keep("body_bytes_max", running.body_bytes_max, next.body_bytes_max);
  keys.keep("header_timeout", running.header_timeout, next.header_timeout);
  keys.keep("body_timeout", running.body_timeout, next.body_timeout);
  keys.keep("idle_timeout", running.idle_timeout, next.idle_timeout);
  keys.keep("connections_max", running.connections_max, next.connections_max);
  keys.keep("threads", running.threads, next.threads);
  keys.keep("model_threads", running.model_threads, next.model_threads);
  keys.keep("model_queue_max", running.model_queue_max, next.model_queue_max);
  keys.keep("model_dtype", running.model_dtype, next.model_dtype);
  keys.keep("bodies_bytes_max", running.bodies_bytes_max, next.bodies_bytes_max);
}

void keep_ext_proc(const config::ExtProc& running, config::ExtProc& next, SettingKeeper keys) {
  keys.keep("enabled", running.enabled, next.enabled);
  keys.keep("address", running.address, next.address);
  keys.keep("port", running.port, next.port);
  keys.keep("streams_max", running.streams_max, next.streams_max);
  keys.keep("timeout", running.timeout, next.timeout);
  keys.keep("tls_cert_path", running.tls_cert_path, next.tls_cert_path);
  keys.keep("tls_key_path", running.tls_key_path, next.tls_key_path);
  keys.keep("tls_client_ca_path", running.tls_client_ca_path, next.tls_client_ca_path);
}

void keep_kubernetes(const config::Kubernetes& running, config::Kubernetes& next,
                     SettingKeeper keys) {
  keys.keep("files", running.files, next.files);
  keys.keep("server", running.server, next.server);
  keys.keep("namespace", running.namespace_name, next.namespace_name);
  keys.keep("service_account", running.service_account, next.service_account);
  keys.keep("debounce", running.debounce, next.debounce);
  keys.keep("write_status", running.write_status, next.write_status);
}

void keep_management(const config::ManagementApi& running, config::ManagementApi& next,
                     SettingKeeper keys) {
  keys.keep("enabled", running.enabled, next.enabled);
  keys.keep("bind_address", running.bind_address, next.bind_address);
  keys.keep("port", running.port, next.port);
  keys.keep("tls_cert_path", running.tls_cert_path, next.tls_cert_path);
  keys.keep("tls_key_path", running.tls_key_path, next.tls_key_path);
}

void keep_metrics(const config::Observability::Metrics& running,
                  config::Observability::Metrics& next, SettingKeeper keys) {
  keys.keep("bind_address", running.bind_address, next.bind_address);
  keys.keep("port", running.port, next.port);
}

void keep_audit(const config::Audit& running, config::Audit& next, SettingKeeper keys) {
  keys.keep("file", running.file, next.file);
  keys.keep("bytes_max", running.bytes_max, next.bytes_max);
  keys.keep("files_max", running.files_max, next.files_max);
  if (running.unwritable == next.unwritable) return;
  keys.lines.push_back("global.services.audit.unwritable: a change requires a restart");
  next.unwritable = running.unwritable;
}

void keep_spending(const config::Config& running, config::Config& next, SettingKeeper keys) {
  if (running.spending.has_value() != next.spending.has_value()) {
    keys.lines.push_back("global.spending: to begin or to end counting requires a restart");
    next.spending = running.spending;
  } else if (running.spending) {
    keys.keep("backend", running.spending->backend, next.spending->backend);
    keys.keep("file", running.spending->file, next.spending->file);
    keys.keep_server("postgres", running.spending->postgres, next.spending->postgres);
  }
}

void keep_contexts(const config::ContextStore& running, config::ContextStore& next,
                   SettingKeeper keys) {
  keys.keep("enabled", running.enabled, next.enabled);
  keys.keep("directory", running.directory, next.directory);
  keys.keep("compression", running.compression, next.compression);
  keys.keep_server("redis", running.redis, next.redis);
}

void keep_vector_store(const config::VectorStore& running, config::VectorStore& next,
                       SettingKeeper keys) {
  keys.keep("enabled", running.enabled, next.enabled);
  keys.keep("backend_type", running.backend_type, next.backend_type);
  keys.keep("file_storage_dir", running.file_storage_dir, next.file_storage_dir);
  keys.keep("ingestion_workers", running.ingestion_workers, next.ingestion_workers);
}

void keep_response_api(const config::ResponseApi& running, config::ResponseApi& next,
                       SettingKeeper keys) {
  keys.keep("store_backend", running.store_backend, next.store_backend);
  keys.keep_server("redis", running.redis, next.redis);
  keys.keep_server("postgres", running.postgres, next.postgres);
  // The API would keep its responses in memory.
  if (next.is_shared() && !running.enabled) keys.keep("enabled", running.enabled, next.enabled);
}

void keep_replay(const config::RouterReplay& running, config::RouterReplay& next,
                 SettingKeeper keys) {
  if (running.is_shared() || next.is_shared())
    keys.keep("store_backend", running.store_backend, next.store_backend);
  keys.keep_server("redis", running.redis, next.redis);
  keys.keep_server("postgres", running.postgres, next.postgres);
}

void keep_learning(const config::Learning::StateStore& running, config::Learning::StateStore& next,
                   SettingKeeper keys) {
  if (running.is_shared() || next.is_shared()) {
    keys.keep("backend", running.backend, next.backend);
    keys.keep("timeout_ms", running.timeout_ms, next.timeout_ms);
  }
  keys.keep_server("redis", running.redis, next.redis);
}

void keep_memory(const config::MemoryStore& running, config::MemoryStore& next,
                 SettingKeeper keys) {
  if (is_shared(running) || is_shared(next)) keys.keep("backend", running.backend, next.backend);
  // The values are not shown, because they contain a password.
  if (running.redis == next.redis && running.valkey == next.valkey &&
      running.milvus == next.milvus && running.qdrant == next.qdrant)
    return;
  keys.lines.push_back("global.stores.memory: a change of the server requires a restart");
  next.redis = running.redis;
  next.valkey = running.valkey;
  next.milvus = running.milvus;
  next.qdrant = running.qdrant;
}

void keep_flow_state(const config::Looper::FlowState& running, config::Looper::FlowState& next,
                     SettingKeeper keys) {
  keys.keep("store_backend", running.store_backend, next.store_backend);
  keys.keep("ttl_seconds", running.ttl_seconds, next.ttl_seconds);
  keys.keep("file.directory", running.file.directory, next.file.directory);
  keys.keep_server("redis", running.redis, next.redis);
}

}  // namespace

std::vector<std::string> keep_restart_only(const config::Config& running, config::Config& next) {
  std::vector<std::string> lines;
  const SettingKeeper all(lines), services = all.in("global.services");
  keep_listeners(running, next, all);
  keep_limits(running.http, next.http, services.in("http"));
  keep_ext_proc(running.ext_proc, next.ext_proc, services.in("ext_proc"));
  all.in("global.router")
      .keep("config_source", running.router.config_source, next.router.config_source);
  keep_kubernetes(running.kubernetes, next.kubernetes, services.in("kubernetes"));
  keep_management(running.management, next.management, services.in("management_api"));
  keep_metrics(running.observability.metrics, next.observability.metrics,
               services.in("observability.metrics"));
  keep_contexts(running.contexts, next.contexts, all.in("global.stores.contexts"));
  keep_vector_store(running.vector_store, next.vector_store, all.in("global.stores.vector_store"));
  keep_response_api(running.response_api, next.response_api, services.in("response_api"));
  keep_replay(running.router_replay, next.router_replay, services.in("router_replay"));
  keep_learning(running.router.learning.state_store, next.router.learning.state_store,
                all.in("global.router.learning.state_store"));
  keep_flow_state(running.looper.flow.state, next.looper.flow.state,
                  all.in("global.integrations.looper.flow.state"));
  all.in("global.stores.shared_counts")
      .keep_server("redis", running.shared_counts.redis, next.shared_counts.redis);
  keep_memory(running.memory, next.memory, all.in("global.stores.memory"));
  keep_spending(running, next, all.in("global.spending"));
  keep_audit(running.audit, next.audit, services.in("audit"));
  return lines;
}

}  // namespace signalbox::serving
