// `signalbox bench`: measures how long a model takes for texts of given lengths, and which share of
// the processor's peak it reaches. The token ids are made up, because the cost of a network depends
// only on their number.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cxxopts.hpp>
#include <optional>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "kernels/kernels.h"
#include "kernels/peak.h"
#include "tools/bench_requests.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

constexpr double kMeasuredS = 1;  // how long one length is repeated
constexpr int32_t kRunsMin = 3;
constexpr int32_t kRunsMax = 1000;

struct BenchOptions {
  std::string dtype;
  std::vector<int32_t> tokens;
  int32_t threads = 1;
  int32_t runs = 0;  // 0: as many as fit in kMeasuredS
};

struct Times {
  std::vector<double> ms;   // (runs), sorted
  double processor_ms = 0;  // processor time of all runs together
};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

rusage usage() {
  rusage out{};
  ::getrusage(RUSAGE_SELF, &out);
  return out;
}

double processor_ms() {
  const rusage now = usage();
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return milliseconds(now.ru_utime) + milliseconds(now.ru_stime);
}

std::vector<int32_t> ids_for(const engine::TextModel& model, int32_t tokens) {
  std::vector<int32_t> out(tokens);
  // The step shares no factor with common vocabulary sizes, so the rows of the table differ.
  for (int64_t i = 0; i < tokens; ++i) out[i] = static_cast<int32_t>(i * 37 % model.vocabulary());
  return out;
}

// Runs the first pass, which allocates scratch memory, reads the weights into the caches, and
// checks that the result is finite. Returns its time.
Result<double> first_pass(const engine::TextModel& model, std::span<const int32_t> ids) {
  const auto begin = Clock::now();
  SIGNALBOX_TRY(const engine::States states, model.states(ids));
  const double ms = milliseconds_since(begin);
  for (const float x : states.last_hidden_state) {
    if (!std::isfinite(x)) {
      return fail(Code::kCorrupt,
                  "{} tokens: the hidden states are not finite, so no time is reported",
                  ids.size());
    }
  }
  return ms;
}

// Precondition: first_pass() succeeded, so states() does not fail for these ids.
Times repeat(const engine::TextModel& model, std::span<const int32_t> ids, int32_t runs) {
  Times out;
  const double before = processor_ms();
  for (int32_t i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    SIGNALBOX_CHECK(model.states(ids).has_value());
    out.ms.push_back(milliseconds_since(begin));
  }
  out.processor_ms = processor_ms() - before;
  std::sort(out.ms.begin(), out.ms.end());
  return out;
}

Result<std::string> measure(const engine::TextModel& model, const BenchOptions& options,
                            int32_t tokens, const kernels::Table& table, double peak_gflops) {
  const std::vector<int32_t> ids = ids_for(model, tokens);
  SIGNALBOX_TRY(const double first_ms, first_pass(model, ids));
  const int32_t runs = options.runs != 0 ? options.runs
                                         : static_cast<int32_t>(std::clamp<double>(
                                               kMeasuredS * 1e3 / first_ms, kRunsMin, kRunsMax));
  const Times times = repeat(model, ids, runs);
  const double texts = static_cast<double>(times.ms.size());
  // Uses the fastest run, because the peak is measured in the same way.
  const double gflops = 2e-6 * model.multiply_adds(tokens) / times.ms.front();
  json::Writer out;
  out.begin_object().member("tokens", tokens);
  out.member("min_ms", times.ms.front()).member("median_ms", times.ms[times.ms.size() / 2]);
  out.member("gflops", gflops).member("peak_share", gflops / (peak_gflops * options.threads));
  out.member("tier", table.tier).member("gemm", table.gemm).member("dtype", options.dtype);
  out.member("threads", options.threads).member("runs", runs);
  out.member("cpu_ms", times.processor_ms / texts);
  out.member("peak_rss_mb", static_cast<double>(usage().ru_maxrss) / 1024);
  return out.end_object().take();
}

Result<void> bench(const engine::TextModel& model, const BenchOptions& options) {
  SIGNALBOX_TRY(const kernels::Table* table, kernels::active_table());
  for (const int32_t tokens : options.tokens) {
    if (tokens > model.tokens_max()) {
      return fail(Code::kInvalid, "--tokens: {} is above the model's limit of {}", tokens,
                  model.tokens_max());
    }
  }
  const double peak_gflops = kernels::measured_peak_gflops(
      *table, options.dtype == "int8" ? kernels::Factors::kI8 : kernels::Factors::kF32);
  for (const int32_t tokens : options.tokens) {
    SIGNALBOX_TRY(const std::string line, measure(model, options, tokens, *table, peak_gflops));
    std::puts(line.c_str());
    std::fflush(stdout);
  }
  return {};
}

Result<std::vector<int32_t>> parse_lengths(std::string_view text) {
  std::vector<int32_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    int32_t length = 0;
    const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), length);
    if (error != std::errc() || stop != item.data() + item.size() || length < 1) {
      return fail(Code::kInvalid, "--tokens: expected lengths of at least 1, found \"{}\"", item);
    }
    out.push_back(length);
    begin = end + 1;
  }
  return out;
}

