// Each call is a coroutine of its own on the request's loop, so that no lock is needed. run() waits
// on one timer, which a call that ends cancels.

#include "router/gateway/loop.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "router/access/owner.h"
#include "router/gateway/admit.h"
#include "router/gateway/conversation_digest.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/native_call.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/read_request.h"
#include "router/gateway/relay.h"
#include "router/gateway/reply_filters.h"
#include "router/gateway/translated_reply.h"
#include "router/http/deadline.h"
#include "router/looper/call_body.h"
#include "router/looper/compose.h"
#include "router/plugins/server_family.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kReplyMbDefault = 32;
constexpr int kOk = 200;
/// The most memory that the algorithm's reading of the request takes, in times of the plan's body,
/// and what it keeps of that.
constexpr size_t kConversationCopies = 6, kConversationKept = 3;
/// The same for a call's own body.
constexpr size_t kCallCopies = 3;

bool requests_logprobs(const request::ChatRequest& request) {
  const auto found = request.document.root().find("logprobs");
  return found && found->is_bool() && found->boolean();
}

std::span<const config::ModelCard> cards_of(const config::Decision& decision,
                                            const config::Config& config) {
  for (const config::Routing* routing : config::routings_of(config)) {
    for (const config::Decision& each : routing->decisions) {
      if (&each == &decision) return routing->model_cards;
    }
  }
  return {};
}

/// `flow` is the workflow that goes on; "": none.
std::unique_ptr<const looper::Algorithm> algorithm_of(const routing::Plan& plan,
                                                      const config::Config& config, bool may_wait,
                                                      std::string_view flow) {
  if (plan.painter != nullptr) return looper::text_and_image(plan.voices);
  looper::Conversation conversation;
  if (const auto body = json::Document::parse(plan.body))
    conversation = looper::read_conversation(body->root(), flow);
  conversation.may_wait = conversation.may_wait && may_wait;
  return looper::make_algorithm(*plan.loop, plan.voices, std::move(conversation),
                                cards_of(*plan.loop, config));
}

looper::FlowTurn flow_turn_of(std::string_view flow, const looper::Call& call, size_t turn) {
  return {flow, call.has_results ? std::optional(turn) : std::nullopt};
}

/// The tokens that the reply reports.
std::optional<observe::Tokens> tokens_of(const looper::Reply& reply) {
  if (reply.prompt_tokens == 0 && reply.completion_tokens == 0) return std::nullopt;
  return observe::Tokens{reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens};
}

/// The client pays for all calls of this request.
std::string with_whole_usage(std::span<const looper::Turn> turns, std::string body) {
  uint64_t prompt = 0, completion = 0;
  for (const looper::Turn& turn : turns) {
    if (turn.reply() == nullptr) continue;
    prompt += turn.reply()->prompt_tokens;
    completion += turn.reply()->completion_tokens;
  }
  return looper::with_usage(body, prompt, completion);
}

/// A reply without a usage must not escape the budget of tokens.
void estimate_tokens(size_t sent_bytes, looper::Reply& reply) {
  constexpr uint64_t kBytes = 4;  // of an English token, roughly
  reply.prompt_tokens = sent_bytes / kBytes;
  reply.completion_tokens = (reply.text.size() + reply.reasoning.size()) / kBytes;
}

}  // namespace

config::HeaderMutationPlugin headers_of(const routing::Plan& plan, const config::Looper& looper) {
  config::HeaderMutationPlugin out;
  if (plan.header_mutation != nullptr) out = *plan.header_mutation;
  for (const auto& [name, value] : looper.headers) out.update.push_back({name, value});
  return out;
}

/// One call. It refers to its own members, so it does not move.
struct Loop::Flight {
  explicit Flight(size_t of_turn) : turn(of_turn) {}

  const size_t turn;
  http::Interrupt interrupt;
  http::MemoryShare memory;
  routing::Plan plan;
  ServerRequest server;
  std::optional<RequestScope> scope;  // the request's, with the interrupt of this call
  std::optional<ServerCall> call;
  std::optional<InFlight> in_flight;
  std::optional<observe::Meters::AtModel> at_model;
  std::optional<http::Deadline> limit;
  size_t number = 0;  // in the record
  int status = 0;
  bool elsewhere = true;  // if it fails, another model may succeed
  Clock::time_point started;
  std::unique_ptr<upstream::UpstreamReply> stream;  // set if the client gets it as it comes
  bool has_ended = false;
};

