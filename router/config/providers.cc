// `providers`: the models that requests can go to, and the servers that have them.

#include <algorithm>

#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

// --- backend_refs ---

constexpr std::string_view kAnthropic = "anthropic";

// A backend as written. It becomes a BackendRef once all its keys are known.
struct BackendText {
  BackendRef ref;
  std::string endpoint;
  std::string base_url;
  bool https = false;
};

void check_known_type(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  if (ref.type.empty() || ref.type == "vllm" || ref.type == "chat" || ref.type == "echo") return;
  reader.at_key("type", [&] {
    reader.notice(
        node.find("type")->line,
        fmt::format("unknown type \"{}\" is treated as vllm (known: vllm, chat, echo)", ref.type));
  });
}

void set_place(const Endpoint& address, BackendRef& ref) {
  ref.host = address.host;
  ref.port = address.port;
  ref.tls = address.tls;
  if (ref.name.empty()) ref.name = written(address.host, address.port);
  ref.path_prefix = address.path;
  if (!ref.chat_path.empty()) ref.chat_path.insert(0, address.path);
  // Requests bring their own "/v1/...".
  if (ref.path_prefix.ends_with("/v1")) ref.path_prefix.resize(ref.path_prefix.size() - 3);
}

// Files have `endpoint: host:port/v1` and `endpoint: http://host:port/v1`, too.
Result<Endpoint> address_of(const BackendText& backend) {
  if (!backend.base_url.empty()) return parse_base_url(backend.base_url);
  const std::string& endpoint = backend.endpoint;
  if (endpoint.find("://") != std::string::npos) return parse_base_url(endpoint);
  if (endpoint.find('/') == std::string::npos) return parse_endpoint(endpoint, backend.https);
  return parse_base_url(fmt::format("{}://{}", backend.https ? "https" : "http", endpoint));
}

// Gives a backend without an address that of its provider. The path of chats belongs to the
// address, whoever wrote it.
void set_provider(const yaml::Node& node, BackendText& out) {
  if (out.ref.type == "echo") return;
  const bool is_written = node.find("endpoint") != nullptr || node.find("base_url") != nullptr;
  const KnownProvider* known =
      is_written ? find_provider_at(out.base_url.empty() ? out.endpoint : out.base_url)
                 : find_provider(out.ref.provider);
  if (known == nullptr) return;
  if (!is_written) out.base_url = known->base_url;
  if (out.ref.chat_path.empty()) out.ref.chat_path = known->chat_path;
}

void set_address(Reader& reader, const yaml::Node& node, BackendText& out) {
  const std::string_view key = out.base_url.empty() ? "endpoint" : "base_url";
  reader.at_key(key, [&] {
    auto address = address_of(out);
    // The address of a provider is not in the file, and has no error.
    if (!address) return reader.error(node.find(key)->line, std::move(address).error().message);
    for (const std::string_view path : {"/chat/completions", "/v1/messages"}) {
      if (node.find("chat_path") == nullptr && address->path.ends_with(path))
        reader.error(
            node.find(key)->line,
            fmt::format("expected an address without {}, because the router adds it", path));
    }
    set_place(*address, out.ref);
  });
}

void check_backend(Reader& reader, const yaml::Node& node, BackendText& out) {
  set_provider(node, out);
  if (out.ref.forwards_authorization) {
    out.ref.api_key.clear();
    out.ref.api_key_env.clear();
  }
  check_known_type(reader, node, out.ref);
  check_headers(reader, node, out.ref);
  check_target(reader, node, out.ref);
  if (!out.ref.api_key_env.empty() && out.ref.api_key.empty() && out.ref.type != "echo")
    note_unset(reader, node, "api_key_env", out.ref.api_key_env, "requests are sent without a key");
  if (!out.endpoint.empty() && !out.base_url.empty())
    return reader.error(node.line, "expected endpoint or base_url, found both");
  if (!out.endpoint.empty() || !out.base_url.empty()) return set_address(reader, node, out);
  const bool has_address = node.find("endpoint") != nullptr || node.find("base_url") != nullptr;
  if (out.ref.type != "echo" && !has_address)
    reader.error(node.line, "expected endpoint, base_url, a well-known provider or type: echo");
}

