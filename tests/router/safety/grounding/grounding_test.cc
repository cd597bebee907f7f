// Checks answers against contexts: hand-written and generated cases without a model, and fake
// models for the layers with one.

#include "router/safety/grounding/grounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/json.h"
#include "base/utf8.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::grounding {
namespace {

using test::FakeClassifier;

const std::filesystem::path kData = SIGNALBOX_SOURCE_DIR "/tests/router/safety/grounding";

Checker checker_of(const CheckOptions& options, const Models& models) {
  auto made = Checker::create(options, models);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

// Calls `run` with every line of a file, which must not be empty.
void for_each_row(const std::filesystem::path& path,
                  const std::function<void(const json::Value& row)>& run) {
  std::ifstream file(path);
  int number = 1;
  for (std::string line; std::getline(file, line); ++number) {
    SCOPED_TRACE(fmt::format("{}:{}", path.filename().string(), number));
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << document.error().message;
    run(document->root());
  }
  EXPECT_GT(number, 1);
}

using Model = std::shared_ptr<const engine::TextModel>;

Models models_of(Model hallucination, Model inference) {
  Models out;
  out.hallucination.model = std::move(hallucination);
  out.inference.model = std::move(inference);
  return out;
}

Checker checker_of(const CheckOptions& options) {
  const Models none;
  return checker_of(options, none);
}

std::string text_of(const json::Value& row, std::string_view key) {
  const auto found = row.find(key);
  return found ? std::string(found->text()) : "";
}

Report check(const json::Value& row) {
  const Checker checker = checker_of({});
  auto report =
      checker.check(text_of(row, "context"), text_of(row, "question"), row.find("answer")->text());
  EXPECT_TRUE(report) << report.error().message;
  return *std::move(report);
}

TEST(Grounding, reports_exactly_the_spans_of_each_case) {
  for_each_row(kData / "cases.jsonl", [](const json::Value& row) {
    const std::string answer = text_of(row, "answer");
    std::string found, expected;
    for (const Span& span : check(row).spans)
      found += fmt::format("{} {} ", answer.substr(span.begin, span.end - span.begin),
                           verdict_name(span.verdict));
    for (const json::Value& flagged : row.find("flagged")->items()) {
      for (const json::Value& cell : flagged.items()) expected += fmt::format("{} ", cell.text());
    }
    EXPECT_EQ(found, expected) << row.find("name")->text() << ": " << answer;
  });
}

bool overlaps(const Span& span, std::string_view answer, size_t begin, size_t end) {
  return utf8::count(answer.substr(0, span.begin)) < end &&
         utf8::count(answer.substr(0, span.end)) > begin;
}

// Nearly every made-up figure is reported or unchecked, and few faithful answers are reported.
TEST(Grounding, misses_few_generated_fabrications_and_reports_few_faithful_answers) {
  size_t faithful = 0, alarms = 0, fabricated = 0, reported = 0, noticed = 0;
  for_each_row(kData / "generated.jsonl", [&](const json::Value& row) {
    const Report report = check(row);
    const auto is_finding = [](const Span& span) {
      return span.verdict != SpanVerdict::kUnchecked;
    };
    if (row.find("faithful")->boolean()) {
      ++faithful;
      alarms += std::ranges::any_of(report.spans, is_finding);
      return;
    }
    ++fabricated;
    const auto begin = static_cast<size_t>(row.find("start")->integer().value());
    const auto end = static_cast<size_t>(row.find("end")->integer().value());
    const std::string_view answer = row.find("answer")->text();
    const auto is_on_it = [&](const Span& span) { return overlaps(span, answer, begin, end); };
    noticed += std::ranges::any_of(report.spans, is_on_it);
    reported += std::ranges::any_of(
        report.spans, [&](const Span& span) { return is_finding(span) && is_on_it(span); });
  });
  EXPECT_GE(faithful, 200u);
  EXPECT_GE(fabricated, 200u);
  EXPECT_LE(alarms * 100, faithful * 3);
  EXPECT_GE(noticed * 100, fabricated * 95);
  EXPECT_GE(reported * 100, fabricated * 40);
}

TEST(Grounding, figures_that_may_be_computed_are_unchecked_and_do_not_lower_the_support) {
  const Checker checker = checker_of({});
  const auto report = checker.check("Adults pay 12 euros, children pay 5 euros.", "",
                                    "Adults and children pay 17 euros in total.");
  ASSERT_EQ(report->spans.size(), 1u);
  EXPECT_EQ(report->spans[0].verdict, SpanVerdict::kUnchecked);
  EXPECT_EQ(report->spans[0].score, 0);
  EXPECT_EQ(report->supported, 1);
}

TEST(Grounding, reports_which_layers_ran) {
  const Checker checker = checker_of({});
  EXPECT_TRUE(checker.check("The hall is old.", "", "It is 300 years old.")->facts);
  const auto nothing = checker.check("", "How old?", "It is 300 years old.");
  EXPECT_FALSE(nothing->facts);
  EXPECT_TRUE(nothing->spans.empty());
}

TEST(Grounding, names_the_exceeded_limit) {
  const Checker checker =
      checker_of({.context_bytes_max = 10, .question_bytes_max = 5, .answer_bytes_max = 3});
  EXPECT_EQ(checker.check("12345678901", "", "a").error().message,
            "context has 11 bytes, the limit is 10");
  EXPECT_EQ(checker.check("a", "123456", "a").error().code, Code::kTooLarge);
  EXPECT_EQ(checker.check("a", "", "1234").error().message, "answer has 4 bytes, the limit is 3");
}

TEST(Grounding, a_prepared_context_gives_the_same_spans_sentence_by_sentence) {
  const Checker checker = checker_of({});
  const auto context =
      checker.prepare("The tower has 12 floors and was built in 1932.", "").value();
  EXPECT_TRUE(checker.check(*context, "It has a dozen floors.")->spans.empty());
  const auto second = checker.check(*context, "The tower was built in 1933.");
  ASSERT_EQ(second->spans.size(), 1u);
  EXPECT_EQ(second->spans[0].begin, 23u);
  const auto both = checker.check(*context, "It has a dozen floors. The tower was built in 1933.");
  ASSERT_EQ(both->spans.size(), 1u);
  EXPECT_EQ(both->spans[0].begin, 23u + 23u);
}

TEST(Grounding, the_cost_of_a_long_context_is_linear) {
  std::string numbers, answer, bounds, sums;
  for (int i = 0; i < 50000; ++i) numbers += fmt::format("{} of {} km, ", i, i + 1);
  for (int i = 0; i < 5000; ++i) answer += fmt::format("{} m and {} ", i + 0.5, i);
  for (int i = 0; i < 200000; ++i) bounds += "at most 5 ";
  const Checker checker = checker_of({});
  for (int i = 0; i < 15000; ++i) sums += "5: 3 and 2 and ";
  // A quadratic check would not finish.
  EXPECT_TRUE(checker.check("There were 5, 3 and 2.", "", sums));
  EXPECT_TRUE(checker.check(bounds, "", bounds.substr(0, 200000)));
  EXPECT_TRUE(checker.check(numbers, "", answer));
  EXPECT_TRUE(checker.check(std::string(1u << 20, '.'), "", std::string(200000, '[')));
  EXPECT_TRUE(checker.check(std::string(1u << 20, '\n'), "", std::string(200000, '`')));
}

// The words of a text as byte ranges.
std::vector<std::pair<uint32_t, uint32_t>> words_of(std::string_view text) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_not_of(" \n", i);
    if (begin == std::string_view::npos) break;
    i = std::min(text.find_first_of(" \n", begin), text.size());
    out.emplace_back(begin, i);
  }
  return out;
}

