#pragma once
// The tokenizer of a model directory.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Opens the directory's tokenizer.json; returns null if there is none. kCorrupt if it has more ids
/// than the network's vocabulary or more types than its table, and the errors of
/// Tokenizer::open_directory().
Result<std::unique_ptr<const tokenizer::Tokenizer>> open_tokenizer(
    const std::filesystem::path& directory, const TrunkShape& shape);

}  // namespace signalbox::engine
