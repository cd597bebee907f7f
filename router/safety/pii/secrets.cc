// Finds secrets that give access: keys by the prefixes that their issuers chose to make them
// recognisable, keys and passwords after a name such as "token", passwords in URLs, JWTs (RFC 7519)
// and PEM blocks (RFC 7468).

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/base64.h"
#include "base/utf8.h"
#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

enum class Alphabet : uint8_t { kAlnum, kUpper, kHex, kWord, kDotted };
static_assert(static_cast<size_t>(Alphabet::kDotted) < FailedRuns{}.key.size());

// The characters after the prefix: their alphabet and least number.
struct Shape {
  std::string_view prefix;
  size_t least;
  Alphabet alphabet = Alphabet::kAlnum;
};
constexpr std::array kShapes = {
    Shape{"sk-", 20, Alphabet::kWord},          // OpenAI, Anthropic and others
    Shape{"sk_live_", 16},                      // Stripe
    Shape{"sk_test_", 16},                      //
    Shape{"rk_live_", 16},                      //
    Shape{"rk_test_", 16},                      //
    Shape{"pk_live_", 16},                      //
    Shape{"whsec_", 24},                        //
    Shape{"ghp_", 36},                          // GitHub
    Shape{"gho_", 36},                          //
    Shape{"ghu_", 36},                          //
    Shape{"ghs_", 36},                          //
    Shape{"ghr_", 36},                          //
    Shape{"github_pat_", 22, Alphabet::kWord},  //
    Shape{"glpat-", 20, Alphabet::kWord},       // GitLab
    Shape{"glrt-", 20, Alphabet::kWord},        //
    Shape{"gldt-", 20, Alphabet::kWord},        //
    Shape{"AKIA", 16, Alphabet::kUpper},        // AWS
    Shape{"ASIA", 16, Alphabet::kUpper},        //
    Shape{"ABIA", 16, Alphabet::kUpper},        //
    Shape{"ACCA", 16, Alphabet::kUpper},        //
    Shape{"AIza", 35, Alphabet::kWord},         // Google
    Shape{"GOCSPX-", 28, Alphabet::kWord},      //
    Shape{"ya29.", 20, Alphabet::kDotted},      //
    Shape{"xoxa-", 10, Alphabet::kWord},        // Slack
    Shape{"xoxb-", 10, Alphabet::kWord},        //
    Shape{"xoxc-", 10, Alphabet::kWord},        //
    Shape{"xoxd-", 10, Alphabet::kWord},        //
    Shape{"xoxe-", 10, Alphabet::kWord},        //
    Shape{"xoxp-", 10, Alphabet::kWord},        //
    Shape{"xoxr-", 10, Alphabet::kWord},        //
    Shape{"xoxs-", 10, Alphabet::kWord},        //
    Shape{"xapp-", 10, Alphabet::kWord},        //
    Shape{"hf_", 30},                           // Hugging Face
    Shape{"npm_", 36},                          // npm
    Shape{"pypi-", 50, Alphabet::kWord},        // PyPI
    Shape{"SG.", 40, Alphabet::kDotted},        // SendGrid
    Shape{"shpat_", 32, Alphabet::kHex},        // Shopify
    Shape{"shpss_", 32, Alphabet::kHex},        //
    Shape{"shpca_", 32, Alphabet::kHex},        //
    Shape{"shppa_", 32, Alphabet::kHex},        //
    Shape{"dop_v1_", 64, Alphabet::kHex},       // DigitalOcean
    Shape{"doo_v1_", 64, Alphabet::kHex},       //
    Shape{"dapi", 32, Alphabet::kHex},          // Databricks
    Shape{"PMAK-", 59, Alphabet::kWord},        // Postman
    Shape{"NRAK-", 27, Alphabet::kUpper},       // New Relic
    Shape{"ATATT3x", 100, Alphabet::kWord},     // Atlassian
    Shape{"dckr_pat_", 27, Alphabet::kWord},    // Docker
    Shape{"figd_", 40, Alphabet::kWord},        // Figma
    Shape{"ntn_", 40},                          // Notion
    Shape{"sbp_", 40, Alphabet::kHex},          // Supabase
    Shape{"dp.pt.", 40},                        // Doppler
    Shape{"rubygems_", 48, Alphabet::kHex},     // RubyGems
    Shape{"hvs.", 24, Alphabet::kWord},         // HashiCorp Vault
    Shape{"glsa_", 32, Alphabet::kWord},        // Grafana
    Shape{"gsk_", 40},                          // Groq
    Shape{"nvapi-", 40, Alphabet::kWord},       // NVIDIA
    Shape{"xai-", 40},                          // xAI
    Shape{"pplx-", 40},                         // Perplexity
    Shape{"r8_", 36},                           // Replicate
    Shape{"lin_api_", 32},                      // Linear
    Shape{"sq0atp-", 22, Alphabet::kWord},      // Square
    Shape{"AGE-SECRET-KEY-1", 50, Alphabet::kUpper},
};

