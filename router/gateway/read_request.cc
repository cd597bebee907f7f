// A request is parsed once; every later stage looks at the same tree.

#include "router/gateway/read_request.h"

#include <algorithm>
#include <ctime>
#include <stop_token>
#include <utility>

#include "router/access/owner.h"
#include "router/contexts/refs.h"
#include "router/plugins/server_family.h"

namespace signalbox::gateway {
namespace {

/// A larger body is read on the pool. This size takes about 50 us.
constexpr size_t kLoopBytesMax = 64 << 10;
/// Reading a larger body counts as long work.
constexpr size_t kLongToRead = 1 << 20;

/// The most memory that a stored conversation takes while it becomes a part of the request, and the
/// parts that only guards read, in times of their sizes.
constexpr size_t kAddedCopies = 6;

/// True if any model's servers have the API.
bool is_spoken(request::Api api, const config::Providers& providers) {
  return std::any_of(providers.models.begin(), providers.models.end(),
                     [api](const auto& model) { return plugins::speaks(model, api); });
}

/// The memory of a request of another API while its chat is parsed.
size_t bytes_to_parse(const dialects::Incoming& incoming) {
  return (incoming.source ? incoming.source->memory_bytes() : 0) +
         incoming.replies->memory_bytes() + kAddedCopies * incoming.losses.memory_bytes() +
         request::ChatRequest::parsing_bytes(incoming.chat);
}

/// The most that parse() takes, stored state aside.
size_t bytes_to_read(const RequestScope& scope) {
  // The body, and two parts of it that the reply repeats, may be there while the chat is parsed.
  constexpr size_t kBesideChat = 3;
  const std::string& body = scope.exchange.request.body;
  const size_t parsing = request::ChatRequest::parsing_bytes(body);
  if (scope.api.dialect() == nullptr) return parsing;
  return std::max(dialects::kReadCopies * body.size(), kBesideChat * body.size() + parsing);
}

/// Precondition: the request has a share of bytes_to_read().
Result<ParsedRequest> parse(const RequestScope& scope, std::stop_token stop) {
  http::Request& request = scope.exchange.request;
  const dialects::Dialect* const dialect = scope.api.dialect();
  if (dialect == nullptr) {
    SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::parse(std::move(request.body)));
    return ParsedRequest{std::move(chat), nullptr};
  }
  const std::string owner = access::owner_of(request.headers, scope.config());
  const std::string token = access::new_token();
  const auto make_room = [&](size_t bytes) {
    return reserve_now(request.memory, request.memory.bytes() + kAddedCopies * bytes);
  };
  SIGNALBOX_TRY(dialects::Incoming incoming,
                dialect->read(std::move(request.body), {scope.record.id(), token, owner,
                                                        static_cast<int64_t>(std::time(nullptr)),
                                                        std::move(stop), make_room}));
  const std::optional<request::Api> api = scope.api.native();
  // Frees the client's body before the chat is read.
  if (!api || !is_spoken(*api, scope.config().providers)) incoming.source.reset();
  SIGNALBOX_TRY_VOID(reserve_now(request.memory, bytes_to_parse(incoming)));
  SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::parse(std::move(incoming.chat)));
  chat.attach(incoming.losses.contents());
  chat.reasoning = incoming.reasoning;
  if (incoming.source)
    chat.native.emplace(request::NativeRequest{*api, *std::move(incoming.source)});
  return ParsedRequest{std::move(chat), std::move(incoming.replies), std::move(incoming.losses)};
}

http::Task<Result<void>> run_on(http::ThreadPool& pool, const RequestScope& scope, size_t bytes,
                                std::function<void()> work, std::stop_source& given_up) {
  http::Interrupt& interrupt = scope.exchange.interrupt;
  const http::Share share = scope.share(bytes, kLongToRead);
  const bool ran = co_await http::run_within(pool, interrupt, given_up, std::move(work), share);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (!ran) co_return fail(Code::kOverloaded, "too many large requests are waiting to be read");
  co_return Result<void>();
}

