// Finds addresses of machines and mailboxes: IPv4 and IPv6 (RFC 4291), e-mail (the part of RFC 5321
// in common use), URLs, and bare domain names with an unambiguous last label.

#include <algorithm>
#include <string>

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

constexpr size_t kLocalBytesMax = 64;
constexpr size_t kHostBytesMax = 253;
constexpr size_t kContextBytes = 24;

// Last labels that rarely mean anything else in running text or code.
constexpr auto kTopLevel = std::to_array<std::string_view>(
    {"ae",  "agency", "ai",     "app",  "ar",      "arpa", "at",     "au",   "be",     "bg",
     "biz", "blog",   "br",     "ca",   "ch",      "cl",   "cloud",  "club", "cn",     "co",
     "com", "cy",     "cz",     "de",   "dev",     "dk",   "edu",    "ee",   "es",     "eu",
     "fi",  "fr",     "gov",    "gr",   "hk",      "hr",   "hu",     "ie",   "il",     "info",
     "int", "io",     "ir",     "jobs", "jp",      "ke",   "kr",     "lt",   "lu",     "lv",
     "mil", "mobi",   "museum", "mx",   "net",     "ng",   "nl",     "nz",   "online", "org",
     "pe",  "ph",     "pt",     "ro",   "ru",      "se",   "sg",     "shop", "si",     "site",
     "sk",  "store",  "tech",   "th",   "tn",      "tr",   "travel", "tv",   "tw",     "ua",
     "uk",  "us",     "uy",     "vn",   "website", "xyz",  "za"});
static_assert(std::is_sorted(kTopLevel.begin(), kTopLevel.end()));

// Other labels of two letters are also words or file extensions. They count only if a word nearby
// names a site, or after "www" or a scheme.
bool is_doubtful_top_level(std::string_view label) {
  return label.size() == 2;
}

// Products that look like sites, and names in code that are followed by members.
constexpr auto kNoHosts = std::to_array<std::string_view>(
    {"ado.net", "asp.net", "com", "io", "java", "javax", "ml.net", "net", "node", "org", "self",
     "system", "this", "vb.net", "window"});

std::string_view last_label(std::string_view host) {
  return host.substr(host.rfind('.') + 1);
}

// Extensions of files and of systemd units: "logo@2x.png", "getty@tty1.service".
constexpr auto kFileExtensions =
    std::to_array<std::string_view>({"avif", "gif", "jpeg", "jpg", "mount", "png", "scope",
                                     "service", "slice", "socket", "svg", "tgz", "timer", "webp"});

// True for code that resembles a mailbox: a call such as "A@B.transpose()", or Kotlin's
// "this@Outer.name".
bool is_code_not_mailbox(std::string_view local, std::string_view top, char next) {
  const bool is_called =
      next == '(' && !std::binary_search(kTopLevel.begin(), kTopLevel.end(), top);
  return is_called || local == "this" || local == "super" ||
         std::binary_search(kFileExtensions.begin(), kFileExtensions.end(), top);
}

// True for names such as "me.At once", "navigator.onLine", "Dapper.NET". Domain names have capitals
// either everywhere or only at the start; "Example.Com" is the exception.
bool has_code_casing(std::string_view name) {
  const std::string_view top = last_label(name);
  if (top == "Com" || top == "Org" || std::none_of(top.begin(), top.end(), is_upper)) return false;
  return std::any_of(name.begin(), name.end(), [](char c) { return is_alpha(c) && !is_upper(c); });
}

bool is_top_level_shape(std::string_view label) {
  constexpr size_t kLongest = 24;
  if (label.starts_with("xn--")) return label.size() <= 63;
  return label.size() >= 2 && label.size() <= kLongest &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return is_alpha(c) || static_cast<uint8_t>(c) >= 0x80; });
}

struct Host {
  size_t end = 0;
  size_t labels = 0;
};

