// The adapter to utf8proc, with corrections that make it agree with the reference.

#include "tokenizer/unicode/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <span>

#include "base/error.h"

namespace signalbox::tokenizer::unicode {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Code points in Mn, P* or Cf that were unassigned in Unicode 8. A range may include other code
// points between them.
constexpr Range kCategorySinceUnicode9[] = {
    {0x061D, 0x061D},   {0x07FD, 0x07FD},   {0x0890, 0x08E2},   {0x09FD, 0x09FE},
    {0x0A76, 0x0A76},   {0x0AFA, 0x0AFF},   {0x0B55, 0x0B55},   {0x0C04, 0x0C3C},
    {0x0C77, 0x0C77},   {0x0C84, 0x0C84},   {0x0D00, 0x0D00},   {0x0D3B, 0x0D3C},
    {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},   {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},
    {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9},
    {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455},
    {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
    {0x1E944, 0x1E95F},
};

// Code points in category M, with a combining class or with a decomposition, that were unassigned
// in Unicode 9. A range may include other code points.
constexpr Range kMarkSinceUnicode10[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x08D3},   {0x09FE, 0x09FE},   {0x0AFA, 0x0AFF},
    {0x0B55, 0x0B55},   {0x0C04, 0x0C3C},   {0x0CF3, 0x0D00},   {0x0D3B, 0x0D3C},
    {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},   {0x1715, 0x1715},
    {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
    {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},
    {0xAB69, 0xAB69},   {0x10781, 0x107BA}, {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99},
    {0x11D31, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1},
    {0x1CF00, 0x1CF46}, {0x1E030, 0x1E4EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9},
};

// Constants for Hangul, whose syllables are computed (Unicode 15, section 3.12): a leading
// consonant, a vowel and an optional trailing consonant.
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11A7;
// kTrailCount includes "no trail"
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTrailCount = 28;

struct CategoryRange {
  char32_t first;
  char32_t last;
  Category category;
};

// Assigned in Unicode 16 but not in utf8proc 2.8.
constexpr CategoryRange kCategoryInUnicode16[] = {
    {0x0897, 0x0897, Category::kMn},   {0x1B4E, 0x1B4F, Category::kPo},
    {0x1B7F, 0x1B7F, Category::kPo},   {0x1C89, 0x1C89, Category::kLu},
    {0x1C8A, 0x1C8A, Category::kLl},   {0x2427, 0x2429, Category::kSo},
    {0x2FFC, 0x2FFF, Category::kSo},   {0x31E4, 0x31E5, Category::kSo},
    {0x31EF, 0x31EF, Category::kSo},   {0xA7CB, 0xA7CC, Category::kLu},
    {0xA7CD, 0xA7CD, Category::kLl},   {0xA7DA, 0xA7DA, Category::kLu},
    {0xA7DB, 0xA7DB, Category::kLl},   {0xA7DC, 0xA7DC, Category::kLu},
    {0x105C0, 0x105F3, Category::kLo}, {0x10D40, 0x10D49, Category::kNd},
    {0x10D4A, 0x10D4D, Category::kLo}, {0x10D4E, 0x10D4E, Category::kLm},
    {0x10D4F, 0x10D4F, Category::kLo}, {0x10D50, 0x10D65, Category::kLu},
    {0x10D69, 0x10D6D, Category::kMn}, {0x10D6E, 0x10D6E, Category::kPd},
    {0x10D6F, 0x10D6F, Category::kLm}, {0x10D70, 0x10D85, Category::kLl},
    {0x10D8E, 0x10D8F, Category::kSm}, {0x10EC2, 0x10EC4, Category::kLo},
    {0x10EFC, 0x10EFC, Category::kMn}, {0x11380, 0x11389, Category::kLo},
    {0x1138B, 0x1138B, Category::kLo}, {0x1138E, 0x1138E, Category::kLo},
    {0x11390, 0x113B5, Category::kLo}, {0x113B7, 0x113B7, Category::kLo},
    {0x113B8, 0x113BA, Category::kMc}, {0x113BB, 0x113C0, Category::kMn},
    {0x113C2, 0x113C2, Category::kMc}, {0x113C5, 0x113C5, Category::kMc},
    {0x113C7, 0x113CA, Category::kMc}, {0x113CC, 0x113CD, Category::kMc},
    {0x113CE, 0x113CE, Category::kMn}, {0x113CF, 0x113CF, Category::kMc},
    {0x113D0, 0x113D0, Category::kMn}, {0x113D1, 0x113D1, Category::kLo},
    {0x113D2, 0x113D2, Category::kMn}, {0x113D3, 0x113D3, Category::kLo},
    {0x113D4, 0x113D5, Category::kPo}, {0x113D7, 0x113D8, Category::kPo},
    {0x113E1, 0x113E2, Category::kMn}, {0x116D0, 0x116E3, Category::kNd},
    {0x11BC0, 0x11BE0, Category::kLo}, {0x11BE1, 0x11BE1, Category::kPo},
    {0x11BF0, 0x11BF9, Category::kNd}, {0x11F5A, 0x11F5A, Category::kMn},
    {0x13460, 0x143FA, Category::kLo}, {0x16100, 0x1611D, Category::kLo},
    {0x1611E, 0x16129, Category::kMn}, {0x1612A, 0x1612C, Category::kMc},
    {0x1612D, 0x1612F, Category::kMn}, {0x16130, 0x16139, Category::kNd},
    {0x16D40, 0x16D42, Category::kLm}, {0x16D43, 0x16D6A, Category::kLo},
    {0x16D6B, 0x16D6C, Category::kLm}, {0x16D6D, 0x16D6F, Category::kPo},
    {0x16D70, 0x16D79, Category::kNd}, {0x18CFF, 0x18CFF, Category::kLo},
    {0x1CC00, 0x1CCEF, Category::kSo}, {0x1CCF0, 0x1CCF9, Category::kNd},
    {0x1CD00, 0x1CEB3, Category::kSo}, {0x1E5D0, 0x1E5ED, Category::kLo},
    {0x1E5EE, 0x1E5EF, Category::kMn}, {0x1E5F0, 0x1E5F0, Category::kLo},
    {0x1E5F1, 0x1E5FA, Category::kNd}, {0x1E5FF, 0x1E5FF, Category::kPo},
    {0x1F8B2, 0x1F8BB, Category::kSo}, {0x1F8C0, 0x1F8C1, Category::kSo},
    {0x1FA89, 0x1FA89, Category::kSo}, {0x1FA8F, 0x1FA8F, Category::kSo},
    {0x1FABE, 0x1FABE, Category::kSo}, {0x1FAC6, 0x1FAC6, Category::kSo},
    {0x1FADC, 0x1FADC, Category::kSo}, {0x1FADF, 0x1FADF, Category::kSo},
    {0x1FAE9, 0x1FAE9, Category::kSo}, {0x1FBCB, 0x1FBEF, Category::kSo},
    {0x2EBF0, 0x2EE5D, Category::kLo},
};

bool contains(std::span<const Range> ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t x, const Range& range) { return x < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

utf8proc_category_t category_in_utf8proc(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_known_category(char32_t c) {
  return !contains(kCategorySinceUnicode9, c);
}

// Lower-case pairs of Unicode 16 and 17 that utf8proc 2.8 lacks. Returns c for other characters.
char32_t to_lower_since_unicode16(char32_t c) {
  switch (c) {
    case 0xA7CB:
      return 0x0264;
    case 0xA7DC:
      return 0x019B;
    case 0x1C89:
    case 0xA7CC:
    case 0xA7CE:
    case 0xA7D2:
    case 0xA7D4:
    case 0xA7DA:
      return c + 1;
    default:
      break;
  }
  if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;  // Garay
  if (c >= 0x16EA0 && c <= 0x16EB8) return c + 0x1B;  // Beria Erfe
  return c;
}

Expansion single(char32_t c) {
  Expansion out;
  out.code_points[0] = c;
  out.size = 1;
  return out;
}

bool is_syllable(char32_t c) {
  return c >= kSyllables && c < kSyllables + kLeadCount * kVowelCount * kTrailCount;
}

Expansion expand(char32_t c, int options) {
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  const bool decomposes = property->decomp_seqindex != UINT16_MAX || is_syllable(c);
  if (!decomposes || contains(kMarkSinceUnicode10, c)) return single(c);
  std::array<utf8proc_int32_t, kExpansionMax> found;
  int boundary_class = 0;  // required by the interface, only used for grapheme clusters
  const auto size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), found.data(), found.size(),
                              static_cast<utf8proc_option_t>(options), &boundary_class);
  SIGNALBOX_CHECK(size >= 1 && size <= static_cast<utf8proc_ssize_t>(found.size()));
  Expansion out;
  out.size = static_cast<uint32_t>(size);
  std::copy_n(found.begin(), size, out.code_points.begin());
  return out;
}

// Returns U+0000 if there is no composite; nothing composes to it.
char32_t compose_hangul(char32_t first, char32_t second) {
  if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels &&
      second < kVowels + kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTrailCount;
  }
  if (is_syllable(first) && (first - kSyllables) % kTrailCount == 0 && second > kTrails &&
      second < kTrails + kTrailCount) {
    return first + (second - kTrails);
  }
  return 0;
}

// Alphabetic symbols: circled and squared letters.
bool is_circled_letter(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_number(Category found) {
  return found >= Category::kNd && found <= Category::kNo;
}

Class class_of(char32_t c) {
  if (is_whitespace(c)) return Class::kSpace;
  const Category found = category(c);
  if (is_number(found)) return Class::kNumber;
  return found >= Category::kLu && found <= Category::kLo ? Class::kLetter : Class::kOther;
}

}  // namespace

Category category(char32_t c) {
  static_assert(static_cast<int>(Category::kCo) == UTF8PROC_CATEGORY_CO);
  const utf8proc_category_t found = category_in_utf8proc(c);
  // Assigned code points keep their category, except for one vowel sign of Ahom.
  if (found == UTF8PROC_CATEGORY_CN && c <= std::rbegin(kCategoryInUnicode16)->last) {
    const auto after =
        std::upper_bound(std::begin(kCategoryInUnicode16), std::end(kCategoryInUnicode16), c,
                         [](char32_t x, const CategoryRange& range) { return x < range.first; });
    const bool is_new = after != std::begin(kCategoryInUnicode16) && c <= std::prev(after)->last;
    return is_new ? std::prev(after)->category : Category::kCn;
  }
  return c == 0x1171E ? Category::kMc : static_cast<Category>(found);
}

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control(char32_t c) {
  switch (category_in_utf8proc(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CO:
      return true;
    case UTF8PROC_CATEGORY_CF:
      return is_known_category(c);
    default:
      return false;
  }
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  // Punctuation until Unicode 10: a sign of Canadian syllabics (now a symbol) and one of Sharada
  // (now a mark).
  if (c == 0x166D || c == 0x111C9) return true;
  const utf8proc_category_t found = category_in_utf8proc(c);
  return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO && is_known_category(c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // Hanunoo sign pamudpod: a spacing mark since Unicode 14
  return category_in_utf8proc(c) == UTF8PROC_CATEGORY_MN && is_known_category(c);
}

bool is_mark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // letters since Unicode 12
  const utf8proc_category_t found = category_in_utf8proc(c);
  return found >= UTF8PROC_CATEGORY_MN && found <= UTF8PROC_CATEGORY_ME &&
         !contains(kMarkSinceUnicode10, c);
}

bool is_word(char32_t c) {
  switch (category(c)) {
    case Category::kLu:
    case Category::kLl:
    case Category::kLt:
    case Category::kLm:
    case Category::kLo:
    case Category::kMn:
    case Category::kMc:
    case Category::kMe:
    case Category::kNd:
    case Category::kNl:
    case Category::kPc:
      return true;
    case Category::kSo:
      return is_circled_letter(c);
    default:
      return c == 0x200C || c == 0x200D;  // joiners
  }
}

bool is_numeric(char32_t c) {
  // Numbers of two scripts added in Unicode 17.
  return is_number(category(c)) || (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
}

const ClassTable& ClassTable::get() {
  static const ClassTable table;
  return table;
}

ClassTable::ClassTable() {
  constexpr char32_t kClassedEnd = 0x33500;  // all code points from here on are kOther
  pages_.push_back({});                      // page 0: all kOther
  for (char32_t first = 0; first < kClassedEnd; first += 0x100) {
    Page page{};
    for (char32_t i = 0; i < 0x100; ++i) {
      page[i >> 2] |=
          static_cast<uint8_t>(static_cast<uint32_t>(class_of(first + i)) << 2 * (i & 3));
    }
    const auto found = std::find(pages_.begin(), pages_.end(), page);
    page_of_[first >> 8] = static_cast<uint8_t>(found - pages_.begin());
    if (found == pages_.end()) pages_.push_back(page);
  }
  SIGNALBOX_CHECK(pages_.size() <= 0x100);
}

uint8_t combining_class(char32_t c) {
  const auto found = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  return found == 0 || contains(kMarkSinceUnicode10, c) ? 0 : static_cast<uint8_t>(found);
}

Expansion decompose(char32_t c) {
  return expand(c, UTF8PROC_DECOMPOSE);
}

Expansion decompose_compatible(char32_t c) {
  return expand(c, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

char32_t compose(char32_t first, char32_t second) {
  if (const char32_t syllable = compose_hangul(first, second)) return syllable;
  // utf8proc only composes buffers. It treats U+11A7 as a trailing consonant, which is wrong.
  if (second == kTrails) return 0;
  utf8proc_int32_t pair[] = {static_cast<utf8proc_int32_t>(first),
                             static_cast<utf8proc_int32_t>(second)};
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (utf8proc_normalize_utf32(pair, 2, kOptions) != 1) return 0;
  const auto found = static_cast<char32_t>(pair[0]);
  return contains(kMarkSinceUnicode10, found) ? 0 : found;
}

Expansion to_lower(char32_t c) {
  if (c == 0x130) return {{'i', 0x307}, 2};
  const auto found = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return single(found != c ? found : to_lower_since_unicode16(c));
}

}  // namespace signalbox::tokenizer::unicode