bool is_in(Alphabet alphabet, char c) {
  switch (alphabet) {
    case Alphabet::kAlnum:
      return is_alnum(c);
    case Alphabet::kUpper:
      return is_upper(c) || is_digit(c);
    case Alphabet::kHex:
      return is_hex(c);
    case Alphabet::kDotted:
      return is_alnum(c) || c == '-' || c == '_' || c == '.';
    default:
      return is_alnum(c) || c == '-' || c == '_';
  }
}

bool is_base64(char c) {
  return is_alnum(c) || c == '-' || c == '_' || c == '+' || c == '/';
}

bool is_within_word(const Text& text, size_t at) {
  const char before = text.before(at);
  return is_alnum(before) || before == '-' || before == '_' || before == '.';
}

size_t run_end(const Text& text, size_t at, Alphabet alphabet) {
  while (is_in(alphabet, text[at])) ++at;
  return at;
}

bool has_digit(const Text& text, size_t begin, size_t end) {
  const std::string_view bytes = text.from(begin, end);
  return std::any_of(bytes.begin(), bytes.end(), is_digit);
}

// Bits for each character, by the frequency of each character in it (Shannon).
double entropy(std::string_view bytes) {
  std::array<uint32_t, 256> counts{};
  for (const char c : bytes) ++counts[static_cast<uint8_t>(c)];
  double bits = 0;
  for (const uint32_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(bytes.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

// True for words, years, paths and names of code: "images/2024/photo1.jpg", "uint256_t_v12",
// "ERC20Upgradeable". In a random string the kind of character changes at about every third
// character. In names, it may change more often, but a few digits end a word.
bool consists_of_words(std::string_view value) {
  constexpr size_t kBytesAChange = 8, kBytesAChangeInNames = 4, kNameDigitsMax = 5;
  const auto kind = [&](size_t at) {
    const char c = at < value.size() ? value[at] : '.';
    return is_digit(c) ? 2 : is_upper(c) ? 1 : is_alpha(c) ? 0 : -1;
  };
  size_t changes = 0, digits = 0;
  bool is_divided = false, digits_end_words = true;
  for (size_t i = 0; i < value.size(); ++i) {
    const int now = kind(i), next = kind(i + 1);
    is_divided = is_divided || now < 0;
    const bool begins_word = now == 1 && next == 0;
    const bool is_change = now >= 0 && next >= 0 && now != next && !begins_word;
    changes += is_change ? 1 : 0;
    digits = now == 2 ? digits + 1 : 0;
    const bool goes_on = is_change && now == 2 && (next == 0 || kind(i + 2) != 0);
    if (goes_on || digits > kNameDigitsMax) digits_end_words = false;
  }
  return (is_divided && changes * kBytesAChange < value.size()) ||
         (digits_end_words && changes * kBytesAChangeInNames <= value.size());
}

size_t count_digit_groups(std::string_view value) {
  size_t groups = 0;
  bool is_in_group = false;
  for (const char c : value) {
    groups += is_digit(c) && !is_in_group ? 1 : 0;
    is_in_group = is_digit(c);
  }
  return groups;
}

constexpr size_t kKeyMin = 16;

// A value that is shorter than most keys needs digits in two places.
bool is_random(std::string_view value, size_t bytes_min) {
  constexpr size_t kBytesMax = 1024;
  constexpr double kBitsMin = 3.0;  // sixteen hexadecimal digits at random have 3.4
  const size_t groups_min = value.size() < kKeyMin ? 2 : 1;
  return value.size() >= bytes_min && value.size() <= kBytesMax &&
         count_digit_groups(value) >= groups_min &&
         std::any_of(value.begin(), value.end(), is_alpha) && entropy(value) >= kBitsMin;
}

// True for what documents write in place of a password: "password", "****", "${PASSWORD}", "$PW".
bool is_placeholder(std::string_view password) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"pass", "passwd", "password", "pw", "pwd", "secret"});
  const auto is_letter = [](char c) { return is_alnum(c) || static_cast<uint8_t>(c) >= 0x80; };
  return std::none_of(password.begin(), password.end(), is_letter) || password.front() == '$' ||
         password.find('{') != std::string_view::npos ||
         std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return same_word(password, name); });
}

