#pragma once
// Makes a model directory that the engine opens from the files of a repository.

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/hub/receipt.h"
#include "tools/hub/selection.h"
#include "tools/vocabulary/vocabulary_class.h"

namespace signalbox::tools {

/// Returns kUnsupported with the engine's reason if the engine cannot run a model with the folder's
/// config.json, whatever its weights. So such a model is refused before its weights are fetched.
Result<void> check_architecture(const std::filesystem::path& folder);

/// Returns the tokenizer class that turns the folder's vocabulary into a tokenizer.json. None is
/// found if the folder has a tokenizer.json already. Errors: those of choose_vocabulary().
Result<VocabularyChoice> vocabulary_of(const std::filesystem::path& folder);

/// Returns whether the folder's weights are not safetensors, or a vocabulary must become a
/// tokenizer.json.
bool needs_conversion(const Selection& selection, const VocabularyChoice& vocabulary);

/// Replaces the weights by model.safetensors, and makes a missing tokenizer.json. `weights` are the
/// paths of the old weights; the receipt moves them from `files` to `converted_from`. Errors: those
/// of convert_model().
Result<void> convert_in_place(const std::filesystem::path& folder, const Selection& selection,
                              const std::vector<std::string>& weights, PullReceipt& receipt);

/// Opens the folder as a model once. Errors: those of the engine, without the folder's path.
Result<void> check_opens(const std::filesystem::path& folder);

}  // namespace signalbox::tools