// Reads labels of letters, digits and inner dashes, separated by dots. A dot at the end belongs to
// the sentence.
Host host_at(const Text& text, size_t at) {
  Host out{at, 0};
  const size_t bound = at + kHostBytesMax;
  while (at < bound) {
    const size_t begin = at;
    for (;;) {
      const size_t letter = text.letter_bytes(at);
      if (letter == 0 && !is_digit(text[at]) && text[at] != '-' && text[at] != '_') break;
      at += std::max<size_t>(letter, 1);
      if (at >= bound) return {begin, 0};
    }
    if (at == begin || text[begin] == '-') break;
    while (at > begin && (text[at - 1] == '-' || text[at - 1] == '_')) --at;
    if (at == begin) break;
    out.end = at;
    ++out.labels;
    if (text[at] != '.') break;
    ++at;
  }
  return out;
}

// The end of a URL without the punctuation of the sentence around it. A URL after a comma is taken
// for a cell of a row, so the next comma ends it.
size_t url_end(const Text& text, size_t begin, size_t at) {
  const bool cell = text.before(begin) == ',';
  constexpr std::string_view kNever = " \t\r\n<>\"`{}|\\^";
  size_t open = 0, closed = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool control = static_cast<uint8_t>(c) < 0x20 || c == 0x7F;
    if (control || kNever.find(c) != std::string_view::npos || (cell && c == ',')) break;
    const bool foreign = static_cast<uint8_t>(c) >= 0x80;
    if (foreign && text.letter_bytes(at) == 0) break;
    open += c == '(' ? 1 : 0;
    closed += c == ')' ? 1 : 0;
    at += foreign ? 2 : 1;
  }
  for (;; --at) {
    const char last = text[at - 1];
    if (last == ')' && closed > open) {
      --closed;
    } else if (std::string_view(".,;:!?'*_]").find(last) == std::string_view::npos) {
      return at;
    }
  }
}

bool is_number(const Text& text, size_t begin, size_t end) {
  return end - begin <= 3 && text.number(begin, end) <= 255 &&
         (end - begin == 1 || text[begin] != '0');
}

// The hexadecimal groups of an IPv6 address as written in the text.
struct HexGroups {
  size_t end = 0;
  size_t count = 0;
  size_t shortest = 4, longest = 0;
  bool has_gap = false;  // "::"
  bool has_digit = false;
  bool is_valid = false;
};

size_t ipv4_end(const Text& text, size_t at) {
  for (size_t part = 0; part < 4; ++part) {
    const size_t end = text.digits_end(at);
    if (end == at || !is_number(text, at, end)) return 0;
    if (part == 3) return end;
    if (text[end] != '.') return 0;
    at = end + 1;
  }
  return 0;
}

HexGroups hex_groups_at(const Text& text, size_t at) {
  HexGroups out;
  out.end = at;
  while (out.count <= 8) {
    if (text[at] == ':' && text[at + 1] == ':') {
      if (out.has_gap) return out;
      out.has_gap = true;
      at += 2;
      out.end = at;
      if (text[at] == ':') return out;
    } else if (out.count > 0) {
      if (text[at] != ':' || !is_hex(text[at + 1])) break;
      ++at;
    }
    size_t end = at;
    while (is_hex(text[end]) && end - at < 5) {
      out.has_digit = out.has_digit || is_digit(text[end]);
      ++end;
    }
    if (end == at) break;
    if (end - at == 5) return out;
    if (const size_t tail = text[end] == '.' ? ipv4_end(text, at) : 0; tail != 0) {
      out.count += 2;
      out.end = tail;
      break;
    }
    out.shortest = std::min(out.shortest, end - at);
    out.longest = std::max(out.longest, end - at);
    ++out.count;
    out.end = at = end;
  }
  out.is_valid = out.has_gap ? out.count >= 1 && out.count <= 7 : out.count == 8;
  return out;
}

