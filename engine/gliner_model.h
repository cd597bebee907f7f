#pragma once
// GLiNER as a text model: its one head marks the spans of the labels that it was opened with.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// TextModel::open() for a directory with a gliner_config.json, whose `signalbox_labels` are the
/// labels if the options have none. Without labels the model opens, but answer() is kInvalid. The
/// labels are read in front of every text; tokens_max(), tokens() and windows() count the tokens of
/// the text alone. Texts cannot be embedded. Errors: kNotFound, kIo, kCorrupt, kUnsupported, and
/// kInvalid for labels that cannot be used and for heads or adapters. Each names the file or the
/// label.
Result<std::unique_ptr<const TextModel>> open_gliner(const std::filesystem::path& directory,
                                                     const OpenOptions& options);

}  // namespace signalbox::engine
