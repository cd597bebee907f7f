#pragma once
// `providers` as structs: the models that requests can go to, and the servers behind them.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::config {

struct ReasoningFamily {
  enum class Type { kChatTemplateKwargs, kReasoningEffort, kTopLevelReasoningEffort };
  Type type = Type::kChatTemplateKwargs;
  std::string parameter;
};

struct BackendRef {
  std::string name;
  std::string type = "vllm";  // "echo" is the built-in one and needs no address
  std::string host;           // from `endpoint: host:port` or `base_url`
  uint16_t port = 0;
  bool tls = false;         // protocol https or an https base_url
  std::string path_prefix;  // of base_url, without the "/v1" that requests bring: "" or "/api"
  std::string provider;     // whose dialect the server speaks: "openai"; "": vLLM's
  std::string api_key;      // written out in the file
  std::string api_key_env;  // environment variable with the key; "": none
  std::string auth_header = "Authorization";
  std::string auth_prefix = "Bearer";
  std::map<std::string, std::string> extra_headers;
  std::string api_version;
  std::string chat_path;  // instead of /v1/chat/completions
  std::string backend_id;
  std::string engine_kind;
  uint16_t metrics_port = 0;
  std::string metrics_path;
  uint32_t weight = 1;
};

/// Prices of a million tokens.
struct Pricing {
  std::string currency = "USD";
  double prompt_per_1m = 0;
  double cached_input_per_1m = 0;
  double cache_write_per_1m = 0;
  double completion_per_1m = 0;
};

/// How calls are spread over a model's backends and when one is left out.
struct Reliability {
  std::string lb_policy;
  uint32_t retry_count = 0;
  std::string retry_on;  // "connect-failure,refused-stream"
  uint32_t consecutive_5xx = 0;
  std::chrono::milliseconds base_ejection_time{0};
  uint32_t max_ejection_percent = 0;
  std::string health_check_path;
  std::chrono::milliseconds health_check_interval{0};
  std::chrono::milliseconds health_check_timeout{0};
};

/// Which personal data a model may see. Ours: older files had it in `model_config`.
struct PiiPolicy {
  bool allow_by_default = true;
  std::vector<std::string> pii_types_allowed;
};

struct Model {
  enum class ApiFormat { kOpenAi, kAnthropic };
  std::string name;
  std::string provider_model_id;         // what the upstream is asked for; defaults to name
  std::string reasoning_family;          // "": none
  std::vector<BackendRef> backend_refs;  // at least one
  ApiFormat api_format = ApiFormat::kOpenAi;
  std::optional<Pricing> pricing;
  std::optional<Reliability> reliability;
  std::map<std::string, std::string> external_model_ids;  // by provider
  std::optional<PiiPolicy> pii_policy;
};

struct Providers {
  std::string default_model;
  std::string default_reasoning_effort = "medium";
  std::map<std::string, ReasoningFamily> reasoning_families;
  std::vector<Model> models;

  const Model* find(std::string_view name) const;
};

}  // namespace signalbox::config
