// Servers send roughly one event for each token. If the usage gives the number of tokens, that
// number is used instead.

#include "router/replies/reply_meter.h"

#include <charconv>

namespace signalbox::replies {
namespace {

constexpr std::string_view kDataPrefix = "data:";
constexpr size_t kHeadBytes = 1024;
constexpr size_t kTailBytes = 1024;
constexpr size_t kNoMatch = kDataPrefix.size() + 1;

double ms_between(ReplyMeter::TimePoint from, ReplyMeter::TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

void ReplyMeter::feed(std::string_view bytes, TimePoint now) {
  if (bytes.empty()) return;
  last_ = now;
  origin_.feed(bytes);
  if (events_ && head_.size() < kHeadBytes) head_ += bytes.substr(0, kHeadBytes - head_.size());
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
std::optional<uint64_t> ReplyMeter::count_of(std::string_view member, std::string_view text) {
  const size_t at = text.rfind(member);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + member.size();
  const char* end = text.data() + text.size();
  while (begin != end && *begin == ' ') ++begin;
  uint32_t count = 0;
  const auto [stop, error] = std::from_chars(begin, end, count);
  if (error != std::errc() || stop == begin) return std::nullopt;
  return count;
}

// A message counts the cached part of its prompt apart. Its stream begins with these counts, and
// newer servers repeat them at the end.
std::optional<uint64_t> ReplyMeter::prompt_tokens() const {
  constexpr std::string_view kInput = "\"input_tokens\":";
  if (const auto chat = count_of("\"prompt_tokens\":", tail_)) return chat;
  const std::string_view usage = count_of(kInput, tail_) ? tail_ : head_;
  const auto input = count_of(kInput, usage);
  if (!input) return std::nullopt;
  return *input + count_of("\"cache_read_input_tokens\":", usage).value_or(0) +
         count_of("\"cache_creation_input_tokens\":", usage).value_or(0);
}

ReplyMeter::Times ReplyMeter::times() const {
  Times out;
  out.origin = origin_.origin();
  const auto either = [this](std::string_view name, std::string_view other) {
    const auto first = count_of(name, tail_);
    return first ? first : count_of(other, tail_);
  };
  out.prompt_tokens = prompt_tokens();
  out.cached_tokens = either("\"cached_tokens\":", "\"cache_read_input_tokens\":");
  if (!out.cached_tokens) out.cached_tokens = count_of("\"cache_read_input_tokens\":", head_);
  out.written_tokens = either("\"cache_creation_input_tokens\":", "\"cache_write_tokens\":");
  if (!out.written_tokens) out.written_tokens = count_of("\"cache_creation_input_tokens\":", head_);
  out.reasoning_tokens = count_of("\"reasoning_tokens\":", tail_);
  out.completion_tokens = either("\"completion_tokens\":", "\"output_tokens\":");
  if (!out.prompt_tokens && !out.completion_tokens)
    out.prompt_tokens = count_of("\"total_tokens\":", tail_);  // of a reply without text
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
