// Findings are let in by rank, the strictest first; what comes later and overlaps one that is in
// confirms it, and of it what lies outside is let in. Whoever masks by this list would send out
// what it leaves out.

#include "router/safety/pii/merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/ascii.h"

namespace signalbox::pii {
namespace {

using Accepted = std::map<size_t, PiiEntity>;  // by begin; none overlaps another

/// The first of those that overlap [begin, end), or the end.
Accepted::iterator first_overlap(Accepted& in, size_t begin, size_t end) {
  auto at = in.upper_bound(begin);
  if (at != in.begin() && std::prev(at)->second.end > begin) --at;
  return at != in.end() && at->second.begin < end ? at : in.end();
}

void confirm(PiiEntity& known, const PiiEntity& other) {
  if (known.type != other.type) return;
  if (known.source != other.source) known.source = PiiSource::kBoth;
  known.score = std::max(known.score, other.score);
}

void put(Accepted& in, PiiEntity entity) {
  const size_t begin = entity.begin;
  in.emplace(begin, std::move(entity));
}

bool is_word(char c) {
  return ascii::is_alpha(c) || ascii::is_digit(c) || static_cast<uint8_t>(c) >= 0x80;
}

/// Lets in what of it lies in [begin, end), of the model's without the spaces and signs that stood
/// between it and what it was cut from. What a tokenizer's pieces leave over at an edge is nothing.
void put_part(Accepted& in, std::string_view text, PiiEntity entity, size_t begin, size_t end) {
  constexpr size_t kBytesMin = 3;
  const bool trims = entity.source == PiiSource::kModel;
  while (trims && begin > entity.begin && begin < end && !is_word(text[begin])) ++begin;
  while (trims && end < entity.end && begin < end && !is_word(text[end - 1])) --end;
  if (end < begin + kBytesMin) return;
  entity.begin = begin;
  entity.end = end;
  put(in, std::move(entity));
}

bool has_exact_extent(const PiiEntity& known) {
  return known.source != PiiSource::kModel && is_checked_pii(known.type);
}

/// Lets it in, or has it confirm all that it overlaps, and lets in what is outside of that: a name
/// that is marked as one with the address behind it. Nothing is outside of a checked finding of its
/// type, whose extent is known.
void add(Accepted& in, std::string_view text, PiiEntity entity) {
  auto at = first_overlap(in, entity.begin, entity.end);
  if (at == in.end()) return put(in, std::move(entity));
  bool has_extent = false;
  size_t begin = entity.begin;
  std::vector<std::pair<size_t, size_t>> outside;
  for (; at != in.end() && at->second.begin < entity.end; ++at) {
    PiiEntity& known = at->second;
    has_extent = has_extent || (known.type == entity.type && has_exact_extent(known));
    confirm(known, entity);
    if (begin < known.begin) outside.emplace_back(begin, known.begin);
    begin = known.end;
  }
  if (has_extent) return;
  if (begin < entity.end) outside.emplace_back(begin, entity.end);
  for (const auto& [from, to] : outside) put_part(in, text, entity, from, to);
}

/// Whether a card has as many digits.
bool may_be_card(std::string_view text, const PiiEntity& entity) {
  constexpr auto kDigitsMin = 12;  // ISO/IEC 7812
  const std::string_view extent = text.substr(entity.begin, entity.end - entity.begin);
  return std::count_if(extent.begin(), extent.end(), ascii::is_digit) >= kDigitsMin;
}

/// A rule's finding that is not checked. One of the model that covers it says what it is, which is
/// found as surely then (but no card of too few digits); one that covers a part of it becomes one
/// with it, if of its type, or keeps what is outside. So a number stays whole that a model takes
/// apart.
void add_unchecked(Accepted& in, std::string_view text, PiiEntity entity) {
  auto at = first_overlap(in, entity.begin, entity.end);
  if (at != in.end() && at->second.begin <= entity.begin && at->second.end >= entity.end) {
    PiiEntity& known = at->second;
    known.score = std::max(known.score, entity.score);
    if (known.type == "CREDIT_CARD" && !may_be_card(text, known)) known.type = entity.type;
    if (!is_checked_pii(known.type)) known.source = PiiSource::kBoth;
    return;
  }
  std::vector<PiiEntity> others;
  while (at != in.end() && at->second.begin < entity.end) {
    PiiEntity other = std::move(at->second);
    at = in.erase(at);
    if (other.type != entity.type) {
      others.push_back(std::move(other));
      continue;
    }
    confirm(entity, other);
    entity.begin = std::min(entity.begin, other.begin);
    entity.end = std::max(entity.end, other.end);
  }
  const size_t begin = entity.begin, end = entity.end;
  put(in, std::move(entity));
  for (const PiiEntity& other : others) {
    if (other.begin < begin) put_part(in, text, other, other.begin, begin);
    if (other.end > end) put_part(in, text, other, end, other.end);
  }
}

/// What stands on each of its lines, or in each cell between tabs, if it has several.
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

/// Names with nothing but a space between them made one, which is as sure as its surest part: a
/// doubtful surname takes nothing from the name in front. In the order of the text.
std::vector<PiiEntity> with_whole_names(std::string_view text, std::vector<PiiEntity> found) {
  const auto place = [](const PiiEntity& each) {
    return std::tie(each.begin, each.end, each.type);
  };
  std::sort(found.begin(), found.end(), [&](const PiiEntity& a, const PiiEntity& b) {
    return place(a) != place(b) ? place(a) < place(b) : a.score > b.score;
  });
  // Windows that overlap find one thing twice.
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
  const auto unsure = std::find_if(model.begin(), model.end(),
                                   [](const auto& each) { return each.score < kPiiModelSure; });
  Accepted in;
  for (const PiiEntity& entity : rules) {
    if (is_checked_pii(entity.type)) put(in, entity);
  }
  for (auto at = model.begin(); at != unsure; ++at) add(in, text, std::move(*at));
  for (PiiEntity& entity : rules) {
    if (!is_checked_pii(entity.type)) add_unchecked(in, text, std::move(entity));
  }
  for (auto at = unsure; at != model.end(); ++at) add(in, text, std::move(*at));
  std::vector<PiiEntity> out;
  out.reserve(in.size());
  for (auto& [begin, entity] : in) out.push_back(std::move(entity));
  return out;
}

}  // namespace signalbox::pii
