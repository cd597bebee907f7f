// Tests fitting: the minimiser on a function with a known minimum, the regression by the slope of
// its own loss, the temperature against one that the test applied, invalid files, and heads that
// the engine opens.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/file.h"
#include "engine/engine.h"
#include "tests/engine/random_network.h"
#include "tools/fit/examples.h"
#include "tools/fit/fit.h"
#include "tools/fit/minimise.h"
#include "tools/fit/softmax_regression.h"

namespace signalbox::tools {
namespace {

TEST(Minimise, finds_the_end_of_a_curved_valley) {
  const auto rosenbrock = [](std::span<const double> x, std::span<double> gradient) {
    const double a = 1 - x[0], b = x[1] - x[0] * x[0];
    gradient[0] = -2 * a - 400 * x[0] * b;
    gradient[1] = 200 * b;
    return a * a + 100 * b * b;
  };
  const Minimum found = minimise(rosenbrock, {-1.2, 1}, {.gradient_max = 1e-8});
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(found.x[0], 1, 1e-6);
  EXPECT_NEAR(found.x[1], 1, 1e-6);
  EXPECT_LT(found.iterations, 100);
}

TEST(Minimise, reports_that_it_has_not_converged) {
  const auto line = [](std::span<const double> x, std::span<double> gradient) {
    gradient[0] = 1;
    return x[0];
  };
  EXPECT_FALSE(minimise(line, {0}, {.iterations_max = 5}).converged);
}

struct Clouds {
  static constexpr int32_t kClasses = 3, kDim = 5;
  std::vector<float> x;  // (rows, kDim)
  std::vector<int32_t> labels;
  explicit Clouds(int rows) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int r = 0; r < rows; ++r) {
      labels.push_back(r % kClasses);
      for (int j = 0; j < kDim; ++j) x.push_back(normal(random) + (j == r % kClasses ? 1.5f : 0));
    }
  }
};

TEST(SoftmaxRegression, ends_where_the_loss_is_flat_for_any_number_of_threads) {
  const Clouds clouds(5000);  // three blocks
  const kernels::Table& kernels = *kernels::active_table().value();
  const Features features(kernels, Clouds::kDim, clouds.x);
  engine::Workers one(1), two(2);
  const SoftmaxOptions options{.l2 = 1e-3};
  const auto fitted = fit_softmax(features, clouds.labels, Clouds::kClasses, options, one);
  const auto again = fit_softmax(features, clouds.labels, Clouds::kClasses, options, two);
  EXPECT_EQ(fitted.weight, again.weight);
  EXPECT_EQ(fitted.bias, again.bias);
  const auto loss = [&](const LinearClassifier& layer) {
    double squares = 0;
    for (const float w : layer.weight) squares += double{w} * w;
    return log_loss(layer.logits(kernels, clouds.x), clouds.labels, Clouds::kClasses) +
           options.l2 / 2 * squares;
  };
  const double least = loss(fitted);
  for (size_t i = 0; i < fitted.weight.size(); ++i) {
    for (const float step : {-0.02f, 0.02f}) {
      LinearClassifier moved = fitted;
      moved.weight[i] += step;
      EXPECT_GT(loss(moved), least) << i << " " << step;
    }
  }
}

TEST(SoftmaxRegression, balances_rare_labels_on_request) {
  Clouds clouds(3000);
  Clouds rare(0);
  for (size_t r = 0; r < clouds.labels.size(); ++r) {
    if (clouds.labels[r] == 2 && r % 30 != 2) continue;
    rare.labels.push_back(clouds.labels[r]);
    rare.x.insert(rare.x.end(), clouds.x.begin() + r * Clouds::kDim,
                  clouds.x.begin() + (r + 1) * Clouds::kDim);
  }
  const kernels::Table& kernels = *kernels::active_table().value();
  const Features features(kernels, Clouds::kDim, rare.x);
  engine::Workers workers(1);
  SoftmaxOptions options;
  const auto found = [&](const SoftmaxOptions& with) {
    const auto layer = fit_softmax(features, rare.labels, Clouds::kClasses, with, workers);
    const auto logits = layer.logits(kernels, rare.x);
    int hits = 0;
    for (size_t r = 0; r < rare.labels.size(); ++r) {
      const float* row = logits.data() + r * Clouds::kClasses;
      hits += rare.labels[r] == 2 && row[2] > row[0] && row[2] > row[1];
    }
    return hits;
  };
  const int plain = found(options);
  options.class_weight = {0.5, 0.5, 10};
  EXPECT_GT(found(options), plain);
}

