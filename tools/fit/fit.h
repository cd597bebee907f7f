#pragma once
// A head for a trunk that stays as it is, from labelled texts: what `signalbox fit` does.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "engine/engine.h"
#include "tools/quality.h"

namespace signalbox::tools {

struct FitOptions {
  std::filesystem::path trunk;  // a model directory
  std::filesystem::path data;   // JSON Lines, as examples.h reads them
  std::filesystem::path out;    // directory of the head, new or of one that was fitted
  engine::Precision precision = engine::Precision::kF32;
  int32_t threads = 1;            // results do not depend on it
  bool first_token = false;       // of a classifier: the first token's state, not the mean
  bool balanced = false;          // each label counts the same, however rare it is
  std::optional<double> l2 = {};  // none: the best of a few on texts that are not learnt from
  std::function<void(const std::string&)> say;  // progress, a line each
};

struct FitReport {
  size_t train = 0, validation = 0, held_out = 0;  // texts
  double l2 = 0;
  double temperature = 0;                 // that the scores were divided by, and are no more
  double loss = 0;                        // mean negative log-likelihood where they were chosen
  std::optional<Quality> quality = {};    // of a classifier, on the held-out part
  std::optional<SpanQuality> spans = {};  // of a tagger
};

/// Writes config.json and model.safetensors of a linear head to options.out, opens it beside its
/// trunk, and measures it there on texts that it has not seen. Errors: those of the files, and
/// kTooLarge for more vectors than fit in four gigabytes.
Result<FitReport> fit_classifier(const FitOptions& options);
Result<FitReport> fit_tagger(const FitOptions& options);

}  // namespace signalbox::tools
