// The mark names the kind of base64, so that the server gets the same characters back.

#include "router/dialects/call_signature.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::dialects {
namespace {

struct Mark {
  std::string_view text;
  bool is_standard;  // "+" and "/", not the alphabet for URLs
  bool is_padded;
};

constexpr Mark kMarks[] = {{"_sigu_", false, false},
                           {"_sigs_", true, true},
                           {"_sigr_", true, false},
                           {"_sigp_", false, true}};

std::string for_urls(std::string_view signature) {
  std::string out(signature);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  std::erase(out, '=');
  return out;
}

bool is_for_urls(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return ascii::is_alnum(c) || c == '-' || c == '_'; });
}

}  // namespace

std::string signed_id(std::string_view id, std::string_view signature) {
  const std::string carried = for_urls(signature);
  if (carried.empty() || !is_for_urls(carried)) return std::string(id);
  for (const Mark& mark : kMarks) {
    std::string out = fmt::format("{}{}{}", id, mark.text, carried);
    const CallId back = split_id(out);
    if (back.id == id && back.signature == signature) return out;
  }
  return std::string(id);
}

CallId split_id(std::string_view signed_id) {
  for (const Mark& mark : kMarks) {
    const size_t at = signed_id.find(mark.text);
    if (at == std::string_view::npos) continue;
    CallId out{signed_id.substr(0, at), std::string(signed_id.substr(at + mark.text.size()))};
    if (mark.is_standard) {
      std::ranges::replace(out.signature, '-', '+');
      std::ranges::replace(out.signature, '_', '/');
    }
    if (mark.is_padded) out.signature.resize((out.signature.size() + 3) / 4 * 4, '=');
    return out;
  }
  return {signed_id, {}};
}

bool may_have_signed_ids(std::string_view text) {
  return std::ranges::any_of(
      kMarks, [text](const Mark& mark) { return text.find(mark.text) != text.npos; });
}

}  // namespace signalbox::dialects
