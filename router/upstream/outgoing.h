#pragma once
// What a server is told in the header of a request, whoever sends it there.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "router/config/config.h"
#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// The API key that the environment holds for a server, else the file's own; none where the
/// configuration has neither, or names a variable that is not set or holds control characters.
std::optional<std::string> key_of(const config::BackendRef& ref);

/// Whether a client's field goes to no server, whichever it is: its cookies, what stands before us
/// has said of who it is (x-authz-*, the fields that `identity` names), keys for providers
/// (x-user-*-key).
bool stays_here(std::string_view name, const config::Authz::Identity& identity);

/// Immutable and thread-safe.
class Outgoing {
 public:
  /// `api_key` goes out with every request, in place of the client's own credentials. Where the
  /// configuration has none the client's Authorization passes; where it names one that is missing
  /// nothing does: a client's credential is not for a third party. Nor is what stays_here(). What
  /// was decided goes out where `engine_kind` says that the server is a router itself.
  Outgoing(const config::BackendRef& ref, std::optional<std::string> api_key,
           config::Authz::Identity identity);

  /// Where the call goes there: "/api/v1/chat/completions?a=b".
  std::string target(const Call& call) const;

  /// Every field but Host and the framing, in order.
  using Visit = std::function<void(std::string_view name, std::string_view value)>;
  void each(const Call& call, const Visit& visit) const;

 private:
  bool is_replaced(std::string_view name) const;
  bool is_withheld(std::string_view name) const;

  const std::string path_prefix_;  // in front of a call's path, but for
  const std::string chat_path_;    // that of chat completions; "": none of its own
  const std::string version_;      // "api-version=..."; "": none
  const std::string auth_header_;
  const std::map<std::string, std::string> extra_;
  const config::Authz::Identity identity_;
  std::string credentials_;  // value of auth_header_; "": none
  const bool has_key_;       // by the configuration, set or not
  const bool is_told_;       // what was decided
};

}  // namespace signalbox::upstream
