#pragma once
// The rank correlation of a model's cosines with the scores that people gave: the STS benchmark.

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// The documents of a file, one a line. Lines that are no JSON fail the test.
std::vector<json::Document> read_lines(const std::filesystem::path& path);

/// Spearman's correlation over the lines {"a", "b", "score"} of a file.
double spearman_on_sts(const TextModel& model, const std::filesystem::path& path);

}  // namespace signalbox::engine