constexpr Choice kProtocols[] = {{"http", false}, {"https", true}};

constexpr Key kBackendKeys[] = {
    text(FIELD_AS("name", BackendText, ref.name),
         "Name in messages and metrics. Default: the address."),
    text(FIELD_AS("type", BackendText, ref.type),
         "`vllm` (default), `chat`, or `echo` for the built-in server that repeats the request. A "
         "type that is written here is the provider in metrics, unless the server's domain names "
         "one."),
    text(FIELD(BackendText, endpoint),
         "Address of the server, `host:port`; a path may follow, and `protocol://` may precede."),
    text(FIELD(BackendText, base_url), "URL of the server, instead of `endpoint`."),
    choice(FIELD_AS("protocol", BackendText, https), kProtocols,
           "Protocol for an `endpoint` without one. Default: `http`."),
    text(FIELD_AS("tls_ca_path", BackendText, ref.tls_ca_path),
         "PEM file of the authorities that may sign the server's certificate. Default: the "
         "system's. Signalbox only."),
    boolean(FIELD_AS("tls_skip_verify", BackendText, ref.tls_skip_verify),
            "Accept any certificate of the server. Signalbox only."),
    integer(FIELD_AS("weight", BackendText, ref.weight), 0, 1'000'000,
            "Share of the model's requests, relative to its other backends. Default: 1."),
    text(FIELD_AS("api_key_env", BackendText, ref.api_key_env),
         "Environment variable that contains the API key."),
    text(FIELD_AS("auth_header", BackendText, ref.auth_header),
         "Header that carries the API key. Default: `Authorization`."),
    string(FIELD_AS("auth_prefix", BackendText, ref.auth_prefix),
           "Word in front of the API key. Default: `Bearer`."),
    boolean(FIELD_AS("forward_authorization_header", BackendText, ref.forwards_authorization),
            "Send the client's own key in place of the backend's. An error if `global.access` has "
            "keys or tokens, because no server gets these."),
    string(FIELD_AS("provider", BackendText, ref.provider),
           "Provider, whose address is used if the file has none: `openai`, `anthropic`, "
           "`gemini`, `mistral`, `deepseek`, `xai`, `openrouter`, `groq`, `together`, `moonshot`, "
           "`dashscope` or `zai`. `anthropic` is also the default of `api_format`.")
        .no_effect("`endpoint` and `api_format` describe the server")
        .unless("openai vllm ollama sglang anthropic gemini mistral deepseek xai openrouter groq "
                "together moonshot dashscope zai"),
    string(FIELD_AS("api_key", BackendText, ref.api_key),
           "The API key itself. It is used if the variable of `api_key_env` is not set."),
    text_map(FIELD_AS("extra_headers", BackendText, ref.extra_headers),
             "Headers to send with every request. They replace the client's of the same name."),
    string(FIELD_AS("api_version", BackendText, ref.api_version),
           "Value of the query parameter `api-version`."),
    string(FIELD_AS("chat_path", BackendText, ref.chat_path),
           "Path of chat completions below `base_url`. Default: `/v1/chat/completions`."),
    string(FIELD_AS("backend_id", BackendText, ref.backend_id), "Name of the server in metrics.")
        .not_built("metrics contain the name"),
    string(FIELD_AS("engine_kind", BackendText, ref.engine_kind),
           "Inference engine of the server. `dynamo` and `production_stack` choose workers "
           "themselves and get the router's decision in headers."),
    integer(FIELD_AS("metrics_port", BackendText, ref.metrics_port), 0, 65535,
            "Port on which the server reports its load. Default: its own port."),
    string(FIELD_AS("metrics_path", BackendText, ref.metrics_path),
           "Path of the load report. Default: `/metrics` if there is a `metrics_port`, otherwise "
           "the load is not read."),
};
constexpr Section kBackend{kBackendKeys, checked<check_backend>};

