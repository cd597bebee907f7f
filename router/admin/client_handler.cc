// A request that leaves the queue after its client has gone is abandoned.

#include "router/admin/client_handler.h"

#include "router/http/error_reply.h"

namespace signalbox::admin {
namespace {

std::string client_error(const access::Failure& failure) {
  if (failure.status == 400) return http::error_body(Error{Code::kInvalid, failure.message});
  if (failure.status == 404) return http::error_body(Error{Code::kNotFound, failure.message});
  return http::error_body(failure.status, failure.message);
}

}  // namespace

http::Task<> send_answer(http::Exchange exchange, http::Headers fields,
                         const serving::ServingState& state, http::ThreadPool& pool,
                         ClientHandler handler) {
  OrFailure<std::string> outcome;
  std::stop_source cancelled;
  std::function<void()> run = [&] {
    outcome = handler(exchange.request, state, {.stop = cancelled.get_token()});
  };
  const bool ran = co_await http::run_within(pool, exchange.interrupt, cancelled, std::move(run));
  if (exchange.interrupt.raised() && exchange.interrupt.why() == Code::kCancelled) {
    exchange.reply.abandon();
    co_return;
  }
  if (exchange.interrupt.raised()) {
    const Error late = exchange.interrupt.error();
    co_await http::send_error(exchange.reply, std::move(fields), late);
    co_return;
  }
  if (!ran)
    outcome =
        tl::unexpected<access::Failure>(access::Failure{429, "OVERLOADED", "too many requests"});
  fields.add("Content-Type", "application/json");
  if (!ran) fields.add("Retry-After", "1");
  const std::string body = outcome ? *outcome : client_error(outcome.error());
  co_await exchange.reply.send(outcome ? 200 : outcome.error().status, fields, body);
}

AdminReply answer_client(const http::Request& request, const serving::ServingState& state,
                         ClientHandler handler) {
  const auto outcome = handler(request, state, {});
  return outcome ? AdminReply{200, *outcome}
                 : AdminReply{outcome.error().status, client_error(outcome.error())};
}

}  // namespace signalbox::admin
