#pragma once
// Checks the properties that hold for the skeleton of any text. The tests and the fuzz target share
// it.

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "base/utf8.h"
#include "router/compress/compress.h"

namespace signalbox::compress {

/// Returns the first violation, or "".
inline std::string what_is_wrong(std::string_view text, const Options& options,
                                 const Skeleton& skeleton) {
  const uint32_t most = std::max(options.tokens_max, 32u);
  if (skeleton.tokens > most + 0.01) return fmt::format("{} tokens", skeleton.tokens);
  if (skeleton.text.size() > 34 * static_cast<size_t>(most))
    return fmt::format("{} bytes", skeleton.text.size());
  std::string joined;
  size_t at = 0;
  for (const Range& range : skeleton.kept) {
    if (range.begin >= range.end || range.end > text.size()) return "a range out of the text";
    if (!joined.empty() && range.begin <= at) return "ranges that touch";
    if (!joined.empty()) joined.push_back(' ');
    joined += text.substr(range.begin, range.end - range.begin);
    at = range.end;
  }
  if (joined != skeleton.text) return "a text that is not that of its ranges";
  if (utf8::is_valid(text) && !utf8::is_valid(skeleton.text)) return "a character cut in two";
  const auto again = shorten(text, options);
  if (!again || again->text != skeleton.text) return "another skeleton of the same text";
  return "";
}

}  // namespace signalbox::compress
