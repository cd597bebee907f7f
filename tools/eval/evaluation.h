#pragma once
// What a model says to labelled rows, and how right it is. One function a kind of rows; what comes
// out is alike, so that one reporter and one comparison serve all.

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

/// A model that is opened, and the head that is asked; kNoHead for embeddings.
struct Subject {
  static constexpr size_t kNoHead = SIZE_MAX;
  const engine::TextModel* model = nullptr;
  size_t head = kNoHead;
  std::string name = {};   // as the caller named it
  std::string dtype = {};  // "int8"
};

/// What a check of an answer against its context finds.
struct CheckedAnswer {
  double supported = 1;            // probability that all of it is
  std::vector<Marked> spans = {};  // that are not, in order, none over another; of no type
};

struct EvalOptions {
  /// Of a tagger: what becomes of the spans that a model marks in a text, such as joining them with
  /// those of rules. Empty: they stay.
  std::function<std::vector<engine::Entity>(std::string_view text, std::vector<engine::Entity>)>
      amend = {};
  /// Of a classifier: labels that together are the one to find. Empty: no figures of two classes.
  std::vector<std::string> positive = {};
  double false_positives = 0.01;      // the share of others that recall is given at
  std::optional<double> threshold{};  // from which score on an answer counts
  uint32_t seed = 1;                  // of the bootstrap
  std::function<void(size_t done, size_t of)> progress = [](size_t, size_t) {};
};

/// Milliseconds of one row, all threads of the process for `cpu`.
struct Times {
  std::vector<double> wall, cpu;  // (rows), sorted
  double seconds = 0;             // of all
};

/// A figure with its interval over resampled rows.
struct Measured {
  std::string name;  // "macro_f1"
  double value = 0;
  Interval interval;
  std::vector<double> samples;
};

/// The two-class view of a classifier.
struct TwoClasses {
  std::vector<std::string> positive;
  int64_t rows = 0;  // that are positive
  double area = 0;   // under the ROC curve
  double share_max = 0;
  Roc::Point point{};  // at share_max
};

/// Rows whose score reaches a threshold.
struct AtThreshold {
  double threshold = 0;
  int64_t rows = 0;
  int64_t hits = 0;       // of those
  LabelQuality positive;  // of two classes: what is taken for positive from the threshold up
  int64_t negatives = 0;
};

/// Of one file: `flagged` are rows taken for positive (classifiers), or with any span (taggers).
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
  std::vector<FileShare> files;  // of LabelledRows::files

  std::optional<Quality> quality = {};  // of a classifier
  std::optional<TwoClasses> two = {};
  std::optional<AtThreshold> at_threshold = {};
  std::optional<SpanQuality> spans = {};  // of a tagger
  int64_t not_supported = 0;              // answers that say more than their context
  int64_t clean = 0, clean_flagged = 0;   // texts without spans, those where one was found
  int64_t out_of_reach = 0;               // spans of the rows that no answer can have
  std::optional<int64_t> cut = {};        // rows longer than the model reads

  /// What the model said, a row each: answers that are equal are the same answer.
  std::vector<std::string> answers;
  std::vector<double> cosines;  // of embeddings
  std::vector<uint8_t> hits;    // of classifiers and taggers
};

/// What evaluate() would refuse before a model runs: kInvalid for a row's label, or a positive one,
/// that the model does not have; kUnsupported for a head without probabilities.
Result<void> check(const Subject& subject, const LabelledRows& rows, RowKind kind,
                   const EvalOptions& options);

/// Runs the subject over all rows. Errors name file and line.
///   kLabel, kPairLabel  is the likeliest label the row's?
///   kSpans              spans of the same type and bounds; a hit is a text with all and no other
///   kScore              correlation of the embeddings' cosine with the score
Result<Evaluated> evaluate(const Subject& subject, const LabelledRows& rows, RowKind kind,
                           const EvalOptions& options);

using CheckAnswer = std::function<Result<CheckedAnswer>(
    const std::string& context, const std::string& question, const std::string& answer)>;

/// Rows of kAnswer: which answers say more than their context? One counts as found when 1 -
/// `supported` reaches options.threshold, 0.5 unless it is given. Beside it stands a baseline: the
/// share of an answer's words that are in neither context nor question, at the threshold that suits
/// these rows best.
Result<Evaluated> evaluate_answers(const std::string& name, const CheckAnswer& check,
                                   const LabelledRows& rows, const EvalOptions& options);

}  // namespace signalbox::tools