TEST(Temperature, a_known_temperature_is_found) {
  const Clouds clouds(3000);
  const kernels::Table& kernels = *kernels::active_table().value();
  const Features features(kernels, Clouds::kDim, clouds.x);
  engine::Workers workers(1);
  const auto layer = fit_softmax(features, clouds.labels, Clouds::kClasses, {.l2 = 0}, workers);
  auto logits = layer.logits(kernels, clouds.x);
  EXPECT_NEAR(fit_temperature(logits, clouds.labels, Clouds::kClasses), 1, 0.01);
  for (float& x : logits) x *= 3;
  EXPECT_NEAR(fit_temperature(logits, clouds.labels, Clouds::kClasses), 3, 0.03);
}

TEST(Temperature, few_rows_without_errors_do_not_get_the_lowest_temperature) {
  const std::vector<float> logits{3, 0, 4, 1, 0, 3, 1, 5};
  const std::vector<int32_t> labels{0, 0, 1, 1};
  EXPECT_GT(fit_temperature(logits, labels, 2), 1);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

class Fit : public testing::Test {
 protected:
  std::filesystem::path data(const std::string& lines) {
    std::ofstream(folder_.path() / "data.jsonl", std::ios::binary) << lines;
    return folder_.path() / "data.jsonl";
  }
  FitOptions options(const std::string& lines) {
    FitOptions out;
    out.trunk = trunk_.directory();
    out.data = data(lines);
    out.out = folder_.path() / "head";
    out.print = [](const std::string&) {};
    return out;
  }
  // Returns rows that can be learnt in a moment.
  static std::string rows_of_a_and_b(int count) {
    std::mt19937 random(1);
    std::string lines;
    for (int i = 0; i < count; ++i) {
      const bool a = i % 2 == 0;
      lines += fmt::format("{{\"text\":\"{}\",\"label\":\"{}\"}}\n", word(random, a ? 'a' : 'b'),
                           a ? "with a" : "with b");
    }
    return lines;
  }
  // Returns a word of random letters. The words of one class contain an a, those of the other a b.
  static std::string word(std::mt19937& random, char with) {
    std::string out(2 + random() % 6, ' ');
    for (char& c : out) c = static_cast<char>('c' + random() % 20);
    out[random() % out.size()] = with;
    return out;
  }

  const engine::TemporaryDirectory folder_;
  const engine::RandomNetwork trunk_{
      fmt::format("{{{}}}", engine::small_modern_bert("ModernBertModel")), true};
};

TEST_F(Fit, writes_a_classifier_that_the_engine_opens) {
  const FitOptions chosen = options(rows_of_a_and_b(1200));
  const auto report = fit_classifier(chosen);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->train + report->validation + report->held_out, 1200u);
  EXPECT_GE(report->validation, 100u) << "enough to choose by";
  ASSERT_TRUE(report->quality);
  EXPECT_GT(report->quality->accuracy, 0.9);
  EXPECT_EQ(report->quality->rows, static_cast<int64_t>(report->held_out));

  const auto model = engine::TextModel::open(chosen.trunk, {.heads = {chosen.out}});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ((*model)->heads().size(), 1u);
  EXPECT_EQ((*model)->heads()[0].labels, (std::vector<std::string>{"with a", "with b"}));
  const auto found_by_the_head = engine::TextModel::open(chosen.out);
  ASSERT_TRUE(found_by_the_head) << found_by_the_head.error().message;
  ASSERT_EQ((*found_by_the_head)->heads().size(), 1u);
  EXPECT_EQ((*found_by_the_head)->heads()[0].name, "head");
  FitOptions threads = chosen;
  threads.threads = 2;
  threads.out = folder_.path() / "head2";
  ASSERT_TRUE(fit_classifier(threads));
  EXPECT_EQ(read(chosen.out / "model.safetensors"), read(threads.out / "model.safetensors"));
}

