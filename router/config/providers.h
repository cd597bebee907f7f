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
  std::string tls_ca_path;  // authorities that sign its certificate, PEM; "": those of the system
  bool tls_skip_verify = false;
  std::string path_prefix;  // of base_url, without the "/v1" that requests bring: "" or "/api"
  std::string provider;     // whose dialect the server speaks: "openai"; "": vLLM's
  std::string api_key_env;  // environment variable with the key; "": none
  std::string api_key;      // written out in the file, for want of that
  std::string auth_header = "Authorization";
  std::string auth_prefix = "Bearer";
  std::map<std::string, std::string> extra_headers;
  std::string api_version;  // for ?api-version=; "": not sent
  std::string chat_path;    // the whole path, instead of path_prefix and /v1/chat/completions
  std::string backend_id;
  std::string engine_kind;
  uint16_t metrics_port = 0;
  std::string metrics_path;
  uint32_t weight = 1;

  bool operator==(const BackendRef&) const = default;
};

/// Prices of a million tokens.
struct Pricing {
  std::string currency = "USD";
  double prompt_per_1m = 0;
  double cached_input_per_1m = 0;
  double cache_write_per_1m = 0;
  double completion_per_1m = 0;
};

/// Which failures of a call another worker may be asked after. All of them come before a byte of a
/// reply has gone to the client.
struct RetryOn {
  bool connect = true;         // there was no connection
  bool refused = true;         // closed without a byte of reply, or 503 with Retry-After
  bool timeout = true;         // nothing came within reply_timeout
  bool gateway_error = false;  // 502, 503, 504
  bool any_5xx = false;

  bool operator==(const RetryOn&) const = default;
};

/// How calls are spread over a model's backends ("workers") and when one is left out.
struct Reliability {
  enum class Policy { kWeighted, kLeastRequest, kSession, kPrefix };
  Policy lb_policy = Policy::kWeighted;
  uint32_t retry_count = 2;
  RetryOn retry_on;
  uint32_t consecutive_5xx = 5;  // failures of any kind; 0: nothing is ejected
  std::chrono::milliseconds base_ejection_time{30'000};
  uint32_t max_ejection_percent = 50;
  std::string health_check_path;  // "": nobody is asked
  std::chrono::milliseconds health_check_interval{10'000};
  std::chrono::milliseconds health_check_timeout{2'000};
  // Ours.
  uint32_t unhealthy_threshold = 3;  // failed checks in a row
  uint32_t healthy_threshold = 2;    // passed checks in a row
  std::chrono::milliseconds metrics_interval{1'000};
  std::chrono::milliseconds reply_timeout{0};  // for a reply to begin; 0: the listener's
  uint32_t max_in_flight = 0;                  // requests a worker; 0: any number
  uint32_t queue_max = 128;                    // requests that wait for a worker
  std::chrono::milliseconds queue_timeout{10'000};
  std::string session_header = "x-session-id";
  uint32_t prefix_block_bytes = 256;
  uint32_t prefix_blocks_max = 16'384;  // remembered a worker
  uint32_t shared_prefix_bytes =
      16'384;  // a beginning that prompts share counts from here; 0: none
  double prefill_weight = 1;
  double active_weight = 1;
  std::vector<std::string> fallback_models;  // asked in turn when no worker of this one answers

  bool operator==(const Reliability&) const = default;
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
