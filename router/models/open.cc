// Opens one model, for a process that answers one request at a time or many at once.

#include <algorithm>
#include <thread>

#include "engine/served_model.h"
#include "router/models/models.h"

namespace signalbox::models {
namespace {

engine::Precision precision_of(config::ModelDtype dtype) {
  switch (dtype) {
    case config::ModelDtype::kI8:
      return engine::Precision::kI8;
    case config::ModelDtype::kBF16:
      return engine::Precision::kBF16;
    case config::ModelDtype::kF32:
      return engine::Precision::kF32;
  }
  return engine::Precision::kF32;
}

// Opens a model that signals can use. One without labels would fail on every request.
Result<std::shared_ptr<const engine::TextModel>> open_labelled(const std::string& directory,
                                                               const engine::OpenOptions& options) {
  SIGNALBOX_TRY(std::shared_ptr<const engine::TextModel> model,
                engine::TextModel::open(directory, options));
  const auto lacks = [](const engine::HeadInfo& head) { return head.labels.empty(); };
  if (std::ranges::none_of(model->heads(), lacks)) return model;
  return fail(Code::kInvalid,
              "{}/gliner_config.json: signalbox_labels: missing; expected the labels to mark, such "
              "as [\"person\", \"phone number\"]",
              directory);
}

}  // namespace

OpenModel open_directly(const config::HttpLimits& limits) {
  const engine::OpenOptions options{.precision = precision_of(limits.model_dtype)};
  return [options](const std::string& directory) { return open_labelled(directory, options); };
}

OpenModel open_served(const config::HttpLimits& limits) {
  const uint32_t configured = limits.model_threads;
  const uint32_t threads =
      configured != 0 ? configured : std::max(1U, std::thread::hardware_concurrency());
  engine::SchedulerOptions options;
  options.workers = std::min(static_cast<int32_t>(threads), engine::kThreadsMax);
  options.requests_max = static_cast<int32_t>(limits.model_queue_max);
  return [options, open = open_directly(limits)](
             const std::string& directory) -> Result<std::shared_ptr<const engine::TextModel>> {
    SIGNALBOX_TRY(auto model, open(directory));
    engine::SchedulerOptions own = options;
    own.tokens_max = std::max<int64_t>(own.tokens_max, model->tokens_max());
    return engine::serve(std::move(model), own);
  };
}

}  // namespace signalbox::models
