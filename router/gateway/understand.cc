// A failure to understand degrades the decision and is recorded. It fails the request only if a
// decision requires that its rules are known.

#include "router/gateway/understand.h"

#include <chrono>
#include <functional>
#include <stop_token>
#include <utility>

#include "router/gateway/plan_request.h"

namespace signalbox::gateway {
namespace {

/// Models take long to read a larger request: some windows of each. Shorter ones come first.
constexpr size_t kLongToUnderstand = 8 << 10;

observe::Degraded degraded_by(Code code) {
  if (code == Code::kOverloaded) return observe::Degraded::kOverloaded;
  return code == Code::kDeadline ? observe::Degraded::kTimeout : observe::Degraded::kError;
}

}  // namespace

http::Task<Result<Understanding>> understand(RequestScope& scope, const ParsedRequest& request,
                                             routing::Evaluation& evaluation) {
  const size_t bytes = request.chat.document.source().size();
  Understanding out;
  bool is_done = false;
  std::function<void()> cheap = [&] {
    find_conversation(scope, request, evaluation);
    is_done = evaluation.run_cheap();
  };
  const Result<void> began = co_await run_by_size(scope, bytes, std::move(cheap));
  if (!began) co_return tl::unexpected<Error>(began.error());
  if (is_done) co_return out;
  Result<void> outcome;
  std::stop_source given_up;
  const http::Share share = scope.share(bytes, kLongToUnderstand);
  const auto deadline = std::chrono::steady_clock::now() + scope.config().http.decision_timeout;
  std::function<void()> work = [&] {
    outcome = evaluation.run_needed({deadline, given_up.get_token(), share.client, share.is_long});
  };
  http::Interrupt& interrupt = scope.exchange.interrupt;
  const bool ran =
      co_await http::run_within(scope.context.compute, interrupt, given_up, std::move(work), share);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (!ran) {
    outcome = fail(Code::kOverloaded, "too many requests are waiting to be understood");
    evaluation.give_up(outcome.error());
  }
  if (outcome) co_return out;
  out.degraded = degraded_by(outcome.error().code);
  out.why = std::move(outcome.error().message);
  co_return out;
}

}  // namespace signalbox::gateway