// True if an IPv4 address ends at `end`, so that the next one ends a range.
bool follows_ipv4(const Text& text, size_t end) {
  constexpr size_t kIpv4Max = 15;
  size_t begin = end;
  while (begin > 0 && end - begin < kIpv4Max &&
         (is_digit(text[begin - 1]) || text[begin - 1] == '.'))
    --begin;
  return ipv4_end(text, begin) == end;
}

bool is_local(char c) {
  return is_alnum(c) ||
         (c != '\0' && std::string_view("._%+-'&=~!#$*/?^`{|}").find(c) != std::string_view::npos);
}

// The beginning of the characters that could be a local part, at most one byte more than a local
// part may have.
size_t local_run_begin(const Text& text, size_t at_sign) {
  size_t begin = at_sign;
  while (at_sign - begin <= kLocalBytesMax && begin > 0) {
    if (is_local(text[begin - 1])) {
      --begin;
    } else if (begin >= 2 && static_cast<uint8_t>(text[begin - 1]) >= 0x80 &&
               text.letter_bytes(begin - 2) == 2) {
      begin -= 2;
    } else {
      break;
    }
  }
  return begin;
}

// Skips what a sentence, a query, JSON or Markdown may put before an address. "o'brien" is one word
// unless the address ends in a quote too.
size_t local_begin(const Text& text, size_t begin, size_t at_sign, bool is_quoted) {
  const size_t escape = begin > 0 ? text.escape_end(begin - 1) : 0;
  begin = std::min(std::max(begin, escape), at_sign);
  for (size_t i = begin; i < at_sign; ++i) {
    const size_t end = text.escape_end(i);
    if (end != 0 && end <= at_sign && text.from(i, end) != "%2B") begin = end;  // "+"
    const bool is_apostrophe = text[i] == '\'' && i > begin && !is_quoted &&
                               is_alpha(text[i - 1]) && is_alpha(text[i + 1]);
    if (!is_apostrophe &&
        std::string_view("=/?#&'`{|}*!$^~").find(text[i]) != std::string_view::npos)
      begin = i + 1;
  }
  while (begin < at_sign && (text[begin] == '.' || text[begin] == '-' || text[begin] == '%'))
    ++begin;
  return begin;
}

// The end of ".", " dot ", "(dot)" or "[.]" between two labels; `at` if there is none.
size_t spoken_dot_end(const Text& text, size_t at) {
  size_t end = at;
  while (text[end] == ' ') ++end;
  const bool is_open = text[end] == '(' || text[end] == '[' || text[end] == '{';
  if (is_open) ++end;
  const bool is_word =
      same_word(text.from(std::min(end, text.size()), std::min(end + 3, text.size())), "dot");
  if (!is_word && text[end] != '.') return at;
  end += is_word ? 3 : 1;
  if (is_open) return text[end] == ')' || text[end] == ']' || text[end] == '}' ? end + 1 : at;
  if (!is_word) return end == at + 1 && is_alnum(text[end]) ? end : at;
  return text[end] == ' ' && text[at] == ' ' ? end : at;
}

constexpr size_t kSpokenLabelsMax = 6;

}  // namespace

Found find_ipv4(const Text& text, size_t at, const Cues& cues) {
  const char before = text.before(at);
  if (is_alnum(before) || before == '.' || before == '_') return std::nullopt;
  if (before == '-' && is_digit(text[at - 2]) && !follows_ipv4(text, at - 1)) return std::nullopt;
  const size_t end = ipv4_end(text, at);
  if (end == 0 || is_alnum(text[end]) || text.after(end) == '_') return std::nullopt;
  const bool is_range = text[end] == '-' && ipv4_end(text, end + 1) != 0;
  if ((text[end] == '.' || text[end] == '-') && is_alnum(text[end + 1]) && !is_range)
    return std::nullopt;
  const bool has_port = text[end] == ':' && is_digit(text[end + 1]);
  // "Chrome/120.0.0.0", but "db/10.0.0.5:5432"
  const bool is_product = before == '/' && is_alpha(text[at - 2]) && !has_port;
  const bool is_host = cues.near(Cue::kHost, at, kContextBytes);
  if (!is_host && (is_product || cues.near(Cue::kVersion, at, 12))) return std::nullopt;
  return Match{kIp, at, end, kChecked};
}

