// The calls take the path of a looper's calls (gateway/loop). One is open at a time, so none needs
// a coroutine of its own.

#include "router/endpoints/task_run.h"

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "router/dialects/dialect.h"
#include "router/endpoints/guards.h"
#include "router/gateway/admit.h"
#include "router/gateway/loop.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/read_request.h"
#include "router/gateway/send.h"
#include "router/http/deadline.h"
#include "router/looper/run.h"
#include "router/looper/task.h"
#include "router/plugins/server_family.h"
#include "router/replies/reply_guards.h"
#include "router/routing/selection/pii_policy.h"
#include "router/splice/object_editor.h"
#include "router/upstream/whole.h"

namespace signalbox::endpoints {
namespace {

using gateway::ParsedRequest;
using gateway::RequestScope;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kUnresolvedStatus = 503, kLateStatus = 504, kOk = 200;
constexpr std::string_view kUnresolved = "systemone_unresolved";
constexpr std::string_view kLate = "systemone_deadline_exceeded";
constexpr size_t kReplyBytesMax = size_t{4} << 20;
constexpr size_t kTokenBytes = 4;  // of an English token, roughly
/// The most memory that reading the request and writing a call take, in times of its body.
constexpr size_t kCopies = 8;

/// The call's request for the model under this name.
Result<std::string> body_of(const looper::Call& call, const routing::Plan& plan) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(call.body));
  splice::ObjectEditor editor(document.root());
  editor.set("model", json::quote(plan.upstream_name));
  if (call.max_tokens > 0) {
    const bool is_newer = plugins::takes_completion_tokens(*plan.model);
    editor.set(is_newer ? "max_completion_tokens" : "max_tokens", std::to_string(call.max_tokens));
  }
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

looper::Conversation with_task(const std::string& body) {
  looper::Conversation out;
  out.task = body;
  return out;
}

/// One run. All arguments outlive it.
class TaskRun {
 public:
  TaskRun(const RequestScope& scope, const ParsedRequest& chat,
          const routing::Evaluation& evaluation, const routing::Plan& plan,
          limits::Requester& requester, const http::Headers& decided)
      : scope_(scope),
        chat_(chat),
        evaluation_(evaluation),
        plan_(plan),
        requester_(requester),
        decided_(decided),
        header_mutation_(gateway::headers_of(plan, scope.config().looper)),
        run_(
            looper::make_algorithm(*plan.loop, plan.voices, with_task(scope.exchange.request.body)),
            looper::bounds_of(plan.loop->algorithm, scope.config().looper)) {}

  /// Makes the calls. Errors: kCancelled, and that of the algorithm.
  http::Task<Result<std::string>> run() {
    const http::Interrupt& interrupt = scope_.exchange.interrupt;
    for (;;) {
      const looper::Run::Orders orders = run_.advance(elapsed());
      if (run_.answer()) break;
      for (const size_t turn : orders.start) co_await call(turn);
      if (!interrupt.raised()) continue;
      if (interrupt.why() == Code::kCancelled) co_return tl::unexpected<Error>(interrupt.error());
      run_.expire();
    }
    Result<std::string> out = fail(Code::kInternal, "the answer was not written");
    std::function<void()> write = [&] { out = answer(); };
    const Result<void> ran =
        co_await gateway::run_by_size(scope_, answer_bytes(), std::move(write));
    if (!ran) co_return tl::unexpected<Error>(ran.error());
    co_return out;
  }

  const looper::Run& calls() const { return run_; }
  /// The number of a turn's call in the record; nullopt if it was not made.
  std::optional<size_t> number_of(size_t turn) const {
    const auto found = numbers_.find(turn);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
  }
  /// The model that answers; null without an answer.
  const config::Model* model() const {
    const auto& answer = run_.answer();
    if (!answer || !*answer) return nullptr;
    return scope_.config().providers.find(run_.turns()[(*answer)->turn].call.model);
  }