Result<BenchOptions> read_bench_options(const cxxopts::ParseResult& parsed) {
  BenchOptions out;
  out.dtype = parsed["dtype"].as<std::string>();
  SIGNALBOX_TRY(out.tokens, parse_lengths(parsed["tokens"].as<std::string>()));
  out.threads = parsed["threads"].as<int32_t>();
  if (parsed.count("runs") == 0) return out;
  out.runs = parsed["runs"].as<int32_t>();
  if (out.runs < 1 || out.runs > kRunsMax) {
    return fail(Code::kInvalid, "--runs: expected 1 to {}, found {}", kRunsMax, out.runs);
  }
  return out;
}

constexpr double kRateMax = 100'000;
constexpr double kSecondsMax = 600;

/// Refuses options that would have no effect.
Result<void> check_kind(const cxxopts::ParseResult& parsed) {
  const bool at_rate = parsed.count("requests") > 0;
  for (const char* option : {"seconds", "workers"}) {
    if (!at_rate && parsed.count(option) > 0)
      return fail(Code::kInvalid, "--{}: needs --requests", option);
  }
  for (const char* option : {"tokens", "runs"}) {
    if (at_rate && parsed.count(option) > 0)
      return fail(Code::kInvalid, "--{}: not together with --requests", option);
  }
  return {};
}

/// Returns nullopt without --requests.
Result<std::optional<RequestRate>> read_rate(const cxxopts::ParseResult& parsed) {
  SIGNALBOX_TRY_VOID(check_kind(parsed));
  if (parsed.count("requests") == 0) return std::optional<RequestRate>();
  RequestRate out;
  out.per_second = parsed["requests"].as<Number>().value;
  if (!(out.per_second > 0 && out.per_second <= kRateMax)) {
    return fail(Code::kInvalid, "--requests: expected more than 0 and at most {}, found {}",
                kRateMax, out.per_second);
  }
  out.seconds = parsed["seconds"].as<Number>().value;
  if (!(out.seconds > 0 && out.seconds <= kSecondsMax)) {
    return fail(Code::kInvalid, "--seconds: expected more than 0 and at most {}, found {}",
                kSecondsMax, out.seconds);
  }
  if (out.per_second * out.seconds > kRequestsMax) {
    return fail(Code::kInvalid, "--requests: {} per second for {} s are more than {} texts",
                out.per_second, out.seconds, kRequestsMax);
  }
  out.workers = parsed["workers"].as<int32_t>();
  out.threads = parsed["threads"].as<int32_t>();
  out.dtype = parsed["dtype"].as<std::string>();
  return out;
}

/// Times the lengths, or texts at a rate if there is one.
Result<void> bench_or_serve(const engine::TextModel& model, const BenchOptions& options,
                            const std::optional<RequestRate>& rate) {
  if (!rate) return bench(model, options);
  SIGNALBOX_TRY(const std::string line, bench_requests(model, *rate));
  std::puts(line.c_str());
  return {};
}

int bench_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox bench",
      "Times a model on made-up token ids and writes a line {\"tokens\", \"min_ms\", "
      "\"median_ms\",\n\"gflops\", \"peak_share\", \"tier\", ...} for each length. gflops counts "
      "the "
      "matrix products and\nattention of the fastest run; peak_share is their share of the cores' "
      "peak, which is measured\nat the start; cpu_ms is the processor time for one text.\n\n"
      "With --requests, texts of 20 to 400 tokens arrive at that rate instead, at random times, "
      "and "
      "pass\nthrough the scheduler that serves the router's models. The line has \"p50_ms\", "
      "\"p99_ms\",\n\"texts_per_s\" and \"refused\" (the queue was full). The answers are first "
      "compared with the\nmodel's own.");
  add_model_options(options);
  auto add = options.add_options();
  // As a cxxopts list, "16,,32" would be accepted.
  add("tokens", "lengths, comma-separated",
      cxxopts::value<std::string>()->default_value("16,32,64,128,512"), "N,...");
  add("runs", "runs of each length; default: one second's worth, but at least three",
      cxxopts::value<int32_t>(), "N");
  add("requests", "texts per second, instead of lengths", cxxopts::value<Number>(), "RATE");
  add("seconds", "time for which they arrive", cxxopts::value<Number>()->default_value("10"), "S");
  add("workers", "batches at a time", cxxopts::value<int32_t>()->default_value("1"), "N");
  return with_model(
      options, argc, argv, [](const cxxopts::ParseResult& parsed, const engine::TextModel& model) {
        const auto bench_options = read_bench_options(parsed);
        if (!bench_options) {
          std::fprintf(stderr, "signalbox bench: %s\n", bench_options.error().message.c_str());
          return kExitUsage;
        }
        const auto rate = read_rate(parsed);
        if (!rate) {
          std::fprintf(stderr, "signalbox bench: %s\n", rate.error().message.c_str());
          return kExitUsage;
        }
        const auto done = bench_or_serve(model, *bench_options, *rate);
        return done ? kExitOk : report(done.error());
      });
}

}  // namespace

const Command kBenchCommand = {"bench", "measures how long a model takes by number of tokens",
                               bench_command};

}  // namespace signalbox::tools