// A name that a secret follows, by the last word of "DB_PASSWORD" or "clientSecret".
enum class NameKind : uint8_t { kNone, kKey, kToken, kBearer, kBasic, kSecret, kPassword, kPass };

bool has_password(NameKind kind) {
  return kind == NameKind::kSecret || kind == NameKind::kPassword || kind == NameKind::kPass;
}

bool ends_with(std::string_view word, std::string_view lower_case) {
  return word.size() >= lower_case.size() &&
         same_word(word.substr(word.size() - lower_case.size()), lower_case);
}

NameKind name_kind(const Text& text, size_t at, size_t word_end) {
  constexpr std::string_view kLastLetters = "cdenrsty";  // most words end here
  if (kLastLetters.find(lower(text[word_end - 1])) == std::string_view::npos)
    return NameKind::kNone;
  const std::string_view word = text.from(at, word_end);
  const auto ends = [&](std::string_view name) { return ends_with(word, name); };
  if (ends("password") || ends("passwd") || ends("passphrase") || ends("pwd"))
    return NameKind::kPassword;
  if (ends("secret")) return NameKind::kSecret;
  if (text[at - 1] == '_' && same_word(word, "pass")) return NameKind::kPass;
  if (ends("key")) {
    size_t end = word_end - std::string_view("key").size();
    if (text[end - 1] == '_' || text[end - 1] == '-' || text[end - 1] == ' ') --end;
    const std::string_view before = text.from(0, end);
    const bool is_secret = ends_with(before, "secret") || ends_with(before, "access");
    return is_secret ? NameKind::kPassword : NameKind::kKey;
  }
  if (ends("token")) return NameKind::kToken;
  if (same_word(word, "bearer")) return NameKind::kBearer;
  return same_word(word, "basic") ? NameKind::kBasic : NameKind::kNone;
}

// Where the value of a name begins.
struct Value {
  size_t begin;
  bool is_assigned;  // false: only spaces and quotes stand between the name and the value
};

// The value after a name: behind "=", ":", " is ", or the end of a tag, with spaces, quotes and
// Markdown's asterisks around them.
std::optional<Value> value_after(const Text& text, size_t at, size_t word_end) {
  constexpr std::string_view kIs = " is ";
  constexpr std::string_view kSkipped = "=: \t\"'`\\>*";
  constexpr size_t kGapMax = 40;  // columns
  // Accepts "<api_key>...", but not the "<key>" of a property list.
  const bool is_list_key = text[at - 1] == '<' && same_word(text.from(at, word_end), "key");
  const bool has_is = text.bytes().substr(word_end).starts_with(kIs);
  Value out{word_end + (has_is ? kIs.size() : 0),
            has_is || (text[word_end] == '>' && !is_list_key)};
  for (const size_t end = out.begin + kGapMax; out.begin < end; ++out.begin) {
    const char c = text[out.begin];
    if (kSkipped.find(c) == std::string_view::npos) break;
    out.is_assigned = out.is_assigned || c == '=' || c == ':';
  }
  if (out.begin == word_end) return std::nullopt;
  return out;
}

