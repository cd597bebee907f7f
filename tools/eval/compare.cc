// Both models' samples were drawn with one seed, so the n-th sample of each has the same rows.

#include "tools/eval/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/eval/report.h"

namespace signalbox::tools {
namespace {

constexpr size_t kLinesShown = 20;

std::vector<Comparison::Difference> differences(const Evaluated& first, const Evaluated& second) {
  std::vector<Comparison::Difference> out;
  for (const Measured& a : first.figures) {
    const auto b = std::ranges::find(second.figures, a.name, &Measured::name);
    if (b == second.figures.end()) continue;
    std::vector<double> samples(a.samples.size());
    std::ranges::transform(b->samples, a.samples, samples.begin(), std::minus());
    out.push_back({a.name, b->value - a.value, percentile_interval(std::move(samples))});
  }
  return out;
}

PairedHits paired(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second) {
  PairedHits out{.rows = std::ssize(first)};
  for (size_t r = 0; r < first.size(); ++r) {
    out.first_only += first[r] > second[r];
    out.second_only += second[r] > first[r];
  }
  return out;
}

double accuracy_change(const PairedHits& hits) {
  return hits.rows == 0 ? 0
                        : static_cast<double>(hits.second_only - hits.first_only) /
                              static_cast<double>(hits.rows);
}

}  // namespace

Comparison compare(const Evaluated& first, const Evaluated& second) {
  Comparison out;
  out.figures = differences(first, second);
  if (!first.hits.empty()) {
    out.hits = paired(first.hits, second.hits);
    out.chance = mcnemar(*out.hits);
  }
  out.rows = static_cast<int64_t>(std::max(first.answers.size(), first.cosines.size()));
  for (size_t r = 0; r < first.answers.size(); ++r) {
    if (first.answers[r] != second.answers[r]) out.changed.push_back(r);
  }
  for (size_t r = 0; r < first.cosines.size(); ++r) {
    const double change = std::abs(first.cosines[r] - second.cosines[r]);
    out.cosine_change_max = std::max(out.cosine_change_max, change);
    if (change > kCosineChange) out.changed.push_back(r);
  }
  return out;
}

void write_json(const Comparison& comparison, const LabelledRows& rows, json::Writer& out) {
  if (comparison.hits) {
    write_figure("accuracy", accuracy_change(*comparison.hits),
                 accuracy_difference(*comparison.hits), out);
    out.member("first_only", comparison.hits->first_only);
    out.member("second_only", comparison.hits->second_only);
    out.member("mcnemar", comparison.chance);
  } else {
    out.member("cosine_change_max", comparison.cosine_change_max);
  }
  for (const Comparison::Difference& each : comparison.figures)
    write_figure(each.name, each.value, each.interval, out);
  out.member("changed", static_cast<int64_t>(comparison.changed.size()));
  out.key("changed_lines").begin_array();
  for (size_t i = 0; i < std::min(kLinesShown, comparison.changed.size()); ++i) {
    const LabelledRow& row = rows.rows[comparison.changed[i]];
    out.begin_object().member("file", rows.files[row.file]);
    out.member("line", static_cast<int64_t>(row.line)).end_object();
  }
  out.end_array();
}

std::string to_tables(const Comparison& comparison, const LabelledRows& rows) {
  std::string out = "second minus first\n";
  const auto line = [&](std::string_view name, double value, const Interval& interval) {
    out += fmt::format("  {:<26} {:>+8.4f} (95 %: {:+.4f} to {:+.4f})\n", name, value, interval.low,
                       interval.high);
  };
  if (comparison.hits) {
    line("accuracy", accuracy_change(*comparison.hits), accuracy_difference(*comparison.hits));
    out += fmt::format(
        "  right only with the first: {}, only with the second: {}; probability by chance: "
        "{:.4g} (McNemar)\n",
        comparison.hits->first_only, comparison.hits->second_only, comparison.chance);
  } else {
    out += fmt::format("  largest change of a cosine: {:.4f}\n", comparison.cosine_change_max);
  }
  for (const Comparison::Difference& each : comparison.figures)
    line(each.name, each.value, each.interval);
  const std::string change = comparison.hits ? "have a different answer"
                                             : fmt::format("change by more than {}", kCosineChange);
  out += fmt::format("  {} of {} rows {}{}\n", comparison.changed.size(), comparison.rows, change,
                     comparison.changed.empty() ? "" : ":");
  for (size_t i = 0; i < std::min(kLinesShown, comparison.changed.size()); ++i)
    out += fmt::format("    {}\n", rows.place(comparison.changed[i]));
  if (comparison.changed.size() > kLinesShown) out += "    ...\n";
  return out;
}

}  // namespace signalbox::tools