// Reads each backend as a BackendText and keeps its BackendRef.
void read_backends(Reader& reader, const yaml::Node& node, std::vector<BackendRef>& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of mappings");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] {
      BackendText backend;
      read_section(reader, node.items[i], kBackend, &backend);
      out.push_back(std::move(backend.ref));
    });
  }
  if (!out.empty() && std::all_of(out.begin(), out.end(),
                                  [](const BackendRef& backend) { return backend.weight == 0; }))
    reader.error(node.line, "expected at least one backend with a weight above 0");
}

// --- reliability ---

// Sets what a word of `retry_on` stands for; false for an unknown word.
bool set_retry(std::string_view word, RetryOn& out) {
  const auto is = [word](auto... names) { return ((word == names) || ...); };
  if (is("connect-failure")) {
    out.connect = true;
  } else if (is("refused-stream", "reset-before-request")) {
    out.refused = true;
  } else if (is("request-timeout")) {
    out.timeout = true;
  } else if (is("reset")) {
    out.refused = out.timeout = true;
  } else if (is("gateway-error")) {
    out.gateway_error = true;
  } else if (is("retriable-status-codes")) {
    // The list of the same name is a key of its own.
  } else if (is("5xx")) {
    out = {true, true, true, true, true};
  } else {
    return false;
  }
  return true;
}

void read_retry_on(Reader& reader, const yaml::Node& node, RetryOn& out) {
  const auto scalar = reader.scalar(node, "a string");
  if (!scalar) return;
  out = {false, false, false, false, false};
  std::string_view rest = scalar->text;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word.empty() || set_retry(word, out)) continue;
    reader.notice(node.line,
                  fmt::format("\"{}\" has no effect (known: connect-failure, refused-stream, "
                              "reset, reset-before-request, request-timeout, gateway-error, "
                              "retriable-status-codes, 5xx)",
                              word));
  }
}

void read_statuses(Reader& reader, const yaml::Node& node, std::vector<uint16_t>& out) {
  std::vector<double> numbers;
  read_numbers(reader, node, numbers);
  for (const double number : numbers) {
    const auto status = static_cast<uint16_t>(std::clamp(number, 0.0, 999.0));
    if (status == number && status >= 400 && status <= 599) {
      out.push_back(status);
    } else {
      reader.error(node.line, fmt::format("expected statuses from 400 to 599, found {}", number));
    }
  }
}

void read_first_byte(Reader& reader, const yaml::Node& node, std::chrono::milliseconds& out) {
  int64_t ms = 0;
  if (!read_milliseconds(reader, node, "a duration from 0ms to 24h", 0, 86'400'000, ms) || ms == 0)
    return;
  const std::chrono::milliseconds read(ms);
  out = out.count() == 0 ? read : std::min(out, read);
}

constexpr Choice kBalancing[] = {
    {"round_robin", Reliability::Policy::kWeighted},
    {"random", Reliability::Policy::kWeighted},
    {"weighted", Reliability::Policy::kWeighted},
    {"least_request", Reliability::Policy::kLeastRequest},
    {"ring_hash", Reliability::Policy::kSession},
    {"maglev", Reliability::Policy::kSession},
    {"session", Reliability::Policy::kSession},
    {"prefix_aware", Reliability::Policy::kPrefix},
};

