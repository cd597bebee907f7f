// Arrivals are a Poisson process with a fixed seed, as those of many independent clients. A text's
// time begins when the text was due, even if it was submitted late, so that slow submissions count.

#include "tools/bench_requests.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "base/json_writer.h"
#include "engine/scheduler.h"
#include "kernels/kernels.h"
#include "tools/eval/statistics.h"

namespace signalbox::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kTokensMin = 20;
constexpr int32_t kTokensMax = 400;
constexpr size_t kTexts = 64;
constexpr size_t kWordsMax = 20'000;  // of one text; a tokenizer may drop words
constexpr std::array<std::string_view, 16> kWords = {
    "when", "the",  "model", "reads", "a",     "text",  "it",   "splits",
    "each", "word", "into",  "known", "parts", "which", "make", "vectors"};

struct Sample {
  std::string text;
  int32_t tokens = 0;
};

Result<Sample> sample_of(const engine::TextModel& model, int32_t tokens, size_t seed) {
  Sample out;
  for (size_t word = 0; out.tokens < tokens;) {
    const size_t until = word + static_cast<size_t>(std::max(1, (tokens - out.tokens) / 4));
    for (; word < until; ++word) out.text.append(kWords[(seed + word * 7) % kWords.size()]) += ' ';
    SIGNALBOX_TRY(out.tokens, model.tokens({.text = out.text}));
    if (word > kWordsMax)
      return fail(Code::kInvalid, "{} words have less than {} tokens", word, tokens);
  }
  return out;
}

/// Returns texts whose lengths are spread evenly over the range.
Result<std::vector<Sample>> samples_for(const engine::TextModel& model) {
  if (model.tokens_max() < kTokensMin) {
    return fail(Code::kTooLarge, "--requests: texts of {} tokens exceed the model's limit of {}",
                kTokensMin, model.tokens_max());
  }
  const int32_t range = std::min(kTokensMax, model.tokens_max()) - kTokensMin;
  std::vector<Sample> out;
  for (size_t i = 0; i < kTexts; ++i) {
    const auto tokens =
        kTokensMin + range * static_cast<int32_t>(i) / static_cast<int32_t>(kTexts - 1);
    SIGNALBOX_TRY(Sample sample, sample_of(model, tokens, i));
    out.push_back(std::move(sample));
  }
  return out;
}

bool are_same(const engine::Scheduler::Answers& x, const engine::Scheduler::Answers& y) {
  const auto same_entity = [](const engine::Entity& a, const engine::Entity& b) {
    return a.type == b.type && a.begin == b.begin && a.end == b.end && a.score == b.score;
  };
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [&](const engine::Answer& a, const engine::Answer& b) {
                      return a.scores == b.scores &&
                             std::equal(a.entities.begin(), a.entities.end(), b.entities.begin(),
                                        b.entities.end(), same_entity);
                    });
}

/// One text through the scheduler or the model alone, whichever kind of answer the model has.
class Target {
 public:
  Target(const engine::TextModel& model, engine::Scheduler& scheduler)
      : model_(model), scheduler_(scheduler), answers_(!model.heads().empty()) {}

  template <class Then>
  Result<void> submit(std::string_view text, Then then) {
    if (!answers_)
      return scheduler_.embed(text, {}, {}, [then](auto result) { then(result.has_value()); });
    return scheduler_.answer({.text = text}, {}, [then](auto result) { then(result.has_value()); });
  }

  /// All texts at once, so that they share batches.
  Result<void> check(const std::vector<Sample>& samples) {
    std::vector<std::future<Result<engine::Scheduler::Embedding>>> embeddings;
    std::vector<std::future<Result<engine::Scheduler::Answers>>> answers;
    for (const Sample& sample : samples) {
      if (answers_) answers.push_back(scheduler_.answer({.text = sample.text}));
      if (!answers_) embeddings.push_back(scheduler_.embed(sample.text, engine::EmbedOptions{}));
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      SIGNALBOX_TRY(const bool same, answers_ ? is_answer(samples[i], answers[i])
                                              : is_embedding(samples[i], embeddings[i]));
      if (!same) {
        return fail(
            Code::kCorrupt,
            "{} tokens: the scheduler's answer differs from the model's, so no time is reported",
            samples[i].tokens);
      }
    }
    return {};
  }

 private:
  Result<bool> is_answer(const Sample& sample,
                         std::future<Result<engine::Scheduler::Answers>>& served) const {
    SIGNALBOX_TRY(const auto found, served.get());
    const engine::Input input{.text = sample.text};
    SIGNALBOX_TRY(const auto expected, model_.answer({&input, 1}));
    return are_same(found, expected);
  }
  Result<bool> is_embedding(const Sample& sample,
                            std::future<Result<engine::Scheduler::Embedding>>& served) const {
    SIGNALBOX_TRY(const auto found, served.get());
    std::vector<float> expected(static_cast<size_t>(model_.dim()));
    const std::string_view text = sample.text;
    SIGNALBOX_TRY_VOID(model_.embed({&text, 1}, engine::EmbedOptions{}, expected));
    return found == expected;
  }

