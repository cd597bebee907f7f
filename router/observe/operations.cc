// Series are looked up at first use, because few of the combinations ever occur. Each model has a
// lock of its own.

#include "router/observe/operations.h"

namespace signalbox::observe {
namespace {

double count_of(uint64_t tokens) {
  return static_cast<double>(tokens);
}

}  // namespace

std::string_view operation_of(std::string_view path) {
  if (path == "/v1/embeddings") return "embeddings";
  if (path == "/v1/completions") return "text_completion";
  if (path.starts_with("/v1/images/") || path.starts_with("/v1/audio/")) return "generate_content";
  if (path.ends_with("/rerank")) return "rerank";
  if (path == "/v1/moderations") return "moderation";
  const bool is_chat =
      path == "/v1/chat/completions" || path == "/v1/messages" || path == "/v1/responses";
  return is_chat ? "chat" : "";
}

void Operations::record(const Operation& operation) {
  if (operation.name.empty()) return;
  const std::string response(metrics_.response_models.label(model_, operation.response_model));
  const std::lock_guard lock(mutex_);
  Handles& handles = handles_[{operation.name, response}];
  const auto with = [&](Family<Histogram>& family) {
    return &family.with({std::string(operation.name), provider_, model_, response});
  };
  if (operation.error.empty()) {
    if (handles.duration == nullptr) {
      handles.duration = &metrics_.operation_duration.with(
          {std::string(operation.name), provider_, model_, response, ""});
    }
    handles.duration->observe(operation.seconds);
  } else {
    metrics_.operation_duration
        .with({std::string(operation.name), provider_, model_, response,
               std::string(operation.error)})
        .observe(operation.seconds);
  }
  record_tokens(operation, response, handles);
  if (!operation.error.empty() || !operation.ttft_s) return;
  if (handles.ttft == nullptr) handles.ttft = with(metrics_.operation_ttft);
  handles.ttft->observe(*operation.ttft_s);
  if (!operation.tpot_s) return;
  if (handles.tpot == nullptr) handles.tpot = with(metrics_.operation_tpot);
  handles.tpot->observe(*operation.tpot_s);
}

// An embedding has no tokens of an answer, and a failed call none at all.
void Operations::record_tokens(const Operation& operation, const std::string& response,
                               Handles& handles) {
  if (!operation.tokens) return;
  const auto observe = [&](Histogram*& handle, const char* type, uint64_t tokens) {
    if (tokens == 0) return;
    if (handle == nullptr) {
      handle = &metrics_.operation_tokens.with(
          {std::string(operation.name), provider_, type, model_, response});
    }
    handle->observe(count_of(tokens));
  };
  observe(handles.input, "input", operation.tokens->prompt);
  observe(handles.output, "output", operation.tokens->completion);
}

}  // namespace signalbox::observe
