// Servers send roughly one event for each token. If the usage gives the number of tokens, that
// number is used instead.

#include "router/replies/reply_meter.h"

#include <charconv>

namespace signalbox::replies {
namespace {

constexpr std::string_view kDataPrefix = "data:";
constexpr size_t kTailBytes = 1024;
constexpr size_t kNoMatch = kDataPrefix.size() + 1;

double ms_between(ReplyMeter::TimePoint from, ReplyMeter::TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

void ReplyMeter::feed(std::string_view bytes, TimePoint now) {
  if (bytes.empty()) return;
  last_ = now;
  if (bytes.size() >= kTailBytes) {
    tail_ = bytes.substr(bytes.size() - kTailBytes);
  } else {
    tail_.append(bytes);
    if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
  if (!events_) return;
  for (const char c : bytes) {
    if (c == '\n') {
      line_bytes_ = 0;
    } else if (line_bytes_ < kDataPrefix.size()) {
      line_bytes_ = c == kDataPrefix[line_bytes_] ? line_bytes_ + 1 : kNoMatch;
      if (line_bytes_ == kDataPrefix.size() && ++count_ == 1) first_ = now;
    }
  }
}

// Takes the last number of that name, so that a model's own text cannot replace it.
std::optional<uint64_t> ReplyMeter::count_of(std::string_view member) const {
  const size_t at = tail_.rfind(member);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = tail_.data() + at + member.size();
  const char* end = tail_.data() + tail_.size();
  while (begin != end && *begin == ' ') ++begin;
  uint32_t count = 0;
  const auto [stop, error] = std::from_chars(begin, end, count);
  if (error != std::errc() || stop == begin) return std::nullopt;
  return count;
}

ReplyMeter::Times ReplyMeter::times() const {
  Times out;
  out.prompt_tokens = count_of("\"prompt_tokens\":");
  out.cached_tokens = count_of("\"cached_tokens\":");
  out.completion_tokens = count_of("\"completion_tokens\":");
  std::optional<double> usage_tokens;
  if (out.completion_tokens.value_or(0) > 0)
    usage_tokens = static_cast<double>(*out.completion_tokens);
  if (!events_) {
    if (usage_tokens) out.tpot_ms = ms_between(started_, last_) / *usage_tokens;
    return out;
  }
  if (count_ == 0) return out;
  out.ttft_ms = ms_between(started_, first_);
  const double steps =
      usage_tokens ? *usage_tokens - 1 : static_cast<double>(count_) - 2;  // [DONE] is no token
  if (steps >= 1) out.tpot_ms = ms_between(first_, last_) / steps;
  return out;
}

}  // namespace signalbox::replies