 private:
  http::Task<> call(size_t turn) {
    const looper::Call& wanted = run_.turns()[turn].call;
    routing::RuntimeConditions conditions;
    conditions.voice = wanted.model;
    Result<routing::Plan> plan = evaluation_.plan(conditions);
    if (plan && plan->path != routing::Plan::Path::kUpstream)
      plan = fail(Code::kInvalid, "{}", plan->message);
    if (plan && gateway::admit_to_model(scope_, plan->model->name, requester_))
      plan = fail(Code::kOverloaded, "a rate limit is reached");
    Result<std::string> body = fail(Code::kInternal, "the call was not planned");
    if (plan) {
      std::function<void()> write = [&] { body = body_of(wanted, *plan); };
      const Result<void> ran =
          co_await gateway::run_by_size(scope_, wanted.body.size(), std::move(write));
      if (!ran) body = tl::unexpected<Error>(ran.error());
      plan->header_mutation = &header_mutation_;
    }
    if (!plan || !body) {
      run_.take(turn, tl::unexpected<Error>(plan ? body.error() : plan.error()));
      co_return;
    }
    Result<looper::Reply> reply = co_await send(turn, *plan, *std::move(body));
    run_.take(turn, std::move(reply));
  }

  /// Sends the request until a server answers or the time is over.
  http::Task<Result<looper::Reply>> send(size_t turn, const routing::Plan& plan, std::string body) {
    const looper::Call& wanted = run_.turns()[turn].call;
    const bool judges = wanted.purpose == looper::Purpose::kChoose;
    const size_t bytes = body.size();
    gateway::ServerRequest server;
    server.target = std::string(judges ? dialects::kChatPath : config::kSystemOnePath);
    server.body = std::move(body);
    server.is_direct = true;
    http::Interrupt interrupt;
    const http::Interrupt& all = scope_.exchange.interrupt;
    std::function<void()> end = [&interrupt, &all] { interrupt.raise(all.why(), all.limit()); };
    const http::Interrupt::Scope link(scope_.exchange.interrupt, std::move(end));
    const http::Executor executor = co_await http::asio::this_coro::executor;
    std::function<void()> expire = [&interrupt] { interrupt.raise(Code::kDeadline); };
    http::Deadline limit(http::loop_of(executor), std::move(expire));
    if (const auto within = time_left()) limit.set(*within);
    const RequestScope scope{
        scope_.context, scope_.api,
        http::Exchange{scope_.exchange.request, scope_.exchange.reply, interrupt}, scope_.record};
    const gateway::ServerCall call(scope, chat_, plan, server, decided_, true, true);
    const config::Model& model = *plan.model;
    const size_t number = scope_.record.call_began(model, looper::name_of(wanted.purpose));
    numbers_.emplace(turn, number);
    const gateway::InFlight in_flight(scope_.context.stats, model.name);
    const observe::Meters::AtModel at_model(scope_.context.observer.meters(), model.name);
    upstream::CallOutcome outcome = co_await call.send();
    if (outcome.attempts > 1) run_.repeated(outcome.attempts - 1);
    int status = 0;
    Result<looper::Reply> reply = co_await receive(std::move(outcome), judges, status);
    land(number, status, bytes, reply);
    co_return reply;
  }

  /// nullopt: as long as the request may take.
  std::optional<milliseconds> time_left() const {
    std::optional<milliseconds> out;
    if (const auto at = run_.wake()) out = std::max(milliseconds(0), *at - elapsed());
    const std::chrono::seconds most(scope_.config().looper.timeout_seconds);
    if (most.count() > 0) out = std::min<milliseconds>(out.value_or(most), most);
    return out;
  }

