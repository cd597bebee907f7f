// Low-rank adapters, merged and side by side, compared with double-precision networks whose weights
// the test merged; batches of several adapters, bit for bit; and rejected adapters from
// data/refused_adapters.jsonl.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <ostream>
#include <random>

#include "engine/engine.h"
#include "engine/model_path.h"
#include "kernels/kernels.h"
#include "tests/engine/pass_threads.h"
#include "tests/engine/random_adapter.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

// A line of data/adapters.jsonl. Its keys besides those of RandomAdapter: "network", members of a
// config.json that override "base" in data/networks.jsonl; "bare" and "prefix", the architecture
// and the name prefix to remove if the base directory is a bare encoder's; "beside", the reason why
// the adapter cannot run side by side; "no_head".
struct AdaptedCase {
  std::string name;
  json::Document row;
  std::string config;
};

void PrintTo(const AdaptedCase& adapted, std::ostream* out) {
  *out << adapted.name;
}

std::ifstream open_data(const char* name) {
  return std::ifstream(fmt::format("{}/tests/engine/data/{}", SIGNALBOX_SOURCE_DIR, name));
}

std::vector<std::shared_ptr<AdaptedCase>> adapted_cases() {
  std::string first;
  auto networks = open_data("networks.jsonl");
  std::getline(networks, first);
  const auto defaults = json::Document::parse(first).value();
  std::vector<std::shared_ptr<AdaptedCase>> out;
  auto file = open_data("adapters.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto row = json::Document::parse(std::move(line)).value();
    const json::Value network = row.root().find("network").value();
    const auto base = defaults.root().find(network.find("base")->text()).value();
    const std::string config = merge_objects(network, base);
    const std::string name(row.root().find("name")->text());
    out.push_back(std::make_shared<AdaptedCase>(AdaptedCase{name, std::move(row), config}));
  }
  return out;
}

std::vector<std::shared_ptr<AdaptedCase>> cases_that_run_beside(bool beside) {
  auto out = adapted_cases();
  std::erase_if(
      out, [&](const auto& each) { return each->row.root().find("beside").has_value() == beside; });
  return out;
}

const AdaptedCase& case_of(std::string_view name) {
  static const auto all = adapted_cases();
  for (const auto& one : all) {
    if (one->name == name) return *one;
  }
  return *all.at(all.size());
}

std::string text_of(const json::Value& row, const char* key) {
  const auto value = row.find(key);
  return value ? std::string(value->text()) : "";
}

// Returns the network of a case. If the case requires it, the directory is changed to that of a
// bare encoder.
std::unique_ptr<RandomNetwork> network_of(const AdaptedCase& adapted) {
  const json::Value row = adapted.row.root();
  auto out = std::make_unique<RandomNetwork>(adapted.config, true);
  const std::string bare = text_of(row, "bare"), prefix = text_of(row, "prefix");
  if (bare.empty()) return out;
  const auto own =
      json::Document::parse(fmt::format(R"({{"architectures":["{}"]}})", bare)).value();
  const auto config = json::Document::parse(adapted.config).value();
  std::ofstream(out->directory() / "config.json") << merge_objects(own.root(), config.root());
  Checkpoint tensors;
  for (const auto& [name, tensor] : out->tensors()) {
    if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = tensor;
  }
  out->write(tensors);
  return out;
}

std::unique_ptr<const TextModel> open(const std::filesystem::path& directory,
                                      const OpenOptions& options) {
  auto model = TextModel::open(directory, options);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(model).value_or(nullptr);
}

// Returns the largest difference relative to the largest value.
double difference(const std::vector<double>& expected, const std::vector<float>& found) {
  if (expected.size() != found.size()) return INFINITY;
  double worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(expected[i] - double{found[i]});
    worst = error <= worst ? worst : error;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / largest;
}

class Adapters : public testing::TestWithParam<std::shared_ptr<AdaptedCase>> {
 protected:
  void SetUp() override {
    if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
  }

  const json::Value row_ = GetParam()->row.root();
  const std::unique_ptr<RandomNetwork> network_ = network_of(*GetParam());
  const RandomAdapter adapter_{row_, network_->tensors(), 11};
  const json::Document config_ = json::Document::parse(GetParam()->config).value();

  // Returns the largest difference of hidden states and logits from the formulas.
  double error_of(const TextModel& model, int32_t adapter) const {
    double worst = 0;
    for (const int32_t length : {1, 2, 17, 129}) {
      const auto ids = network_->ids(length);
      const auto found = model.states(ids, adapter);
      EXPECT_TRUE(found) << found.error().message;
      const auto expected = reference(config_.root(), adapter_.merged(), ids);
      worst = std::max(worst, difference(expected.hidden, found->last_hidden_state));
      const auto heads = model.heads();
      EXPECT_EQ(heads.empty(), row_.find("no_head") || expected.logits.empty());
      if (heads.empty()) continue;
      EXPECT_EQ(heads.back().adapter, adapter);
      worst = std::max(worst, difference(expected.logits, found->logits.back()));
    }
    return worst;
  }
};

