// `backend_refs` of a model: the servers that have it.

#include <algorithm>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/headers.h"
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
    if (out.ref.name.empty()) out.ref.name = written(address->host, address->port);
    out.ref.path_prefix = address->path;
    if (!out.ref.chat_path.empty()) out.ref.chat_path.insert(0, address->path);
    // Requests bring their own "/v1/...".
    if (out.ref.path_prefix.ends_with("/v1"))
      out.ref.path_prefix.resize(out.ref.path_prefix.size() - 3);
  });
}

// What a request says of its trace, and of the encodings that its reader can read.
bool is_of_request(std::string_view name) {
  return is_own_header(name) || ascii::iequals(name, "traceparent") ||
         ascii::iequals(name, "tracestate") || ascii::iequals(name, "accept-encoding");
}

// What becomes a field of a request's header.
void check_headers(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  const auto check = [&](std::string_view key, const auto& body) {
    reader.at_key(key, [&] { body(node.find(key)->line); });
  };
  const auto check_name = [&](uint32_t line, std::string_view name) {
    if (!is_header_name(name))
      reader.error(line, fmt::format("expected a name of a header, found \"{}\"", name));
    else if (is_of_request(name))
      reader.error(line, fmt::format("the router sets \"{}\" itself", name));
  };
  constexpr std::string_view kOneLine = "expected one line without control characters";
  if (node.find("auth_header") != nullptr)
    check("auth_header", [&](uint32_t line) { check_name(line, ref.auth_header); });
  if (!is_header_value(ref.auth_prefix))
    check("auth_prefix", [&](uint32_t line) { reader.error(line, std::string(kOneLine)); });
  if (!is_header_value(ref.api_key))
    check("api_key", [&](uint32_t line) { reader.error(line, std::string(kOneLine)); });
  if (ref.extra_headers.empty()) return;
  const bool has_key = !ref.api_key.empty() || !ref.api_key_env.empty();
  check("extra_headers", [&](uint32_t line) {
    for (const auto& [name, value] : ref.extra_headers) {
      check_name(line, name);
      if (has_key && ascii::iequals(name, ref.auth_header))
        reader.error(line, fmt::format("\"{}\" carries the key already", name));
      const auto twin = std::find_if(
          ref.extra_headers.begin(), ref.extra_headers.end(),
          [&name = name](const auto& other) { return ascii::iequals(other.first, name); });
      if (twin->first != name)
        reader.error(line, fmt::format("\"{}\" and \"{}\" are one header", twin->first, name));
      if (!is_header_value(value)) reader.error(line, fmt::format("{}: {}", name, kOneLine));
    }
  });
}

// Both become part of the first line of a request as they are.
void check_target(Reader& reader, const yaml::Node& node, const BackendRef& ref) {
  const auto only = [](std::string_view text, std::string_view beside) {
    return std::all_of(text.begin(), text.end(), [beside](char c) {
      return ascii::is_digit(c) || ascii::is_alpha(c) || beside.find(c) != std::string_view::npos;
    });
  };
  if (!ref.chat_path.empty() &&
      (ref.chat_path[0] != '/' || !only(ref.chat_path, "/-._~%!$&'()*+,;=:@"))) {
    reader.at_key("chat_path", [&] {
      reader.error(
          node.find("chat_path")->line,
          fmt::format("expected a path that begins with \"/\", found \"{}\"", ref.chat_path));
    });
  }
  if (!only(ref.api_version, "-._~")) {
    reader.at_key("api_version", [&] {
      reader.error(
          node.find("api_version")->line,
          fmt::format("expected letters, digits, -, . and _, found \"{}\"", ref.api_version));
    });
  }
}

