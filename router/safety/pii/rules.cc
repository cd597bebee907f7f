// One pass over the text. At the beginning of a word, a number or a sign it tries the scanners that
// can match there, the strictest first. The first match wins, and the pass continues after it. An
// e-mail address is found at its '@' and replaces findings in its local part. Other data inside a
// password takes the place of the password. A second pass searches the parts of a URL.

#include "router/safety/pii/rules.h"

#include <algorithm>

#include "router/safety/pii/merge.h"
#include "router/safety/pii/plain.h"
#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

constexpr auto kTypes =
    std::to_array<std::string_view>({kApiKey, kCreditCard, kDate, kDomain, kEmail, kIban, kIp, kJwt,
                                     kPhone, kPrivateKey, kLicense, kSsn, kZip});

// Types that the rules recognise by context only, without a check digit or a fixed form.
constexpr auto kUnchecked = std::to_array<std::string_view>({kDate, kPhone, kLicense, kZip});

// The only types that are searched for inside a URL: dates and other numbers there are names of
// pages.
constexpr auto kTypesInUrls =
    std::to_array<std::string_view>({kApiKey, kCreditCard, kEmail, kIban, kJwt, kSsn});

class Pass {
 public:
  explicit Pass(std::string_view text) : text_(text) {}

  std::vector<PiiEntity> run() {
    scan(0);
    return std::move(found_);
  }

 private:
  void scan(size_t at) {
    while (at < text_.size()) {
      at = step(at);
      if (password_ && at >= password_->end) take_password();
    }
  }

  void take_password() {
    const bool is_known = !found_.empty() && found_.back().end > password_->begin;
    if (!is_known) take(*password_);
    password_.reset();
  }

  /// Tries the scanners at a place and returns where the pass continues.
  size_t step(size_t at) {
    const char c = text_[at];
    if (pii::is_digit(c)) return at_number(at);
    if (pii::is_alpha(c)) return at_word(at);
    if (const size_t end = text_.escape_end(at); end != 0) return at_escape(at, end);
    Found found;
    if (c == '@' && !follows_key(at)) found = pii::find_email(text_, at, at + 1);
    if (c == '&') found = email_at_entity(at);
    if (c == '+' || c == '(') found = pii::find_phone(text_, at, cues_);
    if (c == ':' && text_[at + 1] == ':') found = find_ipv6(text_, at, cues_);
    if (c == '-' && text_[at + 1] == '-') found = pii::find_private_key(text_, at, block_end_);
    return found ? take(*found) : at + 1;
  }

  // An escaped '@', as in "ada%40example.org". The letters and digits of an escape are not part of
  // a word or a number.
  size_t at_escape(size_t at, size_t end) {
    const std::string_view escape = text_.from(at, end);
    if (escape != "%40" && escape != "\\u0040") return end;
    const Found found = pii::find_email(text_, at, end);
    return found ? take(*found) : end;
  }

  // An '@' as an entity of HTML, as in "ada&#64;example.org".
  Found email_at_entity(size_t at) const {
    constexpr auto kEntities = std::to_array<std::string_view>({"&#64;", "&#x40;", "&commat;"});
    for (const std::string_view each : kEntities) {
      if (same_word(text_.from(at, std::min(at + each.size(), text_.size())), each))
        return pii::find_email(text_, at, at + each.size());
    }
    return std::nullopt;
  }

  // True after a key, such as the password of a URL, which its '@' would make a mailbox.
  bool follows_key(size_t at) const {
    return !found_.empty() && found_.back().end == at && found_.back().type == kApiKey;
  }

  size_t at_number(size_t at) {
    const size_t end = text_.digits_end(at);
    if (!pii::is_alnum(text_.before(at))) {
      if (const Found found = number_at(at, end)) return take_or_split(*found);
    }
    return end;
  }

  // The character after the first digits already rules out some scanners.
  Found number_at(size_t at, size_t end) const {
    const char next = text_[end];
    if (Found found = pii::find_card(text_, at, end, cues_)) return found;
    if (Found found = pii::find_license(text_, at, cues_)) return found;
    if (Found found = pii::find_ssn(text_, at, end, cues_)) return found;
    if (next == '.') {
      if (Found found = find_ipv4(text_, at, cues_)) return found;
    }
    if (next == ':' || pii::is_hex(next)) {
      if (Found found = find_ipv6(text_, at, cues_)) return found;
    }
    if (end - at <= 4) {
      if (Found found = pii::find_date(text_, at, cues_)) return found;
    }
    if (Found found = pii::find_zip(text_, at, cues_)) return found;
    if (Found found = pii::find_phone(text_, at, cues_)) return found;
    return is_joined(next) && !in_url_ ? find_domain(text_, at, cues_) : std::nullopt;
  }

  size_t at_word(size_t at) {
    size_t end = at;
    while (pii::is_alpha(text_[end])) ++end;
    cues_.see(text_, at, end);
    cues_.see_parts(text_, at, end);
    if (same_word(text_.from(at, end), "at")) {
      if (const Found found = find_spoken_email(text_, at, end)) return take(*found);
    }
    // The name of a key may be the end of a longer name: "my2ndtoken".
    if (!password_) password_ = pii::find_named_password(text_, at, end);
    if (password_ && password_->begin >= end) return password_->begin;
    if (const Found found = pii::find_named_key(text_, at, end, failed_runs_)) return take(*found);
    if (!pii::is_alnum(text_.before(at))) {
      if (const Found found = word_at(at, end)) return take_or_split(*found);
    }
    return end;
  }

