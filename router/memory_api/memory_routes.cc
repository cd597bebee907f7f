// A memory of another user is reported as not found, like one that never existed.

#include "router/memory_api/memory_routes.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "router/access/access.h"
#include "router/access/owner.h"
#include "router/admin/query.h"
#include "router/config/access.h"
#include "router/http/error_reply.h"
#include "router/http/json_reply.h"

namespace signalbox::memory_api {
namespace {

using memories::Memories;
using memories::Memory;

constexpr std::string_view kPath = "/v1/memory";
constexpr size_t kListed = 20;
constexpr size_t kListedMax = 100;
constexpr size_t kUserBytesMax = 1024;
/// The kinds of memories that the Semantic Router knows. A turn is an episode.
constexpr std::array<std::string_view, 3> kTypes{"semantic", "procedural", "episodic"};
constexpr std::string_view kOurType = "episodic";

/// One request for the memories of one user.
struct MemoryCall {
  Memories& memories;
  const http::Request& request;
  std::string user;

  std::string_view id() const { return request.path().substr(kPath.size() + 1); }
};
using Operation = Result<std::string> (*)(const MemoryCall&);

void write_memory(json::Writer& out, const Memory& memory, std::string_view user) {
  out.begin_object().member("id", memory.id).member("type", kOurType);
  out.member("content", fmt::format("Q: {}\nA: {}", memory.text, memory.answer));
  out.member("user_id", user).member("source", "conversation");
  out.member("created_at", access::timestamp(memory.created));
  out.member("last_accessed", access::timestamp(memory.used));
  out.member("access_count", static_cast<int64_t>(memory.uses)).end_object();
}

/// Returns whether the parameter `type` includes our memories.
Result<bool> includes_ours(const MemoryCall& call) {
  const std::string type = admin::query_value(call.request.query(), "type");
  if (type.empty()) return true;
  if (std::ranges::find(kTypes, type) == kTypes.end())
    return fail(Code::kInvalid, "type: expected semantic, procedural or episodic, found {}",
                json::quote_briefly(type));
  return type == kOurType;
}

Result<std::string> list(const MemoryCall& call) {
  SIGNALBOX_TRY(const bool ours, includes_ours(call));
  SIGNALBOX_TRY(const size_t limit,
                admin::query_number(call.request.query(), "limit", kListed, kListedMax));
  Memories::Page page;
  if (ours) {
    SIGNALBOX_TRY(page, call.memories.list(call.user, limit, memories::TimePoint::clock::now()));
  }
  json::Writer out;
  out.begin_object().key("memories").begin_array();
  for (const Memory& each : page.memories) write_memory(out, each, call.user);
  out.end_array().member("total", static_cast<int64_t>(page.total));
  return out.member("limit", static_cast<int64_t>(limit)).end_object().take();
}

tl::unexpected<Error> not_found(std::string_view id) {
  return fail(Code::kNotFound, "the user has no memory {}", json::quote_briefly(id));
}

Result<std::string> show(const MemoryCall& call) {
  SIGNALBOX_TRY(const std::optional<Memory> found,
                call.memories.find(call.user, call.id(), memories::TimePoint::clock::now()));
  if (!found) return not_found(call.id());
  json::Writer out;
  write_memory(out, *found, call.user);
  return out.take();
}

std::string deleted(size_t count) {
  json::Writer out;
  out.begin_object().member("success", true).member("deleted", static_cast<int64_t>(count));
  return out.end_object().take();
}

Result<std::string> remove_all(const MemoryCall& call) {
  SIGNALBOX_TRY(const bool ours, includes_ours(call));
  if (!ours) return deleted(0);
  SIGNALBOX_TRY(const size_t count, call.memories.forget_all(call.user));
  return deleted(count);
}

Result<std::string> remove_one(const MemoryCall& call) {
  SIGNALBOX_TRY(const bool had, call.memories.forget(call.user, call.id()));
  if (!had) return not_found(call.id());
  return deleted(1);
}

struct MemoryRoute {
  const char* method;
  bool is_one;
  Operation operation;
};
constexpr MemoryRoute kRoutes[] = {{"GET", false, list},
                                   {"GET", true, show},
                                   {"DELETE", false, remove_all},
                                   {"DELETE", true, remove_one}};

std::string path_of(const MemoryRoute& route) {
  return route.is_one ? fmt::format("{}/", kPath) : std::string(kPath);
}

/// A user with ten thousand memories takes the store some milliseconds, so it works on the pool.
class ClientMemory {
 public:
  ClientMemory(Memories& memories, const config::Config& config, http::ThreadPool& pool,
               Operation operation)
      : memories_(memories), config_(config), pool_(pool), operation_(operation) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const http::Request& request = exchange.request;
    const auto header = request.headers.find(config_.authz.identity.user_id_header);
    MemoryCall call{memories_, request, std::string(config::identity_of(header.value_or("")))};
    if (call.user.empty()) {
      co_await http::send_refusal(exchange.reply, {}, 403,
                                  "memories belong to users, and the request names none",
                                  http::kMissingIdentity);
      co_return;
    }
    const http::Share share{access::client_of(request, config_)};
    std::function<Result<std::string>()> work = [&] { return operation_(call); };
    co_await http::send_json_from(pool_, share, exchange, std::move(work));
  }

 private:
  Memories& memories_;
  const config::Config& config_;
  http::ThreadPool& pool_;
  const Operation operation_;
};

admin::AdminReply answer_operator(Memories& memories, const http::Request& request,
                                  Operation operation) {
  MemoryCall call{memories, request, admin::query_value(request.query(), "user_id")};
  if (call.user.empty() || call.user.size() > kUserBytesMax) {
    return admin::AdminReply::of(
        {400, "INVALID_INPUT",
         fmt::format("user_id: expected the user whose memories are meant, with at most {} bytes",
                     kUserBytesMax)});
  }
  const Result<std::string> body = operation(call);
  admin::AdminReply reply = body ? admin::AdminReply{200, *body}
                                 : admin::AdminReply::of(access::failure_of(body.error()));
  reply.subject = fmt::format("memories of {}", call.user);
  return reply;
}

}  // namespace

std::vector<http::Route> client_routes(Memories& memories, const config::Config& config,
                                       http::ThreadPool& pool) {
  std::vector<http::Route> out;
  for (const MemoryRoute& route : kRoutes)
    out.push_back(
        {route.method, path_of(route), ClientMemory(memories, config, pool, route.operation)});
  return out;
}

std::vector<http::Route> operator_routes(Memories& memories, const serving::CurrentState& current,
                                         http::ThreadPool& pool) {
  std::vector<http::Route> out;
  for (const MemoryRoute& route : kRoutes) {
    const bool reads = std::string_view(route.method) == "GET";
    out.push_back(
        admin::management_route(route.method, path_of(route),
                                reads ? access::kReplayDetail : access::kDataWrite, current, pool,
                                [&memories, operation = route.operation](
                                    const http::Request& request, const serving::ServingState&) {
                                  return answer_operator(memories, request, operation);
                                }));
  }
  return out;
}

}  // namespace signalbox::memory_api