// A random value of at least `bytes_min` bytes.
Found key_at(const Text& text, size_t begin, size_t bytes_min, bool may_be_words) {
  size_t end = begin;
  while (is_base64(text[end]) || text[end] == '.' || text[end] == '~') ++end;
  while (end > begin && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  if (text[end] == '(' || !is_random(text.from(begin, end), bytes_min)) return std::nullopt;
  if (!may_be_words && consists_of_words(text.from(begin, end))) return std::nullopt;
  while (text[end] == '=') ++end;
  return Match{kApiKey, begin, end, kInContext};
}

// True for "your_password" and "string", which stand for a secret.
bool names_a_secret(std::string_view value) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"pass", "secret", "string", "undefined"});
  const std::string lower_case = ascii::lower_case(value);
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return lower_case.find(name) != std::string::npos;
  });
}

// True at the "&" of a form: "&name=".
bool begins_field(const Text& text, size_t at) {
  if (text[at] != '&') return false;
  size_t end = at + 1;
  while (is_alnum(text[end]) || text[end] == '_' || text[end] == '-') ++end;
  return end > at + 1 && text[end] == '=';
}

// The end of the value that begins at `begin`: at the closing quote, or before a space or a sign
// that separates values.
size_t value_end(const Text& text, size_t begin, bool is_quoted) {
  constexpr size_t kBytesMax = 128;
  constexpr std::string_view kEnds = "\"'`<>\\", kSeparators = ",;)]}|", kFullStops = ".:!?*";
  const auto is_in = [](std::string_view signs, char c) { return signs.find(c) != signs.npos; };
  size_t end = begin;
  while (static_cast<uint8_t>(text[end]) > ' ' && end - begin <= kBytesMax &&
         !is_in(kEnds, text[end]) &&
         (is_quoted || (!is_in(kSeparators, text[end]) && !begins_field(text, end))))
    ++end;
  if (end - begin > kBytesMax) return begin;
  while (!is_quoted && end > begin && is_in(kFullStops, text[end - 1])) --end;
  return end;
}

// True for a word with a number, such as "hunter2", but not for a type with its size, such as
// "int64". People choose such passwords, although they look like a name.
bool is_word_with_number(std::string_view value) {
  constexpr uint32_t kSizeMin = 8;
  size_t word_end = 1;
  while (word_end < value.size() && is_alpha(value[word_end]) && !is_upper(value[word_end]))
    ++word_end;
  const Text text(value);
  const size_t end = text.digits_end(word_end);
  if (end != value.size() || end == word_end || names_a_secret(value)) return false;
  const uint32_t number = text.number(word_end, end);
  return number < kSizeMin || !std::has_single_bit(number);
}

// A password may be short, so it must be neither a word nor code. It has a digit among its letters,
// or only digits. Letters alone count in an assignment of a shell: DB_PASSWORD="swordfish".
Found password_at(const Text& text, size_t begin, NameKind kind, bool is_shell) {
  constexpr size_t kBytesMin = 5, kDigitsMin = 8;
  constexpr std::string_view kQuotes = "\"'`", kCode = "([.:", kSigns = "!@#$";
  const bool is_quoted = kQuotes.find(text[begin - 1]) != std::string_view::npos;
  const size_t end = value_end(text, begin, is_quoted);
  if (end < begin + kBytesMin || !is_alnum(text[begin])) return std::nullopt;
  if (text[begin - 1] == '\\') return std::nullopt;  // an escape: "password:\\nhunter2"
  if (is_quoted && text[end] != text[begin - 1] && text[end] != '\\') return std::nullopt;
  const std::string_view value = text.from(begin, end);
  const Found found = Match{kApiKey, begin, end, kInContext};
  if (is_placeholder(value)) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), is_digit)) {
    const bool is_count = kind == NameKind::kPass || (!is_quoted && value.size() < kDigitsMin);
    return is_count ? std::nullopt : found;
  }
  if (!has_digit(text, begin, end))
    return is_shell && is_quoted && !names_a_secret(value) ? found : std::nullopt;
  if (!is_quoted && value.find_first_of(kCode) != std::string_view::npos) return std::nullopt;
  const bool is_name = value.find_first_of(kSigns) == std::string_view::npos &&
                       consists_of_words(value) && !is_word_with_number(value);
  return is_name ? std::nullopt : found;
}