Loop::Loop(const RequestScope& scope, const ParsedRequest& request,
           const routing::Evaluation& evaluation, const routing::Plan& plan,
           limits::Requester& requester, const http::Headers& decided, EarlyStream* early)
    : scope_(scope),
      request_(request),
      evaluation_(evaluation),
      plan_(plan),
      requester_(requester),
      decided_(decided),
      drops_logprobs_(!requests_logprobs(request.chat)),
      keeps_api_(keeps_api(scope.config().providers, request, plan)),
      early_(early),
      passes_stream_(request.chat.stream && scope.context.backends.is_direct()),
      began_(Clock::now()),
      header_mutation_(headers_of(plan, scope.config().looper)) {}

Loop::~Loop() = default;

milliseconds Loop::elapsed() const {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
}

// Finds the state of the workflow whose tools have results in the request.
http::Task<Result<void>> Loop::resume() {
  if (scope_.context.flow_states == nullptr || plan_.loop->algorithm.type != "workflows" ||
      plan_.body.find(looper::kFlowPrefix) == std::string::npos)
    co_return Result<void>();
  Result<void> room = co_await reserve_for(memory_, scope_.exchange.interrupt,
                                           kConversationCopies * plan_.body.size());
  if (!room) co_return room;
  std::string id;
  bool has_results = true;
  Result<looper::FlowState> state = fail(Code::kOverloaded, "too many requests are waiting");
  std::function<void()> read = [&] {
    const auto body = json::Document::parse(plan_.body);
    id = body ? looper::find_flow(body->root()) : "";
    has_results = !id.empty() || (body && looper::has_open_results(body->root()));
    if (has_results) state = read_state(body->root(), id);
  };
  co_await scope_.context.storage.run(std::move(read), scope_.share(0, 1));
  if (!has_results) co_return room;
  has_resumed_ = state.has_value();
  if (!state) {
    log::warn("flow", "{}: the workflow of these results begins anew: {}", scope_.record.id(),
              state.error().message);
    co_return room;
  }
  flow_ = looper::flow_of(id);
  past_ = std::move(state->turns);
  co_return room;
}

// A state must not reach another client or another conversation.
Result<looper::FlowState> Loop::read_state(const json::Value& request,
                                           const std::string& id) const {
  if (id.empty()) return fail(Code::kInvalid, "other messages follow them");
  SIGNALBOX_TRY(std::string text, scope_.context.flow_states->get(id));
  SIGNALBOX_TRY(looper::FlowState state, looper::read_flow(std::move(text)));
  if (state.owner != access::owner_of(scope_.headers(), scope_.config()))
    return fail(Code::kNotFound, "there is no such state of this client");
  if (state.recipe != plan_.recipe || state.decision != plan_.decision)
    return fail(Code::kNotFound, "the state belongs to decision \"{}\"", state.decision);
  // The texts of the state must answer this conversation, and its placeholders stand for the same.
  const std::span<const pii::Mask> masks(plan_.masks);
  if (masks.size() < state.masks ||
      state.conversation != conversation_of(request_.chat, masks.first(state.masks)))
    return fail(Code::kNotFound, "the state belongs to another conversation");
  if (!looper::has_results(request, id, state))
    return fail(Code::kInvalid, "a model that waits has no result");
  return state;
}

// Stores the state of a workflow whose answer is calls of tools. Without a state, the client's
// results begin it anew.
http::Task<> Loop::keep_state() {
  const auto& answer = run_->answer();
  if (!answer || !*answer || (*answer)->waiting.empty()) co_return;
  const std::string token = access::new_token();
  constexpr size_t kFlowBytes = 6, kStateBytes = 9;  // ids of tool calls contain both
  const std::string flow = flow_.empty() ? token.substr(0, kFlowBytes) : flow_;
  std::string id = fmt::format("{}-{}", flow, token.substr(kFlowBytes, kStateBytes));
  Result<void> kept = fail(Code::kOverloaded, "too many requests are waiting");
  // Do not build a state that no store takes, because it may have many megabytes.
  const size_t bytes = looper::kept_bytes(run_->turns(), (*answer)->waiting);
  const size_t most = flow_states::Limits().state_bytes;
  if (bytes > most)
    kept = fail(Code::kTooLarge, "its replies have {} bytes, more than {}", bytes, most);
  std::function<void()> keep = [&] {
    const looper::FlowState state{.owner = access::owner_of(scope_.headers(), scope_.config()),
                                  .recipe = plan_.recipe,
                                  .decision = plan_.decision,
                                  .conversation = conversation_of(request_.chat, plan_.masks),
                                  .masks = plan_.masks.size(),
                                  .turns = looper::past_turns(run_->turns(), (*answer)->waiting)};
    kept = scope_.context.flow_states->put(id, looper::write_flow(state));
  };
  if (bytes <= most) co_await scope_.context.storage.run(std::move(keep), scope_.share(0, 1));
  if (kept) state_ = std::move(id);
  if (!kept)
    log::warn("flow", "{}: the workflow will begin anew after its tools: {}", scope_.record.id(),
              kept.error().message);
}

