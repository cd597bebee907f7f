// A stream that is only counted must pass unchanged, however it is split and whatever it contains;
// other events may overtake an end that is held back. A stream that is acted on, and a whole body,
// must never break.

#include <algorithm>
#include <cstdint>

#include "router/replies/guarded_body.h"
#include "router/replies/guarded_stream.h"
#include "router/replies/reply_check.h"

namespace {

using namespace signalbox;
using namespace signalbox::replies;
using Api = std::optional<request::Api>;

ReplyCheck check_of(const ReplyRules& rules) {
  static const auto kChecker =
      std::make_shared<const grounding::Checker>(*grounding::Checker::create({}, {}));
  GroundTruth truth;
  truth.context = "The bridge of 1932 is 503 m long.";
  return {rules, std::move(truth), kChecker, {}, {}};
}

// `mood` selects the checks and their timing.
std::string streamed(std::string_view bytes, size_t piece, const ReplyRules& rules, uint8_t mood,
                     Api api, size_t event_bytes_max) {
  GuardedStream stream(rules, api, event_bytes_max);
  ReplyCheck check = check_of(rules);
  std::string out;
  const auto work = [&] {
    const auto windows = stream.take_work();
    if (windows.empty()) return;
    mood & 1 ? stream.done(check.check(windows, {}), out) : stream.failed(out);
  };
  for (size_t at = 0; at < bytes.size(); at += piece) {
    stream.push(bytes.substr(at, piece), out);
    if (mood & 2) work();
    if ((mood & 4) && stream.pauses()) stream.pause();
  }
  stream.finish(out);
  if (mood & 8) work();
  stream.give_up(out);
  SIGNALBOX_CHECK(!stream.is_busy() && !stream.holds());
  return out;
}

std::string sorted(std::string_view bytes) {
  std::string out(bytes);
  std::sort(out.begin(), out.end());
  return out;
}

void read_as(Api api, uint8_t first, uint8_t mood, std::string_view bytes) {
  const size_t piece = 1 + first % 32;
  ReplyRules rules;
  rules.grounding = rules.details = true;
  rules.on_hallucination = ReplyAction::kNone;
  SIGNALBOX_CHECK(sorted(streamed(bytes, piece, rules, mood, api, GuardedStream::kEventBytesMax)) ==
                  sorted(bytes));
  constexpr ReplyAction kActions[] = {ReplyAction::kAnnotate, ReplyAction::kWarn,
                                      ReplyAction::kEnd};
  rules.on_hallucination = kActions[(mood >> 4) % 3];
  const size_t event_bytes_max = first < 128 ? GuardedStream::kEventBytesMax : 200;
  const std::string acted = streamed(bytes, piece, rules, mood, api, event_bytes_max);
  // The number of a response's last event may get fewer digits.
  SIGNALBOX_CHECK(rules.on_hallucination == ReplyAction::kEnd || api == request::Api::kResponses ||
                  acted.size() >= bytes.size());
  if (const auto reply = WholeReply::read(std::string(bytes), api)) {
    const ReplyVerdict verdict = check_of(rules).check(reply->windows(), {});
    SIGNALBOX_CHECK(json::Document::parse(reply->judged(rules, &verdict).body));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  for (const Api api : {Api(), Api(request::Api::kMessages), Api(request::Api::kResponses)})
    read_as(api, data[0], data[1], bytes);
  return 0;
}
