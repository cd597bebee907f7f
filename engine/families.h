#pragma once
// The architectures that the engine runs: one line each in families.cc.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/activation.h"
#include "engine/engine.h"
#include "engine/trunk.h"

namespace signalbox::engine {

/// The form in which a family's heads read hidden states.
enum class HeadForm : uint8_t {
  kNone,        // the family has no heads
  kTokens,      // only heads for tokens: a classifier
  kFirst,       // a sequence's first token through a dense layer and an activation; tokens directly
  kPrediction,  // the pooled vector or each token through a dense layer, an activation and a norm
  kLast,        // a sequence's last token, or each token, through a matrix named "score"
};

/// The layers of a head of form kFirst. Some families have two layers with a common name.
struct FirstTokenHead {
  std::string_view dense = "";  // as in a bare encoder; the encoder's prefix may precede it
  Activation activation = Activation::kTanh;
  std::string_view activation_key = "";  // of config.json, if the family lets it choose
  std::string_view classifier = "classifier";
};

struct Family {
  std::string_view model_type;
  std::array<std::string_view, 2> classes;  // how the names of its classes begin; "" for none
  Result<std::unique_ptr<const Trunk>> (*open)(const weights::HfConfig& config,
                                               const weights::SafeTensors& file,
                                               const TrunkOptions& options);
  HeadForm form = HeadForm::kFirst;
  FirstTokenHead first = {};
};

/// Returns the family of config.json's model_type. Errors: kUnsupported with the known types.
Result<const Family*> find_family(const weights::HfObject& config);

/// The part that a class of a family adds to the encoder.
struct Architecture {
  std::string_view suffix;       // "ForSequenceClassification" of "BertForSequenceClassification"
  std::optional<HeadKind> head;  // nullopt: nothing, or a language model's head
};

/// Returns the family's architecture of config.json's `architectures`, or null if the key is
/// missing. Errors: kUnsupported for an unknown class; kCorrupt for another family's.
Result<const Architecture*> find_architecture(const weights::HfObject& config,
                                              const Family& family);

}  // namespace signalbox::engine
