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

/// The most memory that a stored conversation takes while it becomes a part of the request, and
/// that the parts take that only guards read; as multiples of their sizes.
constexpr size_t kAddedCopies = 6;

/// True if any model's servers have the API.
bool is_spoken(request::Api api, const config::Providers& providers) {
  return std::any_of(providers.models.begin(), providers.models.end(),
                     [api](const auto& model) { return plugins::speaks(model, api); });
}

/// The memory of a request of another API.
size_t bytes_of(const dialects::Incoming& incoming) {
  return incoming.chat.size() + (incoming.source ? incoming.source->memory_bytes() : 0) +
         incoming.replies->memory_bytes() + kAddedCopies * incoming.losses.memory_bytes();
}

/// The most memory that reading takes, without that of stored state.
size_t bytes_to_read(const RequestScope& scope) {
  // The body, and two parts of it that the reply repeats, may be there while the chat is parsed.
  constexpr size_t kBesideChat = 3;
  const std::string& body = scope.exchange.request.body;
  const size_t parsing = request::ChatRequest::parsing_bytes(body);
  if (scope.api.dialect() == nullptr) return parsing;
  return std::max(dialects::kReadCopies * body.size(), kBesideChat * body.size() + parsing);
}

/// Reads one request, on a pool if it is large. It stops where it lacks room, and continues from
/// there after wait().
class Reader {
 public:
  explicit Reader(const RequestScope& scope)
      : scope_(scope), request_(scope.exchange.request), size_(request_.body.size()) {}

  /// Reads as far as there is room.
  void read(const std::stop_token& stop) {
    if (reading_ == 0) reading_ = bytes_to_read(scope_);
    const Result<void> done = try_to_read(stop);
    if (done) return;
    parsed_ = tl::unexpected<Error>(done.error());
    if (!room_.is_lacking()) find_model(incoming_ ? incoming_->chat : request_.body);
  }
  /// The model in a body that could not be read; "" if there is none.
  const std::string& model() const { return model_; }
  bool is_lacking() const { return room_.is_lacking(); }
  /// Waits for the room that read() lacked.
  http::Task<Result<void>> wait() {
    const size_t kept = incoming_ ? bytes_of(*incoming_) : request_.body.size();
    Result<void> out =
        co_await room_.wait(kept, scope_.exchange.interrupt, scope_.config().http.body_timeout);
    co_return out;
  }
  /// The size of the body.
  size_t size() const { return size_; }
  Result<ParsedRequest> take() { return std::move(parsed_); }

 private:
  Result<void> try_to_read(const std::stop_token& stop) {
    const dialects::Dialect* const dialect = scope_.api.dialect();
    if (!incoming_) {
      SIGNALBOX_TRY_VOID(room_.raise(reading_));
      if (dialect == nullptr) {
        SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::take(request_.body));
        parsed_ = ParsedRequest{std::move(chat), nullptr};
        return {};
      }
      SIGNALBOX_TRY_VOID(translate(*dialect, stop));
    }
    const size_t parsing = request::ChatRequest::parsing_bytes(incoming_->chat);
    SIGNALBOX_TRY_VOID(room_.raise(bytes_of(*incoming_) - incoming_->chat.size() + parsing));
    SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::take(incoming_->chat));
    chat.attach(incoming_->losses.contents());
    chat.reasoning = incoming_->reasoning;
    chat.is_translated = scope_.api.native().has_value();
    if (incoming_->source) {
      chat.native.emplace(
          request::NativeRequest{*scope_.api.native(), *std::move(incoming_->source)});
    }
    parsed_ =
        ParsedRequest{std::move(chat), std::move(incoming_->replies), std::move(incoming_->losses)};
    return {};
  }

  /// Takes the body.
  void find_model(std::string& body) {
    const auto document = json::Document::take(body);
    const auto model = document ? document->root().find("model") : std::nullopt;
    if (model && model->is_string()) model_ = model->text();
  }

  /// Makes the chat of a request of another API. If it lacks room for stored state, the request has
  /// its body again.
  Result<void> translate(const dialects::Dialect& dialect, const std::stop_token& stop) {
    const std::string owner = access::owner_of(request_.headers, scope_.config());
    const std::string token = access::new_token();
    size_t wanted = reading_;
    const auto make_room = [&](size_t bytes) {
      wanted += kAddedCopies * bytes;
      return room_.raise(wanted);
    };
    Result<dialects::Incoming> read = dialect.read(
        std::move(request_.body), {scope_.record.id(), token, owner,
                                   static_cast<int64_t>(std::time(nullptr)), stop, make_room});
    if (room_.is_lacking() && read) request_.body = std::move(*read->source).take_source();
    if (room_.is_lacking()) return fail(Code::kOverloaded, "there is no room");
    if (!read) return tl::unexpected<Error>(std::move(read).error());
    incoming_ = *std::move(read);
    const std::optional<request::Api> api = scope_.api.native();
    // Frees the client's body before the chat is read.
    if (!api || !is_spoken(*api, scope_.config().providers)) incoming_->source.reset();
    return {};
  }

  const RequestScope& scope_;
  http::Request& request_;
  const size_t size_;
  size_t reading_ = 0;  // the most that reading takes, stored state aside
  Room room_{request_.memory};
  std::optional<dialects::Incoming> incoming_;  // the chat is not parsed yet
  std::string model_;
  Result<ParsedRequest> parsed_ = tl::unexpected(Error{});  // until it is read
};

