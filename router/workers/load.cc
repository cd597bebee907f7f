// Lines have the form "name{labels} value [time]". A label's value may contain any character, even
// a brace or an escaped quote, so labels are parsed and not searched for.

#include "router/workers/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace signalbox::workers {
namespace {

constexpr double kValueMax = 1e9;

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
}

/// Skips "{...}" at the front if it is there. Returns false if it is not closed.
bool skip_labels(std::string_view& text) {
  if (text.empty() || text.front() != '{') return true;
  bool quoted = false;
  for (size_t i = 1; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '}') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

std::optional<double> value_of(std::string_view text) {
  skip_spaces(text);
  const auto end = std::find_if(text.begin(), text.end(), is_space);
  const std::string_view number(text.data(), static_cast<size_t>(end - text.begin()));
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == number.data() + number.size();
  if (!whole || !(value >= 0 && value <= kValueMax)) return std::nullopt;
  return value;
}

struct Sum {
  double sum = 0;
  size_t count = 0;

  std::optional<double> total() const { return count > 0 ? std::optional(sum) : std::nullopt; }
};

}  // namespace

Result<Load> parse_load(std::string_view metrics) {
  Sum running, waiting, new_usage, old_usage;
  while (!metrics.empty()) {
    const size_t end = std::min(metrics.find('\n'), metrics.size());
    std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with("vllm:")) continue;
    const std::string_view name = line.substr(0, line.find_first_of("{ \t"));
    Sum* const sum = name == "vllm:num_requests_running"   ? &running
                     : name == "vllm:num_requests_waiting" ? &waiting
                     : name == "vllm:kv_cache_usage_perc"  ? &new_usage
                     : name == "vllm:gpu_cache_usage_perc" ? &old_usage
                                                           : nullptr;
    if (sum == nullptr) continue;
    line.remove_prefix(name.size());
    skip_spaces(line);
    const bool labelled = skip_labels(line);
    const std::optional<double> value = labelled ? value_of(line) : std::nullopt;
    if (!value) return fail(Code::kCorrupt, "{}: expected a number from 0 to 1e9", name);
    sum->sum += *value;
    ++sum->count;
  }
  Load load{running.total(), waiting.total(), std::nullopt};
  const Sum& usage = new_usage.count > 0 ? new_usage : old_usage;
  if (usage.count > 0)
    load.cache_usage = std::min(1.0, usage.sum / static_cast<double>(usage.count));
  return load;
}

}  // namespace signalbox::workers