  const engine::TextModel& model_;
  engine::Scheduler& scheduler_;
  const bool answers_;
};

struct ServedTexts {
  std::vector<double> ms;  // (answered), sorted
  size_t refused = 0;      // by a full queue
  int64_t tokens = 0;      // of all texts that were answered
  double elapsed_s = 0;    // from the first arrival to the last answer
};

/// The callbacks write to places of their own in `ms_`, and the last one wakes the waiting thread.
/// Must outlive the scheduler, whose end waits for the callbacks.
class Arrivals {
 public:
  Arrivals(const std::vector<Sample>& samples, const RequestRate& rate)
      : samples_(samples), rate_(rate), ms_(static_cast<size_t>(kRequestsMax)) {}

  Result<ServedTexts> run(Target& target) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> gap(rate_.per_second);
    std::uniform_int_distribution<size_t> which(0, samples_.size() - 1);
    const Clock::time_point begin = Clock::now();
    for (double at = 0; at < rate_.seconds && accepted_ < ms_.size(); at += gap(random)) {
      const auto due =
          begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
      std::this_thread::sleep_until(due);
      SIGNALBOX_TRY_VOID(arrive(target, samples_[which(random)], due));
    }
    for (size_t done = done_; done != accepted_; done = done_) done_.wait(done);
    if (failed_ > 0) return fail(Code::kInternal, "--requests: {} texts failed", failed_.load());
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    ms_.resize(accepted_);
    std::sort(ms_.begin(), ms_.end());
    return ServedTexts{std::move(ms_), refused_, tokens_, elapsed};
  }

 private:
  Result<void> arrive(Target& target, const Sample& sample, Clock::time_point due) {
    double& ms = ms_[accepted_];
    auto submitted = target.submit(sample.text, [this, &ms, due](bool succeeded) {
      ms = std::chrono::duration<double, std::milli>(Clock::now() - due).count();
      if (!succeeded) ++failed_;
      ++done_;
      done_.notify_one();
    });
    if (submitted) {
      ++accepted_;
      tokens_ += sample.tokens;
      return {};
    }
    if (submitted.error().code != Code::kOverloaded) return submitted;
    ++refused_;
    return {};
  }

  const std::vector<Sample>& samples_;
  const RequestRate& rate_;
  std::vector<double> ms_;
  size_t accepted_ = 0, refused_ = 0;
  int64_t tokens_ = 0;
  std::atomic<size_t> done_{0}, failed_{0};
};

double processor_s() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(now.ru_utime) + seconds(now.ru_stime);
}

}  // namespace

Result<std::string> bench_requests(const engine::TextModel& model, const RequestRate& rate) {
  SIGNALBOX_TRY(const kernels::Table* table, kernels::active_table());
  SIGNALBOX_TRY(const std::vector<Sample> samples, samples_for(model));
  Arrivals arrivals(samples, rate);
  engine::SchedulerOptions options;
  options.workers = rate.workers;
  options.tokens_max = std::max<int64_t>(options.tokens_max, model.tokens_max());
  SIGNALBOX_TRY(const auto scheduler, engine::Scheduler::create(model, options));
  Target target(model, *scheduler);
  SIGNALBOX_TRY_VOID(target.check(samples));
  const double before = processor_s();
  SIGNALBOX_TRY(const ServedTexts served, arrivals.run(target));
  if (served.ms.empty())
    return fail(Code::kInvalid, "--requests: no text arrived in {} s", rate.seconds);
  const double answered = static_cast<double>(served.ms.size());
  json::Writer out;
  out.begin_object().member("requests_per_s", rate.per_second).member("seconds", rate.seconds);
  out.member("answered", static_cast<int64_t>(served.ms.size()));
  out.member("refused", static_cast<int64_t>(served.refused));
  out.member("texts_per_s", answered / served.elapsed_s);
  out.member("p50_ms", percentile(served.ms, 0.5));
  out.member("p99_ms", percentile(served.ms, 0.99)).member("max_ms", served.ms.back());
  out.member("mean_tokens", static_cast<double>(served.tokens) / answered);
  out.member("cpu_ms", (processor_s() - before) * 1e3 / answered);
  out.member("tier", table->tier).member("gemm", table->gemm).member("dtype", rate.dtype);
  out.member("threads", rate.threads).member("workers", rate.workers);
  return out.end_object().take();
}

}  // namespace signalbox::tools
