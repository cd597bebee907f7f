// Capabilities are free words. A word counts only if some card of the routing has it; then a card
// with other words lacks the ability.

#include "router/routing/selection/abilities.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::selection {
namespace {

// The estimate of signals of type context; no tokenizer is known here.
constexpr uint64_t kBytesPerToken = 4;
// No common tokenizer has fewer tokens than one for eight bytes of prose.
constexpr uint64_t kBytesPerTokenMax = 8;

constexpr std::string_view kTools[] = {"tools", "tool", "tool_use", "tool_calling",
                                       "function_calling"};
constexpr std::string_view kReasoning[] = {"reasoning", "thinking"};
constexpr std::string_view kSight[] = {"vision",      "image",      "images",
                                       "image_input", "multimodal", "omni"};

bool has_any(const config::ModelCard& card, std::span<const std::string_view> words) {
  return std::ranges::any_of(card.capabilities, [&](const std::string& each) {
    return std::ranges::find(words, ascii::snake_case(each)) != words.end();
  });
}

bool lacks(const config::ModelCard& card, std::span<const std::string_view> words,
           std::span<const config::ModelCard> cards) {
  if (card.capabilities.empty() || has_any(card, words)) return false;
  return std::ranges::any_of(cards, [&](const auto& each) { return has_any(each, words); });
}

uint64_t tokens(const Demands& demands, uint64_t bytes_per_token) {
  return demands.prompt_bytes / bytes_per_token + demands.reply_tokens;
}

}  // namespace

Inability find_inability(const Candidate& candidate, const Demands& demands,
                         std::span<const config::ModelCard> cards) {
  const config::ModelCard* card = candidate.card;
  if (card == nullptr) return {};
  const uint64_t window = card->context_window_size;
  const uint64_t needed = tokens(demands, kBytesPerToken);
  if (window > 0 && needed > window) {
    return {fmt::format("its context window has {} tokens, and the request needs about {}", window,
                        needed),
            tokens(demands, kBytesPerTokenMax) > window, true};
  }
  if (demands.images && ascii::iequals(card->modality, "text") && !has_any(*card, kSight))
    return {"it reads text only, and the request has images"};
  if (demands.tools && lacks(*card, kTools, cards))
    return {"it calls no tools, and the request offers some"};
  if (demands.reasoning && lacks(*card, kReasoning, cards))
    return {"it does not reason, and the client requests it", false};
  return {};
}

}  // namespace signalbox::selection
