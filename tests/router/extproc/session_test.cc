// Tests sessions from data. Every line of stories/*.jsonl is a configuration and the messages that
// Envoy and the router exchange, in order.
//
//   {"name": ..., "models": [...]?, "routing": {...}?, "global": {...}?,
//    "body_timeout_ms": n?, "timeout_ms": n?, "story": [...]}
//
// Envoy's messages:
//   {"to": PART, "headers": {...}?, "raw": true?, "body": ...? or "json": ...?, "last": true?,
//    "observes": true?, "modes": [REQUEST, RESPONSE]?}
//   {"to": "bytes", "body": ...}, {"to": "close"}, {"to": "cancel"}
//   {"to": "wait"}, a pause
//   {"to": "others", "hold": n}, the bytes that other requests hold of the memory for bodies
//
// The router's messages:
//   {"from": PART, "set": {NAME: VALUE}?, "unset": [...]?, "removed": [...]?, "body": ...? or
//    "json": ...?, "streams": true?, "ends": true?, "clears_route": true?, "mode": n?}
//   {"from": "reply", "status": n, "set": ...?, "has": part of the body?}
//   {"from": "wait", "seconds": n}, a request for more time
// With "held": n in it, the session holds n bytes of the memory for bodies after that message.
//   {"from": "end", "ending": ..., "has": part of the reason?}
//
// Without "body" or "json", the message must have no body. Every message of the router must be in
// the story.

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>

#include "base/protobuf.h"
#include "router/config/load.h"
#include "router/dialects/anthropic.h"
#include "router/extproc/session.h"
#include "router/gateway/pipeline.h"
#include "router/http/error_reply.h"
#include "router/upstream/backends.h"
#include "tests/router/data_case.h"