// The decision has changed since the state was stored.
http::Task<Result<void>> Loop::begin_anew() {
  log::warn("flow", "{}: the workflow of these results begins anew: its plan has changed",
            scope_.record.id());
  has_resumed_ = false;
  flow_.clear();
  past_.clear();
  link_.reset();
  run_.reset();
  Result<void> begun = co_await begin();
  co_return begun;
}

http::Task<Result<void>> Loop::begin() {
  // An image beside a text needs no conversation.
  const size_t held = (plan_.painter == nullptr ? plan_.body.size() : 0) + looper::bytes_of(past_);
  Result<void> room =
      co_await reserve_for(memory_, scope_.exchange.interrupt, kConversationCopies * held);
  if (!room) co_return room;
  run_.emplace(algorithm_of(plan_, scope_.config(), scope_.context.flow_states != nullptr, flow_),
               looper::bounds_of(plan_.loop->algorithm, scope_.config().looper), std::move(past_));
  timer_.emplace(*executor_);
  link_.emplace(scope_.exchange.interrupt, [this] { interrupted(); });
  memory_.lower(kConversationKept * held);
  co_return Result<void>();
}

http::Task<Result<LoopAnswer>> Loop::run() {
  executor_ = co_await http::asio::this_coro::executor;
  memory_ = scope_.exchange.request.memory.beside();
  Result<void> room = co_await resume();
  if (room) room = co_await begin();
  if (!room) co_return tl::unexpected<Error>(room.error());
  const http::Interrupt& interrupt = scope_.exchange.interrupt;
  const auto has_gone = [&interrupt] {
    return interrupt.raised() && interrupt.why() == Code::kCancelled;
  };
  while (!has_gone() && streaming() == nullptr) {
    looper::Run::Orders orders = run_->advance(elapsed());
    if (flights_.empty() && run_->has_diverged()) {
      room = co_await begin_anew();
      if (!room) co_return tl::unexpected<Error>(room.error());
      continue;
    }
    for (const size_t turn : orders.cancel) cancel(turn);
    for (const size_t turn : orders.start) start(turn);
    if (run_->answer()) break;
    co_await wait(true);
    co_await show_progress();
  }
  co_await land_all();
  if (has_gone()) co_return tl::unexpected<Error>(interrupt.error());
  co_await keep_state();
  Result<LoopAnswer> out = answer();
  if (!out || out->stream == nullptr) link_.reset();
  co_return out;
}

// Ends the calls that are still in flight, except for one that streams.
http::Task<> Loop::land_all() {
  for (const auto& flight : flights_) {
    if (!flight->has_ended && flight->stream == nullptr) flight->interrupt.raise(Code::kCancelled);
  }
  const auto is_in_flight = [](const auto& flight) { return !flight->has_ended; };
  while (std::any_of(flights_.begin(), flights_.end(), is_in_flight)) co_await wait(false);
}

// `for_run`: until the run must move on, at the latest.
http::Task<> Loop::wait(bool for_run) {
  if (!std::exchange(woken_, false)) {
    const auto at = for_run ? run_->wake() : std::nullopt;
    Clock::time_point until = at ? began_ + *at : Clock::time_point::max();
    if (for_run && early_ != nullptr) until = std::min(until, early_->due());
    timer_->expires_at(until);
    co_await timer_->async_wait(http::kAwait);
  }
  woken_ = false;
}

