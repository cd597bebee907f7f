// Plays Envoy: the first byte chooses what the handler does, and each line after it is a message,
// in any order. A session reads one message at a time, answers each at most as often as Envoy
// expects, ends once, and then holds no memory. A pause takes no time here: no deadline passes.
//
//   h REQUEST_MODE RESPONSE_MODE FLAGS PATH   the request's header; the modes are digits
//   r STATUS FLAGS TYPE                       the response's header
//   b and d FLAGS BYTES                       pieces of the two bodies
//   t and u                                   the trailers
//   o BYTES                                   other requests hold as much memory
//   c                                         Envoy has finished
//   anything else                             the line is the message
//
// An odd digit of FLAGS marks the last piece.

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/protobuf.h"
#include "router/config/load.h"
#include "router/extproc/session.h"
#include "router/http/error_reply.h"

namespace signalbox::extproc {
namespace {

using protobuf::Writer;
using upstream::ModelCaller;

constexpr size_t kStepsMax = 64;
constexpr uint64_t kMemory = 16 << 10;

const config::Config& configuration() {
  static const config::Config kConfig = [] {
    auto loaded = config::parse(
        R"({"version": "v0.3", "providers": {"defaults": {"default_model": "m"},
            "models": [{"name": "m", "backend_refs": [{"name": "a", "endpoint": "10.0.0.7:8000"}]}]}})",
        "fuzz.yaml");
    SIGNALBOX_CHECK(loaded.has_value());
    return std::move(loaded->config);
  }();
  return kConfig;
}

const upstream::Destinations& destinations() {
  static const upstream::Destinations kDestinations(configuration());
  return kDestinations;
}

// Sends the server's reply on as it comes, or reads all of it and answers in its place.
http::Task<> relay(http::Exchange exchange, upstream::UpstreamReply& reply, bool is_replaced) {
  const http::Response& head = reply.head();
  if (!is_replaced) exchange.reply.start(head.status, head.headers, head.content_length);
  std::string whole;
  for (bool is_last = false; !is_last;) {
    const auto piece = co_await reply.next();
    if (!piece) {
      if (!is_replaced) exchange.reply.abandon();
      co_return;
    }
    is_last = piece->last;
    if (is_replaced) {
      whole += piece->bytes;
      continue;
    }
    const bool is_written = co_await exchange.reply.write(piece->bytes, is_last);
    if (!is_written) co_return;
  }
  if (is_replaced) co_await exchange.reply.send(200, head.headers, whole + "!");
}

http::Task<> handle(http::Exchange exchange, const ModelCaller& caller, uint8_t mood) {
  const http::Headers none;
  if (mood % 4 == 0) {
    co_await exchange.reply.send(200, none, exchange.request.body);
    co_return;
  }
  if (mood % 4 == 1) {
    exchange.reply.start(200, none, std::nullopt);
    co_await exchange.reply.flush();
    const bool is_written = co_await exchange.reply.write("a", false);
    if (is_written) co_await exchange.reply.write("b", true);
    co_return;
  }
  const bool is_replaced = mood % 4 == 3;
  const upstream::Call call{.target = exchange.request.target,
                            .headers = exchange.request.headers,
                            .added = none,
                            .request_id = "1",
                            .body = exchange.request.body,
                            .interrupt = exchange.interrupt,
                            .needs_reply = is_replaced};
  const auto outcome = co_await caller.call(configuration().providers.models[0], call);
  if (!outcome.answer) {
    if (mood & 4) co_await exchange.reply.send(502, none, outcome.answer.error().message);
    co_return;
  }
  co_await relay(exchange, **outcome.answer, is_replaced);
}

class Envoy : public Channel {
 public:
  explicit Envoy(uint8_t mood) {
    site_.find = [mood](const http::Request&, const ModelCaller& caller) {
      return SessionHost{
          [mood, &caller](http::Exchange exchange) { return handle(exchange, caller, mood); },
          &destinations(), nullptr, (mood & 8) != 0};
    };
    session_ = std::make_shared<Session>(site_, io_, *this);
    Session::start(session_);
    run();
  }

  void read() override {
    SIGNALBOX_CHECK(!reads_ && !ended_);
    reads_ = true;
  }
  void send(std::string message) override { SIGNALBOX_CHECK(!ended_ && !message.empty()); }
  void finish(Ending, std::string) override {
    SIGNALBOX_CHECK(!ended_);
    ended_ = true;
  }

