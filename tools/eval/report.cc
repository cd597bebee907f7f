// Writes only the parts that exist for the kind of rows.

#include "tools/eval/report.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace signalbox::tools {
namespace {

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double mean(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Formats a share with its interval: "0.9100 (95 %: 0.8900 to 0.9300)".
std::string figure_text(double value, const Interval& interval) {
  if (!std::isfinite(value)) return "none";
  return fmt::format("{:.4f} (95 %: {:.4f} to {:.4f})", value, interval.low, interval.high);
}

std::string figure_text(int64_t part, int64_t whole) {
  return figure_text(share(part, whole), wilson(part, whole));
}

void write_share(std::string_view name, int64_t part, int64_t whole, json::Writer& out) {
  write_figure(name, share(part, whole), wilson(part, whole), out);
}

void write_times(std::string_view name, std::span<const double> sorted, json::Writer& out) {
  out.key(name).begin_object();
  out.member("p50", percentile(sorted, 0.5)).member("p90", percentile(sorted, 0.9));
  out.member("p99", percentile(sorted, 0.99)).member("max", percentile(sorted, 1));
  out.member("mean", mean(sorted)).end_object();
}

std::string times_text(const char* name, std::span<const double> sorted) {
  return fmt::format("  {:<6} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", name,
                     percentile(sorted, 0.5), percentile(sorted, 0.9), percentile(sorted, 0.99),
                     percentile(sorted, 1), mean(sorted));
}

double rows_per_second(const Times& times) {
  return times.seconds > 0 ? static_cast<double>(times.wall.size()) / times.seconds : 0;
}

void write_bins(const Quality& quality, json::Writer& out) {
  out.key("reliability").begin_array();
  for (const Quality::Bin& bin : quality.bins) {
    out.begin_object().member("rows", bin.rows);
    out.member("accuracy", share(bin.hits, bin.rows));
    out.member("score", bin.rows == 0 ? 0 : bin.scores / static_cast<double>(bin.rows));
    out.end_object();
  }
  out.end_array();
}

void write_two(const TwoClasses& two, json::Writer& out) {
  out.key("positive").begin_object().key("labels").begin_array();
  for (const std::string& label : two.positive) out.string(label);
  out.end_array().member("rows", two.rows).member("false_positives_max", two.share_max);
  out.member("threshold", two.point.threshold).member("recall", two.point.recall);
  out.member("false_positives", two.point.false_positives).end_object();
}

void write_at_threshold(const AtThreshold& at, int64_t rows, bool two_classes, json::Writer& out) {
  out.key("at_threshold").begin_object().member("threshold", at.threshold);
  out.member("rows", at.rows);
  write_share("answered", at.rows, rows, out);
  write_share("accuracy", at.hits, at.rows, out);
  if (two_classes) {
    const LabelQuality& positive = at.positive;
    out.member("precision", positive.precision()).member("f1", positive.f1());
    write_share("recall", positive.hits, positive.support, out);
    write_share("false_positives", positive.predicted - positive.hits, at.negatives, out);
  }
  out.end_object();
}

bool has_flags(const Evaluated& evaluated) {
  return evaluated.two || (!evaluated.quality && evaluated.cosines.empty());
}

void write_files(const Evaluated& evaluated, const LabelledRows& rows, json::Writer& out) {
  out.key("files").begin_array();
  for (size_t i = 0; i < evaluated.files.size(); ++i) {
    const FileShare& file = evaluated.files[i];
    out.begin_object().member("file", rows.files[i]).member("rows", file.rows);
    if (!evaluated.hits.empty()) write_share("accuracy", file.hits, file.rows, out);
    if (has_flags(evaluated)) write_share("flagged", file.flagged, file.rows, out);
    if (evaluated.two)
      write_share("flagged_at_false_positives", file.flagged_at_point, file.rows, out);
    out.end_object();
  }
  out.end_array();
}

std::string two_classes_text(const TwoClasses& two) {
  std::string names;
  for (const std::string& label : two.positive) names += (names.empty() ? "" : " or ") + label;
  if (two.rows == 0) return names + ": no row has this label\n";
  if (!std::isfinite(two.point.false_positives))
    return names + ": every row has this label, so no false positive is possible\n";
  const double threshold = two.point.threshold;
  return fmt::format(
      "{} ({} rows): recall {:.4f} at a false positive rate of at most {:g} (threshold {}; actual "
      "rate {:.4f})\n",
      names, two.rows, two.point.recall, two.share_max,
      std::isfinite(threshold) ? fmt::format("{:.6g}", threshold) : "none",
      two.point.false_positives);
}

// `two_classes`: one class is to be found among other rows.
std::string at_threshold_text(const AtThreshold& at, bool two_classes) {
  if (!two_classes) {
    return fmt::format("{} rows score {:g} or more: accuracy {}\n", at.rows, at.threshold,
                       figure_text(at.hits, at.rows));
  }
  const LabelQuality& positive = at.positive;
  std::string out = fmt::format("at the threshold {:g}: precision {:.4f}, F1 {:.4f}\n",
                                at.threshold, positive.precision(), positive.f1());
  out += fmt::format("  recall           {}\n", figure_text(positive.hits, positive.support));
  return out + fmt::format("  false positives  {}\n",
                           figure_text(positive.predicted - positive.hits, at.negatives));
}

std::string files_text(const Evaluated& evaluated, const LabelledRows& rows) {
  std::string out = "  rows      accuracy   flagged  file\n";
  for (size_t i = 0; i < evaluated.files.size(); ++i) {
    const FileShare& file = evaluated.files[i];
    const auto cell = [&](bool is_shown, int64_t part) {
      return is_shown ? fmt::format("{:.4f}", share(part, file.rows)) : std::string("-");
    };
    out += fmt::format("  {:<9} {:>8} {:>9}  {}\n", file.rows,
                       cell(!evaluated.hits.empty(), file.hits),
                       cell(has_flags(evaluated), file.flagged), rows.files[i]);
  }
  return out;
}

}  // namespace

void write_figure(std::string_view name, double value, const Interval& interval,
                  json::Writer& out) {
  out.member(name, value).key(fmt::format("{}_95", name)).begin_array();
  out.number(interval.low).number(interval.high).end_array();
}

void write_json(const Evaluated& evaluated, const LabelledRows& rows, json::Writer& out) {
  out.member("model", evaluated.model).member("dtype", evaluated.dtype);
  if (evaluated.quality) {
    write_json(*evaluated.quality, out);
    write_bins(*evaluated.quality, out);
  } else if (evaluated.spans) {
    write_json(*evaluated.spans, out);
    write_share("clean_flagged", evaluated.clean_flagged, evaluated.clean, out);
    out.member("out_of_reach", evaluated.unreachable_spans);
  } else {
    out.member("rows", static_cast<int64_t>(rows.rows.size()));
    if (evaluated.cosines.empty()) out.member("not_supported", evaluated.not_supported);
  }
  for (const Measured& figure : evaluated.figures) {
    // Skips the figures that the counts above already include.
    const bool is_shown = (evaluated.quality && figure.name == "macro_f1") ||
                          (evaluated.spans && figure.name == "f1");
    if (!is_shown) out.member(figure.name, figure.value);
    out.key(figure.name + "_95").begin_array();
    out.number(figure.interval.low).number(figure.interval.high).end_array();
  }
  if (evaluated.two) write_two(*evaluated.two, out);
  if (evaluated.at_threshold) {
    write_at_threshold(*evaluated.at_threshold, static_cast<int64_t>(rows.rows.size()),
                       evaluated.two || !evaluated.quality, out);
  }
  if (evaluated.cut) out.member("cut", *evaluated.cut);
  write_files(evaluated, rows, out);
  out.key("latency_ms").begin_object();
  write_times("wall", evaluated.times.wall, out);
  write_times("cpu", evaluated.times.cpu, out);
  out.end_object().member("rows_per_second", rows_per_second(evaluated.times));
}

std::string to_tables(const Evaluated& evaluated, const LabelledRows& rows) {
  std::string out = evaluated.model;
  out += evaluated.dtype.empty() ? "\n" : fmt::format(" in {}\n", evaluated.dtype);
  if (evaluated.quality) out += to_tables(*evaluated.quality);
  if (evaluated.spans) {
    out += to_tables(*evaluated.spans);
    out += fmt::format("texts without spans: {}, share flagged {}\n", evaluated.clean,
                       figure_text(evaluated.clean_flagged, evaluated.clean));
  }
  if (!evaluated.cosines.empty()) {
    out += fmt::format("{} pairs\n", rows.rows.size());
  } else if (!evaluated.quality && !evaluated.spans) {
    out += fmt::format("{} answers, {} of them not supported by their context\n", rows.rows.size(),
                       evaluated.not_supported);
  }
  for (const Measured& figure : evaluated.figures)
    out += fmt::format("{} {}\n", figure.name, figure_text(figure.value, figure.interval));
  if (evaluated.two) out += two_classes_text(*evaluated.two);
  if (evaluated.at_threshold)
    out += at_threshold_text(*evaluated.at_threshold, evaluated.two || !evaluated.quality);
  if (evaluated.cut.value_or(0) > 0) {
    out += fmt::format("{} of {} rows not read completely\n", *evaluated.cut, rows.rows.size());
  }
  if (rows.files.size() > 1) out += files_text(evaluated, rows);
  out += "  ms           p50       p90       p99       max      mean\n";
  out += times_text("wall", evaluated.times.wall) + times_text("cpu", evaluated.times.cpu);
  return out + fmt::format("{:.1f} rows per second\n", rows_per_second(evaluated.times));
}

}  // namespace signalbox::tools
