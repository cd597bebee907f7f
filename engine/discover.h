#pragma once
// Finds the directory in a models directory that serves a task, by the names that semantic routers
// use. Adapters are preferred to whole models because they are a hundredth of the size. Pure: takes
// a listing, returns a choice with its reasons.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::engine {

/// A directory in the models directory and its file names.
struct ModelListing {
  std::string name;
  std::vector<std::string> files;
};

struct Discovery {
  /// The content of a directory: a model (config.json, model.safetensors), or an adapter for one
  /// (adapter_config.json, adapter_model.safetensors).
  enum class Kind : uint8_t { kModel, kAdapter };
  struct Choice {
    std::string directory;
    Kind kind;
  };
  /// A candidate that was not chosen: "is not there", "has no model.safetensors", "comes after
  /// lora_jailbreak_classifier_bert_model".
  struct Other {
    std::string directory;
    std::string reason;
  };
  std::optional<Choice> choice;  // nullopt if no candidate is usable
  std::vector<Other> others;     // in order of preference
};

/// Returns the classifier for a task ("jailbreak", "intent"), in this order:
///   lora_TASK_classifier_{bert,roberta,modernbert}_model, each followed by the name under which it
///   is published (bert-base-uncased, roberta-base, modernbert-base),
///   TASK_classifier_modernbert-base_model.
Discovery discover_classifier(std::string_view task, std::span<const ModelListing> listing);

/// Lists a models directory, sorted by name. Errors: kNotFound, kIo.
Result<std::vector<ModelListing>> list_models(const std::string& directory);

}  // namespace signalbox::engine