// The stream begins once a server has the request: until then the reply may still get an error
// status.
http::Task<> Loop::show_progress() {
  if (early_ == nullptr || Clock::now() < early_->due() || streaming() != nullptr) co_return;
  const auto is_called = [](const auto& each) { return each->call && each->call->was_sent(); };
  if (std::none_of(flights_.begin(), flights_.end(), is_called)) {
    early_->postpone();
    co_return;
  }
  const auto ended = std::count_if(flights_.begin(), flights_.end(),
                                   [](const auto& each) { return each->has_ended; });
  const std::string progress = fmt::format("{} of {} calls have ended", ended, flights_.size());
  const bool is_here = co_await early_->write(progress);
  if (!is_here) scope_.exchange.interrupt.raise(Code::kCancelled);
}

void Loop::wake() {
  woken_ = true;
  if (timer_) timer_->cancel();
}

void Loop::interrupted() {
  const http::Interrupt& from = scope_.exchange.interrupt;
  if (from.why() == Code::kDeadline) run_->expire();
  for (const auto& flight : flights_) flight->interrupt.raise(from.why(), from.limit());
  wake();
}

void Loop::cancel(size_t turn) {
  for (const auto& flight : flights_) {
    if (flight->turn == turn) flight->interrupt.raise(Code::kCancelled);
  }
}

bool Loop::streams(const Flight& flight) const {
  return passes_stream_ && run_->turns()[flight.turn].call.is_last;
}

Loop::Flight* Loop::streaming() const {
  for (const auto& flight : flights_) {
    if (flight->stream != nullptr) return flight.get();
  }
  return nullptr;
}

// Returns null if an earlier request has made the call.
Loop::Flight* Loop::flight_of(size_t turn) const {
  for (const auto& flight : flights_) {
    if (flight->turn == turn) return flight.get();
  }
  return nullptr;
}

void Loop::start(size_t turn) {
  const auto shared = std::make_shared<Flight>(turn);
  flights_.push_back(shared);
  shared->memory = memory_.beside();
  auto ended = [this, shared](const std::exception_ptr& thrown) {
    shared->has_ended = true;
    if (thrown) run_->take(shared->turn, fail(Code::kInternal, "the call failed"));
    wake();
  };
  http::asio::co_spawn(*executor_, fly(shared), std::move(ended));
}

http::Task<Result<void>> Loop::reserve_for(http::MemoryShare& memory, http::Interrupt& interrupt,
                                           size_t bytes) {
  return reserve(memory, interrupt, scope_.config().http.body_timeout, bytes);
}

http::Task<Result<void>> Loop::prepare(Flight& flight) {
  Result<void> ready =
      co_await reserve_for(flight.memory, flight.interrupt, kCallCopies * plan_.body.size());
  if (ready) ready = plan_call(flight);
  if (!ready) co_return ready;
  const size_t body = flight.plan.body.capacity();
  ready = co_await reserve_for(flight.memory, flight.interrupt,
                               body + translating_bytes(scope_, flight.plan));
  if (ready) ready = begin_call(flight);
  co_return ready;
}

Result<void> Loop::plan_call(Flight& flight) {
  const looper::Call& call = run_->turns()[flight.turn].call;
  routing::RuntimeConditions conditions;
  conditions.voice = call.model;
  conditions.draws = call.purpose == looper::Purpose::kDraw;
  conditions.keeps_api = keeps_api_ && !call.prompt;
  // An algorithm may name a model for answers that is not one of the decision's.
  if (call.purpose == looper::Purpose::kAnswer && scope_.key() != nullptr)
    conditions.allowed = scope_.key()->models;
  SIGNALBOX_TRY(flight.plan, evaluation_.plan(conditions));
  if (flight.plan.path != routing::Plan::Path::kUpstream)
    return fail(Code::kInvalid, "{}", flight.plan.message);
  const config::Model& model = *flight.plan.model;
  if (admit_to_model(scope_, model.name, requester_)) {
    flight.elsewhere = false;  // another model must not be a way around the limit
    return fail(Code::kOverloaded, "a rate limit is reached");
  }
  if (flight.plan.image != nullptr) return {};
  const std::string_view limit = plugins::token_limit_of(model);
  SIGNALBOX_TRY(flight.plan.body,
                flight.plan.native
                    ? write_native_call(std::move(flight.plan.body), *scope_.api.native(),
                                        streams(flight), call.is_stored)
                    : looper::write_call(std::move(flight.plan.body), call, streams(flight), limit,
                                         flow_turn_of(flow_, call, flight.turn)));
  // The headers for every call may name what an image server must not know.
  flight.plan.header_mutation = &header_mutation_;
  return {};
}

