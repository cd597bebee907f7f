// Looked for as they are written, in lower case, without the scheme: a context may leave that out.

#include "router/guard/grounding_addresses.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::router::grounding {
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
  any_ = any_ || lower.find("://") != std::string_view::npos ||
         lower.find("www.") != std::string_view::npos;
}

// What goes on with a letter or digit is another address.
bool Addresses::hold(std::string_view address) const {
  return std::ranges::any_of(texts_, [&](const ReadText* text) {
    const std::string_view lower = text->lower();
    for (size_t at = lower.find(address); at != std::string_view::npos;
         at = lower.find(address, at + 1)) {
      const size_t end = at + address.size();
      if (end == lower.size() || !ascii::is_alnum(lower[end])) return true;
    }
    return false;
  });
}

std::vector<ByteSpan> Addresses::unknown(const ReadText& answer) const {
  std::vector<ByteSpan> out;
  const size_t size = answer.tokens().size();
  size_t asked = 0;
  for (size_t at = 0; any_ && at < size && asked < kAskedMax;) {
    const size_t end = past_address(answer, at, size);
    if (end == at) {
      ++at;
      continue;
    }
    ++asked;
    const uint32_t begin = answer.at(at).begin;
    const std::string_view address =
        bare(answer.lower().substr(begin, answer.at(end - 1).end - begin));
    const auto last =
        static_cast<uint32_t>(address.data() + address.size() - answer.lower().data());
    if (!address.empty() && !hold(address)) out.push_back({begin, last});
    at = end;
  }
  return out;
}

}  // namespace signalbox::router::grounding
