// Tests evaluation without a model: figures calculated by hand, invalid rows, answers that are
// compared with a baseline, and the diagram.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "base/json.h"
#include "tools/eval/compare.h"
#include "tools/eval/evaluation.h"
#include "tools/eval/reliability.h"
#include "tools/eval/rows.h"
#include "tools/eval/statistics.h"

namespace signalbox::tools {
namespace {

// Calls `one` for each line of a file in tests/tools/eval.
void for_each_case(const char* file, const std::function<void(const json::Value&)>& one) {
  std::ifstream lines(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/tools/eval" / file);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << document.error().message;
    SCOPED_TRACE(document->root().find("name")->text());
    one(document->root());
  }
  EXPECT_GT(count, 0);
}

template <class T>
std::vector<T> numbers(const json::Value& row, const char* name) {
  std::vector<T> out;
  for (const json::Value& each : row.find(name)->items())
    out.push_back(static_cast<T>(each.number().value()));
  return out;
}

// null stands for NaN or infinity.
void expect_figure(const json::Value& row, const char* name, double found) {
  const auto expected = row.find(name).value();
  if (expected.is_null()) {
    EXPECT_FALSE(std::isfinite(found)) << name << " " << found;
  } else {
    EXPECT_NEAR(found, expected.number().value(), 1e-6) << name;
  }
}

std::vector<uint32_t> weights_of(const json::Value& row, size_t rows) {
  return row.find("weights") ? numbers<uint32_t>(row, "weights") : std::vector<uint32_t>(rows, 1);
}

void expect_roc(const json::Value& row) {
  const auto scores = numbers<double>(row, "scores");
  const auto weights = weights_of(row, scores.size());
  const Roc roc(scores, numbers<uint8_t>(row, "positive"));
  const auto point = roc.at_false_positives(row.find("limit")->number().value(), weights);
  expect_figure(row, "auc", roc.area(weights));
  expect_figure(row, "threshold", point.threshold);
  expect_figure(row, "recall", point.recall);
  expect_figure(row, "false_positives", point.false_positives);
  if (!row.find("best_f1")) return;
  expect_figure(row, "best_f1", roc.best_f1(weights).f1);
  expect_figure(row, "best_threshold", roc.best_f1(weights).threshold);
}

void expect_correlations(const json::Value& row) {
  const auto x = numbers<double>(row, "x"), y = numbers<double>(row, "y");
  const auto weights = weights_of(row, x.size());
  expect_figure(row, "pearson", pearson(x, y, weights));
  expect_figure(row, "spearman", Spearman(x, y)(weights));
}

void expect_paired(const json::Value& row) {
  const auto count = [&](const char* name) { return row.find(name)->integer().value(); };
  const PairedHits hits{count("first_only"), count("second_only"), count("rows")};
  expect_figure(row, "mcnemar", mcnemar(hits));
  expect_figure(row, "low", accuracy_difference(hits).low);
  expect_figure(row, "high", accuracy_difference(hits).high);
}

TEST(Figures, match_calculations_by_hand) {
  for_each_case("figures.jsonl", [](const json::Value& row) {
    if (row.find("scores")) return expect_roc(row);
    if (row.find("x")) return expect_correlations(row);
    if (row.find("mcnemar")) return expect_paired(row);
    if (row.find("found")) {
      const auto found = numbers<uint8_t>(row, "found");
      return expect_figure(
          row, "f1", f1(numbers<uint8_t>(row, "positive"), found, weights_of(row, found.size())));
    }
    const auto truths = numbers<int32_t>(row, "truths");
    const auto weights = weights_of(row, truths.size());
    const auto labels = static_cast<size_t>(row.find("labels")->integer().value());
    expect_figure(row, "macro_f1",
                  macro_f1(truths, numbers<int32_t>(row, "predicted"), labels, weights));
  });
}

TEST(Figures, count_a_row_of_weight_two_like_two_rows) {
  const std::vector<double> x{0.1, 0.7, 0.4, 0.7, 0.9}, y{1, 0, 3, 2, 2};
  const std::vector<uint8_t> positive{0, 1, 0, 0, 1};
  const std::vector<uint32_t> weights{2, 1, 0, 3, 1};
  std::vector<double> x2, y2;
  std::vector<uint8_t> positive2;
  for (size_t i = 0; i < x.size(); ++i) {
    for (uint32_t j = 0; j < weights[i]; ++j) {
      x2.push_back(x[i]);
      y2.push_back(y[i]);
      positive2.push_back(positive[i]);
    }
  }
  const std::vector<uint32_t> once(x2.size(), 1);
  EXPECT_NEAR(Roc(x, positive).area(weights), Roc(x2, positive2).area(once), 1e-12);
  EXPECT_NEAR(pearson(x, y, weights), pearson(x2, y2, once), 1e-12);
  EXPECT_NEAR(Spearman(x, y)(weights), Spearman(x2, y2)(once), 1e-12);
}

TEST(Figures, repeat_samples_for_a_seed_and_surround_the_value) {
  std::vector<SpanCounts> texts;
  for (int i = 0; i < 300; ++i) texts.push_back({2, 2, i % 3 == 0 ? 1 : 2});
  const Figure f1{"f1", [&](Weights weights) { return span_f1(texts, weights); }};
  const auto samples = resampled({&f1, 1}, texts.size(), 7);
  EXPECT_EQ(samples, resampled({&f1, 1}, texts.size(), 7));
  EXPECT_NE(samples, resampled({&f1, 1}, texts.size(), 8));
  ASSERT_EQ(samples[0].size(), 1000u);
  // F1 is 5/6. The share of one text has a standard deviation of sqrt(2)/6, so the mean of 300 has
  // one of 0.0136.
  const Interval interval = percentile_interval(samples[0]);
  EXPECT_NEAR(interval.low, 5.0 / 6 - 1.96 * 0.0136, 0.004);
  EXPECT_NEAR(interval.high, 5.0 / 6 + 1.96 * 0.0136, 0.004);
}

TEST(Figures, percentiles_are_values_that_occurred) {
  const std::vector<double> sorted{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(sorted, 0.5), 5);
  EXPECT_EQ(percentile(sorted, 0.9), 9);
  EXPECT_EQ(percentile(sorted, 0.99), 10);
  EXPECT_EQ(percentile(sorted, 0), 1);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(SpanCounter, a_span_found_twice_is_one_hit_and_one_mistake) {
  SpanCounter counter;
  const std::vector<LabelledSpan> truth{{"A", 0, 3}, {"B", 5, 6}};
  const std::vector<engine::Entity> found{
      {"A", 0, 3, 1}, {"A", 0, 3, 1}, {"A", 5, 6, 1}, {"B", 5, 7, 1}};
  const SpanCounts counts = counter.add(truth, found);
  EXPECT_EQ(counts.hits, 1);
  const SpanQuality quality = counter.quality();
  EXPECT_DOUBLE_EQ(quality.all.precision(), 0.25);
  EXPECT_DOUBLE_EQ(quality.all.recall(), 0.5);
  EXPECT_DOUBLE_EQ(quality.all.f1(), 2 * 1.0 / 6);
}

// --- rows ---

RowKind kind_of(std::string_view name) {
  return name == "label"    ? RowKind::kLabel
         : name == "pair"   ? RowKind::kPairLabel
         : name == "spans"  ? RowKind::kSpans
         : name == "answer" ? RowKind::kAnswer
                            : RowKind::kScore;
}

TEST(Rows, report_the_mistake_in_a_line) {
  for_each_case("hostile.jsonl", [](const json::Value& row) {
    std::istringstream lines{std::string(row.find("lines")->text())};
    const auto done = read_labelled(lines, {.kind = kind_of(row.find("kind")->text())});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find(row.find("error")->text()), std::string::npos)
        << done.error().message;
  });
}

TEST(Rows, begin_after_a_byte_order_mark) {
  std::istringstream lines("\xEF\xBB\xBF{\"text\":\"a\",\"label\":\"x\"}\n");
  const auto rows = read_labelled(lines, {});
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows[0].text, "a");
}

TEST(Rows, labels_are_mapped_and_left_out) {
  std::istringstream lines(
      "{\"q\":\"a\",\"gold\":0}\n\n{\"q\":\"b\",\"gold\":true}\n{\"q\":\"c\",\"gold\":\"-\"}\n"
      "{\"q\":\"d\",\"gold\":\"x\"}\n");
  const auto rows = read_labelled(lines, {.text_field = "q",
                                          .label_field = "gold",
                                          .labels = {{"0", "zero"}, {"-", ""}, {"*", "rest"}}});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), 3u);
  EXPECT_EQ(rows->rows[0].label, "zero");
  EXPECT_EQ(rows->rows[1].label, "rest");
  EXPECT_EQ(rows->rows[2].text, "d");
  EXPECT_EQ(rows->place(2), "lines: line 5");
}

