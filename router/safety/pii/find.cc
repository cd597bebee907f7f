// Corrects two mistakes of models. They mark numbers that do not have the form of their type, and
// they mark a name in one sentence but miss it in the next.

#include "router/safety/pii/find.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/ascii.h"
#include "router/safety/pii/form.h"
#include "router/safety/pii/merge.h"

namespace signalbox::pii {
namespace {

/// Returns true if a finding is a name to mark wherever it recurs: one that the model is sure of,
/// with a capital, and too long to be confused with another word.
bool is_name(std::string_view text, const PiiEntity& entity) {
  constexpr double kSure = 0.7;
  constexpr size_t kBytesMin = 4;
  return (entity.type == "PERSON" || entity.type == "ORGANIZATION" || entity.type == "GPE") &&
         entity.score >= kSure && entity.end - entity.begin >= kBytesMin &&
         !ascii::is_lower(text[entity.begin]);
}

/// The names found in a text, by their first word; a person also by the last name alone.
class Names {
 public:
  Names(std::string_view text, const std::vector<PiiEntity>& found) : text_(text) {
    for (const PiiEntity& entity : found) {
      if (!is_name(text, entity)) continue;
      const std::string_view value = text.substr(entity.begin, entity.end - entity.begin);
      add(value, entity);
      const size_t space = value.rfind(' ');
      PiiEntity last = entity;
      if (entity.type != "PERSON" || space == std::string_view::npos) continue;
      last.begin += space + 1;
      if (is_name(text, last)) add(value.substr(space + 1), last);
    }
  }

  bool empty() const { return of_word_.empty(); }

  /// Returns the longest name at a word; its begin and end are those of the place.
  std::optional<PiiEntity> at(size_t begin) const {
    const auto found = of_word_.find(text_.substr(begin, word_end(text_, begin) - begin));
    if (found == of_word_.end()) return std::nullopt;
    const Name* best = nullptr;
    for (const Name& name : found->second) {
      const size_t end = begin + name.value.size();
      if (text_.substr(begin).starts_with(name.value) && word_end(text_, end - 1) == end &&
          (best == nullptr || name.value.size() > best->value.size()))
        best = &name;
    }
    if (best == nullptr) return std::nullopt;
    PiiEntity out = *best->entity;
    out.begin = begin;
    out.end = begin + best->value.size();
    return out;
  }

  static size_t word_end(std::string_view text, size_t at) {
    while (at < text.size() && ascii::is_word_byte(text[at])) ++at;
    return at;
  }

 private:
  struct Name {
    std::string_view value;
    const PiiEntity* entity;
  };
  void add(std::string_view value, const PiiEntity& entity) {
    constexpr size_t kNamesMax = 16;  // of one first word, so that the search stays linear
    std::vector<Name>& names = of_word_[value.substr(0, word_end(value, 0))];
    const bool is_known =
        std::ranges::any_of(names, [&](const Name& each) { return each.value == value; });
    if (is_known || names.size() == kNamesMax) return;
    names.push_back({value, &kept_.emplace_back(entity)});
  }

  std::string_view text_;
  std::deque<PiiEntity> kept_;
  std::unordered_map<std::string_view, std::vector<Name>> of_word_;
};

/// Marks the names wherever they recur.
std::vector<PiiEntity> with_recurring_names(std::string_view text, std::vector<PiiEntity> found) {
  const Names names(text, found);
  if (names.empty()) return found;
  std::vector<PiiEntity> out;
  auto next = found.begin();
  for (size_t at = 0; at < text.size();) {
    if (next != found.end() && next->begin <= at) {
      at = std::max(at, next->end);
      out.push_back(*next++);
      continue;
    }
    if (!ascii::is_word_byte(text[at])) {
      ++at;
      continue;
    }
    const auto name = names.at(at);
    if (name && (next == found.end() || name->end <= next->begin)) {
      at = name->end;
      out.push_back(*name);
    } else {
      const size_t end = Names::word_end(text, at);
      at = next == found.end() ? end : std::min(end, next->begin);
    }
  }
  out.insert(out.end(), next, found.end());
  return out;
}

}  // namespace

std::vector<PiiEntity> find_pii(std::string_view text, std::vector<PiiEntity> model) {
  std::erase_if(model, [&](const PiiEntity& each) {
    return !has_form(each.type, text.substr(each.begin, each.end - each.begin));
  });
  return with_recurring_names(text, merge_pii(text, find_pii_by_rules(text), std::move(model)));
}

}  // namespace signalbox::pii