// The credentials of HTTP: a name and a password with a colon between them, in base64.
Found basic_at(const Text& text, size_t begin) {
  size_t end = begin;
  while (is_base64(text[end])) ++end;
  while (text[end] == '=') ++end;
  const auto bytes = base64::decode(text.from(begin, end));
  const auto is_control = [](char c) { return static_cast<uint8_t>(c) < ' '; };
  if (!bytes || bytes->find(':', 1) == std::string::npos || !utf8::is_valid(*bytes) ||
      std::any_of(bytes->begin(), bytes->end(), is_control))
    return std::nullopt;
  return Match{kApiKey, begin, end, kInContext};
}

}  // namespace

Found find_key(const Text& text, size_t at, FailedRuns& failed_runs) {
  if (is_within_word(text, at)) return std::nullopt;
  for (const Shape& shape : kShapes) {
    if (text[at] != shape.prefix[0] || !text.bytes().substr(at).starts_with(shape.prefix)) continue;
    const size_t begin = at + shape.prefix.size();
    size_t& failed_end = failed_runs.key[static_cast<size_t>(shape.alphabet)];
    if (begin < failed_end) continue;
    size_t end = run_end(text, begin, shape.alphabet);
    if (!has_digit(text, begin, end)) {
      failed_end = end;
      continue;
    }
    while (text[end - 1] == '-' || text[end - 1] == '.') --end;
    if (end < begin + shape.least || is_alnum(text[end])) continue;
    if (shape.alphabet == Alphabet::kUpper && shape.least == 16 && end != begin + 16) continue;
    return Match{kApiKey, at, end, kChecked};
  }
  return std::nullopt;
}

// Finds a JWT: three parts, of which the first is an object in base64 ("eyJ" is `{"`), or five if
// it is encrypted.
Found find_jwt(const Text& text, size_t at, FailedRuns& failed_runs) {
  constexpr size_t kPartMin = 8;
  if (is_within_word(text, at) || !text.bytes().substr(at).starts_with("eyJ")) return std::nullopt;
  if (at < failed_runs.jwt) return std::nullopt;
  const size_t first_end = run_end(text, at, Alphabet::kWord);
  if (first_end - at < kPartMin) return std::nullopt;
  size_t end = first_end;
  size_t parts = 1;
  bool fits = true;
  while (parts < 5 && text[end] == '.') {
    const size_t next = run_end(text, end + 1, Alphabet::kWord);
    if (next == end + 1 && parts < 2) break;
    fits = fits && (parts >= 2 || next - end > kPartMin);
    end = next;
    ++parts;
  }
  if (!fits || parts < 3) {
    failed_runs.jwt = first_end;
    return std::nullopt;
  }
  if (text[end - 1] == '.' && parts != 3) --end;
  return Match{kJwt, at, end, kChecked};
}

// Finds the password in `password: ...` and `client_secret = "..."`.
Found find_named_password(const Text& text, size_t at, size_t word_end) {
  const NameKind kind = name_kind(text, at, word_end);
  if (!has_password(kind)) return std::nullopt;
  const std::optional<Value> value = value_after(text, at, word_end);
  if (!value || !value->is_assigned) return std::nullopt;
  const std::string_view word = text.from(at, word_end);
  const bool is_shell = text[word_end] == '=' && std::all_of(word.begin(), word.end(), is_upper);
  return password_at(text, value->begin, kind, is_shell);
}

