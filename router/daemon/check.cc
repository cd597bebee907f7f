// Makes those parts of the daemon that need nothing but the file, and looks at the files and
// folders that the others would open.

#include "router/daemon/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "router/access/access.h"
#include "router/access/key_file.h"
#include "router/daemon/documents.h"
#include "router/daemon/listeners.h"
#include "router/gateway/observer.h"
#include "router/http/server.h"
#include "router/http/stream.h"
#include "router/models/servers.h"
#include "router/replies/reply_guards.h"
#include "router/routing/router.h"
#include "router/spending/ledger.h"
#include "router/spending/prices.h"
#include "router/tokens/key_source.h"
#include "router/upstream/backends.h"

namespace signalbox::daemon {
namespace {

namespace fs = std::filesystem;

// The folder exists, or it can be made in its nearest ancestor that exists. Permissions do not
// count, because the router may run as another user.
Result<void> check_folder(const fs::path& path) {
  const auto failed = [&](int number) {
    return fail(Code::kIo, "{}: {}", path.string(), std::strerror(number));
  };
  struct stat found {};
  fs::path at = path.empty() ? fs::path(".") : path;
  while (::stat(at.c_str(), &found) != 0) {
    if (errno == EACCES) return {};
    if (errno != ENOENT || at == at.root_path() || at == ".") return failed(errno);
    at = at.has_parent_path() ? at.parent_path() : fs::path(".");
  }
  if (!S_ISDIR(found.st_mode)) return failed(ENOTDIR);
  const bool is_there = at == path || path.empty();
  const bool refuses = !is_there && ::faccessat(AT_FDCWD, at.c_str(), W_OK, AT_EACCESS) != 0;
  if (refuses && errno != EACCES) return failed(errno);
  return {};
}

Result<void> check_folder_in(std::string_view key, const fs::path& path) {
  auto checked = check_folder(path);
  return checked ? checked : fail_in(key, std::move(checked).error());
}

// The file can lie where it is to be made; its content is not read.
Result<void> check_file_in(std::string_view key, const fs::path& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    return fail(Code::kIo, "{}: {}: {}", key, path.string(), std::strerror(EISDIR));
  return check_folder_in(key, path.parent_path());
}

Result<void> check_folders(const config::Config& config) {
  const fs::path beside = fs::path(config.source).parent_path();
  if (!config.audit.file.empty())
    SIGNALBOX_TRY_VOID(check_file_in("global.services.audit.file", beside / config.audit.file));
  if (config.spending && !config.spending->is_common()) {
    SIGNALBOX_TRY_VOID(
        check_file_in("global.spending.file", spending::file_of(*config.spending, config.source)));
  }
  if (config.contexts.enabled && !config.contexts.directory.empty()) {
    SIGNALBOX_TRY_VOID(
        check_folder_in("global.stores.contexts.directory", config.contexts.directory));
  }
  if (config::is_served(config.vector_store))
    SIGNALBOX_TRY_VOID(check_folder_in(key_of_folder(config), folder_of_documents(config)));
  const config::Looper::FlowState& state = config.looper.flow.state;
  if (state.store_backend == "file") {
    SIGNALBOX_TRY_VOID(check_folder_in("global.integrations.looper.flow.state.file.directory",
                                       state.file.directory));
  }
  return {};
}

Result<void> check_listener(std::string_view section, const config::Listener& listener) {
  auto checked = http::Server::check(listener);
  return checked ? checked : fail_in(section, std::move(checked).error());
}

Result<void> check_listeners(const config::Config& config) {
  SIGNALBOX_TRY(const std::vector<OwnListener> own, operators_listeners(config));
  for (const OwnListener& each : own)
    SIGNALBOX_TRY_VOID(check_listener(each.section, each.listener));
  for (size_t i = 0; i < config.listeners.size(); ++i)
    SIGNALBOX_TRY_VOID(check_listener(section_of_listener(i), config.listeners[i]));
  const config::ExtProc& envoy = config.ext_proc;
  if (!envoy.enabled || envoy.tls_cert_path.empty()) return {};
  const auto tls = http::Tls::for_server(envoy.tls_cert_path, envoy.tls_key_path);
  if (!tls) return fail_in("global.services.ext_proc", tls.error());
  if (envoy.tls_client_ca_path.empty()) return {};
  const auto clients = http::Tls::for_client(envoy.tls_client_ca_path, true);
  if (!clients) return fail_in("global.services.ext_proc", clients.error());
  return {};
}

// The router's user may read a keys file that this one may not.
Result<void> check_client_keys(const config::Config& config) {
  const fs::path file = access::keys_file_of(config.access, config.source);
  const bool is_closed = ::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0;
  if (!file.empty() && !(is_closed && errno == EACCES)) {
    const auto keys = access::read_keys(file);
    if (!keys)
      return fail_in(fmt::format("{}: global.access.keys_file", config.source), keys.error());
  }
  tokens::KeySources sources;
  for (const config::TokenIssuer& issuer : config.access.tokens) {
    if (issuer.jwks_file.empty()) continue;
    const auto source = sources.of(tokens::origin_of(issuer, config.source));
    if (!source)
      return fail_in(fmt::format("global.access.tokens: {}", issuer.name), source.error());
  }
  return {};
}

void remove_certificates(config::Config& config) {
  for (config::Listener& listener : config.listeners) listener.tls_cert_path.clear();
  config.management.tls_cert_path.clear();
  config.ext_proc.tls_cert_path.clear();
  for (config::Model& model : config.providers.models) {
    for (config::BackendRef& backend : model.backend_refs) backend.tls_ca_path.clear();
  }
}

void append(std::vector<std::string>& out, const std::vector<std::string>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> notices_of(const config::Config& config) {
  std::vector<std::string> out = document_notices(config);
  if (config::shadows_of(config).empty()) return out;
  if (!config.spending) {
    out.push_back(
        fmt::format("{}: shadow_dispatch: `signalbox report` has no figures of shadows without "
                    "global.spending; metrics have them",
                    config.source));
  }
  if (config.ext_proc.enabled) {
    out.push_back(
        fmt::format("{}: shadow_dispatch: requests that come from Envoy have no shadows, because "
                    "Envoy calls the servers",
                    config.source));
  }
  return out;
}

Result<std::vector<std::string>> check(config::Config config, bool has_keys) {
  if (!has_keys) remove_certificates(config);
  if (has_keys) SIGNALBOX_TRY_VOID(check_client_keys(config));
  SIGNALBOX_TRY_VOID(check_folders(config));
  SIGNALBOX_TRY_VOID(check_listeners(config));
  std::vector<std::string> out = spending::add_prices(config);
  models::Models models;
  models.are_open = false;
  SIGNALBOX_TRY_VOID(models::open_servers(config, models));
  SIGNALBOX_TRY(const auto router, routing::Router::create(std::move(config), std::move(models)));
  const config::Config& made = router->config();
  SIGNALBOX_TRY(const auto guards, replies::ReplyGuards::create(made, router->models()));
  append(out, notices_of(made));
  upstream::Fleet fleet;
  fleet.stop();  // before it calls a server
  append(out, upstream::Backends(made, fleet).notices());
  append(out, access::Access(made.management, access::LocalToken()).notices());
  append(out, router->notices());
  observe::Metrics metrics;
  observe::LocalReplay replay;
  SIGNALBOX_TRY(const auto observer,
                gateway::Observer::create(*router, metrics, replay, nullptr, nullptr, nullptr));
  append(out, observer->notices());
  return out;
}

}  // namespace signalbox::daemon
