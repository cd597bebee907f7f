// Without a target for the whole request, each long result is shortened to the target of results.
// With one, the results are shortened one after the other until the request fits, and those that
// share the fewest words with the question come first.

#include "router/plugins/context_compression/context_compression.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/compress/excerpt.h"
#include "router/http/headers.h"
#include "router/plugins/context_compression/tool_results.h"

namespace signalbox::plugins {
namespace {

using Plugin = config::ContextCompressionPlugin;

constexpr uint64_t kMinTokens = 2000, kTargetTokens = 1000;
constexpr std::string_view kControlHeader = "x-vsr-compression-control";

/// The sizes of results, in bytes.
struct Sizes {
  uint64_t min, target;
};

Sizes sizes_of(const Plugin& plugin) {
  const Plugin::Target& of = plugin.targets.tool_outputs;
  const uint64_t min = of.min_tokens > 0 ? of.min_tokens : kMinTokens;
  const uint64_t target =
      of.target_tokens > 0 ? of.target_tokens : std::min(kTargetTokens, min / 2);
  return {compress::kBytesPerToken * (plugin.mode == "always" ? target + 1 : min),
          compress::kBytesPerToken * target};
}

/// The wishes of a client, as far as the plugin allows them.
struct Control {
  bool bypass = false;
  std::optional<uint32_t> target;
};

Control read_control(const config::RequestControls& allowed, std::string_view header) {
  Control out;
  if (!allowed.enabled) return out;
  const auto allows = [&](std::string_view name) {
    const auto& names = allowed.allowed;
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  while (!header.empty()) {
    const size_t comma = std::min(header.find(','), header.size());
    std::string_view one = http::trimmed(header.substr(0, comma));
    header.remove_prefix(std::min(comma + 1, header.size()));
    if (ascii::iequals(one, "bypass") && allows("bypass")) out.bypass = true;
    constexpr std::string_view kTarget = "target=";
    if (!ascii::iequals(one.substr(0, kTarget.size()), kTarget) || !allows("target")) continue;
    one.remove_prefix(kTarget.size());
    uint32_t tokens = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), tokens);
    if (error != std::errc() || end != one.data() + one.size() || tokens == 0) continue;
    const uint32_t most = allowed.max_target_tokens;
    out.target = most > 0 ? std::min(tokens, most) : tokens;
  }
  return out;
}

/// The tokens that the request may have; 0: there is no bound.
uint64_t target_of(const Plugin& plugin, const ContextRoom& room, std::optional<uint32_t> target) {
  const uint64_t reserve = plugin.budget.reserve_output_tokens.value_or(room.reply_tokens);
  const uint64_t window = room.window_tokens > reserve ? room.window_tokens - reserve
                          : room.window_tokens > 0     ? 1
                                                       : 0;
  if (!target) return window;
  return window > 0 ? std::min<uint64_t>(*target, window) : *target;
}

struct LongResult {
  json::Value value;
  compress::Excerpt excerpt;
};

/// Shortens the candidates in their order until `needed` bytes are saved. Returns the saved bytes.
uint64_t shorten(const std::vector<LongResult>& candidates, uint64_t size, uint64_t needed,
                 CompressedContext& out) {
  uint64_t saved = 0;
  for (const LongResult& each : candidates) {
    if (saved >= needed) break;
    const std::string_view text = each.value.text(), raw = each.value.raw();
    const uint64_t missing = std::min<uint64_t>(needed - saved, text.size());
    const std::string shorter = each.excerpt.shortened(std::max(size, text.size() - missing));
    std::string quoted = json::quote(shorter);
    if (shorter.size() == text.size() || quoted.size() >= raw.size()) continue;
    saved += raw.size() - quoted.size();
    out.edits.push_back({each.value.begin(), each.value.end(), std::move(quoted)});
    ++out.report.results;
  }
  return saved;
}

bool is_triggered(const Plugin& plugin, uint64_t tokens) {
  const auto& trigger = plugin.budget.trigger_tokens;
  return plugin.mode == "always" || !trigger || tokens > *trigger;
}

}  // namespace

std::string_view name_of(ContextOutcome outcome) {
  switch (outcome) {
    case ContextOutcome::kUnused:
      break;
    case ContextOutcome::kWhole:
      return "whole";
    case ContextOutcome::kShortened:
      return "shortened";
    case ContextOutcome::kOverTarget:
      return "over_target";
    case ContextOutcome::kNotRun:
      return "not_run";
  }
  return "";
}

std::string_view control_header(const Plugin& plugin) {
  const std::string& name = plugin.request_controls.header;
  return name.empty() ? kControlHeader : std::string_view(name);
}

CompressedContext compress_context(const Plugin& plugin, const ContextRoom& room,
                                   std::string_view control, const json::Document& document,
                                   std::optional<request::Api> api, std::string_view question) {
  CompressedContext out;
  ContextReport& report = out.report;
  const Control wish = read_control(plugin.request_controls, control);
  if (wish.bypass) return out;
  const uint64_t bytes = document.source().size();
  const std::optional<uint32_t> target = wish.target ? wish.target : plugin.budget.target_tokens;
  report.tokens_before = report.tokens_after = bytes / compress::kBytesPerToken;
  report.target = target_of(plugin, room, target);
  report.outcome = ContextOutcome::kWhole;
  const bool fits = report.target == 0 || report.tokens_before <= report.target;
  if (!is_triggered(plugin, report.tokens_before) || (target && fits)) return out;
  const std::string& mode = plugin.targets.tool_outputs.mode;
  uint64_t saved = 0;
  if (mode.empty() || mode == "extractive") {
    const Sizes sizes = sizes_of(plugin);
    std::vector<LongResult> candidates;
    for (const json::Value& value : find_earlier_results(document.root(), api)) {
      if (value.text().size() >= sizes.min)
        candidates.push_back({value, compress::Excerpt(value.text(), question, sizes.target)});
    }
    if (target) {
      std::ranges::stable_sort(candidates, {},
                               [](const LongResult& each) { return each.excerpt.relevance(); });
    }
    const uint64_t needed =
        target ? bytes - std::min(compress::kBytesPerToken * report.target, bytes) : bytes;
    saved = shorten(candidates, sizes.target, needed, out);
  }
  report.tokens_after = (bytes - saved) / compress::kBytesPerToken;
  if (report.results > 0) report.outcome = ContextOutcome::kShortened;
  if (report.target > 0 && report.tokens_after > report.target)
    report.outcome = ContextOutcome::kOverTarget;
  return out;
}

}  // namespace signalbox::plugins
