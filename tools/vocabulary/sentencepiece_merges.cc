// Splits every piece at each boundary between two of its characters.

#include "tools/vocabulary/sentencepiece_merges.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/utf8.h"

namespace signalbox::tools {
namespace {

using PieceType = SentencePieceModel::PieceType;

// At least ten times what the largest published models need.
constexpr size_t kComparedBytesMax = size_t{1} << 28;
constexpr size_t kMergesMax = size_t{1} << 23;

struct Candidate {
  float score;
  size_t left_characters;
  size_t right_characters;
  int32_t made;
  Merge merge;
};

bool is_better(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.score, b.left_characters, b.right_characters, a.made, a.merge.left,
                    a.merge.right) < std::tuple(-b.score, a.left_characters, a.right_characters,
                                                b.made, b.merge.left, b.merge.right);
}

using PieceIds = std::unordered_map<std::string_view, int32_t>;

PieceIds mergeable_pieces(const SentencePieceModel& model) {
  PieceIds ids;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined) {
      ids.emplace(piece.text, static_cast<int32_t>(i));
    }
  }
  return ids;
}

// Returns how many bytes of pieces are compared to derive all merges.
size_t compared_bytes(const PieceIds& ids) {
  size_t bytes = 0;
  for (const auto& [text, id] : ids) bytes += text.size() * utf8::count(text);
  return bytes;
}

tl::unexpected<Error> fail_for_size(const SentencePieceModel& model) {
  return fail(Code::kTooLarge, "the {} pieces are too many or too long to derive merges from",
              model.pieces.size());
}

}  // namespace

Result<std::vector<Merge>> merges_of(const SentencePieceModel& model) {
  const PieceIds ids = mergeable_pieces(model);
  if (compared_bytes(ids) > kComparedBytesMax) return fail_for_size(model);
  std::vector<Candidate> candidates;
  for (const auto& [text, id] : ids) {
    const size_t characters = utf8::count(text);
    if (candidates.size() > kMergesMax) return fail_for_size(model);
    size_t cut = 0;
    for (size_t left = 1; left < characters; ++left) {
      cut += utf8::decode(text, cut).bytes;
      const auto first = ids.find(text.substr(0, cut));
      if (first == ids.end()) continue;
      const auto second = ids.find(text.substr(cut));
      if (second == ids.end()) continue;
      candidates.push_back({model.pieces[static_cast<size_t>(id)].score,
                            left,
                            characters - left,
                            id,
                            {first->second, second->second}});
    }
  }
  std::sort(candidates.begin(), candidates.end(), is_better);
  std::vector<Merge> merges;
  for (const Candidate& candidate : candidates) merges.push_back(candidate.merge);
  return merges;
}

}  // namespace signalbox::tools
