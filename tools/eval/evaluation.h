#pragma once
// Runs a model over labelled rows and measures how often it is right. There is one function per
// kind of rows; all return the same structure, so one report and one comparison serve all kinds.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "tools/eval/rows.h"
#include "tools/eval/statistics.h"
#include "tools/quality.h"

namespace signalbox::tools {

/// An open model and the head to evaluate; kNoHead for embeddings.
struct Subject {
  static constexpr size_t kNoHead = SIZE_MAX;
  const engine::TextModel* model = nullptr;
  size_t head = kNoHead;
  std::string name = {};   // as the caller named it
  std::string dtype = {};  // "int8"
};

/// The result of checking an answer against its context.
struct CheckedAnswer {
  double supported = 1;                  // probability that all of the answer is supported
  std::vector<LabelledSpan> spans = {};  // unsupported spans in order, without overlap; types empty
};

struct EvalOptions {
  /// For taggers: changes the spans that the model marks in a text, for example joins them with
  /// those of rules. Empty: no change.
  std::function<std::vector<engine::Entity>(std::string_view text, std::vector<engine::Entity>)>
      amend = {};
  /// For classifiers: labels that together form the positive class. Empty: no two-class figures.
  std::vector<std::string> positive = {};
  double false_positives = 0.01;      // false positive rate at which recall is reported
  std::optional<double> threshold{};  // lowest score at which an answer counts
  uint32_t seed = 1;                  // for the bootstrap
  std::function<void(size_t done, size_t of)> progress = [](size_t, size_t) {};
};

/// Milliseconds per row; `cpu` adds up all threads of the process.
struct Times {
  std::vector<double> wall, cpu;  // (rows), sorted
  double seconds = 0;             // total
};

/// A figure with its confidence interval over resampled rows.
struct Measured {
  std::string name;  // "macro_f1"
  double value = 0;
  Interval interval;
  std::vector<double> samples;
};

/// The two-class view of a classifier.
struct TwoClasses {
  std::vector<std::string> positive;
  int64_t rows = 0;  // positive rows
  double area = 0;   // under the ROC curve
  double share_max = 0;
  Roc::Point point{};  // at share_max
};

/// Rows whose score reaches the threshold.
struct AtThreshold {
  double threshold = 0;
  int64_t rows = 0;
  int64_t hits = 0;       // correct rows among them
  LabelQuality positive;  // two-class view: rows with a positive score of at least the threshold
  int64_t negatives = 0;
};

/// The results of one file. `flagged` counts rows classified as positive (classifiers) or with any
/// span (taggers).
struct FileShare {
  int64_t rows = 0;
  int64_t hits = 0;
  int64_t flagged = 0;
  int64_t flagged_at_point = 0;  // at TwoClasses::point
};

struct Evaluated {
  std::string model, dtype;
  Times times;
  std::vector<Measured> figures;
  std::vector<FileShare> files;  // parallel to LabelledRows::files

  std::optional<Quality> quality = {};  // for classifiers
  std::optional<TwoClasses> two = {};
  std::optional<AtThreshold> at_threshold = {};
  std::optional<SpanQuality> spans = {};  // for taggers
  int64_t not_supported = 0;              // answers that their context does not support
  int64_t clean = 0, clean_flagged = 0;   // texts without spans; those in which a span was found
  int64_t unreachable_spans = 0;          // labelled spans that no answer can match
  std::optional<int64_t> cut = {};        // rows that were not read completely

  /// The model's answer for each row, as text; equal answers have equal texts.
  std::vector<std::string> answers;
  std::vector<double> cosines;  // for embeddings
  std::vector<uint8_t> hits;    // for classifiers and taggers
};

/// Performs the checks of evaluate() that need no model run: kInvalid if the model lacks a row's
/// label or a positive label; kUnsupported for a head without probabilities.
Result<void> check(const Subject& subject, const LabelledRows& rows, RowKind kind,
                   const EvalOptions& options);

/// Runs the subject over all rows. Errors name file and line. A hit is:
///   kLabel, kPairLabel  a row whose likeliest label is its own
///   kSpans              a text in which all spans are found with type and bounds, and no others
///   kScore              not defined; measures the correlation of the cosine with the score
Result<Evaluated> evaluate(const Subject& subject, const LabelledRows& rows, RowKind kind,
                           const EvalOptions& options);

using CheckAnswer = std::function<Result<CheckedAnswer>(
    const std::string& context, const std::string& question, const std::string& answer)>;

/// Evaluates rows of kAnswer: which answers does their context not support? An answer counts as
/// unsupported if 1 - `supported` reaches options.threshold (default 0.5). A baseline is reported
/// too: the share of an answer's words that occur in neither context nor question, at the threshold
/// that suits these rows best.
Result<Evaluated> evaluate_answers(const std::string& name, const CheckAnswer& check,
                                   const LabelledRows& rows, const EvalOptions& options);

}  // namespace signalbox::tools
