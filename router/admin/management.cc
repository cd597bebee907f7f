// One coroutine for all routes, so that none can forget to ask who calls.

#include "router/admin/management.h"

#include <exception>

#include "base/log.h"
#include "router/http/error_reply.h"

namespace signalbox::admin {
namespace {

http::Task<> send(http::Exchange exchange, const AdminReply& answer) {
  http::Headers fields;
  fields.add("Content-Type", answer.content_type);
  if (!answer.etag.empty()) fields.add("ETag", answer.etag);
  if (answer.status == 401) fields.add("WWW-Authenticate", "Bearer");
  if (answer.status == 429) fields.add("Retry-After", "1");
  co_await exchange.reply.send(answer.status, fields, answer.body);
}

std::optional<access::Failure> refusal(const access::Access& access, std::string_view permission,
                                       const http::Request& request) {
  switch (access.check(permission, access::credentials_of(request))) {
    case access::Access::Verdict::kGranted:
      return std::nullopt;
    case access::Access::Verdict::kUnknown:
      return access::Failure{401, "UNAUTHORIZED",
                             "expected the header Authorization: Bearer TOKEN"};
    case access::Access::Verdict::kForbidden:
      return access::Failure{403, "FORBIDDEN",
                             fmt::format("the token's role lacks the permission {}", permission)};
    case access::Access::Verdict::kExposed:
      return access::Failure{
          403, "FORBIDDEN",
          "the management API listens beyond this machine and asks for no token: set "
          "global.services.management_api.auth.mode to bearer, or bind_address to "
          "127.0.0.1"};
    case access::Access::Verdict::kForeignPage:
      return access::Failure{403, "FORBIDDEN", "a page of another site may change nothing here"};
  }
  return access::Failure{500, "INTERNAL_ERROR", "no verdict"};
}

/// Why the caller is not answered; nothing for one who may be.
std::optional<access::Failure> refusal(const serving::ServingState* state,
                                       std::string_view permission, const http::Request& request) {
  if (state == nullptr)
    return access::Failure{503, "SERVICE_UNAVAILABLE", "the router is still loading its models"};
  return refusal(state->access, permission, request);
}

class ManagementHandler {
 public:
  ManagementHandler(std::string_view permission, const serving::CurrentState& live,
                    gateway::ThreadPool& pool, Work work)
      : permission_(permission), live_(live), pool_(pool), work_(std::move(work)) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const auto state = live_.get();
    AdminReply answer;
    if (auto refused = refusal(state.get(), permission_, exchange.request)) {
      answer = AdminReply::of(*refused);
    } else {
      std::function<void()> run = [&] { answer = answer_of(exchange.request, *state); };
      const bool ran = co_await pool_.run(std::move(run));
      if (!ran) answer = AdminReply::of({429, "OVERLOADED", "too many requests are waiting"});
    }
    co_await send(exchange, answer);
  }

 private:
  AdminReply answer_of(const http::Request& request, const serving::ServingState& state) const {
    try {
      return work_(request, state);
    } catch (const std::exception& e) {
      log::error("management", "{}: {}", request.path(), e.what());
      return AdminReply::of({500, "INTERNAL_ERROR", "the router failed to answer"});
    }
  }

  std::string_view permission_;
  const serving::CurrentState& live_;
  gateway::ThreadPool& pool_;
  Work work_;
};

class PassageHandler {
 public:
  PassageHandler(std::string_view permission, const serving::CurrentState& live, Passage passage)
      : permission_(permission), live_(live), passage_(std::move(passage)) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const auto state = live_.get();
    if (auto refused = refusal(state.get(), permission_, exchange.request)) {
      const AdminReply answer = AdminReply::of(*refused);
      co_await send(exchange, answer);
    } else {
      co_await passage_(exchange, state);
    }
  }

 private:
  std::string_view permission_;
  const serving::CurrentState& live_;
  Passage passage_;
};

}  // namespace

gateway::Route management_route(std::string method, std::string path, std::string_view permission,
                                const serving::CurrentState& live, gateway::ThreadPool& pool,
                                Work work) {
  return {std::move(method), std::move(path),
          ManagementHandler(permission, live, pool, std::move(work))};
}

gateway::Route management_passage(std::string method, std::string path, std::string_view permission,
                                  const serving::CurrentState& live, Passage passage) {
  return {std::move(method), std::move(path), PassageHandler(permission, live, std::move(passage))};
}

}  // namespace signalbox::admin
