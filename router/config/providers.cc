// `providers`: the models that requests can go to, and the servers behind them.

#include <algorithm>

#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// A backend as written; turned into a BackendRef once all its keys are known.
struct BackendText {
  BackendRef ref;
  std::string endpoint;
  std::string base_url;
  bool https = false;
};

void check_known_type(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  if (ref.type == "vllm" || ref.type == "chat" || ref.type == "echo") return;
  const yaml::Node* type = node.find("type");
  reader.at_key("type", [&] {
    reader.notice(
        type->line,
        fmt::format("unknown type \"{}\" is treated as vllm (known: vllm, chat, echo)", ref.type));
  });
}

void set_address(Reader& reader, const yaml::Node& node, BackendText& out) {
  const bool by_url = !out.base_url.empty();
  const std::string_view key = by_url ? "base_url" : "endpoint";
  const uint32_t line = node.find(key)->line;
  reader.at_key(key, [&] {
    auto address = by_url ? parse_base_url(out.base_url) : parse_endpoint(out.endpoint, out.https);
    if (!address) return reader.error(line, std::move(address).error().message);
    out.ref.host = address->host;
    out.ref.port = address->port;
    out.ref.tls = address->tls;
    out.ref.path_prefix = address->path;
    // Requests bring their own "/v1/...".
    if (out.ref.path_prefix.ends_with("/v1"))
      out.ref.path_prefix.resize(out.ref.path_prefix.size() - 3);
    if (out.ref.tls) reader.not_built(line, "calls to https upstreams fail");
  });
}

void check_backend(Reader& reader, const yaml::Node& node, BackendText& out) {
  check_known_type(reader, node, out.ref);
  if (!out.endpoint.empty() && !out.base_url.empty()) {
    return reader.error(node.line, "expected endpoint or base_url, found both");
  }
  if (!out.endpoint.empty() || !out.base_url.empty()) return set_address(reader, node, out);
  const bool written = node.find("endpoint") != nullptr || node.find("base_url") != nullptr;
  if (out.ref.type != "echo" && !written)
    reader.error(node.line, "expected endpoint, base_url or type: echo");
}

// A key that lands in the BackendRef itself.
Value<BackendText> ref(Value<BackendRef> value) {
  return {value.expected, [read = value.read](Reader& reader, const yaml::Node& node,
                                              BackendText& out) { read(reader, node, out.ref); }};
}

const Section<BackendText>& backend_section() {
  static const Section<BackendText> section{
      {
          optional("name", ref(text(&BackendRef::name)), "how the log calls it"),
          optional("type", ref(text(&BackendRef::type)),
                   "vllm, chat, or echo for the built-in one"),
          optional("endpoint", text(&BackendText::endpoint), "host:port of the server"),
          optional("base_url", text(&BackendText::base_url),
                   "URL of the server, instead of endpoint"),
          optional("protocol", choice(&BackendText::https, {{"http", false}, {"https", true}}),
                   "how to speak to endpoint"),
          optional("weight", ref(integer(&BackendRef::weight, 0, 1'000'000)),
                   "share of the model's requests"),
          optional("api_key_env", ref(text(&BackendRef::api_key_env)),
                   "environment variable that holds the key"),
          optional("auth_header", ref(text(&BackendRef::auth_header)),
                   "header that carries the key"),
          optional("auth_prefix", ref(text(&BackendRef::auth_prefix)), "word before the key"),
          remark<BackendText>("provider"),
          not_built<BackendText>("api_key", "name an environment variable in api_key_env instead"),
          not_built<BackendText>("extra_headers", "they are not sent"),
          not_built<BackendText>("api_version", "it is not sent"),
          not_built<BackendText>("chat_path", "requests keep the client's path"),
      },
      check_backend};
  return section;
}

void read_backends(Reader& reader, const yaml::Node& node, Model& out) {
  struct Backends {
    std::vector<BackendText> all;
  } backends;
  list(&Backends::all, backend_section).read(reader, node, backends);
  for (BackendText& backend : backends.all) out.backend_refs.push_back(std::move(backend.ref));
  if (!out.backend_refs.empty() && std::all_of(out.backend_refs.begin(), out.backend_refs.end(),
                                               [](const BackendRef& b) { return b.weight == 0; })) {
    reader.error(node.line, "expected at least one backend with a weight above 0");
  }
}

