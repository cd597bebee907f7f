#pragma once
// Personal data in a text by a classifier of tokens: which types, never what was found.

#include <map>
#include <string>
#include <vector>

#include "router/signals/inputs.h"
#include "router/signals/types.h"

namespace signalbox::router {

/// Immutable and thread-safe.
class PiiFinder {
 public:
  /// `classifier` has a model, whose head marks spans.
  explicit PiiFinder(ModelChoice classifier);

  /// In upper case, as the configuration's mapping names them, or the model. A span is sure enough
  /// from this on unless the configuration says otherwise.
  const std::vector<std::string>& types() const { return types_; }
  static constexpr double kDefaultThreshold = 0.9;

  /// Raises the score of each type, (types()), to that of its surest span in the texts, which are
  /// looked at in windows; false when they are too long to be looked at whole. Errors are the
  /// model's; kCorrupt for a label that it has not declared.
  Result<bool> find(const std::vector<std::string_view>& texts, Inputs& inputs,
                    std::vector<double>& scores) const;

 private:
  ModelChoice classifier_;
  std::vector<std::string> types_;
  std::map<std::string, size_t> type_of_own_;  // index in types_, by the model's own name
};

/// ASCII letters in upper case.
std::string upper_ascii(std::string_view text);

}  // namespace signalbox::router
