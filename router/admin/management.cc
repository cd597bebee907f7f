// All routes use one coroutine, so that none can omit the access check.

#include "router/admin/management.h"

#include <exception>
#include <optional>

#include "base/log.h"
#include "router/http/error_reply.h"

namespace signalbox::admin {
namespace {

http::Task<> send(http::Exchange exchange, const AdminReply& reply) {
  http::Headers fields;
  fields.add("Content-Type", reply.content_type);
  if (!reply.etag.empty()) fields.add("ETag", reply.etag);
  if (reply.status == 401) fields.add("WWW-Authenticate", "Bearer");
  if (reply.status == 429) fields.add("Retry-After", "1");
  co_await exchange.reply.send(reply.status, fields, reply.body);
}

std::string lacks_local_token(const access::LocalToken& token) {
  if (!token.trouble.empty())
    return fmt::format(
        "this request needs the local token, and there is none: {}; otherwise set "
        "global.services.management_api.auth.mode to bearer, or auth.token_for_changes to false",
        token.trouble);
  return fmt::format(
      "this request needs the header Authorization: Bearer TOKEN with the token in {}, which only "
      "the router's user can read",
      token.file.string());
}

std::optional<access::Failure> refusal(const access::Access& access, std::string_view permission,
                                       const http::Request& request) {
  switch (access.check(permission, access::credentials_of(request))) {
    case access::Access::CheckResult::kGranted:
      return std::nullopt;
    case access::Access::CheckResult::kUnknown:
      return access::Failure{401, "UNAUTHORIZED",
                             "expected the header Authorization: Bearer TOKEN"};
    case access::Access::CheckResult::kForbidden:
      return access::Failure{403, "FORBIDDEN",
                             fmt::format("the token's role lacks the permission {}", permission)};
    case access::Access::CheckResult::kExposed:
      return access::Failure{
          403, "FORBIDDEN",
          "the management API listens beyond this machine and requires no token: set "
          "global.services.management_api.auth.mode to bearer, or bind_address to "
          "127.0.0.1"};
    case access::Access::CheckResult::kForeignPage:
      return access::Failure{403, "FORBIDDEN",
                             "a page of another site must not change anything here"};
    case access::Access::CheckResult::kNoLocalToken:
      return access::Failure{401, "UNAUTHORIZED", lacks_local_token(access.local_token())};
  }
  return access::Failure{500, "INTERNAL_ERROR", "no result of the access check"};
}

/// True for a route whose requests change the router. `path` is the route's, and not that of a
/// request, which may end with the name of a key.
bool changes_router(std::string_view method, std::string_view path, std::string_view permission) {
  if (method == "GET" || path.ends_with("/validate")) return false;
  if (method != "POST") return true;
  return permission == access::kConfigWrite || permission == access::kKeysWrite ||
         permission == access::kDataWrite;
}

// The query may hold anything, even a key, so it is left out.
audit::Entry entry_of(std::string_view event, const http::Request& request,
                      const serving::ServingState& state, const AdminReply& reply) {
  audit::Entry out(event);
  const access::Credentials caller = access::credentials_of(request);
  out.text("who", state.access.actor(caller));
  out.text("token", state.access.token_variable(caller)).text("from", request.peer);
  out.text("method", request.method).text("path", request.path()).text("what", reply.subject);
  if (!reply.body.empty()) out.number("status", reply.status);
  return out;
}

void note_refusal(const http::Request& request, const serving::ServingState& state,
                  const AdminReply& reply) {
  state.audit.add_refusal({audit::Sender::Kind::kManagement, request.peer},
                          entry_of("refused", request, state, reply));
}

/// Returns why the caller is refused, or nullopt if it is not.
std::optional<access::Failure> refusal(const serving::ServingState* state,
                                       std::string_view permission, const http::Request& request) {
  if (state == nullptr)
    return access::Failure{503, "SERVICE_UNAVAILABLE", "the router is still loading its models"};
  return refusal(state->access, permission, request);
}

class ManagementHandler {
 public:
  ManagementHandler(bool changes, std::string_view permission,
                    const std::optional<ReadingRequests>& reading,
                    const serving::CurrentState& current, http::ThreadPool& pool,
                    AdminHandler handler)
      : changes_(changes),
        permission_(permission),
        reading_(reading),
        current_(current),
        pool_(pool),
        handler_(std::move(handler)) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const auto state = current_.get();
    const bool only_reads = reading_ && reading_->only_reads(exchange.request);
    const bool changes = changes_ && !only_reads;
    AdminReply reply;
    if (auto refused = refusal(state.get(), only_reads ? reading_->permission : permission_,
                               exchange.request)) {
      reply = AdminReply::of(*refused);
      if (state != nullptr) note_refusal(exchange.request, *state, reply);
    } else {
      std::function<void()> run = [&] {
        reply = run_handler(exchange.request, *state, changes);
        // Write the line before the reply. So every change that was confirmed has its line, even if
        // the process is killed.
        if (changes) state->audit.add_written(change_entry(exchange.request, *state, reply));
      };
      const bool ran = co_await pool_.run(std::move(run));
      if (!ran) {
        reply = AdminReply::of({429, "OVERLOADED", "too many requests are waiting"});
        if (changes) state->audit.add(change_entry(exchange.request, *state, reply));
      }
    }
    co_await send(exchange, reply);
  }

