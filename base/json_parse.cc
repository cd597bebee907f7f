// Checks the grammar of a document in one pass without recursion, and remembers where long values
// end. simdjson checks the encoding. Its parsers were rejected: their indices take four bytes for
// each byte of a dense document.

#include <simdjson.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_scan.h"

namespace signalbox::json {
namespace {

/// A moved std::string keeps its bytes in place only if they do not lie within the object.
constexpr size_t kOutsideObject = 32;
/// Values of the outermost container are remembered only while fewer than this are.
constexpr size_t kOuterMax = 16;
constexpr size_t kUsualDepth = 8;

}  // namespace

// Checks the grammar of a document.
class Checker {
 public:
  Checker(Document& document, uint32_t depth_max)
      : document_(document), text_(document.text_), depth_max_(depth_max) {
    open_.reserve(kUsualDepth);
  }

  Result<void> check() {
    skip_space();
    document_.root_ = static_cast<uint32_t>(at_);
    if (text_[at_] != '{' && text_[at_] != '[') {
      if (at_ == text_.size()) return fail(Code::kInvalid, "JSON: the text is empty");
      return fail(Code::kInvalid, "JSON: expected an object or an array at the top");
    }
    SIGNALBOX_TRY_VOID(value());
    while (!open_.empty()) SIGNALBOX_TRY_VOID(step());
    skip_space();
    if (at_ < text_.size())
      return fail(Code::kInvalid, "JSON: unexpected content after the end at byte {}", at_);
    if (!simdjson::validate_utf8(text_)) return fail(Code::kInvalid, "JSON: the text is not UTF-8");
    std::sort(document_.long_values_.begin(), document_.long_values_.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    document_.escaped_.finish();
    return {};
  }

 private:
  struct Container {
    uint32_t begin;
    uint32_t covered;  // bytes of the container that lie in remembered values
    bool is_object;
    bool is_begun;
  };

  // Reads one element or member, or the end of the innermost container.
  Result<void> step() {
    Container& in = open_.back();
    skip_space();
    if (text_[at_] == (in.is_object ? '}' : ']') && at_ < text_.size()) {
      ++at_;
      const Container closed = in;
      open_.pop_back();
      remember(closed.begin, closed.covered);
      return {};
    }
    if (in.is_begun) {
      if (text_[at_] != ',')
        return fail(Code::kInvalid, "JSON: expected ',' or '{}' at byte {}",
                    in.is_object ? '}' : ']', at_);
      ++at_;
      skip_space();
    }
    in.is_begun = true;
    if (in.is_object) {
      if (text_[at_] != '"') return fail(Code::kInvalid, "JSON: expected a key at byte {}", at_);
      SIGNALBOX_TRY_VOID(string());
      skip_space();
      if (text_[at_] != ':') return fail(Code::kInvalid, "JSON: expected ':' at byte {}", at_);
      ++at_;
      skip_space();
    }
    return value();
  }

  Result<void> value() {
    const char c = text_[at_];
    if (c == '"') return string();
    if (c != '{' && c != '[') return scalar();
    if (open_.size() >= depth_max_)
      return fail(Code::kTooLarge, "JSON: nested deeper than {} at byte {}", depth_max_, at_);
    open_.push_back({static_cast<uint32_t>(at_++), 0, c == '{', false});
    return {};
  }

  Result<void> string() {
    const size_t begin = at_++;
    bool escaped = false;
    for (;;) {
      at_ = plain_end(text_, at_);
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') {
        return at_ == text_.size()
                   ? fail(Code::kInvalid, "JSON: the string at byte {} does not end", begin)
                   : fail(Code::kInvalid, "JSON: a control character in a string at byte {}", at_);
      }
      const Escape escape = escape_at(text_, at_);
      if (escape.bytes == 0)
        return fail(Code::kInvalid, "JSON: a string has an invalid escape at byte {}", at_);
      at_ += escape.bytes;
      escaped = true;
    }
    ++at_;
    if (escaped) document_.escaped_.add(static_cast<uint32_t>(begin));
    remember(begin, 0);
    return {};
  }

  Result<void> scalar() {
    const size_t begin = at_;
    while (!ends_scalar(text_[at_])) ++at_;
    const std::string_view token(text_.data() + begin, at_ - begin);
    if (token.empty()) return fail(Code::kInvalid, "JSON: a value is missing at byte {}", begin);
    if (token == "true" || token == "false" || token == "null" || is_number_token(token)) {
      remember(begin, 0);
      return {};
    }
    return fail(Code::kInvalid, "JSON: not a value: \"{}\" at byte {}", token.substr(0, 32), begin);
  }

  // Notes a value that has ended here if skipping it would take long. The first values of the
  // outermost container are noted, too, because nearly every reader skips them.
  void remember(size_t begin, uint32_t covered) {
    const auto bytes = static_cast<uint32_t>(at_ - begin);
    const bool is_outer = open_.size() == 1 && document_.long_values_.size() < kOuterMax;
    if (bytes - covered >= kNear || (is_outer && bytes >= kNear)) {
      document_.long_values_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)});
      covered = bytes;
    }
    if (!open_.empty()) open_.back().covered += covered;
  }

  void skip_space() {
    while (is_space(text_[at_])) ++at_;
  }

  Document& document_;
  const std::string& text_;
  const uint32_t depth_max_;
  size_t at_ = 0;
  std::vector<Container> open_;
};

Result<Document> Document::parse(std::string text, const Limits& limits) {
  return take(text, limits);
}

Result<Document> Document::take(std::string& text, const Limits& limits) {
  // Offsets are 32 bits wide.
  const size_t bytes_max = std::min<size_t>(limits.bytes, UINT32_MAX - kNear);
  if (text.size() > bytes_max) {
    return fail(Code::kTooLarge, "JSON: {} bytes, at most {} are read", text.size(), bytes_max);
  }
  Document document;
  document.text_ = std::move(text);
  document.text_.reserve(kOutsideObject);
  if (Result<void> checked = Checker(document, limits.depth).check(); !checked) {
    text = std::move(document.text_);
    return tl::unexpected<Error>(std::move(checked).error());
  }
  return document;
}

}  // namespace signalbox::json
