// Addresses are compared in lower case and without the scheme, which a context may leave out.

#include "router/safety/grounding/addresses.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::grounding {
namespace {

using namespace text;

// Addresses of an answer that are looked up. Each look-up searches the whole context.
constexpr size_t kAddressesMax = 64;

// "https://www.example.com/a/." becomes "example.com/a".
std::string_view without_scheme(std::string_view address) {
  if (const size_t scheme = address.find("://"); scheme != std::string_view::npos)
    address.remove_prefix(scheme + 3);
  if (address.starts_with("www.")) address.remove_prefix(4);
  while (!address.empty() &&
         std::string_view(".,;:!?)]}>\"'*_/").find(address.back()) != std::string_view::npos)
    address.remove_suffix(1);
  return address;
}

// The address "first.last@example.com" around the "@" token; empty if there is none.
ByteSpan mail_around(const ReadText& text, size_t sign) {
  const auto belongs = [&](size_t token) {
    return text.at(token).kind != TokenKind::kSymbol ||
           is_one_of(text.at(token).lower, {".", "-", "_", "+"});
  };
  if (!text.at(sign).is("@") || !text.glued(sign) || !text.glued(sign + 1)) return {};
  size_t first = sign, last = sign + 1;
  while (first > 0 && text.glued(first) && belongs(first - 1)) --first;
  while (text.glued(last) && belongs(last)) ++last;
  return {text.at(first).begin, text.at(last - 1).end};
}

}  // namespace

void Addresses::add(const ReadText& text) {
  texts_.push_back(&text);
  const std::string_view lower = text.lower();
  has_pages_ = has_pages_ || lower.find("://") != std::string_view::npos ||
               lower.find("www.") != std::string_view::npos;
  has_mails_ = has_mails_ || lower.find('@') != std::string_view::npos;
}

// A match inside a longer word is another address.
bool Addresses::contain(std::string_view address) const {
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

std::vector<ByteSpan> Addresses::unknown(const ReadText& answer) const {
  std::vector<ByteSpan> out;
  const size_t size = answer.tokens().size();
  size_t seen = 0;
  for (size_t at = 0; (has_pages_ || has_mails_) && at < size && seen < kAddressesMax;) {
    const size_t end = past_address(answer, at, size);
    ByteSpan span = has_mails_ ? mail_around(answer, at) : ByteSpan{};
    if (end > at) span = {answer.at(at).begin, has_pages_ ? answer.at(end - 1).end : 0};
    at = std::max(end, at + 1);
    if (span.end == 0) continue;
    ++seen;
    const std::string_view lower = answer.lower();
    const auto address = without_scheme(lower.substr(span.begin, span.end - span.begin));
    span.end = static_cast<uint32_t>(address.data() + address.size() - lower.data());
    if (!address.empty() && !contain(address)) out.push_back(span);
  }
  return out;
}

}  // namespace signalbox::grounding
