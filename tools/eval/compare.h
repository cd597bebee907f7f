#pragma once
// Compares two models on the same rows: what differs, and whether chance could explain it.

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "tools/eval/evaluation.h"

namespace signalbox::tools {

struct Comparison {
  struct Difference {
    std::string name;
    double value = 0;  // the second minus the first
    Interval interval;
  };
  std::vector<Difference> figures;   // the figures that both have
  std::optional<PairedHits> hits{};  // for classifiers and taggers
  double chance = 1;                 // p-value of McNemar's test on `hits`
  int64_t rows = 0;
  /// Rows whose answer differs, or whose cosine differs by more than kCosineChange.
  std::vector<size_t> changed;
  double cosine_change_max = 0;
};

/// Smaller changes of a cosine are ignored.
inline constexpr double kCosineChange = 0.01;

/// Both arguments must come from the same rows and the same seed.
Comparison compare(const Evaluated& first, const Evaluated& second);

/// Writes members into an object that the caller has begun. Identifies at most twenty rows by their
/// lines, never by their text.
void write_json(const Comparison& comparison, const LabelledRows& rows, json::Writer& out);
std::string to_tables(const Comparison& comparison, const LabelledRows& rows);

}  // namespace signalbox::tools
