// Logging by RE2 is off: it would print the pattern, and a pattern may contain the sensitive text
// that it searches for.

#include "router/signals/matching/pattern.h"

#include <re2/re2.h>

namespace signalbox::signals {

Pattern::Pattern(std::unique_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view pattern, bool case_sensitive) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(case_sensitive);
  auto compiled =
      std::make_unique<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    const bool too_large = compiled->error_code() == re2::RE2::ErrorPatternTooLarge;
    return fail(too_large ? Code::kTooLarge : Code::kInvalid, "pattern \"{}\": {}", pattern,
                compiled->error());
  }
  return Pattern(std::move(compiled));
}

bool Pattern::is_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

std::optional<Pattern::Span> Pattern::find(std::string_view text, size_t from) const {
  const re2::StringPiece all(text.data(), std::min(text.size(), kCountedBytesMax));
  re2::StringPiece match;
  if (from > all.size() ||
      !compiled_->Match(all, from, all.size(), re2::RE2::UNANCHORED, &match, 1))
    return std::nullopt;
  const auto begin = static_cast<size_t>(match.data() - all.data());
  return Span{begin, begin + match.size()};
}

size_t Pattern::count(std::string_view text) const {
  size_t count = 0;
  size_t last_end = SIZE_MAX;
  for (size_t at = 0; count < kCountMax;) {
    const std::optional<Span> match = find(text, at);
    if (!match) break;
    const bool is_empty = match->begin == match->end;
    // An empty match directly after the previous match does not count.
    if (!is_empty || match->end != last_end) ++count;
    last_end = match->end;
    at = is_empty ? match->end + 1 : match->end;
  }
  return count;
}

}  // namespace signalbox::signals
