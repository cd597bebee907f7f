#pragma once
// Measures how well predictions agree with labels, for the reports of `fit` and `eval`.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "tools/labels.h"

namespace signalbox::tools {

/// The 95 % confidence interval of a share: E. B. Wilson, "Probable Inference", 1927.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval wilson(int64_t hits, int64_t of);

struct LabelQuality {
  std::string label;
  int64_t support = 0;  // rows or spans that have this label
  int64_t predicted = 0;
  int64_t hits = 0;  // rows or spans that have it and were predicted so

  double precision() const;  // 0 if nothing is predicted
  double recall() const;     // 0 without support
  double f1() const;
};

/// The quality of a classifier.
struct Quality {
  int64_t rows = 0;
  double accuracy = 0;
  Interval accuracy_interval;
  double macro_f1 = 0;  // over labels that occur
  /// Expected calibration error over equal bins of the best score: Guo et al., 2017.
  double calibration_error = 0;
  struct Bin {
    int64_t rows = 0;
    int64_t hits = 0;
    double scores = 0;  // sum of the best scores
  };
  std::array<Bin, 15> bins;
  std::vector<LabelQuality> labels;

  struct Confusion {
    int32_t truth;
    int32_t predicted;
    int64_t rows;
    double score;  // mean score of the wrong label
  };
  std::vector<Confusion> confusions;  // most frequent first
};

/// scores (rows, labels), each row adding up to 1; truths (rows).
Quality classifier_quality(std::span<const std::string> labels, std::span<const int32_t> truths,
                           std::span<const float> scores);

/// The quality of a tagger. A span is a hit if its type and both ends agree.
struct SpanQuality {
  int64_t texts = 0;
  LabelQuality all;  // over every type
  std::vector<LabelQuality> types;
};

/// The counts of one text. hits <= support, even if a span is found twice.
struct SpanCounts {
  int64_t support = 0, predicted = 0, hits = 0;
};

/// Accumulates the counts of texts.
class SpanCounter {
 public:
  /// `types` are reported even if no text has them.
  explicit SpanCounter(std::span<const std::string> types = {});
  SpanCounts add(std::span<const LabelledSpan> truth, std::span<const engine::Entity> found);
  SpanQuality quality() const;

 private:
  int64_t texts_ = 0;
  std::map<std::string, LabelQuality, std::less<>> types_;
};

void write_json(const Quality& quality, json::Writer& out);
void write_json(const SpanQuality& quality, json::Writer& out);
/// Tables for the terminal.
std::string to_tables(const Quality& quality);
std::string to_tables(const SpanQuality& quality);

}  // namespace signalbox::tools