constexpr Key kReliabilityKeys[] = {
    choice(FIELD(Reliability, lb_policy), kBalancing,
           "How to choose a backend: in turn by weight, the least loaded, by session, or the one "
           "that has the beginning of the prompt in its cache."),
    integer(FIELD(Reliability, retry_count), 0, 100,
            "Other backends to try after a failure. Default: 2."),
    key_of(FIELD(Reliability, retry_on), Kind::kString,
           "Failures to retry, with commas between them.")
        .read_by<read_retry_on>(),
    count(FIELD(Reliability, consecutive_5xx),
          "Failures in a row after which a backend is ejected. 0: never. Default: 5."),
    duration(FIELD(Reliability, base_ejection_time), 1ms, 24h,
             "Duration of the first ejection; each further one takes twice as long. Default: "
             "30s."),
    integer(FIELD(Reliability, max_ejection_percent), 0, 100,
            "Largest share of the backends to eject at a time, in percent. The last backend is "
            "never ejected. Default: 50."),
    string(FIELD(Reliability, health_check_path),
           "Path to request from each backend as a health check. Default: no checks."),
    duration(FIELD(Reliability, health_check_interval), 10ms, 24h,
             "Time between health checks. Default: 10s."),
    duration(FIELD(Reliability, health_check_timeout), 10ms, 1h,
             "Time limit of a health check. Default: 2s."),
    integer(FIELD(Reliability, unhealthy_threshold), 1, 1000,
            "Failed health checks in a row after which a backend is not used. Default: 3."),
    integer(FIELD(Reliability, healthy_threshold), 1, 1000,
            "Passed health checks in a row after which it is used again. Default: 2."),
    duration(FIELD(Reliability, metrics_interval), 10ms, 1h,
             "Time between load reports of backends with `metrics_port` or `metrics_path`. "
             "Default: 1s."),
    duration(FIELD(Reliability, reply_timeout), 0ms, 24h,
             "Time limit for a reply to begin. 0s (default): the listener's timeout.")
        .also("per_try_timeout"),
    duration(FIELD(Reliability, connect_timeout), 0ms, 1h,
             "Time limit for a connection. Default: that of `global.services.http`."),
    duration(FIELD(Reliability, total_timeout), 0ms, 24h,
             "Time limit of a call with all its attempts and its whole reply. 0s (default): none."),
    duration(FIELD(Reliability, idle_timeout), 0ms, 24h,
             "Time limit for each further part of a reply. 0s (default): no limit."),
    duration(FIELD_AS("first_byte_timeout", Reliability, reply_timeout), 0ms, 24h,
             "The same as `reply_timeout`. The shorter one holds.")
        .read_by<read_first_byte>(),
    key_of(FIELD_AS("retriable_status_codes", Reliability, retry_on.statuses), Kind::kNumbers,
           "Further statuses to retry, from 400 to 599.")
        .read_by<read_statuses>(),
    duration(FIELD(Reliability, retry_back_off_base), 0ms, 1h,
             "Range of the random wait before another attempt, which grows. Default: 0s, no wait."),
    duration(FIELD(Reliability, retry_back_off_max), 0ms, 1h,
             "Longest wait. Default: ten times the base. If it is set alone, the base is 25ms."),
    duration(FIELD(Reliability, retry_after_max), 0ms, 1h,
             "A `Retry-After` of the refusing server sets the wait instead, up to this. 0s "
             "(default): it has no effect."),
    number(FIELD(Reliability, retry_budget_percent), 0, 100,
           "Further attempts at a time, in percent of the requests in flight (workers.md)."),
    integer(FIELD(Reliability, retry_budget_min_concurrency), 0, 100'000,
            "Further attempts that are allowed at a time in any case."),
    count(FIELD(Reliability, max_in_flight),
          "Requests that one backend gets at a time. 0 (default): no limit."),
    integer(FIELD(Reliability, queue_max), 0, 100'000,
            "Requests that may wait for a backend; further ones get 429. Default: 128."),
    duration(FIELD(Reliability, queue_timeout), 1ms, 1h,
             "Longest time that a request waits for a backend. Default: 10s."),
    text(FIELD(Reliability, session_header),
         "Header that names the session of a request. Default: `x-session-id`."),
    integer(FIELD(Reliability, prefix_block_bytes), 16, 65'536,
            "Size of the blocks in which prompts are compared, in bytes. Default: 256."),
    integer(FIELD(Reliability, prefix_blocks_max), 16, 10'000'000,
            "Blocks to remember for each backend. Default: 16384."),
    integer(FIELD(Reliability, shared_prefix_bytes), 0, 1'000'000'000,
            "Prompts that share a beginning of at least this many bytes, up to the end of a "
            "message, go to one backend. 0: they need not. Default: 16384."),
    positive(FIELD(Reliability, prefill_weight),
             "Cost of a block that a backend has not in its cache. Default: 1."),
    positive(FIELD(Reliability, active_weight),
             "Cost of a block that a backend is working on. Default: 1."),
    texts(FIELD(Reliability, fallback_models),
          "Models to try in turn if no backend of this model answers."),
};

