#pragma once
// `providers` as structs: the models that requests can go to, and the servers that have them.

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
  // The names of efforts. "" or empty: as servers commonly have them.
  std::vector<std::string> levels;  // those that the model has
  std::string default_effort;       // if a decision names none
  std::string disabled;             // switches reasoning off
  // Switches in chat_template_kwargs: for reasoning, and for each effort in place of `parameter`.
  std::string activation_parameter;
  std::map<std::string, std::string> effort_flags;
};

struct BackendRef {
  std::string name;
  std::string type;  // "echo" is built in and needs no address; "": the file names none
  std::string host;  // from `endpoint: host:port` or `base_url`
  uint16_t port = 0;
  bool tls = false;         // from protocol https or an https base_url
  std::string tls_ca_path;  // PEM file of authorities for its certificate; "": the system's
  bool tls_skip_verify = false;
  std::string path_prefix;  // path of base_url without the "/v1" of requests: "" or "/api"
  std::string provider;     // gives the address and the API if the file does not
  std::string api_key_env;  // environment variable with the key; "": none
  std::string api_key;      // used if that is not set
  std::string auth_header = "Authorization";
  std::string auth_prefix = "Bearer";
  bool forwards_authorization = false;  // the client's key goes to the server; there is no api_key
  std::map<std::string, std::string> extra_headers;
  std::string api_version;  // for ?api-version=; "": not sent
  std::string chat_path;    // whole path, instead of path_prefix and /v1/chat/completions
  std::string backend_id;
  std::string engine_kind;
  uint16_t metrics_port = 0;
  std::string metrics_path;
  uint32_t weight = 1;
  bool is_envoys = false;  // a model without backend_refs: only Envoy reaches its servers

  bool operator==(const BackendRef&) const = default;
};

/// Prices per million tokens.
struct Pricing {
  std::string currency = "USD";
  double prompt_per_1m = 0;
  double cached_input_per_1m = 0;
  double cache_write_per_1m = 0;
  double completion_per_1m = 0;
  double reasoning_per_1m = 0;  // 0: as other generated tokens
  double per_request = 0;
};

/// The failures of a call after which another worker is tried. All of them occur before the client
/// has received a byte of the reply.
struct RetryOn {
  bool connect = true;         // no connection
  bool refused = true;         // closed before the reply, or 503 with Retry-After
  bool timeout = true;         // no reply within reply_timeout
  bool gateway_error = false;  // 502, 503, 504
  bool any_5xx = false;
  std::vector<uint16_t> statuses = {};  // further ones

  bool operator==(const RetryOn&) const = default;
};

/// How to distribute calls over a model's backends ("workers"), and when to skip one.
struct Reliability {
  enum class Policy { kWeighted, kLeastRequest, kSession, kPrefix };
  Policy lb_policy = Policy::kWeighted;
  uint32_t retry_count = 2;
  RetryOn retry_on;
  uint32_t consecutive_5xx = 5;  // failures of any kind; 0: no ejection
  std::chrono::milliseconds base_ejection_time{30'000};
  uint32_t max_ejection_percent = 50;
  std::string health_check_path;  // "": no health checks
  std::chrono::milliseconds health_check_interval{10'000};
  std::chrono::milliseconds health_check_timeout{2'000};
  std::chrono::milliseconds connect_timeout{0};      // 0: that of global.services.http
  std::chrono::milliseconds total_timeout{0};        // of all attempts; 0: the listener's timeout
  std::chrono::milliseconds idle_timeout{0};         // for more of a reply; 0: no limit
  std::chrono::milliseconds retry_back_off_base{0};  // 0: another worker is tried at once
  std::chrono::milliseconds retry_back_off_max{0};   // 0: ten times the base
  std::chrono::milliseconds retry_after_max{0};      // 0: Retry-After has no effect
  // Retries at a time as a share of the requests in flight; nullopt: another bound holds.
  std::optional<double> retry_budget_percent;
  std::optional<uint32_t> retry_budget_min_concurrency;
  // Signalbox only, from here on.
  uint32_t unhealthy_threshold = 3;  // failed checks in a row
  uint32_t healthy_threshold = 2;    // passed checks in a row
  std::chrono::milliseconds metrics_interval{1'000};
  std::chrono::milliseconds reply_timeout{0};  // for a reply to begin; 0: the listener's timeout
  uint32_t max_in_flight = 0;                  // requests per worker; 0: no limit
  uint32_t queue_max = 128;                    // requests that may wait for a worker
  std::chrono::milliseconds queue_timeout{10'000};
  std::string session_header = "x-session-id";
  uint32_t prefix_block_bytes = 256;
  uint32_t prefix_blocks_max = 16'384;    // remembered per worker
  uint32_t shared_prefix_bytes = 16'384;  // least size of a shared beginning of prompts; 0: none
  double prefill_weight = 1;
  double active_weight = 1;
  std::vector<std::string> fallback_models;  // tried in turn if no worker answers

  bool operator==(const Reliability&) const = default;
};

/// The personal data that a model may see. Signalbox only; older files have it in `model_config`.
struct PiiPolicy {
  bool allow_by_default = true;
  std::vector<std::string> pii_types_allowed;
};

struct Model {
  enum class ApiFormat { kOpenAi, kAnthropic, kSystemOne };
  std::string name;
  std::string catalog;                   // name in the Semantic Router's catalogue; "": none
  std::string provider_model_id;         // name at the server; default: name
  std::string reasoning_family;          // "": none
  ReasoningFamily own_reasoning;         // as written; reasoning_family names it once it is read
  std::vector<BackendRef> backend_refs;  // at least one
  ApiFormat api_format = ApiFormat::kOpenAi;
  bool responses_api = false;  // the servers also have OpenAI's responses
  std::optional<Pricing> pricing;
  std::optional<Reliability> reliability;
  std::map<std::string, std::string> external_model_ids;  // by provider
  std::optional<PiiPolicy> pii_policy;
};

/// Why the servers of a model cannot hold files and batches; "": they can.
std::string_view why_no_files(const Model& model);

struct Providers {
  std::string default_model;
  std::string default_reasoning_effort = "medium";
  std::map<std::string, ReasoningFamily> reasoning_families;
  std::vector<Model> models;

  const Model* find(std::string_view name) const;
};

}  // namespace signalbox::config