http::Task<Result<void>> run_reading(const RequestScope& scope, std::function<void()> read,
                                     std::stop_source& given_up) {
  const size_t bytes = scope.exchange.request.body.size();
  if (scope.api.reads_slowly()) {
    Result<void> ran =
        co_await run_on(scope.context.storage, scope, bytes, std::move(read), given_up);
    co_return ran;
  }
  Result<void> ran = co_await run_by_size(scope, bytes, std::move(read));
  co_return ran;
}

}  // namespace

size_t ParsedRequest::memory_bytes() const {
  return chat.memory_bytes() + losses.memory_bytes() + (replies ? replies->memory_bytes() : 0);
}

Result<void> reserve_now(http::MemoryShare& memory, size_t bytes) {
  const http::Raise raised = memory.set(bytes);
  if (raised == http::Raise::kDone) return {};
  return tl::unexpected(memory.refusal(raised));
}

http::Task<Result<void>> reserve(const RequestScope& scope, size_t bytes) {
  http::MemoryShare& memory = scope.exchange.request.memory;
  if (memory.enter(bytes)) co_return Result<void>();
  http::Interrupt& interrupt = scope.exchange.interrupt;
  const http::Raise raised =
      co_await memory.wait(bytes, interrupt, scope.config().http.body_timeout);
  if (raised == http::Raise::kDone) co_return Result<void>();
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  co_return tl::unexpected<Error>(memory.refusal(raised));
}

std::optional<std::string_view> unsupported_encoding(const http::Headers& headers) {
  const auto encoding = headers.find("content-encoding");
  if (!encoding || *encoding == "identity") return std::nullopt;
  return encoding;
}

http::Task<Result<void>> run_by_size(const RequestScope& scope, size_t bytes,
                                     std::function<void()> work) {
  if (bytes <= kLoopBytesMax) {
    work();
    co_return Result<void>();
  }
  std::stop_source given_up;  // work that has begun is not worth interrupting
  Result<void> ran =
      co_await run_on(scope.context.reading, scope, bytes, std::move(work), given_up);
  co_return ran;
}

http::Task<Result<ParsedRequest>> read_request(const RequestScope& scope) {
  Result<ParsedRequest> parsed = fail(Code::kInternal, "the request was not read");
  std::stop_source given_up;
  bool has_refs = false;
  size_t wanted = 0;
  bool has_room = false;
  const std::function<void()> read = [&] {
    if (wanted == 0) wanted = bytes_to_read(scope);
    has_room = scope.exchange.request.memory.enter(wanted);
    if (!has_room) return;
    parsed = parse(scope, given_up.get_token());
    has_refs = parsed && contexts::has_refs(parsed->chat.document);
  };
  // While it waits it holds its body alone.
  scope.exchange.request.memory.lower(scope.exchange.request.body.size());
  while (!has_room) {
    const Result<void> ran = co_await run_reading(scope, read, given_up);
    if (!ran) co_return tl::unexpected<Error>(ran.error());
    if (has_room) break;
    const Result<void> room = co_await reserve(scope, wanted);
    if (!room) co_return tl::unexpected<Error>(room.error());
  }
  if (!parsed) co_return parsed;
  const dialects::Dialect* const dialect = scope.api.dialect();
  if (has_refs && dialect != nullptr && dialect->target() != dialects::kChatPath) {
    co_return fail(Code::kInvalid,
                   "metadata.context_refs: this API does not support it; use chat completions");
  }
  if (has_refs) {
    Result<void> expanded = co_await scope.context.contexts.expand(
        scope.exchange, parsed->chat, scope.config(), scope.context.storage);
    if (!expanded) co_return tl::unexpected<Error>(std::move(expanded).error());
  }
  const size_t planning = parsed->memory_bytes() + parsed->chat.document.source().size();
  const Result<void> room = co_await reserve(scope, planning);
  if (!room) co_return tl::unexpected<Error>(room.error());
  co_return parsed;
}

}  // namespace signalbox::gateway