void check_reliability(Reader& reader, const yaml::Node& node, Reliability& out) {
  const yaml::Node* at = given(node, "retry_on");
  if (at == nullptr || !out.retry_on.statuses.empty()) return;
  if (at->scalar.find("retriable-status-codes") == std::string::npos) return;
  reader.at_key("retry_on", [&] {
    reader.notice(at->line, "retriable-status-codes needs the key retriable_status_codes");
  });
}

constexpr Section kReliability{kReliabilityKeys, checked<check_reliability>};

// --- models ---

// The Semantic Router has one name for each kind of server. All backends of a model get the same
// name here, so it is taken only if there is just one, or the model names none itself.
void name_at_provider(Reader& reader, const yaml::Node& node, Model& out) {
  const auto& names = out.external_model_ids;
  if (out.provider_model_id.empty() && names.size() == 1)
    out.provider_model_id = names.begin()->second;
  if (out.provider_model_id.empty()) out.provider_model_id = name_in_catalog(reader, node, out);
  const bool differs = std::ranges::any_of(
      names, [&](const auto& each) { return each.second != out.provider_model_id; });
  if (!differs) return;
  reader.at_key("external_model_ids", [&] {
    reader.does_without(
        node.find("external_model_ids")->line,
        fmt::format("has no effect: every backend gets the name \"{}\"", out.provider_model_id));
  });
}

// Anthropic's servers have their own API, which takes keys in a header of its own. A model with
// `api_format: openai` uses their other API, which takes them like all others.
void set_anthropic(const yaml::Node& node, Model& out) {
  const auto is_anthropic = [](const BackendRef& ref) { return ref.provider == kAnthropic; };
  if (!out.backend_refs.empty() && std::ranges::all_of(out.backend_refs, is_anthropic) &&
      given(node, "api_format") == nullptr)
    out.api_format = Model::ApiFormat::kAnthropic;
  if (out.api_format != Model::ApiFormat::kAnthropic) return;
  for (size_t i = 0; i < out.backend_refs.size(); ++i) {
    BackendRef& ref = out.backend_refs[i];
    const yaml::Node& written = node.find("backend_refs")->items[i];
    if (!is_anthropic(ref) || written.find("auth_header") != nullptr) continue;
    ref.auth_header = "x-api-key";
    if (written.find("auth_prefix") == nullptr) ref.auth_prefix.clear();
  }
}

bool answers_chats(const Model& model) {
  return model.api_format != Model::ApiFormat::kSystemOne;
}

void check_model(Reader& reader, const yaml::Node& node, Model& out) {
  name_at_provider(reader, node, out);
  set_reasoning(reader, node, out);
  set_anthropic(node, out);
  if (!answers_chats(out) && out.responses_api)
    reader.at_key("responses_api", [&] {
      reader.error(node.line, "a model with api_format: systemone has no other API");
    });
  const yaml::Node* backends = node.find("backend_refs");
  if (backends != nullptr && is_idle(*backends)) {
    reader.at_key("backend_refs", [&] {
      reader.error(backends->line, "expected at least one backend, found none");
    });
  }
  if (backends != nullptr) check_backend_names(reader, *backends, out);
}

constexpr Key price(At<double> at, std::string_view other, std::string_view why) {
  return positive(at, why).also(other).read_by<read_price>();
}

constexpr Key kPricingKeys[] = {
    text(FIELD(Pricing, currency), "Currency of the prices. Default: USD."),
    price(FIELD(Pricing, prompt_per_1m), "input_cost_per_million_tokens",
          "Price of a million prompt tokens."),
    price(FIELD(Pricing, cached_input_per_1m), "cache_read_cost_per_million_tokens",
          "Price of a million prompt tokens that the server has in its cache."),
    price(FIELD(Pricing, cache_write_per_1m), "cache_write_cost_per_million_tokens",
          "Price of a million tokens written to the server's cache. Default: that of prompt "
          "tokens."),
    price(FIELD(Pricing, completion_per_1m), "output_cost_per_million_tokens",
          "Price of a million generated tokens."),
    positive(FIELD(Pricing, reasoning_per_1m),
             "Price of a million generated tokens of reasoning. Default: that of generated tokens. "
             "Signalbox only."),
    positive(
        FIELD(Pricing, per_request),
        "Price of each answered request beside those of its tokens, for models of pictures and "
        "sounds whose servers count no tokens. Signalbox only."),
};
constexpr Section kPricing{kPricingKeys};

