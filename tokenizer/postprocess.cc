// Applies templates, which are short lists of pieces.

#include "tokenizer/postprocess.h"

#include <algorithm>
#include <utility>

namespace signalbox::tokenizer {
namespace {

using Kind = TemplatePiece::Kind;

// Returns the room for text besides the special tokens.
size_t room(const Template& form, const EncodeOptions& options) {
  if (options.tokens_max <= 0) return SIZE_MAX;
  const auto most = static_cast<size_t>(options.tokens_max);
  const auto specials =
      static_cast<size_t>(std::count_if(form.begin(), form.end(), [](const TemplatePiece& piece) {
        return piece.kind == Kind::kSpecial;
      }));
  return most - std::min(most, specials);
}

Windows windows_of(const TokenizedText& text, size_t length, const EncodeOptions& options) {
  return {text.tokens.size(), length, static_cast<size_t>(std::max(options.stride, 0)),
          options.side};
}

struct PairWindows {
  Windows first;
  Windows second;
};

PairWindows windows_of(const Template& form, const TokenizedText& first,
                       const TokenizedText& second, const EncodeOptions& options) {
  const PairLengths lengths = pair_lengths(first.tokens_counted, second.tokens_counted,
                                           room(form, options), options.strategy);
  return {windows_of(first, lengths.first, options), windows_of(second, lengths.second, options)};
}

}  // namespace

const Templates& Postprocessor::templates(const EncodeOptions& options) const {
  return options.special_tokens ? options_.full : options_.plain;
}

int32_t Postprocessor::types() const {
  int32_t most = 0;
  for (const Template* form : {&options_.full.single, &options_.full.pair}) {
    for (const TemplatePiece& piece : *form)
      most = std::max<int32_t>({most, piece.type_id, piece.later_type_id});
  }
  return most + 1;
}

size_t Postprocessor::single_room(const EncodeOptions& options) const {
  return room(templates(options).single, options);
}

Postprocessor::Window Postprocessor::window(const TokenizedText& text, const Windows& windows,
                                            size_t i) const {
  return {&text, windows.at(i), i > 0};
}

void Postprocessor::single(const TokenizedText& text, const EncodeOptions& options,
                           Encoding& out) const {
  const Windows windows = windows_of(text, single_room(options), options);
  assemble(templates(options).single, window(text, windows, 0), {}, options, out);
}

void Postprocessor::pair(const TokenizedText& first, const TokenizedText& second,
                         const EncodeOptions& options, Encoding& out) const {
  const Template& form = templates(options).pair;
  const PairWindows windows = windows_of(form, first, second, options);
  assemble(form, window(first, windows.first, 0), window(second, windows.second, 0), options, out);
}

void Postprocessor::single_windows(const TokenizedText& text, const EncodeOptions& options,
                                   const TakeWindow& take) const {
  const Windows windows = windows_of(text, single_room(options), options);
  Encoding out;
  for (size_t i = 0; i < windows.count(); ++i) {
    assemble(templates(options).single, window(text, windows, i), {}, options, out);
    if (!take(out)) return;
  }
}

void Postprocessor::pair_windows(const TokenizedText& first, const TokenizedText& second,
                                 const EncodeOptions& options, const TakeWindow& take) const {
  const Template& form = templates(options).pair;
  const PairWindows windows = windows_of(form, first, second, options);
  const bool second_leads = std::find_if(form.begin(), form.end(), [](const TemplatePiece& piece) {
                              return piece.kind != Kind::kSpecial;
                            })->kind == Kind::kSecond;
  const size_t outer = (second_leads ? windows.second : windows.first).count();
  const size_t inner = (second_leads ? windows.first : windows.second).count();
  Encoding out;
  const auto give = [&](size_t i, size_t j) {
    if (second_leads) std::swap(i, j);
    assemble(form, window(first, windows.first, i), window(second, windows.second, j), options,
             out);
    return take(out);
  };
  // Windows are returned in the reference's order: it merges the leading windows with the following
  // ones, and puts the later windows of one text before those of the other.
  if (!give(0, 0)) return;
  for (size_t i = 1; i <= outer; ++i) {
    const bool is_first = i == outer;
    for (size_t j = is_first ? 1 : 0; j < inner; ++j) {
      if (!give(is_first ? 0 : i, j)) return;
    }
  }
}

void Postprocessor::append(const Window& window, const TemplatePiece& piece, Encoding& out) const {
  const TokenizedText& text = *window.text;
  for (uint32_t i = window.tokens.begin; i < window.tokens.end; ++i) {
    Span place = text.tokens[i].span;
    for (const bool add_prefix_space : options_.trims) {
      place = trimmed(text.text, place, text.spaces[i], i == window.tokens.begin, add_prefix_space);
    }
    out.ids.push_back(text.tokens[i].id);
    out.offsets.push_back(place);
    out.type_ids.push_back(window.is_later ? piece.later_type_id : piece.type_id);
  }
}

void Postprocessor::assemble(const Template& form, const Window& first, const Window& second,
                             const EncodeOptions& options, Encoding& out) const {
  out.clear();
  const size_t size = (first.tokens.end - first.tokens.begin) +
                      (second.tokens.end - second.tokens.begin) + form.size();
  out.ids.reserve(size);
  out.offsets.reserve(size);
  out.type_ids.reserve(size);
  for (const TemplatePiece& piece : form) {
    if (piece.kind == Kind::kSpecial) {
      out.ids.push_back(piece.id);
      out.offsets.push_back({});
      out.type_ids.push_back(piece.type_id);
      continue;
    }
    const bool is_first = piece.kind == Kind::kFirst;
    const auto begin = static_cast<uint32_t>(out.ids.size());
    append(is_first ? first : second, piece, out);
    (is_first ? out.first_tokens : out.second_tokens) = {begin,
                                                         static_cast<uint32_t>(out.ids.size())};
  }
  // A limit below the number of special tokens leaves no room for text and truncates the special
  // tokens too.
  if (options.tokens_max > 0 && out.ids.size() > static_cast<size_t>(options.tokens_max)) {
    const auto most = static_cast<size_t>(options.tokens_max);
    out.ids.resize(most);
    out.offsets.resize(most);
    out.type_ids.resize(most);
    out.first_tokens = out.second_tokens = {};
  }
}

}  // namespace signalbox::tokenizer
