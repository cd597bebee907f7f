// Findings are let in by rank, the strictest first; what comes later and overlaps one that is in
// confirms it or is left out.

#include "router/guard/pii_merge.h"

#include <algorithm>
#include <map>

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

}  // namespace

std::vector<PiiEntity> merge_pii(std::vector<PiiEntity> rules, std::vector<PiiEntity> model) {
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
