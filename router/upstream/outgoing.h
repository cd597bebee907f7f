#pragma once
// The target and header of a request to a model server, regardless of which program sends it.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "router/config/config.h"
#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// Returns the server's API key from the environment, else from the file. Returns nullopt if the
/// configuration has neither, or if it names a variable that is unset or contains control
/// characters.
std::optional<std::string> key_of(const config::BackendRef& ref);
/// The reason for the log if a backend of the model has answered 401 or 403 to the router's own
/// key; otherwise "".
std::string refused_key(const config::Model& model, std::string_view backend, int status);

/// The field by which Envoy's routes choose the server of a model, as in the vLLM Semantic Router.
inline constexpr std::string_view kSelectedModel = "x-selected-model";

/// True if no server may receive this field of a client's request: cookies, identity fields that a
/// proxy in front of us has set (x-authz-* and the fields that `identity` names), keys for
/// providers (x-user-*-key), and kSelectedModel, which an Envoy behind us would obey.
bool stays_here(std::string_view name, const config::Authz::Identity& identity);

/// True for the fields in which clients of the usual providers send their keys.
bool is_credential(std::string_view name);

/// Immutable and thread-safe.
class Outgoing {
 public:
  /// `api_key` is sent with every request instead of the client's own credentials. If the
  /// configuration has no key, the client's Authorization is forwarded. If it names a key that is
  /// missing, no credential is sent, because a client's credential is not for a third party. Fields
  /// for which stays_here() is true are never sent. The routing decision is sent only if
  /// `engine_kind` marks the server as a router itself.
  Outgoing(const config::BackendRef& ref, std::optional<std::string> api_key,
           config::Authz::Identity identity);

  /// Returns the request target at the server: "/api/v1/chat/completions?a=b".
  std::string target(const Call& call) const;

  /// Visits every header field except Host and the framing, in order.
  using Visit = std::function<void(std::string_view name, std::string_view value)>;
  void each(const Call& call, const Visit& visit) const;

 private:
  bool is_replaced(std::string_view name) const;
  bool is_withheld(std::string_view name) const;

  // Prepended to the path of a call, except when chat_path_ replaces it
  const std::string path_prefix_;
  const std::string chat_path_;  // replaces the path of chat completions; "": it does not
  const std::string version_;    // "api-version=..."; "": none
  const std::string auth_header_;
  const std::map<std::string, std::string> extra_;
  const config::Authz::Identity identity_;
  std::string credentials_;   // value of auth_header_; "": none
  const bool has_key_;        // the configuration has a key, even if its variable is unset
  const bool gets_decision_;  // the server receives x-vsr-selected-*
};

}  // namespace signalbox::upstream
