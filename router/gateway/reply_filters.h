#pragma once
// The filters that a reply passes on its way from the server to the client, as one list.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "router/gateway/cache_lookup.h"
#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/gateway/send.h"
#include "router/gateway/shadows.h"
#include "router/looper/looper.h"
#include "router/replies/reply_guards.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

using ReplyOrError = Result<std::unique_ptr<upstream::UpstreamReply>>;

/// Takes a reply and returns it filtered: usually a reply that changes the bytes as they pass. It
/// lives until the reply that it returned is gone.
using ReplyFilter =
    std::function<http::Task<ReplyOrError>(std::unique_ptr<upstream::UpstreamReply>)>;

/// Inputs of the filters of one reply. All of them outlive the filters.
struct ReplyFilterInputs {
  const RequestScope& scope;
  const ParsedRequest& request;
  const routing::Plan& plan;
  const ServerRequest& server;
  const std::optional<replies::WatchedReply>& watched;  // nullopt: the reply is not checked
  CacheLookup& cache;
  http::Headers& headers;             // of the reply; filters add warnings to them
  RequestShadows* shadows = nullptr;  // null: the request has none
  /// Gets a copy of the chat completion, with masked data; null: nothing of it is stored.
  std::shared_ptr<upstream::ReplyCopy> turn = nullptr;
};

/// For a server's reply, in this order: translate it to a chat completion, measure it, copy it
/// for shadows and for a memory, store it in the cache, restore masked data, check it, make a
/// stream of one that came whole, translate it to the client's API, take out the usage that the
/// client did not request.
std::vector<ReplyFilter> server_reply_filters(const ReplyFilterInputs& inputs,
                                              std::chrono::steady_clock::time_point started);

/// For a reply that was composed of those of several calls, in our form of chat completions or in
/// the client's own API: all but the first two.
std::vector<ReplyFilter> composed_reply_filters(const ReplyFilterInputs& inputs);

/// The parts of an answer that is a text with an image.
struct AnswerParts {
  bool is_image = false;               // the reply is the image, because the text failed
  const std::string* image = nullptr;  // outlives the filters; null: the image failed
};

/// The filters for a text with an image. The reply is the text, and the image is added after the
/// check. An image alone is only translated.
std::vector<ReplyFilter> paired_reply_filters(const ReplyFilterInputs& inputs,
                                              const AnswerParts& parts);

/// Adds the filter that gives the first chunk of a stream one more member: the calls of a loop. It
/// adds nothing for a client of another API, which has no place for the member, or for a reply that
/// is checked, because nobody would check the member's text.
void add_extension(const ReplyFilterInputs& inputs,
                   const std::optional<looper::Extension>& extension,
                   std::vector<ReplyFilter>& filters);

/// For a cached reply: check it, translate it to the client's API.
std::vector<ReplyFilter> cached_reply_filters(const ReplyFilterInputs& inputs);

/// True if the client has no place for parts of an answer and gets the image as Markdown.
bool shows_image_as_text(const request::ChatRequest& request, const ServerRequest& server);

/// Reads the good reply of an image server as a chat completion. Errors: those of
/// UpstreamReply::next() and of plugins::read_image_reply(), and kUpstream for one that is too
/// long. A large image is read on the pool.
http::Task<Result<std::string>> read_image(const RequestScope& scope,
                                           const request::ChatRequest& request,
                                           const routing::Plan& plan, const ServerRequest& server,
                                           std::unique_ptr<upstream::UpstreamReply> reply);

/// Passes a reply through the filters in turn; the first error ends it.
http::Task<ReplyOrError> apply(const std::vector<ReplyFilter>& filters, ReplyOrError reply);

}  // namespace signalbox::gateway
