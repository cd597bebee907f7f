// Storing reads, packs and syncs, so all of it runs on the pool. Another client's context is
// answered like one that does not exist.

#include "router/admin/context_routes.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "router/access/owner.h"
#include "router/admin/query.h"
#include "router/gateway/contexts.h"
#include "router/http/error_reply.h"
#include "router/request/chat_request.h"

#include <functional>

namespace signalbox::admin {
namespace {

using contexts::Context;
using contexts::Key;
using contexts::Store;

constexpr std::string_view kContextsPath = "/v1/contexts";
constexpr std::string_view kPin = "/pin";
constexpr size_t kContextsListed = 100;
constexpr size_t kContextsListedMax = 1000;

struct ContextReply {
  int status = 200;
  std::string body = {};
};

/// One request of one client.
struct ContextCall {
  Store& store;
  const http::Request& request;
  std::string tenant;

  /// For /v1/contexts/ID and /v1/contexts/ID/pin.
  Key key() const {
    std::string_view id = request.path().substr(kContextsPath.size() + 1);
    if (is_pin()) id.remove_suffix(kPin.size());
    return {tenant, std::string(id)};
  }
  bool is_pin() const { return request.path().ends_with(kPin); }
};

void write_members(json::Writer& out, const Context& context, const Store& store) {
  out.member("id", context.key.id).member("object", "context");
  out.member("created_at", context.created);
  out.member("message_count", static_cast<int64_t>(context.messages));
  out.member("bytes", static_cast<int64_t>(context.bytes)).member("pinned", context.pinned);
  out.member("durable", store.is_durable(context));
  if (!store.shared().empty()) out.member("shared", context.shared);
}

ContextReply context_reply(const Context& context, const Store& store, int status = 200) {
  json::Writer out;
  out.begin_object();
  write_members(out, context, store);
  return {status, out.end_object().take()};
}

struct NewContext {
  std::string content;  // the text between the brackets of `messages`
  uint32_t messages = 0;
  bool pinned = false;
};

// Parses the messages as those of a chat request before it stores them, so that no reference can
// make a valid request invalid.
Result<NewContext> read_new_context(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(body)));
  const json::Value root = document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  std::string_view messages;
  NewContext out;
  for (const json::Member& member : root.members()) {
    if (root.count(member.key) > 1)
      return fail(Code::kInvalid, "{}: given more than once", member.key);
    if (member.key == "messages") {
      messages = member.value.raw();
    } else if (member.key == "pinned" && member.value.is_bool()) {
      out.pinned = member.value.boolean();
    } else if (member.key == "pinned") {
      return fail(Code::kInvalid, "pinned: expected a boolean, found {}",
                  json::type_name(member.value.type()));
    } else {
      return fail(Code::kInvalid, "unknown member {} (known: messages, pinned)",
                  json::quote_briefly(member.key));
    }
  }
  if (messages.empty()) return fail(Code::kInvalid, "messages: missing");
  SIGNALBOX_TRY(
      const request::ChatRequest request,
      request::ChatRequest::parse(fmt::format(R"({{"model":"-","messages":{}}})", messages)));
  if (request.messages.empty())
    return fail(Code::kInvalid, "messages: expected at least one, found none");
  constexpr std::string_view kSpace = " \t\r\n";
  messages = messages.substr(1, messages.size() - 2);
  messages.remove_prefix(messages.find_first_not_of(kSpace));
  messages.remove_suffix(messages.size() - 1 - messages.find_last_not_of(kSpace));
  out.content = messages;
  out.messages = static_cast<uint32_t>(request.messages.size());
  return out;
}

Result<ContextReply> create(const ContextCall& call) {
  SIGNALBOX_TRY(NewContext new_context, read_new_context(call.request.body));
  SIGNALBOX_TRY(Store::Put put, call.store.put(call.tenant, std::move(new_context.content),
                                               new_context.messages, gateway::wall_seconds()));
  if (new_context.pinned) {
    Result<Context> pinned = call.store.pin(put.context.key, true);
    if (!pinned && put.is_new) static_cast<void>(call.store.drop(put.context.key));
    SIGNALBOX_TRY(put.context, std::move(pinned));
  }
  return context_reply(put.context, call.store, put.is_new ? 201 : 200);
}

Result<ContextReply> list(const ContextCall& call) {
  const std::string_view query = call.request.query();
  SIGNALBOX_TRY(const size_t limit,
                query_number(query, "limit", kContextsListed, kContextsListedMax));
  const auto found = call.store.list(call.tenant, query_value(query, "after"), limit + 1);
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < std::min(found.size(), limit); ++i) {
    out.begin_object();
    write_members(out, found[i], call.store);
    out.end_object();
  }
  out.end_array().member("has_more", found.size() > limit);
  return ContextReply{200, out.end_object().take()};
}

Result<ContextReply> show(const ContextCall& call) {
  SIGNALBOX_TRY(const Context context, call.store.find(call.key()));
  SIGNALBOX_TRY(const Store::Content content, call.store.get(context.key, gateway::wall_seconds()));
  json::Writer out;
  out.begin_object();
  write_members(out, context, call.store);
  out.key("messages").raw(fmt::format("[{}]", *content));
  return ContextReply{200, out.end_object().take()};
}

Result<ContextReply> pin(const ContextCall& call) {
  if (!call.is_pin()) return fail(Code::kNotFound, "expected {}/ID{}", kContextsPath, kPin);
  SIGNALBOX_TRY(const Context context, call.store.pin(call.key(), true));
  return context_reply(context, call.store);
}

