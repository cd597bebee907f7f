// The key of a request is a digest of the request that its server would get, with the identity of
// the client beside it.

#include "router/gateway/cache_lookup.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/json.h"
#include "router/gateway/relay.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {
namespace {

using std::chrono::seconds;

constexpr std::string_view kControlHeader = "x-vsr-cache-control";

std::optional<seconds> seconds_of(std::string_view digits) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return seconds(value);
}

/// Adds what separates the entries of one client from those of others. By default, every identity
/// header does, because an answer to a client with its own key may be for that client only.
void add_identity(std::string_view scope, const config::Authz::Identity& identity,
                  const http::Headers& headers,
                  std::vector<std::pair<std::string_view, std::string_view>>& apart) {
  const auto add = [&](std::string_view name) {
    if (const auto value = headers.find(name)) apart.emplace_back(name, *value);
  };
  if (scope == "global" || scope == "shared" || scope == "recipe") return;
  add("x-authz-tenant-id");
  if (scope == "tenant") return;
  add("x-authz-team-id");
  if (scope == "team") return;
  for (const std::string_view name :
       {std::string_view(identity.user_id_header), std::string_view(identity.user_groups_header),
        std::string_view("authorization"), std::string_view("x-api-key"),
        std::string_view("api-key")})
    add(name);
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    if (field.name.size() > 7 && ascii::iequals(field.name.substr(0, 7), "x-user-"))
      apart.emplace_back(field.name, field.value);
  }
}

bool requests_stream(const json::Value& request) {
  const auto stream = request.find("stream");
  return stream && stream->is_bool() && stream->boolean();
}

/// Adds what shows in an answer that is repeated byte for byte and changes no answer otherwise.
void add_native(const json::Value& body, const http::Headers& headers,
                std::vector<std::pair<std::string_view, std::string_view>>& apart) {
  apart.emplace_back("form", requests_stream(body) ? "events" : "whole");
  for (const std::string_view name : {"metadata", "prompt_cache_key", "safety_identifier",
                                      "service_tier", "store", "stream_options", "user"}) {
    if (const auto value = body.find(name)) apart.emplace_back(name, value->raw());
  }
  for (size_t i = 0; i < headers.size(); ++i) {
    for (const std::string_view name : {"anthropic-beta", "anthropic-version", "openai-beta"}) {
      if (ascii::iequals(headers[i].name, name)) apart.emplace_back(name, headers[i].value);
    }
  }
}

std::optional<cache::Key> key_of_request(const config::Config& config,
                                         const config::ResponseCachePlugin& plugin,
                                         const routing::Plan& plan, const http::Request& request,
                                         std::string_view target) {
  const auto body = json::Document::parse(plan.body);
  if (!body || (plan.native && request::has_state(body->root()))) return std::nullopt;
  std::vector<std::pair<std::string_view, std::string_view>> apart{
      {"recipe", plan.recipe},
      {"decision", plan.decision},
      {"server", plan.model->name},
      {"target", target},
      {"embedder", config.embedding_model.path},
      {"epoch", plugin.revision.cache_epoch},
      {"model", plugin.revision.model_revision},
      {"prompt", plugin.revision.prompt_revision},
      {"policy", plugin.revision.policy_revision}};
  if (plan.native) add_native(body->root(), request.headers, apart);
  add_identity(plugin.scope, config.authz.identity, request.headers, apart);
  return cache::key_of(body->root(), apart);
}

std::unique_ptr<upstream::UpstreamReply> one_piece(bool streams, std::string body) {
  http::Response head;
  head.status = 200;
  head.headers.add("Content-Type", streams ? "text/event-stream" : "application/json");
  if (streams) head.headers.add("Cache-Control", "no-cache");
  if (!streams) head.content_length = body.size();
  return std::make_unique<upstream::OnePieceReply>(std::move(head), std::move(body));
}

/// Passes a reply on and collects it for the cache.
class RecordedReply final : public upstream::UpstreamReply {
 public:
  /// `is_native`: the reply is in its client's own API and is kept byte for byte, if it has the
  /// form that the client has requested: `streams`.
  RecordedReply(std::unique_ptr<upstream::UpstreamReply> answer, CacheLookup& lookup,
                bool is_native, bool streams)
      : answer_(std::move(answer)), lookup_(lookup), is_native_(is_native) {
    const http::Response& head = answer_->head();
    const auto encoding = head.headers.find("content-encoding");
    is_stream_ = is_event_stream(head.headers);
    recording_ = head.status == 200 && (!encoding || ascii::iequals(*encoding, "identity")) &&
                 (!is_native_ || is_stream_ == streams);
    if (!recording_) lookup_.give_up();
    if (is_stream_ && !is_native_) events_.emplace(CacheLookup::kReplyBytesMax);
  }

