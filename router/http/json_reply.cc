// A reply is either JSON with status 200 or an error body.

#include "router/http/json_reply.h"

#include <stop_token>

#include "router/http/error_reply.h"

namespace signalbox::http {

Task<> send_json(Exchange& exchange, Result<std::string> body, std::string_view not_found) {
  Headers fields;
  if (body) {
    fields.add("Content-Type", "application/json");
    co_await exchange.reply.send(200, fields, *body);
  } else if (body.error().code == Code::kCancelled) {
    exchange.reply.abandon();
  } else if (body.error().code == Code::kNotFound && !not_found.empty()) {
    co_await send_refusal(exchange.reply, std::move(fields), 404, body.error().message, not_found);
  } else {
    co_await send_error(exchange.reply, std::move(fields), body.error());
  }
}

Task<> send_json_from(ThreadPool& pool, Share share, Exchange& exchange,
                      std::function<Result<std::string>()> work, std::string_view not_found) {
  Result<std::string> body = fail(Code::kOverloaded, "too many requests wait");
  std::function<void()> run = [&] { body = work(); };
  std::stop_source given_up;  // work that has begun is not worth interrupting
  co_await run_within(pool, exchange.interrupt, given_up, std::move(run), share);
  if (exchange.interrupt.raised()) body = tl::unexpected(exchange.interrupt.error());
  co_await send_json(exchange, std::move(body), not_found);
}

}  // namespace signalbox::http
