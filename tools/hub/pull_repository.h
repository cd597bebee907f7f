#pragma once
// Installs a repository of a Hugging Face hub, or of a mirror folder, as a model directory.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tools/hub/repository.h"

namespace signalbox::tools {

struct PullRepositoryOptions {
  std::filesystem::path to = "models";  // files go to TO/NAME, without the owner
  std::filesystem::path mirror = {};    // read instead of the hub; empty: the hub
  bool is_base = false;                 // the base model of an adapter, so not an adapter itself
  std::function<void(std::string_view line)> print = [](std::string_view) {};  // progress
};

/// Fetches the files that the engine needs (selection.h) into the hidden folder TO/.NAME.partial,
/// checks size and digest of each, converts weights that are not safetensors, opens the model, and
/// only then moves the files to TO/NAME, with a receipt for them (receipt.h). For an adapter, the
/// base model is pulled first unless it is there. If a GLiNER lacks the configuration or the
/// tokenizer of its encoder, fetches them from the encoder's repository. An interrupted pull
/// continues where it stopped. Two pulls of one model wait for each other.
///
/// Without a revision, an installed and undamaged model is kept without a request, and damaged
/// files are fetched again from the same commit. With a revision, the files of that revision
/// replace the others.
///
/// The caller holds an InterruptGuard. Errors begin with the name: those of HubClient and
/// find_in_mirror(); kUnsupported with the engine's reason, after which nothing stays; kInvalid if
/// TO/NAME holds something else; kCorrupt if the hub's digests of a commit are not the recorded
/// ones.
Result<void> pull_repository(const RepositoryName& name, const PullRepositoryOptions& options);

}  // namespace signalbox::tools