  const http::Response& head() const override { return answer_->head(); }
  bool ready() const override { return answer_->ready(); }
  void nudge() override { answer_->nudge(); }
  http::Task<Result<upstream::Piece>> next() override {
    Result<upstream::Piece> piece = co_await answer_->next();
    if (piece && recording_) take(*piece);
    co_return piece;
  }

 private:
  void take(const upstream::Piece& piece) {
    if (events_) {
      recording_ = events_->push(piece.bytes).has_value();
    } else {
      recording_ = body_.size() + piece.bytes.size() <= CacheLookup::kReplyBytesMax;
      if (recording_) body_ += piece.bytes;
    }
    if (!recording_) {
      body_ = {};
      lookup_.give_up();
      return;
    }
    if (!piece.last) return;
    if (events_) {
      if (auto whole = events_->finish()) lookup_.keep(*std::move(whole));
    } else if (is_native_ ? cache::check_native(body_, is_stream_) : cache::check_keepable(body_)) {
      lookup_.keep(std::move(body_));
    }
  }

  std::unique_ptr<upstream::UpstreamReply> answer_;
  CacheLookup& lookup_;
  const bool is_native_;
  bool is_stream_ = false;
  bool recording_;
  std::optional<cache::EventAssembler> events_;
  std::string body_;
};

}  // namespace

CacheControls read_controls(const config::RequestControls& allowed, std::string_view header) {
  CacheControls out;
  if (!allowed.enabled) return out;
  while (!header.empty()) {
    const size_t comma = std::min(header.find(','), header.size());
    const std::string_view one = http::trimmed(header.substr(0, comma));
    header.remove_prefix(std::min(comma + 1, header.size()));
    const size_t equals = std::min(one.find('='), one.size());
    const std::string_view name = http::trimmed(one.substr(0, equals));
    const auto is = [&](std::string_view directive) {
      const auto& names = allowed.allowed;
      return ascii::iequals(name, directive) &&
             (names.empty() || std::ranges::find(names, directive) != names.end());
    };
    const auto value =
        equals < one.size() ? seconds_of(http::trimmed(one.substr(equals + 1))) : std::nullopt;
    if (is("no-cache") || is("bypass")) out.look_up = false;
    if (is("no-store") || is("bypass")) out.store = false;
    if (is("max-age") && value) out.max_age = value;
    if (is("ttl") && value) {
      const seconds most(allowed.max_ttl_seconds);
      out.ttl = most.count() == 0 ? *value : std::min(*value, most);
    }
  }
  return out;
}

std::unique_ptr<upstream::UpstreamReply> stored_reply(std::string body) {
  return one_piece(false, std::move(body));
}

std::unique_ptr<upstream::UpstreamReply> completion_reply(std::string completion,
                                                          const request::ChatRequest& request,
                                                          bool with_usage) {
  if (!request.stream) return stored_reply(std::move(completion));
  const auto document = json::Document::parse(std::move(completion));
  if (!document) return nullptr;
  return one_piece(true,
                   cache::events_of(document->root(), with_usage || request.requests_usage()));
}

CacheLookup::CacheLookup(const GatewayContext& context, const config::ResponseCachePlugin* plugin,
                         const routing::Plan& plan, const http::Request& request,
                         std::string_view target)
    : cache_(context.cache),
      answers_(context.cache.answers()),
      compute_(context.compute),
      config_(context.router.config()),
      plugin_(plugin),
      plan_(plan),
      follow_max_(context.follow_max) {
  // The reply to a masked body is returned with this client's personal data in it.
  if (plugin == nullptr || !plan.masks.empty()) return;
  const config::RequestControls& controls = plugin->request_controls;
  const auto header =
      request.headers.find(controls.header.empty() ? kControlHeader : controls.header);
  controls_ = read_controls(controls, header.value_or(""));
  if (controls_.look_up || controls_.store)
    key_ = key_of_request(config_, *plugin, plan, request, target);
}

bool CacheLookup::compares() const {
  return plugin_->mode != config::ResponseCachePlugin::Mode::kExact && !key_->question.empty() &&
         key_->question.size() <= kQuestionBytesMax;
}

http::Task<std::unique_ptr<upstream::UpstreamReply>> CacheLookup::look_up(
    const request::ChatRequest& request, routing::Evaluation& evaluation,
    http::Interrupt& interrupt) {
  if (!key_) co_return nullptr;
  if (controls_.look_up) {
    co_await find(interrupt);
    if (!hit_ && controls_.store) {
      std::string id = key_->id;
      http::SingleFlight::Lead lead =
          co_await cache_.flights().enter(std::move(id), interrupt, follow_max_);
      lead_ = std::move(lead);
      // Others may have stored an answer meanwhile. A leader looks again only in a near store, so
      // that a remote one is called once.
      if (!lead_ || answers_->store().is_near()) co_await find(interrupt);
    }
  }
  if (!hit_ && compares() && !interrupt.raised()) {
    const bool ran = co_await embed_and_find(evaluation, interrupt);
    failed_ = failed_ || !ran;
  }
  std::unique_ptr<upstream::UpstreamReply> answer;
  if (hit_ && plan_.native)
    answer = one_piece(request.stream, hit_.entry->reply);
  else if (hit_)
    answer = completion_reply(hit_.entry->reply, request);
  if (answer) {
    lead_.end();
  } else if (controls_.look_up) {
    answers_->count_miss(failed_);
  }
  co_return answer;
}