namespace signalbox::gateway {
namespace {

namespace fs = std::filesystem;
using protobuf::Reader;
using protobuf::Writer;

const fs::path kStories = fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/extproc/stories";
constexpr std::chrono::seconds kPatience{10};
constexpr std::array<std::string_view, 5> kEndings = {"done", "invalid", "unprepared", "late",
                                                      "aborted"};

/// A message of the router, as Envoy reads it.
struct SentMessage {
  std::string from;
  std::map<std::string, std::string> set;
  std::vector<std::string> removed;
  std::optional<uint32_t> field;  // field number of values
  std::optional<std::string> body;
  bool streams = false, ends = false;  // a piece of a stream; the last piece
  bool clears_route = false;
  uint64_t mode = 0;
  bool asks_for_trailers = false;
  uint64_t status = 0;
  uint64_t seconds = 0;
  std::string why;
};

template <class Take>
void each(std::string_view message, Take take) {
  Reader reader(message);
  for (auto field = reader.next(); field && *field; field = reader.next()) take(**field);
}

void read_mutation(std::string_view bytes, SentMessage& out) {
  each(bytes, [&](const protobuf::Field& field) {
    const auto inner = *field.bytes();
    if (field.number() == 2) {
      out.removed.emplace_back(inner);
      return;
    }
    std::string name, value;
    uint64_t action = 0;
    bool appends = false;
    each(inner, [&](const protobuf::Field& option) {
      if (option.number() == 2) appends = *option.bytes() == "\x08\x01";
      if (option.number() == 3) action = *option.varint();
      if (option.number() != 1) return;
      each(*option.bytes(), [&](const protobuf::Field& header) {
        (header.number() == 1 ? name : value) = *header.bytes();
        if (header.number() != 1) out.field = header.number();
      });
    });
    std::string& set = out.set[name];
    EXPECT_EQ(action, appends ? 0U : 2U) << "older and newer Envoys read the same";
    set = appends ? set + "|" + value : value;
  });
}

void read_common(std::string_view bytes, SentMessage& out) {
  each(bytes, [&](const protobuf::Field& field) {
    if (field.number() == 2) read_mutation(*field.bytes(), out);
    if (field.number() == 5) out.clears_route = *field.boolean();
    if (field.number() != 3) return;
    each(*field.bytes(), [&](const protobuf::Field& body) {
      out.streams = body.number() == 3;
      if (body.number() == 1) out.body = *body.bytes();
      if (body.number() == 2) out.body = "";
      if (!out.streams) return;
      each(*body.bytes(), [&](const protobuf::Field& piece) {
        if (piece.number() == 1) out.body = *piece.bytes();
        if (piece.number() == 2) out.ends = *piece.boolean();
      });
    });
  });
}

SentMessage read_sent(const std::string& message) {
  SentMessage out;
  each(message, [&](const protobuf::Field& field) {
    if (field.number() == 9) {
      each(*field.bytes(), [&](const protobuf::Field& mode) {
        if (mode.number() == 4) out.mode = *mode.varint();
        if (mode.number() == 6) out.asks_for_trailers = *mode.varint() == 1;
      });
    } else if (field.number() == 10) {
      out.from = "wait";
      each(*field.bytes(), [&](const protobuf::Field& part) {
        if (part.number() == 1) out.seconds = *part.varint();
      });
    } else if (field.number() == 7) {
      out.from = "reply";
      each(*field.bytes(), [&](const protobuf::Field& part) {
        if (part.number() == 1) {
          each(*part.bytes(),
               [&](const protobuf::Field& status) { out.status = *status.varint(); });
        } else if (part.number() == 2) {
          read_mutation(*part.bytes(), out);
        } else {
          out.body = *part.bytes();
        }
      });
    } else {
      out.from = extproc::name_of(static_cast<extproc::Part>(field.number()));
      each(*field.bytes(), [&](const protobuf::Field& part) { read_common(*part.bytes(), out); });
    }
  });
  return out;
}

/// A router, and a session with it.
class Play : public extproc::Channel {
 public:
  explicit Play(const json::Value& row) {
    const auto raw = [&](std::string_view key, std::string_view fallback) {
      const auto found = row.find(key);
      return std::string(found ? found->raw() : fallback);
    };
    auto loaded = config::parse(
        fmt::format(R"({{"version": "v0.3", "providers": {{"defaults": {{"default_model": "m"}},
                         "models": {}}}, "routing": {}, "global": {}}})",
                    raw("models", R"([{"name": "m", "provider_model_id": "m-7b", "backend_refs":
                                      [{"name": "a", "endpoint": "10.0.0.7:8000"}]}])"),
                    raw("routing", "{}"), raw("global", "{}")),
        "story.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    auto made = routing::Router::create(std::move(loaded->config), {});
    EXPECT_TRUE(made) << made.error().message;
    router_ = std::move(*made);
    observer_ = Observer::create(*router_, metrics_, replay_).value();
    observer_->start();
    destinations_ = std::make_unique<upstream::Destinations>(router_->config());
    backends_ = std::make_unique<upstream::Backends>(router_->config(), fleet_);
    site_.limits = router_->config().http;
    site_.timeout = router_->config().ext_proc.timeout;
    const auto limit = [&](std::string_view key, std::chrono::milliseconds& out) {
      if (const auto ms = row.find(key)) out = std::chrono::milliseconds(*ms->integer());
    };
    limit("body_timeout_ms", site_.limits.body_timeout);
    limit("timeout_ms", site_.timeout);
    site_.error_body = [](int status, std::string_view message) {
      return http::error_body(status, message);
    };
    cache_.configure(router_->config().response_cache);
    auto guards = replies::ReplyGuards::create(router_->config(), router_->models());
    EXPECT_TRUE(guards) << guards.error().message;
    guards_ = std::move(*guards);
    site_.find = [this](const http::Request& request, const upstream::ModelCaller& caller) {
      const GatewayContext services{*router_, caller,     compute_, compute_,  compute_, compute_,
                                    stats_,   *observer_, cache_,   contexts_, limiter_, *guards_};
      http::Route route = request.path() == "/v1/messages"
                              ? dialect_route("/v1/messages", surface_, services)
                              : chat_route(services);
      return extproc::SessionHost{std::move(route.handler), destinations_.get(), backends_.get(),
                                  router_->config().router.clear_route_cache};
    };
    session_ = std::make_shared<extproc::Session>(site_, io_, *this);
    extproc::Session::start(session_);
    io_.poll();
  }

  void read() override { reads_ = true; }
  void send(std::string message) override { sent_.push_back(read_sent(message)); }
  void finish(extproc::Ending ending, std::string why) override {
    ended_ = true;
    SentMessage out;
    out.from = "end";
    out.body = kEndings[static_cast<size_t>(ending)];
    out.why = std::move(why);
    sent_.push_back(std::move(out));
  }

  void step(const json::Value& step) { step.find("to") ? to(step) : from(step); }
  bool ended() const { return ended_; }
  std::string rest() const { return sent_.empty() ? "" : sent_.front().from; }
  void leave() {
    session_.reset();
    others_.lower(0);
    EXPECT_EQ(site_.memory.held(), 0U);
  }

 private:
  static std::string text_of(const json::Value& step) {
    if (const auto body = step.find("json")) return std::string(body->raw());
    const auto body = step.find("body");
    return std::string(body ? body->text() : "");
  }

  static std::string message(std::string_view kind, const json::Value& step, uint32_t field) {
    constexpr std::array<std::string_view, 8> kParts = {"",
                                                        "",
                                                        "request_headers",
                                                        "response_headers",
                                                        "request_body",
                                                        "response_body",
                                                        "request_trailers",
                                                        "response_trailers"};
    const auto part = std::find(kParts.begin(), kParts.end(), kind) - kParts.begin();
    EXPECT_LT(part, 8) << kind;
    Writer inner, out;
    if (part == 2 || part == 3 || part >= 6) {
      Writer map;
      for (const json::Member& each : step.find("headers")->members()) {
        Writer header;
        header.bytes(1, each.key).bytes(field, each.value.text());
        map.message(1, header);
      }
      inner.message(1, map);
    } else {
      inner.bytes(1, text_of(step));
    }
    if (step.find("last")) inner.varint(part <= 3 ? 3 : 2, 1);
    out.message(static_cast<uint32_t>(part), inner);
    out.bytes(8, "unknown fields are skipped").bytes(99, "these too");
    if (step.find("observes")) out.varint(10, 1);
    if (const auto modes = step.find("modes")) {
      Writer config;
      uint32_t number = 0;
      for (const json::Value& mode : modes->items())
        config.varint(++number, static_cast<uint64_t>(*mode.integer()));
      out.message(11, config);
    }
    return std::move(out).take();
  }

  void to(const json::Value& step) {
    const std::string_view kind = step.find("to")->text();
    if (kind == "wait") {
      io_.restart();
      io_.run_for(std::chrono::milliseconds(200));
      return;
    }
    if (kind == "others") {
      EXPECT_EQ(others_.set(static_cast<uint64_t>(*step.find("hold")->integer())),
                http::Raise::kDone);
    } else if (kind == "close" || kind == "cancel") {
      session_->closed(kind == "cancel");
    } else {
      EXPECT_TRUE(reads_) << "nothing is read before the last message has been taken";
      reads_ = false;
      if (kind == "request_headers") field_ = step.find("raw") ? 3 : 2;
      session_->receive(kind == "bytes" ? text_of(step) : message(kind, step, field_));
    }
    io_.restart();
    io_.poll();
  }

  void from(const json::Value& step) {
    const std::string_view kind = step.find("from")->text();
    const auto end = http::Clock::now() + kPatience;  // models run on other threads
    while (sent_.empty() && http::Clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(10));
    }
    ASSERT_FALSE(sent_.empty()) << "no message was sent; expected " << step.raw();
    const SentMessage got = std::move(sent_.front());
    sent_.pop_front();
    ASSERT_EQ(got.from, kind) << got.why << got.body.value_or("");
    if (kind == "end") {
      EXPECT_EQ(got.body, step.find("ending")->text()) << got.why;
      const auto has = step.find("has");
      EXPECT_NE(got.why.find(has ? has->text() : ""), std::string::npos) << got.why;
      return;
    }
    if (const auto set = step.find("set")) {
      for (const json::Member& each : set->members()) {
        const auto found = got.set.find(std::string(each.key));
        EXPECT_EQ(found == got.set.end() ? "nothing" : found->second, each.value.text())
            << each.key;
      }
    }
    if (const auto unset = step.find("unset")) {
      for (const json::Value& name : unset->items())
        EXPECT_FALSE(got.set.count(std::string(name.text()))) << name.text();
    }
    EXPECT_EQ(got.field.value_or(field_), field_) << "values come back as they were sent";
    std::vector<std::string> removed;
    if (const auto names = step.find("removed")) {
      for (const json::Value& name : names->items()) removed.emplace_back(name.text());
    }
    EXPECT_EQ(got.removed, removed);
    EXPECT_EQ(got.streams, step.find("streams").has_value());
    EXPECT_EQ(got.ends, step.find("ends").has_value());
    EXPECT_EQ(got.clears_route, step.find("clears_route").has_value());
    const auto mode = step.find("mode");
    EXPECT_EQ(got.mode, mode ? static_cast<uint64_t>(*mode->integer()) : 0);
    EXPECT_EQ(got.asks_for_trailers, mode.has_value());
    const auto status = step.find("status");
    EXPECT_EQ(got.status, status ? static_cast<uint64_t>(*status->integer()) : 0);
    const auto seconds = step.find("seconds");
    EXPECT_EQ(got.seconds, seconds ? static_cast<uint64_t>(*seconds->integer()) : 0);
    if (const auto held = step.find("held")) {
      EXPECT_EQ(site_.memory.held(), static_cast<uint64_t>(*held->integer()));
    }
    if (const auto has = step.find("has")) {
      EXPECT_NE(got.body.value_or("").find(has->text()), std::string::npos) << *got.body;
    } else if (step.find("body") || step.find("json")) {
      EXPECT_EQ(got.body.value_or("no body"), text_of(step));
    } else {
      EXPECT_FALSE(got.body.has_value()) << *got.body;
    }
  }

  observe::Metrics metrics_;
  observe::LocalReplay replay_;
  AnswerCache cache_;
  Contexts contexts_;
  limits::RateLimiter limiter_;
  std::unique_ptr<const replies::ReplyGuards> guards_;
  selection::RuntimeStats stats_;
  const dialects::AnthropicDialect surface_{};
  std::unique_ptr<const routing::Router> router_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<upstream::Destinations> destinations_;
  upstream::Fleet fleet_;
  std::unique_ptr<upstream::Backends> backends_;
  extproc::Site site_;
  http::MemoryShare others_{site_.memory};
  http::asio::io_context io_{1};
  http::ThreadPool compute_{1, 4};
  std::shared_ptr<extproc::Session> session_;
  std::deque<SentMessage> sent_;
  uint32_t field_ = 2;  // field number of values: value, raw_value
  bool reads_ = false;
  bool ended_ = false;
};

TEST(Session, sessions_follow_the_listed_messages) {
  routing::run_cases(kStories, [](const json::Value& row) {
    Play play(row);
    for (const json::Value& step : row.find("story")->items()) {
      SCOPED_TRACE(step.raw());
      play.step(step);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(play.rest(), "");
    EXPECT_TRUE(play.ended()) << "every story has an end";
    play.leave();
  });
}

}  // namespace
}  // namespace signalbox::gateway