  static http::Task<Result<looper::Reply>> receive(upstream::CallOutcome outcome, bool judges,
                                                   int& status) {
    if (!outcome.answer) co_return tl::unexpected<Error>(std::move(outcome.answer).error());
    const std::unique_ptr<upstream::UpstreamReply> reply = *std::move(outcome.answer);
    status = reply->head().status;
    if (status != kOk) co_return fail(Code::kUpstream, "its server answered {}", status);
    Result<std::string> body = co_await upstream::read_whole(*reply, kReplyBytesMax);
    if (!body) co_return tl::unexpected<Error>(std::move(body).error());
    co_return judges ? looper::read_reply(*std::move(body), false)
                     : looper::read_task_reply(*std::move(body));
  }

  /// Records the end of the call. A reply without a usage must not escape the budget of tokens.
  void land(size_t number, int status, size_t sent_bytes, Result<looper::Reply>& reply) {
    std::optional<observe::Tokens> tokens;
    if (reply && reply->prompt_tokens + reply->completion_tokens > 0)
      tokens =
          observe::Tokens{reply->prompt_tokens, reply->cached_tokens, reply->completion_tokens};
    const std::string_view error = reply ? std::string_view() : code_name(reply.error().code);
    const double cost = scope_.record.call_ended(number, status, error, tokens, {});
    if (!reply) return;
    reply->cost = cost;
    if (tokens) return;
    reply->prompt_tokens = sent_bytes / kTokenBytes;
    scope_.record.estimated(reply->prompt_tokens);
  }

  size_t answer_bytes() const {
    const Result<looper::RunAnswer>& found = *run_.answer();
    return found ? run_.turns()[found->turn].reply()->body.size() : 0;
  }

  /// The reply that was accepted, with the member `routing`.
  Result<std::string> answer() const {
    const Result<looper::RunAnswer>& found = *run_.answer();
    if (!found) return tl::unexpected<Error>(found.error());
    const looper::Turn& turn = run_.turns()[found->turn];
    SIGNALBOX_TRY(const json::Document document, json::Document::parse(turn.reply()->body));
    json::Writer routing;
    routing.begin_object().member("recipe", plan_.recipe).member("decision", plan_.decision);
    routing.member("algorithm", plan_.algorithm).member("stage", found->label);
    routing.member("selected_model", turn.call.model);
    routing.member("quality", plan_.loop->algorithm.quality.type);
    routing.member("model_calls", int64_t{run_.calls()}).end_object();
    splice::ObjectEditor editor(document.root());
    editor.set("routing", routing.take());
    std::vector<splice::Edit> edits;
    editor.finish(edits);
    return splice::apply(document.source(), std::move(edits));
  }

  const RequestScope& scope_;
  const ParsedRequest& chat_;
  const routing::Evaluation& evaluation_;
  const routing::Plan& plan_;
  limits::Requester& requester_;
  const http::Headers& decided_;
  const config::HeaderMutationPlugin header_mutation_;
  const Clock::time_point began_ = Clock::now();
  looper::Run run_;
  std::map<size_t, size_t> numbers_;
};

/// Answers a request without an accepted answer.
http::Task<> send_unresolved(const RequestScope& scope, const Error& error, bool is_late,
                             const http::Headers& headers) {
  if (error.code == Code::kCancelled) {
    co_await gateway::send_error(scope, error, headers);
    co_return;
  }
  scope.record.failed(error, error.message);
  http::Headers fields = gateway::with_path(headers, routing::kErrorPath);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields),
                              is_late ? kLateStatus : kUnresolvedStatus, error.message,
                              is_late ? kLate : kUnresolved);
}

/// The plan of a request that the router cannot read whole: no model with a pii_policy gets it.
Result<routing::Plan> without_restricted(const config::Providers& providers, routing::Plan plan) {
  const config::Model* restricted = nullptr;
  std::erase_if(plan.voices, [&](const looper::Voice& voice) {
    const config::Model* model = providers.find(voice.model);
    if (model == nullptr || !selection::restricts(*model)) return false;
    restricted = model;
    return true;
  });
  if (plan.voices.empty() && restricted != nullptr)
    return tl::unexpected<Error>(unread(*restricted));
  return plan;
}