// Takes words as tokens. A word of the pair that the text lacks is hallucinated.
class FakeMarker : public FakeClassifier {
 public:
  FakeMarker(std::vector<std::string> labels, int32_t tokens_max)
      : FakeClassifier(std::move(labels), engine::HeadKind::kTokens, false),
        tokens_max_(tokens_max) {}

  int32_t tokens_max() const override { return tokens_max_; }
  Result<int32_t> tokens(const engine::Input& input) const override {
    const size_t words = words_of(input.text).size() + words_of(input.pair.value_or("")).size();
    return std::min(static_cast<int32_t>(words) + 2, tokens_max_);
  }
  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    std::vector<engine::Answer> out(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string_view text = inputs[i].text, pair = *inputs[i].pair;
      texts.emplace_back(text);
      EXPECT_EQ(inputs[i].marked, engine::Marked::kPair);
      EXPECT_LE(words_of(text).size() + words_of(pair).size() + 3,
                static_cast<size_t>(tokens_max_));
      for (const auto& [begin, end] : words_of(pair)) {
        const bool known = text.find(pair.substr(begin, end - begin)) != std::string_view::npos;
        const float p = known ? 0.1f : 0.8f;
        out[i].tokens.push_back({begin, end, {1 - p, p}});
      }
    }
    return out;
  }

  mutable std::vector<std::string> texts;

 private:
  int32_t tokens_max_;
};