 private:
  audit::Entry change_entry(const http::Request& request, const serving::ServingState& before,
                            const AdminReply& reply) const {
    audit::Entry entry = entry_of("change", request, before, reply);
    if (permission_ == access::kConfigWrite)
      entry.text("before", before.hash).text("after", current_.get()->hash);
    return entry;
  }

  AdminReply run_handler(const http::Request& request, const serving::ServingState& state,
                         bool changes) const {
    if (changes) {
      const auto noted = state.audit.announce(entry_of("change_begins", request, state, {}));
      if (!noted)
        return AdminReply::of(
            {503, "AUDIT_UNAVAILABLE",
             fmt::format("{}; until then nothing may be changed", noted.error().message)});
    }
    try {
      return handler_(request, state);
    } catch (const std::exception& e) {
      log::error("management", "{}: {}", request.path(), e.what());
      return AdminReply::of({500, "INTERNAL_ERROR", "the router did not produce a reply"});
    }
  }

  bool changes_;
  std::string_view permission_;
  std::optional<ReadingRequests> reading_;
  const serving::CurrentState& current_;
  http::ThreadPool& pool_;
  AdminHandler handler_;
};

class StreamHandler {
 public:
  StreamHandler(std::string_view permission, const serving::CurrentState& current,
                AdminStream stream)
      : permission_(permission), current_(current), stream_(std::move(stream)) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const auto state = current_.get();
    if (auto refused = refusal(state.get(), permission_, exchange.request)) {
      const AdminReply reply = AdminReply::of(*refused);
      if (state != nullptr) note_refusal(exchange.request, *state, reply);
      co_await send(exchange, reply);
    } else {
      co_await stream_(exchange, state);
    }
  }

 private:
  std::string_view permission_;
  const serving::CurrentState& current_;
  AdminStream stream_;
};

}  // namespace

http::Route management_route(std::string method, std::string path, std::string_view permission,
                             const serving::CurrentState& current, http::ThreadPool& pool,
                             AdminHandler handler) {
  const bool changes = changes_router(method, path, permission);
  return {std::move(method), std::move(path),
          ManagementHandler(changes, permission, std::nullopt, current, pool, std::move(handler))};
}

http::Route management_route(std::string method, std::string path, std::string_view permission,
                             const ReadingRequests& reading, const serving::CurrentState& current,
                             http::ThreadPool& pool, AdminHandler handler) {
  const bool changes = changes_router(method, path, permission);
  return {std::move(method), std::move(path),
          ManagementHandler(changes, permission, reading, current, pool, std::move(handler))};
}

http::Route management_stream(std::string method, std::string path, std::string_view permission,
                              const serving::CurrentState& current, AdminStream stream) {
  return {std::move(method), std::move(path),
          StreamHandler(permission, current, std::move(stream))};
}

}  // namespace signalbox::admin
