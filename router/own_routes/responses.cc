// A response of another owner is reported as not found, like one that never existed.

#include "router/own_routes/responses.h"

#include <ctime>

#include "base/json_writer.h"
#include "router/access/owner.h"
#include "router/dialects/responses.h"
#include "router/http/json_reply.h"

namespace signalbox::own_routes {
namespace {

constexpr std::string_view kPrefix = "/v1/responses/";
constexpr std::string_view kItems = "/input_items";
constexpr std::string_view kCancelEnd = "/cancel";
constexpr std::string_view kNotFound = "response_not_found";

int64_t now() {
  return static_cast<int64_t>(std::time(nullptr));
}

std::string_view id_of(const http::Request& request) {
  return request.path().substr(kPrefix.size());
}

enum class Action : uint8_t { kRead, kRemove, kCancel };

class Stored {
 public:
  Stored(dialects::ResponseStore& store, const config::Config& config, http::ThreadPool& storage,
         Action action)
      : store_(store), config_(config), storage_(storage), action_(action) {}

  http::Task<> operator()(http::Exchange exchange) const {
    if (!store_.is_shared()) {
      co_await http::send_json(exchange, answer(exchange.request), kNotFound);
      co_return;
    }
    const http::Share share{access::client_of(exchange.request, config_)};
    std::function<Result<std::string>()> work = [&] { return answer(exchange.request); };
    co_await http::send_json_from(storage_, share, exchange, std::move(work), kNotFound);
  }

 private:
  Result<std::string> answer(const http::Request& request) const {
    std::string_view id = id_of(request);
    const bool items = action_ == Action::kRead && id.ends_with(kItems);
    if (items) id.remove_suffix(kItems.size());
    const bool cancels = action_ == Action::kCancel;
    if (cancels) id.remove_suffix(kCancelEnd.size());
    const std::string owner = access::owner_of(request.headers, config_);
    const auto none = fail(Code::kNotFound, "there is no response {}", json::quote_briefly(id));
    if (action_ == Action::kRemove) {
      SIGNALBOX_TRY(const bool removed, store_.withdraw(id, owner, now()));
      if (!removed) return none;
      json::Writer out;
      out.begin_object().member("id", id).member("object", "response.deleted");
      return out.member("deleted", true).end_object().take();
    }
    SIGNALBOX_TRY(const auto stored, store_.find(id, owner, now()));
    if (stored == nullptr) return none;
    if (cancels) {
      return fail(Code::kInvalid, "the response {} has ended: there is nothing to cancel",
                  json::quote_briefly(id));
    }
    if (items) return dialects::list_input_items(*stored, request.query());
    if (request.query().find("stream=true") != std::string_view::npos)
      return fail(Code::kInvalid, "stream: a stored response cannot be streamed again");
    return stored->response;
  }

  dialects::ResponseStore& store_;
  const config::Config& config_;
  http::ThreadPool& storage_;
  const Action action_;
};

}  // namespace

std::vector<http::Route> response_routes(dialects::ResponseStore& store,
                                         const config::Config& config, http::ThreadPool& storage) {
  const auto route = [&](const char* method, Action action, std::string_view ending = {}) {
    return http::Route{method, std::string(kPrefix), Stored(store, config, storage, action),
                       std::string(ending)};
  };
  return {route("GET", Action::kRead), route("DELETE", Action::kRemove),
          route("POST", Action::kCancel, kCancelEnd)};
}

dialects::ResponseStore::Limits limits_of(const config::ResponseApi& api) {
  dialects::ResponseStore::Limits limits;
  if (api.max_responses != 0) limits.responses = api.max_responses;
  if (api.ttl_seconds != 0) limits.ttl_s = api.ttl_seconds;
  return limits;
}

}  // namespace signalbox::own_routes