  void receive(std::string_view message) {
    if (!reads_ || ended_) return;
    reads_ = false;
    session_->receive(message);
    run();
  }
  void hold(uint64_t bytes) {
    if (bytes == 0) others_.lower(0);
    if (bytes > others_.bytes()) (void)others_.enter(std::min(bytes, kMemory));
    run();
  }
  void close(bool is_cancelled) {
    session_->closed(is_cancelled);
    run();
  }
  void leave() {
    close(true);
    SIGNALBOX_CHECK(ended_);
    SIGNALBOX_CHECK(session_.use_count() == 1);
    session_.reset();
    others_.lower(0);
    SIGNALBOX_CHECK(site_.memory.held() == 0);
  }

 private:
  static config::HttpLimits limits() {
    config::HttpLimits out;
    out.bodies_bytes_max = kMemory;
    return out;
  }
  void run() {
    io_.restart();
    io_.poll();
  }

  Site site_{
      .limits = limits(),
      .timeout = std::chrono::seconds(60),
      .error_body = [](int status,
                       std::string_view message) { return http::error_body(status, message); },
      .find = {}};
  http::MemoryShare others_{site_.memory};
  http::asio::io_context io_{1};
  std::shared_ptr<Session> session_;
  bool reads_ = false;
  bool ended_ = false;
};

// Takes the text up to a space from the front of `line`.
std::string_view word_of(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view out = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return out;
}

uint64_t number_of(std::string_view& line) {
  uint64_t out = 0;
  for (const char c : word_of(line).substr(0, 6)) out = out * 10 + static_cast<uint64_t>(c & 0xF);
  return out;
}

void add_header(Writer& map, std::string_view name, std::string_view value) {
  Writer header;
  header.bytes(1, name).bytes(2, value);
  map.message(1, header);
}

// Returns a message of Envoy with one part. `last` is the number of the field that marks the end.
std::string message_of(Part part, Writer& inner, uint32_t last, uint64_t flags) {
  if (flags & 1) inner.varint(last, 1);
  Writer out;
  // Part counts like the answers, whose fields begin at 1; those of requests begin at 2.
  out.message(static_cast<uint32_t>(part) + 1, inner);
  return std::move(out).take();
}

std::string headers_of(std::string_view line) {
  Writer config, map, inner;
  config.varint(1, number_of(line) % 8);
  config.varint(2, number_of(line) % 8);
  const uint64_t flags = number_of(line);
  add_header(map, ":method", "POST");
  add_header(map, ":path", line);
  add_header(map, "content-length", "10");
  inner.message(1, map);
  Writer mode;
  mode.message(11, config);
  return message_of(Part::kRequestHeaders, inner, 3, flags) + std::move(mode).take();
}

std::string response_of(std::string_view line) {
  Writer map, inner;
  add_header(map, ":status", word_of(line));
  const uint64_t flags = number_of(line);
  add_header(map, "content-type", line);
  inner.message(1, map);
  return message_of(Part::kResponseHeaders, inner, 3, flags);
}

std::string body_of(Part part, std::string_view line) {
  const uint64_t flags = number_of(line);
  Writer inner;
  inner.bytes(1, line);
  return message_of(part, inner, 2, flags);
}

std::string trailers_of(Part part) {
  Writer inner, map;
  add_header(map, "x-end", "1");
  inner.message(1, map);
  return message_of(part, inner, 3, 0);
}

void step(Envoy& envoy, std::string_view line) {
  const std::string_view kind = line.substr(0, 2);
  const std::string_view rest = line.substr(kind.size());
  if (kind == "h ") return envoy.receive(headers_of(rest));
  if (kind == "r ") return envoy.receive(response_of(rest));
  if (kind == "b ") return envoy.receive(body_of(Part::kRequestBody, rest));
  if (kind == "d ") return envoy.receive(body_of(Part::kResponseBody, rest));
  if (kind == "t") return envoy.receive(trailers_of(Part::kRequestTrailers));
  if (kind == "u") return envoy.receive(trailers_of(Part::kResponseTrailers));
  if (kind == "c") return envoy.close(false);
  if (kind == "o ") {
    std::string_view bytes = rest;
    return envoy.hold(number_of(bytes));
  }
  envoy.receive(line);
}

void play(uint8_t mood, std::string_view rest) {
  Envoy envoy(mood);
  for (size_t steps = 0; !rest.empty() && steps < kStepsMax; ++steps) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    step(envoy, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  envoy.leave();
}

}  // namespace
}  // namespace signalbox::extproc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0)
    signalbox::extproc::play(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
