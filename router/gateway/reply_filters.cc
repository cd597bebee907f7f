// A filter that does not apply to a request is not in its list. No filter is a coroutine lambda:
// each calls a function that is one, so that captures outlive it.

#include "router/gateway/reply_filters.h"

#include <ctime>
#include <functional>
#include <utility>

#include "router/gateway/guarded_reply.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/relay.h"
#include "router/gateway/translated_reply.h"
#include "router/gateway/unmasked_reply.h"
#include "router/plugins/image_gen/image_gen.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {
namespace {

using ReplyPointer = std::unique_ptr<upstream::UpstreamReply>;

http::Task<ReplyOrError> at_once(ReplyOrError reply) {
  co_return reply;
}

http::Task<ReplyOrError> check(const ReplyFilterInputs& inputs, ReplyPointer reply) {
  const RequestScope& scope = inputs.scope;
  const config::HttpLimits& limits = scope.config().http;
  const GuardContext guard{scope.context.compute, scope.exchange,    scope.record,
                           inputs.headers,        limits.guard_wait, limits.decision_timeout};
  auto guarded = co_await GuardedReply::wrap(std::move(reply), *inputs.watched, guard);
  if (scope.record.withheld())
    inputs.headers = with_path(inputs.headers, routing::path_name(routing::Plan::Path::kBlocked));
  co_return guarded;
}

http::Task<ReplyOrError> draw(const ReplyFilterInputs& inputs, ReplyPointer reply) {
  const int status = reply->head().status;
  if (status >= 400) co_return reply;
  if (status >= 300)
    co_return fail(Code::kUpstream, "the image server answered with the status {}", status);
  Result<std::string> body = co_await upstream::read_whole(*reply, TranslatedReply::kBodyBytesMax);
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  reply.reset();  // only one may wait for the interrupt at a time, and the pool does, too
  const request::ChatRequest& request = inputs.request.chat;
  const std::string id = fmt::format("chatcmpl-{}", inputs.scope.record.id());
  const plugins::ImageAnswer answer{.id = id,
                                    .created = static_cast<int64_t>(std::time(nullptr)),
                                    .model = inputs.plan.model->name,
                                    .as_text = request.stream || inputs.server.to_client};
  const size_t bytes = body->size();
  ReplyOrError out = nullptr;
  std::function<void()> read = [&] {
    Result<std::string> completion =
        plugins::read_image_reply(*inputs.server.image, *std::move(body), answer);
    out = completion ? ReplyOrError(completion_reply(*std::move(completion), request,
                                                     inputs.plan.takes_usage))
                     : tl::unexpected<Error>(std::move(completion).error());
  };
  const Result<void> ran = co_await run_by_size(inputs.scope, bytes, std::move(read));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return out;
}

void add_client_filters(const ReplyFilterInputs& in, std::vector<ReplyFilter>& filters) {
  if (in.watched)
    filters.push_back([in](ReplyPointer reply) { return check(in, std::move(reply)); });
  if (in.server.to_client) {
    filters.push_back([in](ReplyPointer reply) {
      return TranslatedReply::wrap(std::move(reply), *in.request.replies, in.request.chat.stream,
                                   &in.scope);
    });
  }
}

ReplyPointer copied(ReplyPointer reply, const std::shared_ptr<upstream::ReplyCopy>& copy) {
  const http::Response& head = reply->head();
  if (head.status != 200 || head.headers.find("content-encoding")) return reply;
  copy->is_stream = is_event_stream(head.headers);
  return std::make_unique<upstream::CopiedReply>(std::move(reply), copy);
}

void add_our_filters(const ReplyFilterInputs& in, std::vector<ReplyFilter>& filters) {
  if (in.turn != nullptr) {
    filters.push_back(
        [in](ReplyPointer reply) { return at_once(copied(std::move(reply), in.turn)); });
  }
  if (in.cache.records())
    filters.push_back(
        [in](ReplyPointer reply) { return at_once(in.cache.record(std::move(reply))); });
  if (!in.plan.masks.empty()) {
    filters.push_back([in](ReplyPointer reply) {
      return at_once(UnmaskedReply::wrap(std::move(reply), in.plan.masks));
    });
  }
  add_client_filters(in, filters);
}

}  // namespace

std::vector<ReplyFilter> server_reply_filters(const ReplyFilterInputs& in,
                                              std::chrono::steady_clock::time_point started) {
  std::vector<ReplyFilter> filters;
  if (in.server.image != nullptr)
    filters.push_back([in](ReplyPointer reply) { return draw(in, std::move(reply)); });
  if (in.server.from_server) {
    filters.push_back([in](ReplyPointer reply) {
      return TranslatedReply::wrap(std::move(reply), *in.server.from_server, in.request.chat.stream,
                                   &in.scope);
    });
  }
  filters.push_back([in, started](ReplyPointer reply) {
    return at_once(std::make_unique<MeteredReply>(std::move(reply), in.scope.context.stats,
                                                  in.plan.model->name, started, in.scope.record));
  });
  if (in.shadows != nullptr) {
    filters.push_back(
        [in](ReplyPointer reply) { return at_once(in.shadows->copy(std::move(reply))); });
  }
  add_our_filters(in, filters);
  if (in.plan.takes_usage) {
    filters.push_back(
        [](ReplyPointer reply) { return at_once(UsageTakenReply::wrap(std::move(reply))); });
  }
  return filters;
}

std::vector<ReplyFilter> composed_reply_filters(const ReplyFilterInputs& in) {
  std::vector<ReplyFilter> filters;
  add_our_filters(in, filters);
  return filters;
}

std::vector<ReplyFilter> cached_reply_filters(const ReplyFilterInputs& in) {
  std::vector<ReplyFilter> filters;
  add_client_filters(in, filters);
  return filters;
}

http::Task<ReplyOrError> apply(const std::vector<ReplyFilter>& filters, ReplyOrError reply) {
  for (const ReplyFilter& filter : filters) {
    if (!reply) co_return reply;
    http::Task<ReplyOrError> filtered = filter(*std::move(reply));
    reply = co_await std::move(filtered);
  }
  co_return reply;
}

}  // namespace signalbox::gateway
