// A page may contact only this listener and run only its own script. Text in a prompt or a
// configuration can therefore neither load nor send anything.

#include "router/admin/dashboard_routes.h"

#include <chrono>
#include <filesystem>

#include "base/json_writer.h"
#include "router/admin/dashboard/files.h"
#include "router/admin/query.h"
#include "router/audit/newest.h"
#include "router/dialects/dialect.h"

namespace signalbox::admin {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr size_t kStepMax = size_t{1} << 53;
constexpr size_t kEntriesMax = 1000;

bool takes_gzip(const http::Headers& headers) {
  const auto accepted = headers.find("accept-encoding");
  return accepted && accepted->find("gzip") != std::string_view::npos;
}

http::Task<> send_file(http::Exchange exchange, dashboard::File file) {
  const http::Headers& request_headers = exchange.request.headers;
  http::Headers fields;
  fields.add("ETag", file.etag);
  fields.add("Cache-Control", "no-cache");
  fields.add("Vary", "Accept-Encoding");
  fields.add("Content-Security-Policy", kPolicy);
  fields.add("X-Content-Type-Options", "nosniff");
  fields.add("Referrer-Policy", "no-referrer");
  const auto known = request_headers.find("if-none-match");
  if (known && known->find(file.etag) != std::string_view::npos) {
    co_await exchange.reply.send(304, fields, {});
    co_return;
  }
  fields.add("Content-Type", file.content_type);
  const bool gzipped = takes_gzip(request_headers);
  if (gzipped) fields.add("Content-Encoding", "gzip");
  co_await exchange.reply.send(200, fields, gzipped ? file.zipped : file.bytes);
}

AdminReply access(const http::Request& request, const serving::ServingState& state) {
  json::Writer out;
  out.begin_object().member("version", SIGNALBOX_VERSION);
  out.member("asks_for_token", state.access.requires_tokens());
  const access::LocalToken& local = state.access.local_token();
  out.member("changes_need_token", local.required);
  if (!local.file.empty()) out.member("token_file", local.file.string());
  if (!local.trouble.empty()) out.member("no_token", local.trouble);
  out.key("permissions").begin_array();
  for (const std::string_view permission : state.access.granted(access::credentials_of(request)))
    out.string(permission);
  return {200, out.end_array().end_object().take()};
}

AdminReply traffic(const http::Request& request, const observe::History& history) {
  const auto from = query_number(request.query(), "from", 0, kStepMax);
  if (!from) return AdminReply::of(access::failure_of(from.error()));
  return {200, history.json(*from)};
}

void write_server(json::Writer& out, const workers::Balancer::Status& server) {
  const auto count = [](uint64_t value) { return static_cast<int64_t>(value); };
  out.begin_object().member("name", server.name);
  out.member("fit", server.healthy && !server.ejected).member("healthy", server.healthy);
  out.member("ejected", server.ejected).member("weight", int64_t{server.weight});
  out.member("in_flight", int64_t{server.in_flight}).member("others", server.others);
  out.member("waiting", server.waiting).member("cache_usage", server.cache_usage);
  out.member("answered", count(server.answered)).member("failed", count(server.failed));
  out.member("ejections", count(server.ejections)).end_object();
}

AdminReply servers(const upstream::Fleet& fleet) {
  json::Writer out;
  out.begin_object().key("models").begin_array();
  for (const auto& [model, balancer] : fleet.balancers()) {
    out.begin_object().member("model", model);
    out.member("queued", static_cast<int64_t>(balancer->waiting()));
    if (const uint32_t most = balancer->settings().max_in_flight; most > 0)
      out.member("max_in_flight", int64_t{most});
    out.key("servers").begin_array();
    for (const auto& server : balancer->status(std::chrono::steady_clock::now()))
      write_server(out, server);
    out.end_array().end_object();
  }
  return {200, out.end_array().end_object().take()};
}

Result<void> write_entries(json::Writer& out, std::string_view name,
                           const std::filesystem::path& file, size_t count) {
  SIGNALBOX_TRY(const std::vector<std::string> lines, audit::newest_lines(file, count));
  out.key(name).begin_array();
  for (const std::string& line : lines) out.raw(line);
  out.end_array();
  return {};
}

AdminReply audit_log(const http::Request& request, const audit::Log& log) {
  const auto limit = query_number(request.query(), "limit", 100, kEntriesMax);
  if (!limit) return AdminReply::of(access::failure_of(limit.error()));
  if (!log.is_open())
    return AdminReply::of({404, "NOT_FOUND",
                           "there is no audit log: the configuration has no "
                           "global.services.audit.file"});
  json::Writer out;
  out.begin_object().member("file", log.file().filename().string());
  for (const auto& [name, file] : {std::pair("changes", log.file()),
                                   std::pair("refusals", audit::refusals_file(log.file()))}) {
    if (const auto done = write_entries(out, name, file, *limit); !done)
      return AdminReply::of({500, "READ_ERROR", done.error().message});  // 404 is: there is no log
  }
  return {200, out.end_object().take()};
}

// Removes the browser's own fields, above all its token for this listener, which no model server
// may receive.
http::Task<> send_chat(http::Exchange exchange,
                       std::shared_ptr<const serving::ServingState> state) {
  http::Headers fields;
  fields.add("Content-Type", "application/json");
  fields.add("User-Agent", "signalbox-dashboard");
  exchange.request.headers = std::move(fields);
  exchange.request.target = dialects::kChatPath;
  co_await state->handler(exchange);
}

}  // namespace

std::vector<http::Route> dashboard_routes(const observe::History& history,
                                          const upstream::Fleet& fleet,
                                          const serving::CurrentState& current,
                                          http::ThreadPool& pool) {
  std::vector<http::Route> routes;
  routes.push_back(
      management_route("GET", "/api/v1/access", access::kAnyone, current, pool, access));
  routes.push_back(management_route(
      "GET", "/api/v1/traffic", "metrics.read", current, pool,
      [&history](const http::Request& request, const auto&) { return traffic(request, history); }));
  routes.push_back(management_route(
      "GET", "/api/v1/servers", "metrics.read", current, pool,
      [&fleet](const http::Request&, const serving::ServingState&) { return servers(fleet); }));
  routes.push_back(
      management_route("GET", "/api/v1/audit", access::kAuditRead, current, pool,
                       [](const http::Request& request, const serving::ServingState& state) {
                         return audit_log(request, state.audit);
                       }));
  routes.push_back(management_stream("POST", "/api/v1/chat", access::kChat, current, send_chat));
  return routes;
}

std::vector<http::Route> dashboard_files() {
  std::vector<http::Route> routes;
  for (const char* path : {"/", "/app.js", "/app.css", "/icon.svg", "/licenses.txt"}) {
    if (const auto file = dashboard::file(path))
      routes.push_back({"GET", path, [file = *file](http::Exchange exchange) {
                          return send_file(exchange, file);
                        }});
  }
  return routes;
}

}  // namespace signalbox::admin
