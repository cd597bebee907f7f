// `reliability` of a model: which of its servers is asked, and what happens when one fails. Keys up
// to health_check_timeout are upstream's, with the words of Envoy, which it writes them for; the
// others are ours.

#include <array>
#include <utility>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

void set(std::string_view word, RetryOn& out, bool& known) {
  const auto is = [word](auto... names) { return ((word == names) || ...); };
  if (is("connect-failure")) {
    out.connect = true;
  } else if (is("refused-stream", "reset-before-request")) {
    out.refused = true;
  } else if (is("request-timeout")) {
    out.timeout = true;
  } else if (is("reset")) {
    out.refused = out.timeout = true;
  } else if (is("gateway-error")) {
    out.gateway_error = true;
  } else if (is("5xx")) {
    out = {true, true, true, true, true};
  } else {
    known = false;
  }
}

/// Words with commas between them, as Envoy has them.
Value<Reliability> retry_on_value() {
  return {"a string",
          [](Reader& reader, const yaml::Node& node, Reliability& out) {
            const auto scalar = reader.scalar(node, "a string");
            if (!scalar) return;
            out.retry_on = {false, false, false, false, false};
            std::string_view rest = scalar->text;
            while (!rest.empty()) {
              const size_t comma = std::min(rest.find(','), rest.size());
              std::string_view word = rest.substr(0, comma);
              rest.remove_prefix(std::min(comma + 1, rest.size()));
              while (word.starts_with(' ')) word.remove_prefix(1);
              while (word.ends_with(' ')) word.remove_suffix(1);
              bool known = true;
              if (!word.empty()) set(word, out.retry_on, known);
              if (known) continue;
              reader.notice(
                  node.line,
                  fmt::format("\"{}\" has no effect (known: connect-failure, refused-stream, "
                              "reset, reset-before-request, request-timeout, gateway-error, 5xx)",
                              word));
            }
          },
          describe_text};
}

}  // namespace

const Section<Reliability>& reliability_section() {
  using R = Reliability;
  using Policy = Reliability::Policy;
  static const Section<R> section{{
      optional(
          "lb_policy",
          choice(&R::lb_policy, {{"round_robin", Policy::kWeighted},
                                 {"random", Policy::kWeighted},
                                 {"weighted", Policy::kWeighted},
                                 {"least_request", Policy::kLeastRequest},
                                 {"ring_hash", Policy::kSession},
                                 {"maglev", Policy::kSession},
                                 {"session", Policy::kSession},
                                 {"prefix_aware", Policy::kPrefix}}),
          "which backend is asked: in turn by weight, the least loaded, by session, or the one "
          "that knows the prompt's beginning"),
      optional("retry_count", integer(&R::retry_count, 0, 100),
               "further backends that are asked after a failure"),
      optional("retry_on", retry_on_value(), "which failures, with commas between them"),
      optional("consecutive_5xx", count(&R::consecutive_5xx),
               "failures until a backend is ejected; 0: never"),
      optional("base_ejection_time", duration(&R::base_ejection_time, 1ms, 24h),
               "for how long; twice that for the next ejection, and so on"),
      optional("max_ejection_percent", integer(&R::max_ejection_percent, 0, 100),
               "of the backends at a time; the last one stays"),
      optional("health_check_path", string(&R::health_check_path), "asked to see who is alive"),
      optional("health_check_interval", duration(&R::health_check_interval, 10ms, 24h),
               "how often"),
      optional("health_check_timeout", duration(&R::health_check_timeout, 10ms, 1h),
               "for an answer"),
      optional("unhealthy_threshold", integer(&R::unhealthy_threshold, 1, 1000),
               "failed checks in a row until a backend is left out"),
      optional("healthy_threshold", integer(&R::healthy_threshold, 1, 1000),
               "passed checks in a row until it is back"),
      optional("metrics_interval", duration(&R::metrics_interval, 10ms, 1h),
               "how often the load of backends with metrics_port or metrics_path is read"),
      optional("reply_timeout", duration(&R::reply_timeout, 0ms, 24h),
               "for a reply to begin; 0s: the listener's timeout"),
      optional("max_in_flight", count(&R::max_in_flight),
               "requests at a backend at a time; 0: any number"),
      optional("queue_max", integer(&R::queue_max, 0, 100'000),
               "requests that wait for a backend; the next gets 429"),
      optional("queue_timeout", duration(&R::queue_timeout, 1ms, 1h), "for how long they wait"),
      optional("session_header", text(&R::session_header), "says which session a request is of"),
      optional("prefix_block_bytes", integer(&R::prefix_block_bytes, 16, 65'536),
               "of a prompt, compared as one"),
      optional("prefix_blocks_max", integer(&R::prefix_blocks_max, 16, 10'000'000),
               "remembered of a backend"),
      optional("shared_prefix_bytes", integer(&R::shared_prefix_bytes, 0, 1'000'000'000),
               "prompts that share so much, to a message's end, go to one backend; 0: they do not"),
      optional("prefill_weight", positive(&R::prefill_weight),
               "of a block that a backend has not seen"),
      optional("active_weight", positive(&R::active_weight), "of a block that it works on"),
      optional("fallback_models", texts(&R::fallback_models),
               "asked in turn when no backend of this model answers"),
  }};
  return section;
}

}  // namespace signalbox::config