TEST(Rows, pairs_have_the_member_names_of_published_sets) {
  std::istringstream lines(
      "{\"a\":\"x\",\"b\":\"y\",\"score\":2.5}\n"
      "{\"premise\":\"x\",\"hypothesis\":\"y\",\"score\":1}\n"
      "{\"text\":\"x\",\"pair\":\"y\",\"score\":0}\n");
  const auto rows = read_labelled(lines, {.kind = RowKind::kScore});
  ASSERT_TRUE(rows) << rows.error().message;
  for (const LabelledRow& row : rows->rows) EXPECT_EQ(row.text + *row.pair, "xy");
  EXPECT_EQ(rows->rows[0].score, 2.5);
}

TEST(Rows, answers_need_no_label) {
  const auto done = read_labelled({.kind = RowKind::kAnswer, .data = {"yes=/nowhere"}});
  EXPECT_EQ(done ? "" : done.error().message,
            "yes=/nowhere: cannot be read; LABEL=FILE works only for tasks with labels");
}

// --- answers and diagrams ---

TEST(Answers, are_compared_with_a_baseline) {
  std::istringstream lines(
      "{\"context\":\"It rains.\",\"question\":\"Does it?\",\"answer\":\"It snows.\","
      "\"spans\":[{\"start\":3,\"end\":8}]}\n"
      "{\"query\":\"Is it red?\",\"response\":\"It is "
      "red.\",\"hallucination\":\"no\",\"spans\":[]}\n"
      "{\"query\":\"Who?\",\"response\":\"Ada, then Bob.\",\"hallucination\":\"yes\","
      "\"spans\":[\"then Bob\",\"Bob.\",\"not there\"]}\n");
  const auto rows = read_labelled(lines, {.kind = RowKind::kAnswer});
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows[1].context, "Is it red?");
  EXPECT_EQ(rows->rows[2].spans, (std::vector<LabelledSpan>{{"", 5, 14}}));
  const CheckAnswer check = [](const std::string& context, const std::string&,
                               const std::string&) -> Result<CheckedAnswer> {
    if (context == "It rains.") return CheckedAnswer{0.2, {{"", 0, 6}}};
    return CheckedAnswer{context == "Who?" ? 0.9 : 0.7, {}};
  };
  const auto found = evaluate_answers("a check", check, *rows, {});
  ASSERT_TRUE(found) << found.error().message;
  std::map<std::string, double> figures;
  for (const Measured& each : found->figures) figures[each.name] = each.value;
  EXPECT_EQ(found->not_supported, 2);
  EXPECT_DOUBLE_EQ(figures["f1"], 2.0 / 3);              // one of two found, no false positive
  EXPECT_DOUBLE_EQ(figures["auc"], 0.5);                 // 0.8 and 0.1 against 0.3
  EXPECT_DOUBLE_EQ(figures["span_bytes_f1"], 6.0 / 20);  // 3 bytes shared by 5 + 9 and 6
  EXPECT_DOUBLE_EQ(figures["baseline_auc"], 1);  // share of new words: 1 of 2, 0 of 3, 3 of 3
  EXPECT_DOUBLE_EQ(figures["all_f1"], 0.8);
  EXPECT_EQ(found->at_threshold->positive.hits, 1);
}

TEST(Reliability, a_diagram_has_a_point_for_each_bin_with_rows) {
  Evaluated one;
  one.model = "a<b & c";
  one.dtype = "f32";
  const std::vector<std::string> labels{"a", "b"};
  const std::vector<int32_t> truths{0, 0, 1};
  const std::vector<float> scores{0.9f, 0.1f, 0.91f, 0.09f, 0.3f, 0.7f};
  one.quality = classifier_quality(labels, truths, scores);
  const std::string svg = reliability_svg({&one, 1});
  size_t circles = 0;
  for (size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++circles;
  EXPECT_EQ(circles, 2u + 1u);  // two bins, and the legend
  EXPECT_NE(svg.find("a&lt;b &amp; c in f32: calibration error"), std::string::npos);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace signalbox::tools