Found find_ipv6(const Text& text, size_t at, const Cues& cues) {
  const char before = text.before(at);
  if (is_alnum(before) || before == '_' || before == '.') return std::nullopt;
  // "IPv6:2001:db8::1", "addr:fe80::1", but "x:1000:1000::/home"
  if (before == ':' && !cues.near(Cue::kHost, at, sizeof("6:") - 1)) return std::nullopt;
  const HexGroups groups = hex_groups_at(text, at);
  if (!groups.is_valid) return std::nullopt;
  const char next = text.after(groups.end);
  if (is_alnum(next) || next == '_' || (next == ':' && text[groups.end + 1] == ':'))
    return std::nullopt;
  if (next == ':' && is_hex(text[groups.end + 1])) return std::nullopt;
  // Eight pairs are a hardware address; "abc::def" is a name in C++, "[::2]" a slice in Python.
  if (groups.count == 8 && groups.shortest == 2 && groups.longest == 2) return std::nullopt;
  const bool is_weak =
      groups.count < 2 || !groups.has_digit || (groups.count < 3 && groups.longest < 2);
  const bool bracketed = before == '[' && next == ']' && text[groups.end + 1] == ':';
  if (is_weak && !bracketed && !cues.near(Cue::kHost, at, kContextBytes)) return std::nullopt;
  return Match{kIp, at, groups.end, kChecked};
}

Found find_email(const Text& text, size_t at_sign, size_t host_begin) {
  const Host host = host_at(text, host_begin);
  if (host.labels < 2 || text[host.end] == '@') return std::nullopt;
  const std::string_view top = last_label(text.from(host_begin, host.end));
  if (!is_top_level_shape(top)) return std::nullopt;
  const bool is_quoted = text[host.end] == '\'';
  size_t begin = local_begin(text, local_run_begin(text, at_sign), at_sign, is_quoted);
  if (begin == at_sign || text[at_sign - 1] == '.' || at_sign - begin > kLocalBytesMax)
    return std::nullopt;
  if (is_code_not_mailbox(text.from(begin, at_sign), top, text[host.end])) return std::nullopt;
  for (size_t mark = host.end; text[mark] == '_' && text[begin] == '_' && begin + 1 < at_sign;
       ++mark)
    ++begin;
  return Match{kEmail, begin, host.end, kChecked};
}

Found find_spoken_email(const Text& text, size_t at, size_t word_end) {
  const char open = text.before(at), close = text[word_end];
  const bool is_bracketed = (open == '(' && close == ')') || (open == '[' && close == ']') ||
                            (open == '{' && close == '}');
  size_t begin = is_bracketed ? at - 1 : at, end = is_bracketed ? word_end + 1 : word_end;
  if (!is_bracketed && (open != ' ' || close != ' ')) return std::nullopt;
  if (begin > 0 && text[begin - 1] == ' ') --begin;
  const size_t local_end = begin;
  begin = local_run_begin(text, local_end);
  if (begin == local_end || local_end - begin > kLocalBytesMax || !is_alnum(text[local_end - 1]))
    return std::nullopt;
  size_t labels = 0, dots = 0, host_end = 0;
  std::string top;
  while (labels < kSpokenLabelsMax) {
    while (text[end] == ' ') ++end;
    const size_t label = end;
    while (is_alnum(text[end]) || text[end] == '-') ++end;
    if (end == label) break;
    top = ascii::lower_case(text.from(label, end));
    host_end = end;
    ++labels;
    const size_t dot = spoken_dot_end(text, end);
    if (dot == end) break;
    dots += text[end] != '.' ? 1 : 0;
    end = dot;
  }
  const bool is_known = std::binary_search(kTopLevel.begin(), kTopLevel.end(), top);
  if (labels < 2 || !is_known || (!is_bracketed && dots == 0)) return std::nullopt;
  return Match{kEmail, begin, host_end, kInContext};
}

