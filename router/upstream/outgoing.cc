// A request has a few dozen fields at most, so each field is compared with each name.

#include "router/upstream/outgoing.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "router/config/endpoint.h"

namespace signalbox::upstream {
namespace {

bool begins(std::string_view name, std::string_view prefix) {
  return ascii::iequals(name.substr(0, prefix.size()), prefix);
}

bool ends(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() &&
         ascii::iequals(name.substr(name.size() - suffix.size()), suffix);
}

constexpr std::array<std::string_view, 4> kCredentials = {"authorization", "x-api-key", "api-key",
                                                          "x-goog-api-key"};

constexpr std::string_view kChatPath = "/v1/chat/completions";
constexpr std::string_view kVersion = "api-version=";

/// True for every spelling, such as "Api%2dVersion=1".
bool is_version(std::string_view parameter) {
  std::string_view wanted = kVersion;
  for (size_t i = 0; i < parameter.size() && parameter[i] != '='; ++i) {
    char c = parameter[i];
    if (ascii::iequals(parameter.substr(i, 3), "%2d")) {
      c = '-';
      i += 2;
    }
    if (ascii::lower(c) != wanted.front()) return false;
    wanted.remove_prefix(1);
  }
  return wanted == "=";
}

/// The fields that choose the account of a key at OpenAI.
constexpr std::array<std::string_view, 2> kAccounts = {"openai-organization", "openai-project"};

/// Servers that are routers themselves and spread requests over workers of their own.
bool chooses_workers(const config::BackendRef& ref) {
  return ascii::iequals(ref.engine_kind, "dynamo") ||
         ascii::iequals(ref.engine_kind, "production_stack") ||
         ascii::iequals(ref.engine_kind, "production-stack");
}

/// "" if there is none that can be sent.
std::string_view key_in_environment(const config::BackendRef& ref) {
  const char* value = ref.api_key_env.empty() ? nullptr : std::getenv(ref.api_key_env.c_str());
  std::string_view key = value == nullptr ? std::string_view{} : value;
  while (!key.empty() && ascii::is_space(key.back()))
    key.remove_suffix(1);  // a newline that `echo` added
  return config::is_header_value(key) ? key : std::string_view{};
}

/// The setting that has the key, such as "api_key"; "" if there is no key.
std::string key_source(const config::BackendRef& ref) {
  if (!key_in_environment(ref).empty()) return fmt::format("api_key_env {}", ref.api_key_env);
  return ref.api_key.empty() ? "" : "api_key";
}

}  // namespace

std::optional<std::string> key_of(const config::BackendRef& ref) {
  const std::string_view key = key_in_environment(ref);
  if (!key.empty()) return std::string(key);
  if (!ref.api_key.empty()) return ref.api_key;
  return std::nullopt;
}

std::string refused_key(const config::Model& model, std::string_view backend, int status) {
  if (status != 401 && status != 403) return {};
  const auto ref = std::ranges::find(model.backend_refs, backend, &config::BackendRef::name);
  if (ref == model.backend_refs.end()) return {};
  const std::string source = key_source(*ref);
  if (!source.empty())
    return fmt::format("backend \"{}\" answered {} to the router's own key ({})", backend, status,
                       source);
  if (ref->api_key_env.empty()) return {};
  return fmt::format("backend \"{}\" answered {}: api_key_env {} holds no key", backend, status,
                     ref->api_key_env);
}

bool stays_here(std::string_view name, const config::Authz::Identity& identity) {
  const auto same = [name](std::string_view other) { return ascii::iequals(name, other); };
  return same("cookie") || same(kSelectedModel) || begins(name, "x-authz-") ||
         same(identity.user_id_header) || same(identity.user_groups_header) ||
         (begins(name, "x-user-") && ends(name, "-key"));
}

bool is_credential(std::string_view name) {
  return std::any_of(kCredentials.begin(), kCredentials.end(),
                     [name](std::string_view other) { return ascii::iequals(name, other); });
}

Outgoing::Outgoing(const config::BackendRef& ref, std::optional<std::string> api_key,
                   config::Authz::Identity identity)
    : path_prefix_(ref.path_prefix),
      chat_path_(ref.chat_path),
      version_(ref.api_version.empty() ? "" : fmt::format("{}{}", kVersion, ref.api_version)),
      auth_header_(ref.auth_header),
      extra_(ref.extra_headers),
      identity_(std::move(identity)),
      has_key_(!ref.api_key_env.empty() || !ref.api_key.empty()),
      gets_decision_(chooses_workers(ref)) {
  if (!api_key) return;
  credentials_ =
      ref.auth_prefix.empty() ? *api_key : fmt::format("{} {}", ref.auth_prefix, *api_key);
}

std::string Outgoing::target(const Call& call) const {
  const size_t end = std::min(call.target.find('?'), call.target.size());
  const std::string_view path = call.target.substr(0, end);
  const std::string_view query = call.target.substr(end);
  std::string out;
  if (!chat_path_.empty() && path == kChatPath)
    out = chat_path_;
  else
    out.append(path_prefix_).append(path);
  if (version_.empty()) return out.append(query);
  // The operator's api-version replaces the client's.
  out.append("?").append(version_);
  for (size_t begin = 1; begin < query.size();) {
    const size_t stop = std::min(query.find('&', begin), query.size());
    const std::string_view parameter = query.substr(begin, stop - begin);
    if (!is_version(parameter)) out.append("&").append(parameter);
    begin = stop + 1;
  }
  return out;
}

bool Outgoing::is_replaced(std::string_view name) const {
  if (has_key_ && (ascii::iequals(name, "authorization") || ascii::iequals(name, auth_header_)))
    return true;
  return std::any_of(extra_.begin(), extra_.end(),
                     [name](const auto& extra) { return ascii::iequals(name, extra.first); });
}

// Checks a client's field only: the fields that the configuration adds are the operator's choice.
bool Outgoing::is_withheld(std::string_view name) const {
  const auto same = [name](std::string_view other) { return ascii::iequals(name, other); };
  if (has_key_ && (is_credential(name) || std::any_of(kAccounts.begin(), kAccounts.end(), same)))
    return true;
  return stays_here(name, identity_);
}

void Outgoing::each(const Call& call, const Visit& visit) const {
  const http::EndToEnd passes(call.headers);
  for (size_t i = 0; i < call.headers.size(); ++i) {
    const http::Field field = call.headers[i];
    if (ascii::iequals(field.name, "host") || ascii::iequals(field.name, "expect") ||
        ascii::iequals(field.name, "x-request-id") || is_replaced(field.name) ||
        is_withheld(field.name))
      continue;
    if (!call.traceparent.empty() && ascii::iequals(field.name, "traceparent")) continue;
    if (call.drops_tracestate && ascii::iequals(field.name, "tracestate")) continue;
    if (passes(i)) visit(field.name, field.value);
  }
  for (size_t i = 0; i < call.added.size(); ++i) {
    const http::Field field = call.added[i];
    if (!is_replaced(field.name)) visit(field.name, field.value);
  }
  for (size_t i = 0; call.decided != nullptr && gets_decision_ && i < call.decided->size(); ++i) {
    const http::Field field = (*call.decided)[i];
    if (begins(field.name, "x-vsr-selected-")) visit(field.name, field.value);
  }
  for (const auto& [name, value] : extra_) visit(name, value);
  if (!credentials_.empty()) visit(auth_header_, credentials_);
  visit("x-request-id", call.request_id);
  if (!call.traceparent.empty()) visit("traceparent", call.traceparent);
}

}  // namespace signalbox::upstream