void check_api_format(Reader& reader, const yaml::Node& node, Model&) {
  const auto format = reader.scalar(node, "openai or anthropic");
  if (!format || format->text == "openai") return;
  if (format->text != "anthropic") return reader.expected(node, "one of openai, anthropic");
  reader.not_built(node.line, "requests go out in OpenAI's form");
}

void check_model(Reader& reader, const yaml::Node& node, Model& out) {
  if (out.provider_model_id.empty()) out.provider_model_id = out.name;
  const auto& families = reader.config.providers.reasoning_families;
  if (!out.reasoning_family.empty() && families.find(out.reasoning_family) == families.end()) {
    std::vector<std::string_view> known;
    for (const auto& [name, family] : families) known.push_back(name);
    reader.at_key("reasoning_family", [&] {
      reader.error(
          node.find("reasoning_family")->line,
          fmt::format("unknown family \"{}\" (known: {})", out.reasoning_family, join(known)));
    });
  }
  const yaml::Node* backends = node.find("backend_refs");
  if (backends != nullptr && is_idle(*backends)) {
    reader.at_key("backend_refs", [&] {
      reader.error(backends->line, "expected at least one backend, found none");
    });
  }
}

const Section<Model>& model_section() {
  static const Section<Model> section{
      {
          required("name", text(&Model::name), "what clients and decisions call it"),
          optional("provider_model_id", text(&Model::provider_model_id),
                   "what the server calls it; default: name"),
          optional("reasoning_family", text(&Model::reasoning_family), "how reasoning is switched"),
          required("backend_refs", Value<Model>{"a list of backends", read_backends},
                   "the servers that have it"),
          optional("api_format", Value<Model>{"openai or anthropic", check_api_format},
                   "the server's protocol"),
          not_built<Model>("pricing", "costs are not counted"),
          not_built<Model>("reliability", "a failed call is not tried again elsewhere"),
          not_built<Model>("external_model_ids", "provider_model_id is sent to every backend"),
      },
      check_model};
  return section;
}

const Section<ReasoningFamily>& family_section() {
  using Type = ReasoningFamily::Type;
  static const Section<ReasoningFamily> section{{
      required("type",
               choice(&ReasoningFamily::type,
                      {{"chat_template_kwargs", Type::kChatTemplateKwargs},
                       {"reasoning_effort", Type::kReasoningEffort},
                       {"top_level_reasoning_effort", Type::kTopLevelReasoningEffort}}),
               "where the switch goes in a request"),
      required("parameter", text(&ReasoningFamily::parameter), "its name there"),
  }};
  return section;
}

const Section<Providers>& defaults_section() {
  static const Section<Providers> section{{
      required("default_model", text(&Providers::default_model),
               "where a request goes when no decision matches"),
      optional("default_reasoning_effort", text(&Providers::default_reasoning_effort),
               "when a decision names none"),
      optional("reasoning_families", map(&Providers::reasoning_families, family_section),
               "ways of switching reasoning on and off"),
  }};
  return section;
}

void check_providers(Reader& reader, const yaml::Node& node, Providers& out) {
  const yaml::Node* models = node.find("models");
  if (models != nullptr && is_idle(*models)) {
    reader.at_key("models",
                  [&] { reader.error(models->line, "expected at least one model, found none"); });
  }
  if (out.default_model.empty() || out.models.empty() || out.find(out.default_model) != nullptr)
    return;
  std::vector<std::string_view> known;
  for (const Model& model : out.models) known.push_back(model.name);
  reader.at_key("defaults", [&] {
    reader.at_key("default_model", [&] {
      reader.error(node.find("defaults")->find("default_model")->line,
                   fmt::format("unknown model \"{}\" (known: {})", out.default_model, join(known)));
    });
  });
}

}  // namespace

const Section<Providers>& providers_section() {
  static const Section<Providers> section{
      {
          required("defaults", group(defaults_section),
                   "what holds unless a decision says otherwise"),
          required("models", named_list(&Providers::models, model_section), "the models"),
      },
      check_providers};
  return section;
}

}  // namespace signalbox::config