// Finds the key in `api_key = "..."`, `token: ...` and `Authorization: Bearer ...`.
Found find_named_key(const Text& text, size_t at, size_t word_end, FailedRuns& failed_runs) {
  constexpr size_t kTokenMin = 12, kUnassignedMin = 32;
  const NameKind kind = name_kind(text, at, word_end);
  if (kind == NameKind::kNone) return std::nullopt;
  const std::optional<Value> value = value_after(text, at, word_end);
  if (!value) return std::nullopt;
  const size_t begin = value->begin;
  if (kind == NameKind::kBasic) return basic_at(text, begin);
  if (!value->is_assigned && kind != NameKind::kBearer)
    return has_password(kind) ? key_at(text, begin, kUnassignedMin, false) : std::nullopt;
  if (const Found jwt = find_jwt(text, begin, failed_runs)) return jwt;
  const bool may_be_words = kind == NameKind::kBearer || kind == NameKind::kSecret;
  const bool is_token = kind == NameKind::kToken || kind == NameKind::kBearer;
  return key_at(text, begin, is_token ? kTokenMin : kKeyMin, may_be_words);
}

// True for "3000,ada", in which a port and something else stand before the '@' of a mailbox.
bool begins_with_port(std::string_view password) {
  constexpr size_t kPortDigitsMax = 5;
  const size_t digits = std::min(password.find_first_not_of("0123456789"), password.size());
  return digits > 0 && digits <= kPortDigitsMax && digits < password.size() &&
         !is_alnum(password[digits]);
}

Found find_url_password(const Text& text, size_t at) {
  constexpr size_t kBytesMax = 253;
  constexpr std::string_view kScheme = "://";
  constexpr std::string_view kEnds = "/?#<>\"'`\\";
  while (is_alnum(text[at])) ++at;
  if (!text.bytes().substr(std::min(at, text.size())).starts_with(kScheme)) return std::nullopt;
  at += kScheme.size();
  size_t colon = 0, at_sign = 0;  // the first colon and the last '@'
  for (const size_t end = at + kBytesMax; at < end; ++at) {
    const char c = text[at];
    if (static_cast<uint8_t>(c) <= ' ' || kEnds.find(c) != std::string_view::npos) break;
    if (c == ':' && colon == 0) colon = at;
    if (c == '@') at_sign = at;
  }
  if (colon == 0 || at_sign < colon) return std::nullopt;
  const std::string_view password = text.from(colon + 1, at_sign);
  if (is_placeholder(password) || begins_with_port(password)) return std::nullopt;
  return Match{kApiKey, colon + 1, at_sign, kInContext};
}

Found find_private_key(const Text& text, size_t at, size_t& next_end) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
  constexpr size_t kTitleMax = 40, kBlockMax = size_t{1} << 15;
  if (!text.bytes().substr(at).starts_with(kBegin)) return std::nullopt;
  size_t title = at + kBegin.size();
  const size_t title_begin = title;
  while ((is_upper(text[title]) || text[title] == ' ') && title - title_begin < kTitleMax) ++title;
  const std::string_view name = text.from(title_begin, title);
  if (name.find("PRIVATE KEY") == std::string_view::npos || text[title] != '-') return std::nullopt;
  if (next_end < title) next_end = text.bytes().find(kEnd, title);
  size_t end = title;
  if (next_end != std::string_view::npos && next_end - at <= kBlockMax) {
    end = next_end + kEnd.size();
    while (is_upper(text[end]) || text[end] == ' ') ++end;
    while (text[end] == '-') ++end;
    return Match{kPrivateKey, at, end, kChecked};
  }
  // The block is cut short: take the part that is there.
  while (is_base64(text[end]) || is_space(text[end]) || text[end] == '=' || text[end] == '\\')
    ++end;
  while (is_space(text[end - 1])) --end;
  return Match{kPrivateKey, at, end, kInContext};
}

}  // namespace signalbox::pii