void check_backend(Reader& reader, const yaml::Node& node, BackendText& out) {
  check_known_type(reader, node, out.ref);
  check_headers(reader, node, out.ref);
  check_target(reader, node, out.ref);
  if (!out.endpoint.empty() && !out.base_url.empty()) {
    return reader.error(node.line, "expected endpoint or base_url, found both");
  }
  if (!out.endpoint.empty() || !out.base_url.empty()) return set_address(reader, node, out);
  const bool written = node.find("endpoint") != nullptr || node.find("base_url") != nullptr;
  if (out.ref.type != "echo" && !written)
    reader.error(node.line, "expected endpoint, base_url or type: echo");
}

const Section<BackendText>& backend_section() {
  using R = BackendRef;
  static const Section<BackendText> section{
      {
          optional("name", inside(&BackendText::ref, text(&R::name)),
                   "how messages and metrics call it; its address without it"),
          optional("type", inside(&BackendText::ref, text(&R::type)),
                   "vllm, chat, or echo for the built-in one"),
          optional("endpoint", text(&BackendText::endpoint), "host:port of the server"),
          optional("base_url", text(&BackendText::base_url),
                   "URL of the server, instead of endpoint"),
          optional("protocol", choice(&BackendText::https, {{"http", false}, {"https", true}}),
                   "how to speak to endpoint"),
          optional("tls_ca_path", inside(&BackendText::ref, text(&R::tls_ca_path)),
                   "authorities that sign the server's certificate, PEM, instead of the system's; "
                   "ours"),
          optional("tls_skip_verify", inside(&BackendText::ref, boolean(&R::tls_skip_verify)),
                   "trust whoever answers; ours"),
          optional("weight", inside(&BackendText::ref, integer(&R::weight, 0, 1'000'000)),
                   "share of the model's requests"),
          optional("api_key_env", inside(&BackendText::ref, text(&R::api_key_env)),
                   "environment variable that holds the key"),
          optional("auth_header", inside(&BackendText::ref, text(&R::auth_header)),
                   "header that carries the key"),
          optional("auth_prefix", inside(&BackendText::ref, string(&R::auth_prefix)),
                   "word before the key"),
          optional("provider", inside(&BackendText::ref, string(&R::provider)),
                   "whose dialect the server speaks"),
          optional("api_key", inside(&BackendText::ref, string(&R::api_key)),
                   "the key itself, where api_key_env names none that is set"),
          optional("extra_headers", inside(&BackendText::ref, text_map(&R::extra_headers)),
                   "sent with every request, in place of the client's of the same name"),
          optional("api_version", inside(&BackendText::ref, string(&R::api_version)),
                   "sent as the query parameter api-version"),
          optional("chat_path", inside(&BackendText::ref, string(&R::chat_path)),
                   "under base_url, where chat completions are, instead of /v1/chat/completions"),
          optional("backend_id", inside(&BackendText::ref, string(&R::backend_id)),
                   "the server in the metrics")
              .not_built("it has no effect"),
          optional("engine_kind", inside(&BackendText::ref, string(&R::engine_kind)),
                   "what runs there; dynamo and production_stack choose workers themselves and are "
                   "told what was decided"),
          optional("metrics_port", inside(&BackendText::ref, integer(&R::metrics_port, 0, 65535)),
                   "where the server tells its load, if not on its own port"),
          optional("metrics_path", inside(&BackendText::ref, string(&R::metrics_path)),
                   "the path there; \"\": /metrics where there is a port, else nothing is read"),
      },
      check_backend};
  return section;
}

struct Backends {
  std::vector<BackendText> all;
};

}  // namespace

Value<Model> backends_value() {
  const Value<Backends> texts = list(&Backends::all, backend_section);
  return {"a list of backends",
          [texts](Reader& reader, const yaml::Node& node, Model& out) {
            Backends backends;
            texts.read(reader, node, backends);
            for (BackendText& each : backends.all) out.backend_refs.push_back(std::move(each.ref));
            if (!out.backend_refs.empty() &&
                std::all_of(out.backend_refs.begin(), out.backend_refs.end(),
                            [](const BackendRef& b) { return b.weight == 0; })) {
              reader.error(node.line, "expected at least one backend with a weight above 0");
            }
          },
          texts.describe};
}

}  // namespace signalbox::config
