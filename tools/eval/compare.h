#pragma once
// Two models on the same rows: what differs, and whether it could be chance.

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "tools/eval/evaluation.h"

namespace signalbox::tools {

struct Comparison {
  struct Difference {
    std::string name;
    double value = 0;  // the second less the first
    Interval interval;
  };
  std::vector<Difference> figures;   // of the figures that both have
  std::optional<PairedHits> hits{};  // of classifiers and taggers
  double chance = 1;                 // of McNemar's test over them
  int64_t rows = 0;
  std::vector<size_t> changed;  // rows with another answer, or a cosine over kCosineChange away
  double cosine_change_max = 0;
};

/// Smaller changes of a cosine are not counted.
inline constexpr double kCosineChange = 0.01;

/// Both of the same rows, with the same seed.
Comparison compare(const Evaluated& first, const Evaluated& second);

/// Members of an object that the caller has begun. Rows are told by their lines, twenty at most,
/// never by their text.
void write_json(const Comparison& comparison, const LabelledRows& rows, json::Writer& out);
std::string words(const Comparison& comparison, const LabelledRows& rows);

}  // namespace signalbox::tools
