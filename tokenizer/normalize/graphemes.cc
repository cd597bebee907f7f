// The rules depend on two neighbours and little more: whether the number of regional indicators is
// odd, whether a pictograph precedes a joiner, and whether a consonant and a linker precede a
// consonant. A cluster is therefore extended character by character with that much state.

#include "tokenizer/normalize/graphemes.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/utf8.h"
#include "tokenizer/normalize/grapheme_tables.h"

namespace signalbox::tokenizer {
namespace {

enum class BreakClass : uint8_t {
  kOther,
  kCr,
  kLf,
  kControl,
  kPrepend,
  kExtend,
  kZwj,
  kSpacingMark,
  kL,
  kV,
  kT,
  kLV,
  kLVT,
  kRegional,
  kPictographic,
};

bool contains(std::span<const CodePointRange> ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t x, const CodePointRange& range) { return x < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

BreakClass other_class(char32_t c) {
  if (c == 0x113D1) return BreakClass::kPrepend;
  if (contains(kPictographic, c)) return BreakClass::kPictographic;
  if (contains(kExtendSinceUnicode16, c)) return BreakClass::kExtend;
  if (contains(kSpacingMarkSinceUnicode16, c)) return BreakClass::kSpacingMark;
  return contains(kControlUnassigned, c) ? BreakClass::kControl : BreakClass::kOther;
}

BreakClass class_of(char32_t c) {
  if (c < 0x80) {
    if (c == '\r') return BreakClass::kCr;
    if (c == '\n') return BreakClass::kLf;
    return c < ' ' || c == 0x7F ? BreakClass::kControl : BreakClass::kOther;
  }
  // CJK, which forms the longest stretches of one class.
  if (c >= 0x3400 && c <= 0x9FFF) return BreakClass::kOther;
  switch (utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->boundclass) {
    case UTF8PROC_BOUNDCLASS_CONTROL:
      return BreakClass::kControl;
    case UTF8PROC_BOUNDCLASS_PREPEND:
      return c == 0x11A3A ? BreakClass::kOther : BreakClass::kPrepend;  // removed in Unicode 16
    case UTF8PROC_BOUNDCLASS_EXTEND:
      return c == 0x1171E ? BreakClass::kSpacingMark : BreakClass::kExtend;
    case UTF8PROC_BOUNDCLASS_ZWJ:
      return BreakClass::kZwj;
    case UTF8PROC_BOUNDCLASS_SPACINGMARK:
      return contains(kExtendSinceUnicode16, c) ? BreakClass::kExtend : BreakClass::kSpacingMark;
    case UTF8PROC_BOUNDCLASS_L:
      return BreakClass::kL;
    case UTF8PROC_BOUNDCLASS_V:
      return BreakClass::kV;
    case UTF8PROC_BOUNDCLASS_T:
      return BreakClass::kT;
    case UTF8PROC_BOUNDCLASS_LV:
      return BreakClass::kLV;
    case UTF8PROC_BOUNDCLASS_LVT:
      return BreakClass::kLVT;
    case UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR:
      return BreakClass::kRegional;
    default:
      return other_class(c);
  }
}

// GB6 to GB8: Hangul syllables from their letters.
bool joins_hangul(BreakClass before, BreakClass after) {
  switch (before) {
    case BreakClass::kL:
      return after == BreakClass::kL || after == BreakClass::kV || after == BreakClass::kLV ||
             after == BreakClass::kLVT;
    case BreakClass::kLV:
    case BreakClass::kV:
      return after == BreakClass::kV || after == BreakClass::kT;
    case BreakClass::kLVT:
    case BreakClass::kT:
      return after == BreakClass::kT;
    default:
      return false;
  }
}

// The state of a cluster that determines whether the next character joins it.
class Cluster {
 public:
  Cluster(char32_t c, BreakClass found) { take(c, found); }

  bool joins(char32_t c, BreakClass after) const {
    if (last_ == BreakClass::kCr) return after == BreakClass::kLf;
    if (is_control(last_) || is_control(after)) return false;
    if (after == BreakClass::kExtend || after == BreakClass::kZwj ||
        after == BreakClass::kSpacingMark)
      return true;
    if (last_ == BreakClass::kPrepend) return true;
    if (after == BreakClass::kRegional) return last_ == BreakClass::kRegional && odd_regionals_;
    if (after == BreakClass::kPictographic) return last_ == BreakClass::kZwj && pictograph_;
    return joins_hangul(last_, after) || (linked_ && c >= 0x80 && contains(kConjunctConsonant, c));
  }

  void take(char32_t c, BreakClass found) {
    const bool extends = found == BreakClass::kExtend || found == BreakClass::kZwj;
    if (!extends) {
      consonant_ = c >= 0x80 && contains(kConjunctConsonant, c);
      linked_ = false;
      pictograph_ = found == BreakClass::kPictographic;
    } else if (c == kNonJoiner) {
      consonant_ = linked_ = false;
    } else if (consonant_ && contains(kConjunctLinker, c)) {
      linked_ = true;
    }
    // Valid sequence: a pictograph, any number of Extend and one joiner. Two consecutive joiners do
    // not join.
    if (last_ == BreakClass::kZwj && extends) pictograph_ = false;
    odd_regionals_ =
        found == BreakClass::kRegional && !(last_ == BreakClass::kRegional && odd_regionals_);
    last_ = found;
  }

 private:
  static constexpr char32_t kNonJoiner = 0x200C;
  static bool is_control(BreakClass c) {
    return c == BreakClass::kCr || c == BreakClass::kLf || c == BreakClass::kControl;
  }

  BreakClass last_ = BreakClass::kOther;
  bool odd_regionals_ = false;
  bool pictograph_ = false;  // only Extend and ZWJ since
  bool consonant_ = false;   // of an Indic conjunct; only marks since
  bool linked_ = false;      // a linker followed the consonant
};

}  // namespace

uint32_t grapheme_end(std::string_view text, uint32_t begin) {
  utf8::Decoded decoded = utf8::decode(text, begin);
  Cluster cluster(decoded.code_point, class_of(decoded.code_point));
  uint32_t end = begin + decoded.bytes;
  while (end < text.size()) {
    decoded = utf8::decode(text, end);
    const BreakClass next = class_of(decoded.code_point);
    if (!cluster.joins(decoded.code_point, next)) break;
    cluster.take(decoded.code_point, next);
    end += decoded.bytes;
  }
  return end;
}

}  // namespace signalbox::tokenizer