TEST_F(Fit, writes_a_card_that_a_later_fit_replaces) {
  FitOptions chosen = options(rows_of_a_and_b(1200));
  const auto report = fit_classifier(chosen);
  ASSERT_TRUE(report) << report.error().message;
  const std::string card = read(chosen.out / "README.md");
  const std::vector<std::string> parts{
      "\n# head\n",
      "A linear classifier with 2 labels. It reads the mean of the hidden states of `",
      fmt::format("fitted to {} texts of `data.jsonl`. {} of them, which were not trained on, ",
                  report->train + report->validation, report->validation),
      fmt::format("Measured on {0} texts of the same file that were held out:\n\n    {0} rows: "
                  "accuracy {1:.4f}",
                  report->held_out, report->quality->accuracy),
      "\n      with b "};
  for (const std::string& part : parts)
    EXPECT_NE(card.find(part), std::string::npos) << part << " is missing in\n" << card;
  EXPECT_EQ(card.find(folder_.path().string()), std::string::npos) << card;

  chosen.data = data(rows_of_a_and_b(200));
  chosen.l2 = 0.5;
  chosen.balanced = true;
  ASSERT_TRUE(fit_classifier(chosen));
  const std::string again = read(chosen.out / "README.md");
  EXPECT_NE(again.find("Cross-validation in 5 folds chose the temperature"), std::string::npos)
      << again;
  EXPECT_NE(again.find("the penalty 0.5 was given. All labels had the same weight."),
            std::string::npos)
      << again;

  std::ofstream(chosen.out / "README.md") << "# My head\n";
  std::string printed;
  chosen.print = [&](const std::string& line) { printed += line; };
  ASSERT_TRUE(fit_classifier(chosen));
  EXPECT_EQ(read(chosen.out / "README.md"), "# My head\n");
  EXPECT_NE(printed.find("README.md is not a card of a fit"), std::string::npos) << printed;

  std::filesystem::remove(chosen.out / "README.md");
  std::filesystem::create_directory(chosen.out / "README.md");
  ASSERT_TRUE(fit_classifier(chosen)) << "the figures count, not the card";
  EXPECT_NE(printed.find("the folder gets no card: "), std::string::npos) << printed;
}

// The folder is refused before any text is embedded, and its contents do not change.
TEST_F(Fit, a_folder_with_other_files_is_not_changed) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  const auto refused = [&](const std::filesystem::path& out, const char* why) {
    chosen.out = out;
    const auto done = fit_classifier(chosen);
    ASSERT_FALSE(done) << out;
    EXPECT_NE(done.error().message.find(why), std::string::npos) << done.error().message;
    EXPECT_NE(done.error().message.find(out.string()), std::string::npos) << done.error().message;
  };
  const auto weights = read(chosen.trunk / "model.safetensors");
  refused(chosen.trunk, "contains a model that `signalbox fit` did not write");
  EXPECT_EQ(read(chosen.trunk / "model.safetensors"), weights);
  const auto adapter = folder_.path() / "adapter";
  std::filesystem::create_directories(adapter / "shipped");
  std::ofstream(adapter / "adapter_config.json") << "{}";
  std::ofstream(adapter / "shipped" / "config.json") << "{\"num_labels\": 2}";
  refused(adapter, "contains an adapter");
  refused(adapter / "shipped", "contains a model that `signalbox fit` did not write");
  EXPECT_EQ(read(adapter / "shipped" / "config.json"), "{\"num_labels\": 2}");
  refused(adapter / "new", "lies in an adapter's folder");
  std::filesystem::create_directories(adapter / "own");
  std::filesystem::create_directory_symlink(adapter / "own", folder_.path() / "link");
  refused(folder_.path() / "link", "lies in an adapter's folder");
  refused(folder_.path() / "link" / "", "lies in an adapter's folder");
  std::ofstream(folder_.path() / "file") << "x";
  refused(folder_.path() / "file", "is a file, expected a directory");
  refused(folder_.path() / "file" / "head", "is a file, expected a directory");
  chosen.out = folder_.path() / "head";
  ASSERT_TRUE(fit_classifier(chosen));
  EXPECT_TRUE(fit_classifier(chosen)) << "over what was fitted";
}

