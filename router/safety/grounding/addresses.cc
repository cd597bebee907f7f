// Looked for as they are written, in lower case, without the scheme: a context may leave that out.

#include "router/safety/grounding/addresses.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kAskedMax = 64;  // addresses of an answer; each is a search through the context

// What is compared: "https://www.example.com/a/." as "example.com/a".
std::string_view bare(std::string_view address) {
  if (const size_t scheme = address.find("://"); scheme != std::string_view::npos)
    address.remove_prefix(scheme + 3);
  if (address.starts_with("www.")) address.remove_prefix(4);
  while (!address.empty() &&
         std::string_view(".,;:!?)]}>\"'*_/").find(address.back()) != std::string_view::npos)
    address.remove_suffix(1);
  return address;
}

// The tokens of "first.last@example.com" around its sign; nothing where that stands alone.
ByteSpan mail_around(const ReadText& text, size_t sign) {
  const auto goes_on = [&](size_t token) {
    return text.at(token).kind != TokenKind::kSymbol ||
           is_one_of(text.at(token).lower, {".", "-", "_", "+"});
  };
  if (!text.at(sign).is("@") || !text.glued(sign) || !text.glued(sign + 1)) return {};
  size_t first = sign, last = sign + 1;
  while (first > 0 && text.glued(first) && goes_on(first - 1)) --first;
  while (text.glued(last) && goes_on(last)) ++last;
  return {text.at(first).begin, text.at(last - 1).end};
}

}  // namespace

size_t past_address(const ReadText& text, size_t token, size_t end) {
  const bool page =
      is_one_of(text.at(token).lower, {"http", "https"}) && text.at(token + 1).is(":");
  if (!page && !(text.at(token).is("www") && text.at(token + 1).is("."))) return token;
  size_t next = token + 1;
  while (next < end && text.glued(next)) ++next;
  return next;
}

void Addresses::add(const ReadText& text) {
  texts_.push_back(&text);
  const std::string_view lower = text.lower();
  pages_ = pages_ || lower.find("://") != std::string_view::npos ||
           lower.find("www.") != std::string_view::npos;
  mails_ = mails_ || lower.find('@') != std::string_view::npos;
}

// What goes on with a letter or digit, on either side, is another address.
bool Addresses::hold(std::string_view address) const {
  return std::ranges::any_of(texts_, [&](const ReadText* text) {
    const std::string_view lower = text->lower();
    for (size_t at = lower.find(address); at != std::string_view::npos;
         at = lower.find(address, at + 1)) {
      const size_t end = at + address.size();
      if ((at == 0 || !ascii::is_alnum(lower[at - 1])) &&
          (end == lower.size() || !ascii::is_alnum(lower[end])))
        return true;
    }
    return false;
  });
}

// Leaves the marks behind it out of `span`.
bool Addresses::is_unknown(const ReadText& answer, ByteSpan& span) const {
  const std::string_view lower = answer.lower();
  const std::string_view address = bare(lower.substr(span.begin, span.end - span.begin));
  span.end = static_cast<uint32_t>(address.data() + address.size() - lower.data());
  return !address.empty() && !hold(address);
}

std::vector<ByteSpan> Addresses::unknown(const ReadText& answer) const {
  std::vector<ByteSpan> out;
  const size_t size = answer.tokens().size();
  size_t asked = 0;
  for (size_t at = 0; (pages_ || mails_) && at < size && asked < kAskedMax;) {
    const size_t end = past_address(answer, at, size);
    ByteSpan span = mails_ ? mail_around(answer, at) : ByteSpan{};
    if (end > at) span = {answer.at(at).begin, pages_ ? answer.at(end - 1).end : 0};
    at = std::max(end, at + 1);
    if (span.end == 0) continue;
    ++asked;
    if (is_unknown(answer, span)) out.push_back(span);
  }
  return out;
}

}  // namespace signalbox::grounding
