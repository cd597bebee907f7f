// Time of one embedding by number of tokens, on one thread, with the real MiniLM; and time of a
// request that needs that embedding and all heads of the project's own adapters, in 8 bits; and
// time of a window by the share that a screen clears. First checks that the result equals that of a
// batch. Prints processor-independent figures: tokens per second and GFLOP/s of the matrix
// products. usage: engine_bench [--benchmark_filter=...] with models/minilm, models/signals and
// models/attacks in the working directory.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kernels/kernels.h"

namespace signalbox::engine {
namespace {

std::unique_ptr<const TextModel> open(const char* directory, const OpenOptions& options) {
  auto result = TextModel::open(directory, options);
  if (!result) {
    std::fprintf(stderr, "%s (run `signalbox models pull` first)\n",
                 result.error().message.c_str());
    std::exit(1);
  }
  return *std::move(result);
}

const TextModel& model() {
  static const auto opened = open("models/minilm", {});
  return *opened;
}

// Returns a text of exactly `tokens` tokens, including special tokens: "the" is one token.
std::string text_of(int64_t tokens) {
  std::string text;
  for (int64_t i = 2; i < tokens; ++i) text += "the ";
  return text;
}

void BM_Embed(benchmark::State& state) {
  const std::string text = text_of(state.range(0));
  const std::string_view twice[] = {text, text};
  std::vector<float> pair(2 * model().dim()), out(model().dim());
  const bool counted = static_cast<int64_t>(model().encode(text).value().size()) == state.range(0);
  if (!counted || !model().embed(twice, pair) || !model().embed({twice, 1}, out) ||
      !std::equal(out.begin(), out.end(), pair.begin() + model().dim())) {
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  for (auto _ : state) {
    const auto done = model().embed({twice, 1}, out);
    benchmark::DoNotOptimize(done);
  }
  constexpr double kMatrixParameters = 6 * (4.0 * 384 * 384 + 2.0 * 384 * 1536);
  const auto tokens = static_cast<double>(state.iterations() * state.range(0));
  state.counters["tokens/s"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * kMatrixParameters * tokens, benchmark::Counter::kIsRate);
  state.SetLabel(std::string(kernels::active_table().value()->tier));
}

// Processes texts in windows, as the router does.
void BM_Signals(benchmark::State& state) {
  constexpr int32_t kWindow = 256, kShared = 32;
  static const auto trunk = open("models/minilm", {.precision = Precision::kI8});
  static const auto signals = open("models/signals", {.precision = Precision::kI8});
  static const auto attacks = open("models/attacks", {.precision = Precision::kI8});
  const std::string text = text_of(state.range(0));
  const std::string_view view = text;
  std::vector<float> out(trunk->dim());
  for (auto _ : state) {
    for (const TextModel* adapter : {signals.get(), attacks.get()}) {
      std::vector<Input> inputs;
      const auto windows = adapter->windows(text, kWindow, kShared);
      for (const std::string_view window : *windows) inputs.push_back({window, {}});
      const auto answers = adapter->answer(inputs);
      if (!answers || answers->size() != inputs.size() * adapter->heads().size()) {
        state.SkipWithError("no answer");
        return;
      }
    }
    if (!trunk->embed({&view, 1}, out)) {
      state.SkipWithError("no embedding");
      return;
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["heads"] = static_cast<double>(signals->heads().size() + attacks->heads().size());
}

// Opens the guards with a screen after `layers` layers that finds everything harmless: its weights
// are zeros, so only its bias counts.
std::unique_ptr<const TextModel> open_with_screen(int64_t layers) {
  const auto directory =
      std::filesystem::temp_directory_path() / fmt::format("signalbox-screen-{}", getpid());
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json")
      << fmt::format(R"({{"architectures":["LinearForSequenceClassification"],"num_labels":2,)"
                     R"("classifier_layers":{},"classifier_clears_below":0.1}})",
                     layers);
  const std::string header = R"({"classifier.weight":{"dtype":"F32","shape":[2,384],)"
                             R"("data_offsets":[0,3072]},"classifier.bias":{"dtype":"F32",)"
                             R"("shape":[2],"data_offsets":[3072,3080]}})";
  std::vector<float> values(2 * 384 + 2);
  values[2 * 384] = 5;
  const uint64_t size = header.size();
  std::ofstream(directory / "model.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char*>(&size), sizeof size)
      .write(header.data(), static_cast<std::streamsize>(size))
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  auto model = open("models/attacks", {.precision = Precision::kI8, .heads = {directory.string()}});
  std::filesystem::remove_all(directory);
  return model;
}

// Reads windows of 256 tokens. A screen after state.range(0) layers clears a share of them.
void BM_Screen(benchmark::State& state) {
  constexpr int kWindows = 20;
  const auto model = open_with_screen(state.range(0));
  const std::string text = text_of(256);
  std::vector<Input> inputs;
  for (int i = 0; i < kWindows; ++i)
    inputs.push_back({.text = text, .screened = 100 * i < kWindows * state.range(1)});
  for (auto _ : state) {
    const auto answers = model->answer(inputs);
    int64_t cleared = 0;
    for (int i = 0; answers && i < kWindows; ++i)
      cleared += (*answers)[i * model->heads().size()].scores.empty() ? 1 : 0;
    if (100 * cleared == kWindows * state.range(1)) continue;
    state.SkipWithError("the screen clears something else");
    return;
  }
  state.counters["window"] = benchmark::Counter(
      kWindows, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(BM_Screen)
    ->ArgNames({"layers", "cleared"})
    ->ArgsProduct({{1, 2, 3}, {0, 50, 80, 100}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Signals)->Arg(32)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Embed)->Arg(8)->Arg(16)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace signalbox::engine

BENCHMARK_MAIN();