Result<void> Loop::begin_call(Flight& flight) {
  const size_t body = flight.plan.body.capacity();
  const bool only_quotes = keeps_api_ && run_->turns()[flight.turn].call.prompt;
  SIGNALBOX_TRY(flight.server, make_loop_request(scope_, request_, flight.plan, only_quotes));
  flight.memory.lower(body + flight.server.body.capacity());
  flight.scope.emplace(
      RequestScope{scope_.context, scope_.api,
                   http::Exchange{scope_.exchange.request, scope_.exchange.reply, flight.interrupt},
                   scope_.record});
  flight.call.emplace(*flight.scope, request_, flight.plan, flight.server, decided_, true, true);
  const config::Model& model = *flight.plan.model;
  flight.number =
      scope_.record.call_began(model, looper::name_of(run_->turns()[flight.turn].call.purpose));
  flight.in_flight.emplace(scope_.context.stats, model.name);
  flight.at_model.emplace(scope_.context.observer.meters(), model.name);
  flight.started = Clock::now();
  if (const uint32_t seconds = scope_.config().looper.timeout_seconds; seconds > 0) {
    flight.limit.emplace(http::loop_of(*executor_), [&flight, seconds] {
      flight.interrupt.raise(Code::kDeadline, fmt::format("{} s", seconds));
    });
    flight.limit->set(std::chrono::seconds(seconds));
  }
  return {};
}

http::Task<> Loop::fly(std::shared_ptr<Flight> flight) {
  const Result<void> prepared = co_await prepare(*flight);
  if (!prepared) {
    flight->plan = {};
    flight->memory.lower(0);  // another model may need it
    run_->take(flight->turn, tl::unexpected<Error>(prepared.error()), flight->elsewhere);
    co_return;
  }
  upstream::CallOutcome outcome = co_await flight->call->send();
  Result<looper::Reply> reply = co_await receive(*flight, std::move(outcome));
  // Algorithms join such errors, and show them to clients.
  if (!reply) reply = tl::unexpected<Error>(for_client(std::move(reply).error()));
  flight->limit.reset();
  if (flight->stream == nullptr) land(*flight, std::move(reply));
}

http::Task<Result<looper::Reply>> Loop::receive(Flight& flight, upstream::CallOutcome outcome) {
  // If the time of this call is over, the request may have time for another call.
  flight.elsewhere = outcome.elsewhere || flight.interrupt.raised();
  if (!outcome.answer) co_return tl::unexpected<Error>(std::move(outcome.answer).error());
  std::unique_ptr<upstream::UpstreamReply> reply = *std::move(outcome.answer);
  flight.status = reply->head().status;
  // A reply that breaks off later has not gone to the client.
  if (flight.status == kOk) flight.elsewhere = true;
  const bool draws = flight.plan.image != nullptr;
  if (draws ? flight.status < 200 || flight.status > 299 : flight.status != kOk)
    co_return fail(Code::kUpstream, "its server answered {}", flight.status);
  if (draws) {
    Result<looper::Reply> image = co_await receive_image(flight, std::move(reply));
    co_return image;
  }
  if (streams(flight) && is_event_stream(reply->head().headers)) {
    flight.stream = std::move(reply);
    co_return fail(Code::kInternal, "it streams");
  }
  if (flight.server.from_server) {
    Result<std::unique_ptr<upstream::UpstreamReply>> translated = co_await TranslatedReply::wrap(
        std::move(reply), *flight.server.from_server, false, nullptr);
    if (!translated) co_return tl::unexpected<Error>(std::move(translated).error());
    reply = *std::move(translated);
  }
  const uint64_t mb = scope_.config().looper.max_response_bytes_mb;
  const size_t most = (mb > 0 ? mb : kReplyMbDefault) << 20;
  Result<std::string> body = co_await upstream::read_whole(*reply, most);
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  co_return flight.plan.native ? read_native_reply(*std::move(body), *scope_.api.native())
                               : looper::read_reply(*std::move(body), drops_logprobs_);
}