constexpr Key kPiiPolicyKeys[] = {
    boolean(FIELD(PiiPolicy, allow_by_default),
            "Send personal data of any type that is not listed. Default: true."),
    texts(FIELD(PiiPolicy, pii_types_allowed), "Types of personal data that the model may see.")
        .then<note_unknown_pii_types>(),
};
constexpr Section kPiiPolicy{kPiiPolicyKeys};

constexpr Choice kApiFormats[] = {{"openai", Model::ApiFormat::kOpenAi},
                                  {"anthropic", Model::ApiFormat::kAnthropic},
                                  {"systemone", Model::ApiFormat::kSystemOne}};

void refuse_deployment(Reader& reader, const yaml::Node& node, void*) {
  if (is_idle(node)) return;
  reader.error(node.line,
               "the router runs no models that answer requests: a server must have the model; "
               "expected backend_refs instead");
}

constexpr Key kModelKeys[] = {
    text(FIELD(Model, name), "Name that clients and decisions use.").required(),
    text(FIELD(Model, provider_model_id), "Name that the server uses. Default: `name`."),
    text(FIELD(Model, reasoning_family),
         "One of `providers.defaults.reasoning_families`, or `qwen3`, `deepseek`, `gpt` or "
         "`gpt-oss`: how to switch reasoning on and off."),
    object(same<Model>("reasoning"), kModelReasoning, "The same in newer files."),
    nested(FIELD(Model, backend_refs), Kind::kList, kBackend,
           "Servers that have the model. A file for Envoy alone may leave them out.")
        .read_by<read_backends>(),
    choice(FIELD(Model, api_format), kApiFormats, "API of the servers. Default: `openai`."),
    boolean(FIELD(Model, responses_api),
            "The servers also have OpenAI's Responses API: requests of that API go there as they "
            "came. Default: false. Signalbox only."),
    object(FIELD(Model, pricing), kPricing,
           "Prices of its tokens and requests, for metrics and for algorithms that compare costs."),
    object(FIELD(Model, reliability), kReliability,
           "Choice of a backend, retries, health checks and ejection."),
    text_map(FIELD(Model, external_model_ids),
             "Name of the model at each provider. A single one is used if there is no "
             "`provider_model_id`; several names have no effect."),
    object(FIELD(Model, pii_policy), kPiiPolicy, "Personal data that the model may see."),
    unbound("deployment", Kind::kAnything, "Refused, unless it is empty.").with(refuse_deployment),
    unread("control", "Time limits and attempts.",
           "`timeout` of the listener and `reliability` hold"),
    string(FIELD(Model, catalog),
           "Name in the Semantic Router's catalogue, from which `provider_model_id` follows. A "
           "card of this name describes the model."),
    removed("endpoints", "list the backends in backend_refs"),
    removed("preferred_endpoints", "list the backends in backend_refs"),
    removed("access_key", "name the key by api_key_env of a backend"),
};
constexpr Section kModel{kModelKeys, checked<check_model>};

constexpr Key kDefaultsKeys[] = {
    text(FIELD(Providers, default_model),
         "Model of requests that no decision matches. Default: the only model for chats, if there "
         "is one.")
        .also("model"),
    text(FIELD(Providers, default_reasoning_effort),
         "Reasoning effort if a decision names none; Anthropic's servers get none then. Default: "
         "`medium`.")
        .also("reasoning_effort"),
    map(FIELD(Providers, reasoning_families), kReasoningFamily,
        "Ways to switch reasoning on and off, by name."),
};
constexpr Section kDefaults{kDefaultsKeys};