// The other model has the same width, so no other check would refuse it.
TEST_F(Fit, a_head_works_only_with_its_own_model) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  ASSERT_TRUE(fit_classifier(chosen));
  const engine::TemporaryDirectory elsewhere;
  const auto copy = elsewhere.path() / "copy";
  std::filesystem::copy(chosen.trunk, copy);
  const auto refused = engine::TextModel::open(copy, {.heads = {chosen.out}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a head for " + chosen.trunk.string() + ", not for"),
            std::string::npos)
      << refused.error().message;
  // Other paths to the same model are accepted.
  std::filesystem::create_directory_symlink(chosen.trunk, elsewhere.path() / "link");
  for (const auto& same :
       {elsewhere.path() / "link", std::filesystem::relative(chosen.trunk), chosen.trunk / ""}) {
    const auto model = engine::TextModel::open(same, {.heads = {chosen.out}});
    EXPECT_TRUE(model) << same << ": " << model.error().message;
  }
  // A head that was moved away from its model no longer refers to it.
  std::filesystem::create_directory(elsewhere.path() / "deep");
  std::filesystem::copy(chosen.out, elsewhere.path() / "deep" / "head");
  EXPECT_TRUE(engine::TextModel::open(copy, {.heads = {elsewhere.path() / "deep" / "head"}}));
}

TEST_F(Fit, a_head_fitted_over_a_head_uses_the_trunk) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  ASSERT_TRUE(fit_classifier(chosen));
  chosen.trunk = chosen.out;
  chosen.out = folder_.path() / "second";
  ASSERT_TRUE(fit_classifier(chosen));
  const auto model = engine::TextModel::open(chosen.out);
  EXPECT_TRUE(model) << model.error().message;
}

TEST_F(Fit, a_refit_that_cannot_be_written_leaves_the_head_as_it_was) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  ASSERT_TRUE(fit_classifier(chosen));
  const auto files = [&] {
    return std::pair(read_file(chosen.out / "config.json", 1 << 20).value(),
                     read_file(chosen.out / "model.safetensors", 1 << 20).value());
  };
  const auto before = files();
  std::string lines = rows_of_a_and_b(200);
  for (size_t at = 0; (at = lines.find("\"with ", at)) != std::string::npos;)
    lines.replace(at, 6, "\"has ");
  data(lines);
  for (const char* name : {".model.safetensors.fit", ".config.json.fit"}) {
    std::filesystem::create_directories(chosen.out / name / "in the way");
    ASSERT_FALSE(fit_classifier(chosen)) << name;
    EXPECT_EQ(files(), before) << name;
    std::filesystem::remove_all(chosen.out / name);
  }
  ASSERT_TRUE(fit_classifier(chosen));
  EXPECT_NE(files(), before);
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(chosen.out))
    names.insert(file.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"README.md", "config.json", "model.safetensors"}));
}

