#pragma once
// Rank correlation of a model's cosines with human scores: the STS benchmark.

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// Returns the documents of a file, one per line. A line that is not JSON fails the test.
std::vector<json::Document> read_lines(const std::filesystem::path& path);

/// Returns Spearman's correlation over the lines {"a", "b", "score"} of a file.
double spearman_on_sts(const TextModel& model, const std::filesystem::path& path);

}  // namespace signalbox::engine