void check_fallbacks(Reader& reader, const yaml::Node& models, const Providers& out) {
  for (size_t i = 0; i < out.models.size() && i < models.items.size(); ++i) {
    const Model& model = out.models[i];
    if (!model.reliability) continue;
    for (const std::string& name : model.reliability->fallback_models) {
      const Model* found = out.find(name);
      const bool has_api = found != nullptr && answers_chats(*found) == answers_chats(model);
      if (has_api && name != model.name) continue;
      std::vector<std::string_view> others;
      for (const Model& other : out.models) {
        if (other.name != model.name) others.push_back(other.name);
      }
      const yaml::Node& at = *models.items[i].find("reliability")->find("fallback_models");
      reader.at_key(fmt::format("models[{}].reliability.fallback_models", i), [&] {
        reader.error(at.line,
                     name == model.name
                         ? fmt::format("expected another model, found the model itself, "
                                       "\"{}\" (known: {})",
                                       name, join(others))
                     : found != nullptr
                         ? fmt::format("the servers of \"{}\" have another API", name)
                         : fmt::format("unknown model \"{}\"{}", name, suggestion(name, others)));
      });
    }
  }
}

// Returns the only model for chats, or "" if there are several. Without any, no chat is answered,
// and it does not matter which model refuses it.
std::string only_model(const Providers& providers) {
  std::string out;
  for (const Model& model : providers.models) {
    if (!answers_chats(model)) continue;
    if (!out.empty()) return "";
    out = model.name;
  }
  return out.empty() && !providers.models.empty() ? providers.models.front().name : out;
}

// Finds the default model: the one that the file names, or the only one.
void check_default(Reader& reader, const yaml::Node& node, Providers& out) {
  const yaml::Node* defaults = node.find("defaults");
  const yaml::Node* named = nullptr;
  std::string_view key = "default_model";
  for (const std::string_view name : {"model", "default_model"}) {
    const yaml::Node* at = defaults == nullptr ? nullptr : given(*defaults, name);
    if (at == nullptr) continue;
    named = at;
    key = name;
  }
  if (named == nullptr) out.default_model = only_model(out);
  std::vector<std::string_view> known;
  for (const Model& model : out.models) known.push_back(model.name);
  reader.at_key(fmt::format("defaults.{}", key), [&] {
    if (named == nullptr) {
      if (!out.default_model.empty()) return;
      return reader.error(defaults == nullptr ? node.line : defaults->line,
                          fmt::format("missing; expected the model of requests that no decision "
                                      "matches (known: {})",
                                      join(known)));
    }
    if (out.default_model.empty() || out.models.empty()) return;
    if (const Model* found = out.find(out.default_model)) {
      if (answers_chats(*found) || std::ranges::none_of(out.models, answers_chats)) return;
      return reader.notice(named->line,
                           fmt::format("chats that no decision matches get 400, because the "
                                       "servers of \"{}\" have api_format: systemone",
                                       found->name));
    }
    reader.error(named->line, fmt::format("unknown model \"{}\"{}", out.default_model,
                                          suggestion(out.default_model, known)));
  });
}

void check_providers(Reader& reader, const yaml::Node& node, Providers& out) {
  const yaml::Node* models = node.find("models");
  if (models != nullptr && is_idle(*models)) {
    reader.at_key("models",
                  [&] { reader.error(models->line, "expected at least one model, found none"); });
  }
  if (models != nullptr) check_fallbacks(reader, *models, out);
  check_default(reader, node, out);
}

constexpr Key kProvidersKeys[] = {
    object(same<Providers>("defaults"), kDefaults, "Settings that a decision may override."),
    named(FIELD(Providers, models), kModel, "The models.").required(),
    removed("default_model", "use providers.defaults.default_model"),
    removed("reasoning_families", "use providers.defaults.reasoning_families"),
    removed("default_reasoning_effort", "use providers.defaults.default_reasoning_effort"),
    removed("model_targets", "use backend_refs of each of providers.models"),
    removed("backends", "use backend_refs of each of providers.models"),
    removed("auth_profiles", "use api_key_env of each backend"),
    removed("external_models", "use global.model_catalog.external"),
};

}  // namespace

constinit const Section kProviders{kProvidersKeys, checked<check_providers>};

Result<BackendRef> server_at(std::string_view base_url) {
  SIGNALBOX_TRY(const Endpoint address, parse_base_url(base_url));
  BackendRef out;
  set_place(address, out);
  return out;
}

}  // namespace signalbox::config