// The image is no text, however it is written.
http::Task<Result<looper::Reply>> Loop::receive_image(
    Flight& flight, std::unique_ptr<upstream::UpstreamReply> reply) {
  Result<std::string> completion = co_await read_image(*flight.scope, request_.chat, flight.plan,
                                                       flight.server, std::move(reply));
  if (!completion) co_return tl::unexpected<Error>(std::move(completion).error());
  const size_t bytes = completion->size();
  Result<looper::Reply> out = fail(Code::kInternal, "the image was not read");
  std::function<void()> read = [&] { out = looper::read_reply(*std::move(completion), false); };
  const Result<void> ran = co_await run_by_size(*flight.scope, bytes, std::move(read));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  if (out) out->text.clear();
  co_return out;
}

void Loop::land(Flight& flight, Result<looper::Reply> reply) {
  const std::string_view error = reply ? std::string_view() : code_name(reply.error().code);
  std::optional<observe::Tokens> tokens;
  if (reply) tokens = tokens_of(*reply);
  const bool is_estimated = reply && !tokens;
  if (is_estimated) estimate_tokens(flight.plan.body.size(), *reply);
  // Image servers rarely count, and the image has its price.
  if (is_estimated && plan_.painter != nullptr) tokens = tokens_of(*reply);
  replies::ReplyOrigin origin;
  if (reply && flight.plan.image == nullptr) origin = replies::read_origin(reply->body);
  const double cost =
      scope_.record.call_ended(flight.number, flight.status, error, tokens, std::move(origin));
  if (reply) {
    reply->cost = cost;
    if (!tokens) scope_.record.estimated(reply->prompt_tokens + reply->completion_tokens);
  }
  run_->take(flight.turn, std::move(reply), flight.elsewhere);
  flight.in_flight.reset();
  flight.at_model.reset();
}

Result<LoopAnswer> Loop::answer() {
  LoopAnswer out;
  Flight* flight = streaming();
  if (flight == nullptr) {
    const Result<looper::RunAnswer>& found = *run_->answer();
    if (!found) return tl::unexpected<Error>(found.error());
    flight = flight_of(found->turn);
    const looper::Turn& turn = run_->turns()[found->turn];
    out.is_waiting = !found->waiting.empty();
    out.model = scope_.config().providers.find(turn.call.model);
    out.body = found->body.empty() ? turn.outcome->body : found->body;
    if (!state_.empty())
      out.body = looper::compose_waiting(run_->turns(), found->waiting, state_, run_->extension());
    const auto replies = std::count_if(run_->turns().begin(), run_->turns().end(),
                                       [](const auto& each) { return each.reply() != nullptr; });
    // A single reply of this request has the usage of its server, with its details, and so has one
    // in the client's own API.
    const bool is_native = flight != nullptr && flight->plan.native;
    if ((replies > 1 && !is_native) || flight == nullptr)
      out.body = with_whole_usage(run_->turns(), std::move(out.body));
    if (plan_.painter != nullptr) add_image(found->turn, out);
  }
  const bool is_live = flight != nullptr && flight->stream != nullptr;
  if (flight != nullptr) {
    out.model = flight->plan.model;
    out.plan = &flight->plan;
    out.server = &flight->server;
    out.started = flight->started;
    out.stream = std::move(flight->stream);
  }
  SIGNALBOX_CHECK(out.model != nullptr);
  if (request_.chat.stream) out.extension = run_->extension();
  scope_.record.looped(*out.model, flight ? std::optional(flight->number) : std::nullopt, is_live,
                       run_->used_up());
  return out;
}

void Loop::add_image(size_t turn, LoopAnswer& out) const {
  const auto draws = [](const looper::Turn& each) {
    return each.call.purpose == looper::Purpose::kDraw;
  };
  out.is_image = draws(run_->turns()[turn]);
  if (out.is_image) return;
  for (const looper::Turn& other : run_->turns()) {
    if (draws(other) && other.reply() != nullptr) out.image = &other.reply()->body;
  }
}

void Loop::add_headers(const config::Model* model, http::Headers& fields) const {
  if (!run_) return;  // there was no memory to begin
  add_looper_headers(*run_, plan_, elapsed(), model, fields);
  if (has_resumed_) fields.add("x-vsr-looper-resumed", *has_resumed_ ? "true" : "false");
}

}  // namespace signalbox::gateway