  static bool is_joined(char next) {
    return pii::is_alnum(next) || next == '.' || next == '-' || next == '_' || next == ':' ||
           static_cast<uint8_t>(next) >= 0x80;
  }

  // Most words are followed by a space and cannot match most scanners.
  Found word_at(size_t at, size_t end) {
    if (Found found = pii::find_date_by_month(text_, at, end, cues_)) return found;
    if (end - at == 2) {
      if (Found found = pii::find_iban(text_, at)) return found;
    }
    if (!is_joined(text_[end])) return std::nullopt;
    if (Found found = in_url_ ? std::nullopt : find_url(text_, at, end)) return found;
    // The host of a URL above has a dot; this one may have none: "redis://:word@cache:6379".
    if (const Found password = find_url_password(text_, at)) {
      for (PiiEntity& held : find_in_url(at, password->begin)) found_.push_back(std::move(held));
      return password;
    }
    if (Found found = pii::find_jwt(text_, at, failed_runs_)) return found;
    if (Found found = pii::find_key(text_, at, failed_runs_)) return found;
    if (Found found = find_ipv6(text_, at, cues_)) return found;
    if (Found found = pii::find_license(text_, at, cues_)) return found;
    if (Found found = pii::find_zip(text_, at, cues_)) return found;
    return in_url_ ? std::nullopt : find_domain(text_, at, cues_);
  }

  size_t take_or_split(const Match& match) {
    return match.type == kDomain ? take_url(match) : take(match);
  }

  // A URL is one finding, except for the accounts, mailboxes and secrets inside it.
  size_t take_url(const Match& url) {
    const UrlParts parts = pii::url_parts(text_, url.begin, url.end);
    std::vector<PiiEntity> all = find_in_url(parts.user.first, parts.user.second);
    const Found password = find_url_password(text_, url.begin);
    if (password && password->end <= parts.user.second) {
      std::erase_if(all, [&](const PiiEntity& each) { return each.end > password->begin; });
      all.push_back(entity(*password));
    }
    std::ranges::move(find_in_url(parts.tail.first, parts.tail.second), std::back_inserter(all));
    Match rest = url;
    for (PiiEntity& held : all) {
      take_piece(rest, held.begin);
      rest.begin = held.end;
      found_.push_back(std::move(held));
    }
    take_piece(rest, url.end);
    return url.end;
  }

  // A piece without a letter or a digit, such as a slash, is not a finding.
  void take_piece(Match rest, size_t end) {
    const std::string_view bytes = text_.from(rest.begin, end);
    rest.end = end;
    if (std::any_of(bytes.begin(), bytes.end(), pii::is_alnum)) take(rest);
  }

  // The findings in a part of a URL, in order.
  std::vector<PiiEntity> find_in_url(size_t begin, size_t end) const {
    Pass inside(text_.bytes().substr(0, end));
    inside.in_url_ = true;
    inside.scan(begin);
    std::erase_if(inside.found_, [](const PiiEntity& each) {
      return std::find(kTypesInUrls.begin(), kTypesInUrls.end(), each.type) == kTypesInUrls.end();
    });
    return std::move(inside.found_);
  }

  static PiiEntity entity(const Match& match) {
    return {std::string(match.type), match.begin, match.end, match.score, PiiSource::kRule};
  }

  size_t take(const Match& match) {
    while (!found_.empty() && found_.back().end > match.begin) found_.pop_back();
    found_.push_back(entity(match));
    cues_.forget();
    return match.end;
  }

  Text text_;
  Cues cues_;
  FailedRuns failed_runs_;
  size_t block_end_ = 0;
  Found password_;       // its value is being searched for other data
  bool in_url_ = false;  // the text is a part of a URL that was found
  std::vector<PiiEntity> found_;
};

// Maps positions in the converted text back to positions in `text`.
void restore_positions(std::string_view text, ZeroWidth zero_width, std::vector<PiiEntity>& found) {
  PlainReader reader(text, zero_width);
  size_t bytes_read = 0;
  const auto read_to = [&](size_t end) {
    for (; bytes_read < end; ++bytes_read) reader.next();
  };
  for (PiiEntity& entity : found) {
    const size_t end = entity.end;
    read_to(entity.begin + 1);
    entity.begin = reader.begin();
    read_to(end);
    entity.end = reader.end();
  }
}

std::vector<PiiEntity> find_in_plain(std::string_view text, ZeroWidth zero_width) {
  const std::optional<std::string> converted = plain(text, zero_width);
  if (!converted) return Pass(text).run();
  std::vector<PiiEntity> found = Pass(*converted).run();
  restore_positions(text, zero_width, found);
  return found;
}

}  // namespace

std::string_view pii_source_name(PiiSource source) {
  constexpr auto kNames = std::to_array<std::string_view>({"rule", "model", "both"});
  return kNames[static_cast<size_t>(source)];
}

std::vector<PiiEntity> find_pii_by_rules(std::string_view text) {
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  if (is_ascii) return Pass(text).run();
  std::vector<PiiEntity> found = find_in_plain(text, ZeroWidth::kKept);
  if (!has_zero_width(text)) return found;
  for (const ZeroWidth each : {ZeroWidth::kOmittedInRuns, ZeroWidth::kOmitted})
    found = with_covering(std::move(found), find_in_plain(text, each));
  return found;
}

std::span<const std::string_view> pii_rule_types() {
  return kTypes;
}

bool is_checked_pii(std::string_view type) {
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end() &&
         std::find(kUnchecked.begin(), kUnchecked.end(), type) == kUnchecked.end();
}

}  // namespace signalbox::pii