TEST_F(Fit, a_refit_whose_weights_cannot_be_put_in_place_leaves_the_configuration) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  ASSERT_TRUE(fit_classifier(chosen));
  const auto config = read_file(chosen.out / "config.json", 1 << 20).value();
  std::filesystem::remove(chosen.out / "model.safetensors");
  std::filesystem::create_directories(chosen.out / "model.safetensors" / "in the way");
  ASSERT_FALSE(fit_classifier(chosen));
  EXPECT_EQ(read_file(chosen.out / "config.json", 1 << 20).value(), config);
  EXPECT_FALSE(std::filesystem::exists(chosen.out / ".config.json.old"));
}

TEST_F(Fit, the_remains_of_an_interrupted_fit_are_not_a_head_and_are_replaced) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  ASSERT_TRUE(fit_classifier(chosen));
  std::filesystem::remove(chosen.out / "config.json");
  EXPECT_FALSE(engine::TextModel::open(chosen.out));
  ASSERT_TRUE(fit_classifier(chosen));
  EXPECT_TRUE(engine::TextModel::open(chosen.out));
}

TEST_F(Fit, weights_of_unknown_origin_are_not_replaced) {
  FitOptions chosen = options(rows_of_a_and_b(200));
  std::filesystem::create_directory(chosen.out);
  std::ofstream(chosen.out / "model.safetensors") << "another's";
  const auto refused = fit_classifier(chosen);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("contains a model that `signalbox fit` did not write"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(read_file(chosen.out / "model.safetensors", 1 << 20).value(), "another's");
}

TEST_F(Fit, few_texts_are_split_into_folds_with_equal_shares_of_each_label) {
  std::string lines = rows_of_a_and_b(80);
  const auto once = read_classified(data(lines)).value();
  const auto twice = read_classified(data(lines + lines)).value();
  ASSERT_GT(once.folds, 1);
  std::map<std::string, int32_t> folds;
  std::map<std::pair<int32_t, int32_t>, int> counts;  // by label and fold
  for (const auto* part : {&once.train, &once.validation}) {
    for (const Example& each : *part) {
      folds[each.text] = each.fold;
      ++counts[{each.label, each.fold}];
    }
  }
  ASSERT_EQ(counts.size(), 2U * once.folds);
  for (const auto& [place, count] : counts) EXPECT_NEAR(count, 72 / 2 / once.folds, 3);
  for (const auto* part : {&twice.train, &twice.validation}) {
    for (const Example& each : *part) EXPECT_EQ(each.fold, folds[each.text]) << each.text;
  }
  EXPECT_EQ(once.held_out.size() * 2, twice.held_out.size());
  for (const Example& each : once.held_out) EXPECT_FALSE(folds.contains(each.text)) << each.text;
  EXPECT_EQ(read_classified(data(rows_of_a_and_b(2000))).value().folds, 0);
}

TEST_F(Fit, scores_fitted_to_few_texts_are_calibrated) {
  std::mt19937 random(3);
  double hits = 0, scores = 0;
  constexpr int kHeads = 5, kTexts = 200;
  const auto label = [](int r) { return (r + (r % 5 == 0 ? 1 : 0)) % 2; };  // one in five is wrong
  for (int i = 0; i < kHeads; ++i) {
    std::string lines;
    for (int r = 0; r < 60; ++r) {
      lines += fmt::format("{{\"text\":\"{}\",\"label\":\"{}\"}}\n", word(random, "ab"[r % 2]),
                           label(r));
    }
    const FitOptions chosen = options(lines);
    const auto report = fit_classifier(chosen);
    ASSERT_TRUE(report) << report.error().message;
    const auto model = engine::TextModel::open(chosen.out).value();
    for (int r = 0; r < kTexts; ++r) {
      const std::string text = word(random, "ab"[r % 2]);
      const engine::Input input{.text = text};
      const auto answer = model->answer({&input, 1}).value().front();
      hits += (answer.scores[1] > answer.scores[0]) == (label(r) == 1);
      scores += std::max(answer.scores[0], answer.scores[1]);
    }
  }
  EXPECT_NEAR(scores / (kHeads * kTexts), hits / (kHeads * kTexts), 0.05);
}

TEST_F(Fit, a_head_without_its_trunk_names_the_expected_place) {
  const auto head = folder_.path() / "head";
  std::filesystem::create_directory(head);
  for (const char* trunk :
       {"../nowhere", "."}) {  // "." is the head itself, and a head is not a trunk
    std::ofstream(head / "config.json") << fmt::format(R"({{"signalbox_trunk": "{}"}})", trunk);
    const auto model = engine::TextModel::open(head);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, Code::kNotFound);
    EXPECT_NE(model.error().message.find("signalbox_trunk: there is no model at"),
              std::string::npos)
        << model.error().message;
  }
}

