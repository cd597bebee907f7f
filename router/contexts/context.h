#pragma once
// A context: messages that several requests begin with, stored once and known by the SHA-256 of
// their bytes. What is stored is what stands between the brackets of a `messages` array, byte for
// byte, since a server knows a prompt again only as long as not one byte of it differs.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::contexts {

/// Who stored what: a tenant sees nothing of another's, not even that it is there.
struct Key {
  std::string tenant;  // "": of those who do not say who they are
  std::string id;

  auto operator<=>(const Key&) const = default;
};

/// What is known of a context without its bytes.
struct Context {
  Key key;
  uint64_t bytes = 0;     // of its messages
  uint32_t messages = 0;  // at least one
  int64_t created = 0;    // seconds since 1970
  bool pinned = false;    // stays in memory, and is not forgotten when it is idle
  bool shared = false;    // is where other routers find it, too
};

/// "ctx_" and 64 hexadecimal digits.
std::string id_of(std::string_view content);
bool is_id(std::string_view text);

/// What a key is called where its bytes lie: a hash of both, so that nothing a client says becomes
/// a path or a name.
std::string name_of(const Key& key);

}  // namespace signalbox::contexts
