// A filter that does not apply to a request is not in its list. No filter is a coroutine lambda:
// each calls a function that is one, so that captures outlive it.

#include "router/gateway/reply_filters.h"

#include <algorithm>
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
  const std::chrono::milliseconds wait_min = inputs.watched->wait_min;
  const bool calls = inputs.watched->calls_server();
  const bool is_native = inputs.plan.native;
  const GuardContext guard{calls ? scope.context.detection : scope.context.compute,
                           calls ? scope.share(0, 0) : http::Share{},
                           scope.exchange,
                           scope.record,
                           inputs.headers,
                           std::max(limits.guard_wait, wait_min),
                           std::max(limits.decision_timeout, wait_min),
                           is_native ? scope.api.native() : std::nullopt,
                           is_native ? inputs.request.replies.get() : nullptr};
  auto guarded = co_await GuardedReply::wrap(std::move(reply), *inputs.watched, guard);
  if (scope.record.withheld())
    inputs.headers = with_path(inputs.headers, routing::path_name(routing::Plan::Path::kBlocked));
  co_return guarded;
}

/// Makes the reply of a chat completion that is ours. An image may have megabytes.
http::Task<ReplyOrError> as_reply(const ReplyFilterInputs& inputs, Result<std::string> completion) {
  if (!completion) co_return tl::unexpected<Error>(std::move(completion).error());
  const size_t bytes = completion->size();
  ReplyOrError out = nullptr;
  std::function<void()> make = [&] {
    out = completion_reply(*std::move(completion), inputs.request.chat, inputs.plan.takes_usage);
  };
  const Result<void> ran = co_await run_by_size(inputs.scope, bytes, std::move(make));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return out;
}

http::Task<ReplyOrError> draw(const ReplyFilterInputs& inputs, ReplyPointer reply) {
  const int status = reply->head().status;
  if (status >= 400) co_return reply;
  if (status >= 300)
    co_return fail(Code::kUpstream, "the image server answered with the status {}", status);
  Result<std::string> completion = co_await read_image(
      inputs.scope, inputs.request.chat, inputs.plan, inputs.server, std::move(reply));
  ReplyOrError out = co_await as_reply(inputs, std::move(completion));
  co_return out;
}

/// A reply that was withheld passes as it is.
http::Task<ReplyOrError> finish_pair(const ReplyFilterInputs& inputs, const AnswerParts& parts,
                                     ReplyPointer reply) {
  if (reply->head().status != 200) co_return reply;
  Result<std::string> body = co_await upstream::read_whole(*reply, TranslatedReply::kBodyBytesMax);
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  reply.reset();  // only one may wait for the interrupt at a time, and the pool does, too
  if (!parts.is_image) {
    const std::string_view image = parts.image == nullptr ? "" : std::string_view(*parts.image);
    const bool as_text = shows_image_as_text(inputs.request.chat, inputs.server);
    const size_t bytes = body->size() + image.size();
    std::function<void()> join = [&] {
      body = plugins::join_text_and_image(*std::move(body), image, as_text);
    };
    const Result<void> ran = co_await run_by_size(inputs.scope, bytes, std::move(join));
    if (!ran) co_return tl::unexpected<Error>(ran.error());
  }
  ReplyOrError out = co_await as_reply(inputs, std::move(body));
  co_return out;
}

void add_translation(const ReplyFilterInputs& in, std::vector<ReplyFilter>& filters) {
  if (!in.server.to_client) return;
  filters.push_back([in](ReplyPointer reply) {
    return TranslatedReply::wrap(std::move(reply), *in.request.replies, in.request.chat.stream,
                                 &in.scope);
  });
}

/// Makes a stream of a reply that came whole, for a client that requested one.
void add_streaming(const ReplyFilterInputs& in, std::vector<ReplyFilter>& filters) {
  if (in.request.chat.stream && (in.server.is_chat || in.plan.native))
    filters.push_back([in](ReplyPointer reply) { return as_stream(in, std::move(reply)); });
}

void add_check(const ReplyFilterInputs& in, std::vector<ReplyFilter>& filters) {
  if (in.watched)
    filters.push_back([in](ReplyPointer reply) { return check(in, std::move(reply)); });
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
    filters.push_back([in](ReplyPointer reply) {
      return at_once(in.cache.record(std::move(reply), in.request.chat.stream));
    });
  if (!in.plan.masks.empty()) {
    filters.push_back([in](ReplyPointer reply) {
      return at_once(UnmaskedReply::wrap(std::move(reply), in.plan.masks));
    });
  }
  add_check(in, filters);
}

}  // namespace

bool shows_image_as_text(const request::ChatRequest& request, const ServerRequest& server) {
  return request.stream || server.to_client;
}

http::Task<Result<std::string>> read_image(const RequestScope& scope,
                                           const request::ChatRequest& request,
                                           const routing::Plan& plan, const ServerRequest& server,
                                           std::unique_ptr<upstream::UpstreamReply> reply) {
  Result<std::string> body = co_await upstream::read_whole(*reply, TranslatedReply::kBodyBytesMax);
  if (!body) co_return body;
  reply.reset();  // only one may wait for the interrupt at a time, and the pool does, too
  const std::string id = fmt::format("chatcmpl-{}", scope.record.id());
  const plugins::ImageAnswer answer{.id = id,
                                    .created = static_cast<int64_t>(std::time(nullptr)),
                                    .model = plan.model->name,
                                    .as_text = shows_image_as_text(request, server)};
  const size_t bytes = body->size();
  Result<std::string> out = fail(Code::kInternal, "the image was not read");
  std::function<void()> read = [&] {
    out = plugins::read_image_reply(*server.image, *std::move(body), answer);
  };
  const Result<void> ran = co_await run_by_size(scope, bytes, std::move(read));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return out;
}

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
  add_streaming(in, filters);
  add_translation(in, filters);
  if (in.plan.takes_usage) {
    filters.push_back(
        [](ReplyPointer reply) { return at_once(UsageTakenReply::wrap(std::move(reply))); });
  }
  return filters;
}

std::vector<ReplyFilter> composed_reply_filters(const ReplyFilterInputs& in) {
  std::vector<ReplyFilter> filters;
  add_our_filters(in, filters);
  add_streaming(in, filters);
  add_translation(in, filters);
  return filters;
}

std::vector<ReplyFilter> paired_reply_filters(const ReplyFilterInputs& in,
                                              const AnswerParts& parts) {
  std::vector<ReplyFilter> filters;
  if (!parts.is_image) add_our_filters(in, filters);
  filters.push_back(
      [in, parts](ReplyPointer reply) { return finish_pair(in, parts, std::move(reply)); });
  add_translation(in, filters);
  return filters;
}

void add_extension(const ReplyFilterInputs& in, const std::optional<looper::Extension>& extension,
                   std::vector<ReplyFilter>& filters) {
  if (!extension || !in.request.chat.stream || in.server.to_client || in.watched) return;
  const std::vector<pii::Mask>& masks = in.plan.masks;
  std::string json = masks.empty()
                         ? extension->json
                         : replies::unmask_reply(extension->json, replies::ReplyMasks(masks));
  filters.push_back([name = extension->name, json = std::move(json)](ReplyPointer reply) {
    if (!is_event_stream(reply->head().headers)) return at_once(std::move(reply));
    return at_once(std::make_unique<ExtendedReply>(std::move(reply), name, json));
  });
}

std::vector<ReplyFilter> cached_reply_filters(const ReplyFilterInputs& in) {
  std::vector<ReplyFilter> filters;
  add_check(in, filters);
  add_translation(in, filters);
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