// Entails what the premise contains. A premise with "never" contradicts everything else.
class FakeInference : public FakeClassifier {
 public:
  explicit FakeInference(std::vector<std::string> labels)
      : FakeClassifier(labels, engine::HeadKind::kSequence, false), labels_(std::move(labels)) {}

  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    std::vector<engine::Answer> out(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool follows = inputs[i].text.find(inputs[i].pair->substr(4)) != std::string_view::npos;
      const bool never = inputs[i].text.find("never") != std::string_view::npos;
      const std::string_view label = follows ? "entail" : never ? "contradict" : "neutral";
      for (const std::string& each : labels_)
        out[i].scores.push_back(each.starts_with(label) ? 0.9f : 0.05f);
    }
    return out;
  }

 private:
  std::vector<std::string> labels_;
};

std::string describe(std::string_view answer, const Report& report) {
  std::string out;
  for (const Span& span : report.spans)
    out += fmt::format("{} ({} {:.2f}) ", answer.substr(span.begin, span.end - span.begin),
                       verdict_name(span.verdict), span.score);
  return out + fmt::format("{:.2f}", report.supported);
}

std::shared_ptr<FakeMarker> marker(int32_t tokens_max = 512) {
  return std::make_shared<FakeMarker>(std::vector<std::string>{"supported", "hallucinated"},
                                      tokens_max);
}

TEST(GroundingModels, tokens_marked_by_a_model_become_spans_next_to_those_of_the_facts) {
  const Checker checker = checker_of({}, models_of(marker(), nullptr));
  const std::string answer = "the grey cat has 5 big kittens";
  const auto report = checker.check("the cat has 4 kittens", "", answer).value();
  EXPECT_EQ(describe(answer, report),
            "grey (hallucinated 0.80) 5 (fabricated_number 0.95) big (hallucinated 0.80) 0.05");
  EXPECT_TRUE(report.tokens);
  EXPECT_FALSE(report.inference);
  EXPECT_NEAR(checker.check("the cat", "", "the cat")->supported, 0.9, 1e-6);
}

TEST(GroundingModels, a_model_cannot_mark_a_verified_number) {
  const Checker checker = checker_of({}, models_of(marker(), nullptr));
  const std::string answer = "the grey cat has 12 kittens";
  EXPECT_EQ(describe(answer, checker.check("the cat has twelve kittens", "", answer).value()),
            "grey (hallucinated 0.80) 0.20");
}

TEST(GroundingModels, a_long_context_is_read_in_windows_with_the_whole_answer) {
  std::string context;
  for (int i = 0; i < 60; ++i) context += fmt::format("Filler sentence with w{} in it. ", i);
  context += "The hidden treasure lies under oak.";
  for (int i = 60; i < 90; ++i) context += fmt::format(" Filler sentence with w{} in it.", i);
  const std::string answer = "The hidden treasure lies under pine.";
  const auto model = marker(64);
  const Checker all = checker_of({.windows_max = 1000}, models_of(model, nullptr));
  EXPECT_EQ(describe(answer, all.check(context, "Where does it lie?", answer).value()),
            "pine (hallucinated 0.80) 0.20");
  EXPECT_GT(model->texts.size(), 10u);
  for (const std::string& text : model->texts)
    EXPECT_TRUE(text.ends_with("\nWhere does it lie?")) << text;
  // The windows that share most with the answer suffice.
  model->texts.clear();
  const Checker few = checker_of({.windows_max = 2}, models_of(model, nullptr));
  EXPECT_EQ(describe(answer, few.check(context, "", answer).value()),
            "pine (hallucinated 0.80) 0.20");
  EXPECT_EQ(model->texts.size(), 2u);
}

