#pragma once
// Shared by the scanners of rules.cc: classes of bytes, groups of digits, and recent cue words.
// Each scanner looks at one position and reads a bounded number of bytes after it, or consumes what
// it has read. That keeps the whole pass linear.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace signalbox::pii {

using ascii::is_alnum;
using ascii::is_alpha;
using ascii::is_digit;
using ascii::is_upper;
using ascii::lower;
using ascii::upper;

inline bool is_hex(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}
inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool same_word(std::string_view a, std::string_view lower_case);

/// A text that may be read outside its bounds, where it contains zeros.
class Text {
 public:
  explicit Text(std::string_view bytes) : bytes_(bytes) {}
  char operator[](size_t at) const { return at < bytes_.size() ? bytes_[at] : '\0'; }
  size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  std::string_view from(size_t begin, size_t end) const {
    return bytes_.substr(begin, end - begin);
  }
  /// The end of the escape that begins at `at`, from JSON, C or a URL ("\\n", "\\u00a0",
  /// "%20"); 0 if there is none.
  size_t escape_end(size_t at) const;
  /// The byte before a place, and the byte at a place after a finding. Both return a space for
  /// characters that are not part of the text's words: an escape, and the "_" of Markdown around
  /// words.
  char before(size_t at) const;
  char after(size_t at) const;
  /// The length of a letter of U+00C0 to U+052F (Latin, Greek, Cyrillic) at this place; 0 for
  /// anything else. Scripts without spaces begin after that range.
  size_t letter_bytes(size_t at) const;
  /// The end of the digits that begin at `at`.
  size_t digits_end(size_t at) const;
  /// The value of at most 9 digits.
  uint32_t number(size_t begin, size_t end) const;

 private:
  std::string_view bytes_;
};

/// A space or a dash as people write them in numbers, including the no-break and narrow variants.
struct Separator {
  char kind = '\0';  // ' ', '-', '.' or none
  size_t bytes = 0;
};
Separator separator_at(const Text& text, size_t at);

/// Groups of digits with one separator between each two, starting at a digit.
struct Groups {
  static constexpr size_t kMax = 8;
  struct Group {
    size_t begin, end;
    char before;  // the separator in front, '\0' of the first
    size_t size() const { return end - begin; }
  };
  std::array<Group, kMax> at;
  size_t count = 0;
};
Groups groups_at(const Text& text, size_t at);

/// The meaning of a word for a number after it or before it.
enum class Cue : uint8_t {
  kPhone,
  kMaybePhone,
  kSsn,
  kLicense,
  kZip,
  kDriver,
  kVersion,
  kHost,
  kSite,
  kCard,
  kDated,
  kCount
};

/// The cue words that the scan has passed.
class Cues {
 public:
  /// Records a cue. `word` is text[begin, end), all of its letters.
  void see(const Text& text, size_t begin, size_t end);
  /// Records cues inside a compound word such as "phoneNumber"; only those that name numbers.
  void see_parts(const Text& text, size_t begin, size_t end);
  /// True if such a word ended at most `within` bytes before.
  bool near(Cue cue, size_t at, size_t within) const {
    const size_t seen = ends_[static_cast<size_t>(cue)];
    return seen != 0 && at - seen <= within;
  }
  size_t end_of(Cue cue) const { return ends_[static_cast<size_t>(cue)]; }
  /// True if `cue` is the latest of the cues that name numbers.
  bool is_last(Cue cue) const { return last_ == cue; }
  /// Forgets cues that apply to a single number.
  void forget() {
    for (const Cue cue : {Cue::kLicense, Cue::kZip}) set(cue, 0);
  }

 private:
  void set(Cue cue, size_t end) { ends_[static_cast<size_t>(cue)] = end; }
  void name(Cue cue, size_t end);
  void see_word(const Text& text, size_t begin, size_t end, bool is_part);
  std::array<size_t, static_cast<size_t>(Cue::kCount)> ends_{};  // 0: not seen
  size_t social_ = 0;                                            // the end of the last "social"
  Cue last_ = Cue::kCount;
};

