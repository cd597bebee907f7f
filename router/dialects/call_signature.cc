// Two marks tell the alphabets of base64 apart, so that the server gets the same characters back.

#include "router/dialects/call_signature.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::dialects {
namespace {

constexpr std::string_view kAsIs = "_sigu_", kStandard = "_sigs_";

bool consists_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [others](char c) {
    return ascii::is_alnum(c) || others.find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string signed_id(std::string_view id, std::string_view signature) {
  if (signature.empty()) return std::string(id);
  if (consists_of(signature, "-_")) return fmt::format("{}{}{}", id, kAsIs, signature);
  if (signature.size() % 4 != 0 || !consists_of(signature, "+/=")) return std::string(id);
  std::string for_urls(signature);
  std::ranges::replace(for_urls, '+', '-');
  std::ranges::replace(for_urls, '/', '_');
  std::erase(for_urls, '=');
  return fmt::format("{}{}{}", id, kStandard, for_urls);
}

CallId split_id(std::string_view signed_id) {
  for (const std::string_view mark : {kAsIs, kStandard}) {
    const size_t at = signed_id.find(mark);
    if (at == std::string_view::npos) continue;
    CallId out{signed_id.substr(0, at), std::string(signed_id.substr(at + mark.size()))};
    if (mark == kAsIs) return out;
    std::ranges::replace(out.signature, '-', '+');
    std::ranges::replace(out.signature, '_', '/');
    out.signature.resize((out.signature.size() + 3) / 4 * 4, '=');
    return out;
  }
  return {signed_id, {}};
}

bool may_have_signed_ids(std::string_view text) {
  return text.find(kAsIs) != std::string_view::npos ||
         text.find(kStandard) != std::string_view::npos;
}

}  // namespace signalbox::dialects
