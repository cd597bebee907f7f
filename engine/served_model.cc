// Waiting is a future's; everything that costs nothing goes straight to the model.

#include "engine/served_model.h"

#include <algorithm>

namespace signalbox::engine {
namespace {

class ServedModel : public TextModel {
 public:
  ServedModel(std::shared_ptr<const TextModel> model, std::unique_ptr<Scheduler> scheduler)
      : model_(std::move(model)), scheduler_(std::move(scheduler)) {}

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

  Result<States> states(std::span<const int32_t> ids, int32_t adapter) const override {
    return model_->states(ids, adapter);
  }
  Result<int32_t> tokens(const Input& input) const override { return model_->tokens(input); }
  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                int32_t overlap) const override {
    return model_->windows(text, tokens, overlap);
  }
  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    return model_->encode(text);
  }

 private:
  std::shared_ptr<const TextModel> model_;  // outlives the scheduler
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace

Result<std::shared_ptr<const TextModel>> serve(std::shared_ptr<const TextModel> model,
                                               const SchedulerOptions& options) {
  SIGNALBOX_TRY(auto scheduler, Scheduler::create(*model, options));
  return std::make_shared<const ServedModel>(std::move(model), std::move(scheduler));
}

}  // namespace signalbox::engine
