#pragma once
// Finds personal data in texts, by rules and, if there is one, by a token classifier.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "router/safety/pii/rules.h"
#include "router/signals/inputs.h"
#include "router/signals/types.h"

namespace signalbox::signals {

/// Returns the spans that a model finds in one window of text.
using SpanFinder = std::function<Result<std::vector<engine::Entity>>(std::string_view window)>;

struct PiiFound {
  std::vector<std::vector<pii::PiiEntity>> in;  // (texts)
  bool whole = true;                            // the model has read every byte; rules always do
};

/// Returns what rules find across the end of one text and the beginning of the next, with or
/// without a line break between them: begin is an offset into `first`, end one into `second`.
/// Domains are left out, because two sentences may form one ("docs." and "io"). A text that
/// ends with a sentence is complete: "ada@home." and "Is it?" would form an address.
std::vector<pii::PiiEntity> split_entities(std::string_view first, std::string_view second);

/// Immutable and thread-safe.
class PiiFinder {
 public:
  /// The classifier's head must mark spans. Without a model only the rules apply.
  explicit PiiFinder(ModelChoice classifier);

  bool has_model() const { return classifier_.model != nullptr; }
  /// Types in upper case: those of the rules, then those of the model, renamed by the
  /// configuration's mapping. kDefaultThreshold is the least score of a span unless the
  /// configuration sets another.
  const std::vector<std::string>& types() const { return types_; }
  static constexpr double kDefaultThreshold = 0.9;

  /// Returns the entities of each text, from rules and model (safety/pii/find.h), and what
  /// rules find in runs of base64 and hexadecimal digits. Calls
  /// `find_spans` for each window of the model. Returns the errors of `find_spans`; kCorrupt for a
  /// label that the model has not declared.
  Result<PiiFound> entities(const std::vector<std::string_view>& texts,
                            const SpanFinder& find_spans) const;
  /// The same for texts of a request.
  Result<PiiFound> entities(const std::vector<std::string_view>& texts, Inputs& inputs) const;

  /// Raises the score of each type, (types()), to the highest score of its entities in the texts,
  /// which are in reverse order, and of those that are split over two of them. Returns
  /// whether the model read the texts completely.
  Result<bool> find(const std::vector<std::string_view>& texts, Inputs& inputs,
                    std::vector<double>& scores) const;
  /// The same by rules alone, for text that no model needs to read.
  void find_by_rules(std::string_view text, std::vector<double>& scores) const;

 private:
  void raise(const std::vector<pii::PiiEntity>& found, std::vector<double>& scores) const;
  Result<std::vector<pii::PiiEntity>> to_pii_entities(std::string_view text,
                                                      std::string_view window,
                                                      std::vector<engine::Entity> spans) const;

  ModelChoice classifier_;
  std::vector<std::string> types_;
  // From the model's own type name to an index in types_.
  std::map<std::string, size_t> type_index_;
};

}  // namespace signalbox::signals
