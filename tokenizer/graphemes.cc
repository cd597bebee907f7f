// The rules look at two neighbours and at little more: whether regional indicators come in an odd
// number, whether a pictograph stands before a joiner, whether a consonant and a linker do. So a
// cluster is extended character by character with that much memory.

#include "tokenizer/graphemes.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/utf8.h"
#include "tokenizer/grapheme_tables.h"

namespace signalbox::tokenizer {
namespace {

enum class Class : uint8_t {
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

Class other_class(char32_t c) {
  if (c == 0x113D1) return Class::kPrepend;
  if (contains(kPictographic, c)) return Class::kPictographic;
  if (contains(kExtendSinceUnicode16, c)) return Class::kExtend;
  if (contains(kSpacingMarkSinceUnicode16, c)) return Class::kSpacingMark;
  return contains(kControlUnassigned, c) ? Class::kControl : Class::kOther;
}

Class class_of(char32_t c) {
  if (c < 0x80) {
    if (c == '\r') return Class::kCr;
    if (c == '\n') return Class::kLf;
    return c < ' ' || c == 0x7F ? Class::kControl : Class::kOther;
  }
  // CJK, the longest stretches that are all one class.
  if (c >= 0x3400 && c <= 0x9FFF) return Class::kOther;
  switch (utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->boundclass) {
    case UTF8PROC_BOUNDCLASS_CONTROL:
      return Class::kControl;
    case UTF8PROC_BOUNDCLASS_PREPEND:
      return c == 0x11A3A ? Class::kOther : Class::kPrepend;  // not since Unicode 16
    case UTF8PROC_BOUNDCLASS_EXTEND:
      return c == 0x1171E ? Class::kSpacingMark : Class::kExtend;
    case UTF8PROC_BOUNDCLASS_ZWJ:
      return Class::kZwj;
    case UTF8PROC_BOUNDCLASS_SPACINGMARK:
      return contains(kExtendSinceUnicode16, c) ? Class::kExtend : Class::kSpacingMark;
    case UTF8PROC_BOUNDCLASS_L:
      return Class::kL;
    case UTF8PROC_BOUNDCLASS_V:
      return Class::kV;
    case UTF8PROC_BOUNDCLASS_T:
      return Class::kT;
    case UTF8PROC_BOUNDCLASS_LV:
      return Class::kLV;
    case UTF8PROC_BOUNDCLASS_LVT:
      return Class::kLVT;
    case UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR:
      return Class::kRegional;
    default:
      return other_class(c);
  }
}

// GB6 to GB8: Hangul syllables out of their letters.
bool joins_hangul(Class before, Class after) {
  switch (before) {
    case Class::kL:
      return after == Class::kL || after == Class::kV || after == Class::kLV ||
             after == Class::kLVT;
    case Class::kLV:
    case Class::kV:
      return after == Class::kV || after == Class::kT;
    case Class::kLVT:
    case Class::kT:
      return after == Class::kT;
    default:
      return false;
  }
}

// What of a cluster decides whether the next character joins it.
class Cluster {
 public:
  Cluster(char32_t c, Class found) { take(c, found); }

  bool joins(char32_t c, Class after) const {
    if (last_ == Class::kCr) return after == Class::kLf;
    if (is_control(last_) || is_control(after)) return false;
    if (after == Class::kExtend || after == Class::kZwj || after == Class::kSpacingMark)
      return true;
    if (last_ == Class::kPrepend) return true;
    if (after == Class::kRegional) return last_ == Class::kRegional && odd_regionals_;
    if (after == Class::kPictographic) return last_ == Class::kZwj && pictograph_;
    return joins_hangul(last_, after) || (linked_ && c >= 0x80 && contains(kConjunctConsonant, c));
  }

  void take(char32_t c, Class found) {
    const bool extends = found == Class::kExtend || found == Class::kZwj;
    if (!extends) {
      consonant_ = c >= 0x80 && contains(kConjunctConsonant, c);
      linked_ = false;
      pictograph_ = found == Class::kPictographic;
    } else if (c == kNonJoiner) {
      consonant_ = linked_ = false;
    } else if (consonant_ && contains(kConjunctLinker, c)) {
      linked_ = true;
    }
    // A pictograph, any number of Extend and one joiner: two joiners in a row do not join.
    if (last_ == Class::kZwj && extends) pictograph_ = false;
    odd_regionals_ = found == Class::kRegional && !(last_ == Class::kRegional && odd_regionals_);
    last_ = found;
  }

 private:
  static constexpr char32_t kNonJoiner = 0x200C;
  static bool is_control(Class c) {
    return c == Class::kCr || c == Class::kLf || c == Class::kControl;
  }

  Class last_ = Class::kOther;
  bool odd_regionals_ = false;
  bool pictograph_ = false;  // and nothing but Extend and ZWJ since
  bool consonant_ = false;   // of an Indic conjunct, and nothing but marks since
  bool linked_ = false;      // and a linker after it
};

}  // namespace

uint32_t grapheme_end(std::string_view text, uint32_t begin) {
  utf8::Decoded decoded = utf8::decode(text, begin);
  Cluster cluster(decoded.code_point, class_of(decoded.code_point));
  uint32_t end = begin + decoded.bytes;
  while (end < text.size()) {
    decoded = utf8::decode(text, end);
    const Class next = class_of(decoded.code_point);
    if (!cluster.joins(decoded.code_point, next)) break;
    cluster.take(decoded.code_point, next);
    end += decoded.bytes;
  }
  return end;
}

}  // namespace signalbox::tokenizer