/// Calls the stages of the plan's decision.
http::Task<> run_stages(const RequestScope& scope, const ParsedRequest& chat,
                        const routing::Evaluation& evaluation, const routing::Plan& plan,
                        limits::Requester& requester) {
  http::Headers headers = gateway::decision_headers(scope, plan);
  if (plan.loop == nullptr) {
    const Error error{Code::kUpstream, "no decision of the recipe matches"};
    co_await send_unresolved(scope, error, false, headers);
    co_return;
  }
  const http::Headers decided = headers;
  std::optional<TaskRun> made;
  std::function<void()> make = [&] {
    made.emplace(scope, chat, evaluation, plan, requester, decided);
  };
  const Result<void> ran =
      co_await gateway::run_by_size(scope, scope.exchange.request.body.size(), std::move(make));
  if (!ran) {
    co_await gateway::send_error(scope, ran.error(), headers);
    co_return;
  }
  TaskRun& run = *made;
  const Result<std::string> body = co_await run.run();
  gateway::add_looper_headers(run.calls(), plan, run.elapsed(), run.model(), headers);
  if (!body) {
    const bool is_late = run.calls().used_up() == "time";
    co_await send_unresolved(scope, body.error(), is_late, headers);
    co_return;
  }
  const size_t answering = (*run.calls().answer())->turn;
  scope.record.looped(*run.model(), run.number_of(answering), false, run.calls().used_up());
  scope.record.passes(*body);
  headers.add("Content-Type", "application/json");
  co_await scope.exchange.reply.send(kOk, headers, *body);
}

}  // namespace

bool stands_for_stages(const config::Config& config, std::string_view name) {
  return std::ranges::any_of(config.entrypoints, [name](const config::Entrypoint& each) {
    return each.api == config::Entrypoint::Api::kSystemOne &&
           std::ranges::find(each.model_names, name) != each.model_names.end();
  });
}

http::Task<> answer_task(RequestScope& scope, const RequestReading& reading,
                         limits::Requester& requester) {
  const std::string& body = scope.exchange.request.body;
  Result<request::ChatRequest> parsed = fail(Code::kInternal, "the request was not read");
  Result<void> room = co_await gateway::reserve(scope, kCopies * body.size());
  std::function<void()> read = [&] {
    const auto document = json::Document::parse(body);
    const auto questions =
        document ? looper::read_questions(document->root())
                 : Result<std::vector<looper::Question>>(tl::unexpected<Error>(document.error()));
    parsed =
        questions
            ? request::ChatRequest::parse(chat_of(*reading.model, reading.texts + reading.others))
            : tl::unexpected<Error>(questions.error());
  };
  if (room) room = co_await gateway::run_by_size(scope, body.size(), std::move(read));
  if (!room || !parsed) {
    co_await gateway::send_error(scope, room ? parsed.error() : room.error());
    co_return;
  }
  const ParsedRequest chat{*std::move(parsed), nullptr};
  routing::Evaluation evaluation =
      scope.context.router.evaluate(chat.chat, [&scope](std::string_view name) {
        return name == ":path" ? std::optional(scope.api.path()) : scope.headers().find(name);
      });
  const bool refused = co_await refuse(scope, evaluation.requested_recipe(), nullptr, requester);
  if (refused) co_return;
  Result<routing::Plan> plan = co_await judge(scope, chat, evaluation);
  if (plan && reading.is_unreadable)
    plan = without_restricted(scope.config().providers, *std::move(plan));
  if (!plan) {
    co_await send_unplanned(scope, plan.error());
  } else if (plan->path != routing::Plan::Path::kUpstream || !plan->masks.empty()) {
    co_await send_blocked(scope, chat, *std::move(plan));
  } else {
    co_await run_stages(scope, chat, evaluation, *plan, requester);
    gateway::charge(scope, requester);
  }
}

}  // namespace signalbox::endpoints