Found find_url(const Text& text, size_t at, size_t word_end) {
  const char before = text.before(at);
  if (is_alnum(before) || before == '.' || before == '-' || before == '+' || before == '@')
    return std::nullopt;
  const bool is_www = text[word_end] == '.' && same_word(text.from(at, word_end), "www");
  size_t host_begin = at;
  if (!is_www) {
    if (text[word_end] != ':' || text[word_end + 1] != '/' || text[word_end + 2] != '/')
      return std::nullopt;
    host_begin = word_end + 3;
  }
  size_t authority = host_begin;
  Host host = host_at(text, host_begin);
  // Skips a user name before the host: "https://name:word@host".
  for (size_t i = 0; i < kHostBytesMax && (is_local(text[authority]) || text[authority] == ':');
       ++i) {
    if (text[authority] == '/' || text[authority] == '?' || text[authority] == '#') break;
    ++authority;
  }
  if (text[authority] == '@') host = host_at(text, authority + 1), host_begin = authority + 1;
  if (host.labels < (is_www ? 3 : 2)) return std::nullopt;
  if (!is_top_level_shape(last_label(text.from(host_begin, host.end)))) return std::nullopt;
  return Match{kDomain, at, std::max(host.end, url_end(text, at, host.end)), kChecked};
}

Found find_domain(const Text& text, size_t at, const Cues& cues) {
  const char before = text[at - 1];
  if (before == '.' || before == '-' || before == '_' || before == '@' || before == '/' ||
      before == '\\' || before == '$')
    return std::nullopt;
  const Host host = host_at(text, at);
  if (host.labels < 2) return std::nullopt;
  const char next = text[host.end];
  if (next == '@' || next == '(' || next == '[' || next == '_' || next == '=') return std::nullopt;
  std::string name(text.from(at, host.end));
  if (has_code_casing(name)) return std::nullopt;
  std::transform(name.begin(), name.end(), name.begin(), lower);
  const std::string_view top = last_label(name);
  const std::string_view first = std::string_view(name).substr(0, name.find('.'));
  const auto is_excluded = [&](std::string_view each) { return each == name || each == first; };
  if (std::any_of(kNoHosts.begin(), kNoHosts.end(), is_excluded)) return std::nullopt;
  const bool is_known = std::binary_search(kTopLevel.begin(), kTopLevel.end(), top);
  if (!is_known && !(is_doubtful_top_level(top) && is_top_level_shape(top) &&
                     cues.near(Cue::kSite, at, kContextBytes)))
    return std::nullopt;
  if (first.size() < 2 && top != "com" && top != "org" && top != "net" && top != "co")
    return std::nullopt;
  const bool has_path = next == '/' || (next == ':' && is_digit(text[host.end + 1]));
  return Match{kDomain, at, has_path ? url_end(text, at, host.end) : host.end, kChecked};
}

UrlParts url_parts(const Text& text, size_t begin, size_t end) {
  constexpr std::string_view kScheme = "://";
  const std::string_view bytes = text.bytes().substr(0, end);
  size_t host = begin;
  while (is_alnum(text[host])) ++host;
  host = bytes.substr(host).starts_with(kScheme) ? host + kScheme.size() : begin;
  const size_t tail = std::min(bytes.find_first_of("/?#", host), end);
  const size_t user = text.from(host, tail).rfind('@');
  const bool has_user = user != std::string_view::npos;
  return {has_user ? std::pair(host, host + user) : std::pair<size_t, size_t>(), {tail, end}};
}

}  // namespace signalbox::pii
