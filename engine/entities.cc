// One pass over the tokens with at most one open entity.

#include "engine/entities.h"

#include <algorithm>
#include <map>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::engine {
namespace {

// Tokens of byte-level vocabularies include the space before their word.
void trim(std::string_view text, Entity& entity) {
  while (entity.begin < entity.end && ascii::is_space(text[entity.begin])) ++entity.begin;
  while (entity.end > entity.begin && ascii::is_space(text[entity.end - 1])) --entity.end;
}

/// Returns true for letters and digits of the scripts up to Cyrillic and Armenian, which put spaces
/// between words.
bool is_in_spaced_word(char32_t c) {
  if (c < 0x80) return ascii::is_alnum(static_cast<char>(c));
  return (c >= 0xC0 && c < 0x590) || (c >= 0x1E00 && c < 0x2000);
}

char32_t last_of(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return utf8::decode(text, begin).code_point;
}

/// Returns true if `next` continues the word of `token`.
bool is_inside_word(std::string_view text, tokenizer::Span token, tokenizer::Span next) {
  return token.begin < token.end && token.end == next.begin && next.begin < next.end &&
         is_in_spaced_word(last_of(text.substr(0, token.end))) &&
         is_in_spaced_word(utf8::decode(text, next.begin).code_point);
}

// Collects the tokens of one entity after another.
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
  Entity current_;      // its score is a sum until the entity is closed
  int32_t tokens_ = 0;  // in the current entity; 0 if none is open
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

// Returns the most probable label of a row (labels), optionally among those of one type.
size_t EntityReader::likeliest(std::span<const float> row, const std::string_view* type) const {
  size_t best = tags_.size();
  for (size_t i = 0; i < tags_.size(); ++i) {
    if (type != nullptr && tags_[i].type != *type) continue;
    if (best == tags_.size() || row[i] > row[best]) best = i;
  }
  return best;
}

// Returns the most probable type of a word; rows (tokens, labels).
std::string_view EntityReader::type_of_word(std::span<const float> rows) const {
  std::map<std::string_view, float> sums;
  for (size_t i = 0; i < rows.size(); ++i) sums[tags_[i % tags_.size()].type] += rows[i];
  return std::ranges::max_element(sums, {}, [](const auto& each) { return each.second; })->first;
}

std::vector<Entity> EntityReader::read(std::string_view text, const tokenizer::Encoding& encoding,
                                       tokenizer::Span tokens,
                                       std::span<const float> probabilities) const {
  Builder entities(text);
  const size_t labels = tags_.size();
  uint32_t past = tokens.begin;  // end of the current word
  std::string_view type;         // type of that word
  bool in_pieces = false;
  for (uint32_t token = tokens.begin; token < tokens.end; ++token) {
    const tokenizer::Span span = encoding.offsets[token];
    if (span.begin == span.end) continue;  // special, or contains no text
    const bool goes_on_inside = token < past;
    if (!goes_on_inside) {
      for (past = token + 1; past < tokens.end; ++past)
        if (!is_inside_word(text, encoding.offsets[past - 1], encoding.offsets[past])) break;
      in_pieces = past > token + 1;
      if (in_pieces)
        type = type_of_word(probabilities.subspan(token * labels, (past - token) * labels));
    }
    const auto row = probabilities.subspan(token * labels, labels);
    const size_t best = likeliest(row, in_pieces ? &type : nullptr);
    const Tag& tag = tags_[best];
    if (tag.place == 'O') {
      entities.close();
      continue;
    }
    const bool goes_on = goes_on_inside || tag.place == 'I' || tag.place == 'E';
    if (goes_on && entities.is_open(tag.type)) {
      entities.extend(span, row[best]);
    } else {
      entities.begin(tag.type, span, row[best]);
    }
    if (token + 1 >= past && (tag.place == 'E' || tag.place == 'S')) entities.close();
  }
  return entities.take();
}

}  // namespace signalbox::engine