Result<ContextReply> remove(const ContextCall& call) {
  const Key key = call.key();
  if (call.is_pin()) {
    SIGNALBOX_TRY(const Context context, call.store.pin(key, false));
    return context_reply(context, call.store);
  }
  SIGNALBOX_TRY_VOID(call.store.drop(key));
  json::Writer out;
  out.begin_object().member("id", key.id).member("object", "context.deleted");
  return ContextReply{200, out.member("deleted", true).end_object().take()};
}

/// Returns the reply for an error. Disk errors go to the log and not to the client.
ContextReply error_reply(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return {404, http::error_body(404, error.message, "context_not_found")};
    case Code::kTooLarge:
      return {413, http::error_body(413, error.message, "context_quota_exceeded")};
    case Code::kIo:
      log::error("context", "{}", error.message);
      return {500, http::error_body(
                       500, "the context store cannot access its disk; nothing was changed")};
    default:
      return {http::error_kind(error.code).status, http::error_body(error)};
  }
}

class ContextHandler {
 public:
  using Operation = Result<ContextReply> (*)(const ContextCall&);
  ContextHandler(Store& store, const config::Config& config, http::ThreadPool& pool,
                 Operation operation)
      : store_(store), config_(config), pool_(pool), operation_(operation) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const ContextCall call{store_, exchange.request,
                           access::owner_of(exchange.request.headers, config_)};
    Result<ContextReply> outcome;
    std::function<void()> run = [&] { outcome = operation_(call); };
    const bool ran = co_await pool_.run(std::move(run));
    if (!ran) outcome = fail(Code::kOverloaded, "too many requests are waiting");
    http::Headers fields;
    fields.add("Content-Type", "application/json");
    if (!ran) fields.add("Retry-After", "1");
    const ContextReply reply = outcome ? *std::move(outcome) : error_reply(outcome.error());
    co_await exchange.reply.send(reply.status, fields, reply.body);
  }

 private:
  Store& store_;
  const config::Config& config_;
  http::ThreadPool& pool_;
  const Operation operation_;
};

}  // namespace

std::vector<http::Route> context_routes(Store& store, const config::Config& config,
                                        http::ThreadPool& pool) {
  const std::string all(kContextsPath), one = all + '/';
  const auto handler = [&](ContextHandler::Operation operation) {
    return ContextHandler(store, config, pool, operation);
  };
  return {{"POST", all, handler(create)},
          {"GET", all, handler(list)},
          {"GET", one, handler(show)},
          {"POST", one, handler(pin)},
          {"DELETE", one, handler(remove)}};
}

// --- deletion by operators ---

// The stores know owners, which are digests of the users' names.
namespace {

constexpr size_t kUserBytesMax = 256;

/// Removes what the owner has, and returns how much that was.
using RemoveAll = std::function<Result<int64_t>(std::string_view owner)>;

Result<int64_t> remove_contexts(contexts::Store* store, std::string_view owner) {
  constexpr size_t kAtOnce = 1000;
  int64_t removed = 0;
  if (store == nullptr) return removed;
  std::string after;
  for (;;) {
    const std::vector<contexts::Context> some = store->list(owner, after, kAtOnce);
    for (const contexts::Context& each : some) {
      const Result<void> dropped = store->drop(each.key);
      // Its owner may have deleted it meanwhile.
      if (!dropped && dropped.error().code != Code::kNotFound)
        return tl::unexpected<Error>(dropped.error());
      removed += dropped ? 1 : 0;
    }
    if (some.size() < kAtOnce) return removed;
    after = some.back().key.id;
  }
}

Result<int64_t> remove_responses(dialects::ResponseStore& store, std::string_view owner) {
  int64_t removed = 0;
  const int64_t now = gateway::wall_seconds();
  for (const auto& [id, response] : store.all(now)) {
    if (response->owner != owner) continue;
    SIGNALBOX_TRY(const bool was_there, store.withdraw(id, owner, now));
    removed += was_there ? 1 : 0;
  }
  return removed;
}

AdminReply remove_of_user(const http::Request& request, const serving::ServingState& state,
                          std::string_view things, const RemoveAll& remove) {
  const std::string user = query_value(request.query(), "user_id");
  if (user.empty() || user.size() > kUserBytesMax) {
    return AdminReply::of(
        {400, "INVALID_INPUT",
         fmt::format("user_id: expected the user whose {} are meant, with at most {} bytes", things,
                     kUserBytesMax)});
  }
  const Result<int64_t> removed = remove(access::owner_of_user(user, state.config()));
  AdminReply out = removed ? AdminReply{200, json::Writer()
                                                 .begin_object()
                                                 .member("deleted", *removed)
                                                 .end_object()
                                                 .take()}
                           : AdminReply::of(access::failure_of(removed.error()));
  out.subject = fmt::format("{} of {}", things, user);
  return out;
}

}  // namespace

std::vector<http::Route> user_data_routes(const gateway::Contexts& contexts,
                                          dialects::ResponseStore& responses,
                                          const serving::CurrentState& current,
                                          http::ThreadPool& pool) {
  const auto route = [&](const char* path, std::string_view things, RemoveAll remove) {
    return management_route("DELETE", path, access::kDataWrite, current, pool,
                            [things, remove = std::move(remove)](
                                const http::Request& request, const serving::ServingState& state) {
                              return remove_of_user(request, state, things, remove);
                            });
  };
  return {route("/v1/contexts", "contexts",
                [&contexts](std::string_view owner) {
                  return remove_contexts(contexts.store(), owner);
                }),
          route("/v1/responses", "responses", [&responses](std::string_view owner) {
            return remove_responses(responses, owner);
          })};
}

}  // namespace signalbox::admin
