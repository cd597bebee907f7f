// Accepts findings by rank, the strictest first. A later finding that overlaps an accepted one
// confirms it, and its parts outside of that are accepted as well. Nothing may be lost: a caller
// that masks by this list sends everything else.

#include "router/safety/pii/merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/ascii.h"

namespace signalbox::pii {
namespace {

using Accepted = std::map<size_t, PiiEntity>;  // by begin; none overlaps another

/// Returns the first accepted finding that overlaps [begin, end), or in.end().
Accepted::iterator first_overlap(Accepted& accepted_in, size_t begin, size_t end) {
  auto at = accepted_in.upper_bound(begin);
  if (at != accepted_in.begin() && std::prev(at)->second.end > begin) --at;
  return at != accepted_in.end() && at->second.begin < end ? at : accepted_in.end();
}

void confirm(PiiEntity& accepted, const PiiEntity& other) {
  if (accepted.type != other.type) return;
  if (accepted.source != other.source) accepted.source = PiiSource::kBoth;
  accepted.score = std::max(accepted.score, other.score);
}

void put(Accepted& accepted_in, PiiEntity entity) {
  const size_t begin = entity.begin;
  accepted_in.emplace(begin, std::move(entity));
}

bool is_word(char c) {
  return ascii::is_alpha(c) || ascii::is_digit(c) || static_cast<uint8_t>(c) >= 0x80;
}

/// Accepts the part of `entity` in [begin, end). For a model's finding, trims the spaces and signs
/// at the cuts. Drops a part of less than three bytes, because it is only a remainder of the
/// tokenizer's pieces.
void put_part(Accepted& accepted_in, std::string_view text, PiiEntity entity, size_t begin,
              size_t end) {
  constexpr size_t kBytesMin = 3;
  const bool trims = entity.source == PiiSource::kModel;
  while (trims && begin > entity.begin && begin < end && !is_word(text[begin])) ++begin;
  while (trims && end < entity.end && begin < end && !is_word(text[end - 1])) --end;
  if (end < begin + kBytesMin) return;
  entity.begin = begin;
  entity.end = end;
  put(accepted_in, std::move(entity));
}

bool has_exact_extent(const PiiEntity& accepted) {
  return accepted.source != PiiSource::kModel && is_checked_pii(accepted.type);
}

/// Accepts the finding or, if it overlaps accepted ones, confirms those and accepts the parts
/// outside of them: for example a name that was marked together with the address after it. If it
/// overlaps a checked finding of its own type, the extent of that is exact, so no part is accepted.
void add(Accepted& accepted_in, std::string_view text, PiiEntity entity) {
  auto at = first_overlap(accepted_in, entity.begin, entity.end);
  if (at == accepted_in.end()) return put(accepted_in, std::move(entity));
  bool has_extent = false;
  size_t begin = entity.begin;
  std::vector<std::pair<size_t, size_t>> outside;
  for (; at != accepted_in.end() && at->second.begin < entity.end; ++at) {
    PiiEntity& accepted = at->second;
    has_extent = has_extent || (accepted.type == entity.type && has_exact_extent(accepted));
    confirm(accepted, entity);
    if (begin < accepted.begin) outside.emplace_back(begin, accepted.begin);
    begin = accepted.end;
  }
  if (has_extent) return;
  if (begin < entity.end) outside.emplace_back(begin, entity.end);
  for (const auto& [from, to] : outside) put_part(accepted_in, text, entity, from, to);
}

/// True if the entity has enough digits for a card.
bool may_be_card(std::string_view text, const PiiEntity& entity) {
  constexpr auto kDigitsMin = 12;  // ISO/IEC 7812
  const std::string_view extent = text.substr(entity.begin, entity.end - entity.begin);
  return std::count_if(extent.begin(), extent.end(), ascii::is_digit) >= kDigitsMin;
}

/// Adds a rule's finding that is not checked. If a model's finding covers it, that finding
/// determines the type and gets the higher score (except a card with too few digits). If a model's
/// finding covers a part of it, the two become one if they have the same type; otherwise the
/// model's finding keeps its parts outside. So a number stays whole even if a model splits it.
void add_unchecked(Accepted& accepted_in, std::string_view text, PiiEntity entity) {
  auto at = first_overlap(accepted_in, entity.begin, entity.end);
  if (at != accepted_in.end() && at->second.begin <= entity.begin && at->second.end >= entity.end) {
    PiiEntity& accepted = at->second;
    accepted.score = std::max(accepted.score, entity.score);
    if (accepted.type == "CREDIT_CARD" && !may_be_card(text, accepted)) accepted.type = entity.type;
    if (!is_checked_pii(accepted.type)) accepted.source = PiiSource::kBoth;
    return;
  }
  std::vector<PiiEntity> others;
  while (at != accepted_in.end() && at->second.begin < entity.end) {
    PiiEntity other = std::move(at->second);
    at = accepted_in.erase(at);
    if (other.type != entity.type) {
      others.push_back(std::move(other));
      continue;
    }
    confirm(entity, other);
    entity.begin = std::min(entity.begin, other.begin);
    entity.end = std::max(entity.end, other.end);
  }
  const size_t begin = entity.begin, end = entity.end;
  put(accepted_in, std::move(entity));
  for (const PiiEntity& other : others) {
    if (other.begin < begin) put_part(accepted_in, text, other, other.begin, begin);
    if (other.end > end) put_part(accepted_in, text, other, end, other.end);
  }
}

/// Splits each finding at line breaks and tabs, so that it covers one line or one cell. Addresses
/// stay whole.
std::vector<PiiEntity> by_line(std::string_view text, std::vector<PiiEntity> found) {
  constexpr std::string_view kBreaks = "\r\n\t";
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<PiiEntity> out;
  out.reserve(found.size());
  for (PiiEntity& entity : found) {
    const std::string_view whole = text.substr(0, entity.end);
    if (entity.type == "STREET_ADDRESS" ||
        whole.find_first_of(kBreaks, entity.begin) == std::string_view::npos) {
      out.push_back(std::move(entity));
      continue;
    }
    for (size_t begin = whole.find_first_not_of(kSpaces, entity.begin);
         begin != std::string_view::npos;) {
      const size_t end = std::min(whole.find_first_of(kBreaks, begin), entity.end);
      PiiEntity line = entity;
      line.begin = begin;
      line.end = text.substr(0, end).find_last_not_of(kSpaces) + 1;
      out.push_back(std::move(line));
      begin = whole.find_first_not_of(kSpaces, end);
    }
  }
  return out;
}

/// Joins names that only a space separates into one, with the highest score of its parts, so that a
/// doubtful surname does not lower the score of the name before it. Returns the findings in the
/// order of the text.
std::vector<PiiEntity> with_whole_names(std::string_view text, std::vector<PiiEntity> found) {
  const auto place = [](const PiiEntity& each) {
    return std::tie(each.begin, each.end, each.type);
  };
  std::sort(found.begin(), found.end(), [&](const PiiEntity& a, const PiiEntity& b) {
    return place(a) != place(b) ? place(a) < place(b) : a.score > b.score;
  });
  // Overlapping windows find the same thing twice.
  found.erase(std::unique(found.begin(), found.end(),
                          [&](const auto& a, const auto& b) { return place(a) == place(b); }),
              found.end());
  std::vector<PiiEntity> out;
  out.reserve(found.size());
  for (PiiEntity& entity : found) {
    const bool goes_on = !out.empty() && entity.type == "PERSON" && out.back().type == "PERSON" &&
                         out.back().end + 1 == entity.begin && text[out.back().end] == ' ';
    if (!goes_on) {
      out.push_back(std::move(entity));
      continue;
    }
    out.back().end = entity.end;
    out.back().score = std::max(out.back().score, entity.score);
  }
  return out;
}

}  // namespace

std::vector<PiiEntity> merge_pii(std::string_view text, std::vector<PiiEntity> rules,
                                 std::vector<PiiEntity> model) {
  model = with_whole_names(text, by_line(text, std::move(model)));
  std::stable_sort(model.begin(), model.end(),
                   [](const PiiEntity& a, const PiiEntity& b) { return a.score > b.score; });
  const auto first_unsure = std::find_if(
      model.begin(), model.end(), [](const auto& each) { return each.score < kPiiModelSure; });
  Accepted accepted_in;
  for (const PiiEntity& entity : rules) {
    if (is_checked_pii(entity.type)) put(accepted_in, entity);
  }
  for (auto at = model.begin(); at != first_unsure; ++at) add(accepted_in, text, std::move(*at));
  for (PiiEntity& entity : rules) {
    if (!is_checked_pii(entity.type)) add_unchecked(accepted_in, text, std::move(entity));
  }
  for (auto at = first_unsure; at != model.end(); ++at) add(accepted_in, text, std::move(*at));
  std::vector<PiiEntity> out;
  out.reserve(accepted_in.size());
  for (auto& [begin, entity] : accepted_in) out.push_back(std::move(entity));
  return out;
}

std::vector<PiiEntity> with_covering(std::vector<PiiEntity> found, std::vector<PiiEntity> added) {
  std::vector<PiiEntity> out;
  auto next = found.begin();
  for (PiiEntity& each : added) {
    for (; next != found.end() && next->end <= each.begin; ++next) out.push_back(std::move(*next));
    const auto after = std::find_if(next, found.end(), [&](const PiiEntity& other) {
      return other.begin < each.begin || other.end > each.end;
    });
    const bool overlaps = (after != found.end() && after->begin < each.end) ||
                          (!out.empty() && out.back().end > each.begin);
    if (overlaps) continue;
    next = after;
    out.push_back(std::move(each));
  }
  std::move(next, found.end(), std::back_inserter(out));
  return out;
}

}  // namespace signalbox::pii
