#pragma once
// Personal data in texts, by rules and, where there is one, by a classifier of tokens.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "router/safety/pii/rules.h"
#include "router/signals/inputs.h"
#include "router/signals/types.h"

namespace signalbox::signals {

/// What a model marks in a piece of text.
using AskForSpans = std::function<Result<std::vector<engine::Entity>>(std::string_view window)>;

struct PiiFound {
  std::vector<std::vector<pii::PiiEntity>> in;  // (texts)
  bool whole = true;                            // the model has seen every byte; rules always have
};

/// Immutable and thread-safe.
class PiiFinder {
 public:
  /// The model's head marks spans; without a model rules find what they know.
  explicit PiiFinder(ModelChoice classifier);

  bool has_model() const { return classifier_.model != nullptr; }
  /// In upper case, as the configuration's mapping names them, or the model, and the rules'. A span
  /// is sure enough from this on unless the configuration says otherwise.
  const std::vector<std::string>& types() const { return types_; }
  static constexpr double kDefaultThreshold = 0.9;

  /// What each text holds, merged (guard/pii_merge). The model is asked window by window, with
  /// `ask`. Errors are `ask`'s; kCorrupt for a label that the model has not declared.
  Result<PiiFound> entities(const std::vector<std::string_view>& texts,
                            const AskForSpans& ask) const;
  /// The same, of texts of a request.
  Result<PiiFound> entities(const std::vector<std::string_view>& texts, Inputs& inputs) const;

  /// Raises the score of each type, (types()), to that of its surest entity in the texts; whether
  /// all of them was looked at.
  Result<bool> find(const std::vector<std::string_view>& texts, Inputs& inputs,
                    std::vector<double>& scores) const;

 private:
  Result<std::vector<pii::PiiEntity>> renamed(std::string_view text, std::string_view window,
                                              std::vector<engine::Entity> marked) const;

  ModelChoice classifier_;
  std::vector<std::string> types_;
  std::map<std::string, size_t> type_of_own_;  // index in types_, by the model's own name
};

}  // namespace signalbox::signals