TEST_F(Fit, writes_a_tagger_that_finds_spans_by_type_and_bounds) {
  std::mt19937 random(2);
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    // The text begins with an umlaut, because offsets count code points and an umlaut has two
    // bytes.
    const std::string before = word(random, 'c'), after = word(random, 'd');
    const size_t begin = before.size() + 3;
    lines += fmt::format(
        "{{\"text\":\"\xC3\xBC {} {} "
        "{}\",\"entities\":[{{\"type\":\"{}\",\"start\":{},\"end\":{}}}]}}\n",
        before, i % 2 == 0 ? "aaa" : "bbb", after, i % 2 == 0 ? "A" : "B", begin, begin + 3);
  }
  const FitOptions chosen = options(lines);
  const auto report = fit_tagger(chosen);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->spans);
  EXPECT_GT(report->spans->all.f1(), 0.8);
  EXPECT_EQ(report->spans->types.size(), 2u);
  EXPECT_EQ(report->spans->all.support, static_cast<int64_t>(report->held_out));
}

TEST_F(Fit, learns_from_the_side_of_a_text_that_the_model_reads) {
  std::ofstream(trunk_.directory() / "tokenizer_config.json")
      << R"({"model_max_length": 16, "truncation_side": "left"})";
  std::mt19937 random(5);
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    lines += fmt::format(
        "{{\"text\":\"{} {} {}\",\"entities\":[{{\"type\":\"{}\",\"start\":28,\"end\":31}}]}}\n",
        std::string(20, 'c'), (word(random, 'd') + "dddddd").substr(0, 6),
        i % 2 == 0 ? "aaa" : "bbb", i % 2 == 0 ? "A" : "B");
  }
  FitOptions chosen = options(lines);
  std::string said;
  chosen.print = [&](const std::string& line) { said += line + "\n"; };
  const auto report = fit_tagger(chosen);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->spans);
  EXPECT_GT(report->spans->all.f1(), 0.8);
  EXPECT_EQ(said.find("behind the text"), std::string::npos) << said;
}

TEST_F(Fit, counts_the_spans_that_no_head_can_find) {
  std::string lines;
  std::mt19937 random(4);
  for (int i = 0; i < 60; ++i) {
    // The word, a part of it, and the word with a space.
    constexpr std::pair<int, int> kBounds[] = {{0, 3}, {1, 3}, {0, 4}};
    const auto bounds = kBounds[i % 3];
    lines += fmt::format(
        "{{\"text\":\"aaa {}\",\"entities\":[{{\"type\":\"A\",\"start\":{},\"end\":{}}}]}}\n",
        word(random, 'c'), bounds.first, bounds.second);
  }
  FitOptions chosen = options(lines);
  std::string said;
  chosen.print = [&](const std::string& line) { said += line + "\n"; };
  const auto report = fit_tagger(chosen);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(said.find("\n40 spans begin or end inside"), std::string::npos) << said;
}

