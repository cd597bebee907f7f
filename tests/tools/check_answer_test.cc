// Runs `signalbox check-answer` with and without models, and checks its output rows and exit codes.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/json.h"
#include "tests/engine/random_network.h"

namespace signalbox::tools {
namespace {

using engine::RandomNetwork;

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome run(const std::string& options, const std::string& input) {
  const engine::TemporaryDirectory folder;
  const auto in = folder.path() / "in", out = folder.path() / "out", err = folder.path() / "err";
  std::ofstream(in, std::ios::binary) << input;
  const int status = std::system(fmt::format("{} check-answer {} <{} >{} 2>{}", SIGNALBOX_PROGRAM,
                                             options, in.string(), out.string(), err.string())
                                     .c_str());
  return {WEXITSTATUS(status), read_file(out), read_file(err)};
}

RandomNetwork network(std::string_view architecture, std::string_view labels) {
  return RandomNetwork(
      fmt::format(R"({{{},"id2label":{}}})", engine::small_modern_bert(architecture), labels),
      true);
}

constexpr const char* kRow =
    R"({"context": "Größe: 5 m", "question": "Wie groß?", "answer": "Größe — 7 m."})"
    "\n";

TEST(CheckAnswerCommand, needs_no_model_and_counts_code_points) {
  const Outcome outcome = run("", kRow);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, R"({"spans":[{"start":8,"end":11,"text":"7 m","score":0.95,)"
                         R"("verdict":"fabricated_number"}],"supported":0.05,"layers":["facts"]})"
                         "\n");
  EXPECT_EQ(run("--threshold 0.99", kRow).out, R"({"spans":[],"supported":1,"layers":["facts"]})"
                                               "\n");
}

TEST(CheckAnswerCommand, a_null_question_counts_as_missing) {
  EXPECT_EQ(run("", "{\"context\": \"a\", \"question\": null, \"answer\": \"a\"}\n").out,
            "{\"spans\":[],\"supported\":1,\"layers\":[\"facts\"]}\n");
}

TEST(CheckAnswerCommand, without_a_context_no_layer_runs) {
  EXPECT_EQ(run("", "{\"question\": \"How many?\", \"answer\": \"7\"}\n").out,
            R"({"spans":[],"supported":1,"layers":[]})"
            "\n");
}

TEST(CheckAnswerCommand, runs_the_models_that_are_named) {
  const RandomNetwork marks =
      network("ModernBertForTokenClassification",
              R"({"0":"supported","1":"hallucinated","2":"a","3":"b","4":"c"})");
  const RandomNetwork infers =
      network("ModernBertForSequenceClassification",
              R"({"0":"contradiction","1":"neutral","2":"entailment","3":"a","4":"b"})");
  const Outcome outcome = run(fmt::format("--threshold 0 --hallucination-model {} --nli-model {}",
                                          marks.directory().string(), infers.directory().string()),
                              "{\"context\": \"a b c d\", \"answer\": \"b c x\"}\n");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto document = json::Document::parse(outcome.out).value();
  std::string layers;
  for (const json::Value& layer : document.root().find("layers")->items())
    layers += fmt::format("{} ", layer.text());
  EXPECT_EQ(layers, "facts hallucination nli ");
  size_t spans = 0;
  for (const json::Value& span : document.root().find("spans")->items()) {
    EXPECT_EQ(span.find("text")->text(), "b c x");
    ++spans;
  }
  EXPECT_EQ(spans, 1u);  // at a threshold of 0
}

// A model can have both a head that tags and one that infers, as an adapter does.
TEST(CheckAnswerCommand, uses_the_head_that_infers_if_a_model_has_several) {
  const RandomNetwork marks =
      network("ModernBertForTokenClassification",
              R"({"0":"supported","1":"hallucinated","2":"a","3":"b","4":"c"})");
  const engine::TemporaryDirectory folder;
  std::ofstream rows(folder.path() / "rows.jsonl");
  for (int i = 0; i < 160; ++i) {
    rows << fmt::format(R"({{"text": "{0} {0} {1}", "label": "{2}"}})", "abcd"[i % 4], i,
                        i % 4 < 2 ? "entailment" : "contradiction")
         << '\n';
  }
  rows.close();
  const std::string head = (folder.path() / "head").string();
  ASSERT_EQ(std::system(fmt::format("{} fit --task classify --trunk {} --data {} --out {} >{} 2>&1",
                                    SIGNALBOX_PROGRAM, marks.directory().string(),
                                    (folder.path() / "rows.jsonl").string(), head,
                                    (folder.path() / "report").string())
                            .c_str()),
            0)
      << read_file(folder.path() / "report");
  const Outcome outcome =
      run("--nli-model " + head, "{\"context\": \"a b c d\", \"answer\": \"b c x\"}\n");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(R"("layers":["facts","nli"])"), std::string::npos) << outcome.out;
}

TEST(CheckAnswerCommand, names_the_mistake) {
  EXPECT_EQ(run("", "{\"context\": \"a\"}\n").err, "signalbox: line 1: answer: missing\n");
  EXPECT_EQ(run("", "{\"context\": 1, \"answer\": \"a\"}\n").err,
            "signalbox: line 1: context: expected a string, found number\n");
  EXPECT_EQ(run("--dtype f64", "").exit_code, 2);
  const RandomNetwork infers = network("ModernBertForSequenceClassification",
                                       R"({"0":"law","1":"maths","2":"b","3":"c","4":"d"})");
  const Outcome wrong = run("--nli-model " + infers.directory().string(), "");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.err, "signalbox: no label means entailment: law, maths, b, c, d\n");
}

}  // namespace
}  // namespace signalbox::tools
