// Tests `signalbox eval` with models of random weights whose answers the test computes first.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/json_writer.h"
#include "tests/engine/random_network.h"
#include "tools/eval/evaluation.h"
#include "tools/eval/rows.h"

namespace signalbox::tools {
namespace {

using engine::RandomNetwork;
using engine::TemporaryDirectory;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kTexts[] = {"a small text", "another one",      "what is this", "b",
                                  "prove it",     "the sum of words", "no",           "zebra"};

RandomNetwork network(std::string_view architecture, std::string_view labels) {
  return RandomNetwork(
      fmt::format(R"({{{},"id2label":{}}})", engine::small_modern_bert(architecture), labels),
      true);
}

const RandomNetwork& classifier() {
  static const RandomNetwork kNetwork =
      network("ModernBertForSequenceClassification",
              R"({"0":"law","1":"maths","2":"physics","3":"health","4":"other"})");
  return kNetwork;
}

const RandomNetwork& tagger() {
  static const RandomNetwork kNetwork = network(
      "ModernBertForTokenClassification", R"({"0":"B-A","1":"B-B","2":"B-C","3":"B-D","4":"B-E"})");
  return kNetwork;
}

std::unique_ptr<const engine::TextModel> open(
    const RandomNetwork& random, engine::Precision precision = engine::Precision::kF32) {
  auto model = engine::TextModel::open(random.directory(), {.precision = precision});
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

// Returns the label that a model predicts, or a different label if `wrong`.
std::string label_of(const engine::TextModel& model, std::string_view text, bool wrong = false) {
  const engine::Input input{.text = text};
  const auto answers = model.answer({&input, 1}).value();
  const auto& labels = model.heads()[0].labels;
  const size_t best = std::ranges::max_element(answers[0].scores) - answers[0].scores.begin();
  return labels[(best + (wrong ? 1 : 0)) % labels.size()];
}

std::string row_of(std::string_view text, std::string_view label) {
  return json::Writer()
             .begin_object()
             .member("text", text)
             .member("label", label)
             .end_object()
             .take() +
         "\n";
}

struct Outcome {
  int exit_code;
  std::string out, err;
};

// Runs `signalbox eval MORE`, with `lines` in a file that MORE refers to as DATA.
Outcome eval(const std::string& lines, std::string more) {
  const TemporaryDirectory folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  std::ofstream(path("data.jsonl"), std::ios::binary) << lines;
  for (size_t at; (at = more.find("DATA")) != std::string::npos;)
    more.replace(at, 4, path("data.jsonl"));
  const std::string line =
      fmt::format("{} eval {} >{} 2>{}", SIGNALBOX_PROGRAM, more, path("out"), path("err"));
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read(path("out")), read(path("err"))};
}

json::Document parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  auto document = json::Document::parse(outcome.out);
  EXPECT_TRUE(document) << outcome.out;
  return *std::move(document);
}

double number(const json::Value& in, std::string_view name) {
  const auto found = in.find(name);
  EXPECT_TRUE(found) << name;
  return found ? found->number().value() : NAN;
}

TEST(EvalCommand, counts_a_classifiers_right_answers) {
  const auto model = open(classifier());
  std::string lines;
  for (const char* text : kTexts) lines += row_of(text, label_of(*model, text, text[0] == 'a'));
  const auto done =
      parsed(eval(lines, fmt::format("--task classify --model {} --data DATA --json --threshold 0",
                                     classifier().directory().string())));
  const json::Value found = done.root();
  EXPECT_EQ(number(found, "rows"), 8);
  EXPECT_DOUBLE_EQ(number(found, "accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(number(*found.find("at_threshold"), "accuracy"), 0.75);
  EXPECT_GT(number(*found.find("latency_ms")->find("wall"), "p50"), 0);
  EXPECT_GT(number(found, "rows_per_second"), 0);
  EXPECT_EQ(found.find("task")->text(), "classify");
  double rows = 0;
  for (const json::Value& bin : found.find("reliability")->items()) rows += number(bin, "rows");
  EXPECT_EQ(rows, 8);
}

TEST(EvalCommand, forms_two_classes_from_positive_labels) {
  const auto model = open(classifier());
  std::string lines;
  for (const char* text : kTexts) lines += row_of(text, label_of(*model, text));
  const std::string label = label_of(*model, kTexts[0]);
  const auto done =
      parsed(eval(lines, fmt::format("--task classify --model {} --data DATA --json --positive {}",
                                     classifier().directory().string(), label)));
  const json::Value two = done.root().find("positive").value();
  EXPECT_EQ(number(two, "recall"), number(done.root(), "recall_at_false_positives"));
  int64_t positive = 0;
  for (const char* text : kTexts) positive += label_of(*model, text) == label;
  EXPECT_EQ(number(two, "rows"), static_cast<double>(positive));
}

TEST(EvalCommand, reports_files_separately_and_gives_each_its_label) {
  const auto model = open(classifier());
  const std::string label = label_of(*model, "b");
  const auto done = parsed(
      eval("{\"text\":\"b\"}\n{\"text\":\"b\",\"label\":\"nonsense\"}\n",
           fmt::format("--task classify --model {} --data {}=DATA --data {}=DATA --json",
                       classifier().directory().string(), label, label_of(*model, "b", true))));
  EXPECT_DOUBLE_EQ(number(done.root(), "accuracy"), 0.5);
  std::vector<double> shares;
  for (const json::Value& file : done.root().find("files")->items())
    shares.push_back(number(file, "accuracy"));
  EXPECT_EQ(shares, (std::vector<double>{1, 0}));
}

TEST(EvalCommand, reports_that_there_is_only_one_class) {
  const std::string with = fmt::format("--task classify --model {} --positive law --data ",
                                       classifier().directory().string());
  const Outcome none = eval("{\"text\":\"b\"}\n", with + "maths=DATA");
  EXPECT_NE(none.out.find("law: no row has this label\n"), std::string::npos) << none.out;
  const Outcome all = eval("{\"text\":\"b\"}\n", with + "law=DATA");
  EXPECT_NE(all.out.find("law: every row has this label, so"), std::string::npos) << all.out;
  for (const Outcome& each : {none, all}) {
    EXPECT_EQ(each.out.find("nan"), std::string::npos) << each.out;
    EXPECT_EQ(each.out.find("inf"), std::string::npos) << each.out;
  }
}

TEST(EvalCommand, prints_a_label_without_control_characters) {
  const RandomNetwork odd = network("ModernBertForSequenceClassification",
                                    R"({"0":"a\u001b[2J","1":"b","2":"c","3":"d","4":"e"})");
  const Outcome outcome =
      eval("{\"text\":\"b\",\"label\":\"b\"}\n",
           fmt::format("--task classify --model {} --data DATA", odd.directory().string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("\n  a?[2J "), std::string::npos) << outcome.out;
}

TEST(EvalCommand, judges_spans_by_type_and_bounds) {
  // The model marks every letter as a span of some type.
  const auto model = open(tagger());
  std::string lines;
  for (const std::string text : {"x a", "h t y"}) {
    const engine::Input input{.text = text};
    const auto found = model->answer({&input, 1}).value()[0].entities;
    json::Writer row;
    row.begin_object().member("text", text).key("entities").begin_array();
    for (const engine::Entity& each : found) {
      const bool moved = text[0] == 'h' && each.begin == 0;
      row.begin_object().member("type", each.type);
      row.member("start", static_cast<int64_t>(each.begin));
      row.member("end", static_cast<int64_t>(each.end) + (moved ? 1 : 0)).end_object();
    }
    lines += row.end_array().end_object().take() + "\n";
  }
  const std::string with =
      fmt::format("--task tag --model {} --json --data DATA", tagger().directory().string());
  const auto done = parsed(eval(lines, with));
  // Five letters in total; one of the labelled spans has another end.
  EXPECT_EQ(number(done.root(), "support"), 5);
  EXPECT_DOUBLE_EQ(number(done.root(), "f1"), 0.8);
  EXPECT_EQ(number(done.root(), "clean_flagged"), 0);
  const auto none = parsed(eval(lines, with + " --data none=DATA"));
  EXPECT_DOUBLE_EQ(number(none.root(), "precision"), 0.4);
  EXPECT_DOUBLE_EQ(number(none.root(), "clean_flagged"), 1);
}

TEST(EvalCommand, counts_the_spans_that_no_answer_can_match) {
  // Every letter is a token, so only white space is unreachable.
  const std::string lines =
      R"({"text":"x a","entities":[{"type":"A","start":0,"end":2},{"type":"A","start":2,"end":3}]})";
  const std::string with =
      fmt::format("--task tag --model {} --data DATA", tagger().directory().string());
  EXPECT_EQ(number(parsed(eval(lines, with + " --json")).root(), "out_of_reach"), 1);
  EXPECT_NE(eval(lines, with).out.find("\n1 span begins or ends inside a word"), std::string::npos);
}

TEST(EvalCommand, counts_the_truncated_rows) {
  const std::string text(100'000, '.'), lines = row_of(text, "law") + row_of("b", "law");
  const std::string with = " --data DATA --model " + classifier().directory().string();
  EXPECT_EQ(number(parsed(eval(lines, "--task classify --json" + with)).root(), "cut"), 1);
  EXPECT_NE(eval(lines, "--task classify" + with).out.find("\n1 of 2 rows"), std::string::npos);
  const std::string pair = "{\"a\":\"b\",\"b\":\"" + text + "\",\"score\":1}\n";
  EXPECT_EQ(number(parsed(eval(pair, "--task embedding --json" + with)).root(), "cut"), 1);
}

TEST(EvalCommand, correlates_cosines_with_scores) {
  const auto model = open(classifier());
  std::string lines;
  std::vector<float> vectors(2 * model->dim());
  for (size_t i = 0; i + 1 < std::size(kTexts); ++i) {
    const std::string_view texts[] = {kTexts[i], kTexts[i + 1]};
    ASSERT_TRUE(model->embed(texts, vectors));
    double cosine = 0;
    for (int32_t j = 0; j < model->dim(); ++j) cosine += vectors[j] * vectors[model->dim() + j];
    json::Writer row;
    row.begin_object().member("a", texts[0]).member("b", texts[1]).member("score", 5 - 2 * cosine);
    lines += row.end_object().take() + "\n";
  }
  const auto done = parsed(eval(lines, fmt::format("--task embedding --model {} --json --data DATA",
                                                   classifier().directory().string())));
  EXPECT_NEAR(number(done.root(), "pearson"), -1, 1e-5);
  EXPECT_NEAR(number(done.root(), "spearman"), -1, 1e-9);
}

TEST(EvalCommand, compares_two_models_line_by_line) {
  const auto first = open(classifier()), second = open(classifier(), engine::Precision::kI8);
  std::string lines;
  std::vector<int64_t> changed;
  for (int64_t i = 0; i < 200; ++i) {
    const std::string text = fmt::format("{} {} {}", kTexts[i % 8], kTexts[i / 8 % 8], i);
    lines += row_of(text, label_of(*first, text));
    if (label_of(*first, text) != label_of(*second, text)) changed.push_back(i + 1);
  }
  const std::string with = fmt::format("--task classify --model {} --data DATA --json ",
                                       classifier().directory().string());
  const auto done = parsed(eval(lines, with + "--compare-dtype int8"));
  const json::Value difference = done.root().find("difference").value();
  const auto count = static_cast<double>(changed.size());
  EXPECT_EQ(number(difference, "changed"), count);
  EXPECT_EQ(number(difference, "first_only"), count);
  EXPECT_NEAR(number(difference, "accuracy"), -count / 200, 1e-12);
  std::vector<int64_t> shown;
  for (const json::Value& line : difference.find("changed_lines")->items())
    shown.push_back(line.find("line")->integer().value());
  changed.resize(std::min<size_t>(changed.size(), 20));
  EXPECT_EQ(shown, changed);
  EXPECT_EQ(done.root().find("compared")->find("dtype")->text(), "int8");

  const auto same = parsed(eval(lines, with + "--compare-dtype f32"));
  EXPECT_EQ(number(*same.root().find("difference"), "changed"), 0);
  EXPECT_EQ(number(*same.root().find("difference"), "mcnemar"), 1);
  EXPECT_EQ(number(*same.root().find("difference"), "macro_f1"), 0);
}

TEST(EvalCommand, never_prints_a_text) {
  const auto model = open(classifier());
  const std::string lines = row_of("sesame", "nonsense");
  const std::string with =
      fmt::format("--task classify --model {} --data DATA", classifier().directory().string());
  const Outcome wrong = eval(lines, with);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("data.jsonl: line 1: the model has no label \"nonsense\" (known: law, "),
            std::string::npos)
      << wrong.err;
  const Outcome right = eval(lines, with + " --map nonsense=law --compare-dtype int8");
  EXPECT_EQ(right.exit_code, 0) << right.err;
  for (const std::string& text : {wrong.err, right.out, right.err})
    EXPECT_EQ(text.find("sesame"), std::string::npos);
}

TEST(EvalCommand, refuses_options_by_name) {
  const std::string with = fmt::format("--model {}", classifier().directory().string());
  const struct {
    const char *options, *message;
  } cases[] = {
      {"--task poetry", "--task: expected one of route, classify, domain"},
      {"--task classify", "--data is missing"},
      {"--task route", "--model: cannot be used with --task route"},
      {"--task classify --data DATA --map law", "--map: expected OLD=NEW, found \"law\""},
      {"--task classify --data DATA --threshold 2", "--threshold: expected 0 to 1, found 2"},
      {"--task classify --data DATA --dtype f64", "--dtype: expected f32, bf16 or int8"},
      {"--task tag --data DATA --svg x.svg", "--svg: cannot be used with --task tag"},
      {"--task embedding --data DATA --map a=b", "--map: cannot be used with --task embedding"},
      {"--task classify --data DATA --compare-dtype f64",
       "--compare-dtype: expected f32, bf16 or int8"},
      {"--task classify --data DATA --config c", "--config: cannot be used with --task classify"},
      {"--task tag --data DATA --map A=", "--map: NEW must not be empty for spans"},
  };
  for (const auto& [options, message] : cases) {
    const Outcome outcome = eval("", with + " " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
  const struct {
    const char *options, *message;
  } failures[] = {
      {"--task classify --data /nowhere", "/nowhere: cannot be read"},
      {"--task classify --data law=DATA --positive joy", "\"joy\": the model has no such label"},
      {"--task classify --data law=DATA --compare no/where", "--compare: no/where does not exist"},
      {"--task tag --data law=DATA", "expected FILE or none=FILE"},
      {"--task tag --data none=DATA", "no head that labels tokens"},
  };
  for (const auto& [options, message] : failures) {
    const Outcome outcome = eval("{\"text\":\"a\"}\n", with + " " + options);
    EXPECT_EQ(outcome.exit_code, 1) << options;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

TEST(Taggers, spans_are_amended_before_they_are_judged) {
  const auto model = open(tagger());
  std::istringstream lines(
      "{\"text\":\"a b\",\"entities\":[{\"type\":\"T\",\"start\":0,\"end\":3}]}\n");
  const auto rows = read_labelled(lines, {.kind = RowKind::kSpans});
  ASSERT_TRUE(rows) << rows.error().message;
  EvalOptions options;
  options.amend = [](std::string_view text, const std::vector<engine::Entity>& found) {
    EXPECT_EQ(found.size(), 2u);
    return std::vector<engine::Entity>{{"T", 0, static_cast<uint32_t>(text.size()), 1}};
  };
  const auto found = evaluate({.model = model.get(), .head = 0}, *rows, RowKind::kSpans, options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->spans->all.f1(), 1);
}

}  // namespace
}  // namespace signalbox::tools