/// The finding of a scanner at a position.
struct Match {
  std::string_view type;
  size_t begin;
  size_t end;
  double score;
};
using Found = std::optional<Match>;
inline constexpr double kChecked = 1.0;
inline constexpr double kInContext = 0.95;
inline constexpr double kLikely = 0.6;

inline constexpr std::string_view kCreditCard = "CREDIT_CARD";
inline constexpr std::string_view kIban = "IBAN_CODE";
inline constexpr std::string_view kSsn = "US_SSN";
inline constexpr std::string_view kEmail = "EMAIL_ADDRESS";
inline constexpr std::string_view kIp = "IP_ADDRESS";
inline constexpr std::string_view kDomain = "DOMAIN_NAME";
inline constexpr std::string_view kPhone = "PHONE_NUMBER";
inline constexpr std::string_view kDate = "DATE_TIME";
inline constexpr std::string_view kLicense = "US_DRIVER_LICENSE";
inline constexpr std::string_view kZip = "ZIP_CODE";
inline constexpr std::string_view kApiKey = "API_KEY";
inline constexpr std::string_view kPrivateKey = "PRIVATE_KEY";
inline constexpr std::string_view kJwt = "JWT";

// accounts.cc: at a digit; `digits_end` ends the first run of digits. find_iban and find_license
// also start at a letter.
Found find_card(const Text& text, size_t at, size_t digits_end, const Cues& cues);
Found find_ssn(const Text& text, size_t at, size_t digits_end, const Cues& cues);
Found find_iban(const Text& text, size_t at);
Found find_license(const Text& text, size_t at, const Cues& cues);
Found find_zip(const Text& text, size_t at, const Cues& cues);

// phones.cc: at a digit, '(' or '+'.
Found find_phone(const Text& text, size_t at, const Cues& cues);

// dates.cc: at a digit; at a letter, with the end of the word.
Found find_date(const Text& text, size_t at, const Cues& cues);
Found find_date_by_month(const Text& text, size_t at, size_t word_end, const Cues& cues);

// hosts.cc: at a digit; at a hexadecimal digit or ':'; at '@' or its escape, which ends at
// `host_begin` (this scanner also looks back); at a word.
Found find_ipv4(const Text& text, size_t at, const Cues& cues);
Found find_ipv6(const Text& text, size_t at, const Cues& cues);
Found find_email(const Text& text, size_t at_sign, size_t host_begin);
/// At the word "at": "ada (at) example dot org".
Found find_spoken_email(const Text& text, size_t at, size_t word_end);
Found find_url(const Text& text, size_t at, size_t word_end);
Found find_domain(const Text& text, size_t at, const Cues& cues);
/// The ranges of the text before a URL's '@' (both ends 0 without one) and of the text after its
/// host.
struct UrlParts {
  std::pair<size_t, size_t> user, tail;
};
UrlParts url_parts(const Text& text, size_t begin, size_t end);

/// The ends of the runs of characters that turned out not to be keys. A key may begin again inside
/// such a run, as in "sk-_sk-_", and reading to its end each time would be quadratic.
struct FailedRuns {
  std::array<size_t, 5> key{};  // runs without a digit, by alphabet
  size_t jwt = 0;               // a first part that no further parts complete to a JWT
};

// secrets.cc: at a word, in the order of the text.
Found find_key(const Text& text, size_t at, FailedRuns& failed_runs);
Found find_jwt(const Text& text, size_t at, FailedRuns& failed_runs);
/// After the name that ends at `word_end`. A password has no form of its own: it may be an e-mail
/// address, a card or a URL.
Found find_named_password(const Text& text, size_t at, size_t word_end);
Found find_named_key(const Text& text, size_t at, size_t word_end, FailedRuns& failed_runs);
/// In "scheme://name:password@host".
Found find_url_password(const Text& text, size_t at);
/// At '-'. `next_end` is the end of the next block, 0 at first; it is searched for once.
Found find_private_key(const Text& text, size_t at, size_t& next_end);

}  // namespace signalbox::pii