// A remote store is called on the thread pool, not on the loop.
http::Task<> CacheLookup::find(http::Interrupt& interrupt) {
  std::function<void()> work = [this] {
    hit_ = answers_->find(*key_, cache::TimePoint::clock::now(), controls_.max_age);
  };
  bool ran = true;
  if (answers_->store().is_near()) {
    work();
  } else {
    std::stop_source given_up;
    ran = co_await http::run_within(compute_, interrupt, given_up, std::move(work));
  }
  failed_ = failed_ || !ran || hit_.failed;
}

http::Task<bool> CacheLookup::embed_and_find(routing::Evaluation& evaluation,
                                             http::Interrupt& interrupt) {
  const double similarity =
      plugin_->semantic.similarity_threshold.value_or(config_.response_cache.similarity_threshold);
  std::stop_source given_up;
  std::function<void()> work = [&] {
    const auto vector = evaluation.embedding(key_->question, {.stop = given_up.get_token()});
    if (!vector) {
      failed_ = vector.error().code != Code::kNotFound;
      return;
    }
    vector_.assign(vector->begin(), vector->end());
    if (controls_.look_up)
      hit_ = answers_->find_near(*key_, vector_, similarity, cache::TimePoint::clock::now(),
                                 controls_.max_age);
    failed_ = failed_ || hit_.failed;
  };
  const bool ran = co_await http::run_within(compute_, interrupt, given_up, std::move(work));
  co_return ran;
}

std::unique_ptr<upstream::UpstreamReply> CacheLookup::record(
    std::unique_ptr<upstream::UpstreamReply> answer, bool streams) {
  if (!records()) return answer;
  return std::make_unique<RecordedReply>(std::move(answer), *this, plan_.native, streams);
}

seconds CacheLookup::lifetime() const {
  const seconds ttl(plugin_->ttl_seconds.value_or(config_.response_cache.ttl_seconds));
  const uint32_t turns = plan_.retention == nullptr ? 0 : plan_.retention->ttl_turns.value_or(0);
  // A cache that stores nothing has no lifetime that turns could replace.
  return ttl.count() == 0 || turns == 0 ? ttl : turns * kTurn;
}

void CacheLookup::keep(std::string reply) {
  const cache::TimePoint now = cache::TimePoint::clock::now();
  const seconds ttl = lifetime();
  if (ttl.count() == 0) return give_up();
  cache::Entry entry{.id = key_->id,
                     .partition = key_->partition,
                     .question = key_->question,
                     .vector = vector_,
                     .reply = std::move(reply),
                     .recipe = plan_.recipe,
                     .decision = plan_.decision,
                     .model = plan_.model->name,
                     .created = now,
                     .expires = now + std::min(ttl, controls_.ttl.value_or(ttl))};
  answers_->put(std::move(entry), now);
  lead_.end();
}

void CacheLookup::give_up() {
  lead_.end();
}

void CacheLookup::keep_nothing() {
  controls_.store = false;
  give_up();
}

observe::CacheUse CacheLookup::use() const {
  using observe::CacheUse;
  if (!controls_.look_up) return CacheUse::kNone;
  if (hit_) return hit_.entry->id == key_->id ? CacheUse::kHit : CacheUse::kNear;
  return failed_ ? CacheUse::kFailed : CacheUse::kMiss;
}

replies::ReplyMeter::Times CacheLookup::measures() const {
  const auto now = std::chrono::steady_clock::now();
  const bool is_stream = !ascii::trimmed(hit_.entry->reply).starts_with('{');
  replies::ReplyMeter meter(now, is_stream);
  meter.feed(hit_.entry->reply, now);
  return meter.times();
}

std::vector<std::pair<std::string_view, std::string>> CacheLookup::headers(bool debug) const {
  std::vector<std::pair<std::string_view, std::string>> out;
  if (hit_) {
    out.emplace_back("x-vsr-cache-hit", "true");
    out.emplace_back("x-vsr-cache-entry", hit_.entry->id);
    if (debug) out.emplace_back("x-vsr-cache-similarity", fmt::format("{:.4f}", hit_.similarity));
  } else if (failed_) {
    out.emplace_back("x-vsr-cache-degraded", "true");
  }
  return out;
}

}  // namespace signalbox::gateway
