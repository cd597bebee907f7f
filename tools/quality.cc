// Collects counts first and derives shares from them.

#include "tools/quality.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace signalbox::tools {
namespace {

constexpr size_t kConfusionsShown = 10;

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void write_label(const LabelQuality& label, json::Writer& out) {
  out.member("support", label.support).member("predicted", label.predicted);
  out.member("precision", label.precision()).member("recall", label.recall());
  out.member("f1", label.f1());
}

void append_label(const LabelQuality& label, std::string& out) {
  out += fmt::format("  {:<24} {:>9.3f} {:>9.3f} {:>9.3f} {:>9}\n", label.label, label.precision(),
                     label.recall(), label.f1(), label.support);
}

std::string heading(const char* first) {
  return fmt::format("  {:<24} {:>9} {:>9} {:>9} {:>9}\n", first, "precision", "recall", "F1",
                     "support");
}

}  // namespace

Interval wilson(int64_t hits, int64_t of) {
  if (of == 0) return {0, 1};
  constexpr double kZ = 1.959964;
  const double n = static_cast<double>(of), p = static_cast<double>(hits) / n;
  const double middle = p + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max(0.0, (middle - reach) / scale), std::min(1.0, (middle + reach) / scale)};
}

double LabelQuality::precision() const {
  return share(hits, predicted);
}
double LabelQuality::recall() const {
  return share(hits, support);
}
double LabelQuality::f1() const {
  return share(2 * hits, support + predicted);
}

Quality classifier_quality(std::span<const std::string> labels, std::span<const int32_t> truths,
                           std::span<const float> scores) {
  Quality out;
  out.rows = static_cast<int64_t>(truths.size());
  for (const std::string& label : labels) out.labels.push_back({.label = label});
  std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, double>> confused;
  int64_t hits = 0;
  for (size_t r = 0; r < truths.size(); ++r) {
    const auto row = scores.subspan(r * labels.size(), labels.size());
    const auto best = static_cast<int32_t>(std::ranges::max_element(row) - row.begin());
    const double score = row[best];
    const bool hit = best == truths[r];
    ++out.labels[truths[r]].support;
    ++out.labels[best].predicted;
    hits += hit;
    out.labels[best].hits += hit;
    if (!hit) {
      auto& [count, sum] = confused[{truths[r], best}];
      ++count;
      sum += score;
    }
    Quality::Bin& bin = out.bins[std::min<size_t>(
        out.bins.size() - 1, static_cast<size_t>(score * static_cast<double>(out.bins.size())))];
    ++bin.rows;
    bin.hits += hit;
    bin.scores += score;
  }
  out.accuracy = share(hits, out.rows);
  out.accuracy_interval = wilson(hits, out.rows);
  int64_t occurring = 0;
  for (const LabelQuality& label : out.labels) {
    if (label.support == 0) continue;
    ++occurring;
    out.macro_f1 += label.f1();
  }
  if (occurring > 0) out.macro_f1 /= static_cast<double>(occurring);
  for (const Quality::Bin& bin : out.bins) {
    if (out.rows > 0)
      out.calibration_error +=
          std::abs(static_cast<double>(bin.hits) - bin.scores) / static_cast<double>(out.rows);
  }
  for (const auto& [pair, count] : confused) {
    out.confusions.push_back(
        {pair.first, pair.second, count.first, count.second / static_cast<double>(count.first)});
  }
  std::ranges::stable_sort(out.confusions, std::greater(), &Quality::Confusion::rows);
  return out;
}

SpanCounter::SpanCounter(std::span<const std::string> types) {
  for (const std::string& type : types) types_[type].label = type;
}

SpanCounts SpanCounter::add(std::span<const LabelledSpan> truth,
                            std::span<const engine::Entity> found) {
  ++texts_;
  const auto type_of = [this](const std::string& name) -> LabelQuality& {
    LabelQuality& type = types_[name];
    type.label = name;
    return type;
  };
  SpanCounts out;
  std::vector<bool> met(truth.size());
  for (const LabelledSpan& span : truth) ++type_of(span.type).support;
  for (const engine::Entity& each : found) {
    LabelQuality& type = type_of(each.type);
    ++type.predicted;
    const auto at = std::ranges::find(truth, LabelledSpan{each.type, each.begin, each.end});
    if (at == truth.end() || met[at - truth.begin()]) continue;
    met[at - truth.begin()] = true;
    ++type.hits;
    ++out.hits;
  }
  out.support = static_cast<int64_t>(truth.size());
  out.predicted = static_cast<int64_t>(found.size());
  return out;
}

SpanQuality SpanCounter::quality() const {
  SpanQuality out;
  out.texts = texts_;
  out.all.label = "all";
  for (const auto& [name, type] : types_) {
    out.all.support += type.support;
    out.all.predicted += type.predicted;
    out.all.hits += type.hits;
    out.types.push_back(type);
  }
  return out;
}

void write_json(const Quality& quality, json::Writer& out) {
  out.member("rows", quality.rows).member("accuracy", quality.accuracy);
  out.key("accuracy_95").begin_array();
  out.number(quality.accuracy_interval.low).number(quality.accuracy_interval.high).end_array();
  out.member("macro_f1", quality.macro_f1).member("calibration_error", quality.calibration_error);
  out.key("labels").begin_object();
  for (const LabelQuality& label : quality.labels) {
    out.key(label.label).begin_object();
    write_label(label, out);
    out.end_object();
  }
  out.end_object().key("confusion").begin_array();
  for (const Quality::Confusion& each : quality.confusions) {
    out.begin_object().member("truth", quality.labels[each.truth].label);
    out.member("predicted", quality.labels[each.predicted].label);
    out.member("rows", each.rows).member("score", each.score).end_object();
  }
  out.end_array();
}

void write_json(const SpanQuality& quality, json::Writer& out) {
  out.member("texts", quality.texts);
  write_label(quality.all, out);
  out.key("types").begin_object();
  for (const LabelQuality& type : quality.types) {
    out.key(type.label).begin_object();
    write_label(type, out);
    out.end_object();
  }
  out.end_object();
}

std::string to_tables(const Quality& quality) {
  std::string out = fmt::format(
      "{} rows: accuracy {:.4f} (95 %: {:.4f} to {:.4f}), macro F1 {:.4f}, calibration error "
      "{:.4f}\n",
      quality.rows, quality.accuracy, quality.accuracy_interval.low, quality.accuracy_interval.high,
      quality.macro_f1, quality.calibration_error);
  out += heading("label");
  for (const LabelQuality& label : quality.labels) append_label(label, out);
  if (!quality.confusions.empty()) out += "  most often confused\n";
  for (size_t i = 0; i < std::min(kConfusionsShown, quality.confusions.size()); ++i) {
    const Quality::Confusion& each = quality.confusions[i];
    out +=
        fmt::format("  {} taken for {}: {} (mean score {:.2f})\n", quality.labels[each.truth].label,
                    quality.labels[each.predicted].label, each.rows, each.score);
  }
  return out;
}

std::string to_tables(const SpanQuality& quality) {
  std::string out = fmt::format("{} texts, spans of the same type and bounds: ", quality.texts);
  out += fmt::format("precision {:.4f}, recall {:.4f}, F1 {:.4f}\n", quality.all.precision(),
                     quality.all.recall(), quality.all.f1());
  out += heading("type");
  for (const LabelQuality& type : quality.types) append_label(type, out);
  return out;
}

}  // namespace signalbox::tools
