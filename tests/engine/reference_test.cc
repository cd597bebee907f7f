// Every supported network compared with double precision, within 1e-4 of the largest value. The
// networks are lines of data/networks.jsonl.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <ostream>

#include "engine/engine.h"
#include "kernels/kernels.h"
#include "tests/engine/pass_threads.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

struct ReferenceCase {
  std::string name;
  std::string config;
  std::string dtype;
  std::vector<int32_t> lengths;
};

void PrintTo(const ReferenceCase& network, std::ostream* out) {
  *out << network.name;
}

std::vector<ReferenceCase> reference_cases() {
  std::vector<ReferenceCase> out;
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/engine/data/networks.jsonl");
  std::string first;
  std::getline(file, first);
  const auto defaults = json::Document::parse(first).value();
  for (std::string line; std::getline(file, line);) {
    const auto document = json::Document::parse(std::move(line)).value();
    const json::Value row = document.root();
    ReferenceCase& added = out.emplace_back();
    added.name = row.find("name")->text();
    const auto base = defaults.root().find(row.find("base")->text()).value();
    added.config = merge_objects(row.find("config").value(), base);
    added.dtype = row.find("dtype") ? row.find("dtype")->text() : "F32";
    const auto lengths = row.find("lengths");
    for (const json::Value& length : (lengths ? *lengths : *base.find("lengths")).items())
      added.lengths.push_back(static_cast<int32_t>(length.integer().value()));
  }
  return out;
}

void expect_close(const std::vector<double>& expected, const std::vector<float>& found,
                  const std::string& what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  double largest = 0, worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << what;
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::abs(expected[i] - found[i]));
  }
  EXPECT_LE(worst, 1e-4 * largest) << what;
}

class Reference : public testing::TestWithParam<ReferenceCase> {};

TEST_P(Reference, the_engine_computes_the_formulas_of_the_reference) {
  if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
  const ReferenceCase& network = GetParam();
  const RandomNetwork random(network.config, false, network.dtype);
  const auto model = TextModel::open(random.directory());
  ASSERT_TRUE(model) << model.error().message;
  for (const int32_t length : network.lengths) {
    const std::vector<int32_t> ids = random.ids(length);
    const auto found = (*model)->states(ids);
    ASSERT_TRUE(found) << found.error().message;
    const ReferenceOutput expected = random.reference(ids);
    const std::string what = fmt::format("{} tokens", length);
    expect_close(expected.hidden, found->last_hidden_state, "hidden states of " + what);
    ASSERT_EQ(found->logits.size(), expected.logits.empty() ? 0u : 1u);
    if (!found->logits.empty())
      expect_close(expected.logits, found->logits[0], "logits of " + what);
  }
}

// Bit for bit in every precision; fewer bits stay close.
TEST_P(Reference, threads_change_no_result_and_fewer_bits_change_it_little) {
  if (kPassThreads == 1) GTEST_SKIP() << "one thread a pass under this sanitizer";
  if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
  const ReferenceCase& network = GetParam();
  const RandomNetwork random(network.config, false, network.dtype);
  std::map<int32_t, std::vector<double>> hidden;  // by length
  for (const int32_t length : network.lengths)
    hidden[length] = random.reference(random.ids(length)).hidden;
  for (const auto& [precision, cosine_min] :
       {std::pair{Precision::kF32, 0.99999}, {Precision::kBF16, 0.999}, {Precision::kI8, 0.97}}) {
    const auto one = TextModel::open(random.directory(), {.precision = precision});
    const auto two =
        TextModel::open(random.directory(), {.precision = precision, .threads = kPassThreads});
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_TRUE(two) << two.error().message;
    for (const int32_t length : network.lengths) {
      const std::vector<int32_t> ids = random.ids(length);
      const auto found = (*one)->states(ids), again = (*two)->states(ids);
      ASSERT_TRUE(found && again);
      EXPECT_EQ(found->last_hidden_state, again->last_hidden_state) << length << " tokens";
      EXPECT_EQ(found->logits, again->logits) << length << " tokens";
      const std::vector<double>& expected = hidden[length];
      double dot = 0, squares = 0, expected_squares = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        dot += expected[i] * found->last_hidden_state[i];
        squares += double{found->last_hidden_state[i]} * found->last_hidden_state[i];
        expected_squares += expected[i] * expected[i];
      }
      EXPECT_GE(dot / std::sqrt(squares * expected_squares), cosine_min)
          << length << " tokens, precision " << static_cast<int>(precision);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Reference, testing::ValuesIn(reference_cases()),
                         [](const auto& network) { return network.param.name; });

}  // namespace
}  // namespace signalbox::engine
