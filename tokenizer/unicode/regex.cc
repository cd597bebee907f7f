// The adapter to RE2.

#include "tokenizer/unicode/regex.h"

#include <re2/re2.h>

#include <utility>

#include "base/utf8.h"
#include "tokenizer/hf/json_field.h"
#include "tokenizer/unicode/regex_syntax.h"

namespace signalbox::tokenizer {
namespace {

// Memory limit per pattern, including its automata, which RE2 builds on demand and discards at the
// limit.
constexpr int64_t kMemoryBytesMax = int64_t{8} << 20;

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

Regex::Regex(std::unique_ptr<const re2::RE2> compiled, bool may_be_empty)
    : compiled_(std::move(compiled)), may_be_empty_(may_be_empty) {}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern) {
  SIGNALBOX_TRY(const TranslatedRegex translated, to_re2(pattern));
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMemoryBytesMax);
  auto compiled = std::make_unique<const RE2>(translated.pattern, options);
  if (compiled->ok()) return Regex(std::move(compiled), translated.may_be_empty);
  const bool too_large = compiled->error_code() == RE2::ErrorPatternTooLarge;
  return fail(too_large ? Code::kTooLarge : Code::kUnsupported, "{}: {}", in_quotes(pattern),
              compiled->error());
}

std::optional<Span> Regex::find(std::string_view text, size_t from) const {
  re2::StringPiece found;
  if (!compiled_->Match(piece(text), from, text.size(), RE2::UNANCHORED, &found, 1)) return {};
  const auto begin = static_cast<uint32_t>(found.data() - text.data());
  return Span{begin, begin + static_cast<uint32_t>(found.size())};
}

void Regex::find_all(std::string_view text, std::vector<Span>& matches) const {
  if (text.empty()) return;
  std::optional<size_t> last_end;
  for (size_t from = 0; from <= text.size();) {
    const auto found = find(text, from);
    if (!found) return;
    if (found->begin == found->end && last_end == found->end) {
      if (from == text.size()) return;
      from += utf8::decode(text, from).bytes;
      continue;
    }
    matches.push_back(*found);
    last_end = from = found->end;
  }
}

bool Regex::is_in(std::string_view text) const {
  return !text.empty() &&
         compiled_->Match(piece(text), 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

}  // namespace signalbox::tokenizer
