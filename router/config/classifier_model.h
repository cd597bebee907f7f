#pragma once
// The settings of a classifier, which runs here or on a server.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::config {

/// Variants that are a model on a server.
inline constexpr std::string_view kHttpClassify = "http_classify", kHttpChat = "http_chat",
                                  kExternalHook = "external";

/// Settings of a classifier. Each module uses a part of them.
struct ClassifierModel {
  enum class OnError { kAllow, kBlock };
  enum class OnUnread : uint8_t { kRefuse, kJudge };
  bool enabled = true;
  std::string model_ref;  // a key of SystemModels
  std::string model_id;   // or a directory
  double threshold = 0;   // 0: the module's default
  bool use_cpu = true;
  bool use_modernbert = false;
  bool use_mmbert_32k = false;
  std::string variant;
  std::string server;        // name of one of global.model_catalog.external, from `backend`
  std::string contract;      // form of the server's reply, from `backend`
  uint32_t deadline_ms = 0;  // of a call to the server; 0: llm_timeout_seconds
  std::string circuit_breaker;
  bool calls_server() const {
    return variant == kHttpClassify || variant == kHttpChat || variant == kExternalHook;
  }
  std::string mapping_path;  // file of the classes by number
  std::string fallback_category;
  std::vector<std::string> positive_labels;
  std::optional<OnError> on_error;  // nullopt: block where a decision blocks
  uint32_t windows_max = 1536;      // of one request, without repeated ones
  OnUnread on_unread = OnUnread::kRefuse;
  bool screen = true;  // the model's screen may clear windows of long texts
};

}  // namespace signalbox::config
