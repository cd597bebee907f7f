// Findings are let in by rank, the strictest first; what comes later and overlaps one that is in
// confirms it or is left out.

#include "router/guard/pii_merge.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace signalbox::router {
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

/// Lets it in, or has it confirm all that it overlaps.
void add(Accepted& in, PiiEntity entity) {
  auto at = first_overlap(in, entity.begin, entity.end);
  if (at == in.end()) {
    const size_t begin = entity.begin;
    in.emplace(begin, std::move(entity));
    return;
  }
  for (; at != in.end() && at->second.begin < entity.end; ++at) confirm(at->second, entity);
}

/// A rule's finding that is not checked. One of the same type, if it overlaps that alone, covers
/// both afterwards.
void add_unchecked(Accepted& in, PiiEntity entity) {
  const auto at = first_overlap(in, entity.begin, entity.end);
  const bool alone =
      at != in.end() && (std::next(at) == in.end() || std::next(at)->second.begin >= entity.end);
  if (!alone || at->second.type != entity.type || is_checked_pii(entity.type))
    return add(in, std::move(entity));
  PiiEntity wider = at->second;
  confirm(wider, entity);
  wider.begin = std::min(wider.begin, entity.begin);
  wider.end = std::max(wider.end, entity.end);
  in.erase(at);
  const size_t begin = wider.begin;
  in.emplace(begin, std::move(wider));
}

/// What stands on each of its lines, if it has several.
std::vector<PiiEntity> by_line(std::string_view text, std::vector<PiiEntity> found) {
  constexpr std::string_view kBreaks = "\r\n";
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

/// Names with nothing but a space between them made one; in the order of the text.
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
    out.back().score = std::min(out.back().score, entity.score);
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
    if (is_checked_pii(entity.type)) add(in, entity);
  }
  for (auto at = model.begin(); at != unsure; ++at) add(in, std::move(*at));
  for (PiiEntity& entity : rules) {
    if (!is_checked_pii(entity.type)) add_unchecked(in, std::move(entity));
  }
  for (auto at = unsure; at != model.end(); ++at) add(in, std::move(*at));
  std::vector<PiiEntity> out;
  out.reserve(in.size());
  for (auto& [begin, entity] : in) out.push_back(std::move(entity));
  return out;
}

}  // namespace signalbox::router
