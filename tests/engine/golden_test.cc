// Every family compared with its own modelling code: hidden states and logits of random networks,
// within 1e-4 of the largest value in single precision, and close in fewer bits. Skips with a
// message if the shared material is missing.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/engine.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

const std::filesystem::path kGoldens =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "../shared/goldens";

std::vector<int32_t> ids_of(const weights::Tensor& tensor) {
  std::vector<int32_t> out;
  for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(int64_t)) {
    int64_t id = 0;
    std::memcpy(&id, tensor.bytes.data() + at, sizeof id);
    out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

std::vector<float> floats_of(const weights::Tensor& tensor) {
  std::vector<float> out(tensor.size());
  widen(tensor, 0, *kernels::active_table().value(), out);
  return out;
}

// Returns the largest difference relative to the largest value.
double difference(const std::vector<float>& expected, const std::vector<float>& found) {
  if (expected.size() != found.size()) return INFINITY;
  double worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(double{expected[i]} - found[i]));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return worst / largest;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

struct GoldenCase {
  std::vector<int32_t> ids;
  std::vector<uint8_t> types;  // (tokens), or empty
  std::vector<float> hidden;   // (tokens, hidden)
  std::vector<float> logits;   // (rows, classes), or empty
};

std::vector<GoldenCase> read_cases(const std::filesystem::path& directory) {
  std::vector<GoldenCase> out;
  const auto expected = weights::SafeTensors::open(directory / "expected.safetensors");
  EXPECT_TRUE(expected) << expected.error().message;
  if (!expected) return out;
  const auto tensor = [&](size_t i, const char* name) -> const weights::Tensor* {
    const std::string full = fmt::format("{}.{}", i, name);
    const auto found = std::ranges::find(expected->tensors(), full, &weights::Tensor::name);
    return found == expected->tensors().end() ? nullptr : &*found;
  };
  for (size_t i = 0; tensor(i, "input_ids") != nullptr; ++i) {
    GoldenCase& added = out.emplace_back();
    added.ids = ids_of(*tensor(i, "input_ids"));
    added.hidden = floats_of(*tensor(i, "last_hidden_state"));
    if (const auto* logits = tensor(i, "logits")) added.logits = floats_of(*logits);
    if (const auto* types = tensor(i, "token_type_ids")) {
      for (const int32_t type : ids_of(*types)) added.types.push_back(static_cast<uint8_t>(type));
    }
  }
  EXPECT_FALSE(out.empty()) << directory;
  return out;
}

constexpr const char* kModels[] = {"albert-seq-cls",
                                   "bert-rerank",
                                   "deberta-v2-conv-seq-cls",
                                   "deberta-v2-types-seq-cls",
                                   "deberta-v3-seq-cls",
                                   "deberta-v3-token",
                                   "distilbert-seq-cls",
                                   "distilbert-token",
                                   "electra-seq-cls",
                                   "modernbert-seq-cls",
                                   "modernbert-seq-mean",
                                   "modernbert-token",
                                   "mpnet-mean",
                                   "mpnet-seq-cls",
                                   "nomic-bert-mean",
                                   "t5-encoder",
                                   "xlm-roberta-seq-cls"};

class Goldens : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kGoldens)) GTEST_SKIP() << kGoldens << " does not exist";
    if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
  }

  // The greatest distances (1 - cosine) of a network from its golden, and how often a row has the
  // same best class.
  struct Error {
    double hidden = 0, logits = 0;
    int same = 0, rows = 0;
  };

  static void add_case(const TextModel& model, const GoldenCase& golden, Error& out) {
    const auto states = model.states(golden.ids, golden.types, kNoAdapter);
    ASSERT_TRUE(states) << states.error().message;
    out.hidden = std::max(out.hidden, 1 - cosine(golden.hidden, states->last_hidden_state));
    const size_t classes = model.heads().empty() ? 0 : model.heads()[0].labels.size();
    if (classes < 2) return;  // no classes to compare
    const std::vector<float>& logits = states->logits[0];
    out.logits = std::max(out.logits, 1 - cosine(golden.logits, logits));
    for (size_t at = 0; at < logits.size(); at += classes) {
      const auto best = [&](const std::vector<float>& x) {
        return std::max_element(x.begin() + at, x.begin() + at + classes) - x.begin();
      };
      out.same += best(golden.logits) == best(logits) ? 1 : 0;
      ++out.rows;
    }
  }

  // Prints the error of each network; docs/models.md has these figures.
  void expect_near(Precision precision, double distance_max, double same_min) const {
    double same = 0, rows = 0;
    for (const char* name : kModels) {
      const auto model = TextModel::open(kGoldens / name, {.precision = precision});
      ASSERT_TRUE(model) << model.error().message;
      Error error;
      for (const GoldenCase& golden : read_cases(kGoldens / name)) add_case(**model, golden, error);
      EXPECT_LE(error.hidden, distance_max) << name;
      EXPECT_LE(error.logits, distance_max) << name;
      std::printf("%-25s hidden %.6f, logits %.6f, the same class in %d of %d rows\n", name,
                  error.hidden, error.logits, error.same, error.rows);
      same += error.same;
      rows += error.rows;
    }
    EXPECT_GE(same / rows, same_min) << same << " of " << rows;
  }
};

class Golden : public Goldens, public testing::WithParamInterface<const char*> {};

TEST_P(Golden, hidden_states_and_logits_are_those_of_hugging_face) {
  const auto model = TextModel::open(kGoldens / GetParam());
  ASSERT_TRUE(model) << model.error().message;
  for (const GoldenCase& golden : read_cases(kGoldens / GetParam())) {
    const auto states = (*model)->states(golden.ids, golden.types, kNoAdapter);
    ASSERT_TRUE(states) << states.error().message;
    EXPECT_LE(difference(golden.hidden, states->last_hidden_state), 1e-4)
        << golden.ids.size() << " tokens";
    ASSERT_EQ(states->logits.size(), golden.logits.empty() ? 0u : 1u);
    if (golden.logits.empty()) continue;
    EXPECT_LE(difference(golden.logits, states->logits[0]), 1e-4) << golden.ids.size() << " tokens";
  }
}

TEST_F(Goldens, results_in_bfloat16_are_near_the_goldens) {
  expect_near(Precision::kBF16, 0.001, 0.97);
}

TEST_F(Goldens, results_in_8_bits_are_near_the_goldens) {
  expect_near(Precision::kI8, 0.011, 0.90);
}

INSTANTIATE_TEST_SUITE_P(Networks, Golden, testing::ValuesIn(kModels), [](const auto& name) {
  std::string out = name.param;
  std::ranges::replace(out, '-', '_');
  return out;
});

}  // namespace
}  // namespace signalbox::engine