TEST_P(Adapters, merged_adapters_compute_the_formulas) {
  const auto model = open(network_->directory(), {.adapter = adapter_.directory()});
  ASSERT_NE(model, nullptr);
  EXPECT_LE(error_of(*model, kNoAdapter), 1e-4);
}

class AdaptersBeside : public Adapters {};
class AdaptersNotBeside : public Adapters {};

TEST_P(AdaptersNotBeside, unsupported_adapters_cannot_run_beside_the_trunk) {
  const auto model = TextModel::open(network_->directory(), {.adapters = {adapter_.directory()}});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find(text_of(row_, "beside")), std::string::npos)
      << model.error().message;
}

TEST_P(AdaptersBeside, unmerged_adapters_compute_the_formulas) {
  const auto model = open(network_->directory(), {.adapters = {adapter_.directory()}});
  ASSERT_NE(model, nullptr);
  EXPECT_LE(error_of(*model, 0), 1e-4);
  const auto plain = open(network_->directory(), {});
  const auto ids = network_->ids(17);
  EXPECT_EQ(model->states(ids)->last_hidden_state, plain->states(ids)->last_hidden_state);
}

// Merged weights are rounded together with the trunk's, so the two errors differ randomly. For two
// small logits the difference is larger.
TEST_P(AdaptersBeside, unmerged_adapters_of_narrow_trunks_err_as_little_as_merged_ones) {
  for (const Precision precision : {Precision::kBF16, Precision::kI8}) {
    const auto beside =
        open(network_->directory(), {.precision = precision, .adapters = {adapter_.directory()}});
    const auto merged =
        open(network_->directory(), {.precision = precision, .adapter = adapter_.directory()});
    ASSERT_TRUE(beside != nullptr && merged != nullptr);
    EXPECT_LE(error_of(*beside, 0), 0.02 + error_of(*merged, kNoAdapter));
  }
}

const auto name_of = [](const auto& adapted) { return adapted.param->name; };

INSTANTIATE_TEST_SUITE_P(Cases, Adapters, testing::ValuesIn(adapted_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Cases, AdaptersBeside, testing::ValuesIn(cases_that_run_beside(true)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Cases, AdaptersNotBeside, testing::ValuesIn(cases_that_run_beside(false)),
                         name_of);

class AdapterBatch : public testing::TestWithParam<const char*> {};

// Texts of two adapters and of none, over several passes, blocks and threads.
TEST_P(AdapterBatch, gives_each_text_the_bits_it_gets_alone) {
  const AdaptedCase& adapted = case_of(GetParam());
  const auto network = network_of(adapted);
  const RandomAdapter first(adapted.row.root(), network->tensors(), 1);
  const RandomAdapter second(adapted.row.root(), network->tensors(), 2);
  std::vector<std::string> texts;
  for (int i = 0; i < 120; ++i)
    texts.push_back(std::string(1 + i % 11, static_cast<char>('a' + i % 26)) + " b c");
  std::vector<Input> inputs;
  for (int i = 0; i < 120; ++i) inputs.push_back({texts[i], {}, i % 7 % 3 - 1});
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kI8}) {
    const auto model =
        open(network->directory(), {.precision = precision,
                                    .threads = kPassThreads,
                                    .adapters = {first.directory(), second.directory()}});
    ASSERT_NE(model, nullptr);
    const size_t heads = model->heads().size();
    ASSERT_EQ(heads, 3u);
    const auto together = model->answer(inputs);
    ASSERT_TRUE(together) << together.error().message;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto alone = model->answer({&inputs[i], 1});
      ASSERT_TRUE(alone) << alone.error().message;
      for (size_t h = 0; h < heads; ++h) {
        const Answer &a = together->at(i * heads + h), &b = alone->at(h);
        const bool own = model->heads()[h].adapter == inputs[i].adapter;
        const bool whole = model->heads()[h].kind == HeadKind::kSequence;
        EXPECT_EQ(a.scores.empty(), !own || !whole);
        EXPECT_TRUE(own || a.entities.empty());
        ASSERT_EQ(a.scores, b.scores) << i;
        ASSERT_EQ(a.entities.size(), b.entities.size()) << i;
        for (size_t e = 0; e < a.entities.size(); ++e)
          EXPECT_EQ(a.entities[e].score, b.entities[e].score) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, AdapterBatch,
                         testing::Values("bert_every_layer", "roberta", "modern_bert_gated",
                                         "modern_bert_every_layer"),
                         [](const auto& name) { return std::string(name.param); });

TEST(AdaptersOfAModel, adapters_give_results_of_their_own) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  const RandomAdapter first(adapted.row.root(), network->tensors(), 1);
  const RandomAdapter second(adapted.row.root(), network->tensors(), 2);
  const auto model =
      open(network->directory(), {.adapters = {first.directory(), second.directory()}});
  const std::string_view text = "one text";
  std::vector<std::vector<float>> vectors(3, std::vector<float>(model->dim()));
  for (int32_t i = 0; i < 3; ++i)
    ASSERT_TRUE(model->embed({&text, 1}, {.adapter = i - 1}, vectors[i]));
  EXPECT_NE(vectors[0], vectors[1]);
  EXPECT_NE(vectors[0], vectors[2]);
  EXPECT_NE(vectors[1], vectors[2]);
  EXPECT_EQ(model->heads()[0].labels.size(), 5u);
  EXPECT_EQ(model->heads()[2].labels.size(), 2u);
  EXPECT_EQ(model->heads()[2].name, second.directory().filename());
  EXPECT_EQ(model->states(network->ids(3), 2).error().message, "adapter 2, the model has 2");
  EXPECT_EQ(model->states(network->ids(3), -2).error().code, Code::kInvalid);
  const Input input{text, {}, 7};
  EXPECT_EQ(model->answer({&input, 1}).error().message, "adapter 7, the model has 2");
}

TEST(AdaptersOfAModel, each_adapter_names_its_own_classes) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
  std::ofstream(adapter.directory() / "jailbreak_type_mapping.json")
      << R"({"label_to_id": {"benign": 0, "jailbreak": 1}})";
  const auto model = open(network->directory(), {.adapter = adapter.directory()});
  EXPECT_EQ(model->heads()[0].labels, (std::vector<std::string>{"benign", "jailbreak"}));
}