http::Task<Result<void>> run_on(http::ThreadPool& pool, const RequestScope& scope, size_t bytes,
                                std::function<void()> work, std::stop_source& given_up) {
  http::Interrupt& interrupt = scope.exchange.interrupt;
  const http::Share share = scope.share(bytes, kLongToRead);
  const bool ran = co_await http::run_within(pool, interrupt, given_up, std::move(work), share);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (!ran) co_return fail(Code::kOverloaded, "too many large requests are waiting to be read");
  co_return Result<void>();
}

http::Task<Result<void>> run_reading(const RequestScope& scope, Reader& reader) {
  std::stop_source given_up;
  std::function<void()> read = [&] { reader.read(given_up.get_token()); };
  if (scope.api.reads_slowly()) {
    Result<void> ran =
        co_await run_on(scope.context.storage, scope, reader.size(), std::move(read), given_up);
    co_return ran;
  }
  Result<void> ran = co_await run_by_size(scope, reader.size(), std::move(read));
  co_return ran;
}

}  // namespace

size_t ParsedRequest::memory_bytes() const {
  return chat.memory_bytes() + losses.memory_bytes() + (replies ? replies->memory_bytes() : 0);
}

http::Task<Result<void>> reserve(http::MemoryShare& memory, http::Interrupt& interrupt,
                                 std::chrono::milliseconds patience, size_t bytes) {
  if (memory.enter(bytes)) co_return Result<void>();
  const http::Raise raised = co_await memory.wait(bytes, interrupt, patience);
  if (raised == http::Raise::kDone) co_return Result<void>();
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  co_return tl::unexpected<Error>(memory.refusal(raised));
}

http::Task<Result<void>> reserve(const RequestScope& scope, size_t bytes) {
  return reserve(scope.exchange.request.memory, scope.exchange.interrupt,
                 scope.config().http.body_timeout, bytes);
}

Result<void> Room::raise(size_t bytes) {
  if (bytes <= memory_.bytes() || memory_.enter(bytes)) return {};
  lacking_ = bytes;
  return fail(Code::kOverloaded, "there is no room for {} bytes", bytes);
}

http::Task<Result<void>> Room::wait(size_t kept, http::Interrupt& interrupt,
                                    std::chrono::milliseconds patience) {
  memory_.lower(kept);
  Result<void> out =
      co_await reserve(memory_, interrupt, patience, std::exchange(lacking_, size_t{0}));
  co_return out;
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
  Reader reader(scope);
  // While the request waits, it holds only its body.
  scope.exchange.request.memory.lower(reader.size());
  for (;;) {
    const Result<void> ran = co_await run_reading(scope, reader);
    if (!ran) co_return tl::unexpected<Error>(ran.error());
    if (!reader.is_lacking()) break;
    const Result<void> room = co_await reader.wait();
    if (!room) co_return tl::unexpected<Error>(room.error());
  }
  Result<ParsedRequest> parsed = reader.take();
  if (!parsed) {
    scope.record.named(reader.model());
    co_return parsed;
  }
  const bool has_refs = contexts::has_refs(parsed->chat.document);
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
