// Servers send roughly one event for each token. If the usage gives the number of tokens, that
// number is used instead.

#include "router/replies/reply_meter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/json.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kDataPrefix = "data:";
constexpr size_t kHeadBytes = 1024;
constexpr size_t kTailBytes = 1024;
constexpr size_t kNoMatch = kDataPrefix.size() + 1;

using Count = std::optional<uint64_t>;

/// The numbers of a usage, by the names of the three APIs.
struct Counts {
  Count prompt, completion, total, cached, cache_write, reasoning;
  Count input, output, cache_read, cache_creation;
};

constexpr auto kCounts = std::to_array<std::pair<std::string_view, Count Counts::*>>(
    {{"prompt_tokens", &Counts::prompt},
     {"completion_tokens", &Counts::completion},
     {"total_tokens", &Counts::total},
     {"cached_tokens", &Counts::cached},
     {"cache_write_tokens", &Counts::cache_write},
     {"reasoning_tokens", &Counts::reasoning},
     {"input_tokens", &Counts::input},
     {"output_tokens", &Counts::output},
     {"cache_read_input_tokens", &Counts::cache_read},
     {"cache_creation_input_tokens", &Counts::cache_creation}});

Count number_at(std::string_view text, size_t at) {
  at = std::min(text.find_first_not_of(' ', at), text.size());
  uint32_t count = 0;
  const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), count);
  return error == std::errc() ? Count(count) : std::nullopt;
}

/// Takes the last number of each name, so that a model's own text cannot replace it.
Counts counts_of(std::string_view text) {
  Counts out;
  for (size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!before.ends_with("_tokens\"")) continue;
    const std::string_view name = before.substr(0, at - 1);
    const size_t quote = name.rfind('"');
    if (quote == std::string_view::npos) continue;
    const auto known =
        std::ranges::find(kCounts, name.substr(quote + 1), &decltype(kCounts)::value_type::first);
    if (known != kCounts.end()) out.*known->second = number_at(text, at + 1);
  }
  return out;
}

/// A message counts the cached part of its prompt apart. Its stream begins with these counts, and
/// newer servers repeat them at the end.
Count prompt_of_message(const Counts& usage) {
  if (!usage.input) return std::nullopt;
  return *usage.input + usage.cache_read.value_or(0) + usage.cache_creation.value_or(0);
}

Count first_of(std::initializer_list<Count> counts) {
  const auto found = std::ranges::find_if(counts, &Count::has_value);
  return found == counts.end() ? std::nullopt : *found;
}

/// True if the last event before "[DONE]" reports an error. `tail` is the end of a stream.
bool ends_with_error(std::string_view tail) {
  constexpr std::string_view kLine = "\ndata:";
  std::string_view before = tail;
  const size_t done = tail.rfind("[DONE]");
  if (done != std::string_view::npos && tail.size() - done <= 12)
    before = tail.substr(0, tail.rfind(kLine, done));
  const size_t at = before.rfind(kLine);
  std::string_view event = at == std::string_view::npos ? before : before.substr(at + 1);
  if (!event.starts_with(kDataPrefix) || event.find("error\"") == std::string_view::npos)
    return false;
  event = event.substr(kDataPrefix.size(), event.find('\n') - kDataPrefix.size());
  const auto document = json::Document::parse(std::string(event));
  if (!document) return false;
  const auto error = document->root().find("error");
  return error && !error->is_null();
}

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
  for (size_t at = 0; at < bytes.size(); ++at) {
    // Skips the rest of a line whose beginning is known.
    if (line_bytes_ >= kDataPrefix.size()) at = std::min(bytes.find('\n', at), bytes.size() - 1);
    const char c = bytes[at];
    if (c == '\n') {
      line_bytes_ = 0;
    } else if (line_bytes_ < kDataPrefix.size()) {
      line_bytes_ = c == kDataPrefix[line_bytes_] ? line_bytes_ + 1 : kNoMatch;
      if (line_bytes_ == kDataPrefix.size() && ++count_ == 1) first_ = now;
    }
  }
}

ReplyMeter::Times ReplyMeter::times() const {
  Times out;
  out.origin = origin_.origin();
  const Counts tail = counts_of(tail_), head = counts_of(head_);
  out.prompt_tokens = tail.prompt ? tail.prompt : prompt_of_message(tail.input ? tail : head);
  out.cached_tokens = first_of({tail.cached, tail.cache_read, head.cache_read});
  out.written_tokens = first_of({tail.cache_creation, tail.cache_write, head.cache_creation});
  out.reasoning_tokens = tail.reasoning;
  out.completion_tokens = first_of({tail.completion, tail.output});
  if (!out.prompt_tokens && !out.completion_tokens)
    out.prompt_tokens = tail.total;  // of a reply without text
  std::optional<double> usage_tokens;
  if (out.completion_tokens.value_or(0) > 0)
    usage_tokens = static_cast<double>(*out.completion_tokens);
  if (!events_) {
    if (usage_tokens) out.tpot_ms = ms_between(started_, last_) / *usage_tokens;
    return out;
  }
  if (count_ == 0) return out;
  out.failed = ends_with_error(tail_);
  out.ttft_ms = ms_between(started_, first_);
  const double steps =
      usage_tokens ? *usage_tokens - 1 : static_cast<double>(count_) - 2;  // [DONE] is not a token
  if (steps >= 1) out.tpot_ms = ms_between(first_, last_) / steps;
  return out;
}

}  // namespace signalbox::replies