TEST(AdaptersOfAModel, adapters_run_merged_or_side_by_side) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
  const auto model = TextModel::open(
      network->directory(), {.adapter = adapter.directory(), .adapters = {adapter.directory()}});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kInvalid);
}

// In the file, a packed matrix consists of the bytes of pack_linear at a multiple of 4. This test
// only depends on that, the name and the length.
TEST(AdaptersOfAModel, packed_matrices_refuse_a_merge_and_run_with_adapters_beside_them) {
  const AdaptedCase& adapted = case_of("modern_bert_gated");
  const auto network = network_of(adapted);
  const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
  Checkpoint tensors = network->tensors();
  const int64_t bytes = kernels::packed_linear_bytes(kernels::Format::kF32, 48, 80, true);
  tensors["model.layers.1.mlp.Wi.packed_f32"] = {{bytes}, std::vector<float>(bytes)};
  const OpenOptions beside{.adapters = {adapter.directory()}};
  const auto opens = [&](const char* padding) {
    Checkpoint padded = tensors;
    padded[padding] = {{1}, {0}};
    network->write(padded);
    return TextModel::open(network->directory(), beside).has_value();
  };
  EXPECT_TRUE(opens("a") || opens("aa") || opens("aaa") || opens("aaaa"));
  const auto merged = TextModel::open(network->directory(), {.adapter = adapter.directory()});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().message.find(
                "\"model.layers.1.mlp.Wi.packed_f32\" is packed: \"model.layers.1.mlp.Wi\" of "),
            std::string::npos)
      << merged.error().message;
}

// Each line of data/refused_adapters.jsonl changes one member or tensor of a valid adapter.
TEST(AdaptersOfAModel, refusals_name_the_adapter_and_the_place) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  auto file = open_data("refused_adapters.jsonl");
  size_t read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    const auto document = json::Document::parse(line).value();
    const json::Value row = document.root();
    const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
    if (const auto config = row.find("config")) {
      std::ofstream(adapter.directory() / "adapter_config.json")
          << merge_objects(*config, *adapted.row.root().find("adapter"));
    }
    Checkpoint files = adapter.files();
    if (const auto name = row.find("drop")) files.erase(std::string(name->text()));
    if (const auto added = row.find("add")) {
      for (const json::Member& member : added->members()) {
        TestTensor& tensor = files[std::string(member.key)] = {};
        size_t size = 1;
        for (const json::Value& extent : member.value.items()) {
          tensor.shape.push_back(extent.integer().value());
          size *= static_cast<size_t>(tensor.shape.back());
        }
        tensor.values.resize(size);
      }
    }
    adapter.write(files);
    for (const bool merged : {false, true}) {
      OpenOptions options;
      if (merged) {
        options.adapter = adapter.directory();
      } else {
        options.adapters = {adapter.directory()};
      }
      const auto model = TextModel::open(network->directory(), options);
      const std::string name(row.find("name")->text()), message(row.find("message")->text());
      ASSERT_FALSE(model) << name;
      EXPECT_NE(model.error().message.find(message), std::string::npos)
          << name << ": " << model.error().message << "\nexpected " << message;
      EXPECT_TRUE(model.error().message.starts_with(adapter.directory().string())) << name;
    }
  }
  EXPECT_GT(read, 20u);
}