TEST(GroundingModels, a_long_answer_is_judged_in_pieces_without_gaps) {
  std::string context = "Known words are here.", answer;
  for (int i = 0; i < 50; ++i) answer += "Known words are here. ";
  answer += "Zebra";
  const auto model = marker(24);
  const Checker checker = checker_of({}, models_of(model, nullptr));
  EXPECT_EQ(describe(answer, checker.check(context, "", answer).value()),
            "Zebra (hallucinated 0.80) 0.20");
}

TEST(GroundingModels, inference_clears_confirms_and_contradicts) {
  const auto inference = std::make_shared<FakeInference>(
      std::vector<std::string>{"contradiction", "entailment", "neutral"});
  const Checker checker = checker_of({}, models_of(marker(), inference));
  const auto result = [&](const char* context, const std::string& answer) {
    return describe(answer, checker.check(context, "", answer).value());
  };
  EXPECT_EQ(result("old dogs sleep a lot", "yes old dogs sleep"), "0.90");
  EXPECT_EQ(result("old dogs sleep a lot", "yes old dogs run"),
            "yes (unsupported 0.80) run (unsupported 0.80) 0.20");
  EXPECT_EQ(result("old dogs never sleep", "yes old dogs run"),
            "yes (contradicted 0.90) run (contradicted 0.90) 0.10");
  // The NLI model does not clear a missing figure.
  EXPECT_EQ(result("old dogs sleep 5 hours", "yes old dogs sleep 6 hours"),
            "yes (unsupported 0.80) 6 hours (fabricated_number 0.95) 0.05");
}

TEST(GroundingModels, inference_alone_finds_contradicted_sentences) {
  const auto inference = std::make_shared<FakeInference>(
      std::vector<std::string>{"entailment", "not_entailment", "contradiction"});
  const Checker checker = checker_of({}, models_of(nullptr, inference));
  const std::string answer = "We know that dogs sleep. And dogs run.";
  const auto report = checker.check("old dogs never sleep", "", answer).value();
  EXPECT_EQ(describe(answer, report),
            "We know that dogs sleep (contradicted 0.90) And dogs run (contradicted 0.90) 0.10");
}

TEST(GroundingModels, unsuitable_heads_and_labels_are_rejected) {
  const auto message = [](const Models& models) {
    const auto made = Checker::create({}, models);
    return made ? "" : made.error().message;
  };
  const auto of = [](std::vector<std::string> labels, engine::HeadKind kind) {
    return std::make_shared<FakeClassifier>(labels, kind, false);
  };
  using engine::HeadKind;
  EXPECT_EQ(message(models_of(of({"O", "B-PERSON"}, HeadKind::kTokens), nullptr)),
            "no label means hallucinated or unsupported: O, B-PERSON");
  EXPECT_EQ(message(models_of(of({"a", "b"}, HeadKind::kSequence), nullptr)),
            "the model has no head that labels tokens");
  EXPECT_EQ(message(models_of(nullptr, of({"LABEL_0", "LABEL_1"}, HeadKind::kSequence))),
            "no label means entailment: LABEL_0, LABEL_1");
  EXPECT_EQ(message(models_of(nullptr, of({"entailment"}, HeadKind::kTokens))),
            "the model has no head that classifies texts");
}

TEST(GroundingModels, unnamed_labels_get_the_prompt_of_their_training) {
  const auto model =
      std::make_shared<FakeMarker>(std::vector<std::string>{"LABEL_0", "LABEL_1"}, 512);
  const Checker checker = checker_of({}, models_of(model, nullptr));
  ASSERT_TRUE(checker.check("Dogs bark.", "What do dogs do?", "They bark."));
  ASSERT_TRUE(checker.check("Dogs bark.", "", "They bark."));
  EXPECT_EQ(model->texts[0],
            "Briefly answer the following question:\nWhat do dogs do?\nBear in mind that your "
            "response should be strictly based on the following 1 passages:\npassage 1: Dogs "
            "bark.\nIn case the passages do not contain the necessary information to answer the "
            "question, please reply with: \"Unable to answer based on given passages.\"\noutput:");
  EXPECT_EQ(model->texts[1], "Summarize the following text:\nDogs bark.\noutput:");
}

}  // namespace
}  // namespace signalbox::grounding
