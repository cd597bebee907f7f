#pragma once
// Fits a head to labelled texts for a trunk that does not change: the work of `signalbox fit`.

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
  std::filesystem::path out;    // directory of the head; new, or written by an earlier fit
  engine::Precision precision = engine::Precision::kF32;
  int32_t threads = 1;            // does not affect the results
  bool first_token = false;       // classifiers: use the first token's state instead of the mean
  bool balanced = false;          // weight all labels equally, however rare they are
  std::optional<double> l2 = {};  // nullopt: the best of several, chosen on validation texts
  std::function<void(const std::string&)> print;  // receives progress, one line per call
};

struct FitReport {
  size_t train = 0, validation = 0, held_out = 0;  // texts
  int32_t folds = 0;                               // of cross-validation; 0: there was none
  double l2 = 0;
  double temperature = 0;                 // the layer's scores are already divided by it
  double loss = 0;                        // mean negative log-likelihood on the validation rows
  std::optional<Quality> quality = {};    // of a classifier, on the held-out part
  std::optional<SpanQuality> spans = {};  // of a tagger, on the held-out part
};

/// Writes config.json and model.safetensors of a linear head to options.out, opens it with its
/// trunk, measures it on the held-out texts and writes its card. Errors: those of the files;
/// kTooLarge if the vectors need more than four gigabytes.
Result<FitReport> fit_classifier(const FitOptions& options);
Result<FitReport> fit_tagger(const FitOptions& options);

}  // namespace signalbox::tools