// An adapter's directory as shipped by the project, with its heads inside and its trunk next to it.
TEST(ModelPath, a_path_to_an_adapter_or_its_head_opens_the_whole_model) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
  const auto& directory = adapter.directory();
  std::string config;
  std::getline(std::ifstream(directory / "adapter_config.json"), config, '\0');
  const auto set_trunk = [&](const std::string& trunk) {
    std::ofstream(directory / "adapter_config.json") << merge_objects(
        json::Document::parse(fmt::format(R"({{"signalbox_trunk": "{}"}})", trunk)).value().root(),
        json::Document::parse(config).value().root());
  };
  set_trunk((std::filesystem::path("..") / network->directory().filename()).string());
  const int hidden = TextModel::open(network->directory()).value()->hidden();
  for (const char* name : {"tone", "topic"}) {
    std::filesystem::create_directory(directory / name);
    std::ofstream(directory / name / "config.json") << fmt::format(
        R"({{"architectures": ["LinearForSequenceClassification"], "hidden_size": {}, "num_labels": 2}})",
        hidden);
    Checkpoint head;
    head["classifier.bias"] = {{2}, {0, static_cast<float>(std::string_view(name).size())}};
    head["classifier.weight"] = {{2, hidden}, std::vector<float>(2 * hidden, 0.01F)};
    write_checkpoint(directory / name / "model.safetensors", head, "F32");
  }
  const auto whole = TextModel::open(directory);
  ASSERT_TRUE(whole) << whole.error().message;
  const auto apart =
      TextModel::open(network->directory(),
                      {.heads = {directory / "tone", directory / "topic"}, .adapter = directory});
  ASSERT_TRUE(apart) << apart.error().message;
  const std::vector<int32_t> ids = network->ids(7);
  const States expected = (*apart)->states(ids).value();
  EXPECT_EQ((*whole)->states(ids).value().logits, expected.logits);

  const auto of_head = TextModel::open(directory / "topic");
  ASSERT_TRUE(of_head) << of_head.error().message;
  EXPECT_EQ((*of_head)->states(ids).value().logits, expected.logits);
  const auto path = find_model(directory / "topic").value();
  EXPECT_EQ(path.head, "topic");
  const size_t topic = find_head(**of_head, "topic", HeadKind::kSequence).value();
  EXPECT_EQ((*of_head)->heads()[topic].name, "topic");
  EXPECT_THAT(find_head(**of_head, "tone", HeadKind::kTokens).error().message,
              testing::HasSubstr("topic (classifies texts)"));

  // A separate head, or one given in the options, may have the same name as one of these.
  const TemporaryDirectory elsewhere;
  std::filesystem::copy(directory / "topic", elsewhere.path() / "tone");
  std::filesystem::copy(directory / "tone", elsewhere.path() / "topic");
  const auto both = TextModel::open(
      directory, {.heads = {elsewhere.path() / "tone", elsewhere.path() / "topic"}});
  ASSERT_TRUE(both) << both.error().message;
  const size_t heads = (*both)->heads().size();
  EXPECT_EQ(find_head(**both, "tone", HeadKind::kSequence).value(), heads - 2);
  EXPECT_EQ(find_head(**both, "topic", HeadKind::kSequence).value(), heads - 1);

  EXPECT_THAT(TextModel::open(directory, {.adapter = directory}).error().message,
              testing::HasSubstr("is already an adapter"));
  set_trunk("../nowhere");
  EXPECT_THAT(TextModel::open(directory / "tone").error().message,
              testing::HasSubstr("searched: "));
}

// For any bytes of an adapter, opening it ends with a model or an error.
TEST(AdaptersOfAModel, opening_damaged_bytes_gives_an_error_or_a_model) {
  const AdaptedCase& adapted = case_of("modern_bert");
  const auto network = network_of(adapted);
  std::mt19937 random(5);
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    const RandomAdapter adapter(adapted.row.root(), network->tensors(), 1);
    const auto path = adapter.directory() / name;
    std::ifstream in(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const size_t header = std::min<size_t>(whole.size(), 1200);
    for (int i = 0; i < 200; ++i) {
      std::string text = whole;
      if (i % 4 == 0) {
        text.resize(random() % header);
      } else {
        for (int flips = 0; flips < i % 4; ++flips)
          text[random() % header] = "0123456789{}[]\",:xA_\n\0"[random() % 23];
      }
      std::ofstream(path, std::ios::binary) << text;
      const auto model = TextModel::open(network->directory(), {.adapters = {adapter.directory()}});
      EXPECT_TRUE(model || !model.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace signalbox::engine
