#pragma once
// Orders documents by their relevance to a query with a cross-encoder: a model with one output that
// reads the query and a document together. Nogueira and Cho, "Passage Re-ranking with BERT", 2019.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/patience.h"

namespace signalbox::engine {

struct RankedDocument {
  size_t index = 0;  // in the list of documents
  float score = 0;
  bool whole = true;   // false: a part of the query or of the document was not read
  int64_t tokens = 0;  // that the model has read for it
};

struct RankOptions {
  bool raw = false;  // leave the scores without the sigmoid
  /// If a document cannot be read completely with the query, the model does not run, and only the
  /// first such document is returned, without a score.
  bool only_whole = false;
};

/// A document is read in at most so many windows.
inline constexpr size_t kDocumentWindowsMax = 64;

/// Returns kInvalid unless the head classifies whole texts and has one label.
Result<void> check_reranker(const HeadInfo& head);

/// Scores all documents and returns them best first; equal scores keep the order of the documents.
/// A score is the model's output after the sigmoid, unless the model's config.json selects the raw
/// output (Scores::kRaw) or the options do. A document that the model cannot read together with the
/// query is read in windows, which overlap by an eighth, and has the score of its best window. The
/// query has at most half of the model's tokens then. Errors: those of check_reranker() and of
/// TextModel::answer_within().
Result<std::vector<RankedDocument>> rerank(const TextModel& model, size_t head,
                                           std::string_view query,
                                           std::span<const std::string_view> documents,
                                           const RankOptions& options = {},
                                           const Patience& patience = {});

}  // namespace signalbox::engine
