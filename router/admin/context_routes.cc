// Storing reads, packs and syncs, so all of it runs on the pool. A context of somebody else is not
// there, as one that never was.

#include "router/admin/context_routes.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "router/access/owner.h"
#include "router/admin/query.h"
#include "router/gateway/contexts.h"
#include "router/http/error_reply.h"
#include "router/request/chat_request.h"

namespace signalbox::admin {
namespace {

using contexts::Context;
using contexts::Key;
using contexts::Store;

constexpr std::string_view kContextsPath = "/v1/contexts";
constexpr std::string_view kPin = "/pin";
constexpr size_t kContextsListed = 100;
constexpr size_t kContextsListedMax = 1000;

struct Said {
  int status = 200;
  std::string body = {};
};

/// What a handler works with: one request of one client.
struct Task {
  Store& store;
  const http::Request& request;
  std::string tenant;

  /// Of /v1/contexts/ID and /v1/contexts/ID/pin.
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

Said said(const Context& context, const Store& store, int status = 200) {
  json::Writer out;
  out.begin_object();
  write_members(out, context, store);
  return {status, out.end_object().take()};
}

struct Wanted {
  std::string content;  // what stands between the brackets of `messages`
  uint32_t messages = 0;
  bool pinned = false;
};

// Whatever is stored is read as the messages of a request first, so that no reference makes a
// request that is none.
Result<Wanted> read(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(body)));
  const json::Value root = document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  std::string_view messages;
  Wanted out;
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
      return fail(Code::kInvalid, "{} is not known here (known: messages, pinned)",
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

Result<Said> create(const Task& task) {
  SIGNALBOX_TRY(Wanted wanted, read(task.request.body));
  SIGNALBOX_TRY(Store::Put put, task.store.put(task.tenant, std::move(wanted.content),
                                               wanted.messages, gateway::wall_seconds()));
  if (wanted.pinned) {
    Result<Context> pinned = task.store.pin(put.context.key, true);
    if (!pinned && put.is_new) static_cast<void>(task.store.drop(put.context.key));
    SIGNALBOX_TRY(put.context, std::move(pinned));
  }
  return said(put.context, task.store, put.is_new ? 201 : 200);
}

Result<Said> list(const Task& task) {
  const std::string_view query = task.request.query();
  SIGNALBOX_TRY(const size_t limit,
                query_number(query, "limit", kContextsListed, kContextsListedMax));
  const auto found = task.store.list(task.tenant, query_value(query, "after"), limit + 1);
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < std::min(found.size(), limit); ++i) {
    out.begin_object();
    write_members(out, found[i], task.store);
    out.end_object();
  }
  out.end_array().member("has_more", found.size() > limit);
  return Said{200, out.end_object().take()};
}

Result<Said> show(const Task& task) {
  SIGNALBOX_TRY(const Context context, task.store.find(task.key()));
  SIGNALBOX_TRY(const Store::Content content, task.store.get(context.key, gateway::wall_seconds()));
  json::Writer out;
  out.begin_object();
  write_members(out, context, task.store);
  out.key("messages").raw(fmt::format("[{}]", *content));
  return Said{200, out.end_object().take()};
}

Result<Said> pin(const Task& task) {
  if (!task.is_pin()) return fail(Code::kNotFound, "expected {}/ID{}", kContextsPath, kPin);
  SIGNALBOX_TRY(const Context context, task.store.pin(task.key(), true));
  return said(context, task.store);
}

Result<Said> remove(const Task& task) {
  const Key key = task.key();
  if (task.is_pin()) {
    SIGNALBOX_TRY(const Context context, task.store.pin(key, false));
    return said(context, task.store);
  }
  SIGNALBOX_TRY_VOID(task.store.drop(key));
  json::Writer out;
  out.begin_object().member("id", key.id).member("object", "context.deleted");
  return Said{200, out.member("deleted", true).end_object().take()};
}

/// As the client reads it; what the disk says is for the log.
Said refusal(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return {404, http::error_body(404, error.message, "context_not_found")};
    case Code::kTooLarge:
      return {413, http::error_body(413, error.message, "context_quota_exceeded")};
    case Code::kIo:
      log::error("context", "{}", error.message);
      return {500,
              http::error_body(500, "the disk of the contexts does not work; nothing was changed")};
    default:
      return {http::error_kind(error.code).status, http::error_body(error)};
  }
}

class ContextHandler {
 public:
  using Work = Result<Said> (*)(const Task&);
  ContextHandler(Store& store, const config::Config& config, gateway::ThreadPool& pool, Work work)
      : store_(store), config_(config), pool_(pool), work_(work) {}

  http::Task<> operator()(http::Exchange exchange) const {
    const Task task{store_, exchange.request, access::owner_of(exchange.request.headers, config_)};
    Result<Said> outcome;
    std::function<void()> run = [&] { outcome = work_(task); };
    const bool ran = co_await pool_.run(std::move(run));
    if (!ran) outcome = fail(Code::kOverloaded, "too many requests are waiting");
    http::Headers fields;
    fields.add("Content-Type", "application/json");
    if (!ran) fields.add("Retry-After", "1");
    const Said answer = outcome ? *std::move(outcome) : refusal(outcome.error());
    co_await exchange.reply.send(answer.status, fields, answer.body);
  }

 private:
  Store& store_;
  const config::Config& config_;
  gateway::ThreadPool& pool_;
  const Work work_;
};

}  // namespace

std::vector<gateway::Route> context_routes(Store& store, const config::Config& config,
                                           gateway::ThreadPool& pool) {
  const std::string all(kContextsPath), one = all + '/';
  const auto handler = [&](ContextHandler::Work work) {
    return ContextHandler(store, config, pool, work);
  };
  return {{"POST", all, handler(create)},
          {"GET", all, handler(list)},
          {"GET", one, handler(show)},
          {"POST", one, handler(pin)},
          {"DELETE", one, handler(remove)}};
}

}  // namespace signalbox::admin
