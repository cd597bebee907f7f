// Templates are a handful of pieces, walked as they are.

#include "tokenizer/postprocess.h"

#include <algorithm>
#include <utility>

namespace signalbox::tokenizer {

Postprocessor::Postprocessor(Template single, Template pair)
    : single_(std::move(single)), pair_(std::move(pair)) {}

size_t Postprocessor::room(const Template& form, const EncodeOptions& options) {
  if (options.tokens_max <= 0) return SIZE_MAX;
  const auto most = static_cast<size_t>(options.tokens_max);
  if (!options.special_tokens) return most;
  const auto specials =
      static_cast<size_t>(std::count_if(form.begin(), form.end(), [](const TemplatePiece& piece) {
        return piece.kind == TemplatePiece::Kind::kSpecial;
      }));
  return most - std::min(most, specials);
}

void Postprocessor::single(std::span<const Token> text, const EncodeOptions& options,
                           Encoding& out) const {
  assemble(single_, text.first(std::min(text.size(), single_room(options))), {}, options, out);
}

void Postprocessor::pair(std::span<const Token> first, std::span<const Token> second,
                         const EncodeOptions& options, Encoding& out) const {
  const size_t both = room(pair_, options);
  if (first.size() + second.size() > both) {
    // The shorter keeps up to half of the room, the longer takes the rest; equals count the second
    // as the longer.
    const bool first_is_longer = first.size() > second.size();
    const size_t shorter = std::min({first.size(), second.size(), both / 2});
    const size_t longer = both - shorter;
    first = first.first(first_is_longer ? longer : shorter);
    second = second.first(first_is_longer ? shorter : longer);
  }
  assemble(pair_, first, second, options, out);
}

void Postprocessor::assemble(const Template& form, std::span<const Token> first,
                             std::span<const Token> second, const EncodeOptions& options,
                             Encoding& out) {
  out.clear();
  const size_t size = first.size() + second.size() + form.size();
  out.ids.reserve(size);
  out.offsets.reserve(size);
  out.type_ids.reserve(size);
  const auto add = [&](int32_t id, Span span, uint8_t type_id) {
    out.ids.push_back(id);
    out.offsets.push_back(span);
    out.type_ids.push_back(type_id);
  };
  for (const TemplatePiece& piece : form) {
    if (piece.kind == TemplatePiece::Kind::kSpecial) {
      if (options.special_tokens) add(piece.id, {}, piece.type_id);
      continue;
    }
    const bool is_first = piece.kind == TemplatePiece::Kind::kFirst;
    const auto begin = static_cast<uint32_t>(out.ids.size());
    for (const Token& token : is_first ? first : second) add(token.id, token.span, piece.type_id);
    (is_first ? out.first_tokens : out.second_tokens) = {begin,
                                                         static_cast<uint32_t>(out.ids.size())};
  }
  // A limit below the number of special tokens, which leaves no room for text, cuts them too.
  if (options.tokens_max > 0 && out.ids.size() > static_cast<size_t>(options.tokens_max)) {
    const auto most = static_cast<size_t>(options.tokens_max);
    out.ids.resize(most);
    out.offsets.resize(most);
    out.type_ids.resize(most);
    out.first_tokens = out.second_tokens = {};
  }
}

}  // namespace signalbox::tokenizer