TEST_F(Fit, labels_are_integers_and_booleans_too) {
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += fmt::format("{{\"text\":\"{}\",\"label\":{}}}\n", i,
                         i % 3 == 0   ? "12"
                         : i % 3 == 1 ? "true"
                                      : "\"x\"");
  }
  const auto examples = read_classified(data(lines));
  ASSERT_TRUE(examples) << examples.error().message;
  EXPECT_EQ(examples->labels, (std::vector<std::string>{"12", "true", "x"}));
}

TEST_F(Fit, reports_the_mistake_in_a_file) {
  struct Case {
    const char* lines;
    const char* message;
    bool tags = false;
  };
  for (const Case& at : std::vector<Case>{
           {"{\"text\":\"a\"}\n", "data.jsonl: line 1: label: missing"},
           {"{\"label\":\"a\"}\n", "data.jsonl: line 1: text: missing"},
           {"{\"text\":\"a\",\"label\":\"\"}\n", "line 1: label: expected a label"},
           {"{\"text\":\"a\",\"label\":\"x\"}\n", "too few rows (1): "},
           {"\n{\"text\":", "line 2: "},
           {"{\"text\":\"a\"}\n", "line 1: entities: expected an array", true},
           {"{\"text\":\"abc\",\"entities\":[{\"type\":\"T\",\"start\":1,\"end\":4}]}\n",
            "line 1: entities[0]: end: expected 0 to 3", true},
           {"{\"text\":\"abc\",\"entities\":[{\"type\":\"T\",\"start\":2,\"end\":2}]}\n",
            "line 1: entities[0]: start 2 is not before end 2", true},
           {"{\"text\":\"abc\",\"entities\":[{\"type\":\"T\",\"start\":0,\"end\":2},"
            "{\"type\":\"T\",\"start\":1,\"end\":3}]}\n",
            "line 1: entities: two spans share bytes 1 to 2", true},
       }) {
    const auto done = at.tags ? fit_tagger(options(at.lines)) : fit_classifier(options(at.lines));
    ASSERT_FALSE(done) << at.lines;
    EXPECT_NE(done.error().message.find(at.message), std::string::npos) << done.error().message;
  }
  std::string one;
  for (int i = 0; i < 200; ++i) one += fmt::format("{{\"text\":\"{}\",\"label\":\"x\"}}\n", i);
  const auto done = fit_classifier(options(one));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("only one label, \"x\""), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "head"));
}

TEST(Quality, counts_shares_and_calibration) {
  const std::vector<std::string> labels{"a", "b", "never"};
  const std::vector<int32_t> truths{0, 0, 1, 1};
  const std::vector<float> scores{0.9f, 0.1f, 0, 0.2f, 0.8f, 0, 0.3f, 0.7f, 0, 0.4f, 0.6f, 0};
  const Quality quality = classifier_quality(labels, truths, scores);
  EXPECT_DOUBLE_EQ(quality.accuracy, 0.75);
  EXPECT_DOUBLE_EQ(quality.labels[0].recall(), 0.5);
  EXPECT_DOUBLE_EQ(quality.labels[1].precision(), 2.0 / 3);
  EXPECT_NEAR(quality.macro_f1, (2.0 / 3 + 0.8) / 2, 1e-12);
  // |1 - 0.9| + |0 - 0.8| + |1 - 0.7| + |1 - 0.6|; each row is in a bin of its own.
  EXPECT_NEAR(quality.calibration_error, (0.1 + 0.8 + 0.3 + 0.4) / 4, 1e-6);
  ASSERT_EQ(quality.confusions.size(), 1u);
  EXPECT_EQ(quality.confusions[0].truth, 0);
  EXPECT_NEAR(quality.confusions[0].score, 0.8, 1e-6);
  // The published interval for 8 of 10.
  EXPECT_NEAR(wilson(8, 10).low, 0.4902, 1e-3);
  EXPECT_NEAR(wilson(8, 10).high, 0.9433, 1e-3);
}

}  // namespace
}  // namespace signalbox::tools
