// Waits on futures; cheap functions go directly to the model.

#include "engine/served_model.h"

#include <algorithm>
#include <deque>
#include <future>
#include <iterator>
#include <utility>

#include "engine/model_memory.h"

namespace signalbox::engine {
namespace {

/// Waiting texts per caller: enough to fill a batch, and few compared with the queue.
constexpr size_t kAtATime = 8;

/// Submits `count` requests, a few at a time, and takes the results in order. After a failure the
/// remaining results are discarded.
template <class T, class Submit, class Take>
Result<void> in_turn(size_t count, const Submit& submit, const Take& take) {
  std::deque<std::future<Result<T>>> waiting;
  for (size_t submitted = 0, taken = 0; taken < count; ++taken) {
    while (submitted < count && waiting.size() < kAtATime) {
      // Shared by the waiting caller and the scheduler.
      auto promise = std::make_shared<std::promise<Result<T>>>();
      auto future = promise->get_future();
      Scheduler::Done<T> done = [promise](Result<T> result) {
        promise->set_value(std::move(result));
      };
      Result<void> entered = submit(submitted, std::move(done));
      if (!entered && entered.error().code == Code::kOverloaded && !waiting.empty()) break;
      if (!entered) return entered;
      waiting.push_back(std::move(future));
      ++submitted;
    }
    SIGNALBOX_TRY(T result, waiting.front().get());
    waiting.pop_front();
    take(taken, std::move(result));
  }
  return {};
}

class ServedModel : public TextModel, public HasMemory {
 public:
  ServedModel(std::shared_ptr<const TextModel> model, std::unique_ptr<Scheduler> scheduler)
      : model_(std::move(model)), scheduler_(std::move(scheduler)) {}

  uint64_t memory_bytes() const override { return memory_bytes_of(*model_); }
  SchedulerLoad load() const { return scheduler_->load(); }

  int32_t dim() const override { return model_->dim(); }
  int32_t tokens_max() const override { return model_->tokens_max(); }
  int32_t hidden() const override { return model_->hidden(); }
  int32_t layers() const override { return model_->layers(); }
  int32_t vocabulary() const override { return model_->vocabulary(); }
  double multiply_adds(int32_t tokens) const override { return model_->multiply_adds(tokens); }
  std::span<const HeadInfo> heads() const override { return model_->heads(); }

  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed(texts, {}, out);
  }

  Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                     std::span<float> out) const override {
    if (texts.size() != 1) return model_->embed(texts, options, out);
    SIGNALBOX_TRY(const Scheduler::Embedding vector, scheduler_->embed(texts[0], options).get());
    SIGNALBOX_CHECK(vector.size() == out.size());
    std::copy(vector.begin(), vector.end(), out.begin());
    return {};
  }

  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    if (inputs.size() != 1) return model_->answer(inputs);
    return scheduler_->answer(inputs[0]).get();
  }

  Result<void> embed_within(const Patience& patience, std::span<const std::string_view> texts,
                            std::span<float> out) const override {
    return embed_within(patience, texts, {}, out);
  }

  Result<void> embed_within(const Patience& patience, std::span<const std::string_view> texts,
                            const EmbedOptions& options, std::span<float> out) const override {
    const size_t width = out.size() / std::max<size_t>(texts.size(), 1);
    const auto submit = [&](size_t i, Scheduler::Done<Scheduler::Embedding> done) {
      return scheduler_->embed(texts[i], options, patience, std::move(done));
    };
    const auto take = [&](size_t i, const Scheduler::Embedding& vector) {
      SIGNALBOX_CHECK(vector.size() == width);
      std::copy(vector.begin(), vector.end(), &out[i * width]);
    };
    return in_turn<Scheduler::Embedding>(texts.size(), submit, take);
  }

  Result<std::vector<Answer>> answer_within(const Patience& patience,
                                            std::span<const Input> inputs) const override {
    std::vector<Answer> out;
    const auto submit = [&](size_t i, Scheduler::Done<Scheduler::Answers> done) {
      return scheduler_->answer(inputs[i], patience, std::move(done));
    };
    const auto take = [&](size_t, Scheduler::Answers answers) {
      std::move(answers.begin(), answers.end(), std::back_inserter(out));
    };
    SIGNALBOX_TRY_VOID(in_turn<Scheduler::Answers>(inputs.size(), submit, take));
    return out;
  }

  Result<States> states(std::span<const int32_t> ids, std::span<const uint8_t> types,
                        int32_t adapter) const override {
    return model_->states(ids, types, adapter);
  }
  Result<int32_t> tokens(const Input& input) const override { return model_->tokens(input); }
  Result<bool> is_cut(const Input& input) const override { return model_->is_cut(input); }
  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                int32_t overlap) const override {
    return model_->windows(text, tokens, overlap);
  }
  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    return model_->encode(text);
  }

 private:
  std::shared_ptr<const TextModel> model_;  // must outlive the scheduler
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace

Result<std::shared_ptr<const TextModel>> serve(std::shared_ptr<const TextModel> model,
                                               const SchedulerOptions& options) {
  SIGNALBOX_TRY(auto scheduler, Scheduler::create(*model, options));
  return std::make_shared<const ServedModel>(std::move(model), std::move(scheduler));
}

std::optional<SchedulerLoad> load_of(const TextEmbedder& model) {
  const auto* served = dynamic_cast<const ServedModel*>(model.text_model());
  return served == nullptr ? std::nullopt : std::optional(served->load());
}

}  // namespace signalbox::engine
