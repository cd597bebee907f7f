// One pass over the tokens with at most one open entity.

#include "engine/entities.h"

#include <algorithm>

namespace signalbox::engine {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Tokens of byte-level vocabularies hold the space before their word.
void trim(std::string_view text, Entity& entity) {
  while (entity.begin < entity.end && is_space(text[entity.begin])) ++entity.begin;
  while (entity.end > entity.begin && is_space(text[entity.end - 1])) --entity.end;
}

// Collects tokens of one entity after another.
class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  bool is_open(std::string_view type) const { return tokens_ > 0 && current_.type == type; }

  void begin(const std::string& type, tokenizer::Span span, float probability) {
    close();
    current_ = {type, span.begin, span.end, probability};
    tokens_ = 1;
  }

  void extend(tokenizer::Span span, float probability) {
    current_.end = span.end;
    current_.score += probability;
    ++tokens_;
  }

  void close() {
    if (tokens_ == 0) return;
    current_.score /= static_cast<float>(tokens_);
    trim(text_, current_);
    if (current_.begin < current_.end) done_.push_back(std::move(current_));
    tokens_ = 0;
  }

  std::vector<Entity> take() {
    close();
    return std::move(done_);
  }

 private:
  std::string_view text_;
  Entity current_;      // its score is a sum until it is closed
  int32_t tokens_ = 0;  // of the current entity, 0 when none is open
  std::vector<Entity> done_;
};

}  // namespace

EntityReader::EntityReader(std::span<const std::string> labels) {
  for (const std::string& label : labels) tags_.push_back(tag_of(label));
}

EntityReader::Tag EntityReader::tag_of(std::string_view label) {
  if (label == "O") return {'O', ""};
  if (label.size() < 3 || label[1] != '-') return {'I', std::string(label)};
  const std::string type(label.substr(2));
  switch (label[0]) {
    case 'B':
    case 'I':
    case 'E':
    case 'S':
      return {label[0], type};
    case 'L':
      return {'E', type};
    case 'U':
      return {'S', type};
    default:
      return {'I', std::string(label)};
  }
}

std::vector<Entity> EntityReader::read(std::string_view text, const tokenizer::Encoding& encoding,
                                       tokenizer::Span tokens,
                                       std::span<const float> probabilities) const {
  Builder entities(text);
  const size_t labels = tags_.size();
  for (uint32_t token = tokens.begin; token < tokens.end; ++token) {
    const tokenizer::Span span = encoding.offsets[token];
    if (span.begin == span.end) continue;  // special, or nothing of the text
    const auto row = probabilities.subspan(token * labels, labels);
    const auto best = std::ranges::max_element(row);
    const Tag& tag = tags_[best - row.begin()];
    if (tag.place == 'O') {
      entities.close();
      continue;
    }
    const bool goes_on = tag.place == 'I' || tag.place == 'E';
    if (goes_on && entities.is_open(tag.type)) {
      entities.extend(span, *best);
    } else {
      entities.begin(tag.type, span, *best);
    }
    if (tag.place == 'E' || tag.place == 'S') entities.close();
  }
  return entities.take();
}

}  // namespace signalbox::engine
