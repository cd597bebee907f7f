#pragma once
// Which of the directories below a models directory serves a task, by the names that semantic
// routers give them. Adapters are preferred to a whole model: they are a hundredth of its size.
// Pure: a listing in, a choice with its reasons out.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::engine {

/// A directory below the models directory and the names of the files in it.
struct ModelListing {
  std::string name;
  std::vector<std::string> files;
};

struct Discovery {
  /// What a directory holds: a model (config.json, model.safetensors), or an adapter for one
  /// (adapter_config.json, adapter_model.safetensors).
  enum class Kind : uint8_t { kModel, kAdapter };
  struct Choice {
    std::string directory;
    Kind kind;
  };
  /// A directory that was looked for and not chosen: "is not there", "has no model.safetensors",
  /// "comes after lora_jailbreak_classifier_bert_model".
  struct Other {
    std::string directory;
    std::string reason;
  };
  std::optional<Choice> choice;  // none when nothing fits
  std::vector<Other> others;     // in the order of preference
};

/// The classifier of a task ("jailbreak", "intent", "pii"), in this order:
///   lora_TASK_classifier_{bert,roberta,modernbert}_model, TASK_classifier_modernbert-base_model.
Discovery discover_classifier(std::string_view task, std::span<const ModelListing> listing);

/// The listing of a models directory, sorted by name. Errors: kNotFound, kIo.
Result<std::vector<ModelListing>> list_models(const std::string& directory);

}  // namespace signalbox::engine
